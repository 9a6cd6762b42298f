"""The table that a command is given: a file, a folder of Parquet files, a built-in data set, or standard input."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxbn.cli.errors import CommandError, UsageError, tell
from jaxbn.cli.options import as_number

if TYPE_CHECKING:
    import pandas as pd

    from jaxbn.inputs.table import Table
    from jaxbn.inputs.text_tables import Format

STANDARD_INPUT, STANDARD_INPUT_NAME = "-", "stdin"
WIDE = 120  # letters of a line where there is no terminal
MOST_COLUMNS = 40  # columns of a table that are described line by line


@dataclass(frozen=True)
class NamedTable:
    """A table that was read.

    Attributes:
        name: short, for file names and headings.
        frame: the rows.
        continuous: columns that are known or were named to be continuous; those in neither list are inferred.
        discrete: columns that are known or were named to be discrete.
        structures: known structures by name.
        builtin: whether it is a data set of the package.
        dates: how dates are written.
        date_parts: parts of dates that become columns.
        cuts: cuts that are known, by column.
    """

    name: str
    frame: pd.DataFrame
    continuous: tuple[str, ...] = ()
    discrete: tuple[str, ...] = ()
    structures: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    builtin: bool = False
    dates: str | dict[str, str] | None = None
    date_parts: tuple[str, ...] = ()
    cuts: dict[str, list[Any]] = field(default_factory=dict)

    def of(self, names: Sequence[str]) -> NamedTable:
        """The source with these columns alone."""
        return replace(
            self,
            frame=self.frame[list(names)],
            continuous=tuple(name for name in self.continuous if name in names),
            discrete=tuple(name for name in self.discrete if name in names),
        )


def read(
    data: str,
    form: Format,
    *,
    continuous: Sequence[str] = (),
    discrete: Sequence[str] = (),
    drop: Sequence[str] = (),
    dates: Sequence[str] = (),
    date_parts: Sequence[str] = (),
    cuts: Sequence[str] = (),
) -> NamedTable:
    """Read a table; a file comes before a built-in data set of the same name."""
    from jaxbn.inputs.table_files import read_bytes, read_file

    path = Path(data)
    if data == STANDARD_INPUT:
        source = NamedTable(STANDARD_INPUT_NAME, read_bytes(sys.stdin.buffer.read(), "standard input", form))
    elif path.exists():
        source = NamedTable(_short_name(path), read_file(path, form))
    else:
        source = _builtin(data)
    known = {name: [as_number(cut) for cut in row] for name, row in by_column(cuts, "--cuts", source.frame).items()}
    source = _with_kinds(
        replace(source, cuts=known),
        [*names_in(continuous, "--continuous", source.frame), *known],
        names_in(discrete, "--discrete", source.frame),
    )
    parts = tuple(part.strip() for text in date_parts for part in text.split(","))
    source = replace(source, dates=_dates(dates, source.frame), date_parts=parts)
    return _without(source, names_in(drop, "--drop", source.frame))


def form(delimiter: str | None, encoding: str, decimal: str | None, na_values: Sequence[str]) -> Format:
    """How a text table is written, by the options; words are repeated or separated by commas.

    Example:
        >>> form(None, "utf-8", None, ["?,-", "none"]).na_values
        ('?', '-', 'none')
    """
    from jaxbn.inputs.text_tables import Format

    words = tuple(word.strip() for text in na_values for word in text.split(",") if word.strip())
    return Format(delimiter, encoding, decimal, words)


def names_in(given: Sequence[str], option: str, known: Any, kind: str = "column") -> list[str]:
    """Names of an option, repeated or separated by commas; each must be known."""
    from jaxbn.inputs.checks import suggest

    columns = [str(column) for column in known]
    names: list[str] = []
    for text in given:
        names += [text] if text in columns else [part.strip() for part in text.split(",") if part.strip()]
    for name in names:
        if name not in columns:
            raise UsageError(f"{option} names {name!r}, which is not a {kind}; {suggest(name, columns)}")
    return names


def by_column(given: Sequence[str], option: str, known: Any) -> dict[str, list[str]]:
    """Words for columns, ``column=a,b,c`` each.

    Example:
        >>> by_column(["age=child,old", "a=b=1"], "--labels", ["age", "a=b"])
        {'age': ['child', 'old'], 'a=b': ['1']}
    """
    columns, found = [str(column) for column in known], {}
    for text in given:
        ends = [i for i, letter in enumerate(text) if letter == "="]  # a name may itself hold an equals sign
        end = next((i for i in ends if text[:i].strip() in columns), ends[0] if ends else None)
        if end is None:
            raise UsageError(f"{option} {text!r} must be column=a,b,c")
        names_in([text[:end].strip()], option, columns)
        found[text[:end].strip()] = [word.strip() for word in text[end + 1 :].split(",") if word.strip()]
    return found


def checked_table(source: NamedTable, missing: str, keep: Iterable[str] | None = None) -> Table:
    """The checked table; what was inferred about its columns goes to standard error.

    Args:
        source: what was read.
        missing: what to do about missing entries.
        keep: leave out columns from which nothing can be learned, but for these; by default all stay.
    """
    from jaxbn.inputs.table import as_table

    table = as_table(
        source.frame,
        continuous=source.continuous,
        discrete=source.discrete,
        missing=missing,  # type: ignore[arg-type]
        dates=source.dates,
        date_parts=source.date_parts,
        keep=None if source.builtin else keep,
    )
    text = table.describe(shutil.get_terminal_size((WIDE, 24)).columns)
    tell(text if not source.builtin and len(table.names) <= MOST_COLUMNS else text.splitlines()[0])
    return table


def _dates(given: Sequence[str], frame: pd.DataFrame) -> str | dict[str, str] | None:
    """One form for all dates, or a form for each column that is named."""
    named = {text.partition("=")[0]: text.partition("=")[2] for text in given if "=" in text}
    if not named:
        return given[-1] if given else None
    names_in(list(named), "--dates", frame.columns)
    return named


def _with_kinds(source: NamedTable, continuous: list[str], discrete: list[str]) -> NamedTable:
    """The source with the kinds that were named; they come before those that are known."""
    return replace(
        source,
        continuous=(*continuous, *(name for name in source.continuous if name not in (*continuous, *discrete))),
        discrete=(*discrete, *(name for name in source.discrete if name not in (*continuous, *discrete))),
    )


def _without(source: NamedTable, drop: list[str]) -> NamedTable:
    if not drop:
        return source
    if len(set(drop)) == source.frame.shape[1]:
        raise UsageError("--drop leaves no column; keep at least one")
    return replace(source.of([name for name in source.frame.columns if name not in drop]), builtin=False)


def _short_name(path: Path) -> str:
    """The name without its endings: of ``cars.csv.gz``, ``cars``."""
    from jaxbn.inputs.table_files import COMPRESSED

    return Path(path.stem).stem if path.suffix.lower() in COMPRESSED else path.stem


def _builtin(name: str) -> NamedTable:
    from jaxbn import datasets

    if name not in datasets.names():
        from jaxbn.inputs.checks import suggest

        raise CommandError(
            f"there is no file {name!r}, and no built-in data set of that name; {suggest(name, datasets.names())}"
        )
    found = datasets.load(name)
    tell(f"built-in data set {name}: {found.source}")
    discrete = tuple(column for column in found.frame.columns if column not in found.continuous)
    return NamedTable(name, found.frame, found.continuous, discrete, found.structures, True)
