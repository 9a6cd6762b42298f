"""How the values of a column were recorded: the step of the grid they lie on, and the digits that people prefer.

A value t · step stands for the cell [(t - 1/2) step, (t + 1/2) step). Where some endings are favoured (whole numbers,
halves, multiples of 100), cells of such endings have more weight, and the length of an interval is the weight of its
cells: favourite digits then look like length, and no longer like structure
(docs/maths.md, "Recorded digits").
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

FINEST = 2.0**-24
"""Share of the largest value below which a step below 1 is that of the float format, not one that somebody chose."""

SMALLEST, LARGEST = -300, 300  # powers of ten between which the range of a grid lies: beyond, cells are no floats
NEAR = 1e-3  # share of a step by which a value may miss the grid: 9.899999 was 9.9 once

MULTIPLES = (10.0, 6.0, 5.0, 3.6, 2.5, 2.0)
"""A step may be this many times a power of ten; 25 and 2.5 stand for quarters, 60 and 3600 seconds for the clock."""

DIVISORS = ((2,), (5,), (4, 2), (10, 5), (10, 5, 2), (100, 50, 10, 5), (1000, 500, 100, 50, 10, 5))
"""Classes of endings that are tried: a cell belongs to the first of these numbers that divides it, or to none."""

FEWEST_ROWS = 20  # fewer rows say nothing about digits


@dataclass(frozen=True)
class Recording:
    """The grid on which a column was recorded.

    Attributes:
        step: distance of neighbouring values on the grid; 0 if there is none.
        weights: relative frequency of each ending, from 0 on; their mean is 1, and none stands for equal ones. The
            ending of t · step is t modulo their number.

    Example:
        >>> found = Recording(0.5, (1.5, 0.5))  # whole numbers three times as often
        >>> found.length(np.array([0.75, 1.25, 1.75])).tolist()  # of all cells up to a number, from the cell of 0 on
        [1.0, 1.75, 2.0]
    """

    step: float = 0.0
    weights: tuple[float, ...] = ()

    @property
    def has_digits(self) -> bool:
        """Whether some endings are preferred."""
        return len(self.weights) > 0

    @property
    def half(self) -> float:
        """How far the cells of the outer values reach beyond them."""
        return self.step / 2 if self.has_digits else 0.0

    @cached_property
    def _before(self) -> NDArray[np.float64]:
        """Weight of the endings before each, and of all [period + 1]."""
        return np.append(0.0, np.cumsum(self.weights))

    def length(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The length up to each number, in original units, up to a constant."""
        if not self.has_digits:
            return np.asarray(x, np.float64)
        place = x / self.step + 0.5
        cell = np.floor(place)
        cycle, ending = np.divmod(cell, len(self.weights))
        ending = ending.astype(np.intp)
        inside = self._before[ending] + (place - cell) * np.asarray(self.weights)[ending]
        return self.step * (cycle * self._before[-1] + inside)

    def weight(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weight of the cell of each number: the slope of the length there."""
        if not self.has_digits:
            return np.ones(np.shape(x))
        return np.asarray(self.weights)[(np.floor(x / self.step + 0.5) % len(self.weights)).astype(np.intp)]

    def number(self, length: NDArray[np.float64]) -> NDArray[np.float64]:
        """The inverse of ``length``."""
        if not self.has_digits:
            return np.asarray(length, np.float64)
        cycle, inside = np.divmod(np.asarray(length) / self.step, self._before[-1])
        ending = np.clip(np.searchsorted(self._before, inside, side="right") - 1, 0, len(self.weights) - 1)
        share = (inside - self._before[ending]) / np.asarray(self.weights)[ending]
        return self.step * (cycle * len(self.weights) + ending + np.clip(share, 0.0, 1.0) - 0.5)

    def rounded(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Each number as it would have been recorded: that of its cell."""
        if not self.step:
            return x
        places = max(0, -int(np.floor(np.log10(self.step))) + 1)
        return np.round(np.round(x / self.step) * self.step, places)

    def __str__(self) -> str:
        if not self.step:
            return "no step"
        return f"step {self.step:g}" + "".join(f", {text}" for text in self._preferences())

    def _preferences(self) -> list[str]:
        """The endings that are preferred, in words: "multiples of 1 6 times as often"."""
        if not self.has_digits:
            return []
        weights, rest = np.asarray(self.weights), min(self.weights)
        found: list[tuple[int, float]] = []
        for divisor in range(len(weights), 1, -1):
            own = weights[0] if divisor == len(weights) else weights[divisor]
            if len(weights) % divisor == 0 and own > 1.5 * rest and own not in [w for _, w in found]:
                found.append((divisor, float(own)))
        return [f"multiples of {d * self.step:g} {own / max(rest, 1e-9):.3g} times as often" for d, own in found[:3]]


def recorded(values: NDArray[np.float64], counts: NDArray[np.int64]) -> Recording:
    """The grid of a column of distinct ascending values, and the endings that are preferred as far as counts tell."""
    step = recording_step(values)
    if not step or counts.sum() < FEWEST_ROWS:
        return Recording(step)
    cell = np.round(values / step).astype(np.int64)
    tried = [_preferred(cell, counts, divisors) for divisors in DIVISORS]
    weights, gain = max(tried, key=lambda found: found[1])
    return Recording(step, tuple(weights.tolist()) if gain > 0 else ())


def recording_step(values: NDArray[np.float64]) -> float:
    """The coarsest step of which all values are multiples, 0 if they lie on no grid that somebody would choose."""
    low, high = float(values[0]), float(values[-1])
    if not 10.0**SMALLEST < high - low < 10.0**LARGEST:
        return 0.0
    largest = max(abs(low), abs(high))
    coarsest, few = int(np.floor(np.log10(high - low))), values[:: len(values) // 100 + 1]
    # from the coarsest step down: the first that fits is the one, as values on a grid lie on every finer one that
    # divides it
    for power in range(coarsest, min(coarsest - 8, -1), -1):
        for multiple in (*MULTIPLES, 1.0):
            step = multiple * 10.0**power if power >= 0 else multiple / 10.0**-power
            if step < finest_of(largest):
                return 0.0
            if _on_grid(few, step) and _on_grid(values, step):
                return step
    return 0.0


def finest_of(largest: float) -> float:
    """The finest step that somebody would choose for numbers up to `largest`."""
    return min(FINEST * largest, 1.0)


def finest_step(values: NDArray[np.float64]) -> float:
    """A power of ten that nobody would choose, and that keeps ascending values on no grid apart."""
    largest = max(abs(float(values[0])), abs(float(values[-1])))
    gap = np.clip(np.diff(values).min(), FINEST**1.5 * largest, finest_of(largest))
    return float(10.0 ** (np.ceil(np.log10(gap)) - 1))


def _on_grid(values: NDArray[np.float64], step: float) -> bool:
    """Whether ascending values are near a grid, and those at one place of it apart by their float format alone.

    Without the second, a code such as 99999 would put small numbers on a grid of 100,000, all of them at 0.
    """
    place = values / step
    near = np.round(place)
    if not (np.abs(place - near) <= NEAR).all():
        return False
    noise = 4 * FINEST * max(abs(float(values[0])), abs(float(values[-1])))
    return bool((np.diff(values)[np.diff(near) == 0] <= noise).all())


def _preferred(
    cell: NDArray[np.int64], counts: NDArray[np.int64], divisors: tuple[int, ...]
) -> tuple[NDArray[np.float64], float]:
    """Weights of endings by their classes, compared with what the neighbours of each cell let one expect of it.

    They are [period], of mean 1; also what they gain in log likelihood, less what they cost.

    Expected in a cell is the mean over the period around it, or, at the ends of the column, over the outer period. So a
    value counts with a share of one over the period in every cell whose mean it enters, and the work does not grow with
    the length of the grid.
    """
    period, span = divisors[0], int(cell[-1] - cell[0]) + 1
    if span < 2 * period:
        return np.ones(period), -np.inf
    class_of = np.array([next((i for i, d in enumerate(divisors) if e % d == 0), len(divisors)) for e in range(period)])
    seen = np.bincount(class_of[cell % period], counts, len(divisors) + 1)
    sizes = np.cumsum(np.eye(len(divisors) + 1)[class_of], axis=0)  # endings of each class up to one
    before = np.vstack([np.zeros_like(sizes[:1]), sizes])

    def of_class(up_to: NDArray[np.int64]) -> NDArray[np.float64]:
        cycle, ending = np.divmod(cell[0] + up_to, period)
        return np.asarray(cycle[:, None] * sizes[-1] + before[ending], np.float64)

    place = cell - cell[0]
    begin = np.where(place < period, 0, place - period + 1 + period // 2)
    end = np.where(place >= span - period, span, place + 1 + period // 2)
    expected = counts @ (of_class(end) - of_class(begin)) / period
    # half a row more on both sides: a class that never occurs keeps a positive weight, and so a finite log density
    ratio = (seen + 0.5) / (expected + 0.5)
    share, usual = seen / seen.sum(), expected / expected.sum()
    known = seen > 0  # of a class without values in reach none may be expected either
    told = (seen[known] * np.log(share[known] / usual[known])).sum()
    weights = ratio[class_of] / ratio[class_of].mean()
    return weights, float(told) - 0.5 * len(divisors) * np.log(max(counts.sum(), 2))
