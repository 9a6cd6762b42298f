"""Parts of dates that people think in, as discrete columns of their own."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from jaxbn.inputs.checks import ArgumentError, known_name, one_of
from jaxbn.inputs.units import NUMBER, Dates, Unit, from_numbers, to_numbers, unit_of

if TYPE_CHECKING:
    import pandas as pd

PARTS = {
    "year": lambda dates: dates.year,
    "month": lambda dates: dates.month_name(),
    "weekday": lambda dates: dates.day_name(),
    "hour": lambda dates: dates.hour,
}
_ORDER = {"month": datetime.date(2024, 1, 1), "weekday": datetime.date(2024, 1, 1)}  # a Monday


def with_parts(frame: pd.DataFrame, parts: Iterable[str] | Mapping[str, Iterable[str]], dates: Dates) -> pd.DataFrame:
    """The frame with a discrete column for each part of each date, such as ``day (month)``."""
    found: dict[str, Any] = {}
    for name in parts if isinstance(parts, Mapping) else frame.columns:
        wanted = parts[name] if isinstance(parts, Mapping) else parts
        wanted = [wanted] if isinstance(wanted, str) else list(wanted)
        for part in wanted:
            one_of("date_parts", part, list(PARTS))
        unit = unit_of(name, frame[known_name("date_parts", name, frame.columns)], dates)
        if unit.kind in ("date", "datetime"):
            found |= {f"{name} ({part})": _part(name, frame[name], unit, part) for part in wanted}
        elif isinstance(parts, Mapping):
            raise ArgumentError("date_parts", f"names {name!r}, which does not hold dates; leave it out")
    return frame.assign(**found)


def part_of(frame: pd.DataFrame, name: str) -> pd.Series | None:
    """A column such as ``day (month)`` from its date, None for other names."""
    base, _, part = name.removesuffix(")").rpartition(" (")
    if part not in PARTS or base not in frame.columns:
        return None
    unit = unit_of(base, frame[base])
    return None if unit == NUMBER else _part(base, frame[base], unit, part)


def _part(name: str, column: pd.Series, unit: Unit, part: str) -> Any:
    import pandas as pd

    dates = pd.DatetimeIndex(from_numbers(to_numbers(name, column, unit), unit))
    values = pd.Series(PARTS[part](dates), index=column.index)
    if part in ("year", "hour"):
        return values.astype("Int64").astype(object).where(values.notna(), None)
    step = datetime.timedelta(days=31 if part == "month" else 1)
    order = PARTS[part](pd.DatetimeIndex([_ORDER[part] + i * step for i in range(12 if part == "month" else 7)]))
    return values.astype(pd.CategoricalDtype([each for each in order if (values == each).any()], ordered=True))
