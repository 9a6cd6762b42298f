"""The shape of a column: a base density, found from the column alone.

Cuts are there for what depends on others; what a column looks like by itself (skew, tails, atoms, favourite digits) is
its shape. Inside a bin the values are distributed as the shape has them:

    p(x | parents) = P(bin | parents) · m(x) / M(bin)

m is the base density and M(bin) its integral over the bin. A flat shape has the length of a bin in the place of M.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jaxbn.cuts.shapes.recording import Recording

BUCKETS = 2**12  # for looking numbers up in a shape; for fewer numbers than that a search is as fast
DIGITS = 6  # significant digits of the masses: enough for any table, and short in files


class Places:
    """Where numbers lie among ascending knots, by a table of even buckets: most of these hold at most one knot.

    Example:
        >>> Places(np.array([0.0, 1.0, 3.0]))(np.array([-1.0, 0.0, 2.9, 3.0])).tolist()
        [0, 0, 1, 1]
    """

    def __init__(self, knots: NDArray[np.float64]) -> None:
        self.knots = knots
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self.scale = BUCKETS / (knots[-1] - knots[0])
        self.even = bool(np.isfinite(self.scale)) and self.scale > 0
        starts = self._bucket(knots[1:-1])
        self.first = np.searchsorted(starts, np.arange(BUCKETS))  # the cell in which each bucket begins
        self.crowded = np.bincount(starts, minlength=BUCKETS) > 1

    def _bucket(self, x: NDArray[np.float64]) -> NDArray[np.intp]:
        if not self.even:
            return np.zeros(x.shape, np.intp)
        return np.clip((x - self.knots[0]) * self.scale, 0, BUCKETS - 1).astype(np.intp)

    def __call__(self, x: NDArray[np.float64]) -> NDArray[np.intp]:
        """The cell of each number; those outside belong to the outer cells."""
        if x.size < BUCKETS:
            return np.clip(np.searchsorted(self.knots, x, side="right") - 1, 0, len(self.knots) - 2)
        # a bucket with one knot needs one comparison; only numbers in crowded buckets are searched for
        bucket = self._bucket(x)
        cell = self.first[bucket]
        cell += (x >= self.knots[cell + 1]) & (cell < len(self.knots) - 2)
        crowded = self.crowded[bucket]
        cell[crowded] = np.searchsorted(self.knots[1:-1], x[crowded], side="right")
        return cell


@dataclass(frozen=True, eq=False)
class Shape:
    """A density of one column: constant in each of some cells, but for the weights of recorded digits.

    Attributes:
        knots: ends of the cells, ascending [cells + 1].
        masses: the probability of each cell [cells]; they sum to 1.
        recording: the grid on which the values were recorded.
        log_evidence: ln of the evidence of all histograms of the column together, for each of its values; NaN if it is
            not known.

    Example:
        >>> shape = Shape([0.0, 1.0, 3.0], [0.5, 0.5])
        >>> shape.below([0.5, 1.0, 2.0, 9.0]).tolist(), shape.density([0.5, 2.0]).tolist()
        ([0.25, 0.5, 0.75, 1.0], [0.5, 0.25])
    """

    knots: NDArray[np.float64]
    masses: NDArray[np.float64]
    recording: Recording = field(default_factory=Recording)
    log_evidence: float = float("nan")

    def __post_init__(self) -> None:
        knots, masses = np.array(self.knots, np.float64), np.array(self.masses, np.float64)
        fits = knots.ndim == 1 and len(knots) == len(masses) + 1 and len(masses) > 0
        if not fits or not np.isfinite(knots).all() or not np.isfinite(masses).all():
            raise ValueError("a shape needs finite knots, one more than masses")
        if (np.diff(knots) <= 0).any() or (masses <= 0).any():
            raise ValueError("the knots of a shape must be ascending and its masses positive")
        # rounded when it is made, not when it is written: a network read from a file then has the same densities
        masses = np.array([float(f"{mass:.{DIGITS}g}") for mass in masses])
        for name, array in (("knots", knots), ("masses", masses)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "log_evidence", float(self.log_evidence))

    def __getstate__(self) -> dict[str, Any]:
        """What worker processes are sent: the fields, and not the tables that are made of them."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def is_flat(self) -> bool:
        """Whether it says nothing but where the column begins and ends."""
        return len(self.masses) == 1 and not self.recording.has_digits

    @cached_property
    def _ruler(self) -> NDArray[np.float64]:
        """The length up to each knot, by the recorded digits [cells + 1]."""
        return self.recording.length(self.knots)

    @cached_property
    def _before(self) -> NDArray[np.float64]:
        """The mass up to each knot [cells + 1]."""
        before = np.append(0.0, np.cumsum(self.masses))
        return before / before[-1]

    def measure(self) -> dict[str, Any]:
        """What ``below`` works with: the length up to each knot, the mass up to it, and the recorded digits."""
        found: dict[str, Any] = {"lengths": self._ruler.tolist(), "before": self._before.tolist()}
        if self.recording.has_digits:
            found |= {"step": self.recording.step, "endings": list(self.recording.weights)}
        return found

    def below(self, x: ArrayLike) -> NDArray[np.float64]:
        """M, the probability of smaller values: 0 before the first knot and 1 from the last on."""
        length = self.recording.length(np.asarray(x, np.float64))
        cell = self._lengths(length)
        found = self._slopes[cell] * (length - self._ruler[cell]) + self._before[cell]
        return np.where(length >= self._ruler[-1], 1.0, np.where(length <= self._ruler[0], 0.0, found))

    def density(self, x: ArrayLike) -> NDArray[np.float64]:
        """M's derivative; values outside have the density of the outer cells."""
        x = np.asarray(x, np.float64)
        cell = self._cells(x)
        inside = np.clip(x, self.knots[0], np.nextafter(self.knots[-1], -np.inf))
        return self._heights[cell] * self.recording.weight(inside)

    @cached_property
    def _heights(self) -> NDArray[np.float64]:
        """Mass per length of each cell."""
        return self.masses / self.masses.sum() / np.diff(self._ruler)

    @cached_property
    def _slopes(self) -> NDArray[np.float64]:
        return np.diff(self._before) / np.diff(self._ruler)

    @cached_property
    def _cells(self) -> Places:
        return Places(self.knots)

    @cached_property
    def _lengths(self) -> Places:
        """The cells on the ruler."""
        return Places(self._ruler) if self.recording.has_digits else self._cells

    def quantile(self, share: ArrayLike) -> NDArray[np.float64]:
        """The number below which a share of the probability lies."""
        length = np.interp(np.asarray(share, np.float64), self._before, self._ruler)
        return np.clip(self.recording.number(length), self.knots[0], self.knots[-1])

    def means(self, edges: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean inside each of the bins between some edges, ends included [len(edges) - 1].

        Digits are passed over: a preferred ending moves the mean of a bin by a fraction of a step.
        """
        inside = np.clip(edges, self.knots[0], self.knots[-1])
        ends = np.union1d(inside, self.knots)
        before = np.interp(ends, self.knots, self._before)
        moment = np.append(0.0, np.cumsum(np.diff(before) * (ends[1:] + ends[:-1]) / 2))
        at = np.searchsorted(ends, inside)
        mass, total = np.diff(before[at]), np.diff(moment[at])
        middles = (edges[1:] + edges[:-1]) / 2
        return np.where(mass > 0, total / np.where(mass > 0, mass, 1.0), middles)

    def stretched(self, low: float, high: float) -> Shape:
        """The shape of a column that reaches further: the outer cells do."""
        half = self.recording.half
        low, high = min(low - half, self.knots[0]), max(high + half, self.knots[-1])
        if low == self.knots[0] and high == self.knots[-1]:
            return self
        knots = np.concatenate([[low], self.knots[1:-1], [high]])
        return Shape(knots, self.masses, self.recording, self.log_evidence)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Shape):
            return NotImplemented
        same = np.array_equal(self.knots, other.knots) and np.array_equal(self.masses, other.masses)
        return same and self.recording == other.recording

    def __hash__(self) -> int:
        return hash((self.knots.tobytes(), self.masses.tobytes()))

    def fields(self) -> dict[str, Any]:
        """What a file keeps of it."""
        step = {"step": self.recording.step} if self.recording.step else {}
        endings = {"endings": list(self.recording.weights)} if self.recording.has_digits else {}
        return {"knots": self.knots.tolist(), "masses": self.masses.tolist(), **step, **endings}
