"""One column of a batch of rows as numbers, as codes of levels, or as hashes; a batch is a ``pyarrow.RecordBatch``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.columns import MISSING, Level, as_floats, encode
from jaxbn.inputs.missing import MISSING_LEVEL
from jaxbn.inputs.units import NUMBER, Unit

FOLDING = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio


def floats(name: str, column: Any, unit: Unit = NUMBER) -> NDArray[np.float64]:
    """A column as float64 [rows], NaN where missing; numbers of Arrow go into NumPy without a detour."""
    from pyarrow import types

    if unit == NUMBER and types.is_decimal(column.type):
        column = column.cast("float64")
    if unit == NUMBER and (types.is_floating(column.type) or types.is_integer(column.type)):
        return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)
    return as_floats(name, column.to_pandas(), unit)


def moments(column: Any) -> Unit | None:
    """What the values of a type of Arrow count, None for those that are no quantity by their type."""
    from pyarrow import types

    kind = column.type
    if types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind):
        return NUMBER
    if types.is_timestamp(kind) or types.is_date(kind):
        return Unit("datetime")
    return Unit("duration") if types.is_duration(kind) or types.is_time(kind) else None


def level_codes(name: str, column: Any, levels: Sequence[Level]) -> NDArray[np.int32]:
    """The codes of a discrete column [rows], -1 where missing or not among the levels: each distinct value once."""
    found = column if hasattr(column, "dictionary") else column.dictionary_encode()
    values = found.dictionary.to_pandas().astype(object)
    absent = levels.index(MISSING_LEVEL) if MISSING_LEVEL in levels else MISSING
    of_value = np.append(encode(values, levels, name=name, unknown="missing"), np.int32(absent))
    return np.asarray(of_value[found.indices.fill_null(-1).to_numpy(zero_copy_only=False)], np.int32)


def scattered(numbers: NDArray[np.uint64], seed: int = 0) -> NDArray[np.uint64]:
    """Numbers that look random, the same for the same numbers and seed (the finalizer of SplitMix64)."""
    x = numbers + np.uint64((seed + 1) * FOLDING % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x ^= x >> np.uint64(shift)
        x *= np.uint64(factor)
    x ^= x >> np.uint64(31)
    return x


def row_hashes(batch: Any, seed: int) -> NDArray[np.uint64]:
    """A number for each row that depends on what it holds alone."""
    from pandas.util import hash_pandas_object

    return scattered(hash_pandas_object(batch.to_pandas(), index=False).to_numpy().astype(np.uint64), seed)
