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
from jaxbn.cuts.on_grid.positions import affordable, beside, closer
from jaxbn.cuts.on_grid.sweeps import Sweeps
from jaxbn.cuts.problem import Rows, Solution

FINE_GRID, FINE = 1023, 4
"""Positions where cuts are placed to the last row, and rounds of this, at most."""

DENSER = 4.0
"""So many times the look-ups are for the positions beside the cuts: most of them are rows by themselves."""

SPREAD_OUT = 4
"""One in so many of the first positions stays then, where a further cut may pay after all."""

Solve = Callable[[Sequence[int], Sequence[GroupedRows]], list[Solution]]
"""The optima of some of the problems, given by their numbers, over the positions of their groups."""


def solve_on_grid(
    solve: Solve,
    rows: Sequence[Rows],
    grid: int | None,
    refinements: int = 1,
    cut_costs: Sequence[NDArray[np.float64]] | None = None,
) -> list[Solution]:
    """Solve problems over at most `grid` groups of rows each, all positions where it is None.

    Args:
        solve: finds the optima over some positions.
        rows: those of every problem.
        grid: the largest number of groups.
        refinements: how often positions are chosen around the cuts, at most; if more than once, to the last row.
        cut_costs: what a cut after each row costs by itself, if it does.
    """
    if grid is None:
        return solve(range(len(rows)), [GroupedRows(some, some.positions()) for some in rows])
    if refinements > 1:
        given = [None] * len(rows) if cut_costs is None else cut_costs
        return [_to_the_last_row(solve, i, rows[i], grid, refinements, given[i]) for i in range(len(rows))]
    grouped = [GroupedRows(some, some.positions(grid)) for some in rows]
    found = solve(range(len(rows)), grouped)
    finer = {
        i: _closer(grouped[i], found[i], grid) for i in range(len(rows)) if found[i].cuts and _has_more(rows[i], grid)
    }
    again = [i for i, groups in finer.items() if not np.array_equal(groups.positions, grouped[i].positions)]
    for i, solution in zip(again, solve(again, [finer[i] for i in again]) if again else (), strict=True):
        found[i] = min(found[i], solution, key=lambda s: s.cost)
    return found


def _has_more(rows: Rows, grid: int) -> bool:
    """Whether there are more positions than the grid has."""
    return int(rows.can_cut.sum()) + 1 > grid


def _closer(groups: GroupedRows, solution: Solution, grid: int) -> GroupedRows:
    positions = closer(groups.rows.positions(), groups.positions, np.array(solution.cuts) + 1, grid)
    return GroupedRows(groups.rows, positions)


def _to_the_last_row(
    solve: Solve, number: int, rows: Rows, grid: int, rounds: int, cut_cost: NDArray[np.float64] | None
) -> Solution:
    """Cuts of one problem, each at the best row between its neighbours, and together the best of the rows beside them.

    From the best partition on a grid the cuts move one by one; then all of them together, by few rows, and their
    number may change; and so on until nothing is gained.
    """
    if not _has_more(rows, grid):
        return solve([number], [GroupedRows(rows, rows.positions())])[0]
    first, size = affordable(rows, grid), affordable(rows, grid, DENSER)
    positions, sweeps = rows.positions(), Sweeps(rows, cut_cost)
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
