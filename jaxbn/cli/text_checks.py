"""A text table checked before it is read; what is wrong with it is said in words, with the line."""

from __future__ import annotations

import csv
import itertools
from collections import Counter
from collections.abc import Iterable
from io import BytesIO, TextIOWrapper

from jaxbn.cli.errors import CommandError, UsageError

NEW_LINE = b"\n"
PIECE = 1 << 20  # letters decoded at once
DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
_SPELLED = {"\t": "'\\t'", ";": "';'", "|": "'|'", ",": "','"}
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_KNOWN_BINARY = {
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture",
}


def check_encoding(raw: bytes, name: str, encoding: str) -> str:
    """The codec of a text; refuses binary files and other encodings, with the line of the first bad byte.

    Example:
        >>> check_encoding(b"a,b", "'table.csv'", "utf-8")
        'utf-8-sig'
    """
    for mark, other in _MARKS.items():
        if raw.startswith(mark) and not encoding.lower().replace("_", "-").startswith("utf-16"):
            raise CommandError(f"{name} is text in {other}; pass --encoding {other}")
    for mark, kind in _KNOWN_BINARY.items():
        if raw.startswith(mark):
            raise CommandError(f"{name} is {kind}, not a text table; save it as CSV first")
    if b"\0" in raw[: 1 << 16] and "16" not in encoding and "32" not in encoding:
        raise CommandError(f"{name} is a binary file, not a text table; save it as CSV first")
    codec = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    try:
        lines = _lines(raw, codec)
    except LookupError:
        raise UsageError(f"--encoding {encoding!r} is not known; for example utf-8, latin-1 or cp1252") from None
    try:
        while lines.read(PIECE):
            pass
    except UnicodeDecodeError:
        start = _first_bad_byte(raw, codec)
        raise CommandError(
            f"{name} is not valid {encoding}: byte 0x{raw[start]:02x} in line {raw.count(NEW_LINE, 0, start) + 1}; "
            "if it comes from a spreadsheet try --encoding cp1252 or --encoding latin-1"
        ) from None
    return codec


def _lines(raw: bytes, codec: str) -> TextIOWrapper:
    """The text as a file, decoded piece by piece: as a whole it would take up to four bytes a letter."""
    return TextIOWrapper(BytesIO(raw), codec, newline="")


def _first_bad_byte(raw: bytes, codec: str) -> int:
    try:
        raw.decode(codec)
    except UnicodeDecodeError as error:
        return error.start
    return 0


def check_text(raw: bytes, name: str, delimiter: str, encoding: str) -> list[str]:
    """The column names of a delimited text; every row must have as many cells as the header.

    Raises:
        CommandError: empty, a header only, another delimiter, a repeated or empty name, a row of another length.
    """
    if not any(line.strip() for line in _lines(raw, encoding)):
        raise CommandError(f"{name} is empty; it needs a header line and at least one row")
    reader = csv.reader(_lines(raw, encoding), delimiter=delimiter)
    try:
        header = next(row for row in reader if row)
        names = [cell.strip() for cell in header]
        _check_delimiter(_lines(raw, encoding), name, names, delimiter)
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


def _check_delimiter(lines: Iterable[str], name: str, names: list[str], delimiter: str) -> None:
    if len(names) > 1:
        return
    line = next(line for line in lines if line.strip())
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
