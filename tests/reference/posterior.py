"""The posterior of cuts, and of cuts and arcs together, by enumeration (docs/maths.md, "Sums over all cuts")."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import logsumexp

from .cuts import bins_of, midpoints, prepare
from .evidence import WEIGHT, choice_cost, evidence_cost, is_allowed
from .network import bin_widths
from .structure import all_graphs, k2_score


def every_policy(distinct: np.ndarray) -> Iterator[np.ndarray]:
    """The edges of all 2^(m - 1) policies."""
    candidates = midpoints(distinct)
    for chosen in itertools.product([False, True], repeat=len(candidates)):
        yield candidates[np.array(chosen, bool)]


def cuts_by_enumeration(values, parents=(), children=(), *, weights=None, min_width: float | None = None) -> dict:
    """log_evidence, the chance of a cut at every gap, and of every number of bins."""
    distinct = prepare(values, parents, children, weights).distinct
    policies = [cuts for cuts in every_policy(distinct) if is_allowed(cuts, distinct, min_width)]
    logs = np.array([-evidence_cost(values, parents, children, cuts, weights) for cuts in policies])
    total = logsumexp(logs)
    chance = np.exp(logs - total)
    candidates = midpoints(distinct)
    used = np.array([[edge in cuts for edge in candidates] for cuts in policies]).reshape(len(policies), -1)
    bins = np.bincount([len(cuts) for cuts in policies], chance, len(distinct))
    return {"log_evidence": float(total), "edges": candidates, "chances": chance @ used, "bins": bins}


def log_prior_of_parents(n_columns: int, n_parents: int) -> float:
    """A further parent is half as probable, and all sets of one size are equally probable, up to a constant."""
    return -n_parents * math.log(2) - math.log(math.comb(n_columns - 1, n_parents))


def log_target(columns: Sequence[np.ndarray], continuous: Sequence[int], graph, cuts: dict[int, np.ndarray]) -> float:
    """F of a graph and cuts: families, widths, the price of the cuts, and the prior of every parent set."""
    codes = [bins_of(column, cuts[i]) if i in continuous else column for i, column in enumerate(columns)]
    total = 0.0
    for child, parents in enumerate(graph):
        total += k2_score(codes, child, parents, WEIGHT) + log_prior_of_parents(len(columns), len(parents))
    for i in continuous:
        distinct = np.unique(columns[i])
        total -= choice_cost(len(cuts[i]) + 1, len(distinct))
        if len(distinct) > 1:
            widths = bin_widths(cuts[i], distinct[0], distinct[-1])
            total -= float(np.log(widths[codes[i]]).sum())
    return total


def everything_by_enumeration(columns: Sequence[np.ndarray], continuous: Sequence[int], max_parents: int) -> list:
    """Every (graph, cuts of each continuous column, probability)."""
    policies = [list(every_policy(np.unique(columns[i]))) for i in continuous]
    graphs = [graph for graph in all_graphs(len(columns)) if max(map(len, graph)) <= max_parents]
    states = [
        (graph, dict(zip(continuous, chosen, strict=True)))
        for chosen in itertools.product(*policies)
        for graph in graphs
    ]
    logs = np.array([log_target(columns, continuous, *state) for state in states])
    chances = np.exp(logs - logsumexp(logs))
    return [(graph, cuts, float(p)) for (graph, cuts), p in zip(states, chances, strict=True)]
