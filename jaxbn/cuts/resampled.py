"""Cuts of one variable in many resamples: its rows are sorted once, and a resample is a vector of weights.

Rows of weight zero do not count: cardinalities, range and midpoints are those of the other rows. So a resample's
binning is that of ``discretize_variable`` on the rows written out as often as they were drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.binning import Binning
from jaxbn.cuts.blanket import factors_at
from jaxbn.cuts.discretize_variable import Request, best_binnings
from jaxbn.cuts.shapes.shape import Shape
from jaxbn.cuts.sorted_values import Ordered

Codes = NDArray[np.integer]


def stream(seed: int, number: int) -> np.random.Generator:
    """The random stream of a resample: the seed's spawned child with this number."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))


def drawn_rows(rng: np.random.Generator, n_rows: int) -> NDArray[np.int64]:
    """The rows of a resample, ascending, with repetitions [rows]."""
    return np.sort(rng.integers(0, n_rows, n_rows))


class Variable(NamedTuple):
    """A variable with its Markov blanket, everything in ascending order of its values; and limits as in `Request`."""

    ordered: Ordered
    parents: Sequence[Codes]  # [n] each
    children: Sequence[tuple[Codes, Sequence[Codes]]]
    rate: float
    min_width: float = 0.0
    most_bins: int | None = None
    shapes: tuple[Shape, ...] = ()


def resampled_binnings(variable: Variable, weights: NDArray[np.integer], method: str) -> list[Binning]:
    """The exact optimum in every resample, by how often each row, in order of the values, was drawn [resamples, n]."""

    def request(own: NDArray[np.int32]) -> Request:
        kept = np.flatnonzero(own)
        factors = factors_at(variable.parents, variable.children, kept)
        return Request(variable.ordered.at(kept), factors, variable.rate, own[kept], *variable[4:])

    return best_binnings([request(each.astype(np.int32)) for each in weights], method)
