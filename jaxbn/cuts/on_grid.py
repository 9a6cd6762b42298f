"""Cuts on a grid: few positions, spread evenly at first, then close around the cuts that were found there.

While arcs still move, cuts need not be placed down to single rows. The result is the best partition over the last
positions, which include the cuts before; with no more positions than the grid has it is the optimum
(docs/maths.md, "The grid").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.grouped_rows import GroupedRows
from jaxbn.cuts.problem import Rows, Solution
from jaxbn.cuts.sweeps import Sweeps

Positions = NDArray[np.integer]

FINE_GRID, FINE = 1023, 4
"""Positions where cuts are placed down to single rows, and rounds of this, at most."""

DENSER = 4.0
"""Positions beside the cuts may take this many times the look-ups: most groups there are single rows."""

SPREAD_OUT = 4
"""One in this many of the first positions stays beside them, in case a further cut pays after all."""

FEWEST, LOOK_UPS = 511, 2.5e8
"""The fewest positions, and the look-ups that decide how many there are beyond: one for each interval and cell."""

NARROWEST = 3
"""Positions around a cut, at least: with fewer, there is nothing to choose."""

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
