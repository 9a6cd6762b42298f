"""Two programs over all subsets of N columns: the best value inside every set, and the best last column of every set.

They are NumPy: reshaped maxima and gathers, nothing to compile, a second or two at 20 columns. A subset is the number
whose bits are its members.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

NOTHING = -(2**62)
"""The value of what is not possible; two of them still fit in an int64."""


def best_inside(values: NDArray[np.int64]) -> None:
    """Replace the value of every subset [2^M] by the largest among its own subsets, in place."""
    for bit in range(values.size.bit_length() - 1):
        halves = values.reshape(-1, 2, 1 << bit)  # sets without the bit, and the same sets with it
        np.maximum(halves[:, 1], halves[:, 0], out=halves[:, 1])


def without_bit(sets: NDArray[np.int64], bit: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """Subsets that lack a column, numbered by the other columns alone: its bit is taken out."""
    low = (1 << bit) - 1
    return (sets & low) | ((sets >> 1) & ~low)


def best_sinks(best: NDArray[np.int64]) -> tuple[int, list[int]]:
    """The largest Σ best[v][columns before v] over all orders, and the first such order from its end.

    Among equal values the last column in column order is the sink.

    Args:
        best: [N, 2^(N-1)], the value of every column with its parents inside a set of others; see `without_bit`.

    Returns:
        The value, and the order.
    """
    n_columns = len(best)
    size = np.bitwise_count(np.arange(1 << n_columns, dtype=np.int64))
    by_size = np.argsort(size, kind="stable").astype(np.int32)
    ends = np.cumsum(np.bincount(size, minlength=n_columns + 1))
    total = np.full(1 << n_columns, NOTHING, np.int64)
    sink = np.zeros(1 << n_columns, np.int8)
    total[0] = 0
    for first, last in pairwise(ends):
        _one_size(by_size[first:last].astype(np.int64), best, total, sink)
    return int(total[-1]), _order(sink, n_columns)


def _one_size(
    sets: NDArray[np.int64], best: NDArray[np.int64], total: NDArray[np.int64], sink: NDArray[np.int8]
) -> None:
    """Fill in the sets of one size from those with one column fewer."""
    for column, values in enumerate(best):
        holding = sets[(sets >> column) & 1 == 1]
        others = holding ^ (1 << column)
        found = total[others] + values[without_bit(others, column)]
        better = found >= total[holding]  # >=, so that ties go to the last column
        total[holding[better]] = found[better]
        sink[holding[better]] = column
    total[sets] = np.maximum(total[sets], NOTHING)


def _order(sink: NDArray[np.int8], n_columns: int) -> list[int]:
    order, remaining = [], (1 << n_columns) - 1
    while remaining:
        order.append(int(sink[remaining]))
        remaining ^= 1 << order[-1]
    return order[::-1]
