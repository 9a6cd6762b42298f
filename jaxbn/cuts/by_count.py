"""Cuts under a charge that depends on the number of intervals: the least of `charge(k) + B(k)`.

B(k), the least cost of a partition into exactly k intervals, comes from the layered program while that is small. Else
it is bounded from below by its convex hull (see ``hull``): one pass over the rows finds the hull's vertices at several
prices, and the number of intervals is settled where no other k can be cheaper than the best vertex. A coarse copy of
the problem tells which prices to ask for, mostly so well that a single pass will do. Where a doubt is left the layered
program runs on the positions that the two-sided bound admits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.guess import guessed_prices
from jaxbn.cuts.hull import Hull
from jaxbn.cuts.interval_costs import CostMatrix, Rows, layered, whole_cost
from jaxbn.cuts.problem import Solution
from jaxbn.cuts.solve import prefix_costs, solve_at_prices

FEW_POSITIONS = 1024
"""Up to here the costs of all intervals are worked out first."""

LAYERED_SPREAD = 128
"""Up to here layers are quicker than prices where the width counts: there many intervals are hard to rule out."""

PRICES = 4
"""Prices of one pass over the rows: a further one adds a tenth to its time, a further pass nearly as much again."""

PRICES_SPREAD = 8
"""The same where the width counts: there several numbers of intervals are nearly as good as the best."""


def best_number_of_intervals(rows: Rows, charge: NDArray[np.float64]) -> Solution:
    """The exact minimum of `charge[k - 1] + B(k)` over all partitions; `charge` has one entry for each possible k."""
    positions = np.concatenate([[0], np.flatnonzero(rows.can_cut) + 1, [rows.n]])
    if not rows.terms:
        return Solution(float(charge.min()), _finest_cuts(positions, int(charge.argmin()) + 1), 0.0)
    if len(positions) > FEW_POSITIONS:
        hull = Hull(charge, whole_cost(rows))
        at_once = PRICES if rows.spread is None else PRICES_SPREAD
        prices = guessed_prices(rows, positions, hull, at_once)
        solve_at, settle = partial(_solve_at, rows, at_once), partial(_settle_doubt, rows, positions, at_once)
        return _priced(hull, prices, at_once, solve_at, settle)
    matrix = CostMatrix(rows, positions)
    if rows.spread is None or len(positions) <= LAYERED_SPREAD:
        return layered(matrix, charge)
    hull = Hull(charge, whole_cost(rows))
    prices = [hull.slope(k) for k in np.geomspace(1, len(charge), PRICES_SPREAD)]
    settle_here = partial(_layered_from, matrix)
    return _priced(hull, prices, PRICES_SPREAD, matrix.solve_at, settle_here)


def _finest_cuts(positions: NDArray[np.intp], k: int) -> list[int]:
    """Any k intervals: the first k - 1 cuts."""
    return [int(p) - 1 for p in positions[1:k]]


def _priced(
    hull: Hull,
    prices: Sequence[float],
    at_once: int,
    solve_at: Callable[[Sequence[float]], list[Solution]],
    settle: Callable[[Hull, Sequence[int]], Solution],
) -> Solution:
    """Vertices of the hull until every other number of intervals is ruled out.

    `solve_at(prices)` finds them, at most `at_once` at a time; `settle(hull, doubtful)` decides where a doubt is left.
    """
    while True:
        for price, found in zip(prices, solve_at(prices), strict=True):
            hull.learn(price, found)
        doubtful = hull.doubtful()
        if not doubtful:
            return hull.best
        prices = hull.questions(doubtful, at_once)
        if not prices:
            return settle(hull, doubtful)


def _layered_from(matrix: CostMatrix, hull: Hull, doubtful: Sequence[int]) -> Solution:
    """The layered program for the doubtful numbers of intervals, if it finds better than the hull has."""
    return layered(matrix, hull.charge[: max(doubtful)], hull.best)


def _solve_at(rows: Rows, at_once: int, prices: Sequence[float]) -> list[Solution]:
    return solve_at_prices(rows.task, _repeated(prices, at_once))[: len(prices)]


def _repeated(prices: Sequence[float], n: int) -> list[float]:
    """Always n prices, as many as the program is compiled for; the last one is repeated."""
    return [*prices, *[prices[-1]] * (n - len(prices))]


def _settle_doubt(
    rows: Rows, positions: NDArray[np.intp], at_once: int, hull: Hull, doubtful: Sequence[int]
) -> Solution:
    """The layered program over the positions that a better partition into a doubtful number of intervals could use.

    The cheapest priced partition through a position is the forward plus the backward optimum there. Whatever the
    price, k intervals through it cost at least that minus k times the price.
    """
    prices = _repeated(hull.sharpest_prices(doubtful)[:at_once], at_once)
    through = _through(rows, positions, prices)
    limit = hull.best.cost + hull.slack
    admitted = np.zeros(len(positions), bool)
    for k in doubtful:
        least = (through - k * np.array(prices)[:, None]).max(axis=0)
        admitted |= hull.charge[k - 1] + least <= limit
    admitted[[0, -1]] = True
    return _layered_from(CostMatrix(rows, positions[admitted]), hull, doubtful)


def _through(rows: Rows, positions: NDArray[np.intp], prices: Sequence[float]) -> NDArray[np.float64]:
    """Least cost of a partition with a boundary at each position, at every price [R, P]; 0 at both ends."""
    inner = positions[1:-1]
    forward = prefix_costs(rows.task, prices)[:, inner - 1]
    backward = prefix_costs(rows.mirrored.task, prices)[:, rows.n - inner - 1]
    return np.pad(forward + backward, ((0, 0), (1, 1)))
