"""Rulers: what the scores of a column are, in which numbers follow each other by lines.

A value stands for a part of its bin, and of its column, by the column's shape. Its normal score is Φ⁻¹ of its place,
the share of the bin or of the column that lies below it: without a line scores are standard normal. Numbers themselves
and their logarithms, in units of their spread, are scores as well: quantities are often proportional to each other, or
to products of others, and no line of normal scores is as straight (docs/maths.md, "Lines inside bins").
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

if TYPE_CHECKING:
    from jaxbn.cuts.shapes.inside import InsideBins

Floats = NDArray[np.float64]
Codes = NDArray[np.integer]
Kind = Literal["bin", "column", "number", "logarithm"]
"""Normal scores inside bins, those of whole columns, numbers, and their logarithms (numbers if one is not positive)."""

Ends = tuple[Floats, Floats, tuple[Floats, Floats]]
"""Ends of bins as shares of the whole column, and their scores."""

PARTS = 2.0**20
"""Equal parts of a bin, of which a value that lies on no grid stands for one."""

SHORT, LEAST = 3e-4, 1e-12
"""Half the width of a part in scores, times 1 + |score|, up to which a series gives its ends; and the least width."""

NODES = (np.arange(32) + 0.5) / 32
"""Quantiles over which means are taken: the middles of 32 equal parts."""


class Part(NamedTuple):
    """Parts of bins: the scores of their ends, the shares of the bins that they are, and their mean scores.

    Example:
        >>> Part.of(np.array([0.0, 0.5]), np.array([1.0, 1.0])).mean.round(4).tolist()
        [0.0, 0.7979]
    """

    begin: Floats
    end: Floats
    share: Floats
    mean: Floats
    even: bool = False  # whether values are spread evenly over the scores between the ends, or as in a normal column

    @classmethod
    def of(cls, low: Floats, high: Floats) -> Part:
        """The parts between two shares, from 0 to 1, by normal scores."""
        share, z = high - low, ndtri((low + high) / 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            half = share / (2 * _height(z))
            long = ~(half * (1 + np.abs(z)) < SHORT)
            # the series of Φ⁻¹ around the middle of the share
            square = half**2
            middle, half = z + z * square / 2, half + half * (1 + 2 * z**2) * square / 6
            found = cls(middle - half, middle + half, share, z + z * square / 6)
            if long.any():
                found.begin[long], found.end[long] = begin, end = ndtri(low[long]), ndtri(high[long])
                found.mean[long] = (_height(begin) - _height(end)) / share[long]
        return found

    def squares(self) -> Floats:
        """The mean squares of the scores."""
        if self.even:
            return np.asarray(self.mean**2 + (self.end - self.begin) ** 2 / 12)
        first, last = (np.where(np.isfinite(z), z, 0.0) * _height(z) for z in (self.begin, self.end))
        return 1 + (first - last) / self.share

    def log_plain(self) -> Floats:
        """The mean log density of the scores without a line."""
        if self.even:
            return np.log(self.share) - np.log(self.end - self.begin)
        return -(np.log(2 * np.pi) + self.squares()) / 2


class Normal:
    """Scores of shares, and back: normal ones, or those of a subclass."""

    def score(self, share: Floats) -> Floats:
        """The score at which a share lies below."""
        return np.asarray(ndtri(share))

    def share(self, score: Floats) -> Floats:
        """The share below a score."""
        return np.asarray(ndtr(score))


@dataclass(frozen=True, eq=False)
class Ruler(Normal):
    """The scores of the values of a column: normal ones of the whole column, where a subclass has no others."""

    inside: InsideBins

    @cached_property
    def _edges(self) -> Floats:
        return self.score(self.inside.column_ends)

    def part(self, values: Floats, codes: Codes) -> Part:
        """What each value stands for, in its bin."""
        low, share = self.inside.places(values, codes)
        low = self.inside.of_column(low, codes)
        return Part.of(low, np.minimum(low + share * np.diff(self.inside.column_ends).take(codes), 1.0))

    def ends(self, codes: Codes) -> Ends | None:
        """Those of some bins; None if scores are those of bins."""
        shares, scores, after = self.inside.column_ends, self._edges, codes + 1
        return shares.take(codes), shares.take(after), (scores.take(codes), scores.take(after))

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and variance of the scores in each bin [bins]."""
        whole = Part.of(self.inside.column_ends[:-1], self.inside.column_ends[1:])
        return whole.mean, whole.squares() - whole.mean**2


