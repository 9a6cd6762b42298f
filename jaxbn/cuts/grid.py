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

FEWEST_POSITIONS, LOOK_UPS = 511, 2.5e8
"""This begins with positions over all rows: as many as there are look-ups for, one for each interval and cell."""

SPREAD_OUT = 4
"""One in so many of these stays, where a further cut may pay after all."""


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
    first = [grid if grid is None or refinements == 1 else _affordable(some, grid) for some in rows]
    grouped = [GroupedRows(some, some.positions(size)) for some, size in zip(rows, first, strict=True)]
    found = solve(range(len(rows)), grouped)
    if grid is None:
        return found
    again = [i for i, some in enumerate(rows) if int(some.can_cut.sum()) + 1 > grid]
    spread = [0 if refinements == 1 else (size or 0) // SPREAD_OUT for size in first]
    for _ in range(refinements):
        finer = {i: _finer(grouped[i], found[i], grid, spread[i]) for i in again if found[i].cuts}
        again = [i for i, groups in finer.items() if not np.array_equal(groups.positions, grouped[i].positions)]
        for i, solution in zip(again, solve(again, [finer[i] for i in again]) if again else (), strict=True):
            grouped[i], found[i] = finer[i], min(found[i], solution, key=lambda s: s.cost)
    return found


def _affordable(rows: Rows, grid: int) -> int:
    """Positions over all rows to begin with."""
    n_cells = sum(term.n_cells for term in rows.terms)
    return min(grid, max(FEWEST_POSITIONS, int((2 * LOOK_UPS / max(n_cells, 1)) ** 0.5)))


def _finer(groups: GroupedRows, solution: Solution, grid: int, spread: int) -> GroupedRows:
    """The same rows with positions closer around the cuts."""
    positions, cuts = groups.rows.positions(), np.array(solution.cuts) + 1
    if spread:
        return GroupedRows(groups.rows, wider(positions, groups.positions, cuts, grid, spread))
    return GroupedRows(groups.rows, closer(positions, groups.positions, cuts, grid))


def closer(positions: Positions, some: Positions, cuts: Positions, size: int) -> Positions:
    """At most `size` positions around the cuts, up to their neighbours in `some`; `some` itself if too few."""
    each = (size - 1) // max(len(cuts), 1) - 1
    if each < 3 or not len(cuts):
        return some
    at = np.searchsorted(some, cuts)
    low, high = np.searchsorted(positions, some[at - 1]), np.searchsorted(positions, some[at + 1])
    around = positions[np.linspace(low, high, each).round().astype(np.intp)]
    return np.unique(np.concatenate([around.ravel(), cuts, positions[[0, -1]]]))


def wider(positions: Positions, some: Positions, cuts: Positions, size: int, spread: int) -> Positions:
    """At most `size` positions: `spread` of them over all rows, the others around the cuts, beyond their neighbours.

    A window reaches to the third neighbours in `some`, or as far as the positions for it do; `some` if too few.
    """
    over_all = positions[np.linspace(0, len(positions) - 1, spread).round().astype(np.intp)]
    each = (size - spread - len(cuts)) // len(cuts)
    if each < REACH:
        return some
    at, middle, last = np.searchsorted(some, cuts), np.searchsorted(positions, cuts), len(positions) - 1
    low = np.searchsorted(positions, some[np.maximum(at - REACH, 0)])
    high = np.searchsorted(positions, some[np.minimum(at + REACH, len(some) - 1)])
    low = np.minimum(low, np.maximum(middle - each // 2, 0))
    high = np.maximum(high, np.minimum(middle + each // 2, last))
    around = positions[np.linspace(low, high, each).round().astype(np.intp)]
    return np.unique(np.concatenate([around.ravel(), cuts, over_all]))
