"""The evidence of a grouping as a problem for ``merging`` to search (docs/maths.md, "Groups of levels").

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
from jaxbn.cuts.evidence import own_charge
from jaxbn.groups.grouping import Grouping, as_groups
from jaxbn.groups.merging import Columns, Problem, Units, most_groups, score, search
from jaxbn.inputs.columns import MISSING, Level


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
    problem, class_of = _problem(unit, factors, weights, len(observed), weight)
    where = search(problem, most_groups(len(problem.units.sizes), len(problem.columns.sign)), most)
    totals = np.bincount(unit, weights)
    constant = float(problem.columns.log_gamma[2 * (totals.astype(np.int64) + 1)].sum())
    group_of = np.full(len(levels), MISSING)
    group_of[observed] = where[class_of]
    rows = np.bincount(where, problem.units.totals)
    group_of[group_of == MISSING] = int(np.argmin(rows / np.bincount(where, problem.units.sizes)))
    return Grouping(as_groups(levels, group_of), -(score(problem, where) + constant), "evidence")


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


def every_level(unit: NDArray[np.integer], factors: Sequence[Factor], most: int, weight: float) -> Problem:
    """The evidence of all partitions of the observed levels into up to `most` groups; ``unit`` numbers these levels."""
    m, ones = int(unit.max()) + 1, np.ones(len(unit), np.int64)
    return Problem(*_of_levels(unit, factors, ones, m, weight), _by_number(factors, ones, m, min(m, most), weight))


def _problem(
    unit: NDArray[np.integer], factors: Sequence[Factor], weights: NDArray[np.int64] | None, m: int, weight: float
) -> tuple[Problem, NDArray[np.int64]]:
    """The problem to search, and the unit of each observed level."""
    row_weights = np.ones(len(unit), np.int64) if weights is None else weights
    columns, units = _of_levels(unit, factors, row_weights, m, weight)
    class_of, n_columns = np.arange(m), len(columns.sign)
    if m > most_groups(m, n_columns):
        units, class_of = _without_repeats(units)
    most = min(m, most_groups(len(units.sizes), n_columns))
    return Problem(columns, units, _by_number(factors, row_weights, m, most, weight)), class_of


def _of_levels(
    unit: NDArray[np.integer], factors: Sequence[Factor], weights: NDArray[np.int64], m: int, weight: float
) -> tuple[Columns, Units]:
    """Every level as a unit of its own."""
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
    counts = _counts(unit, parts, weights, m)
    totals = np.bincount(unit, weights, m).astype(np.int64)
    offset = np.concatenate(offsets)
    most_gamma = 2 * int(totals.sum()) + max(2 * m, int(offset.max())) + 4
    log_gamma = gammaln(np.maximum(np.arange(most_gamma), 1) / 2)
    return Columns(np.concatenate(signs), offset, log_gamma), Units(counts, np.ones(m, np.int64), totals)


def _by_number(
    factors: Sequence[Factor], weights: NDArray[np.int64], m: int, most: int, weight: float
) -> NDArray[np.float64]:
    """The part of the evidence that depends on the number of groups alone, [most + 1]; -inf for none."""
    configurations = np.bincount(factors[0].cell, weights, factors[0].n_cells).astype(np.int64)
    by_number = -own_charge(configurations, most, weight) - np.log(m) - log_partitions(m, most)
    return np.concatenate([[-np.inf], by_number])


def _counts(
    unit: NDArray[np.integer], parts: Sequence[tuple[NDArray[np.int32], int]], weights: NDArray[np.int64], m: int
) -> csr_array:
    """Weights of the rows of each unit in each column, [units, columns]."""
    starts = np.cumsum([0, *(size for _, size in parts)])
    where = np.concatenate(
        [codes.astype(np.int64) + start for (codes, _), start in zip(parts, starts[:-1], strict=True)]
    )
    counts = csr_array((np.tile(weights, len(parts)), (np.tile(unit, len(parts)), where)), (m, int(starts[-1])))
    counts.sum_duplicates()
    return counts


def _without_repeats(units: Units) -> tuple[Units, NDArray[np.int64]]:
    """Levels with equal counts as one unit, and the unit of each level; they nearly always belong together."""
    first: dict[bytes, int] = {}
    indptr, indices, data = units.counts.indptr, units.counts.indices, units.counts.data
    class_of = np.empty(len(units.sizes), np.int64)
    for i in range(len(units.sizes)):
        part = slice(indptr[i], indptr[i + 1])
        class_of[i] = first.setdefault(indices[part].tobytes() + data[part].tobytes(), len(first))
    n = len(first)
    chosen = csr_array((np.ones(len(class_of), np.int64), (class_of, np.arange(len(class_of)))), (n, len(class_of)))
    sizes = np.bincount(class_of, minlength=n).astype(np.int64)
    totals = np.bincount(class_of, units.totals, n).astype(np.int64)
    return Units(csr_array(chosen @ units.counts), sizes, totals), class_of
