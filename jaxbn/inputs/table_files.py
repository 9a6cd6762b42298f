"""Tables in files, read in pieces: Parquet column by column, from a file or a folder of them; CSV and TSV by pandas.

Only one column of a Parquet table is in memory twice, as it is read and as it is kept, however large the table is.
"""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxbn.inputs.checks import ArgumentError
from jaxbn.runtime.memory import check_room

if TYPE_CHECKING:
    import pandas as pd

PARQUET = (".parquet", ".pq")
TABS = (".tsv", ".tab")
TEXT_BYTES = 4
"""Memory that each byte of a text table takes at most while it is read: as text, as a piece and as columns."""

ENTRY_BYTES = {"fixed": 8, "text": 24}
"""Memory of an entry: a number, or a text of a few letters with its place."""

MARKS = ("?", " ?")
"""Cells of a text table that are missing entries, besides empty ones and the words that pandas knows (NA, nan)."""

REMEDY = "pass fewer rows or columns"


def read_file(path: str | PathLike[str]) -> pd.DataFrame:
    r"""The table in a file, or in all Parquet files of a folder.

    Args:
        path: a ``.parquet`` or ``.pq`` file, a folder of them (names such as ``year=2024`` become columns), or a
            ``.csv``, ``.tsv`` or other text file with a line of names, compressed or not; empty cells and a single
            ``?`` are missing entries.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not a table.
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
    return _from_parquet(file) if is_parquet(file) else _from_text(file)


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
    try:
        data = pyarrow.dataset.dataset(file, format="parquet", partitioning="hive")
        _check_parquet(file, data)
        names = _columns(data.schema)
        columns = {}
        for name in names:
            columns[name] = data.to_table(columns=[name]).to_pandas()[name]
            pyarrow.default_memory_pool().release_unused()  # what was read is kept for the next column otherwise
    except pyarrow.ArrowException as error:
        kind = "folder of Parquet files" if file.is_dir() else "Parquet file"
        raise ArgumentError("data", f"{str(file)!r} is not a valid {kind} ({error})", subject="") from None
    return pd.DataFrame(columns, copy=False)


def _check_parquet(file: Path, data: Any) -> None:
    """Refuse a folder without tables, columns of one name, and what would not fit."""
    if file.is_dir() and not data.files:
        raise ArgumentError("data", f"{str(file)!r} is a folder without Parquet files; name a file in it", subject="")
    repeated = sorted({name for name in data.schema.names if data.schema.names.count(name) > 1})
    if repeated:
        raise ArgumentError("data", f"{str(file)!r} has more than one column {repeated[0]!r}; rename one", subject="")
    n_rows = data.count_rows()
    each = [ENTRY_BYTES["fixed" if _is_fixed(field.type) else "text"] for field in data.schema]
    needed = n_rows * (sum(each) + 2 * max(each, default=0))
    check_room(needed, f"reading the {n_rows:,} rows and {len(each)} columns of {str(file)!r}", REMEDY)


def _is_fixed(kind: Any) -> bool:
    """Whether an entry of a type of Arrow has a fixed size; those of a dictionary are numbers."""
    from pyarrow import types

    return bool(types.is_primitive(kind) or types.is_dictionary(kind))


def _columns(schema: Any) -> list[str]:
    """The columns of a table without the index that pandas keeps beside them."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


def _from_text(file: Path) -> pd.DataFrame:
    import pandas as pd

    check_room(TEXT_BYTES * file.stat().st_size, f"reading {str(file)!r}", REMEDY)
    inner = Path(file.stem) if file.suffix.lower() in (".gz", ".bz2", ".xz", ".zip") else file
    try:
        return pd.read_csv(file, sep="\t" if inner.suffix.lower() in TABS else ",", na_values=MARKS)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ArgumentError(
            "data", f"{str(file)!r} cannot be read as a table ({error}); read it with pandas.read_csv first", subject=""
        ) from None
