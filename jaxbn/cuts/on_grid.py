"""Cuts on a grid: few positions, spread evenly at first, then close around the cuts that were found there.

While arcs still move, cuts need not be placed down to single rows. The result is the best partition over the last
positions, which include the cuts before; with no more positions than the grid has it is the optimum
(docs/maths.md, "The grid").

Then sweeps move each cut to the row that is best given its neighbours. The cost of an interval is a sum over its rows:
a row adds the steps of the tables from the counts before it to those after it. So with both neighbours held, what a cut
gains or loses on its way from row to row are running sums. Every second cut moves at a time, then the others, until
none does. Nothing is compiled, and a sweep takes a few look-ups for each row near a cut, however many cells there are
and however many rows are far from all cuts.

Shapes: n rows, M bounds (the cuts and both ends), C cells of a term, m cuts that move, r rows near these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.counts.codes import wide_enough
from jaxbn.cuts.grouped_rows import GroupedRows, since_begin
from jaxbn.cuts.on_accelerator import weights_before
from jaxbn.cuts.problem import Rows, Solution, Term, up_to_a_constant
from jaxbn.kernels.arithmetic import TINY
from jaxbn.runtime import limits

Floats = NDArray[np.float64]
Positions = NDArray[np.integer]

FINE_GRID, FINE = 1023, 4
"""Positions where cuts are placed down to single rows, and rounds of this, at most."""

DENSER = 4.0  # positions beside the cuts may take this many times the look-ups: most groups there are single rows
SPREAD_OUT = 4  # one in this many of the first positions stays beside them, in case a further cut pays after all

FEWEST, LOOK_UPS = 511, 2.5e8
"""The fewest positions, and the look-ups that decide how many there are beyond: one for each interval and cell."""

NARROWEST = 3  # positions around a cut, at least: with fewer, there is nothing to choose
MOST_SWEEPS = 20  # a sweep that moves nothing ends them; a few are enough
SLACK = 1e-9  # a move must gain more than this share of the cost: running sums over many rows are rounded

NEAR_ROWS = 1000
"""How far a cut may move in the first sweeps, at least. Later ones look twice as far as the farthest move before."""

Solve = Callable[[Sequence[int], Sequence[GroupedRows]], list[Solution]]
"""The optima of some of the problems, given by their numbers, over the positions of their groups."""


def solve_on_grid(solve: Solve, rows: Sequence[Rows], grid: int | None, refinements: int = 1) -> list[Solution]:
    """Solve problems over at most `grid` groups of rows each, all positions where it is None.

    Positions are chosen around the cuts `refinements` times at most; if more than once, down to single rows.
    """
    if grid is None:
        return solve(range(len(rows)), [GroupedRows(some, some.positions()) for some in rows])
    if refinements > 1:
        return [_down_to_rows(solve, i, some, grid, refinements) for i, some in enumerate(rows)]
    grouped = [GroupedRows(some, some.positions(grid)) for some in rows]
    found = solve(range(len(rows)), grouped)
    finer = {}
    for i, (groups, solution) in enumerate(zip(grouped, found, strict=True)):
        positions = rows[i].positions()
        if solution.cuts and len(positions) - 1 > grid:
            # the cuts so far are among the new positions, so the second answer cannot be worse than the first, but for
            # rounding (docs/maths.md, "The grid")
            near = closer(positions, groups.positions, np.array(solution.cuts) + 1, grid)
            if not np.array_equal(near, groups.positions):
                finer[i] = GroupedRows(rows[i], near)
    if finer:
        for i, solution in zip(finer, solve(list(finer), list(finer.values())), strict=True):
            found[i] = min(found[i], solution, key=lambda each: each.cost)
    return found


def _down_to_rows(solve: Solve, number: int, rows: Rows, grid: int, rounds: int) -> Solution:
    """Cuts of one problem, each at the best row between its neighbours, and together the best of the rows beside them.

    From the best partition on a grid the cuts move one by one; then all of them together, by few rows, and their
    number may change; and so on until nothing is gained.
    """
    positions, sweeps = rows.positions(), Sweeps(rows)
    if len(positions) - 1 <= grid:
        return solve([number], [GroupedRows(rows, positions)])[0]
    first, size = affordable(rows, grid), affordable(rows, grid, DENSER)
    (found,) = solve([number], [GroupedRows(rows, rows.positions(first))])
    found = sweeps.best_rows(found, rows.n // first)  # up to the next position
    for _ in range(rounds):
        if not found.cuts or len(found.cuts) + first // SPREAD_OUT >= size:
            break
        near = beside(positions, np.array(found.cuts) + 1, size, first // SPREAD_OUT)
        (other,) = solve([number], [GroupedRows(rows, near)])
        if other.cost >= found.cost - 1e-9 * (1 + abs(found.cost)):
            break
        found = sweeps.best_rows(other)
    return found


def affordable(rows: Rows, most: int, share: float = 1.0) -> int:
    """How many positions to look at, the fewer the more cells an interval has."""
    n_cells = sum(term.n_cells for term in rows.terms)
    return min(most, max(FEWEST, int((2 * share * LOOK_UPS / max(n_cells, 1)) ** 0.5)))


def closer(positions: Positions, some: Positions, cuts: Positions, size: int) -> Positions:
    """At most `size` positions around the cuts, up to their neighbours in `some`; `some` itself if too few."""
    each = (size - 1) // max(len(cuts), 1) - 1
    if each < NARROWEST or not len(cuts):
        return some
    at = np.searchsorted(some, cuts)
    low, high = np.searchsorted(positions, some[at - 1]), np.searchsorted(positions, some[at + 1])
    around = positions[np.linspace(low, high, each).round().astype(np.intp)]
    return np.unique(np.concatenate([around.ravel(), cuts, positions[[0, -1]]]))


def beside(positions: Positions, cuts: Positions, size: int, spread: int) -> Positions:
    """At most `size` positions: `spread` of them over all rows, the others beside the cuts, the denser the nearer.

    Those over all rows are where a further cut may pay; those beside the cuts reach from the next row half way to the
    next cut. No more than the cuts and `spread` if there are too many cuts.
    """
    over_all = positions[np.linspace(0, len(positions) - 1, spread).round().astype(np.intp)]
    # half of the mean distance of two cuts, on either side, with as many steps as there is room for
    reach, farthest = (size - spread) // (2 * len(cuts)) - 1, len(positions) / (2 * len(cuts))
    steps = np.unique(np.geomspace(1, max(farthest, 1), max(reach, 0)).round().astype(np.intp))
    near = np.searchsorted(positions, cuts)[:, None] + np.concatenate([-steps, steps])
    return np.unique(np.concatenate([positions[near.clip(0, len(positions) - 1)].ravel(), cuts, over_all]))


class _Near(NamedTuple):
    """The rows near the cuts that move, cut after cut."""

    rows: Positions  # [r], ascending
    cut: Positions  # [r], which of the bounds each is near to
    place: Positions  # [r], the same among those that move
    weight: NDArray[np.int64]  # [r]
    first: Positions  # [m], where the rows of each cut begin among these
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

    def _move(self, bounds: Positions, movable: Positions, reach: int, least: float) -> tuple[float, int]:
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

    def _shift(self, bounds: Positions, i: int, bound: int) -> None:
        """Move one cut, and the counts before it."""
        first, end = sorted((int(bounds[i]), bound))
        weights = None if self.rows.weights is None else self.rows.weights[first:end]
        for term, at in zip(self.rows.terms, self._at, strict=True):
            moved = np.bincount(term.cells[first:end], weights, term.n_cells).astype(np.int64)
            at[i] += moved if bound > bounds[i] else -moved
        bounds[i] = bound

    def _costs(self, bounds: Positions, movable: Positions, low: Positions, high: Positions) -> Floats:
        """Cost of both intervals beside each movable cut if it lay after each row near it [r], up to a constant."""
        sizes = high - low
        first = np.cumsum(sizes) - sizes
        rows = np.repeat(low - first, sizes) + np.arange(sizes.sum())
        weight = np.ones(len(rows), np.int64) if self.rows.weights is None else self.rows.weights[rows].astype(np.int64)
        cut, place = np.repeat(movable, sizes), np.repeat(np.arange(len(movable)), sizes)
        near = _Near(rows, cut, place, weight, first, rows < bounds[cut])
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

    def _widths(self, bounds: Positions, of_cut: Positions, near: Positions) -> Floats:
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

    def _counts_at(self, bounds: Positions, term: Term) -> NDArray[np.int64]:
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
    # near rows to the left of the cut
    window = np.bincount(key[near.left], near.weight[near.left], n_cuts * n_cells).astype(np.int64)
    inside = at[near.cut, cells] - at[near.cut - 1, cells] - window[key] + _running(near, cells, n_cells)
    return inside, at[near.cut + 1, cells] - at[near.cut - 1, cells] - inside


def _running(near: _Near, cells: NDArray[np.int32], n_cells: int) -> NDArray[np.int64]:
    """Weight of the earlier near rows of the same cut and cell [r]."""
    if n_cells == 1:
        total = np.cumsum(near.weight) - near.weight
        return total - total[near.first][near.place]
    few = n_cells <= 2**16  # sorted by counting; rows of one cell stay in their order, and so cut after cut
    order = np.argsort(cells.astype(np.uint16) if few else cells, kind="stable")
    cell, place = cells[order], near.place[order]
    begins = np.append(True, (cell[1:] != cell[:-1]) | (place[1:] != place[:-1]))
    total = np.cumsum(near.weight[order]) - near.weight[order]
    running = np.empty(len(order), np.int64)
    running[order] = since_begin(total, begins)
    return running
