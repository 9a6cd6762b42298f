"""What the numbers of a continuous column stand for: numbers, dates or durations, and how people read them.

Dates without a time of day are whole days since 1970, those with one seconds since then, and durations seconds. Columns
become such numbers where they come in, and dates again wherever they are shown.
"""

from __future__ import annotations

import datetime
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.checks import ArgumentError, Mention, wrong
from jaxbn.inputs.later import pd, types
from jaxbn.inputs.missing import LOG

DAY = 86400  # seconds
SAMPLE = 200  # different texts that are looked at before all of a column are read as dates

_YEAR_FIRST = ("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d")
_YEAR_LAST = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%m-%d-%Y", "%d-%m-%Y", "%m/%d/%y", "%d/%m/%y")
_NAMED = ("%d %b %Y", "%d-%b-%Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%y")
_SPACED = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
_JOINED = ("T%H:%M:%SZ", "T%H:%M:%S.%fZ", "T%H:%M", "T%H:%M:%S", "T%H:%M:%S.%f")
FORMS = tuple(day + time for day in (*_YEAR_FIRST, *_YEAR_LAST, *_NAMED) for time in (*_SPACED, *_JOINED))
"""How dates are written in text; where two forms read all of a column, and not alike, none is taken."""

_ZONE = re.compile(r"(:\d\d(\.\d+)?) ?(Z|UTC|[+-]\d\d:?\d\d)$")  # after a time of day
_FRACTION = re.compile(r":\d\d\.\d")
_WHOLE = re.compile(r"(:\d\d:\d\d)(Z?)$")  # seconds without a fraction
CLOCK = r"-?(\d+ days? )?-?\d+:\d\d(:\d\d(\.\d+)?)?"  # how durations and times of day are written in text
Dates = str | Mapping[str, str] | None  # the form of dates in text, or ``{column: form}``
LARGE = 1e12  # whole numbers below are written with all their digits

UNITS = ("number", "date", "datetime", "duration")


class Unit(NamedTuple):
    """What the numbers of a column stand for."""

    kind: str = "number"  # or "date" (days since 1970), "datetime" or "duration" (seconds)
    form: str | None = None  # how text holds them, as ``strptime`` has it; None where the column is not text

    @property
    def words(self) -> str:
        """The reason why a column is continuous."""
        return f"{self.kind}s" if self.form is None else f"text that is a {self.kind}, {self.form}"


NUMBER = Unit()


def unit_of(name: str, column: pd.Series, dates: Dates = None) -> Unit:
    """The unit of a column, by its type or, in text, by what all its entries are."""
    if column.dtype.kind in "fiubc":
        return NUMBER
    form = dates.get(name) if isinstance(dates, Mapping) else dates
    if is_text(column):
        return _unit_of_text(name, column, form, must=isinstance(dates, Mapping) and name in dates)
    times = _times(column)
    return NUMBER if times is None else _unit(times)


def to_numbers(name: str, column: pd.Series, unit: Unit) -> NDArray[np.float64]:
    """The numbers of a column of dates or durations, NaN where missing; numbers are taken as they are."""
    if column.dtype.kind in "fiu":
        return column.to_numpy(np.float64, na_value=np.nan)
    if column.isna().all():  # whatever its type: a column of None alone is one of objects
        return np.full(len(column), np.nan)
    times = _read(column, unit) if is_text(column) else _times(column)
    if times is None or (times.dtype.kind == "m") != (unit.kind == "duration") or (times.isna() & column.notna()).any():
        culprit = column[column.notna() if times is None else times.isna() & column.notna()]
        shown = f"{culprit.iloc[0]!r}" if len(culprit) else str(column.dtype)
        form = f", as in {unit.form}" if unit.form else ""
        raise wrong(name, f"holds {shown}, which is not a {unit.kind}{form}; pass {unit.kind}s of pandas")
    micros = times.to_numpy(f"{times.dtype.kind}8[us]")
    numbers = np.where(np.isnat(micros), np.nan, micros.astype(np.int64) / 1e6)
    return numbers / DAY if unit.kind == "date" else numbers


