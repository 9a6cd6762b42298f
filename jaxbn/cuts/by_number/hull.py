"""The least of `charge(k) + B(k)`, where B(k) is known by its lower convex hull alone.

B(k) is the least cost of a partition into exactly k intervals. A price for each interval leads to a vertex of the hull
and bounds every B(k) from below: B(k) >= V(price) - price * k, where V is the cost with all prices paid
(docs/maths.md, "Cuts under a charge for their number").

Shapes: K numbers of intervals that are possible, from 1 on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.problem import Solution


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
