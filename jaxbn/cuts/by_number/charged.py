"""Cuts under a charge that depends on the number of intervals: the least of `charge(k) + B(k)`.

B(k) is the least cost of a partition into exactly k intervals. It is bounded from below by its convex hull, whose
vertices are the optima at a price for each interval (see ``prices``): prices are asked for until no other number of
intervals can be cheaper than the best vertex. Where a doubt is left, or few layers will do, the layered program knows
B(k) itself (docs/maths.md, "Cuts under a charge for their number").

Up to ``FEW_POSITIONS`` positions both programs have the costs of all intervals in a matrix. Beyond, one pass of the
pruned program over the rows answers several prices; a coarse copy of the problem tells which, mostly so well that a
single pass will do.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.by_number.prices import Hull, guessed_prices
from jaxbn.cuts.grouped_rows import GroupedRows
from jaxbn.cuts.interval_costs import CostMatrix
from jaxbn.cuts.on_grid import FINE, FINE_GRID, solve_on_grid
from jaxbn.cuts.problem import Rows, Solution
from jaxbn.cuts.solve import over_positions, prefix_costs, solve_at_prices
from jaxbn.runtime.shapes import FEW_POSITIONS, FEW_PRICES, PRICES, TWO_PRICES

LOG = logging.getLogger("jaxbn")

MOST_POSITIONS = 8192
"""A matrix of the costs of all intervals between more positions would take more than half a gigabyte."""

FEW_LAYERS = 64  # up to this many intervals layers are quicker than prices


class Charged(NamedTuple):
    """Rows to cut under a charge for the number of intervals."""

    rows: Rows
    charge: NDArray[np.float64]  # one entry for each possible number of intervals, from 1 on
    constant: float = 0.0  # added to the cost


def solve_charged(problems: Sequence[Charged], grid: int | None = None, refinements: int = 1) -> list[Solution]:
    """The exact minimum of `charge[k - 1] + B(k)` of each, or the best on a grid of groups of rows (see `grid`)."""

    def solve(numbers: Sequence[int], grouped: Sequence[GroupedRows]) -> list[Solution]:
        charges = [problems[i].charge for i in numbers]
        known = [_without_matrix(groups, charge) for groups, charge in zip(grouped, charges, strict=True)]
        return over_positions(grouped, known, charges, _from_matrix)

    found = solve_on_grid(solve, [problem.rows for problem in problems], grid, refinements)
    return [replace(each, cost=each.cost + p.constant) for p, each in zip(problems, found, strict=True)]


def _without_matrix(groups: GroupedRows, charge: NDArray[np.float64]) -> Solution | None:
    """The solution where all intervals need not be costed, or are too many for it."""
    if not groups.rows.terms and groups.rows.spread is None:  # any partition into the cheapest number: the first cuts
        k = int(charge[: groups.n].argmin()) + 1
        return Solution(float(charge[k - 1]), (groups.positions[1:k] - 1).tolist(), 0.0)
    if len(charge) == 1:
        return Solution(float(charge[0]) + groups.cost_of_one(), [], 0.0)
    return _from_rows(groups, charge) if groups.n > FEW_POSITIONS else None


def _from_matrix(charge: NDArray[np.float64], matrix: CostMatrix) -> Solution:
    charge = charge[: matrix.problem.n]
    if matrix.problem.rows.spread is None or len(charge) <= FEW_LAYERS:
        return _by_layers(charge, matrix)
    # Where the charge is concave, its slope at the best number is a price that leads there. That number may be
    # anything, so the prices to begin with are the slopes at numbers in even ratios.
    hull = Hull(charge, matrix.problem.cost_of_one())
    prices = [hull.slope(k) for k in np.geomspace(1, len(charge), PRICES)]
    doubtful = hull.explored(prices, matrix.solve_at, PRICES)
    return _by_layers(charge[: max(doubtful)], matrix, hull.best) if doubtful else hull.best


def _by_layers(charge: NDArray[np.float64], matrix: CostMatrix, best: Solution | None = None) -> Solution:
    """More and more layers until no further one can win; `best` if none is better."""
    groups = matrix.problem
    floor = groups.floor()
    least_charge = np.minimum.accumulate(charge[::-1])[::-1]  # over this and every larger k
    n_layers, possible = 0, min(len(charge), groups.n)
    while True:
        whole = matrix.layers(n_layers + 1)
        n_layers = min(len(whole), possible)
        totals = charge[:n_layers] + whole[:n_layers]
        k = int(np.argmin(totals))
        cost = min(float(totals[k]), np.inf if best is None else best.cost)
        # no partition costs less than the floors of the finest one, so all further numbers are at least that and their
        # least charge (docs/maths.md, "Cuts under a charge for their number")
        if n_layers == possible or least_charge[n_layers] + floor >= cost:
            break
    if best is not None and best.cost <= totals[k]:
        return best
    return Solution(float(totals[k]), matrix.layer_cuts(k + 1), float(groups.n))


# --- many positions: passes over the rows


def _from_rows(groups: GroupedRows, charge: NDArray[np.float64]) -> Solution:
    """Prices by the pruned program."""
    rows = groups.rows
    at_once = TWO_PRICES if len(charge) <= FEW_LAYERS else FEW_PRICES if rows.spread is None else PRICES

    def solve_at(prices: Sequence[float]) -> list[Solution]:
        return solve_at_prices(rows, _repeated(prices, at_once if len(prices) > 1 else 1))[: len(prices)]

    hull = Hull(charge, groups.cost_of_one())
    doubtful = hull.explored(guessed_prices(groups, hull, at_once), solve_at, at_once)
    return _settle_doubt(groups, at_once, hull, doubtful) if doubtful else hull.best


def _repeated(prices: Sequence[float], n: int) -> list[float]:
    """Always n prices, as many as the program is compiled for; the last one is repeated."""
    return [*prices, *[prices[-1]] * (n - len(prices))]


def _settle_doubt(groups: GroupedRows, at_once: int, hull: Hull, doubtful: Sequence[int]) -> Solution:
    """The layered program over the positions that a better partition into a doubtful number of intervals could use.

    The cheapest priced partition through a position is the forward plus the backward optimum there. Whatever the
    price, k intervals through it cost at least that minus k times the price.
    """
    prices = _repeated(hull.sharpest_prices(doubtful)[:at_once], at_once)
    rows, inner = groups.rows, groups.positions[1:-1]
    # cuts cost nothing and each interval its price, so no price is paid twice in the sum of the two
    forward = prefix_costs(rows, prices)[:, inner - 1]
    backward = prefix_costs(rows.mirrored, prices)[:, rows.n - inner - 1]
    through = np.pad(forward + backward, ((0, 0), (1, 1)))  # [R, P]
    limit = hull.best.cost + hull.slack
    admitted = np.zeros(len(groups.positions), bool)
    for k in doubtful:
        least = (through - k * np.array(prices)[:, None]).max(axis=0)
        admitted |= hull.charge[k - 1] + least <= limit
    admitted[[0, -1]] = True
    if admitted.sum() > MOST_POSITIONS:
        (near,) = solve_charged([Charged(rows, hull.charge)], FINE_GRID, FINE)
        found = min(near, hull.best, key=lambda solution: solution.cost)
        least = min(hull.charge[k - 1] + hull.bound[k - 1] for k in doubtful)
        LOG.warning(
            "the best %d cuts of %d rows are those of a fine grid: all rows at once would take too much memory; better "
            "cuts would cost at most %.3g nats less", len(found.cuts), rows.n, found.cost - least
        )  # fmt: skip
        return found
    with CostMatrix(GroupedRows(rows, groups.positions[admitted])) as matrix:
        return _by_layers(hull.charge[: max(doubtful)], matrix, hull.best)
