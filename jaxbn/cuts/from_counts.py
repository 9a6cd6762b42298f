"""The best cuts of one variable from contingency tables alone: its positions by its parents, and by each child.

The cost of an interval depends on the counts of each factor by itself, so any rows that have these counts will do. Rows
are made by pairing off the cells of all factors in order: no more than there are cells with weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.blanket import factors_of
from jaxbn.cuts.by_number.charged import Charged
from jaxbn.cuts.evidence import charge, evidence_problem
from jaxbn.cuts.problem import interval_starts
from jaxbn.cuts.shapes.shape import Shape
from jaxbn.cuts.sorted_values import Ordered
from jaxbn.kernels.interval_costs import counted_intervals
from jaxbn.runtime.devices import double

GROUPS, CELLS = 128, 256
"""Groups are padded to a multiple of the first, and cells come in chunks of the second."""

MOST_LAYERS = 64
"""Bins that are looked at, at most."""

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
    costs = _interval_costs(problem, len(counted.first))
    n_layers = min(len(problem.charge), MOST_LAYERS)
    before, last = np.append(0.0, np.full(len(costs), np.inf)), []
    totals = []
    for _ in range(n_layers):
        through = before[:-1] + costs  # [end, start]
        last.append(through.argmin(axis=1).astype(np.int32))
        before = np.append(np.inf, through.min(axis=1))
        totals.append(before[-1])
    k = int(np.argmin(problem.charge[:n_layers] + totals))
    after = [start - 1 for start in interval_starts(np.array(last[: k + 1]), len(costs) - 1)]
    cost = float(problem.charge[k] + totals[k])
    ends = [*now, len(costs) - 1]
    old = problem.charge[min(len(now), len(problem.charge) - 1)]
    old += sum(costs[end, start] for start, end in zip([0, *(g + 1 for g in now)], ends, strict=True))
    return Cut(after, cost + problem.constant, float(old) - cost)


def _problem(counted: Counted, min_width: float, most_bins: int | None, shape: Shape | None) -> Charged:
    tables = [counted.parents, *counted.children]
    group, weights, cells = coupled([table.reshape(len(table), -1) for table in tables])
    begins = np.append(True, group[1:] != group[:-1])
    rows = np.repeat(np.arange(len(group)), 1 + begins)  # the first row of a group twice: without weight, then with
    extra = np.append(True, rows[1:] != rows[:-1]) & begins[rows]
    weights, group = np.where(extra, 0, weights[rows]), group[rows]
    values = np.where(extra, counted.first[group], counted.last[group])
    ordered = Ordered(rows, values, np.append(group[1:] != group[:-1], False))
    codes = [_codes(table, cell[rows]) for table, cell in zip(tables, cells, strict=True)]
    children = [(found[-1], found[:-1]) for found in codes[1:]]
    n_states = [int((table.sum(axis=tuple(range(table.ndim - 1)))[:-1] > 0).sum()) for table in counted.children]
    factors = factors_of(codes[0], children, len(rows), n_states)
    wide: Any = weights  # 64 bits: there may be more rows than 2^31
    problem = evidence_problem(ordered, factors, wide, min_width, most_bins, shape)
    configurations = np.bincount(factors[0].cell, weights, factors[0].n_cells).astype(np.int64)
    return problem._replace(charge=charge(configurations, counted.n_distinct, most_bins or MOST_LAYERS))


def coupled(tables: Sequence[Counts]) -> tuple[NDArray[np.intp], Counts, list[NDArray[np.intp]]]:
    """Weighted rows that have the counts of all tables [G, cells], whose groups have the same weight in each.

    Returns:
        The group, the weight and the cell in each table of every row.

    Example:
        >>> coupled([np.array([[2, 1]]), np.array([[1, 2]])])[1:]
        (array([1, 1, 1]), [array([0, 0, 1]), array([0, 1, 1])])
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


def _interval_costs(problem: Charged, n: int) -> NDArray[np.float64]:
    """Cost of the interval from group u to group v at [v, u], +inf where v comes before u."""
    rows, width = problem.rows, -(-n // GROUPS) * GROUPS
    group = np.append(0, np.cumsum(rows.can_cut[:-1]))
    total = np.zeros((width, width))
    with double():
        for term in rows.terms:
            counts = np.bincount(term.cells.astype(np.intp) * n + group, rows.weights, term.n_cells * n)
            before = np.zeros((term.n_cells, width + 1))
            before[:, 1 : n + 1] = counts.reshape(term.n_cells, n).cumsum(axis=1)
            before[:, n + 1 :] = before[:, [n]]
            for name in (term.tables[1:] and term.tables) or (None,):
                names = term.names if name is None else np.full(term.n_cells, name)
                for first in range(0, term.n_cells, CELLS):
                    some = slice(first, first + CELLS)
                    chunk = np.zeros((CELLS, width + 1)), np.ones(CELLS), np.zeros(CELLS)
                    size = len(names[some])
                    chunk[0][:size], chunk[1][:size], chunk[2][:size] = before[some], names[some], term.sign
                    total += np.asarray(counted_intervals(*chunk))
    costs = total[:n, :n]
    if rows.spread is not None:
        ends = rows.spread.positions[np.append(0, np.flatnonzero(np.append(rows.can_cut[:-1], True)) + 1)]
        mass = np.append(0, np.cumsum(np.bincount(group, rows.weights, n)))
        with np.errstate(divide="ignore", invalid="ignore"):
            costs += (mass[1:, None] - mass[:-1]) * np.log(ends[1:, None] - ends[:-1])
        if rows.spread.latest is not None:
            rows_from = rows.spread.latest[np.append(np.flatnonzero(rows.can_cut), rows.n - 1)]
            latest = np.where(rows_from < 0, -1, group[rows_from])
            costs[np.arange(n) > latest[:, None]] = np.inf
    return np.where(np.tri(n, dtype=bool), costs, np.inf)
