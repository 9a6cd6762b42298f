"""Each cut moved to the row that is best given its neighbours, of all rows between these.

The cost of an interval is a sum over its rows: a row adds the steps of the tables from the counts before it to those
after it. So with one neighbour held, the costs up to every row are running sums, and so are those from every row to the
other neighbour. Every second cut moves at a time, then the others, until none does. Nothing is compiled, and a sweep
takes a few look-ups a row, however many cells there are.

Shapes: n rows, K windows, each from the cut before a movable one to the cut after it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.problem import Rows, Solution, Term, table
from jaxbn.kernels.pruned.state import TINY

Floats = NDArray[np.float64]

MOST_SWEEPS = 20
"""A sweep that moves nothing ends them; a few are enough."""

SLACK = 1e-9
"""A move must gain more than this share of the cost: running sums over many rows are rounded."""


class _Counted(NamedTuple):
    """A term, and the weight of the earlier rows in each row's cell."""

    term: Term
    before: NDArray[np.integer]  # [n]


class Sweeps:
    """Moves the cuts of one problem."""

    def __init__(self, rows: Rows, cut_cost: Floats | None = None) -> None:
        """`cut_cost` is that of a cut after each row [n], where it has one of its own."""
        self.rows, self.cut_cost = rows, cut_cost

    def best_rows(self, solution: Solution) -> Solution:
        """The same number of cuts, none of which can move to another row between its neighbours for less."""
        bounds, gained, still = [0, *(cut + 1 for cut in solution.cuts), self.rows.n], 0.0, 0
        for sweep in range(MOST_SWEEPS):
            movable = range(1 + sweep % 2, len(bounds) - 1, 2)
            gain = self._move(bounds, movable, SLACK * (1 + abs(solution.cost))) if movable else 0.0
            gained, still = gained + gain, 0 if gain else still + 1
            if still == 2:
                break
        return replace(solution, cost=solution.cost - gained, cuts=[bound - 1 for bound in bounds[1:-1]])

    def _move(self, bounds: list[int], movable: range, least: float) -> float:
        """Move some cuts, each between its neighbours, which stay; how much less they cost now."""
        starts = [bounds[i - 1] for i in movable]
        begin, end = starts[0], bounds[movable[-1] + 1]
        costs, gained = self._costs_of_two(begin, np.array([*starts, end])), 0.0
        for i, start in zip(movable, starts, strict=True):
            own = costs[start - begin : bounds[i + 1] - begin - 1]  # of a cut after each row but the last
            place = int(own.argmin())
            gain = float(own[bounds[i] - 1 - start] - own[place])
            if gain > least:
                bounds[i], gained = start + place + 1, gained + gain
        return gained

    def _costs_of_two(self, begin: int, edges: NDArray[np.intp]) -> Floats:
        """Cost of both intervals of a window if it is cut after each row, of the rows from `begin` to the last edge."""
        rows, end = self.rows, int(edges[-1])
        sizes = np.diff(edges)
        window = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        left, right = np.zeros(end - begin), np.zeros(end - begin)
        weight = 1 if rows.weights is None else rows.weights[begin:end].astype(np.int64)
        for term, before in self._counted:
            cells = term.cells[begin:end]
            key = window * np.int64(term.n_cells) + cells
            whole = np.bincount(key, None if rows.weights is None else weight, len(sizes) * term.n_cells)
            whole = whole.astype(np.int64).reshape(len(sizes), term.n_cells)
            earlier = np.bincount(
                term.cells[:begin], None if rows.weights is None else rows.weights[:begin], term.n_cells
            ).astype(np.int64)
            starts = (np.cumsum(whole, axis=0) - whole + earlier).ravel()
            inside = before[begin:end] - starts[key]
            steps = _summed(term, rows.total + 1)
            left += term.sign * (steps[inside + weight] - steps[inside])
            after = whole.ravel()[key] - inside
            right += term.sign * (steps[after] - steps[after - weight])
        costs = _running(left, sizes)
        costs += _running(right[::-1], sizes[::-1])[::-1] - right  # that of the rows after, without the row itself
        if rows.spread is not None:
            costs += self._widths(begin, end, edges, window, weight)
        if self.cut_cost is not None:
            costs += self.cut_cost[begin:end]
        costs[~rows.can_cut[begin:end]] = np.inf
        return costs

    def _widths(
        self, begin: int, end: int, edges: NDArray[np.intp], window: NDArray[np.int32], weight: NDArray[np.int64] | int
    ) -> Floats:
        """What the widths of both intervals cost."""
        spread = self.rows.spread
        assert spread is not None
        ends, sizes = spread.positions, np.diff(edges)
        mass = _running(np.broadcast_to(np.asarray(weight, np.float64), (end - begin,)), sizes)
        whole = mass[np.cumsum(sizes) - 1][window]
        left = ends[begin + 1 : end + 1] - ends[edges[:-1]][window]
        right = ends[edges[1:]][window] - ends[begin + 1 : end + 1]
        cost = mass * np.log(np.maximum(left, TINY)) + (whole - mass) * np.log(np.maximum(right, TINY))
        return np.where((left >= spread.min_width) & (right >= spread.min_width), cost, np.inf)

    @cached_property
    def _counted(self) -> list[_Counted]:
        return [_Counted(term, _before(term, self.rows.weights)) for term in self.rows.terms]


def _before(term: Term, weights: NDArray[np.int32] | None) -> NDArray[np.integer]:
    """Weight of the earlier rows in each row's cell [n]."""
    if term.n_cells == 1:
        n = len(term.cells)
        return np.arange(n) if weights is None else np.cumsum(weights, dtype=np.int64) - weights
    few = term.n_cells <= 2**16  # sorted by counting
    order = np.argsort(term.cells.astype(np.uint16) if few else term.cells, kind="stable")
    weight = np.ones(len(order), np.int64) if weights is None else weights[order].astype(np.int64)
    total = np.cumsum(weight)
    sizes = np.bincount(term.cells, minlength=term.n_cells)
    first = np.append(0, total)[np.cumsum(sizes) - sizes]  # weight of all earlier cells
    before: NDArray[np.integer] = np.empty(len(order), np.int32 if total[-1] < 2**31 else np.int64)
    before[order] = total - weight - np.repeat(first, sizes)
    return before


def _summed(term: Term, length: int) -> Floats:
    """The sum of a term's tables."""
    first, *others = (table(name, length) for name in term.tables)
    return sum(others, start=first)


def _running(values: Floats, sizes: NDArray[np.intp]) -> Floats:
    """Running sums of each window by itself."""
    total = np.cumsum(values)
    return total - np.repeat(np.append(0.0, total)[np.cumsum(sizes) - sizes], sizes)
