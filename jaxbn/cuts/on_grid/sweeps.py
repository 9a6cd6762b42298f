"""Each cut moved to the row that is best given its neighbours.

The cost of an interval is a sum over its rows: a row adds the steps of the tables from the counts before it to those
after it. So with both neighbours held, what a cut gains or loses on its way from row to row are running sums. Every
second cut moves at a time, then the others, until none does. Nothing is compiled, and a sweep takes a few look-ups for
each row near a cut, however many cells there are.

Shapes: n rows, M bounds (the cuts and both ends), C cells of a term, r rows near the cuts that move.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.problem import Rows, Solution, Term, summed_tables
from jaxbn.kernels.pruned.state import TINY

Floats = NDArray[np.float64]
Bounds = NDArray[np.intp]

MOST_SWEEPS = 20
"""A sweep that moves nothing ends them; a few are enough."""

SLACK = 1e-9
"""A move must gain more than this share of the cost: running sums over many rows are rounded."""

NEAR_ROWS, NEAR_SHARE = 1000, 1 / 128
"""How far a cut may move in the first sweeps: so many rows, or this share of all. Later ones look twice as far as the
farthest move before them."""


class _Counted(NamedTuple):
    """A term, the weight of the earlier rows in each row's cell, and the sum of its tables."""

    term: Term
    before: NDArray[np.integer]  # [n]
    tables: Floats  # by weight


class Sweeps:
    """Moves the cuts of one problem."""

    def __init__(self, rows: Rows, cut_cost: Floats | None = None) -> None:
        """`cut_cost` is that of a cut after each row [n], where it has one of its own."""
        self.rows, self.cut_cost = rows, cut_cost

    def best_rows(self, solution: Solution) -> Solution:
        """The same number of cuts, none of which can move to a row near it, between its neighbours, for less."""
        bounds = np.array([0, *(cut + 1 for cut in solution.cuts), self.rows.n])
        least, gained, still = SLACK * (1 + abs(solution.cost)), 0.0, 0
        reach = max(NEAR_ROWS, int(self.rows.n * NEAR_SHARE))
        self._at = [self._counts_at(bounds, term) for term in self.rows.terms]
        for sweep in range(MOST_SWEEPS):
            gain, farthest = self._move(bounds, np.arange(1 + sweep % 2, len(bounds) - 1, 2), reach, least)
            gained, still = gained + gain, 0 if gain else still + 1
            if still == 2:
                break
            reach = max(NEAR_ROWS, 2 * farthest, reach // 2)
        return replace(solution, cost=solution.cost - gained, cuts=[int(bound) - 1 for bound in bounds[1:-1]])

    def _move(self, bounds: Bounds, movable: Bounds, reach: int, least: float) -> tuple[float, int]:
        """Move some cuts, each between its neighbours, which stay; how much less they cost, and the farthest move."""
        if not len(movable):
            return 0.0, 0
        low = np.maximum(bounds[movable - 1], bounds[movable] - reach)
        high = np.minimum(bounds[movable + 1] - 1, bounds[movable] + reach)  # no interval is empty
        costs = np.split(self._costs(bounds, movable, low, high), np.cumsum(high - low)[:-1])
        gained, farthest = 0.0, 0
        for i, start, own in zip(movable.tolist(), low.tolist(), costs, strict=True):
            place, now = int(own.argmin()), int(bounds[i]) - 1 - start
            if own[now] - own[place] > least:
                gained, farthest = gained + float(own[now] - own[place]), max(farthest, abs(place - now))
                self._shift(bounds, i, start + place + 1)
        return gained, farthest

    def _shift(self, bounds: Bounds, i: int, bound: int) -> None:
        """Move one cut, and the counts before it."""
        first, end = sorted((int(bounds[i]), bound))
        weights = None if self.rows.weights is None else self.rows.weights[first:end]
        for term, at in zip(self.rows.terms, self._at, strict=True):
            moved = np.bincount(term.cells[first:end], weights, term.n_cells).astype(np.int64)
            at[i] += moved if bound > bounds[i] else -moved
        bounds[i] = bound

    def _costs(self, bounds: Bounds, movable: Bounds, low: Bounds, high: Bounds) -> Floats:
        """Cost of both intervals beside each movable cut if it lay after each row near it [r], up to a constant."""
        rows, sizes = self.rows, high - low
        near = np.repeat(low - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
        of_cut = np.repeat(movable, sizes)
        weight = 1 if rows.weights is None else rows.weights[near].astype(np.int64)
        steps = np.zeros(len(near))
        for (term, before, tables), at in zip(self._counted, self._at, strict=True):
            cells = term.cells[near]
            inside = before[near] - at[of_cut - 1, cells]
            after = at[of_cut + 1, cells] - at[of_cut - 1, cells] - inside
            # a row that comes to the left interval leaves the right one
            steps += term.sign * (tables[inside + weight] - tables[inside] - tables[after] + tables[after - weight])
        total = np.cumsum(steps)
        costs = total - np.repeat(np.append(0.0, total)[np.cumsum(sizes) - sizes], sizes)
        if rows.spread is not None:
            costs += self._widths(bounds, of_cut, near)
        if self.cut_cost is not None:
            costs += self.cut_cost[near]
        costs[~rows.can_cut[near]] = np.inf
        return costs

    def _widths(self, bounds: Bounds, of_cut: Bounds, near: Bounds) -> Floats:
        """What the widths of both intervals cost."""
        spread, mass = self.rows.spread, self.rows.weight_before
        assert spread is not None
        ends = spread.positions
        first, last = bounds[of_cut - 1], bounds[of_cut + 1]
        left, right = ends[near + 1] - ends[first], ends[last] - ends[near + 1]
        cost = (mass(near + 1) - mass(first)) * np.log(np.maximum(left, TINY))
        cost += (mass(last) - mass(near + 1)) * np.log(np.maximum(right, TINY))
        return np.where((left >= spread.min_width) & (right >= spread.min_width), cost, np.inf)

    def _counts_at(self, bounds: Bounds, term: Term) -> NDArray[np.int64]:
        """Weight before each bound in every cell [M, C]."""
        between = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        key = between * term.n_cells + term.cells
        counts = np.bincount(key, self.rows.weights, (len(bounds) - 1) * term.n_cells).astype(np.int64)
        return np.concatenate([np.zeros((1, term.n_cells), np.int64), counts.reshape(-1, term.n_cells).cumsum(axis=0)])

    @cached_property
    def _counted(self) -> list[_Counted]:
        kinds = {term.tables for term in self.rows.terms}
        tables = {kind: summed_tables([kind], 1, self.rows.total + 1) for kind in kinds}
        return [_Counted(term, _before(term, self.rows.weights), tables[term.tables]) for term in self.rows.terms]


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
