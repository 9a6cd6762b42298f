"""Which columns are continuous and which discrete: those that are named, and the rest by what they hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from jaxbn.inputs.checks import ArgumentError, Mention, known_name
from jaxbn.inputs.refusals import refuse_type
from jaxbn.inputs.units import NUMBER, Dates, Unit, unit_of

if TYPE_CHECKING:
    import pandas as pd

Kind: TypeAlias = Literal["continuous", "discrete"]
MAX_INTEGER_LEVELS = 20  # columns of whole numbers with more distinct values than this are taken as continuous


def kinds_of(
    frame: pd.DataFrame, continuous: Iterable[str] | None, discrete: Iterable[str] | None, dates: Dates = None
) -> dict[str, tuple[Kind, str, Unit]]:
    """The kind of each column, the reason in words, and its unit; columns that are not named are inferred.

    Example:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"x": [0.5, 1.5], "stars": [4, 5], "year": [1990, 1991]})
        >>> kinds_of(frame, ["year"], None)["year"]
        ('continuous', 'named continuous', Unit(kind='number', form=None))
        >>> [kind for kind, *_ in kinds_of(frame, ["year"], ["x"]).values()]
        ['discrete', 'discrete', 'continuous']
    """
    named = exceptions(continuous, discrete)
    for name, kind in named.items():
        known_name(kind, name, frame.columns)
    found: dict[str, tuple[Kind, str, Unit]] = {}
    for name in frame.columns:
        unit = NUMBER if named.get(name) == "discrete" else unit_of(name, frame[name], dates)
        if name in named:
            found[name] = named[name], f"named {named[name]}", unit
        else:
            found[name] = (*(("continuous", unit.words) if unit != NUMBER else infer_kind(name, frame[name])), unit)
    return found


def exceptions(continuous: Iterable[str] | None, discrete: Iterable[str] | None) -> dict[str, Kind]:
    """The kinds of the columns that are named; none may be named as both."""
    named: dict[str, Kind] = dict.fromkeys(_name_list(continuous), "continuous")
    for name in _name_list(discrete):
        if named.get(name) == "continuous":
            raise ArgumentError(
                "discrete",
                f"names {name!r}, and so does ",
                Mention("continuous"),
                "; leave it in one of them",
                value=name,
            )
        named[name] = "discrete"
    return named


def infer_kind(name: str, column: pd.Series) -> tuple[Kind, str]:
    """Kind of a column by what it holds, and the reason in words.

    Float columns are continuous; bool, object, string and category columns are discrete; columns of whole numbers,
    stored as integers or as floats, are discrete up to 20 distinct values, else continuous.
    """
    import pandas as pd
    from pandas.api import types

    refuse_type(name, column)
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "discrete", f"category column with {len(column.cat.categories)} declared levels"
    if types.is_bool_dtype(dtype):
        return "discrete", "bool column"
    if types.is_integer_dtype(dtype):
        return _by_count("integer column", column)
    if types.is_float_dtype(dtype):
        return (
            _by_count("float column of whole numbers", column) if _is_whole(column) else ("continuous", "float column")
        )
    known = column.dropna()
    if len(known) < len(column) and types.is_numeric_dtype(known.infer_objects().dtype):
        return infer_kind(name, known.infer_objects())  # pandas keeps numbers beside None or NA as objects
    return "discrete", f"{'string' if types.infer_dtype(column, skipna=True) == 'string' else 'object'} column"


def _by_count(what: str, column: pd.Series) -> tuple[Kind, str]:
    distinct = column.nunique()
    reason = f"{what} with {distinct} distinct value{'s' * (distinct != 1)}"
    if distinct <= MAX_INTEGER_LEVELS:
        return "discrete", f"{reason} (at most {MAX_INTEGER_LEVELS})"
    return "continuous", f"{reason} (more than {MAX_INTEGER_LEVELS})"


def _is_whole(column: pd.Series) -> bool:
    """Whether the finite values are all whole numbers; missing entries, which make floats of integers, do not count."""
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    finite = values[np.isfinite(values)]
    return len(finite) > 0 and bool((finite == np.floor(finite)).all())


def _name_list(names: Iterable[str] | None) -> list[str]:
    if names is None:
        return []
    return [names] if isinstance(names, str) else [str(name) for name in names]
