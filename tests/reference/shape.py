"""The shape of a column by its definition: every histogram, every cell of recorded digits, every policy.

- A histogram cuts the column at some of the midpoints between its distinct values, or also before and after the cells
  of the grid that belong to repeated ones. Its evidence is that of the bins of
  a network of this column alone: Γ(k) / Γ(k + n) Π n_b!, times Π length_b^-n_b, times the prior of its cuts.
- Its density in bin b is the posterior mean (n_b + 1) / (n + k), spread over the length of the bin.
- With recorded digits, the value t · step stands for the cell from (t - 1/2) step to (t + 1/2) step, whose length is
  `weights[t mod period]` steps; the column begins and ends with whole cells.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from tests.reference.cuts import cardinality, joint_code, midpoints, prepare
from tests.reference.evidence import bins_of, choice_cost, family_evidence, is_allowed


def length(low: float, high: float, step: float, weights: Sequence[float]) -> float:
    """The length between two numbers, cell by cell."""
    if not len(weights):
        return high - low
    total = 0.0
    for t in range(math.floor(low / step + 0.5), math.floor(high / step + 0.5) + 1):
        covered = min(high, (t + 0.5) * step) - max(low, (t - 0.5) * step)
        total += max(covered, 0.0) * weights[t % len(weights)]
    return total


def positions(distinct: np.ndarray, counts: np.ndarray, step: float, weights: Sequence[float], atoms: bool):
    """Where histograms may be cut, ends included, and how many rows lie between.

    These are the midpoints, and with `atoms` the ends of the cells of values that occur twice or more.
    """
    half = step / 2 if len(weights) else 0.0
    ends = [distinct[0] - half, *midpoints(distinct), distinct[-1] + half]
    for value, count in zip(distinct, counts, strict=True):
        for end in (value - step / 2, value + step / 2):
            new = all(abs(end - other) > 1e-9 for other in ends) and ends[0] < end < max(ends)
            ends += [end] if atoms and count >= 2 and new else []
    ends = sorted(ends)
    rows = [int(counts[(distinct >= u) & (distinct < v)].sum()) for u, v in itertools.pairwise(ends)]
    rows[-1] += int(counts[distinct == ends[-1]].sum())
    return np.array(ends), np.array(rows)


def histograms(ends: np.ndarray, rows: np.ndarray, step: float = 0.0, weights: Sequence[float] = ()):
    """The log evidence of every histogram, and its density, by length, between the positions [histograms, m]."""
    m, n = len(rows), int(rows.sum())
    logs, densities = [], []
    for k in range(1, m + 1):
        for cuts in itertools.combinations(range(1, m), k - 1):
            bounds = [0, *cuts, m]
            log = math.lgamma(k) - math.lgamma(k + n) - choice_cost(k, m)
            density = np.empty(m)
            for u, v in itertools.pairwise(bounds):
                inside, long = int(rows[u:v].sum()), length(ends[u], ends[v], step, weights)
                log += math.lgamma(inside + 1) - inside * math.log(long)
                density[u:v] = (inside + 1) / (n + k) / long
            logs.append(log)
            densities.append(density)
    return np.array(logs), np.array(densities)


def base_density(
    distinct: np.ndarray, counts: np.ndarray, step: float = 0.0, weights: Sequence[float] = (), atoms: bool = False
):
    """The mean density of all histograms, by length, between the positions [m]; their summed log evidence; the ends."""
    ends, rows = positions(distinct, counts, step, weights, atoms)
    logs, densities = histograms(ends, rows, step, weights)
    top = logs.max()
    chances = np.exp(logs - top)
    told = 0.0
    if len(weights):  # a value in a cell of weight w has w times the density of its bin
        told = sum(
            int(c) * math.log(weights[round(x / step) % len(weights)]) for x, c in zip(distinct, counts, strict=True)
        )
    if atoms:  # the choice of the values that may stand alone
        told -= math.log(math.comb(len(distinct), int((counts >= 2).sum())))
    return chances @ densities / chances.sum(), float(top + math.log(chances.sum())) + told, ends


def shaped_cost(values, parents, children, cuts, measure: Callable[[float], float], log_evidence: float, weights=None):
    """-F of one variable's policy: its own family, its children's, the measures of its bins, and the choice of cuts.

    Args:
        values: the variable.
        parents: codes.
        children: pairs of codes and those of the other parents.
        cuts: ascending interior edges.
        measure: the share of the base measure below a number.
        log_evidence: ln Z of the column.
        weights: of the rows.
    """
    problem = prepare(values, parents, children, weights)
    bins = bins_of(problem.values, cuts)
    evidence = family_evidence(bins, problem.factors[0].outcome, problem.weights) + log_evidence
    for child in problem.factors[1:]:
        configuration = joint_code([bins, child.context], len(bins))
        evidence += family_evidence(child.outcome, configuration, problem.weights)
    shares = np.diff([0.0, *(measure(cut) for cut in cuts), 1.0])
    evidence -= float(problem.weights @ np.log(shares[bins]))
    return choice_cost(cardinality(bins), len(problem.distinct)) - evidence


def enumerate_shaped(problem, measure, log_evidence, *, max_bins=None, min_width=None) -> float:
    """The least -F of all policies of at most so many bins, none narrower than `min_width`."""
    distinct = prepare(**problem).distinct
    candidates, best = midpoints(distinct), math.inf
    for n_cuts in range(min(len(distinct), max_bins or len(distinct))):
        for chosen in itertools.combinations(range(len(candidates)), n_cuts):
            cuts = candidates[list(chosen)]
            if is_allowed(cuts, distinct, min_width):
                arguments = {"parents": (), "children": (), **problem}
                best = min(best, shaped_cost(**arguments, cuts=cuts, measure=measure, log_evidence=log_evidence))
    return best
