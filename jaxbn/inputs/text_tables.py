"""Text tables: checked line by line, then read by pandas; what is wrong is said in words, with the line."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from typing import TYPE_CHECKING, Any

from jaxbn.inputs.checks import ArgumentError, Mention, is_number
from jaxbn.inputs.missing import LOG
from jaxbn.runtime.memory import check_room

if TYPE_CHECKING:
    import pandas as pd

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
BINARY = {b"%PDF": "a PDF", b"\x89PNG": "a picture"}
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
DECIMAL_COMMA = r"\s*[-+]?\d+(,\d*)?([eE][-+]?\d+)?\s*"
INDEX_NAMES = ("", "Unnamed: 0")
"""Names of the first column in a file with the index of pandas, written once or read and written again."""

MARKS = ("?", " ?")
"""Cells that are missing entries, besides empty ones and the words that pandas knows (NA, nan)."""

CELL_BYTES = 28
"""Memory that a cell takes while it is read: its places in the text, and its number."""

FEW_WORDS = 2
"""Words in a column of numbers are pointed out if there are at most this many different ones."""


@dataclass(frozen=True)
class Format:
    """How a text table is written; None where that is to be seen from the text."""

    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal: str | None = None
    na_values: tuple[str, ...] = ()  # words for a missing entry, besides those that pandas knows


SEEN = Format()
"""How a table is written is seen from the text."""


def read_text(raw: bytes, name: str, form: Format, usual: str = ",") -> pd.DataFrame:
    r"""The table in a text.

    Args:
        raw: the text as bytes.
        name: for messages.
        form: how it is written.
        usual: what is between cells, unless the form or the line of names says otherwise.

    Raises:
        ValueError: it is no text, or no table: empty, repeated names, a row that is longer or shorter than the names.

    Example:
        >>> read_text(b"size;kind\n0,5;a\n1;b\n", "'table.csv'", Format())["size"].tolist()
        [0.5, 1.0]
    """
    codec = _codec(raw, name, form.encoding)
    mark, header, n_rows = _check_rows(raw, name, codec, form.delimiter, usual)
    check_room(len(raw) + CELL_BYTES * n_rows * len(header), f"reading {name}", "pass fewer rows or columns")
    frame = _parse(raw, codec, mark, form.decimal or ".", form.na_values).set_axis(header, axis=1)
    if form.decimal is None and mark != "," and _has_decimal_commas(frame):
        frame = _parse(raw, codec, mark, ",", form.na_values).set_axis(header, axis=1)
    if len(header) > 1 and header[0] in INDEX_NAMES:
        LOG.warning("left out: the first column of %s, which has no name (an index that pandas wrote)", name)
        frame = frame.iloc[:, 1:]
    _point_out_numbers(list(frame.columns), name)
    _point_out_words(frame)
    return frame


def _codec(raw: bytes, name: str, encoding: str) -> str:
    """The codec of a text; other files are refused."""
    codec = encoding.lower().replace("_", "-")
    if raw.startswith(UTF_16) and not codec.startswith("utf-16"):
        raise refused(f"{name} is text in utf-16; ", Mention("utf-16", words="save it as UTF-8 first"))
    kind = next((kind for mark, kind in BINARY.items() if raw.startswith(mark)), None)
    if kind is None and b"\0" in raw[: 1 << 16] and "16" not in codec and "32" not in codec:
        kind = "a binary file"
    if kind:
        raise refused(f"{name} is {kind}, not a text table; save it as CSV first")
    try:
        b"".decode(codec)
    except LookupError:
        raise ArgumentError("encoding", f"{encoding!r} is not known; for example utf-8, latin-1 or cp1252") from None
    return "utf-8-sig" if codec in ("utf-8", "utf8") else codec


def _check_rows(raw: bytes, name: str, codec: str, given: str | None, usual: str) -> tuple[str, list[str], int]:
    """What is between cells, the names of the columns, and the number of rows; each has as many cells as names."""
    n_rows = 0
    with TextIOWrapper(BytesIO(raw), codec, newline="") as text:  # as a whole it would take up to four bytes a letter
        try:
            first = next((line for line in text if line.strip()), None)
            if first is None:
                raise refused(f"{name} is empty; it needs a line of names and at least one row")
            mark = _delimiter(first, given, usual)
            text.seek(0)
            reader = csv.reader(text, delimiter=mark)
            names = [cell.strip() for cell in next(row for row in reader if row)]
            _check_names(names, name)
            for row in filter(None, reader):
                if len(row) != len(names):
                    raise refused(
                        f"{name} line {reader.line_num} has {len(row)} cell{'s' * (len(row) != 1)} but the header has "
                        f"{len(names)}; correct that line",
                        Mention("other delimiter", words=""),
                    )
                n_rows += 1
        except UnicodeDecodeError as error:
            raise refused(
                f"{name} is not valid {error.encoding}: {_first_bad_byte(raw, codec)}; if it comes from a spreadsheet "
                "try ",
                Mention("encoding", words="pandas.read_csv with encoding='cp1252' or encoding='latin-1'"),
            ) from None
        except csv.Error as error:
            raise refused(f"{name} line {reader.line_num}: {error}; is it a text table?") from None
    if not n_rows:
        raise refused(f"{name} has a header but no rows; add at least one row")
    return mark, names, n_rows


def _delimiter(line: str, given: str | None, usual: str) -> str:
    """What is between the cells of a line of names: what was given, the usual mark, or the one that is there."""
    if given is not None:
        mark = given.replace("\\t", "\t")
        if len(mark) != 1 or mark in '\r\n"':
            raise ArgumentError("delimiter", f"must be a single character, got {given!r}; \\t is a tab", value=given)
        return mark
    cells = {mark: len(next(csv.reader([line], delimiter=mark))) for mark in DELIMITERS}
    found = usual if cells[usual] > 1 else max(cells, key=lambda mark: cells[mark])
    if cells[found] == 1:
        return usual
    if found != usual:
        LOG.warning("the cells are separated by %s", DELIMITERS[found])
    return found


def _first_bad_byte(raw: bytes, codec: str) -> str:
    try:
        raw.decode(codec)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return f"byte 0x{raw[error.start]:02x} in line {line}" if error.start < len(raw) else f"cut off in line {line}"
    return "it is cut off"


def _check_names(names: list[str], name: str) -> None:
    for position, label in enumerate(names, 1):
        if not label and (position > 1 or len(names) == 1):  # pandas writes its index without a name
            raise refused(f"{name}: column {position} has no name in the header; name it")
    repeated = next((label for label, count in Counter(names).items() if count > 1), None)
    if repeated is not None:
        places = ", ".join(str(i) for i, label in enumerate(names, 1) if label == repeated)
        raise refused(f"{name} has the column name {repeated!r} more than once (columns {places}); rename them")


def _parse(raw: bytes, codec: str, mark: str, decimal: str, na_values: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    options: dict[str, Any] = {"sep": mark, "decimal": decimal, "na_values": [*MARKS, *na_values], "encoding": codec}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):  # later versions read every digit without being told
        options["float_precision"] = "round_trip"
    # in pieces, a column could be numbers in one and words in the next
    return pd.read_csv(BytesIO(raw), skipinitialspace=True, index_col=False, low_memory=False, **options)


def _words(frame: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    """The columns that are not numbers."""
    return ((name, frame[name]) for name in frame.columns if frame[name].dtype.kind not in "fiub")


def _has_decimal_commas(frame: pd.DataFrame) -> bool:
    """Whether a column of text holds numbers with a decimal comma and nothing else."""
    for _, column in _words(frame):
        cells = column.dropna().astype(str)
        if cells.str.fullmatch(DECIMAL_COMMA).all() and cells.str.contains(",", regex=False).any():
            return True
    return False


def _point_out_numbers(header: list[str], name: str) -> None:
    """Numbers where names should be; a few whole ones may be years, but a fraction is hardly a name."""
    numbers = [label for label in header if is_number(label)]
    if len(numbers) == len(header) or any("." in label for label in numbers):
        shown = ", ".join(header[:4]) + (", …" if len(header) > 4 else "")
        LOG.warning(
            "the first line of %s looks like data (%s), but is read as names; add a line of names before it",
            name,
            shown,
        )


def _point_out_words(frame: pd.DataFrame) -> None:
    """A few words in a column of numbers make all of it discrete; most often they stand for missing entries."""
    import pandas as pd

    for label, column in _words(frame):
        is_word = pd.to_numeric(column, errors="coerce").isna() & column.notna()
        words = [str(word) for word in column[is_word].unique()[: FEW_WORDS + 1]]
        if len(words) <= FEW_WORDS and 0 < is_word.sum() < column.notna().sum() / 2:
            LOG.warning(
                "column %r holds numbers except for %s (%d of %d rows), so it is discrete; %s if that means missing",
                label,
                " and ".join(map(repr, words)),
                is_word.sum(),
                len(column),
                Mention("na_values", ",".join(words), words="replace it by NaN"),
            )


def refused(*message: str | Mention) -> ArgumentError:
    """The error about a file that cannot be read; the message names it."""
    return ArgumentError("data", *message, subject="")
