"""Being missing as a state: a level of its own for discrete columns, a column that says so for continuous ones."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbn.inputs.checks import ArgumentError, Mention
from jaxbn.inputs.columns import MISSING
from jaxbn.inputs.date_parts import part_of
from jaxbn.inputs.missing import MISSING_LEVEL

if TYPE_CHECKING:
    from jaxbn.inputs.table import Table

SUFFIX = f" {MISSING_LEVEL}"


def missing_flag_name(name: str) -> str:
    """The name of the column that says where a continuous column lacks entries.

    Example:
        >>> missing_flag_name("age")
        'age (missing)'
    """
    return f"{name}{SUFFIX}"


def signed_name(name: str) -> str | None:
    """The column that a column of signs belongs to, None for other columns.

    Example:
        >>> signed_name("age (missing)"), signed_name("age")
        ('age', None)
    """
    return name.removesuffix(SUFFIX) if name.endswith(SUFFIX) and name != SUFFIX else None


def as_states(table: Table, chosen: Collection[str] | None = None) -> Table:
    """The table in which being missing is a state.

    A discrete column gets the level ``"(missing)"``, its last one. A continuous column keeps its holes, and a discrete
    column of False and True stands beside it.

    Args:
        table: a table with holes.
        chosen: columns that get such a state whether they lack entries or not; by default those that do.
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
            raise ArgumentError(
                "data",
                f"is a name that {Mention('missing', 'state')} needs for the missing entries of {name!r}; rename it",
                subject=f"column {sign!r}",
            )
        names.append(sign)
        codes[sign], levels[sign] = table.absent(name).astype(np.int32), (False, True)
        inferred[sign] = f"whether {name!r} is missing"
    return replace(table, names=tuple(names), codes=codes, levels=levels, inferred=inferred)


def with_signs(columns: Any, wanted: Any) -> Any:
    """A frame with those of the wanted columns of signs, and of parts of dates, that can be made from it."""
    made = {
        name: part for name in wanted if name not in columns.columns and (part := part_of(columns, name)) is not None
    }
    made |= {
        name: columns[of].isna()
        for name in wanted
        if name not in columns.columns and (of := signed_name(name)) is not None and of in columns.columns
    }
    return columns.assign(**made) if made else columns
