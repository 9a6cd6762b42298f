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

Positions = NDArray[np.intp]

FINE = 6
"""Refinements after which every neighbour of a cut is a position: each looks at some fifty places between two."""


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
        refinements: how often positions are chosen closer around the cuts, at most.
    """
    grouped = [GroupedRows(some, some.positions(grid)) for some in rows]
    found = solve(range(len(rows)), grouped)
    if grid is None:
        return found
    again = [i for i, some in enumerate(rows) if int(some.can_cut.sum()) + 1 > grid]
    for _ in range(refinements):
        finer = {i: _finer(grouped[i], found[i], grid) for i in again if found[i].cuts}
        again = [i for i, groups in finer.items() if not np.array_equal(groups.positions, grouped[i].positions)]
        for i, solution in zip(again, solve(again, [finer[i] for i in again]) if again else (), strict=True):
            grouped[i], found[i] = finer[i], min(found[i], solution, key=lambda s: s.cost)
    return found


def _finer(groups: GroupedRows, solution: Solution, grid: int) -> GroupedRows:
    """The same rows with positions closer around the cuts."""
    positions = closer(groups.rows.positions(), groups.positions, np.array(solution.cuts) + 1, grid)
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
