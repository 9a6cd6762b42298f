"""Which positions are looked at next, given the cuts that were found among some."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.problem import Rows

Positions = NDArray[np.intp]

FEWEST, LOOK_UPS = 511, 2.5e8
"""Positions are as many as there are look-ups for, one for each interval and cell, and no fewer than these."""

NARROWEST = 3
"""Positions around a cut, at least: with fewer, there is nothing to choose."""


def affordable(rows: Rows, most: int, share: float = 1.0) -> int:
    """How many positions to look at, the fewer the more cells an interval has."""
    n_cells = sum(term.n_cells for term in rows.terms)
    return min(most, max(FEWEST, int((2 * share * LOOK_UPS / max(n_cells, 1)) ** 0.5)))


def closer(positions: Positions, some: Positions, cuts: Positions, size: int) -> Positions:
    """At most `size` positions around the cuts, up to their neighbours in `some`; `some` itself if too few."""
    each = (size - 1) // max(len(cuts), 1) - 1
    if each < NARROWEST or not len(cuts):
        return some
    at = np.searchsorted(some, cuts)
    low, high = np.searchsorted(positions, some[at - 1]), np.searchsorted(positions, some[at + 1])
    around = positions[np.linspace(low, high, each).round().astype(np.intp)]
    return np.unique(np.concatenate([around.ravel(), cuts, positions[[0, -1]]]))


def beside(positions: Positions, cuts: Positions, size: int, spread: int) -> Positions:
    """At most `size` positions: `spread` of them over all rows, the others beside the cuts, the denser the nearer.

    Those over all rows are where a further cut may pay; those beside the cuts reach from the next row half way to the
    next cut. No more than the cuts and `spread` if there are too many cuts.
    """
    over_all = positions[np.linspace(0, len(positions) - 1, spread).round().astype(np.intp)]
    reach, farthest = (size - spread) // (2 * len(cuts)) - 1, len(positions) / (2 * len(cuts))
    steps = np.unique(np.geomspace(1, max(farthest, 1), max(reach, 0)).round().astype(np.intp))
    near = np.searchsorted(positions, cuts)[:, None] + np.concatenate([-steps, steps])
    return np.unique(np.concatenate([positions[near.clip(0, len(positions) - 1)].ravel(), cuts, over_all]))