class OfBins(Ruler):
    """Normal scores inside bins."""

    def part(self, values: Floats, codes: Codes) -> Part:
        """What each value stands for, in its bin."""
        low, share = self.inside.places(values, codes)
        return Part.of(low, np.minimum(low + share, 1.0))

    def ends(self, codes: Codes) -> None:
        """Scores are those of bins."""

    def moments(self) -> tuple[Floats, Floats]:
        """Standard normal ones."""
        return np.zeros(len(self.inside.measures)), np.ones(len(self.inside.measures))


@dataclass(frozen=True, eq=False)
class OfNumbers(Ruler):
    """Numbers, or their logarithms, as scores: less their mean, by their spread."""

    log: bool

    @cached_property
    def centre_and_spread(self) -> tuple[float, float]:
        """Mean and standard deviation of what the scores are of."""
        found = self._taken(self.inside.at_column(NODES))
        return float(found.mean()), float(found.std())

    def _taken(self, values: Floats) -> Floats:
        return np.log(values) if self.log else values

    def of(self, values: Floats) -> Floats:
        """The scores of numbers."""
        centre, spread = self.centre_and_spread
        return (self._taken(values) - centre) / spread

    @cached_property
    def _edges(self) -> Floats:
        return self.of(self.inside.edges)

    def score(self, share: Floats) -> Floats:
        """The score at which a share of the column lies below."""
        return self.of(self.inside.at_column(share))

    def share(self, score: Floats) -> Floats:
        """The share of the column below a score."""
        (first, last), (centre, spread) = self.inside.below(self.inside.edges[[0, -1]]), self.centre_and_spread
        found = centre + spread * np.clip(score, self._edges[0], self._edges[-1])
        found = np.clip(np.exp(found) if self.log else found, *self.inside.edges[[0, -1]])
        return np.asarray((self.inside.below(found) - first) / (last - first))

    def part(self, values: Floats, codes: Codes) -> Part:
        """What each value stands for, in its bin."""
        inside, spread = self.inside, self.centre_and_spread[1]
        _, share = inside.places(values, codes)
        left, right = inside.edges.take(codes), inside.edges[1:].take(codes)
        near = np.clip(values, left, right)
        # a small part around a number: by the density, as it may have too few digits to be told from it
        width = share * np.exp(-inside.log_density(near, codes)) / (spread * (near if self.log else 1.0))
        middle = self.of(near)
        step = inside.recording.step
        if step:
            cell = np.floor(values / step + 0.5)
            low, high = (self.of(np.clip((cell + half) * step, left, right)) for half in (-0.5, 0.5))
            wide = (share > 1 / PARTS) & (high > low)
            middle, width = np.where(wide, (low + high) / 2, middle), np.where(wide, high - low, width)
        width = np.clip(width, LEAST, None)
        whole = share * np.diff(inside.column_ends).take(codes)
        return Part(middle - width / 2, middle + width / 2, whole, middle, even=True)

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and variance of the scores in each bin [bins]."""
        bins = np.arange(len(self.inside.measures))[:, None]
        found = self.of(self.inside.at(np.broadcast_to(bins, (len(bins), len(NODES))), NODES[None, :]))
        return found.mean(axis=1), found.var(axis=1)


def _height(z: Floats) -> Floats:
    return np.asarray(np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))
