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

    def log_ratio(self, low: Floats, high: Floats) -> Floats:
        """Log of the probability of the part of a bin between two shares, by what it would be without a lean."""
        begin, end = (ndtri(low) - self.mean) / self.scale, (ndtri(high) - self.mean) / self.scale
        with np.errstate(divide="ignore"):  # a part that is too far off for the line has no probability by it
            line = _log_mass(begin, end) - np.log(high - low)
            found = np.logaddexp(np.log(self.off), np.log1p(-self.off) + line)
        return np.where((self.mean == 0) & (self.scale == 1), 0.0, found)

    def shares(self) -> Floats:
        """Places of values on the line that stand for equal chances, [..., nodes]."""
        return np.asarray(ndtr(self.mean[..., None] + self.scale[..., None] * NODES))


def moments(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Mean of the score, and of its square, over the part of a bin between two shares.

    Example:
        >>> [found.round(4).tolist() for found in moments(np.array([0.0, 0.5]), np.array([1.0, 1.0]))]
        [[0.0, 0.7979], [1.0, 1.0]]
    """
    begin, end = ndtri(low), ndtri(high)
    heights = [np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) for z in (begin, end)]
    first, last = (np.where(np.isfinite(z), z, 0.0) * height for z, height in zip((begin, end), heights, strict=True))
    return (heights[0] - heights[1]) / (high - low), 1 + (first - last) / (high - low)


def _log_mass(begin: Floats, end: Floats) -> Floats:
    """Log of the standard normal probability between two numbers, in the lower tail, where it is exact."""
    turned = begin > 0
    below, above = log_ndtr(np.where(turned, -end, begin)), log_ndtr(np.where(turned, -begin, end))
    return np.asarray(above + np.log(-np.expm1(below - above)))
