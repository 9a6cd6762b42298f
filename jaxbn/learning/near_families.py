"""Families that may be the best on all rows, judged by a sample of them, and the best structure of these."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import networkx as nx
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from jaxbn.inputs.graph import Parents
from jaxbn.scores.coded_table import Columns
from jaxbn.scores.evidence import Links, log_prior
from jaxbn.scores.tables import family_counts, k2_score
from jaxbn.structure.constraints import Rules

NEAR = 18.0
"""A family is counted on all rows if it is expected to fall short of the best of its variable by so many nats of the
sample at most. The log-likelihood ratio of two families that fit about as well has a standard deviation of about the
square root of twice its size, so these are three of them: 18 = 3 · √(2 · 18)."""

MOST_FAMILIES = 16
"""Families of a variable that are counted, at most, those that are expected to be the best."""

MANY_COLUMNS = 40
"""From so many columns on no parent is exchanged for another: these are too many families."""

Families = Mapping[str, Mapping[tuple[str, ...], float]]
"""The score of each family that a variable may have, by its parents."""


def near_families(
    parents: Parents, columns: Columns, rules: Rules, n_all: int, arc_charge: float, weight: float
) -> dict[str, list[tuple[str, ...]]]:
    """The families one step from a structure (a parent more, fewer or exchanged) that came near; its own come first.

    The columns are those of the sample, and `n_all` the rows of the source.
    """
    found = {}
    for child, own in parents.items():
        steps = {tuple(sorted(own)): tuple(own)}
        for each in _steps(child, own, columns, rules):
            steps.setdefault(tuple(sorted(each)), each)
        values = {
            each: expected_score(child, each, columns, n_all, arc_charge, rules.links, weight)
            for each in steps.values()
        }
        best = max(values.values())
        order = sorted((each for each in values if values[each] >= best - NEAR), key=lambda each: -values[each])
        found[child] = [tuple(own), *(each for each in order[:MOST_FAMILIES] if each != tuple(own))]
    return found


def expected_score(
    child: str, parents: Sequence[str], columns: Columns, n_all: int, arc_charge: float, links: Links, weight: float
) -> float:
    """The score of a family on all rows that its score on the sample lets expect, divided by how many more they are.

    The likelihood grows with the rows, and what d free parameters cost, d/2 ln n, with their logarithm.
    """
    members = [columns[name] for name in (*parents, child)]
    codes = [column.codes for column in members]
    counts = family_counts(codes[-1], codes[:-1], [column.n_states for column in members])
    n = int(counts.sum())
    more = n_all / max(n, 1)
    free = (counts.shape[-1] - 1) * int(np.count_nonzero(counts.sum(axis=-1)))
    prior = log_prior(child, parents, len(columns), links, arc_charge)
    # score ~ L - d/2 ln n on the sample, and more · L - d/2 ln n_all + prior on all rows, here divided by `more`
    return k2_score(counts, weight) + free / 2 * (math.log(n) - math.log(n_all) / more) + prior / more


def _steps(child: str, own: Sequence[str], columns: Columns, rules: Rules) -> Iterator[tuple[str, ...]]:
    """Families with one parent more, fewer or exchanged."""
    if columns[child].n_states < 2:
        return
    must = rules.required.get(child, ())
    rests = [tuple(p for p in own if p != out) for out in own if out not in must]
    yield from rests
    others = [name for name, column in columns.items() if name not in (child, *own) and column.n_states > 1]
    for rest in (tuple(own), *(rests if len(columns) < MANY_COLUMNS else ())):
        yield from ((*rest, other) for other in rules.candidates(child, others, rest, columns))


def best_of_families(families: Families) -> dict[str, tuple[str, ...]]:
    """The acyclic structure with the highest score, proved: one family for each variable.

    It is an integer program, to which constraints are added as cycles turn up. An acyclic choice must exist; a family
    without parents for each variable ensures that.
    """
    chosen = [(child, parents) for child, found in families.items() for parents in found]
    scores = np.array([families[child][parents] for child, parents in chosen])
    # relative to the best family: small numbers, as the solver's tolerance is relative
    losses = np.array([max(families[child].values()) for child, _ in chosen]) - scores
    rows = [[child == name for child, _ in chosen] for name in families]
    limits = [LinearConstraint(np.array(rows, np.float64), 1, 1)]
    while True:
        found = milp(losses, constraints=limits, integrality=np.ones(len(chosen)), bounds=Bounds(0, 1))
        if found.x is None:
            raise ValueError(f"no structure without cycles can be made of these families: {found.message}")
        parents = dict(pair for pair, x in zip(chosen, found.x, strict=True) if x > 0.5)
        graph = nx.DiGraph([(parent, child) for child, each in parents.items() for parent in each])
        cycles = [part for part in nx.strongly_connected_components(graph) if len(part) > 1]
        if not cycles:
            return {child: parents[child] for child in families}
        for part in cycles:  # cutting planes: some variable of each cycle must have no parent in it
            cycle = {tail for tail, _ in nx.find_cycle(graph.subgraph(part))}
            outside = [child in cycle and not cycle & set(each) for child, each in chosen]
            limits.append(LinearConstraint(np.array([outside], np.float64), 1, np.inf))
