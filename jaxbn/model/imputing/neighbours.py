"""What rows have that look alike: means over the nearest ones, weighed by how near they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.runtime import limits

Array = NDArray[np.float64]

NEAREST = (4, 8, 16, 40)  # numbers of rows that means are taken over
SOFT = 0.1  # added to distances, in deviations of a feature: rows nearer than that are all alike
CELLS = 2**21  # distances worked out at a time


class Nearest(NamedTuple):
    """The nearest rows, and the weight of each."""

    rows: NDArray[np.intp]  # [asked, nearest]
    weights: Array  # [asked, nearest]


class Neighbours(NamedTuple):
    """Rows among which neighbours are looked for, each feature with mean 0 and standard deviation 1."""

    center: Array  # [features]
    scale: Array  # [features]
    rows: Array  # [rows, features]

    @classmethod
    def of(cls, features: Array) -> Neighbours:
        """From rows [rows, features]."""
        center, scale = features.mean(axis=0), features.std(axis=0)
        scale = np.where(scale > 0, scale, np.inf)  # what all rows have in common makes none of them near or far
        return cls(center, scale, (features - center) / scale)

    def means(self, targets: Array, known: NDArray[np.bool_], features: Array | None = None) -> Array:
        """Means of targets [rows, targets] over the nearest rows, for each number of them, [asked, numbers, targets].

        Only known features [asked, features] make rows near or far: what was filled in would only find again what
        filled it in. Without `features` of rows that are asked about, these are the rows themselves, each compared with
        all others.
        """
        found = np.empty((len(known), len(NEAREST), targets.shape[1]))
        for part, (rows, weights) in self.nearest(known, features):
            sums = np.cumsum(weights[..., None] * targets[rows], axis=1)
            ends = np.minimum(np.array(NEAREST), rows.shape[1]) - 1
            found[part] = sums[:, ends] / np.cumsum(weights, axis=1)[:, ends, None]
        found[~known.any(axis=1)] = targets.mean(axis=0)
        return found

    def nearest(self, known: NDArray[np.bool_], features: Array | None = None) -> Iterator[tuple[slice, Nearest]]:
        """The nearest rows to those that are asked about, the nearest first, part by part.

        The arguments are those of ``means``, but without features the first rows may be asked about alone.
        """
        asked = self.rows[: len(known)] if features is None else (features - self.center) / self.scale
        squares = (self.rows**2).T
        step = max(1, CELLS // len(self.rows))
        for first in range(0, len(asked), step):
            limits.check()
            part = slice(first, min(first + step, len(asked)))
            has = known[part].astype(np.float64)
            seen = has * asked[part]
            # squared distances over the known features alone, |a|² + |b|² - 2ab, of all pairs by products of matrices
            apart = (seen**2).sum(axis=1)[:, None] + has @ squares - 2 * seen @ self.rows.T
            if features is None:
                apart[np.arange(len(seen)), np.arange(part.start, part.stop)] = np.inf
            yield part, _nearest(apart)


def _nearest(apart: Array) -> Nearest:
    """The nearest of all rows, given squared distances [asked, rows]."""
    most = min(NEAREST[-1], apart.shape[1] - 1)
    nearest = np.argpartition(apart.astype(np.float32), most - 1, axis=1)[:, :most]  # in half the time
    squares = np.take_along_axis(apart, nearest, axis=1)
    order = np.argsort(squares, axis=1, kind="stable")
    distances = np.sqrt(np.take_along_axis(squares, order, axis=1).clip(0))
    return Nearest(np.take_along_axis(nearest, order, axis=1), 1 / (distances + SOFT))
