"""Tables: continuous columns as floats, discrete columns as codes with their levels."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.checks import DROP, ArgumentError, Mention, few, known_name, one_of, wrong_data
from jaxbn.inputs.columns import MISSING, Kind, Level, as_floats, as_levels, encode, exceptions, kinds_of
from jaxbn.inputs.frames import DataLike, as_frame
from jaxbn.inputs.missing import LOG, MISSING_CHOICES, Missing, check_holes, settle, share_words
from jaxbn.inputs.states import FEW_ROWS, as_states, with_parts, without_empty, without_uninformative
from jaxbn.inputs.units import NUMBER, Dates, Unit, in_words

__all__ = ["DataLike", "Missing", "Table", "as_frame", "as_table", "encode"]

CONTENT = 50  # characters of the levels that a description lists


@dataclass(frozen=True, eq=False)
class Table:
    """A table whose columns are either continuous or discrete.

    Attributes:
        names: column names in order.
        values: continuous columns, float64 [n_rows]; NaN where an entry is missing.
        codes: discrete columns, int32 [n_rows], from 0 to ``len(levels) - 1``; -1 where an entry is missing.
        levels: discrete columns' levels as plain Python scalars; a code is a position in it.
        n_rows: number of rows.
        inferred: why each column was taken as continuous or discrete.
        units: what the numbers of continuous columns stand for, where these are dates or durations.

    Example:
        >>> table = as_table({"size": [1.5, 2.5, 2.0], "kind": ["b", "a", "b"]})
        >>> table.continuous, table.levels["kind"], table.codes["kind"].tolist()
        (('size',), ('a', 'b'), [1, 0, 1])
    """

    names: tuple[str, ...]
    values: dict[str, NDArray[np.float64]]
    codes: dict[str, NDArray[np.int32]]
    levels: dict[str, tuple[Level, ...]]
    n_rows: int
    inferred: dict[str, str]
    units: dict[str, Unit] = field(default_factory=dict)

    @property
    def continuous(self) -> tuple[str, ...]:
        """Names of the continuous columns, in column order."""
        return tuple(name for name in self.names if name in self.values)

    @property
    def discrete(self) -> tuple[str, ...]:
        """Names of the discrete columns, in column order."""
        return tuple(name for name in self.names if name in self.codes)

    @cached_property
    def holes(self) -> dict[str, int]:
        """How many entries are missing in each column that lacks some."""
        return {name: count for name in self.names if (count := int(self.absent(name).sum()))}

    def absent(self, name: str) -> NDArray[np.bool_]:
        """Whether each entry of a column is missing [n_rows]."""
        return np.isnan(self.values[name]) if name in self.values else np.asarray(self.codes[name] == MISSING)

    @property
    def holed_rows(self) -> NDArray[np.bool_]:
        """Whether each row lacks an entry [n_rows]."""
        return np.logical_or.reduce([np.zeros(self.n_rows, bool), *(self.absent(name) for name in self.holes)])

    def take(self, rows: NDArray[Any]) -> Table:
        """The table of the given rows (positions or a mask); levels stay as they are."""
        values = {name: column[rows] for name, column in self.values.items()}
        codes = {name: column[rows] for name, column in self.codes.items()}
        return replace(self, values=values, codes=codes, n_rows=len(np.arange(self.n_rows)[rows]))

    def describe(self, width: int | None = None) -> str:
        """A line for each column: what it was taken as, what it holds, and why.

        Args:
            width: most characters of a line, by default as many as it takes.

        Example:
            >>> print(as_table({"size": [1.5, 2.5], "kind": ["b", "a"]}).describe())
            2 rows, 2 columns: 1 continuous, 1 discrete
              size  continuous  1.5 to 2.5, 2 distinct   float column
              kind  discrete    2 levels: 'a', 'b'       string column
        """
        rows = [self.words(name) for name in self.names]
        names, _, room, reasons = (max(map(len, column)) for column in zip(*rows, strict=True))
        if width is not None:  # what a column holds is cut short first
            room = min(room, max(width - names - reasons - 19, 24))
        lines = [f"  {n:<{names}}  {kind:<10}  {_cut(held, room):<{room}}   {why}" for n, kind, held, why in rows]
        lines = lines if width is None else [_cut(line, width) for line in lines]
        kinds = f"{len(self.values)} continuous, {len(self.codes)} discrete"
        columns = f"{len(self.names)} column{'s' * (len(self.names) != 1)}"
        return "\n".join([f"{self.n_rows} rows, {columns}: {kinds}", *lines])

    def __repr__(self) -> str:
        return f"<Table {self.describe()}>"

    def words(self, name: str) -> tuple[str, str, str, str]:
        """A column in words: its name, what it was taken as, what it holds, and why."""
        return name, "continuous" if name in self.values else "discrete", self.content(name), self.inferred[name]

    def content(self, name: str) -> str:
        """What a column holds, in a few words."""
        lacks = f", {share_words(self.holes[name] / self.n_rows)} missing" if name in self.holes else ""
        if name in self.values:
            column = self.values[name][~self.absent(name)]
            low, high = (in_words(end, self.units.get(name, NUMBER)) for end in (column.min(), column.max()))
            return f"{low} to {high}, {len(np.unique(column))} distinct{lacks}"
        levels = self.levels[name]
        texts = [reprlib.repr(level) for level in levels]
        lengths = np.cumsum([len(text) + 2 for text in texts])
        n_shown = max(1, min(6, int((lengths <= CONTENT).sum())))
        return f"{len(levels)} level{'s' * (len(levels) != 1)}: {few(texts, n_shown)}{lacks}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"


def as_table(
    data: DataLike,
    *,
    continuous: Iterable[str] | None = None,
    discrete: Iterable[str] | None = None,
    missing: Missing = "infer",
    names: Sequence[str] | None = None,
    dates: Dates = None,
    date_parts: Iterable[str] | Mapping[str, Iterable[str]] = (),
    keep: Iterable[str] | None = None,
) -> Table:
    """Check a data set and split it into continuous values and discrete codes.

    Args:
        data: a DataFrame, a dict of columns, a 2-D array [rows, columns] with ``names``, a Table (returned as is), or
            the path of a CSV, TSV or Parquet file or of a folder of Parquet files.
        continuous: columns that are continuous whatever they hold. Those named neither here nor in ``discrete`` are
            inferred: float columns are continuous; bool, object, string and category columns discrete; whole numbers,
            stored as integers or as floats, discrete up to 20 distinct values and else continuous.
        discrete: columns that are discrete whatever they hold.
        missing: what to do about missing entries; one line of the log says what was found and done. ``"infer"`` keeps
            them, for functions that infer them; ``"error"`` refuses them; ``"drop"`` drops the rows that have one;
            ``"state"`` makes them a level of their own, ``"(missing)"``, of discrete columns, and adds to each
            continuous column that lacks entries a discrete one that says which these are.
        names: column names of a 2-D array.
        dates: how dates are written in text, such as ``"%d/%m/%Y"``, or ``{column: form}``. ISO dates and other usual
            forms are known without it. Columns of dates, times and durations are continuous.
        date_parts: parts of dates that become discrete columns of their own, such as ``"day (month)"``: some of
            ``"year"``, ``"month"``, ``"weekday"`` and ``"hour"``, of all dates or ``{column: parts}``.
        keep: leave out columns from which nothing can be learned, as ``learn`` does, except these and those named in
            ``continuous`` and ``discrete``: identifiers, text that differs in most rows, constants, copies of another
            column and, unless being missing is a state, columns with more than 80 % missing. By default all columns
            stay, and identifiers are refused.

    Returns:
        The table. Column labels that are not strings become strings.

    Raises:
        ValueError: missing or infinite entries, duplicate or unknown names, no rows, a column that identifies rows.
        TypeError: complex numbers, lists, columns that mix types.

    Example:
        >>> data = {"age": [31, 45, 31], "size": [0.5, 1.5, 2.0], "dose": [0.5, 0.5, 1.0]}
        >>> as_table(data, continuous=["age"], discrete=["dose"]).continuous
        ('age', 'size')
    """
    one_of("missing", missing, MISSING_CHOICES)
    if isinstance(data, Table):
        return _of_table(data, exceptions(continuous, discrete), missing)
    frame = as_frame(data, names=names)
    if frame.shape[0] == 0:
        raise wrong_data(f"has no rows (columns: {', '.join(map(repr, frame.columns))}); pass at least one row")
    for name in dates if isinstance(dates, Mapping) else ():
        known_name("dates", name, frame.columns)
    kept = {*(keep or ()), *exceptions(continuous, discrete)}
    frame = frame if keep is None else without_empty(frame, kept, missing)
    frame = with_parts(frame, date_parts, dates) if date_parts else frame
    kinds = kinds_of(frame, continuous, discrete, dates)
    frame, notice = settle(frame, missing)
    values, codes, levels = {}, {}, {}
    n_rows = len(frame)
    for name, (kind, _, unit) in kinds.items():
        column = frame.pop(name)  # so that a table that was read from a file is not in memory twice
        if kind == "continuous":
            values[name] = as_floats(name, column, unit)
        else:
            levels[name], codes[name] = as_levels(name, column)
            if keep is None:
                _refuse_identifier(name, codes[name])
    inferred = {name: reason for name, (_, reason, _) in kinds.items()}
    units = {name: unit for name, (_, _, unit) in kinds.items() if unit != NUMBER}
    if notice:
        LOG.warning(notice)
    table = Table(tuple(kinds), values, codes, levels, n_rows, inferred, units)
    if keep is not None:
        table = without_uninformative(table, kept, infers=missing == "infer")
    return as_states(table) if missing == "state" and table.holes else table


def _of_table(table: Table, kinds: Mapping[str, Kind], missing: Missing) -> Table:
    """A table that was made before, its holes treated as `missing` says; the kinds of its columns cannot be changed."""
    for name, kind in kinds.items():
        if name not in (table.values if kind == "continuous" else table.codes):
            raise ArgumentError(
                kind, f"names {name!r}, which this Table does not have as such; pass the original data to choose"
            )
    if not table.holes:
        return table
    holed = table.holed_rows
    check_holes(table.holes, int(holed.sum()), table.n_rows, missing)
    if missing == "state":
        return as_states(table)
    return table.take(~holed) if missing == "drop" else table


def _refuse_identifier(name: str, codes: NDArray[np.int32]) -> None:
    known = codes[codes != MISSING]
    if len(known) > FEW_ROWS and len(np.unique(known)) == len(known):
        found = f"has a different value in each of its {len(known)} rows, so nothing can be learned from it; "
        remedies = DROP, ", or, if it is a quantity, take it as one with ", Mention("continuous")
        raise ArgumentError("data", found, *remedies, subject=f"discrete column {name!r}")
