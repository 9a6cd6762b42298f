"""One column at a time: its kind, its values as floats, also from text, or its levels and codes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs import checks
from jaxbn.inputs.checks import DROP, Mention, few, wrong, wrong_type
from jaxbn.inputs.later import pd, types
from jaxbn.inputs.missing import MISSING_LEVEL
from jaxbn.inputs.units import NUMBER, Dates, Unit, as_text, to_numbers, unit_of

Kind: TypeAlias = Literal["continuous", "discrete"]
Level = bool | int | float | str
MISSING = -1  # the code of a missing entry
MAX_INTEGER_LEVELS = 20  # columns of whole numbers with more distinct values than this are taken as continuous
MIXTURES = ("mixed", "mixed-integer")
SAMPLE = 50  # different texts that are looked at before all of a column are read as numbers
FEW_WORDS = 2  # at most this many different texts of a column may be words beside its numbers
THOUSANDS = {".": ",", ",": "."}  # the mark between thousands beside each decimal mark

CONVERT = Mention("convert", words="make it one type, for example with .astype(str)")


def kinds_of(
    frame: pd.DataFrame, continuous: Iterable[str] | None, discrete: Iterable[str] | None, dates: Dates = None
) -> dict[str, tuple[Kind, str, Unit]]:
    """The kind of each column, the reason in words, and its unit; columns that are not named are inferred."""
    named = exceptions(continuous, discrete)
    for name, kind in named.items():
        checks.known_name(kind, name, frame.columns)
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
    named: dict[str, Kind] = dict.fromkeys(checks.listed(continuous, "continuous"), "continuous")
    for name in checks.listed(discrete, "discrete"):
        if named.get(name) == "continuous":
            both = f"names {name!r}, and so does ", Mention("continuous"), "; leave it in one of them"
            raise checks.ArgumentError("discrete", *both, value=name)
        named[name] = "discrete"
    return named


def infer_kind(name: str, column: pd.Series) -> tuple[Kind, str]:
    """Kind of a column by what it holds, and the reason in words.

    Float columns are continuous; bool, object, string and category columns are discrete; columns of whole numbers,
    stored as integers or as floats, are discrete up to 20 distinct values, else continuous.
    """
    refuse_type(name, column)
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "discrete", f"category column with {len(column.cat.categories)} declared levels"
    if types.is_bool_dtype(dtype):
        return "discrete", "bool column"
    if types.is_integer_dtype(dtype):
        return _by_count("integers", column)
    if types.is_float_dtype(dtype):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        finite = values[np.isfinite(values)]  # missing entries make floats of integers
        whole = len(finite) > 0 and (finite == np.floor(finite)).all()
        return _by_count("whole numbers", column) if whole else ("continuous", "float column")
    known = column.dropna()
    if len(known) < len(column) and types.is_numeric_dtype(known.infer_objects().dtype):
        return infer_kind(name, known.infer_objects())  # pandas keeps numbers beside None or NA as objects
    return "discrete", f"{'string' if types.infer_dtype(column, skipna=True) == 'string' else 'object'} column"


def _by_count(what: str, column: pd.Series) -> tuple[Kind, str]:
    if column.nunique() <= MAX_INTEGER_LEVELS:
        return "discrete", f"at most {MAX_INTEGER_LEVELS} {what}"
    return "continuous", f"more than {MAX_INTEGER_LEVELS} {what}"


def refuse_type(name: str, column: pd.Series) -> None:
    """Refuse complex numbers, and entries that are not one value each: lists, dicts, arrays and the like."""
    if types.is_complex_dtype(column.dtype):
        raise wrong_type(name, "is complex; pass its real and imaginary part as two columns")
    if not types.is_object_dtype(column.dtype) or types.infer_dtype(column, skipna=True) not in MIXTURES:
        return  # all entries are of one plain type
    for row, value in enumerate(column):
        if isinstance(value, list | tuple | dict | set | frozenset | np.ndarray):
            kind = "an array" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
            text = " ".join(repr(value).split())
            shown = text if len(text) <= 40 else f"{text[:40]}…"
            split = f"make a column of each part, for example with pandas.DataFrame(data[{name!r}].tolist())"
            found = f"holds {kind} in row {row} ({shown}), where each entry has to be one value; "
            raise wrong_type(name, found, Mention("convert", words=split), ", or ", DROP)


def as_floats(name: str, column: pd.Series, unit: Unit = NUMBER) -> NDArray[np.float64]:
    """A continuous column as float64 [rows], NaN where missing; infinities and words are refused."""
    if unit.kind != "number":
        return to_numbers(name, column, unit)
    refuse_type(name, column)
    if types.is_bool_dtype(column.dtype):
        raise wrong_type(name, "is bool and cannot be continuous; leave it out of ", Mention("continuous"))
    if types.is_object_dtype(column.dtype):
        column = column.where(column.notna(), np.nan)  # NA and NaT are not numbers, NaN is one
    try:
        values = column.astype("Float64" if types.is_extension_array_dtype(column.dtype) else "float64")
        floats: NDArray[np.float64] = np.array(values.to_numpy(dtype=np.float64, na_value=np.nan), np.float64)
    except (TypeError, ValueError):
        floats = written_numbers(column).to_numpy(np.float64)
        if (np.isnan(floats) & column.notna().to_numpy()).any():
            culprit = next((v for v in column.dropna() if not checks.is_number(v)), None)
            found = f"cannot be continuous: it holds {culprit!r} ({type(culprit).__name__}), which is not a number; "
            convert = Mention("convert", words="convert it with pandas.to_numeric")
            raise wrong_type(name, found, "leave it out of ", Mention("continuous"), ", or ", convert) from None
    largest = np.abs(floats, out=np.zeros(len(floats)), where=~np.isnan(floats)).max(initial=0.0)
    if types.is_integer_dtype(column.dtype) and largest >= 2.0**53:
        known = floats[~np.isnan(floats)]
        if len(np.unique(known)) < column.nunique():
            raise wrong(
                name, "holds whole numbers beyond 2^53 that floats cannot tell apart; subtract the smallest, or ", DROP
            )
    infinite = np.flatnonzero(np.isinf(floats))
    if len(infinite):
        found = f"holds {len(infinite)} infinite value(s), the first in row {infinite[0]}; "
        raise wrong(name, f"{found}drop these rows, or replace the values by NaN")
    return floats


def as_levels(name: str, column: pd.Series) -> tuple[tuple[Level, ...], NDArray[np.int32]]:
    """Levels of a discrete column and its codes [rows], -1 where missing.

    Declared categories keep their order, whether observed or not; other levels are the sorted observed ones. Whole
    numbers stored as floats become the integers that they are.
    """
    refuse_type(name, column)
    if isinstance(column.dtype, pd.CategoricalDtype):
        declared = tuple(scalar(name, v) for v in column.cat.categories)
        _refuse_mixture(name, declared)
        return declared, column.cat.codes.to_numpy().astype(np.int32)
    raw, uniques = pd.factorize(as_text(column))
    observed = [scalar(name, v) for v in uniques]
    _refuse_mixture(name, observed)
    if all(isinstance(v, float) and v.is_integer() for v in observed):
        observed = [int(v) for v in observed]
    order = sorted(range(len(observed)), key=lambda i: observed[i])
    # factorize codes a missing entry as -1, which indexes the last element
    rank = np.append(np.argsort(order), MISSING).astype(np.int32)
    return tuple(observed[i] for i in order), rank[raw]


def encode(
    column: Any, levels: Sequence[Level], *, name: str = "column", unknown: Literal["error", "missing"] = "error"
) -> NDArray[np.int32]:
    """Codes of new data [rows] against fitted levels: positions among these.

    The code is -1 where the entry is missing, unless that is a level of its own, ``"(missing)"``. Values that are no
    levels are refused, or coded as missing.
    """
    checks.one_of("unknown", unknown, ("error", "missing"))
    series = column if isinstance(column, pd.Series) else pd.Series(list(column), dtype=object)
    raw, uniques = pd.factorize(as_text(series))
    code = {level: i for i, level in enumerate(levels)}
    absent = code.get(MISSING_LEVEL, MISSING)
    scalars = [scalar(name, v) for v in uniques]
    # codes such as postcodes are whole numbers in files where none of them has a zero in front
    scalars = [str(v) if v not in code and isinstance(v, int) and str(v) in code else v for v in scalars]
    strangers = [v for v in scalars if v not in code]
    if strangers and unknown == "error":
        shown = few([*map(repr, strangers)], 5)
        remedy = Mention("unknown", words=" (unknown='missing' treats them as missing where rows of data are passed)")
        found = f"holds {len(strangers)} unknown level(s): {shown}; {checks.suggest(strangers[0], levels)}"
        raise wrong(name, found, remedy)
    return np.array([*(code.get(v, MISSING) for v in scalars), absent], np.int32)[raw]


def scalar(name: str, value: Any) -> Level:
    """A level as a plain Python scalar; intervals (as ``pandas.cut`` makes them) become text, decimals floats."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, pd.Interval):
        return str(value)
    if isinstance(value, Decimal):
        value = float(value)
    if not isinstance(value, bool | int | float | str):
        raise wrong_type(
            name, f"holds {value!r} of type {type(value).__name__}; levels are bool, int, float or str: ", CONVERT
        )
    if isinstance(value, float) and np.isinf(value):
        raise wrong(name, "holds an infinite value; drop these rows, or replace the values by NaN")
    return value


