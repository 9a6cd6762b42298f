"""Prices for each interval, to find the least of `charge(k) + B(k)`: what they show, and which to ask for first.

B(k) is the least cost of a partition into exactly k intervals, known by its lower convex hull alone. A price for each
interval leads to a vertex of the hull and bounds every B(k) from below: B(k) >= V(price) - price * k, where V is the
cost with all prices paid (docs/maths.md, "Cuts under a charge for their number").

The first prices are those that settle a coarse copy of the problem, in which few positions can be cut. Its optima at
many prices take a fraction of a pass over the rows. They are partitions of the rows as well, so the best of them is
near the best of all, and so are the prices at which the number of intervals changes. Nothing rests on the guess but
time.

Shapes: K numbers of intervals that are possible, from 1 on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.grouped_rows import GroupedRows
from jaxbn.cuts.interval_costs import CostMatrix
from jaxbn.cuts.on_grid import Sweeps, closer
from jaxbn.cuts.problem import Solution
from jaxbn.runtime.shapes import PRICES

POSITIONS = 1024
"""Most positions of the coarse copy; a sixteenth of all if that is less, but not below `FEWEST_POSITIONS`."""

FEWEST_POSITIONS = 256

FEW_CELLS = 64  # with more cells than this there are fewer positions, as every interval costs a look-up for each cell
NUMBERS = 24  # numbers of intervals whose prices are asked for in one pass over the coarse copy
REFINEMENTS = 2  # positions are chosen evenly at first, then this many times around the cuts that were found
NEAR = 2  # numbers of intervals that look best, whose prices are asked for in any case
FEW_NUMBERS = 64  # up to so many intervals the coarse copy is solved for every number of them
SAFE = 0.01  # share by which a price lies below what it must not exceed: at lower prices noise is worth many intervals

FAR = 12
"""The coarse copy rules out up to this multiple of the best number of intervals; it has too few positions for more."""


class Hull:
    """What some prices have shown: vertices of the hull, and a lower bound of B(k) for every k."""

    def __init__(self, charge: NDArray[np.float64], whole: float) -> None:
        """`charge` has one entry for each possible k, from 1 on; `whole` is the cost of a single interval."""
        self.charge = charge  # [K]
        self.numbers = np.arange(1, len(charge) + 1)
        self._steps, self._middles = np.diff(charge), self.numbers[:-1] + 0.5
        self.bound = np.full(len(charge), -np.inf)  # [K], no partition into k intervals costs less
        self.costs = {1: whole}  # B of the vertices
        self._beyond: dict[int, float] = {}  # costs of vertices with more intervals than there may be
        self.cuts: dict[int, list[int]] = {1: []}
        self.answers: dict[float, float] = {}  # V of each price
        self.live = 0.0

    def learn(self, price: float, found: Solution) -> None:
        """Take in the optimum at a price."""
        self.answers[price] = found.cost
        self.live = max(self.live, found.live)
        n = len(found.cuts) + 1
        # the first answer stays: a second price with the same number has the same B up to rounding, but maybe other
        # cuts
        if n <= len(self.charge):
            self.costs.setdefault(n, found.cost - price * n)
            self.cuts.setdefault(n, found.cuts)
        else:
            self._beyond.setdefault(n, found.cost - price * n)
        np.maximum(self.bound, found.cost - price * self.numbers, out=self.bound)

    @property
    def best_number(self) -> int:
        """The vertex with the least total."""
        return self.numbers_found[0]

    @property
    def best(self) -> Solution:
        """The partition with the least total among the vertices."""
        n = self.best_number
        return Solution(float(self.charge[n - 1]) + self.costs[n], self.cuts[n], self.live)

    @property
    def slack(self) -> float:
        """Rounding allowance of totals: closer to the best one they are equal to it."""
        return 1e-9 * abs(self.best.cost) + 1e-9

    @property
    def numbers_found(self) -> list[int]:
        """The vertices' numbers of intervals, the best first."""
        return sorted(self.costs, key=lambda n: float(self.charge[n - 1]) + self.costs[n])

    def doubtful(self) -> list[int]:
        """The numbers of intervals that could still be better than the best vertex by more than `slack`, ascending."""
        limit = self.best.cost - self.slack
        return [int(n) for n in self.numbers[self.charge + self.bound < limit] if n not in self.costs]

    def explored(
        self, prices: Sequence[float], solve_at: Callable[[Sequence[float]], list[Solution]], most: int
    ) -> list[int]:
        """Ask for prices, at most so many at once, until no more help; the numbers that are still doubtful then."""
        doubtful: list[int] = []
        while prices:
            for price, found in zip(prices, solve_at(prices), strict=True):
                self.learn(price, found)
            doubtful = self.doubtful()
            prices = self.questions(doubtful, most) if doubtful else ()
        return doubtful

    def questions(self, doubtful: Sequence[int], most: int) -> list[float]:
        """New prices worth asking for, none where the hull has no answer to the doubts."""
        new = [price for price in self._chords(doubtful) if price not in self.answers]
        if not new:
            return []
        more = (price for price in map(self.slope, self._worst(doubtful)) if price not in self.answers)
        return list(dict.fromkeys([*new, *islice(more, most)]))[:most]

    def _worst(self, doubtful: Sequence[int]) -> list[int]:
        """Doubtful numbers, first the one of each run of neighbours that could be best, then the others."""
        numbers = np.array(doubtful)
        totals = self.charge[numbers - 1] + self.bound[numbers - 1]
        runs = np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(numbers) > 1) + 1)
        first = sorted((int(run[totals[run].argmin()]) for run in runs), key=lambda i: totals[i])
        others = np.argsort(totals, kind="stable").tolist()
        return [doubtful[i] for i in dict.fromkeys([*first, *others])]

    def sharpest_prices(self, numbers: Sequence[int]) -> list[float]:
        """The prices that bound some numbers of intervals best."""
        by_number = [max(self.answers, key=lambda price: self.answers[price] - price * n) for n in numbers]
        return list(dict.fromkeys(by_number))

    def slope(self, number: float) -> float:
        """Slope of the charge at a number of intervals: the price to ask for it, right where the charge is concave."""
        return float(np.interp(number, self._middles, self._steps))

    def _chords(self, doubtful: Sequence[int]) -> Iterator[float]:
        """Prices that settle much, best first.

        Beyond all vertices the charge's own slope there. Then the charge's chord from the best number of intervals to
        the doubtful one farthest on either side: if the best number is optimal at that price too, everything in between
        is ruled out where the charge is concave. Then the hull's chord over the number that could be best.
        """
        charge, best, last = self.charge, self.best_number, doubtful[-1]
        if last > max(self.costs):
            yield float(charge[last - 1] - charge[last - 2])
        right, left = [n for n in doubtful[-1:] if n > best], [n for n in doubtful[:1] if n < best]
        for far in right + left:
            yield float(charge[far - 1] - charge[best - 1]) / (far - best)
        worst = min(doubtful, key=lambda n: charge[n - 1] + self.bound[n - 1])
        vertices = self.costs | self._beyond
        before = max(n for n in vertices if n < worst)
        after = min((n for n in vertices if n > worst), default=None)
        if after is not None:
            yield (vertices[before] - vertices[after]) / (after - before)


