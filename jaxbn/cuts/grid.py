"""Cuts on a grid: few positions, spread evenly at first, then close around the cuts that were found there.

While arcs still move, cuts need not be placed to the last row. The result is the best partition over the second
positions, which include the first cuts; with no more positions than the grid has it is the optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.grouped_rows import GroupedRows
from jaxbn.cuts.problem import Rows, Solution

Positions = NDArray[np.intp]


def solve_on_grid(
    solve: Callable[[Sequence[int], Sequence[GroupedRows]], list[Solution]], rows: Sequence[Rows], grid: int | None
) -> list[Solution]:
    """Solve problems over at most `grid` groups of rows each, all positions where it is None.

    Args:
        solve: the optima of some of the problems, given by their numbers, over the positions of their groups.
        rows: those of every problem.
        grid: most groups.
    """
    coarse = [GroupedRows(some, some.positions(grid)) for some in rows]
    numbers = range(len(rows))
    found = solve(numbers, coarse)
    again = [i for i in numbers if grid is not None and int(rows[i].can_cut.sum()) + 1 > grid and found[i].cuts]
    if not again or grid is None:
        return found
    cuts = {i: np.array(found[i].cuts) + 1 for i in again}
    finer = [GroupedRows(rows[i], closer(rows[i].positions(), coarse[i].positions, cuts[i], grid)) for i in again]
    for i, solution in zip(again, solve(again, finer), strict=True):
        found[i] = min(found[i], solution, key=lambda s: s.cost)
    return found


def closer(positions: Positions, some: Positions, cuts: Positions, size: int) -> Positions:
    """At most so many positions around the cuts, up to their neighbours among those used so far; else the same."""
    each = (size - 1) // max(len(cuts), 1) - 1
    if each < 3 or not len(cuts):
        return some
    at = np.searchsorted(some, cuts)
    low, high = np.searchsorted(positions, some[at - 1]), np.searchsorted(positions, some[at + 1])
    around = positions[np.linspace(low, high, each).round().astype(np.intp)]
    return np.unique(np.concatenate([around.ravel(), cuts, positions[[0, -1]]]))