def from_numbers(numbers: Any, unit: Unit) -> Any:
    """What numbers stand for: themselves, or the dates or durations of pandas; dates are whole days."""
    if unit.kind == "number":
        return numbers
    seconds = np.asarray(numbers, np.float64)
    seconds = np.floor(seconds + 0.5) * DAY if unit.kind == "date" else seconds
    micros = np.where(np.isnan(seconds), np.iinfo(np.int64).min, np.round(seconds * 1e6)).astype(np.int64)
    return micros.view("m8[us]" if unit.kind == "duration" else "M8[us]")


def to_number(name: str, value: Any, unit: Unit) -> float:
    """One date or duration as a number; a text may be in the column's form or in the usual ones."""
    if isinstance(value, int | float | np.number):
        return float(value)
    column = pd.Series([value])
    if is_text(column) and (own := _read(column, unit)) is not None and own.notna().all():
        return float(to_numbers(name, column, unit)[0])
    found = unit_of(name, column)
    return float(to_numbers(name, column, unit if found == NUMBER else unit._replace(form=found.form))[0])


def in_words(number: float, unit: Unit) -> str:
    """A number with six digits, whole ones with all, or the date or duration that it stands for.

    Example:
        >>> in_words(0.5, NUMBER), in_words(2385421.0, NUMBER), in_words(18262.0, Unit("date"))
        ('0.5', '2385421', '2020-01-01')
    """
    if unit.kind != "number":
        return texts([number], unit)[0]
    return f"{number:.0f}" if number == round(number) and abs(number) < LARGE else f"{number:g}"


def texts(numbers: Iterable[float], unit: Unit, close: Iterable[float] | None = None) -> list[str]:
    """Dates or durations as people read them, exact to the microsecond, or as `close` to each as it says."""
    if unit.kind == "date":  # a cut lies between two days, and the second is in the bin that it begins
        return [_date(math.ceil(x) * DAY).strftime("%Y-%m-%d") for x in numbers]
    within = itertools.repeat(0.0) if close is None else close
    return [_clock(x, room, unit) for x, room in zip(numbers, within, strict=False)]


def as_text(column: pd.Series) -> pd.Series:
    """Dates and durations that are to be levels as text; other columns as they are."""
    unit = NUMBER if is_text(column) else unit_of(str(column.name), column)
    if unit == NUMBER:
        return column
    numbers = to_numbers(str(column.name), column, unit)
    known = ~np.isnan(numbers)
    found = np.full(len(column), None, object)
    found[known] = texts(numbers[known], unit)
    return column.astype(object).where(~known, found)


def is_text(column: pd.Series) -> bool:
    """Whether all entries that are not missing are text."""
    return bool(types.infer_dtype(column, skipna=True) == "string")


