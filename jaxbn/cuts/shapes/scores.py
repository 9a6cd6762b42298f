"""Scores of values inside bins: the rulers by which they are measured, and how values lean by a line of them.

A value stands for a part of its bin, and of its column, by the column's shape. Its normal score is z = Φ⁻¹(u) of its
place u, the share of the bin or of the column that lies below it: without a line scores are standard normal. Numbers
themselves and their logarithms, in units of their spread, are scores as well: quantities are often proportional to each
other, or to products of others, and no line of normal scores is as straight.

Values that lean to one side, or are close together, have scores with another mean and scale. A small share of values is
off the line: these are distributed as if there were none. Where scores are those of the whole column, of which the bin
is a part, or numbers, their distribution is cut off at the ends of the bin (docs/maths.md, "Lines inside bins").
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp

if TYPE_CHECKING:
    from jaxbn.cuts.shapes.inside import InsideBins

Floats = NDArray[np.float64]
Codes = NDArray[np.integer]
Kind = Literal["bin", "column", "number", "logarithm"]
"""Normal scores inside bins, those of whole columns, numbers, and their logarithms (numbers if one is not positive)."""

Ends = tuple[Floats, Floats, tuple[Floats, Floats]]
"""Ends of bins as shares of the whole column, and their scores."""

PARTS = 2.0**20  # equal parts of a bin, of which a value that lies on no grid stands for one

SHORT, LEAST = 3e-4, 1e-12
"""Half the width of a part in scores, times 1 + |score|, up to which a series gives its ends; and the least width."""

NODES = (np.arange(32) + 0.5) / 32  # quantiles over which means are taken: the middles of 32 equal parts

NARROW, HALF_LOG_2_PI = 1e-2, np.log(2 * np.pi) / 2
"""Parts are narrow, and a series gives their probability, if their width times 1 + |middle| is below this."""

TELLS, TINY = 1e-3, 1e-290
"""A difference of two probabilities has digits enough if it is this share of the larger one, and this large.

