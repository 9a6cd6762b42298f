"""One column at a time: is it continuous or discrete, and what are its codes?"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.checks import ArgumentError, ArgumentTypeError, Mention, one_of, suggest

if TYPE_CHECKING:
    import pandas as pd

Level = bool | int | float | str
MAX_INTEGER_LEVELS = 20  # integer columns with more distinct values than this are taken as continuous
TIMES = ("date", "datetime", "datetime64", "timedelta", "timedelta64")
MISSING = -1  # the code of a missing entry

DROP = Mention("drop", words="drop it")
CONVERT = Mention("convert", words="make it one type, for example with .astype(str)")


def infer_kind(name: str, column: pd.Series) -> tuple[Literal["continuous", "discrete"], str]:
    """Kind of a column by its dtype, and the reason in words.

    Float columns are continuous; bool, object, string and category columns are discrete; integer columns are
    discrete up to 20 distinct values, else continuous. pandas turns integers into floats where an entry is missing, so
    a float column with a missing entry and no fraction is an integer column.
    """
    from pandas.api import types

    _refuse_dtype(name, column)
    inner = types.infer_dtype(column, skipna=True)
    column = column.astype("float64") if inner == "decimal" else column
    dtype = column.dtype
    if isinstance(dtype, _categorical_dtype()):
        return "discrete", f"category column with {len(column.cat.categories)} declared levels"
    if types.is_bool_dtype(dtype):
        return "discrete", "bool column"
    if types.is_integer_dtype(dtype) or (types.is_float_dtype(dtype) and _were_integers(column)):
        distinct = column.nunique()
        values = f"integer column with {distinct} distinct value{'s' * (distinct != 1)}"
        if distinct <= MAX_INTEGER_LEVELS:
            return "discrete", f"{values} (at most {MAX_INTEGER_LEVELS})"
        return "continuous", f"{values} (more than {MAX_INTEGER_LEVELS})"
    if types.is_float_dtype(dtype):
        return "continuous", "float column"
    return "discrete", f"{'string' if inner == 'string' else 'object'} column"


def as_floats(name: str, column: pd.Series) -> NDArray[np.float64]:
    """A continuous column as float64 [rows], NaN where missing; infinities and words are refused."""
    from pandas.api import types

    _refuse_dtype(name, column)
    if types.is_bool_dtype(column.dtype):
        raise _wrong_type(name, "is bool and cannot be continuous; leave it out of ", Mention("continuous"))
    try:
        values = column.astype("Float64" if types.is_extension_array_dtype(column.dtype) else "float64")
        floats: NDArray[np.float64] = np.array(values.to_numpy(dtype=np.float64, na_value=np.nan), np.float64)
    except (TypeError, ValueError):
        culprit = next((v for v in column.dropna() if not _is_number(v)), None)
        raise _wrong_type(
            name,
            f"cannot be continuous: it holds {culprit!r} ({type(culprit).__name__}), which is not a number; leave it "
            "out of ",
            Mention("continuous"),
            ", or ",
            Mention("convert", words="convert it with pandas.to_numeric"),
        ) from None
    infinite = np.flatnonzero(np.isinf(floats))
    if len(infinite):
        raise _wrong(
            name,
            f"holds {len(infinite)} infinite value(s), the first in row {infinite[0]}; drop these rows, or replace the "
            "values by NaN",
        )
    return floats


def as_levels(name: str, column: pd.Series) -> tuple[tuple[Level, ...], NDArray[np.int32]]:
    """Levels of a discrete column and its codes [rows], -1 where missing.

    Declared categories keep their order, whether observed or not; other levels are the sorted observed ones.
    """
    _refuse_dtype(name, column)
    if isinstance(column.dtype, _categorical_dtype()):
        declared = tuple(scalar(name, v) for v in column.cat.categories)
        _refuse_mixture(name, declared)
        return declared, column.cat.codes.to_numpy().astype(np.int32)
    raw, uniques = _factorized(name, column)
    observed = [scalar(name, v) for v in uniques]
    if all(isinstance(v, float) and v.is_integer() for v in observed):
        observed = [int(v) for v in observed]
    _refuse_mixture(name, observed)
    order = sorted(range(len(observed)), key=lambda i: observed[i])
    rank = np.empty(len(order) + 1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    rank[-1] = MISSING  # factorize codes a missing entry as -1, which indexes the last element
    return tuple(observed[i] for i in order), rank[raw]


def encode(
    column: Any, levels: Sequence[Level], *, name: str = "column", unknown: Literal["error", "missing"] = "error"
) -> NDArray[np.int32]:
    """Codes of new data against fitted levels.

    Args:
        column: 1-D data, [rows].
        levels: the fitted levels; the code of a value is its position here.
        name: the column's name, for messages.
        unknown: ``"error"`` refuses values that are not levels, ``"missing"`` codes them as missing.

    Returns:
        int32 codes [rows], -1 where the entry is missing.

    Example:
        >>> encode(["b", None, "a"], ("a", "b")).tolist()
        [1, -1, 0]
    """
    import pandas as pd

    one_of("unknown", unknown, ("error", "missing"))
    series = column if isinstance(column, pd.Series) else pd.Series(list(column), dtype=object)
    raw, uniques = _factorized(name, series)
    code = {level: i for i, level in enumerate(levels)}
    scalars = [scalar(name, v) for v in uniques]
    strangers = [v for v in scalars if v not in code]
    if strangers and unknown == "error":
        shown = ", ".join(repr(v) for v in strangers[:5]) + (", ..." if len(strangers) > 5 else "")
        raise _wrong(
            name,
            f"holds {len(strangers)} unknown level(s): {shown}; {suggest(strangers[0], levels)}",
            Mention("unknown", words=" (unknown='missing' treats them as missing where rows of data are passed)"),
        )
    lookup = np.array([*(code.get(v, MISSING) for v in scalars), MISSING], np.int32)
    return lookup[raw]


def scalar(name: str, value: Any) -> Level:
    """A level as a plain Python scalar; intervals (as ``pandas.cut`` makes them) become their text."""
    import pandas as pd

    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, pd.Interval):
        return str(value)
    value = float(value) if isinstance(value, Decimal) else value
    if not isinstance(value, bool | int | float | str):
        raise _wrong_type(
            name, f"holds {value!r} of type {type(value).__name__}; levels are bool, int, float or str: ", CONVERT
        )
    if isinstance(value, float) and np.isinf(value):
        raise _wrong(name, "holds an infinite value; drop these rows, or replace the values by NaN")
    return value


def _factorized(name: str, column: pd.Series) -> tuple[NDArray[np.intp], Any]:
    """Codes in order of appearance, and what they stand for; entries that are containers are refused."""
    import pandas as pd

    try:
        return pd.factorize(column)
    except TypeError:
        culprit = next(v for v in column if not _is_hashable(v))
        raise _wrong_type(
            name,
            f"holds a {type(culprit).__name__} in each entry; spread it over columns of their own, one for each part, "
            "or ",
            DROP,
        ) from None


def _refuse_dtype(name: str, column: pd.Series) -> None:
    from pandas.api import types

    dtype = column.dtype
    inner = types.infer_dtype(column, skipna=True)
    if inner in TIMES:
        converted = "pandas.to_datetime(column)" if inner == "date" else "column"
        what = f"{inner} objects" if dtype.kind == "O" else str(dtype)
        raise _wrong_type(
            name,
            f"holds dates or durations ({what}); ",
            Mention(
                "convert dates",
                words=f"turn it into numbers first, for example days since the first: t = "
                f"{converted}; (t - t.min()) / pandas.Timedelta(days=1)",
            ),
            ", or ",
            DROP,
        )
    if types.is_complex_dtype(dtype):
        raise _wrong_type(name, "is complex; pass its real and imaginary part as two columns")


def _refuse_mixture(name: str, levels: Sequence[Level]) -> None:
    kinds = {_kind(v) for v in levels}
    if len(kinds) > 1:
        examples = " and ".join(repr(next(v for v in levels if _kind(v) == k)) for k in sorted(kinds))
        raise _wrong_type(name, f"mixes {' and '.join(sorted(kinds))} values ({examples}); ", CONVERT)


def _wrong(name: str, *message: str | Mention) -> ArgumentError:
    return ArgumentError("data", *message, subject=f"column {name!r}")


def _wrong_type(name: str, *message: str | Mention) -> ArgumentTypeError:
    return ArgumentTypeError("data", *message, subject=f"column {name!r}")


def _kind(value: Level) -> str:
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def _were_integers(column: pd.Series) -> bool:
    """Whether some entries are missing, and those that are there have no fraction: integers before pandas read them."""
    values = column.dropna().to_numpy(np.float64)
    return bool(0 < len(values) < len(column) and np.all(np.isfinite(values) & (values == np.floor(values))))


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


def _categorical_dtype() -> type:
    import pandas as pd

    return pd.CategoricalDtype