def _times(column: pd.Series) -> pd.Series | None:
    """A column of dates or durations of any type as one of pandas without a time zone; None for all other columns."""
    if isinstance(column.dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    if types.is_object_dtype(column.dtype):
        found = types.infer_dtype(column, skipna=True)
        if found in ("date", "datetime", "datetime64"):
            column = pd.to_datetime(column)
        elif found in ("timedelta", "timedelta64"):
            column = pd.to_timedelta(column)
        elif found == "time":
            column = pd.to_timedelta(column.map(str, na_action="ignore"))
        elif found == "period":
            column = pd.to_datetime(column.map(lambda period: period.to_timestamp(), na_action="ignore"))
    if column.dtype.kind == "M" and getattr(column.dt, "tz", None) is not None:
        column = column.dt.tz_localize(None)  # the time on the clock there
    return column if column.dtype.kind in "Mm" else None


def _unit(times: pd.Series, form: str | None = None) -> Unit:
    if times.dtype.kind == "m":
        return Unit("duration", form)
    whole = (times.dt.normalize() == times) | times.isna()
    return Unit("date" if whole.all() else "datetime", form)


def _read(column: pd.Series, unit: Unit) -> pd.Series | None:
    """Text as dates or durations, missing where it is none."""
    if unit.kind == "duration":
        short = column.str.fullmatch(r"-?\d+:\d\d", na=False)  # hours and minutes
        return pd.to_timedelta(column.where(~short, column + ":00"), errors="coerce")
    form = unit.form or next(_forms(column.dropna().drop_duplicates().iloc[:SAMPLE]), None)
    return None if form is None else _dates(column, form)


def _dates(column: pd.Series, form: str) -> pd.Series:
    """Text as dates of one form, missing where it is none."""
    times = pd.to_datetime(column, format=form, errors="coerce")
    if (times.isna() & column.notna()).any():
        rewritten = column.map(lambda text: _in_form(text, form), na_action="ignore")
        times = pd.to_datetime(rewritten, format=form, errors="coerce")
    return times.dt.as_unit("us")


def _unit_of_text(name: str, column: pd.Series, form: str | None, must: bool) -> Unit:
    known = column.dropna()
    if form is not None:
        times = _dates(known, form)
        if times.notna().all():
            return _unit(times, form)
        if must:
            culprit = known[times.isna()].iloc[0]
            raise ArgumentError("dates", f"has the form {form!r} for {name!r}, which holds {culprit!r}")
    sample = known.drop_duplicates().iloc[:SAMPLE]
    if not len(sample):
        return NUMBER
    if sample.str.fullmatch(CLOCK).all() and known.str.fullmatch(CLOCK).all():
        return Unit("duration")
    read = [(each, _dates(known, each)) for each in _forms(sample)]
    found = [(each, times) for each, times in read if times.notna().all()]
    if not found:
        return NUMBER
    if any(not times.equals(found[0][1]) for _, times in found[1:]):
        forms = " or ".join(repr(each) for each, _ in found)
        mention = Mention("dates", found[0][0], f"columns=jaxbn.Columns(dates={found[0][0]!r})")
        LOG.warning("column %r may hold dates, but as %s they differ; name the form with %s", name, forms, mention)
        return NUMBER
    return _unit(found[0][1], found[0][0])


def _forms(sample: pd.Series) -> Iterator[str]:
    """The forms that some texts all have."""
    for form in FORMS:
        try:
            for text in sample:
                datetime.datetime.strptime(_in_form(text, form), form)
        except ValueError:
            continue
        if "%f" not in form or sample.str.contains(_FRACTION).any():
            yield form


def _in_form(text: str, form: str) -> str:
    """A moment as a form has it: of a time zone the time on the clock there, and a fraction even if it is zero."""
    if not form.endswith(("Z", "%z")):
        text = _ZONE.sub(r"\1", text)
    return _WHOLE.sub(r"\1.0\2", text) if "%f" in form else text


def _date(seconds: float) -> datetime.datetime:
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)


def _clock(seconds: float, close: float, unit: Unit) -> str:
    """A moment or a duration with the fewest parts that are close enough."""
    for step in (DAY, 60, 1, 1e-3, 1e-6):
        near = round(seconds / step) * step
        if abs(near - seconds) <= close:
            break
    if unit.kind == "duration":
        days, rest = divmod(round(abs(near), 6), DAY)
        sign, fraction = "-" * (near < 0), f"{rest % 1:.6f}".rstrip("0")[1:].rstrip(".")
        ahead = f"{int(days)} day{'s' * (days != 1)} " if days else ""
        clock = f"{int(rest // 3600)}:{int(rest // 60) % 60:02d}:{int(rest) % 60:02d}{fraction}"
        return sign + (ahead.strip() if days and not rest else ahead + clock)
    text = _date(near).strftime(
        "%Y-%m-%d" if near % DAY == 0 else "%Y-%m-%d %H:%M" if near % 60 == 0 else "%Y-%m-%d %X"
    )
    return text + (f"{near % 1:.6f}".rstrip("0")[1:] if near % 1 else "")
