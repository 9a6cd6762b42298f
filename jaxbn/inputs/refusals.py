"""Columns whose type cannot be used: what they hold, and how they become numbers or levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxbn.inputs.checks import ArgumentError, ArgumentTypeError, Mention

if TYPE_CHECKING:
    import pandas as pd

DROP = Mention("drop", words="drop it")

_NUMBERS_FROM = {
    "dates": "days since the first, ({0} - {0}.min()) / pandas.Timedelta(days=1), or the day of the year, "
    "{0}.dt.day_of_year",
    "date objects": "the year, pandas.to_datetime({0}).dt.year, or the day of the year, "
    "pandas.to_datetime({0}).dt.day_of_year",
    "durations": "days, {0} / pandas.Timedelta(days=1)",
    "duration objects": "days, pandas.to_timedelta({0}) / pandas.Timedelta(days=1)",
    "periods": "the number of each, {0}.astype('int64'), or the year, {0}.dt.year",
    "period objects": "the year, {0}.map(lambda period: period.year)",
    "times of day": "seconds since midnight, pandas.to_timedelta({0}.astype(str)).dt.total_seconds()",
}
"""For each kind of date and time, numbers that a column {0} can be turned into."""


def wrong(name: str, *message: str | Mention) -> ArgumentError:
    """An error about the values of a column."""
    return ArgumentError("data", *message, subject=f"column {name!r}")


def wrong_type(name: str, *message: str | Mention) -> ArgumentTypeError:
    """An error about the type of a column."""
    return ArgumentTypeError("data", *message, subject=f"column {name!r}")


def refuse_type(name: str, column: pd.Series) -> None:
    """Refuse dates and times, complex numbers, and entries that are not one value each.

    Example:
        >>> import pandas as pd
        >>> refuse_type("day", pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])))
        Traceback (most recent call last):
            ...
        jaxbn.inputs.checks.ArgumentTypeError: column 'day' holds dates (datetime64[...]); turn it into numbers \
first, for example days since the first, (data['day'] - data['day'].min()) / pandas.Timedelta(days=1), or the day of \
the year, data['day'].dt.day_of_year; or drop it
    """
    from pandas.api import types

    if types.is_complex_dtype(column.dtype):
        raise wrong_type(name, "is complex; pass its real and imaginary part as two columns")
    kind = _kind_of_time(column)
    if kind is not None:
        numbers = _NUMBERS_FROM[kind].format(f"data[{name!r}]")
        raise wrong_type(
            name,
            f"holds {kind} ({column.dtype}); ",
            Mention("convert dates", words=f"turn it into numbers first, for example {numbers}"),
            "; or ",
            DROP,
        )
    if types.is_object_dtype(column.dtype):
        _refuse_containers(name, column)


def _kind_of_time(column: pd.Series) -> str | None:
    """The word for dates, durations and the like; None for all other columns."""
    import pandas as pd
    from pandas.api import types

    dtype = column.dtype
    if dtype.kind == "M":
        return "dates"
    if dtype.kind == "m":
        return "durations"
    if isinstance(dtype, pd.PeriodDtype):
        return "periods"
    if not types.is_object_dtype(dtype):
        return None
    found = types.infer_dtype(column, skipna=True)
    words = {"time": "times of day", "period": "period objects"}
    words |= dict.fromkeys(("date", "datetime", "datetime64"), "date objects")
    words |= dict.fromkeys(("timedelta", "timedelta64"), "duration objects")
    return words.get(found)


def _refuse_containers(name: str, column: pd.Series) -> None:
    """Refuse lists, dicts, arrays and the like: each entry has to be one value."""
    import numpy as np
    from pandas.api import types

    if types.infer_dtype(column, skipna=True) not in ("mixed", "mixed-integer"):
        return  # all entries are of one plain type
    for row, value in enumerate(column):
        if isinstance(value, list | tuple | dict | set | frozenset | np.ndarray):
            kind = "an array" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
            split = f"pandas.DataFrame(data[{name!r}].tolist())"
            raise wrong_type(
                name,
                f"holds {kind} in row {row} ({_short(value)}), where each entry has to be one value; ",
                Mention("convert", words=f"make a column of each part, for example with {split}"),
                ", or ",
                DROP,
            )


def _short(value: object, most: int = 40) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= most else f"{text[:most]}…"