def _refuse_mixture(name: str, levels: Sequence[Level]) -> None:
    kinds = {_kind(v) for v in levels}
    if len(kinds) > 1:
        examples = " and ".join(repr(next(v for v in levels if _kind(v) == k)) for k in sorted(kinds))
        raise wrong_type(name, f"mixes {' and '.join(sorted(kinds))} values ({examples}); ", CONVERT)


def _kind(value: Level) -> str:
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


# --- numbers as people write them in tables: 1,660 or $261.96, 23% or (1.234,50 €)


def written_numbers(column: pd.Series, decimal: str = ".") -> pd.Series:
    """The numbers in a column of text, NaN where an entry is a word; all NaN where it has more than a few words.

    Signs of a currency and of percent are left out if all numbers have the same one: 23% is 23.

    Example:
        >>> written_numbers(pd.Series(["1,660", "(721)", None, "-2,186.5"])).tolist()
        [1660.0, -721.0, nan, -2186.5]
        >>> written_numbers(pd.Series(["12 %", "7,5 %", "-"]), decimal=",").tolist()
        [12.0, 7.5, nan]
        >>> written_numbers(pd.Series(["12%", "$7"])).tolist()
        [nan, nan]
    """
    between = rf"[{THOUSANDS.get(decimal, '')}'’\u00a0\u202f]"
    form = _form(re.escape(decimal), between)
    codes, uniques = pd.factorize(column)
    numbers, signs, n_words = np.full(len(uniques) + 1, np.nan), set(), 0  # a missing entry, of code -1, is the last
    for i, text in enumerate(uniques):
        found = form.fullmatch(text) if isinstance(text, str) else None
        if found is not None:
            value = float(re.sub(between, "", found["number"]).replace(decimal, "."))
            numbers[i] = -value if found["minus"] or found["open"] else value
            signs.add(found["before"] or found["after"] or "")
        n_words += found is None
        if (n_words > FEW_WORDS and i < SAMPLE) or len(signs) > 1:
            return pd.Series(np.nan, column.index)
    return pd.Series(numbers[codes], column.index)


def _form(mark: str, between: str) -> re.Pattern[str]:
    grouped = rf"[1-9]\d{{0,2}}(?:{between}\d{{3}})+(?:{mark}\d+)?"
    number = rf"(?P<number>{grouped}|(?:\d+(?:{mark}\d*)?|{mark}\d+)(?:[eE][-+]?\d+)?)"
    head = r"\s*(?P<open>\()?\s*(?:\+|(?P<minus>[-−]))?\s*(?P<before>[$€£¥₹])?\s*"
    return re.compile(rf"{head}{number}\s*(?P<after>[$€£¥₹%])?\s*(?(open)\))\s*")
