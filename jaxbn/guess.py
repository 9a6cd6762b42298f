"""Which prices to ask for first: those that settle a coarse copy of the problem, in which few positions can be cut.

Its optima at many prices take a fraction of a pass over the rows. They are partitions of the rows as well, so the best
of them is near the best of all, and so are the prices at which the number of intervals changes. Nothing rests on the
guess but time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jaxbn.hull import Hull, prices_that_cover
from jaxbn.positions import CostMatrix, Rows

POSITIONS = 1024
"""Of the coarse copy, at most; a sixteenth of all if that is less, but not below `FEWEST_POSITIONS`."""

FEWEST_POSITIONS = 256

FEW_CELLS = 64
"""Up to here; with more cells there are fewer positions, as every interval costs a look-up for each cell."""

PRICES = 24
"""Asked for in it, at a time."""

TURNS = 3
"""Positions are chosen evenly at first, then twice around the cuts that were found."""

FAR = 12
"""So many times as many intervals as look best are ruled out by the coarse copy; it has too few positions for more."""


def guessed_prices(rows: Rows, positions: NDArray[np.intp], hull: Hull, most: int) -> list[float]:
    """At most so many prices that are likely to settle the number of intervals between the positions."""
    n_cells = sum(term.n_cells for term in rows.terms)
    most_positions = int(POSITIONS * min(1.0, (FEW_CELLS / n_cells) ** 0.5))
    size = max(min(len(positions) // 16, most_positions), FEWEST_POSITIONS)
    some = positions[np.unique(np.linspace(0, len(positions) - 1, size).round().astype(np.intp))]
    limit = len(hull.charge)
    numbers = np.geomspace(1, limit, PRICES)
    roomy = None
    for _ in range(TURNS):
        coarse = _coarse_hull(CostMatrix(rows, some), hull, numbers)
        best = coarse.best_number
        if roomy is None:  # whether there are positions enough for the best partition at every price
            roomy = max(coarse.costs) <= size // 8
        end = limit if roomy else min(FAR * best, limit)
        around = np.clip(best + np.linspace(-1, 1, PRICES // 2) * max(3, best / 8), 1, limit)
        numbers = np.append(around, np.geomspace(1, end, PRICES // 2))
        some = _closer(positions, some, _cuts_near(coarse, best), size)
    many = [] if roomy else [hull.slope(limit / 2), hull.slope(best ** (1 / 3) * limit ** (2 / 3))]
    prices = [*many, *prices_that_cover(coarse, end), *map(hull.slope, coarse.numbers_found)]
    return list(dict.fromkeys(prices))[:most]


def _coarse_hull(matrix: CostMatrix, hull: Hull, numbers: NDArray[np.float64]) -> Hull:
    """What the prices show at which these numbers of intervals could be best."""
    coarse = Hull(hull.charge, hull.costs[1])
    prices = sorted({hull.slope(number) for number in numbers})
    for price, found in zip(prices, matrix.solve_at(prices), strict=True):
        coarse.learn(price, found)
    return coarse


def _cuts_near(hull: Hull, best: int) -> NDArray[np.intp]:
    """Positions at which the partitions into about `best` intervals are cut."""
    cuts = {cut + 1 for number, cuts in hull.cuts.items() if abs(number - best) <= 0.15 * best + 1 for cut in cuts}
    return np.array(sorted(cuts), np.intp)


def _closer(positions: NDArray[np.intp], some: NDArray[np.intp], cuts: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """About so many positions around the cuts, up to their neighbours among those used so far."""
    each = (size - 2) // max(len(cuts), 1) - 1
    if each < 3 or not len(cuts):
        return some
    at = np.searchsorted(some, cuts)
    low, high = np.searchsorted(positions, some[at - 1]), np.searchsorted(positions, some[at + 1])
    around = positions[np.linspace(low, high, each).round().astype(np.intp)]
    return np.unique(np.concatenate([around.ravel(), cuts, positions[[0, -1]]]))
