"""What rows have that look alike: means over the nearest ones, weighed by how near they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

NEAREST = (4, 8, 16, 40)
"""Numbers of rows that means are taken over."""

SOFT = 0.1
"""Added to distances, in deviations of a feature: rows nearer than that are all alike."""

CELLS = 2**21
"""Distances worked out at a time."""


class Neighbours(NamedTuple):
    """Rows to be compared with, each feature of mean 0 and deviation 1."""

    center: Array  # [features]
    scale: Array  # [features]
    rows: Array  # [rows, features]

    @classmethod
    def of(cls, features: Array) -> Neighbours:
        """Rows [rows, features] to be compared with."""
        center, scale = features.mean(axis=0), features.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        return cls(center, scale, (features - center) / scale)

    def means(self, targets: Array, known: NDArray[np.bool_], features: Array | None = None) -> Array:
        """Means of targets over the nearest rows, for each of the numbers of rows, [asked, numbers, targets].

        Args:
            targets: of the rows that are compared with, [rows, targets].
            known: which features of the rows that are asked about are known, [asked, features]. Only these make rows
                near or far: what was filled in would only find again what filled it in.
            features: the rows that are asked about, [asked, features]; without them, the rows themselves, each
                compared with all others.

        Example:
            >>> x = np.arange(100.0)[:, None]
            >>> Neighbours.of(x).means(x, np.array([[True]]), np.array([[50.0]])).round().ravel().tolist()
            [50.0, 50.0, 50.0, 50.0]
        """
        asked = self.rows if features is None else (features - self.center) / self.scale
        found = np.empty((len(asked), len(NEAREST), targets.shape[1]))
        step = max(1, CELLS // len(self.rows))
        for first in range(0, len(asked), step):
            has = known[first : first + step].astype(np.float64)
            part = has * asked[first : first + step]
            apart = (part**2).sum(axis=1)[:, None] + has @ (self.rows**2).T - 2 * part @ self.rows.T
            if features is None:
                apart[np.arange(len(part)), np.arange(first, first + len(part))] = np.inf
            found[first : first + step] = _means(apart, targets)
        found[~known.any(axis=1)] = targets.mean(axis=0)
        return found


def _means(apart: Array, targets: Array) -> Array:
    """Weighted means over the nearest rows; squared distances [asked, rows]."""
    most = min(NEAREST[-1], apart.shape[1] - 1)
    nearest = np.argpartition(apart, most - 1, axis=1)[:, :most]
    squares = np.take_along_axis(apart, nearest, axis=1)
    order = np.argsort(squares, axis=1, kind="stable")
    nearest, distances = (
        np.take_along_axis(nearest, order, axis=1),
        np.sqrt(np.take_along_axis(squares, order, axis=1).clip(0)),
    )
    weights = 1 / (distances + SOFT)
    sums = np.cumsum(weights[..., None] * targets[nearest], axis=1)
    total = np.cumsum(weights, axis=1)
    ends = np.minimum(np.array(NEAREST), most) - 1
    return np.asarray(sums[:, ends] / total[:, ends, None], np.float64)
