"""Each cut moved to the row that is best given its neighbours.

The cost of an interval is a sum over its rows: a row adds the steps of the tables from the counts before it to those
after it. So with both neighbours held, what a cut gains or loses on its way from row to row are running sums. Every
second cut moves at a time, then the others, until none does. Nothing is compiled, and a sweep takes a few look-ups for
each row near a cut, however many cells there are and however many rows are far from all cuts.

Shapes: n rows, M bounds (the cuts and both ends), C cells of a term, m cuts that move, r rows near these.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.counts.codes import wide_enough
from jaxbn.cuts.grouped_rows import since_begin
from jaxbn.cuts.on_accelerator import weights_before
from jaxbn.cuts.problem import Rows, Solution, Term, up_to_a_constant
from jaxbn.kernels.arithmetic import TINY
from jaxbn.runtime import limits

Floats = NDArray[np.float64]
Bounds = NDArray[np.intp]

MOST_SWEEPS = 20
"""A sweep that moves nothing ends them; a few are enough."""

SLACK = 1e-9
"""A move must gain more than this share of the cost: running sums over many rows are rounded."""

NEAR_ROWS = 1000
"""How far a cut may move in the first sweeps, at least. Later ones look twice as far as the farthest move before."""


class _Near(NamedTuple):
    """The rows near the cuts that move, cut after cut."""

    rows: NDArray[np.intp]  # [r], ascending
    cut: NDArray[np.intp]  # [r], which of the bounds each is near to
    place: NDArray[np.intp]  # [r], the same among those that move
    weight: NDArray[np.int64] | int  # [r], or 1
    first: NDArray[np.intp]  # [m], where the rows of each cut begin among these
    left: NDArray[np.bool_]  # [r], whether the row lies before its cut


class Sweeps:
    """Moves the cuts of one problem."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def best_rows(self, solution: Solution, reach: int = NEAR_ROWS) -> Solution:
        """The same number of cuts, none of which can move to a row near it, between its neighbours, for less.

        `reach` is how many rows away a cut is looked for at first.
        """
        bounds = np.array([0, *(cut + 1 for cut in solution.cuts), self.rows.n])
        least, gained, still = SLACK * (1 + abs(solution.cost)), 0.0, 0
        reach = max(NEAR_ROWS, reach)
        counted = weights_before(self.rows, bounds)
        self._at = counted or [self._counts_at(bounds, term) for term in self.rows.terms]
        # Odd and even cuts take turns: the neighbours of a cut that moves stay, so the gains of one sweep add up. Two
        # sweeps in a row without a gain mean that neither the ones nor the others can move.
        for sweep in range(MOST_SWEEPS):
            limits.check()
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
        near = self._near(bounds, movable, low, high)
        steps = np.zeros(len(near.rows))
        for term, tables, at in zip(self.rows.terms, self._tables, self._at, strict=True):
            cells = term.cells[near.rows]
            inside, after = _beside(near, cells, at)
            # a row that comes to the left interval leaves the right one
            more, less = inside + near.weight, after - near.weight
            change = term.sign * (tables[more] - tables[inside] - tables[after] + tables[less])
            if term.lacking:  # rows that lack a member cost as much in their context as they gain in their cell
                change[cells == term.n_cells - 1] = 0.0
            steps += change
        total = np.cumsum(steps)
        costs = total - np.append(0.0, total)[near.first][near.place]
        if self.rows.spread is not None:
            costs += self._widths(bounds, near.cut, near.rows)
        if self.rows.cut_cost is not None:
            costs += self.rows.cut_cost[near.rows]
        costs[~self.rows.can_cut[near.rows]] = np.inf
        return costs

    def _near(self, bounds: Bounds, movable: Bounds, low: Bounds, high: Bounds) -> _Near:
        sizes = high - low
        first = np.cumsum(sizes) - sizes
        rows = np.repeat(low - first, sizes) + np.arange(sizes.sum())
        cut, place = np.repeat(movable, sizes), np.repeat(np.arange(len(movable)), sizes)
        weights = self.rows.weights
        return _Near(
            rows, cut, place, 1 if weights is None else weights[rows].astype(np.int64), first, rows < bounds[cut]
        )

    def _widths(self, bounds: Bounds, of_cut: Bounds, near: Bounds) -> Floats:
        """What the widths of both intervals cost."""
        spread, mass = self.rows.spread, self.rows.weight_before
        assert spread is not None
        here, ends = spread.at(near + 1), spread.at(bounds)
        first, last = bounds[of_cut - 1], bounds[of_cut + 1]
        left, right = here - ends[of_cut - 1], ends[of_cut + 1] - here
        cost = (mass(near + 1) - mass(first)) * np.log(np.maximum(left, TINY))
        cost += (mass(last) - mass(near + 1)) * np.log(np.maximum(right, TINY))
        if spread.latest is None:
            return np.asarray(cost, np.float64)
        return np.where((first <= spread.latest[near]) & (near + 1 <= spread.latest[last - 1]), cost, np.inf)

    def _counts_at(self, bounds: Bounds, term: Term) -> NDArray[np.int64]:
        """Weight before each bound in every cell [M, C]."""
        first = np.arange(len(bounds) - 1) * term.n_cells
        key = np.repeat(first.astype(wide_enough(len(bounds) * term.n_cells)), np.diff(bounds))
        key += term.cells
        counts = np.bincount(key, self.rows.weights, (len(bounds) - 1) * term.n_cells).astype(np.int64)
        return np.concatenate([np.zeros((1, term.n_cells), np.int64), counts.reshape(-1, term.n_cells).cumsum(axis=0)])

    @cached_property
    def _tables(self) -> list[Floats]:
        """Of every term, by weight; up to a constant."""
        length = self.rows.total + 1
        return [up_to_a_constant(term.tables, length) for term in self.rows.terms]


def _beside(
    near: _Near, cells: NDArray[np.int32], at: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Weight in each row's cell from the bound to the left of its cut to the row, and from there to the right [r].

    `cells` [r] are those of a term, and `at` is the weight before each bound in every cell [M, C].
    """
    n_cells = at.shape[1]
    key, n_cuts = near.place * n_cells + cells, len(near.first)
    weights = near.weight[near.left] if isinstance(near.weight, np.ndarray) else None
    window = np.bincount(key[near.left], weights, n_cuts * n_cells).astype(np.int64)  # near rows to the left of the cut
    inside = at[near.cut, cells] - at[near.cut - 1, cells] - window[key] + _running(near, cells, n_cells)
    return inside, at[near.cut + 1, cells] - at[near.cut - 1, cells] - inside


def _running(near: _Near, cells: NDArray[np.int32], n_cells: int) -> NDArray[np.int64]:
    """Weight of the earlier near rows of the same cut and cell [r]."""
    if n_cells == 1:
        total = np.arange(len(cells)) if isinstance(near.weight, int) else _before(near.weight)
        return total - total[near.first][near.place]
    few = n_cells <= 2**16  # sorted by counting; rows of one cell stay in their order, and so cut after cut
    order = np.argsort(cells.astype(np.uint16) if few else cells, kind="stable")
    cell, place = cells[order], near.place[order]
    begins = np.append(True, (cell[1:] != cell[:-1]) | (place[1:] != place[:-1]))
    total = np.arange(len(order)) if isinstance(near.weight, int) else _before(near.weight[order])
    running = np.empty(len(order), np.int64)
    running[order] = since_begin(total, begins)
    return running


def _before(weights: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.cumsum(weights) - weights
