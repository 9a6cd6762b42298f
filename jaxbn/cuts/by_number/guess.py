"""Which prices to ask for first: those that settle a coarse copy of the problem, in which few positions can be cut.

Its optima at many prices take a fraction of a pass over the rows. They are partitions of the rows as well, so the best
of them is near the best of all, and so are the prices at which the number of intervals changes. Nothing rests on the
guess but time.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.by_number.hull import Hull, prices_that_cover
from jaxbn.cuts.grouped_rows import GroupedRows
from jaxbn.cuts.interval_costs import CostMatrix
from jaxbn.cuts.on_grid import closer
from jaxbn.runtime.shapes import PRICES

POSITIONS = 1024
"""Most positions of the coarse copy; a sixteenth of all if that is less, but not below `FEWEST_POSITIONS`."""

FEWEST_POSITIONS = 256

FEW_CELLS = 64
"""With more cells than this there are fewer positions, as every interval costs a look-up for each cell."""

NUMBERS = 24
"""Numbers of intervals whose prices are asked for in one pass over the coarse copy."""

REFINEMENTS = 2
"""Positions are chosen evenly at first, then this many times around the cuts that were found."""

NEAR = 2
"""Numbers of intervals that look best, whose prices are asked for in any case."""

FEW_NUMBERS = 64
"""Up to so many intervals the coarse copy is solved for every number of them."""

CLEAR = 0.5
"""One price will do if an interval beyond the limit would gain less than this share of what the last one gains."""

FAR = 12
"""The coarse copy rules out up to this multiple of the best number of intervals; it has too few positions for more."""


def guessed_prices(groups: GroupedRows, hull: Hull, most: int) -> list[float]:
    """At most `most` prices that are likely to settle the number of intervals between the positions."""
    rows, positions = groups.rows, groups.positions
    n_cells = sum(term.n_cells for term in rows.terms)
    most_positions = int(POSITIONS * min(1.0, (FEW_CELLS / n_cells) ** 0.5))
    size = max(min(len(positions) // 16, most_positions), FEWEST_POSITIONS)
    some = positions[np.unique(np.linspace(0, len(positions) - 1, size).round().astype(np.intp))]
    limit = len(hull.charge)
    if limit <= FEW_NUMBERS:
        return _with_gaps_filled(_prices_of_layers(groups, hull, some, size)[:most], most)
    coarse = _coarse_hull(GroupedRows(rows, some), hull, np.geomspace(1, limit, NUMBERS))
    roomy = max(coarse.costs) <= size // 8  # positions enough for the best partition at every price
    for _ in range(REFINEMENTS):
        some = closer(positions, some, _cuts_near(coarse), size)
        end = _end(coarse, roomy)
        coarse = _coarse_hull(GroupedRows(rows, some), hull, _numbers_to_ask(coarse.best_number, end, limit))
    best, end = coarse.best_number, _end(coarse, roomy)
    many = [] if roomy else [hull.slope(limit / 2), hull.slope(best ** (1 / 3) * limit ** (2 / 3))]
    near = map(hull.slope, coarse.numbers_found[:NEAR])
    prices = list(dict.fromkeys([*many, *prices_that_cover(coarse, end), *near]))
    return _with_gaps_filled(prices[:most], most)


def _prices_of_layers(groups: GroupedRows, hull: Hull, some: NDArray[np.integer], size: int) -> list[float]:
    """The prices at which each number of intervals is the best of the coarse copy, first those around the best.

    Where few intervals are allowed, these prices lie far above what the charge asks for one more.
    """
    limit = len(hull.charge)
    for _ in range(REFINEMENTS + 1):
        with CostMatrix(GroupedRows(groups.rows, some)) as matrix:
            costs = matrix.layers(limit + 1)[: limit + 1]
            best = int(np.argmin(hull.charge[: len(costs)] + costs[:limit])) + 1
            cuts = np.array([cut + 1 for cut in matrix.layer_cuts(best)], np.intp)
        some = closer(groups.positions, some, cuts, size)
    numbers = _hull_numbers(costs)
    steps = {n: (costs[m - 1] - costs[n - 1]) / (n - m) for m, n in pairwise(numbers)}
    slopes = list(steps.values())
    prices = {n: (slopes[i - 1] + slopes[i]) / 2 for i, n in enumerate(numbers[1:-1], 1)}
    if best == limit and best in prices:
        before, after = slopes[numbers.index(best) - 1 : numbers.index(best) + 1]
        if after < CLEAR * before and prices[best] > hull.charge[-1] - hull.charge[-2]:
            # It lies above the charge of one more. Where it leads to the limit, it rules out all fewer intervals whose
            # charge is not lower by more than the price for each; what it leaves in doubt is asked for afterwards.
            return [prices[best]]
    found = [prices[n] for n in sorted(prices, key=lambda n: abs(n - best))]
    return [price for price in found if price > 0] or [max(hull.slope(best), 1e-3)]


def _hull_numbers(costs: NDArray[np.float64]) -> list[int]:
    """The numbers of intervals on the lower convex hull of their costs."""
    kept: list[int] = []
    for n in range(1, len(costs) + 1):
        while len(kept) > 1 and (costs[kept[-1] - 1] - costs[kept[-2] - 1]) * (n - kept[-2]) >= (
            costs[n - 1] - costs[kept[-2] - 1]
        ) * (kept[-1] - kept[-2]):
            kept.pop()
        kept.append(n)
    return kept


def _with_gaps_filled(prices: list[float], most: int) -> list[float]:
    """`most` prices: more between neighbours that lie far apart, as what the copy rules out may still be in doubt."""
    found = sorted(prices)
    while 1 < len(found) < most and found[0] > 0:
        wide = max(range(1, len(found)), key=lambda i: found[i] / found[i - 1])
        found.insert(wide, (found[wide - 1] * found[wide]) ** 0.5)
    return found


def _end(coarse: Hull, roomy: bool) -> int:
    """Up to how many intervals the coarse copy can rule out."""
    limit = len(coarse.charge)
    return limit if roomy else min(FAR * coarse.best_number, limit)


def _numbers_to_ask(best: int, end: int, limit: int) -> NDArray[np.float64]:
    """Half of them close around the best number of intervals, half from one to the end."""
    around = best + np.linspace(-1, 1, NUMBERS // 2) * max(3, best / 8)
    return np.append(np.clip(around, 1, limit), np.geomspace(1, end, NUMBERS // 2))


def _coarse_hull(groups: GroupedRows, hull: Hull, numbers: NDArray[np.float64]) -> Hull:
    """The hull shown by the prices at which these numbers of intervals could be best."""
    coarse = Hull(hull.charge, hull.costs[1])
    prices = sorted({hull.slope(number) for number in numbers})
    with CostMatrix(groups) as matrix:
        for first in range(0, len(prices), PRICES):
            some = prices[first : first + PRICES]
            for price, found in zip(some, matrix.solve_at(some), strict=True):
                coarse.learn(price, found)
    return coarse


def _cuts_near(hull: Hull) -> NDArray[np.integer]:
    """Positions at which the partitions into about as many intervals as the best one are cut."""
    best = hull.best_number
    cuts = {cut + 1 for number, cuts in hull.cuts.items() if abs(number - best) <= 0.15 * best + 1 for cut in cuts}
    return np.array(sorted(cuts), np.intp)
