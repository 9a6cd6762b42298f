"""The best cuts of one variable from contingency tables alone: its positions by its parents, and by each child.

The cost of an interval depends on the counts of each factor by itself, so any rows that have these counts will do. Rows
are made by pairing off the cells of all factors in order: no more than there are cells with weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.blanket import factors_of
from jaxbn.cuts.by_number.charged import Charged
from jaxbn.cuts.evidence import evidence_problem
from jaxbn.cuts.grouped_rows import GroupedRows
from jaxbn.cuts.interval_costs import CostMatrix
from jaxbn.cuts.shapes.shape import Shape
from jaxbn.cuts.sorted_values import Ordered

MOST_LAYERS = 64  # bins that are looked at, at most

Counts = NDArray[np.int64]


class Counted(NamedTuple):
    """What is known of a variable: its groups of values with the members of each factor.

    Each axis but the first has a last place for rows that lack the entry.
    """

    first: NDArray[np.float64]  # [G] smallest value of each group
    last: NDArray[np.float64]  # [G] largest value
    parents: Counts  # [G, *parents]
    children: Sequence[Counts]  # [G, *spouses, child] each
    n_distinct: int  # distinct values of all rows


class Cut(NamedTuple):
    """The best cuts, and what they gain."""

    after: list[int]  # groups that a cut falls after
    cost: float
    gain: float  # nats more than the cuts before


def best_cuts(
    counted: Counted, now: Sequence[int], min_width: float, most_bins: int | None, shape: Shape | None
) -> Cut:
    """The best partition of the groups, by the evidence; `now` are the groups that the cuts before fall after."""
    problem = _problem(counted, min_width, most_bins, shape)
    groups = GroupedRows(problem.rows, problem.rows.positions())
    n_layers = min(len(problem.charge), MOST_LAYERS)
    with CostMatrix(groups) as matrix:
        totals = problem.charge[:n_layers] + matrix.layers(n_layers)[:n_layers]
        k = int(np.argmin(totals)) + 1
        after = (np.searchsorted(groups.positions, matrix.layer_cuts(k)) - 1).tolist()
        bounds = [0, *(group + 1 for group in now), groups.n]
        old = sum(float(matrix.costs[end - 1, start]) for start, end in pairwise(bounds))
    cost = float(totals[k - 1])
    old += float(problem.charge[min(len(now), len(problem.charge) - 1)])
    return Cut(after, cost + problem.constant, old - cost)


def _problem(counted: Counted, min_width: float, most_bins: int | None, shape: Shape | None) -> Charged:
    tables = [counted.parents, *counted.children]
    group, weights, cells = coupled([table.reshape(len(table), -1) for table in tables])
    begins = np.append(True, group[1:] != group[:-1])
    # A group is known by its smallest and its largest value. A cut between two groups lies halfway between the largest
    # of one and the smallest of the next, so each group begins with a row of its smallest value that has no weight.
    rows = np.repeat(np.arange(len(group)), 1 + begins)
    extra = np.append(True, rows[1:] != rows[:-1]) & begins[rows]
    weights, group = np.where(extra, 0, weights[rows]), group[rows]
    values = np.where(extra, counted.first[group], counted.last[group])
    ordered = Ordered(rows, values, np.append(group[1:] != group[:-1], False))
    codes = [_codes(table, cell[rows]) for table, cell in zip(tables, cells, strict=True)]
    children = [(found[-1], found[:-1]) for found in codes[1:]]
    n_states = [int((table.sum(axis=tuple(range(table.ndim - 1)))[:-1] > 0).sum()) for table in counted.children]
    factors = factors_of(codes[0], children, len(rows), n_states)
    wide: Any = weights  # 64 bits: there may be more rows than 2^31
    return evidence_problem(ordered, factors, wide, min_width, most_bins or MOST_LAYERS, shape, counted.n_distinct)


def coupled(tables: Sequence[Counts]) -> tuple[NDArray[np.intp], Counts, list[NDArray[np.intp]]]:
    """Weighted rows that have the counts of all tables [G, cells], whose groups have the same weight in each.

    Found are the group, the weight and the cell in each table of every row.
    """
    places = [np.flatnonzero(table) for table in tables]
    ends = [np.cumsum(table.ravel()[place]) for table, place in zip(tables, places, strict=True)]
    every = np.unique(np.concatenate(ends))  # between two of these running weights every table stays in one cell
    at = [place[np.searchsorted(end, every)] for place, end in zip(places, ends, strict=True)]
    cells = [found % table.shape[1] for found, table in zip(at, tables, strict=True)]
    return at[0] // tables[0].shape[1], np.diff(every, prepend=0), cells


def _codes(table: Counts, cells: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """The states of each member, -1 where a row lacks it."""
    if table.ndim == 1:
        return []
    found = np.unravel_index(cells, table.shape[1:])
    return [np.where(codes == size - 1, -1, codes) for codes, size in zip(found, table.shape[1:], strict=True)]