Otherwise it is taken from their logarithms.
"""


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


class Lean(NamedTuple):
    """The distribution of scores in some bins, arrays of one shape; a mean of 0 and a scale of 1 is none.

    Example:
        >>> half = Lean(np.array([0.0, 1.0]), np.array([1.0, 0.5]), 0.01)
        >>> half.below(np.array([0.5, 0.5])).round(4).tolist()
        [0.5, 0.0275]
        >>> half.at(half.below(np.array([0.3, 0.7]))).round(6).tolist()
        [0.3, 0.7]
    """

    mean: Floats
    scale: Floats
    off: Floats | float  # share of values that are not on the line
    begin: Floats | float = 0.0  # ends of the bin among the shares that have scores: all, or those of the column
    end: Floats | float = 1.0
    ends: tuple[Floats, Floats] | None = None  # their scores, where they are known already
    ruler: Normal = Normal()

    def take(self, *index: Any) -> Lean:
        """The lean in some of the bins."""
        off, begin, end = (np.broadcast_to(part, self.mean.shape)[index] for part in (self.off, self.begin, self.end))
        return Lean(self.mean[index], self.scale[index], off, begin, end, ruler=self.ruler)

    def _standard_ends(self) -> tuple[Floats, Floats]:
        """The standardised scores of the ends of the bin."""
        begin, end = self.ends or map(self.ruler.score, (np.asarray(self.begin), np.asarray(self.end)))
        return (begin - self.mean) / self.scale, (end - self.mean) / self.scale

    def below(self, share: Floats) -> Floats:
        """The probability of what lies below a share of the bin."""
        score = self.ruler.score(self.begin + share * (self.end - self.begin))
        place, (first, last) = np.asarray((score - self.mean) / self.scale), self._standard_ends()
        with np.errstate(divide="ignore"):
            line = np.exp(_log_mass(first, np.maximum(place, first)) - _log_mass(first, last))
        return np.asarray(self.off * share + (1 - self.off) * np.minimum(line, 1.0))

    def line_at(self, chance: Floats) -> Floats:
        """The share of the bin below which a probability of the values on the line lies."""
        first, last = self._standard_ends()
        turned = first > 0  # in the lower tail small probabilities are exact
        low, part = np.where(turned, -last, first), np.where(turned, 1 - chance, chance)
        with np.errstate(divide="ignore"):
            log_below = np.logaddexp(log_ndtr(low), np.log(part) + _log_mass(first, last))
        z = np.where(turned, -1.0, 1.0) * ndtri_exp(np.minimum(log_below, 0.0))
        place = self.ruler.share(self.mean + self.scale * z)
        return np.asarray(np.clip((place - self.begin) / (np.asarray(self.end) - self.begin), 0.0, 1.0))

    def at(self, chance: Floats) -> Floats:
        """The share of the bin below which a probability lies: the inverse, by bisection."""
        low, high = np.sort([chance, self.line_at(chance)], axis=0)
        for _ in range(52):
            middle = (low + high) / 2
            under = self.below(middle) < chance
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        return np.asarray(high)

    def draw(self, chance: Floats, rng: np.random.Generator) -> Floats:
        """Shares of the bin by uniform random numbers: on the line, but for those that are off it."""
        return np.where(rng.random(len(chance)) < self.off, chance, self.line_at(chance))

    def log_bins(self) -> Floats:
        """Log of the probability of the bins by the line, by what it is without; 0 if scores are those of bins."""
        if isinstance(self.begin, float):
            return np.zeros(1)
        return np.asarray(_log_wide(*self._standard_ends()) - np.log(self.end - self.begin))

    def log_ratio(self, part: Part) -> Floats:
        """Log of the probability of parts of bins, or of the column, by what it would be without a lean."""
        with np.errstate(divide="ignore"):  # a part that is too far off for the line has no probability by it
            line = _log_mass((part.begin - self.mean) / self.scale, (part.end - self.mean) / self.scale)
            line -= np.log(part.share) + self.log_bins()
            found = np.log(self.off + (1 - self.off) * np.exp(line))  # of a part no more than 1 / its share
        found[(self.mean == 0) & (self.scale == 1)] = 0.0
        return found

    def shares(self) -> Floats:
        """Places of values on the line that stand for equal chances, [..., nodes]."""
        return self.take(..., None).line_at(np.broadcast_to(NODES, (*self.mean.shape, len(NODES))))


def _log_mass(begin: Floats, end: Floats) -> Floats:
    """Log of the standard normal probability between two numbers."""
    with np.errstate(invalid="ignore"):
        width, middle = end - begin, (begin + end) / 2
        narrow = width * (1 + np.abs(middle)) < NARROW  # not where an end is infinite
    if narrow.all():
        return _log_narrow(middle, width)
    found = np.empty(np.shape(narrow))
    found[narrow], found[~narrow] = _log_narrow(middle[narrow], width[narrow]), _log_wide(begin[~narrow], end[~narrow])
    return found


def _log_narrow(middle: Floats, width: Floats) -> Floats:
    """The height in the middle times the width, with the next term of its series: what is left out is below 1e-11."""
    square = middle**2
    return np.log(width) - square / 2 - HALF_LOG_2_PI + width**2 * (square - 1) / 24


def _log_wide(begin: Floats, end: Floats) -> Floats:
    """By differences in the lower tail, where they are exact."""
    turned = begin > 0
    below, above = np.where(turned, -end, begin), np.where(turned, -begin, end)
    total = ndtr(above)
    mass = total - ndtr(below)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.log(mass)
        close = ~(mass > np.maximum(TELLS * total, TINY))  # their difference has too few digits
        if close.any():
            low, high = log_ndtr(below[close]), log_ndtr(above[close])
            # from -inf to -inf there is nothing
            found[close] = np.where(low < high, high + np.log(-np.expm1(low - high)), -np.inf)
    return found


def _height(z: Floats) -> Floats:
    return np.asarray(np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))
