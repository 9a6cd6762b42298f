"""What a user knows about columns: their kinds, their cuts, the words for their bins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jaxbn.cuts.binning import Binning
from jaxbn.inputs.checks import ArgumentError, Mention, known_name, listed, mapping, one_of, suggest
from jaxbn.inputs.missing import LOG
from jaxbn.inputs.table import DataLike, Missing, Table, as_table
from jaxbn.inputs.units import NUMBER, Dates, in_words, to_number

MANY_LEVELS = 50  # by default, columns with more levels than this are grouped

Cuts = Mapping[str, Iterable[Any] | Binning] | None
"""Interior cuts by column: numbers, or dates of a column of dates."""

Labels = Mapping[str, Sequence[str]] | None
"""Words for the bins of columns that have their own cuts."""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """What is known about columns. Those that are not named are inferred, see ``jaxbn.as_table``.

    Args:
        continuous: columns that are continuous whatever they hold.
        discrete: columns that are discrete whatever they hold.
        keep: columns that stay though nothing can be learned from them; ``jaxbn.learn`` leaves out identifiers,
            constants, copies and the like otherwise, unless another argument names them.
        cuts: ``{column: cuts}`` of columns whose interior cuts are known, such as ``{"age": [18, 65]}``, or dates:
            these columns are continuous, and never cut otherwise.
        labels: ``{column: words}`` for the bins of columns in ``cuts``, such as ``{"age": ["child", "adult", "old"]}``;
            reports and exported networks show them.
        merge_levels: discrete columns whose levels are merged by evidence (see ``jaxbn.group_levels``), again in each
            pass; by default those with more than 50 levels, and ``()`` for none.
        dates: how dates are written, see ``jaxbn.as_table``.
        date_parts: parts of dates that become columns of their own, see ``jaxbn.as_table``.

    Example:
        >>> known = Columns(cuts={"age": [18, 65]}, labels={"age": ["child", "adult", "old"]})
        >>> known.binnings(known.table({"age": [4.0, 30.0, 71.0]}))["age"].labels
        ('child', 'adult', 'old')
    """

    continuous: Iterable[str] | None = None
    discrete: Iterable[str] | None = None
    keep: Iterable[str] = ()
    cuts: Cuts = None
    labels: Labels = None
    merge_levels: Iterable[str] | None = None
    dates: Dates = None
    date_parts: Iterable[str] | Mapping[str, Iterable[str]] = ()

    def __post_init__(self) -> None:  # iterators are read once, here
        for name in ("continuous", "discrete", "keep", "merge_levels"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else tuple(listed(value, name)))
        mapping("cuts", self.cuts, "{column: cuts}")
        mapping("labels", self.labels, "{column: words}")

    def table(self, data: DataLike, missing: Missing = "infer", keep: Iterable[str] | None = None) -> Table:
        """The checked table; without `keep` all columns stay, with it those that say nothing are left out but for some.

        Columns of a Table are what they are.

        Example:
            >>> Columns(discrete=["grade"]).table({"grade": [1.0, 2.0, 2.0]}).discrete
            ('grade',)
        """
        continuous = self.continuous
        if self.cuts and not isinstance(data, Table):
            known = set(map(str, data.keys() if hasattr(data, "keys") else self.cuts))  # others are refused later
            continuous = [*(continuous or ()), *(name for name in map(str, self.cuts) if name in known)]
        stay = None if keep is None else [*self.keep, *(self.merge_levels or ()), *(self.cuts or ()), *keep]
        table = as_table(
            data,
            continuous=None if continuous is None else list(dict.fromkeys(continuous)),
            discrete=self.discrete,
            missing=missing,
            keep=stay,
            dates=self.dates,
            date_parts=self.date_parts,
        )
        for name in self.keep:
            known_name("keep", name, table.names)
        for name in self.dates if isinstance(self.dates, Mapping) else ():
            if name in table.names and name not in table.units and not isinstance(table.levels.get(name, (0,))[0], str):
                text = Mention("convert", words=f"write them as text, data.astype({{{name!r}: str}})")
                raise ArgumentError("dates", f"has a form for {name!r}, which holds numbers, no text; ", text)
        return table

    def binnings(self, table: Table) -> dict[str, Binning]:
        """Those of the columns whose cuts are known.

        Example:
            >>> known = Columns(cuts={"age": [18, 65]})
            >>> known.binnings(known.table({"age": [4.0, 30.0, 71.0]}))["age"].cuts.tolist()
            [18.0, 65.0]
        """
        found = {str(name): _binning(str(name), edges, table) for name, edges in (self.cuts or {}).items()}
        for name, words in (self.labels or {}).items():
            known_name("labels", name, table.names)
            if name not in found:
                why = f"names {name!r}, whose bins are not known; give its cuts with "
                raise ArgumentError("labels", why, Mention("cuts"))
            if isinstance(words, str):
                raise ArgumentError("labels", f"of {name!r} must be a list of words, one for each bin, got {words!r}")
            try:
                found[name] = replace(found[name], labels=tuple(map(str, words)))
            except ValueError as error:
                raise ArgumentError("labels", f"of {name!r}: {error}", value=words) from None
        return found

    def merged(self, table: Table) -> tuple[str, ...]:
        """The discrete columns whose levels are merged, in column order; by default those with many, which are logged.

        Example:
            >>> known = Columns(merge_levels=["town"])
            >>> known.merged(known.table({"town": ["a", "b", "c"], "size": ["s", "l", "l"]}))
            ('town',)
        """
        if self.merge_levels is None:
            many = tuple(name for name in table.discrete if len(table.levels[name]) > MANY_LEVELS)
            for name in many:
                LOG.warning(
                    "column %r has %d levels, more than %d: they are merged into groups (%s keeps them apart)",
                    name, len(table.levels[name]), MANY_LEVELS, Mention("no_group", words="merge_levels=()"),
                )  # fmt: skip
            return many
        for name in self.merge_levels:
            if name not in table.codes:
                kind = "is a continuous column" if name in table.values else "is not a column of the data"
                remedy = suggest(name, table.discrete)
                raise ArgumentError("merge_levels", f"names {name!r}, which {kind}; {remedy}", value=name)
        return tuple(name for name in table.discrete if name in self.merge_levels)


def as_columns(columns: Columns | Mapping[str, str] | None) -> Columns:
    """What is known about columns; a mapping says of some whether they are continuous or discrete."""
    if isinstance(columns, Columns) or columns is None:
        return columns or Columns()
    kinds: dict[str, list[str]] = {"continuous": [], "discrete": []}
    for name, kind in mapping("columns", columns, "jaxbn.Columns(...) or {column: kind}").items():
        kinds[one_of(f"columns[{name!r}]", kind, tuple(kinds))].append(str(name))
    return Columns(continuous=kinds["continuous"] or None, discrete=kinds["discrete"] or None)


def _binning(name: str, edges: Iterable[Any] | Binning, table: Table) -> Binning:
    known_name("cuts", name, table.names)
    if name not in table.values:
        why = f"names {name!r}, which is discrete; leave it out, or take it as a quantity with "
        raise ArgumentError("cuts", why, Mention("continuous"), value=name)
    if isinstance(edges, Binning):
        return edges
    unit, values = table.units.get(name, NUMBER), table.values[name]
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    try:
        numbers = [to_number(name, edge, unit) for edge in ([edges] if isinstance(edges, str) else edges)]
        binning = Binning(np.array(numbers, np.float64), lower=low, upper=high, unit=unit)
    except (TypeError, ValueError) as error:
        raise ArgumentError("cuts", f"of {name!r}: {error}", value=edges) from None
    if numbers and not (low < numbers[0] and numbers[-1] <= high):
        ends = [in_words(number, unit) for number in (numbers[0], numbers[-1], low, high)]
        why = f"of {name!r} run from {ends[0]} to {ends[1]} but its values from {ends[2]} to {ends[3]}, so that an "
        raise ArgumentError("cuts", f"{why}outer bin would hold nothing; leave out the cuts outside", value=edges)
    return binning
