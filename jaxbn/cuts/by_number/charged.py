"""Cuts under a charge that depends on the number of intervals: the least of `charge(k) + B(k)`.

B(k) is the least cost of a partition into exactly k intervals. It is bounded from below by its convex hull, whose
vertices are the optima at a price for each interval (see ``hull``): prices are asked for until no other number of
intervals can be cheaper than the best vertex. Where a doubt is left, or few layers will do, the layered program knows
B(k) itself (docs/maths.md, "Cuts under a charge for their number").

Up to ``FEW_POSITIONS`` positions both programs have the costs of all intervals in a matrix. Beyond, one pass of the
pruned program over the rows answers several prices; a coarse copy of the problem tells which, mostly so well that a
single pass will do.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.by_number.guess import FEW_NUMBERS, guessed_prices
from jaxbn.cuts.by_number.hull import Hull
from jaxbn.cuts.grouped_rows import GroupedRows
from jaxbn.cuts.interval_costs import CostMatrix, cost_matrices
from jaxbn.cuts.on_accelerator import best_partitions, goes_there
from jaxbn.cuts.on_grid.grid import solve_on_grid
from jaxbn.cuts.problem import Rows, Solution
from jaxbn.cuts.solve import prefix_costs, solve_at_prices
from jaxbn.runtime.shapes import FEW_POSITIONS, FEW_PRICES, PRICES

FEW_LAYERS = 64
"""Up to this many intervals layers are quicker than prices."""

Search = Generator[Any, Any, Solution]
"""Yields prices and is sent the optima, or a number of layers and is sent their costs and how to find the cuts."""


class Charged(NamedTuple):
    """Rows to cut under a charge for the number of intervals."""

    rows: Rows
    charge: NDArray[np.float64]  # one entry for each possible number of intervals, from 1 on
    constant: float = 0.0  # added to the cost

    def solved(self, found: Solution) -> Solution:
        """The solution with the constant."""
        return Solution(found.cost + self.constant, found.cuts, found.live)


def solve_charged(problems: Sequence[Charged], grid: int | None = None, refinements: int = 1) -> list[Solution]:
    """The exact minimum of `charge[k - 1] + B(k)` of each, or the best on a grid of groups of rows (see `grid`)."""

    def solve(numbers: Sequence[int], grouped: Sequence[GroupedRows]) -> list[Solution]:
        return _solve([problems[i] for i in numbers], grouped)

    found = solve_on_grid(solve, [problem.rows for problem in problems], grid, refinements)
    return [problem.solved(solution) for problem, solution in zip(problems, found, strict=True)]


def _solve(problems: Sequence[Charged], grouped: Sequence[GroupedRows]) -> list[Solution]:
    """The best partition of each over the positions of its groups, without the constant."""
    solutions: dict[int, Solution] = {}
    few: list[int] = []
    for i, (problem, groups) in enumerate(zip(problems, grouped, strict=True)):
        if not problem.rows.terms and problem.rows.spread is None:
            solutions[i] = _by_charge_alone(groups.positions, problem.charge)
        elif len(problem.charge) == 1:
            solutions[i] = Solution(float(problem.charge[0]) + groups.cost_of_one(), [], 0.0)
        elif groups.n > FEW_POSITIONS:
            solutions[i] = _from_rows(groups, problem.charge)
        else:
            few.append(i)
    there = [i for i in few if goes_there(grouped[i], problems[i].charge)]
    found = best_partitions([grouped[i] for i in there], [problems[i].charge for i in there])
    solutions.update(zip(there, found, strict=True))
    here = [i for i in few if i not in solutions]
    for i, matrix in zip(here, cost_matrices([grouped[i] for i in here]), strict=True):
        solutions[i] = _answered(_from_matrix(grouped[i], problems[i].charge), matrix)
    return [solutions[i] for i in range(len(problems))]


def _by_charge_alone(positions: NDArray[np.intp], charge: NDArray[np.float64]) -> Solution:
    """Any partition into the cheapest number of intervals: the first cuts."""
    k = int(charge[: len(positions) - 1].argmin()) + 1
    return Solution(float(charge[k - 1]), [int(p) - 1 for p in positions[1:k]], 0.0)


# --- searches that ask for prices and layers


def _from_matrix(groups: GroupedRows, charge: NDArray[np.float64]) -> Search:
    charge = charge[: groups.n]
    if groups.rows.spread is None or len(charge) <= FEW_LAYERS:
        return (yield from _by_layers(groups, charge))
    hull = Hull(charge, groups.cost_of_one())
    prices = [hull.slope(k) for k in np.geomspace(1, len(charge), PRICES)]
    return (yield from _by_prices(hull, prices, PRICES, partial(_layers_in_doubt, groups)))


def _by_prices(
    hull: Hull, prices: Sequence[float], at_once: int, settle: Callable[[Hull, Sequence[int]], Search]
) -> Search:
    """Vertices of the hull until other numbers of intervals are ruled out; `settle` decides where a doubt is left."""
    while True:
        found = yield prices
        for price, solution in zip(prices, found, strict=True):
            hull.learn(price, solution)
        doubtful = hull.doubtful()
        if not doubtful:
            return hull.best
        prices = hull.questions(doubtful, at_once)
        if not prices:
            return (yield from settle(hull, doubtful))


def _layers_in_doubt(groups: GroupedRows, hull: Hull, doubtful: Sequence[int]) -> Search:
    """The layered program for the doubtful numbers of intervals, if it finds better than the hull has."""
    return (yield from _by_layers(groups, hull.charge[: max(doubtful)], hull.best))


def _by_layers(groups: GroupedRows, charge: NDArray[np.float64], best: Solution | None = None) -> Search:
    """More and more layers until no further one can win."""
    floor = groups.floor()
    least_charge = np.minimum.accumulate(charge[::-1])[::-1]  # over this and every larger k
    n_layers, possible = 0, min(len(charge), groups.n)
    while True:
        whole, cuts = yield n_layers + 1
        n_layers = min(len(whole), possible)
        totals = charge[:n_layers] + whole[:n_layers]
        k = int(np.argmin(totals))
        cost = min(float(totals[k]), np.inf if best is None else best.cost)
        if n_layers == possible or least_charge[n_layers] + floor >= cost:
            break
    if best is not None and best.cost <= totals[k]:
        return best
    return Solution(float(totals[k]), cuts(k + 1), float(groups.n))


def _answered(search: Search, matrix: CostMatrix) -> Solution:
    """The end of a search over the partitions of one problem."""
    asked = next(search)
    while True:
        answer = (matrix.layers(asked), matrix.layer_cuts) if isinstance(asked, int) else matrix.solve_at(asked)
        try:
            asked = search.send(answer)
        except StopIteration as end:
            return end.value


# --- many positions: passes over the rows


def _from_rows(groups: GroupedRows, charge: NDArray[np.float64]) -> Solution:
    """Prices by the pruned program."""
    rows = groups.rows
    at_once = FEW_PRICES if rows.spread is None or len(charge) <= FEW_NUMBERS else PRICES
    hull = Hull(charge, groups.cost_of_one())
    prices = guessed_prices(groups, hull, at_once)
    search = _by_prices(hull, prices, at_once, partial(_settle_doubt, groups, at_once))
    try:
        asked = next(search)
        while True:
            asked = search.send(solve_at_prices(rows.task, _repeated(asked, at_once))[: len(asked)])
    except StopIteration as end:
        return end.value


def _repeated(prices: Sequence[float], n: int) -> list[float]:
    """Always n prices, as many as the program is compiled for; the last one is repeated."""
    return [*prices, *[prices[-1]] * (n - len(prices))]


def _settle_doubt(groups: GroupedRows, at_once: int, hull: Hull, doubtful: Sequence[int]) -> Search:
    """The layered program over the positions that a better partition into a doubtful number of intervals could use.

    The cheapest priced partition through a position is the forward plus the backward optimum there. Whatever the
    price, k intervals through it cost at least that minus k times the price.
    """
    yield from ()
    prices = _repeated(hull.sharpest_prices(doubtful)[:at_once], at_once)
    through = _through(groups, prices)
    limit = hull.best.cost + hull.slack
    admitted = np.zeros(len(groups.positions), bool)
    for k in doubtful:
        least = (through - k * np.array(prices)[:, None]).max(axis=0)
        admitted |= hull.charge[k - 1] + least <= limit
    admitted[[0, -1]] = True
    some = GroupedRows(groups.rows, groups.positions[admitted])
    with CostMatrix(some) as matrix:
        return _answered(_layers_in_doubt(some, hull, doubtful), matrix)


def _through(groups: GroupedRows, prices: Sequence[float]) -> NDArray[np.float64]:
    """Least cost of a partition with a boundary at each position, at every price [R, P]; 0 at both ends."""
    rows, inner = groups.rows, groups.positions[1:-1]
    forward = prefix_costs(rows.task, prices)[:, inner - 1]
    backward = prefix_costs(rows.mirrored.task, prices)[:, rows.n - inner - 1]
    return np.pad(forward + backward, ((0, 0), (1, 1)))
