"""Which rows of some coded columns are equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

SPAN = 2**62  # keys stay below this


class Distinct(NamedTuple):
    """The distinct rows: one that stands for each, and which of them each row is."""

    first: NDArray[np.intp]  # [U]
    where: NDArray[np.intp]  # [n]


def distinct_rows(columns: Sequence[NDArray[Any]], sizes: Sequence[int], n_rows: int) -> Distinct:
    """The distinct rows of columns of codes.

    Args:
        columns: codes of each column, from 0, [n] each.
        sizes: number of states of each column.
        n_rows: n, for the case of no columns.

    Example:
        >>> distinct_rows([np.array([1, 0, 1])], [2], 3)
        Distinct(first=array([1, 0]), where=array([1, 0, 1]))
    """
    key, span = np.zeros(n_rows, np.int64), 1
    for column, size in zip(columns, sizes, strict=True):
        if span > SPAN // size:
            first, key = _distinct(key, span)
            key, span = key.astype(np.int64), len(first)
        key = key * size + column
        span *= size
    return Distinct(*_distinct(key, span))


def distinct_masks(masks: NDArray[np.bool_]) -> Distinct:
    """The distinct rows of a matrix of booleans, [n, columns]."""
    packed = np.packbits(masks, axis=1)
    return distinct_rows(list(packed.T), [256] * packed.shape[1], len(masks))


def _distinct(key: NDArray[np.int64], span: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    if span > 4 * len(key) + 1024:
        _, first, where = np.unique(key, return_index=True, return_inverse=True)
        return first, where
    first = np.full(span, -1, np.intp)  # few possible keys: a table of them spares the sort
    first[key[::-1]] = np.arange(len(key) - 1, -1, -1)
    rank = np.cumsum(first >= 0) - 1
    return first[first >= 0], rank[key]
