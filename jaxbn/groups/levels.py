"""The best groups of levels, and groups drawn, by their evidence (docs/maths.md, "Groups of levels").

`weight` is the Dirichlet weight of a cell; weights of rows are `weights`. Shapes are those of ``merging``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammaln

from jaxbn.cuts.blanket import Factor
from jaxbn.cuts.evidence import WEIGHT, own_charge
from jaxbn.groups.grouping import Grouping, as_groups
from jaxbn.groups.merging import Problem, Visits, joined, most_groups, score, search
from jaxbn.inputs.columns import Level


def best_grouping(
    levels: Sequence[Level],
    codes: NDArray[np.int32],
    factors: Sequence[Factor],
    weights: NDArray[np.int64] | None = None,
    most: int | None = None,
    *,
    weight: float,
) -> Grouping:
    """The best grouping found, for rows of positive weight, of at most so many groups; ``codes`` are positions.

    `weight` is the Dirichlet weight of a cell, of a group or of a child's state.
    """
    observed, unit = np.unique(codes, return_inverse=True)
    row_weights = np.ones(len(unit), np.int64) if weights is None else weights
    problem, class_of = _every_level(unit, factors, row_weights, weight), np.arange(len(observed))
    rows = problem.totals  # of each observed level
    if len(observed) > most_groups(len(observed), len(problem.sign)):
        problem, class_of = _without_repeats(problem)
    start = most_groups(len(problem.sizes), len(problem.sign))
    problem = _charged(problem, factors, row_weights, min(len(observed), start), weight)
    where = search(problem, start, most)
    constant = float(problem.log_gamma[2 * (rows + 1)].sum())
    groups = _groups_of(levels, observed, where[class_of], rows)
    return Grouping(groups, -(score(problem, where) + constant), "evidence")


def draw_groups(
    levels: Sequence[Level],
    codes: NDArray[np.int32],
    factors: Sequence[Factor],
    now: Grouping,
    most: int,
    rng: np.random.Generator,
) -> Grouping:
    """Groups drawn from their posterior: level after level, each joins a group or begins one of its own, by chance.

    Every observed level is visited once, in an order by chance; levels without a row stay where they cost least. A
    level is taken out of its group, and put where the evidence of the partition says: a Gibbs step. All partitions can
    be reached so, and each step leaves their posterior invariant (docs/maths.md, "Draws of cuts and arcs").
    """

    def chosen(logs: NDArray[np.float64], home: int) -> int:
        chances = np.exp(logs - logs.max())
        return int(rng.choice(len(chances), p=chances / chances.sum()))

    observed, unit = np.unique(codes, return_inverse=True)
    problem = all_partitions(unit, factors, most)
    _, where = np.unique(now(levels)[observed], return_inverse=True)
    visits = Visits(problem, where.astype(np.int64), len(problem.whole) - 1)
    for each in rng.permutation(len(where)).tolist():
        visits.moved(each, chosen)
    return Grouping(_groups_of(levels, observed, visits.where, problem.totals), method="draw")


def _groups_of(
    levels: Sequence[Level], observed: NDArray[np.integer], where: NDArray[np.integer], rows: NDArray[np.number]
) -> tuple[tuple[Level, ...], ...]:
    """The groups of all levels by those of the observed ones; the others join that with the fewest rows for a level."""
    group_of = np.full(len(levels), int(np.argmin(np.bincount(where, rows) / np.bincount(where))))
    group_of[observed] = where
    return as_groups(levels, group_of)


def log_inside(grouping: Grouping, levels: Sequence[Level], counts: NDArray[np.integer]) -> float:
    """Log P(levels of the rows | their groups), the counterpart of a density, by how often each level occurs."""
    group_of = grouping(levels)
    sizes = np.bincount(group_of[counts > 0], minlength=grouping.n_groups)
    rows = np.bincount(group_of, counts, grouping.n_groups)
    sizes, rows = sizes[sizes > 0], rows[sizes > 0]
    return float((gammaln(sizes) - gammaln(sizes + rows)).sum() + gammaln(counts + 1).sum())


@lru_cache(maxsize=64)
def log_partitions(m: int, most: int) -> NDArray[np.float64]:
    """Log B(m, k) for k = 1..most: the partitions of m things into at most k groups.

    By S(m, k) = k S(m - 1, k) + S(m - 1, k - 1) in logarithms.
    """
    stirling = np.full(most + 1, -np.inf)  # of i things into k groups, i = 0 to begin with
    stirling[0] = 0.0
    log_k = np.log(np.maximum(np.arange(most + 1), 1))
    for _ in range(m):
        stirling[1:] = np.logaddexp(log_k[1:] + stirling[1:], stirling[:-1])
        stirling[0] = -np.inf
    return np.asarray(np.logaddexp.accumulate(stirling[1:]), np.float64)


def all_partitions(unit: NDArray[np.integer], factors: Sequence[Factor], most: int) -> Problem:
    """The evidence of all partitions of the observed levels into up to `most` groups; ``unit`` numbers these levels."""
    ones = np.ones(len(unit), np.int64)
    problem = _every_level(unit, factors, ones, WEIGHT)
    return _charged(problem, factors, ones, min(len(problem.sizes), most), WEIGHT)


def _every_level(
    unit: NDArray[np.integer], factors: Sequence[Factor], weights: NDArray[np.int64], weight: float
) -> Problem:
    """Every observed level as a unit of its own; what numbers of groups cost is still to be found."""
    m = int(unit.max()) + 1
    parts, signs, offsets = [], [], []
    twice = round(2 * weight)
    for i, factor in enumerate(factors):  # the contexts of the parents' factor are in `whole`
        parts.append((factor.cell, factor.n_cells))
        signs.append(np.ones(factor.n_cells))
        offsets.append(np.full(factor.n_cells, twice))
        if i > 0:
            parts.append((factor.context, factor.n_contexts))
            signs.append(-np.ones(factor.n_contexts))
            offsets.append(np.full(factor.n_contexts, twice * factor.n_states))
            if factor.lacking:  # K is 1: what the context of such rows takes off is what their cell adds
                offsets[-1][-1] = twice
    ends = np.cumsum([0, *(size for _, size in parts)])
    where = np.concatenate([codes.astype(np.int64) + end for (codes, _), end in zip(parts, ends[:-1], strict=True)])
    counts = csr_array((np.tile(weights, len(parts)), (np.tile(unit, len(parts)), where)), (m, int(ends[-1])))
    counts.sum_duplicates()
    totals, offset = np.bincount(unit, weights, m).astype(np.int64), np.concatenate(offsets)
    most_gamma = 2 * int(totals.sum()) + max(2 * m, int(offset.max())) + 4
    log_gamma = gammaln(np.maximum(np.arange(most_gamma), 1) / 2)
    return Problem(counts, np.ones(m, np.int64), totals, np.concatenate(signs), offset, log_gamma, np.zeros(0))


def _charged(
    problem: Problem, factors: Sequence[Factor], weights: NDArray[np.int64], most: int, weight: float
) -> Problem:
    """The problem with the part of its evidence that depends on the number of groups alone."""
    m = int(problem.sizes.sum())
    by_number = -own_charge(factors[0].counts(weights), most, weight) - np.log(m) - log_partitions(m, most)
    return problem._replace(whole=np.append(-np.inf, by_number))


def _without_repeats(problem: Problem) -> tuple[Problem, NDArray[np.int64]]:
    """Levels with equal counts as one unit, and the unit of each level; they nearly always belong together."""
    first: dict[bytes, int] = {}
    class_of = np.empty(len(problem.sizes), np.int64)
    for i in range(len(class_of)):
        rows = problem.rows_of(i)
        class_of[i] = first.setdefault(rows.at.tobytes() + rows.counts.tobytes(), len(first))
    counts, sizes, totals = joined(problem, class_of, len(first))
    return problem._replace(counts=counts, sizes=sizes, totals=totals), class_of
