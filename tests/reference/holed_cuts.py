"""Costs of a policy where entries are missing, from the definitions: every factor on the rows that have all of it.

A row that lacks the variable itself is left out. A row that lacks a child or one of its other parents adds nothing to
the child's factor. In the paper's objective and in the description length the same holds for the parents' factor; in
the evidence the rows that lack a parent are one more configuration, as their density counts like that of all others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from tests.reference.cuts import binary_entropy, bins_of, cut_weights, midpoints
from tests.reference.evidence import WEIGHT, choice_cost
from tests.reference.network import bin_widths

Columns = Sequence[np.ndarray]


def k2(outcome: Sequence, context: Sequence, weights: np.ndarray, k: int, a: float) -> float:
    """Minus the log evidence of some rows with the Dirichlet weight a, cell by cell."""
    cost = 0.0
    for c in set(context):
        inside = np.array([other == c for other in context])
        n = weights[inside].sum()
        cost += gammaln(n + a * k) - gammaln(a * k)
        for o in {outcome[i] for i in np.flatnonzero(inside)}:
            cost -= gammaln(weights[[i for i in np.flatnonzero(inside) if outcome[i] == o]].sum() + a) - gammaln(a)
    return float(cost)


def information(outcome: Sequence, context: Sequence, weights: np.ndarray) -> float:
    """n times the mutual information of two columns."""
    total, n = 0.0, weights.sum()
    for c in set(context):
        for o in set(outcome):
            both = np.array([a == o and b == c for a, b in zip(outcome, context, strict=True)])
            pair = weights[both].sum()
            if pair:
                of_c = weights[np.array([b == c for b in context])].sum()
                of_o = weights[np.array([a == o for a in outcome])].sum()
                total += pair * math.log(pair * n / of_c / of_o)
    return total


def states(codes: np.ndarray) -> int:
    """Distinct codes that are not missing."""
    return len(set(codes[codes >= 0].tolist()))


def cost(values, parents, children, cuts, method: str, rate: float = 4.0, weights=None) -> float:
    """The objective of a policy given by its cuts."""
    weights = np.ones(len(values), np.int64) if weights is None else np.asarray(weights)
    kept = ~np.isnan(values) & (weights > 0)
    values, weights = values[kept], weights[kept]
    parents = [codes[kept] for codes in parents]
    children = [(codes[kept], [s[kept] for s in spouses]) for codes, spouses in children]
    bins, distinct = bins_of(values, cuts), np.unique(values)
    n_bins = len(set(bins.tolist()))
    has = np.all([codes >= 0 for codes in parents], axis=0) if parents else np.ones(len(values), bool)
    configuration = [tuple(codes[i] for codes in parents) if has[i] else None for i in range(len(values))]
    total, a = 0.0, WEIGHT if method == "evidence" else 1.0
    if method == "evidence":
        total += k2(bins.tolist(), configuration, weights, n_bins, a) + choice_cost(n_bins, len(distinct))
        if len(distinct) > 1:
            total += float(weights @ np.log(bin_widths(cuts, distinct[0], distinct[-1])[bins]))
    known = [configuration[i] for i in np.flatnonzero(has)]
    of_parents = math.prod(states(codes) for codes in parents) if has.any() else 1
    if method == "bayesian":
        total += k2(known, bins[has].tolist(), weights[has], of_parents, a)
        if len(distinct) > 1:
            total += rate + cut_weights(distinct, rate)[np.diff(bins_of(distinct, cuts)) > 0].sum()
    if method == "mdl":
        total -= information(known, bins[has].tolist(), weights[has])
        parameters = of_parents * (n_bins - 1)
    for codes, spouses in children:
        has = np.all([codes >= 0, *(s >= 0 for s in spouses)], axis=0)
        rows = np.flatnonzero(has)
        if not len(rows):
            continue  # a factor that no row has is not there
        context = [(bins[i], *(s[i] for s in spouses)) for i in rows]
        if method == "mdl":
            total -= information(codes[rows].tolist(), context, weights[rows])
            parameters += n_bins * math.prod(states(s) for s in spouses) * (states(codes) - 1)
        else:
            total += k2(codes[rows].tolist(), context, weights[rows], states(codes), a)
    if method == "mdl":
        m = len(distinct)
        choice = (m - 1) * binary_entropy((n_bins - 1) / (m - 1)) if m > 1 else 0.0
        total += 0.5 * math.log(weights.sum()) * parameters + math.log(n_bins) + choice
    return float(total)


def enumerated(values, parents, children, method: str, rate: float = 4.0, weights=None) -> float:
    """The least cost of all policies."""
    kept = ~np.isnan(values) & (np.ones(len(values)) if weights is None else np.asarray(weights)).astype(bool)
    candidates = midpoints(np.unique(values[kept]))
    chosen = itertools.chain.from_iterable(itertools.combinations(candidates, n) for n in range(len(candidates) + 1))
    return min(cost(values, parents, children, np.array(cuts), method, rate, weights) for cuts in chosen)
