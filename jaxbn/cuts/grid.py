"""Cuts on a grid: few positions, spread evenly at first, then close around the cuts that were found there.

While arcs still move, cuts need not be placed to the last row. The result is the best partition over the last
positions, which include the cuts before; with no more positions than the grid has it is the optimum
(docs/maths.md, "The grid").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.grouped_rows import GroupedRows
from jaxbn.cuts.problem import Rows, Solution
from jaxbn.runtime.shapes import FEW_POSITIONS

Positions = NDArray[np.intp]

FINE = 8
"""Refinements after which every neighbour of a cut is a position, however many rows there are."""

FINE_GRID, FINEST_GRID = FEW_POSITIONS // 2 - 1, FEW_POSITIONS - 1
"""Positions where cuts are placed to the last row: before exact ones, and instead of them."""

REACH = 3
"""Positions on either side of a cut up to which it is looked for again among finer ones, to the last row."""

SPREAD_OUT = 4
"""One position in so many stays spread over all rows there, where a further cut may pay after all."""


def solve_on_grid(
    solve: Callable[[Sequence[int], Sequence[GroupedRows]], list[Solution]],
    rows: Sequence[Rows],
    grid: int | None,
    refinements: int = 1,
) -> list[Solution]:
    """Solve problems over at most `grid` groups of rows each, all positions where it is None.

    Args:
        solve: the optima of some of the problems, given by their numbers, over the positions of their groups.
        rows: those of every problem.
        grid: the largest number of groups.
        refinements: how often positions are chosen closer around the cuts, at most; more than one look far and wide
            (see `wider`).
    """
    grouped = [GroupedRows(some, some.positions(grid)) for some in rows]
    found = solve(range(len(rows)), grouped)
    if grid is None:
        return found
    again = [i for i, some in enumerate(rows) if int(some.can_cut.sum()) + 1 > grid]
    choose = closer if refinements == 1 else wider
    for _ in range(refinements):
        finer = {i: _finer(choose, grouped[i], found[i], grid) for i in again if found[i].cuts}
        again = [i for i, groups in finer.items() if not np.array_equal(groups.positions, grouped[i].positions)]
        for i, solution in zip(again, solve(again, [finer[i] for i in again]) if again else (), strict=True):
            grouped[i], found[i] = finer[i], min(found[i], solution, key=lambda s: s.cost)
    return found


def _finer(choose: Callable[..., Positions], groups: GroupedRows, solution: Solution, grid: int) -> GroupedRows:
    """The same rows with positions closer around the cuts."""
    positions = choose(groups.rows.positions(), groups.positions, np.array(solution.cuts) + 1, grid)
    return GroupedRows(groups.rows, positions)


def closer(positions: Positions, some: Positions, cuts: Positions, size: int) -> Positions:
    """At most `size` positions around the cuts, up to their neighbours in `some`; `some` itself if too few."""
    each = (size - 1) // max(len(cuts), 1) - 1
    if each < 3 or not len(cuts):
        return some
    at = np.searchsorted(some, cuts)
    low, high = np.searchsorted(positions, some[at - 1]), np.searchsorted(positions, some[at + 1])
    around = positions[np.linspace(low, high, each).round().astype(np.intp)]
    return np.unique(np.concatenate([around.ravel(), cuts, positions[[0, -1]]]))


def wider(positions: Positions, some: Positions, cuts: Positions, size: int) -> Positions:
    """At most `size` positions: some over all rows, the others around the cuts, as far as their third neighbours.

    Where that is less than the positions at hand, windows are as wide as these reach.
    """
    spread = positions[np.linspace(0, len(positions) - 1, size // SPREAD_OUT).round().astype(np.intp)]
    each = (size - len(spread) - len(cuts)) // len(cuts)
    if each < REACH:
        return some
    at, last = np.searchsorted(some, cuts), len(positions) - 1
    low = np.searchsorted(positions, some[np.maximum(at - REACH, 0)])
    high = np.searchsorted(positions, some[np.minimum(at + REACH, len(some) - 1)])
    middle = np.searchsorted(positions, cuts)
    low = np.minimum(low, np.maximum(middle - each // 2, 0))
    high = np.maximum(high, np.minimum(middle + each // 2, last))
    around = positions[np.linspace(low, high, each).round().astype(np.intp)]
    return np.unique(np.concatenate([around.ravel(), cuts, spread]))
