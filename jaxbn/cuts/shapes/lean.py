"""How values lean inside their bins, by a normal distribution of their scores.

The score of a place u inside a bin, the share of the bin that lies below it, is z = Φ⁻¹(u). Without more it is standard
normal, and u is uniform. Values that lean to one side, or are close together, have scores with another mean and scale.
A small share of values is off the line: these are distributed as if there were none. Scores may also be those of the
whole column, of which the bin is a part, or numbers (`ruler`): then their distribution is cut off at the ends of the
bin (docs/maths.md, "Lines inside bins").
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri_exp

from jaxbn.cuts.shapes.ruler import NODES, Normal, Part

Floats = NDArray[np.float64]

NARROW, HALF_LOG_2_PI = 1e-2, np.log(2 * np.pi) / 2
"""Parts are narrow, and a series gives their probability, if their width times 1 + |middle| is below this."""

TELLS, TINY = 1e-3, 1e-290
"""A difference of two probabilities has digits enough if it is this share of the larger one, and this large.

Otherwise it is taken from their logarithms.
"""


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

    def _standard(self, share: Floats) -> Floats:
        """The standardised score of what lies at a share of the bin."""
        score = self.ruler.score(self.begin + share * (self.end - self.begin))
        return np.asarray((score - self.mean) / self.scale)

    def below(self, share: Floats) -> Floats:
        """The probability of what lies below a share of the bin."""
        place, (first, last) = self._standard(share), self._standard_ends()
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
