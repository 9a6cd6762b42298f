"""How values lean inside their bins, by a normal distribution of their scores.

The score of a place u inside a bin, the share of the bin that lies below it, is z = Φ⁻¹(u). Without more it is standard
normal, and u is uniform. Values that lean to one side, or are close together, have scores with another mean and scale;
a few of them, a share that is off the line, do as they would without.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri

Floats = NDArray[np.float64]

NARROW, HALF_LOG_2_PI = 1e-2, np.log(2 * np.pi) / 2
"""Width of a part, times one more than its distance from 0, up to which a series tells its probability."""

NODES = ndtri((np.arange(32) + 0.5) / 32)
"""Scores that stand for equal shares of a standard normal distribution."""


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
    off: float  # share of values that are not on the line

    def below(self, share: Floats) -> Floats:
        """The probability of what lies below a share of the bin."""
        return self.off * share + (1 - self.off) * ndtr((ndtri(share) - self.mean) / self.scale)

    def at(self, chance: Floats) -> Floats:
        """The share of the bin below which a probability lies: the inverse, by bisection."""
        plain = ndtri(chance)
        low, high = np.sort([plain, np.where(np.isfinite(plain), self.mean + self.scale * plain, plain)], axis=0)
        for _ in range(52):
            middle = np.where(np.isfinite(low + high), (low + high) / 2, low)
            under = self.off * ndtr(middle) + (1 - self.off) * ndtr((middle - self.mean) / self.scale) < chance
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        return np.asarray(ndtr(high))

    def log_ratio(self, part: Part) -> Floats:
        """Log of the probability of parts of bins, by what it would be without a lean."""
        with np.errstate(divide="ignore"):  # a part that is too far off for the line has no probability by it
            line = _log_mass((part.begin - self.mean) / self.scale, (part.end - self.mean) / self.scale)
            found = np.logaddexp(np.log(self.off), np.log1p(-self.off) + line - np.log(part.share))
        return np.where((self.mean == 0) & (self.scale == 1), 0.0, found)

    def shares(self) -> Floats:
        """Places of values on the line that stand for equal chances, [..., nodes]."""
        return np.asarray(ndtr(self.mean[..., None] + self.scale[..., None] * NODES))


class Part(NamedTuple):
    """Parts of bins: the scores of their ends, and the shares of the bins that they are."""

    begin: Floats
    end: Floats
    share: Floats

    @classmethod
    def of(cls, low: Floats, high: Floats) -> Part:
        """The parts between two shares."""
        return cls(ndtri(low), ndtri(high), high - low)

    def means(self) -> Floats:
        """The mean of the score over each part.

        Example:
            >>> Part.of(np.array([0.0, 0.5]), np.array([1.0, 1.0])).means().round(4).tolist()
            [0.0, 0.7979]
        """
        return (_height(self.begin) - _height(self.end)) / self.share

    def squares(self) -> Floats:
        """The mean of its square."""
        first, last = (np.where(np.isfinite(z), z, 0.0) * _height(z) for z in (self.begin, self.end))
        return 1 + (first - last) / self.share


def _height(z: Floats) -> Floats:
    return np.asarray(np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))


def _log_mass(begin: Floats, end: Floats) -> Floats:
    """Log of the standard normal probability between two numbers.

    Of a narrow part it is the height in the middle times the width, with the next term of its series: what is left out
    is below 1e-11 of it. Of others it is taken in the lower tail, where it is exact.
    """
    with np.errstate(invalid="ignore"):
        width, middle = end - begin, (begin + end) / 2
        wide = ~(width * (1 + np.abs(middle)) < NARROW)  # also where an end is infinite
    some = wide.any()
    if some:
        width[wide], middle[wide] = 1.0, 0.0
    square = middle**2
    found = np.log(width) - square / 2 - HALF_LOG_2_PI + width**2 * (square - 1) / 24
    if some:
        below, above = begin[wide], end[wide]
        turned = below > 0
        below, above = log_ndtr(np.where(turned, -above, below)), log_ndtr(np.where(turned, -below, above))
        found[wide] = above + np.log(-np.expm1(below - above))
    return found
