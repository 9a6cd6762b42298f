"""Arguments checked where they come in: an error names the argument, the value and the remedy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

MAX_TOTAL_WEIGHT = 2**27
"""Rows a count table is made for: one table takes a gigabyte there."""


def numbers(argument: str, values: ArrayLike) -> NDArray[np.float64]:
    """A non-empty 1-D array of finite floats."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{argument} must be numbers, got {_sample(array)} of type {array.dtype}; convert them first")
    if array.ndim != 1:
        raise ValueError(f"{argument} must be one-dimensional, got shape {array.shape}; pass one column")
    if len(array) == 0:
        raise ValueError(f"{argument} is empty; pass at least one row")
    array = array.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise ValueError(
            f"{argument} must be finite, got {array[bad[0]]} in row {bad[0]} ({len(bad)} such rows); "
            "drop or fill these rows first"
        )
    return array


def integers(argument: str, values: ArrayLike, n_rows: int, remedy: str = "code them as 0, 1, …") -> NDArray[np.int64]:
    """Non-negative integers, one for each row."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{argument} must be integers, got {_sample(array)} of type {array.dtype}; {remedy}")
    if array.shape != (n_rows,):
        raise ValueError(f"{argument} must have one entry for each of the {n_rows} rows, got shape {array.shape}")
    if array.dtype.kind == "f":
        bad = np.flatnonzero(~(np.isfinite(array) & (array == np.floor(array))))
        if len(bad):
            raise ValueError(f"{argument} must be whole numbers, got {array[bad[0]]} in row {bad[0]}; {remedy}")
    bad = np.flatnonzero(array < 0)
    if len(bad):
        raise ValueError(f"{argument} must not be negative, got {array[bad[0]]} in row {bad[0]}; {remedy}")
    bad = np.flatnonzero(array >= 2.0**53)  # beyond, a float is no longer one whole number
    if len(bad):
        raise ValueError(f"{argument} must be below 2^53, got {array[bad[0]]} in row {bad[0]}; {remedy}")
    return array.astype(np.int64)


def row_weights(weights: ArrayLike | None, n_rows: int) -> NDArray[np.int64] | None:
    """Non-negative integer weights with a positive sum, or None for all one."""
    if weights is None:
        return None
    array = integers("weights", weights, n_rows, "give each row the whole number of times it counts")
    total = int(array.sum(dtype=np.float64))
    if total == 0:
        raise ValueError("weights are all zero; at least one row must count")
    if total > MAX_TOTAL_WEIGHT:
        raise ValueError(f"weights sum to {total}, more than {MAX_TOTAL_WEIGHT}; divide them by a common factor")
    return array


def positive(argument: str, value: Any) -> float:
    """A finite number above zero."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{argument} must be a number, got {value!r} of type {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:  # an int beyond all floats
        number = math.inf
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{argument} must be finite and above zero, got {number}; e.g. {argument}=4.0")
    return number


def at_least(argument: str, value: Any, least: int) -> int:
    """A whole number not below `least`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise TypeError(f"{argument} must be a whole number, got {value!r} of type {type(value).__name__}")
    if value < least:
        raise ValueError(f"{argument} must be at least {least}, got {value}")
    return int(value)


def one_of(argument: str, value: Any, choices: Sequence[str]) -> str:
    """One of a few words."""
    if value not in choices:
        raise ValueError(f"{argument} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return str(value)


def _sample(array: NDArray[Any]) -> str:
    return repr(array.flat[0]) if array.size else "nothing"
