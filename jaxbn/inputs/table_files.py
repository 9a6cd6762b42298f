"""Tables in files: Parquet column by column, from a file or a folder of them; text, compressed or not.

Only one column of a Parquet table is in memory twice, as it is read and as it is kept, however large the table is. Text
is checked line by line, then read by pandas. A damaged file ends in one ValueError that names it, and the line where
there is one, whatever the library that reads it raises.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

from jaxbn.inputs.checks import ArgumentError, CheckError, Mention, few, is_number
from jaxbn.inputs.columns import FEW_WORDS, written_numbers
from jaxbn.inputs.later import pa, pd
from jaxbn.inputs.missing import LOG
from jaxbn.runtime.memory import available, check_room

PARQUET = (".parquet", ".pq")
TABS = (".tsv", ".tab")
COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
TEXT_BYTES = 4  # most memory that a byte of a text table takes while it is read
ENTRY_BYTES = {"fixed": 8, "text": 24}  # memory of an entry: a number, or a text of a few letters with its place
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
BINARY = {b"%PDF": "a PDF", b"\x89PNG": "a picture"}
CODE = re.compile(rb"""(?:^|[,;|"'\s])0\d+(?:$|[,;|"'\s])""")  # a whole number with zeros in front, as postcodes have
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
INDEX_NAMES = ("", "Unnamed: 0")  # of the first column in a file with the index of pandas, written once or more
MARKS = ("?", " ?")  # cells that are missing entries, besides empty ones and the words that pandas knows (NA, nan)
CELL_BYTES = 28  # memory that a cell takes while it is read: its places in the text, and its number
REMEDY = "pass fewer rows or columns"

_OPEN: dict[bytes, Callable[..., IO[bytes]]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}  # type: ignore[dict-item]
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")


@dataclass(frozen=True)
class Format:
    """How a text table is written; None where that is to be detected."""

    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal: str | None = None
    na_values: tuple[str, ...] = ()  # words for a missing entry, besides those that pandas knows


DETECTED = Format()


def read_file(path: str | PathLike[str], form: Format = DETECTED) -> pd.DataFrame:
    """The table in a file, or in all Parquet files of a folder, where names such as ``year=2024`` become columns.

    A text file has a line of names, and may be compressed; empty cells and a single ``?`` are missing entries. What
    would not fit in the memory that is free raises a MemoryError.
    """
    file = Path(fspath(path))
    if not file.exists():
        raise FileNotFoundError(f"there is no file {str(file)!r} to read a table from")
    if is_parquet(file):
        return _from_parquet(file)
    check_room(TEXT_BYTES * file.stat().st_size, f"reading {str(file)!r}", REMEDY)
    inner = Path(file.stem) if file.suffix.lower() in COMPRESSED else file
    return read_bytes(file.read_bytes(), repr(str(file)), form, "\t" if inner.suffix.lower() in TABS else ",")


def read_bytes(raw: bytes, name: str, form: Format, usual: str = ",") -> pd.DataFrame:
    """The table in a text that may be compressed; `usual` is its delimiter unless another one is given or detected."""
    available()  # a wrong setting is no fault of the text
    with _damaged(name, "cannot be expanded", "is it complete?"):
        raw = _expanded(raw, name)
    with _damaged(name, "cannot be read as a table", "is it a text table?"):
        return _read_text(raw, name, form, usual)


@contextmanager
def _damaged(name: str, what: str, remedy: str) -> Iterator[None]:
    """Turn whatever the reader of a format raises into an error that names the file.

    These readers do not say what they raise for damaged files: EOFError, zlib.error, RuntimeError, KeyError and others
    have been seen.
    """
    try:
        yield
    except (CheckError, MemoryError, ImportError):
        raise
    except Exception as error:
        raise _refused(f"{name} {what} ({' '.join(str(error).split()) or type(error).__name__}); {remedy}") from None


def _expanded(raw: bytes, name: str) -> bytes:
    """The content of a compressed file, known by its first bytes; any other as it is."""
    for mark, opened in _OPEN.items():
        if raw.startswith(mark):
            with opened(BytesIO(raw)) as file:
                return _limited(file, name)
    return _from_zip(raw, name) if raw.startswith(_ZIP) else raw


def _from_zip(raw: bytes, name: str) -> bytes:
    with ZipFile(BytesIO(raw)) as archive:
        files = [entry for entry in archive.infolist() if not entry.is_dir()]
        if any(entry.filename == "[Content_Types].xml" for entry in files):
            raise _refused(f"{name} is a spreadsheet, not a text table; save it as CSV first")
        if len(files) != 1:
            raise _refused(f"{name} holds {len(files)} files; a zip archive must hold one table")
        if files[0].flag_bits & 1:
            raise _refused(f"{name} is encrypted; expand it first")
        with archive.open(files[0]) as file:
            return _limited(file, name)


def _limited(file: IO[bytes], name: str) -> bytes:
    """What a compressed file holds, if there is room to read it as a table."""
    free = available()
    most = None if free is None else free // TEXT_BYTES
    content = file.read(-1 if most is None else most + 1)
    if most is not None and len(content) > most:
        raise _refused(f"{name} is too large for the memory once it is expanded; {REMEDY}")
    return content


def _refused(*message: str | Mention) -> ArgumentError:
    """The error about a file that cannot be read; the message names it."""
    return ArgumentError("data", *message, subject="")


def _read_text(raw: bytes, name: str, form: Format, usual: str = ",") -> pd.DataFrame:
    codec = _codec(raw, name, form.encoding)
    mark, header, n_rows = _check_rows(raw, name, codec, form.delimiter, usual)
    check_room(len(raw) + CELL_BYTES * n_rows * len(header), f"reading {name}", REMEDY)
    decimal = form.decimal or "."
    frame = _parse(raw, codec, mark, decimal, form.na_values).set_axis(header, axis=1)
    if form.decimal is None and mark != "," and _has_decimal_commas(frame):
        decimal = ","
        frame = _parse(raw, codec, mark, decimal, form.na_values).set_axis(header, axis=1)
    if len(header) > 1 and header[0] in INDEX_NAMES:
        LOG.warning("left out: the first column of %s, which has no name (an index that pandas wrote)", name)
        frame = frame.iloc[:, 1:]
    _point_out_numbers(list(frame.columns), name)
    return _with_codes(_with_written_numbers(frame, decimal), raw, codec, mark, form)


def _codec(raw: bytes, name: str, encoding: str) -> str:
    """The codec of a text; other files are refused."""
    codec = encoding.lower().replace("_", "-")
    if raw.startswith(UTF_16) and not codec.startswith("utf-16"):
        raise _refused(f"{name} is text in utf-16; ", Mention("utf-16", words="save it as UTF-8 first"))
    kind = next((kind for mark, kind in BINARY.items() if raw.startswith(mark)), None)
    if kind is None and b"\0" in raw[: 1 << 16] and "16" not in codec and "32" not in codec:
        kind = "a binary file"
    if kind:
        raise _refused(f"{name} is {kind}, not a text table; save it as CSV first")
    try:
        b"".decode(codec)
    except LookupError:
        raise ArgumentError("encoding", f"{encoding!r} is not known; for example utf-8, latin-1 or cp1252") from None
    return "utf-8-sig" if codec in ("utf-8", "utf8") else codec


def _check_rows(raw: bytes, name: str, codec: str, given: str | None, usual: str) -> tuple[str, list[str], int]:
    """The delimiter, the names of the columns and the number of rows, each checked to have as many cells as names."""
    n_rows = 0
    with TextIOWrapper(BytesIO(raw), codec, newline="") as text:  # as a whole it would take up to four bytes a letter
        try:
            first = next((line for line in text if line.strip()), None)
            if first is None:
                raise _refused(f"{name} is empty; it needs a line of names and at least one row")
            mark = _delimiter(first, given, usual)
            text.seek(0)
            reader = csv.reader(text, delimiter=mark)
            names = [cell.strip() for cell in next(row for row in reader if row)]
            _check_names(names, name)
            for row in filter(None, reader):
                if len(row) != len(names):
                    raise _refused(
                        f"{name} line {reader.line_num} has {len(row)} cell{'s' * (len(row) != 1)} but the header has "
                        f"{len(names)}; correct that line",
                        Mention("other delimiter", words=""),
                    )
                n_rows += 1
        except UnicodeDecodeError as error:
            raise _refused(
                f"{name} is not valid {error.encoding}: {_first_bad_byte(raw, codec)}; if it comes from a spreadsheet "
                "try ",
                Mention("encoding", words="pandas.read_csv with encoding='cp1252' or encoding='latin-1'"),
            ) from None
        except csv.Error as error:
            raise _refused(f"{name} line {reader.line_num}: {error}; is it a text table?") from None
    if not n_rows:
        raise _refused(f"{name} has a header but no rows; add at least one row")
    return mark, names, n_rows


def _delimiter(line: str, given: str | None, usual: str) -> str:
    """The delimiter of a header: what was given, else the usual one if it is there, else the most frequent."""
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
            raise _refused(f"{name}: column {position} has no name in the header; name it")
    repeated = next((label for label, count in Counter(names).items() if count > 1), None)
    if repeated is not None:
        places = ", ".join(str(i) for i, label in enumerate(names, 1) if label == repeated)
        raise _refused(f"{name} has the column name {repeated!r} more than once (columns {places}); rename them")


def _parse(raw: bytes, codec: str, mark: str, decimal: str, na_values: tuple[str, ...], **more: Any) -> pd.DataFrame:
    options = {"sep": mark, "decimal": decimal, "na_values": [*MARKS, *na_values], "encoding": codec, **more}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):  # later versions read every digit without being told
        options["float_precision"] = "round_trip"
    # in pieces, a column could be numbers in one and words in the next
    return pd.read_csv(BytesIO(raw), skipinitialspace=True, index_col=False, low_memory=False, **options)


def _with_codes(frame: pd.DataFrame, raw: bytes, codec: str, mark: str, form: Format) -> pd.DataFrame:
    """The frame with whole numbers of one length that have leading zeros kept as text: postcodes and the like."""
    whole = [i for i, name in enumerate(frame.columns) if frame[name].dtype.kind in "if"]
    if not whole or not CODE.search(raw):
        return frame
    texts = _parse(raw, codec, mark, ".", form.na_values, dtype=str).iloc[:, -len(frame.columns) :]
    found = {}
    for i in whole:
        known = texts.iloc[:, i].dropna()
        if known.str.fullmatch(r"\d{2,}").all() and known.str.startswith("0").any() and known.str.len().nunique() == 1:
            found[str(frame.columns[i])] = texts.iloc[:, i].to_numpy()
    if found:
        LOG.warning("kept as text, for its zeros in front: %s", ", ".join(map(repr, found)))
    return frame.assign(**found)


def _text_columns(frame: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    """The columns that pandas did not read as numbers."""
    return ((name, frame[name]) for name in frame.columns if frame[name].dtype.kind not in "fiub")


def _has_decimal_commas(frame: pd.DataFrame) -> bool:
    """Whether a column of text holds numbers with a decimal comma and nothing else."""
    return any(
        written_numbers(known, ",").notna().all() and known.astype(str).str.contains(",", regex=False).any()
        for known in (column.dropna() for _, column in _text_columns(frame))
    )


def _point_out_numbers(header: list[str], name: str) -> None:
    """Warn of a header that looks like data; a few whole numbers may be years, but a fraction is hardly a name."""
    numbers = [label for label in header if is_number(label)]
    if len(numbers) == len(header) or any("." in label for label in numbers):
        said = "the first line of %s looks like data (%s), but is read as names; add a line of names before it"
        LOG.warning(said, name, few(header, 4, "…"))


def _with_written_numbers(frame: pd.DataFrame, decimal: str) -> pd.DataFrame:
    """The frame with numbers for texts such as 1,660 or 23%; a few words among them are pointed out.

    These make all of a column discrete; most often they stand for missing entries.
    """
    read: dict[str, pd.Series] = {}
    such: dict[str, str] = {}
    for label, column in _text_columns(frame):
        numbers = written_numbers(column, decimal)
        is_word = numbers.isna() & column.notna()
        words = [str(word) for word in column[is_word].unique()[: FEW_WORDS + 1]]
        marked = None if words else next((text for text in column.dropna() if not is_number(text)), None)
        if marked is not None:
            read[label], such[label] = numbers, f"{label!r} (such as {marked!r})"
        elif len(words) <= FEW_WORDS and 0 < is_word.sum() < column.notna().sum() / 2:
            said = "column %r holds numbers except for %s (%d of %d rows), so it is discrete; %s if that means missing"
            remedy = Mention("na_values", ",".join(words), words="replace it by NaN")
            LOG.warning(said, label, " and ".join(map(repr, words)), is_word.sum(), len(column), remedy)
    if read:
        more = f" and {len(read) - 3} more" if len(read) > 3 else ""
        LOG.warning("read as numbers: %s%s", ", ".join(list(such.values())[:3]), more)
    return frame.assign(**read)


def is_parquet(file: Path) -> bool:
    """Whether a path is that of a Parquet file, by its ending or its first bytes, or of a folder."""
    if file.is_dir() or file.suffix.lower() in PARQUET:
        return True
    with file.open("rb") as opened:
        return opened.read(4) == b"PAR1"


def parquet_dataset(file: Path) -> Any:
    """A Parquet file, or all of a folder, as a dataset of PyArrow."""
    import pyarrow.dataset

    return pyarrow.dataset.dataset(file, format="parquet", partitioning="hive")


def _from_parquet(file: Path) -> pd.DataFrame:
    """A column at a time, each from all files and row groups."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            "Parquet files need pyarrow: pip install 'jaxbn[parquet]', or save the table as CSV"
        ) from None
    kind = "folder of Parquet files" if file.is_dir() else "Parquet file"
    with _damaged(repr(str(file)), f"is not a valid {kind}", "is it complete?"):
        data = parquet_dataset(file)
        _check_parquet(file, data)
        columns = {}
        index = (data.schema.pandas_metadata or {}).get("index_columns", [])  # what pandas keeps beside the columns
        for name in (name for name in data.schema.names if name not in index):
            columns[name] = data.to_table(columns=[name]).to_pandas()[name]
            pyarrow.default_memory_pool().release_unused()  # what was read is kept for the next column otherwise
    return pd.DataFrame(columns, copy=False)


def _check_parquet(file: Path, data: Any) -> None:
    """Refuse a folder without tables, columns of one name, and what would not fit."""
    if file.is_dir() and not data.files:
        raise _refused(f"{str(file)!r} is a folder without Parquet files; name a file in it")
    repeated = sorted({name for name in data.schema.names if data.schema.names.count(name) > 1})
    if repeated:
        raise _refused(f"{str(file)!r} has more than one column {repeated[0]!r}; rename one")
    n_rows, n_columns = data.count_rows(), len(data.schema)
    check_room(_room(data), f"reading the {n_rows:,} rows and {n_columns} columns of {str(file)!r}", REMEDY)


def _room(data: Any) -> int:
    """Memory that a dataset takes while it is read, in bytes."""
    kinds = [field.type for field in data.schema]
    fixed = [pa.types.is_primitive(kind) or pa.types.is_dictionary(kind) for kind in kinds]  # the latter are numbers
    each = [ENTRY_BYTES["fixed" if known else "text"] for known in fixed]
    return int(data.count_rows() * (sum(each) + 2 * max(each, default=0)))


def memory_of(file: Path) -> int:
    """Memory that the table of a file takes, in bytes; 0 for what cannot be read."""
    if not file.exists() or not is_parquet(file):
        return TEXT_BYTES * file.stat().st_size if file.is_file() else 0
    try:
        return _room(parquet_dataset(file))
    except (ImportError, OSError, ValueError):  # reading it will say what is wrong
        return 0