def prices_that_cover(hull: Hull, end: int) -> list[float]:
    """The fewest of the hull's prices that rule out all numbers of intervals up to `end` but the best.

    What a price rules out on one side of the best is a single run of numbers, so they are covered from the two ends. Of
    prices that reach as far, the one that does so by the widest margin is taken.
    """
    best, least, charge, numbers = hull.best_number, hull.best.cost, hull.charge[:end], hull.numbers[:end]
    margins = {price: charge + cost - price * numbers - least for price, cost in hull.answers.items()}
    left = {price: margin[: best - 1] for price, margin in margins.items()}
    right = {price: margin[: best - 1 : -1] for price, margin in margins.items()}
    return list(dict.fromkeys(_cover(left) + _cover(right)))


def _cover(margins: Mapping[float, NDArray[np.float64]]) -> list[float]:
    """Prices that rule out the numbers on one side of the best, from the far end on; `margins` say by how much."""
    chosen, first, end = [], 0, len(next(iter(margins.values())))
    while first < end:
        reach = {price: first + int(np.append(own[first:] < 0, True).argmax()) for price, own in margins.items()}
        farthest = max(reach.values())
        if farthest > first:
            as_far = [price for price in reach if reach[price] == farthest]
            chosen.append(max(as_far, key=lambda price: margins[price][first:farthest].min()))
        first = max(farthest, first + 1)
    return chosen


