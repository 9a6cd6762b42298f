"""Tables in files: Parquet column by column, from a file or a folder of them; text, compressed or not.

Only one column of a Parquet table is in memory twice, as it is read and as it is kept, however large the table is. A
damaged file ends in one ValueError that names it, whatever the library that reads it raises.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from os import PathLike, fspath
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from zipfile import ZipFile

from jaxbn.inputs.checks import CheckError
from jaxbn.inputs.text_tables import SEEN, Format, read_text, refused
from jaxbn.runtime.memory import available, check_room

if TYPE_CHECKING:
    import pandas as pd

PARQUET = (".parquet", ".pq")
TABS = (".tsv", ".tab")
COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
TEXT_BYTES = 4
"""Memory that each byte of a text table takes at most while it is read: as text, as a piece and as columns."""

ENTRY_BYTES = {"fixed": 8, "text": 24}
"""Memory of an entry: a number, or a text of a few letters with its place."""

REMEDY = "pass fewer rows or columns"

_OPEN: dict[bytes, Callable[..., IO[bytes]]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}  # type: ignore[dict-item]
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")


def read_file(path: str | PathLike[str], form: Format = SEEN) -> pd.DataFrame:
    r"""The table in a file, or in all Parquet files of a folder.

    Args:
        path: a ``.parquet`` or ``.pq`` file, a folder of them (names such as ``year=2024`` become columns), or a
            ``.csv``, ``.tsv`` or other text file with a line of names, compressed or not; empty cells and a single
            ``?`` are missing entries.
        form: how a text file is written.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not a table, or damaged.
        MemoryError: it would not fit in the memory that is free.
        ImportError: Parquet without pyarrow.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "table.csv"
        ...     _ = path.write_text("size,kind\n0.5,a\n1.5,b\n")
        ...     read_file(path)["size"].tolist()
        [0.5, 1.5]
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
    """The table in a text that may be compressed; see ``text_tables.read_text``."""
    with _damaged(name, "cannot be expanded", "is it complete?"):
        raw = _expanded(raw, name)
    with _damaged(name, "cannot be read as a table", "is it a text table?"):
        return read_text(raw, name, form, usual)


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
        raise refused(f"{name} {what} ({' '.join(str(error).split()) or type(error).__name__}); {remedy}") from None


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
            raise refused(f"{name} is a spreadsheet, not a text table; save it as CSV first")
        if len(files) != 1:
            raise refused(f"{name} holds {len(files)} files; a zip archive must hold one table")
        if files[0].flag_bits & 1:
            raise refused(f"{name} is encrypted; expand it first")
        with archive.open(files[0]) as file:
            return _limited(file, name)


def _limited(file: IO[bytes], name: str) -> bytes:
    """What a compressed file holds, if there is room to read it as a table."""
    free = available()
    most = None if free is None else free // TEXT_BYTES
    content = file.read(-1 if most is None else most + 1)
    if most is not None and len(content) > most:
        raise refused(f"{name} is too large for the memory once it is expanded; {REMEDY}")
    return content


def is_parquet(file: Path) -> bool:
    """Whether a path is that of a Parquet file, by its ending or its first bytes, or of a folder."""
    if file.is_dir() or file.suffix.lower() in PARQUET:
        return True
    with file.open("rb") as opened:
        return opened.read(4) == b"PAR1"


def _from_parquet(file: Path) -> pd.DataFrame:
    """A column at a time, each from all files and row groups."""
    import pandas as pd

    try:
        import pyarrow
        import pyarrow.dataset
    except ImportError:
        raise ImportError(
            "Parquet files need pyarrow: pip install 'jaxbn[parquet]', or save the table as CSV"
        ) from None
    kind = "folder of Parquet files" if file.is_dir() else "Parquet file"
    with _damaged(repr(str(file)), f"is not a valid {kind}", "is it complete?"):
        data = pyarrow.dataset.dataset(file, format="parquet", partitioning="hive")
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
        raise refused(f"{str(file)!r} is a folder without Parquet files; name a file in it")
    repeated = sorted({name for name in data.schema.names if data.schema.names.count(name) > 1})
    if repeated:
        raise refused(f"{str(file)!r} has more than one column {repeated[0]!r}; rename one")
    n_rows, n_columns = data.count_rows(), len(data.schema)
    check_room(_room(data), f"reading the {n_rows:,} rows and {n_columns} columns of {str(file)!r}", REMEDY)


def _room(data: Any) -> int:
    """Memory that a dataset takes while it is read, in bytes."""
    from pyarrow.types import is_dictionary, is_primitive  # entries of a dictionary are numbers

    fixed = [is_primitive(field.type) or is_dictionary(field.type) for field in data.schema]
    each = [ENTRY_BYTES["fixed" if known else "text"] for known in fixed]
    return int(data.count_rows() * (sum(each) + 2 * max(each, default=0)))


def memory_of(file: Path) -> int:
    """Memory that the table of a file takes, in bytes; 0 for what cannot be read."""
    if not file.exists() or not is_parquet(file):
        return TEXT_BYTES * file.stat().st_size if file.is_file() else 0
    try:
        import pyarrow.dataset

        return _room(pyarrow.dataset.dataset(file, format="parquet", partitioning="hive"))
    except (ImportError, OSError, ValueError):  # reading it will say what is wrong
        return 0
