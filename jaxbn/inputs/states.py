"""Columns made from others: signs of missing entries, where being missing is a state, and parts of dates."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbn.inputs.checks import ArgumentError, Mention, known_name, listed, one_of, wrong
from jaxbn.inputs.columns import MISSING
from jaxbn.inputs.later import pd
from jaxbn.inputs.missing import MISSING_LEVEL
from jaxbn.inputs.units import NUMBER, Dates, Unit, from_numbers, to_numbers, unit_of

if TYPE_CHECKING:
    from jaxbn.inputs.table import Table

SUFFIX = f" {MISSING_LEVEL}"
PARTS = {
    "year": lambda dates: dates.year,
    "month": lambda dates: dates.month_name(),
    "weekday": lambda dates: dates.day_name(),
    "hour": lambda dates: dates.hour,
}


def missing_flag_name(name: str) -> str:
    """The name of the column that says where a continuous column lacks entries, such as ``age (missing)``."""
    return f"{name}{SUFFIX}"


def signed_name(name: str) -> str | None:
    """The column that a column of signs belongs to, ``age`` for ``age (missing)``; None for other columns."""
    return name.removesuffix(SUFFIX) if name.endswith(SUFFIX) and name != SUFFIX else None


def as_states(table: Table, chosen: Collection[str] | None = None) -> Table:
    """The table in which being missing is a state of the `chosen` columns, by default of those that lack entries.

    A discrete column gets the level ``"(missing)"``, its last one. A continuous column keeps its holes, and a discrete
    column of False and True stands beside it.
    """
    chosen = table.holes if chosen is None else chosen
    names: list[str] = []
    codes, levels, inferred = dict(table.codes), dict(table.levels), dict(table.inferred)
    for name in table.names:
        names.append(name)
        if name not in chosen or MISSING_LEVEL in levels.get(name, ()):
            continue
        if name in table.codes:
            codes[name] = np.where(codes[name] == MISSING, len(levels[name]), codes[name]).astype(np.int32)
            levels[name] = (*levels[name], MISSING_LEVEL)
            continue
        sign = missing_flag_name(name)
        if sign in table.names:
            state = Mention("missing", "state")
            raise wrong(sign, "is a name that ", state, f" needs for the missing entries of {name!r}; rename it")
        names.append(sign)
        codes[sign], levels[sign] = table.absent(name).astype(np.int32), (False, True)
        inferred[sign] = f"whether {name!r} is missing"
    return replace(table, names=tuple(names), codes=codes, levels=levels, inferred=inferred)


def with_signs(columns: Any, wanted: Any) -> Any:
    """A frame with those of the wanted columns of signs, and of parts of dates, that can be made from it."""
    made = {}
    for name in wanted:
        if name in columns.columns:
            continue
        if (of := signed_name(name)) in columns.columns:
            made[name] = columns[of].isna()
        elif (part := part_of(columns, name)) is not None:
            made[name] = part
    return columns.assign(**made) if made else columns


def with_parts(frame: pd.DataFrame, parts: Iterable[str] | Mapping[str, Iterable[str]], dates: Dates) -> pd.DataFrame:
    """The frame with a discrete column for each part of each date, such as ``day (month)``."""
    found: dict[str, Any] = {}
    for name in parts if isinstance(parts, Mapping) else frame.columns:
        wanted = listed(parts[name] if isinstance(parts, Mapping) else parts)
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
    dates = pd.DatetimeIndex(from_numbers(to_numbers(name, column, unit), unit))
    values = pd.Series(PARTS[part](dates), index=column.index)
    if part in ("year", "hour"):
        return values.astype("Int64").astype(object).where(values.notna(), None)
    days = pd.date_range("2024-01-01", periods=12, freq="MS" if part == "month" else "D")  # from a Monday on
    order = PARTS[part](days).unique()
    return values.astype(pd.CategoricalDtype([each for each in order if (values == each).any()], ordered=True))