def guessed_prices(groups: GroupedRows, hull: Hull, most: int) -> list[float]:
    """At most `most` prices that are likely to settle the number of intervals between the positions."""
    rows, positions = groups.rows, groups.positions
    n_cells = sum(term.n_cells for term in rows.terms)
    most_positions = int(POSITIONS * min(1.0, (FEW_CELLS / n_cells) ** 0.5))
    size = max(min(len(positions) // 16, most_positions), FEWEST_POSITIONS)
    some = positions[np.unique(np.linspace(0, len(positions) - 1, size).round().astype(np.intp))]
    limit = len(hull.charge)
    if limit <= FEW_NUMBERS:
        return _prices_of_layers(groups, hull, some, size)
    coarse = _coarse_hull(GroupedRows(rows, some), hull, np.geomspace(1, limit, NUMBERS))
    roomy = max(coarse.costs) <= size // 8  # positions enough for the best partition at every price
    for _ in range(REFINEMENTS):
        some = closer(positions, some, _cuts_near(coarse), size)
        # half of the numbers close around the best one, half from one to the end
        around = coarse.best_number + np.linspace(-1, 1, NUMBERS // 2) * max(3, coarse.best_number / 8)
        numbers = np.append(np.clip(around, 1, limit), np.geomspace(1, _end(coarse, roomy), NUMBERS // 2))
        coarse = _coarse_hull(GroupedRows(rows, some), hull, numbers)
    best, end = coarse.best_number, _end(coarse, roomy)
    many = [] if roomy else [hull.slope(limit / 2), hull.slope(best ** (1 / 3) * limit ** (2 / 3))]
    near = map(hull.slope, coarse.numbers_found[:NEAR])
    prices = list(dict.fromkeys([*many, *prices_that_cover(coarse, end), *near]))
    return _with_gaps_filled(prices[:most], most)


def _prices_of_layers(groups: GroupedRows, hull: Hull, some: NDArray[np.integer], size: int) -> list[float]:
    """A price that leads to the number of intervals that is best in the coarse copy; one that rules out larger numbers.

    At a price that leads to the best number, smaller ones are ruled out whose charge for each interval less is lower
    than it, and larger ones whose charge for each interval more is higher.
    """
    charge, numbers, prices = hull.charge, np.arange(1, len(hull.charge) + 1), list[float]()
    best, before, after = _gains_at_best(groups, charge, some, size)
    fewer, more = numbers < best, numbers > best
    if fewer.any():
        least = max(after, ((charge[best - 1] - charge[fewer]) / (best - numbers[fewer])).max())
        prices.append(float(np.sqrt(least * before) if 0 < least < before else (after + before) / 2))
    if more.any():
        most = float(((charge[more] - charge[best - 1]) / (numbers[more] - best)).min())
        prices.append(most - min(SAFE * most, (most - after) / 2))
    return [price for price in prices if price > 0] or [max(hull.slope(best), 1e-3)]


def _gains_at_best(
    groups: GroupedRows, charge: NDArray[np.float64], some: NDArray[np.integer], size: int
) -> tuple[int, float, float]:
    """The number of intervals that is best in the coarse copy, what the last of them gains, and what one more would.

    Where few intervals are allowed, the last number is often the best, and the two gains may be close together. So the
    cuts of these numbers move to their best rows.
    """
    for _ in range(REFINEMENTS + 1):
        with CostMatrix(GroupedRows(groups.rows, some)) as matrix:
            costs = matrix.layers(len(charge) + 1)[: len(charge) + 1]
            best = int(np.argmin(charge[: len(costs)] + costs[: len(charge)])) + 1
            near = {k: matrix.layer_cuts(k) for k in range(max(best - 1, 2), min(best + 1, len(costs)) + 1)}
        some = closer(groups.positions, some, np.unique([cut + 1 for cuts in near.values() for cut in cuts]), size)
    sweeps = Sweeps(groups.rows)
    for k, cuts in near.items():
        costs[k - 1] = sweeps.best_rows(Solution(float(costs[k - 1]), cuts, 0.0)).cost
    before = costs[best - 2] - costs[best - 1] if best > 1 else np.inf
    return best, float(before), float(costs[best - 1] - costs[best]) if best < len(costs) else 0.0


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
