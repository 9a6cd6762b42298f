"""A text table checked before it is read; what is wrong with it is said in words, with the line."""

from __future__ import annotations

import csv
import itertools
from collections import Counter
from io import StringIO

from jaxbn.cli.errors import CommandError, UsageError

DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
_SPELLED = {"\t": "'\\t'", ";": "';'", "|": "'|'", ",": "','"}
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_KNOWN_BINARY = {
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture",
}


def decode(raw: bytes, name: str, encoding: str) -> str:
    """The text of a file; refuses binary files and other encodings, with the line of the first bad byte."""
    for mark, other in _MARKS.items():
        if raw.startswith(mark) and not encoding.lower().replace("_", "-").startswith("utf-16"):
            raise CommandError(f"{name} is text in {other}; pass --encoding {other}")
    for mark, kind in _KNOWN_BINARY.items():
        if raw.startswith(mark):
            raise CommandError(f"{name} is {kind}, not a text table; save it as CSV first")
    if b"\0" in raw[: 1 << 16] and "16" not in encoding and "32" not in encoding:
        raise CommandError(f"{name} is a binary file, not a text table; save it as CSV first")
    try:
        return raw.decode("utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding)
    except LookupError:
        raise UsageError(f"--encoding {encoding!r} is not known; for example utf-8, latin-1 or cp1252") from None
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise CommandError(
            f"{name} is not valid {encoding}: byte 0x{raw[error.start]:02x} in line {line}; "
            "if it comes from a spreadsheet try --encoding cp1252 or --encoding latin-1"
        ) from None


def check_text(text: str, name: str, delimiter: str) -> list[str]:
    """The column names of a delimited text; every row must have as many cells as the header.

    Raises:
        CommandError: empty, a header only, another delimiter, a repeated or empty name, a row of another length.
    """
    if not text.strip():
        raise CommandError(f"{name} is empty; it needs a header line and at least one row")
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter)
    try:
        header = next(row for row in reader if row)
        names = [cell.strip() for cell in header]
        _check_delimiter(text, name, names, delimiter)
        _check_names(names, name)
        first = next((row for row in reader if row), None)
        if first is None:
            raise CommandError(f"{name} has a header but no rows; add at least one row")
        for row in itertools.chain([first], reader):
            if row and len(row) != len(names):
                raise CommandError(
                    f"{name} line {reader.line_num} has {len(row)} cell{'s' * (len(row) != 1)} but the header has "
                    f"{len(names)}; mend that line, or choose another --delimiter"
                )
    except csv.Error as error:
        raise CommandError(f"{name} line {reader.line_num}: {error}; is it a text table?") from None
    return names


def _check_delimiter(text: str, name: str, names: list[str], delimiter: str) -> None:
    if len(names) > 1:
        return
    line = next(line for line in text.splitlines() if line.strip())
    counts = Counter({mark: line.count(mark) for mark in DELIMITERS if mark != delimiter})
    mark, count = counts.most_common(1)[0]
    if count:
        raise CommandError(
            f"{name} seems to be separated by {DELIMITERS[mark]}, not by {DELIMITERS.get(delimiter, repr(delimiter))}: "
            f"pass --delimiter {_SPELLED[mark]}" + (" (and --decimal ',' if numbers have one)" if mark == ";" else "")
        )


def _check_names(names: list[str], name: str) -> None:
    for position, label in enumerate(names, 1):
        if not label and (position > 1 or len(names) == 1):  # pandas writes its index without a name
            raise CommandError(f"{name}: column {position} has no name in the header; name it")
    repeated = [label for label, count in Counter(names).items() if count > 1]
    if repeated:
        places = ", ".join(str(i + 1) for i, label in enumerate(names) if label == repeated[0])
        raise CommandError(f"{name} has the column name {repeated[0]!r} more than once (columns {places}); rename them")
