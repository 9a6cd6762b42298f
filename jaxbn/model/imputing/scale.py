"""Numbers as regressions see them: as they are, or, where a few of them lie far out, by their ranks.

A line through values with heavy tails is that of its outliers. Normal scores, the quantiles of a normal distribution
at the values' ranks, keep the order and have no tails; dependences that are monotone look straight in them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

TAILS = 5.0
"""Excess kurtosis from which on a column is seen by its ranks."""


class Scale(NamedTuple):
    """Distinct observed values of a column and their scores, both ascending; None if it is seen as it is."""

    values: NDArray[np.float64]
    scores: NDArray[np.float64] | None

    @classmethod
    def of(cls, ascending: NDArray[np.float64]) -> Scale:
        """The scale of a column, from its observed values in ascending order.

        Example:
            >>> Scale.of(np.array([1.0, 2.0, 3.0])).scores is None
            True
            >>> heavy = Scale.of(np.append(np.arange(40.0), 1e6))
            >>> heavy.back(heavy.to(np.array([3.0, 1e6]))).tolist()
            [3.0, 1000000.0]
        """
        n = len(ascending)
        last = np.flatnonzero(np.append(ascending[1:] > ascending[:-1], [True] * min(n, 1)))  # of equal ones
        values, counts = ascending[last], np.diff(last, prepend=-1)
        apart = values - (counts @ values) / n
        largest = np.abs(apart).max(initial=0.0)
        squares = np.square(apart / largest if largest > 0 else apart)  # or large numbers would overflow
        square = float(counts @ squares) / n
        heavy = square > 0 and float(counts @ np.square(squares)) / n > (3 + TAILS) * square**2
        return cls(values, ndtri((np.cumsum(counts) - counts / 2) / n) if heavy else None)

    @property
    def seen(self) -> NDArray[np.float64]:
        """The distinct observed values as a regression sees them, ascending."""
        return self.values if self.scores is None else self.scores

    def to(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        """Observed values as a regression sees them; NaN stays."""
        if self.scores is None:
            return column
        place = np.minimum(places(self.values, column), len(self.values) - 1)
        return np.where(np.isnan(column), np.nan, self.scores[place])

    def back(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        """The values of such numbers."""
        return column if self.scores is None else self.values[np.searchsorted(self.scores, column)]


def places(ascending: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.intp]:
    """`np.searchsorted`, of very many numbers: one after the other they are found in memory that is near.

    Example:
        >>> places(np.array([1.0, 2.0, 4.0]), np.array([3.0, 0.5])).tolist()
        [2, 0]
    """
    order = np.argsort(wanted)
    found = np.empty(len(wanted), np.intp)
    found[order] = np.searchsorted(ascending, wanted[order])
    return found
