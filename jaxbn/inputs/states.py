"""Columns made from others: signs of missing entries, where these are a state, and parts of dates; columns left out."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.checks import ArgumentError, Mention, known_name, listed, one_of, wrong
from jaxbn.inputs.columns import MISSING, written_numbers
from jaxbn.inputs.later import pd
from jaxbn.inputs.missing import LOG, MISSING_LEVEL, Missing, share_words
from jaxbn.inputs.units import NUMBER, Dates, Unit, from_numbers, to_numbers, unit_of
from jaxbn.runtime.threads import in_threads

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
        asked = listed(parts[name] if isinstance(parts, Mapping) else parts)
        wanted = [one_of("date_parts", part, list(PARTS)) for part in asked]
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


# --- columns that say nothing, or everything, about their rows, and so nothing about other columns

FIRST = 1000  # entries in which copies are looked for: columns that differ mostly do so there
FEW_ROWS = 20  # in tables of up to this many rows nothing is left out: there, chance alone does it
MOST_MISSING = 0.8  # a column with a larger share of missing entries is left out
OWN_TEXT = 0.5  # so is text of which a larger share of the entries is different
EACH_ROW = "which has a different value in each row"
AS_TEXT = "whose numbers are text"  # why such text is left out that may stay in another way
MANY = 4  # so many columns with the same reason share a line
IDENTIFIER = re.compile(r"(?:^|[_\W])(id|index|key|rownames?|nr|no|number)$|[a-z](Id|ID|Key)$", re.IGNORECASE)
"""Names of columns whose whole numbers, all different, are no quantity."""


def without_empty(frame: pd.DataFrame, keep: Collection[str], missing: Missing) -> pd.DataFrame:
    """The frame without columns that have no value in any row or, if entries are inferred or dropped, hardly any."""
    shares = {name: float(frame[name].isna().mean()) for name in frame.columns if name not in keep}
    most = MOST_MISSING if missing in ("infer", "drop") and len(frame) > FEW_ROWS else 1.0
    empty = {name: share for name, share in shares.items() if share == 1.0 or share > most}
    if len(empty) == frame.shape[1]:
        return frame
    mostly = {name: f"{share_words(share)} of which is missing" for name, share in empty.items() if share < 1.0}
    if len(mostly) >= MANY:
        mostly = dict.fromkeys(mostly, f"which is missing in more than {share_words(MOST_MISSING)} of the rows")
    reasons = {name: mostly.get(name, "which has no value in any row") for name in empty}
    _tell(reasons, for_good=empty.keys() - mostly.keys())
    return frame.drop(columns=list(empty))


def without_uninformative(table: Table, keep: Collection[str], *, infers: bool) -> Table:
    """The table without the columns from which nothing can be learned, except some to `keep`; the log tells each."""
    if table.n_rows <= FEW_ROWS:
        return table
    found = dict(_reasons(table, keep, infers))
    if len(found) == len(table.names):
        return table
    _tell(found)
    return replace(
        table,
        names=tuple(name for name in table.names if name not in found),
        values={name: column for name, column in table.values.items() if name not in found},
        codes={name: column for name, column in table.codes.items() if name not in found},
        levels={name: levels for name, levels in table.levels.items() if name not in found},
    )


def _tell(found: Mapping[str, str], for_good: Collection[str] = ()) -> None:
    """A line for each column with its reason, or one for many that have the same; how to keep those that can be."""
    for reason in dict.fromkeys(found.values()):
        names = [name for name in found if found[name] == reason]
        told = [(repr(name), name, reason, "it") for name in names]
        if len(names) >= MANY:
            every = f"each {'of ' * reason.startswith('wh')}{reason}"
            told = [(f"{', '.join(map(repr, names[:3]))} and {len(names) - 3} more", names[0], every, "that one")]
        for shown, name, why, one in told:
            if name in for_good:
                LOG.warning("left out: %s, %s", shown, why)
            else:
                remedy = Mention("keep", name, f"pass columns=jaxbn.Columns(keep=[{name!r}])")
                if reason == AS_TEXT:
                    remedy = Mention("continuous", name, f"pass columns={{{name!r}: 'continuous'}}")
                LOG.warning("left out: %s, %s; %s to keep %s", shown, why, remedy, one)


def _reasons(table: Table, keep: Collection[str], infers: bool) -> Iterator[tuple[str, str]]:
    """Columns to be left out, each with the reason in words."""
    alike: dict[Any, list[str]] = defaultdict(list)  # columns that begin alike
    reasons = in_threads(
        lambda name: None if name in keep else _alone(table, name, infers), table.names, rows=table.n_rows
    )
    for name, reason in zip(table.names, reasons, strict=True):
        if reason:
            yield name, reason
            continue
        column = _column(table, name)
        others = alike[column[:FIRST].tobytes(), repr(table.levels.get(name))]
        same = next((other for other in others if _column(table, other).tobytes() == column.tobytes()), None)
        if same is not None and name not in keep:
            yield name, f"a copy of {same!r}"
        else:
            others.append(name)


def _alone(table: Table, name: str, infers: bool) -> str | None:
    """What is wrong with a column by itself."""
    known, share = _column(table, name), 0.0
    if name in table.holes:
        absent = table.absent(name)
        known, share = known[~absent], float(absent.mean())
    if len(known) and known.min() == known.max() and (infers or not share):
        return "which has the same value in every row"
    if name in table.units or len(known) <= FEW_ROWS:
        return None
    if name in table.values:
        whole = all(bool((some == np.floor(some)).all()) for some in (known[:FEW_ROWS], known))
        numbers_rows = whole and (known.max() - known.min() == len(known) - 1 or IDENTIFIER.search(name))
        return EACH_ROW if numbers_rows and len(np.unique(known)) == len(known) else None
    text, distinct = isinstance(table.levels[name][0], str), np.count_nonzero(np.bincount(known))
    own_text = text and distinct > OWN_TEXT * len(known)
    if own_text and written_numbers(pd.Series(table.levels[name], dtype=object)).notna().all():
        return AS_TEXT
    if distinct == len(known):
        return EACH_ROW
    if own_text:
        return f"text with {distinct} different values in {len(known)} rows"
    return None


def _column(table: Table, name: str) -> NDArray[Any]:
    return table.values[name] if name in table.values else table.codes[name]
