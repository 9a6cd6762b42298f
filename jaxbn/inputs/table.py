"""Tables: continuous columns as floats, discrete columns as codes with their levels."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.checks import ArgumentError, ArgumentTypeError, Mention, known_name, one_of
from jaxbn.inputs.columns import DROP, Level, as_floats, as_levels, encode, infer_kind

if TYPE_CHECKING:
    import pandas as pd

LOG = logging.getLogger("jaxbn")

__all__ = ["DataLike", "Table", "as_frame", "as_table", "encode"]


class _HasToPandas(Protocol):
    """A table of another library."""

    def to_pandas(self) -> pd.DataFrame:
        """The same table as a DataFrame."""


DataLike: TypeAlias = "pd.DataFrame | Mapping[str, Any] | NDArray[Any] | _HasToPandas | Table"
"""What users hand in as data: a DataFrame or something that has ``to_pandas``, a dict of columns, or a ``Table``."""


DROP_COLUMNS = Mention("drop columns", words="drop these columns")
MIN_ROWS_FOR_ID_CHECK = 20  # with more rows than this, a discrete column without a repeated value is an identifier


@dataclass(frozen=True, eq=False)
class Table:
    """A complete table: no missing entries, every column either continuous or discrete.

    Attributes:
        names: column names in order.
        values: continuous columns, float64 [n_rows].
        codes: discrete columns, int32 [n_rows], from 0 to ``len(levels) - 1``.
        levels: discrete columns' levels as plain Python scalars; a code is a position in it.
        n_rows: number of rows.
        inferred: why each column was taken as continuous or discrete.

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

    @property
    def continuous(self) -> tuple[str, ...]:
        """Names of the continuous columns, in column order."""
        return tuple(name for name in self.names if name in self.values)

    @property
    def discrete(self) -> tuple[str, ...]:
        """Names of the discrete columns, in column order."""
        return tuple(name for name in self.names if name in self.codes)

    def take(self, rows: NDArray[Any]) -> Table:
        """The table of the given rows (positions or a mask); levels stay as they are."""
        values = {name: column[rows] for name, column in self.values.items()}
        codes = {name: column[rows] for name, column in self.codes.items()}
        n_rows = len(np.arange(self.n_rows)[rows])
        return Table(self.names, values, codes, self.levels, n_rows, self.inferred)

    def describe(self) -> str:
        """A line for each column: what it was taken as, what it holds, and why.

        Example:
            >>> print(as_table({"size": [1.5, 2.5], "kind": ["b", "a"]}).describe())
            2 rows, 2 columns: 1 continuous, 1 discrete
              size  continuous  1.5 to 2.5, 2 distinct   float column
              kind  discrete    2 levels: 'a', 'b'       string column
        """
        rows = [
            (n, "continuous" if n in self.values else "discrete", self.content(n), self.inferred[n]) for n in self.names
        ]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = ["  ".join([f"  {r[0]:<{widths[0]}}", f"{r[1]:<10}", f"{r[2]:<{widths[2]}} ", r[3]]) for r in rows]
        kinds = f"{len(self.values)} continuous, {len(self.codes)} discrete"
        return "\n".join([f"{self.n_rows} rows, {len(self.names)} columns: {kinds}", *lines])

    def __repr__(self) -> str:
        return f"<Table {self.describe()}>"

    def content(self, name: str) -> str:
        """What a column holds, in a few words."""
        if name in self.values:
            column = self.values[name]
            return f"{column.min():g} to {column.max():g}, {len(np.unique(column))} distinct"
        levels = self.levels[name]
        shown = ", ".join(repr(v) for v in levels[:6]) + (", ..." if len(levels) > 6 else "")
        return f"{len(levels)} level{'s' * (len(levels) != 1)}: {shown}"


def as_table(
    data: DataLike,
    *,
    continuous: Iterable[str] | None = None,
    missing: Literal["error", "drop"] = "error",
    names: Sequence[str] | None = None,
) -> Table:
    """Check a data set and split it into continuous values and discrete codes.

    Args:
        data: a DataFrame, a dict of columns, a 2-D array [rows, columns] with ``names``, or a Table (returned as is).
        continuous: exactly these columns are continuous, all others discrete. None: float columns are continuous,
            bool, object, string and category columns discrete, integer columns discrete up to 20 distinct values.
        missing: ``"error"`` refuses missing entries, ``"drop"`` drops the rows that have one and logs how many.
        names: column names of a 2-D array.

    Returns:
        The table. Column labels that are not strings become strings.

    Raises:
        ValueError: missing or infinite entries, duplicate or unknown names, no rows, a column that identifies rows.
        TypeError: dates, complex numbers, columns that mix types.

    Example:
        >>> as_table({"age": [31, 45, 31], "score": [0.5, 1.5, 2.0]}, continuous=["age", "score"]).continuous
        ('age', 'score')
    """
    if isinstance(data, Table):
        if continuous is not None and set(data.continuous) != set(_name_list(continuous)):
            raise ArgumentError(
                "continuous", "differs from the kinds that this Table has; pass the original data to choose others"
            )
        return data
    frame = as_frame(data, names=names)
    if frame.shape[0] == 0:
        raise _wrong(f"has no rows (columns: {', '.join(map(repr, frame.columns))}); pass at least one row")
    kinds = _kinds(frame, continuous)
    frame = _complete_rows(frame, missing)
    values, codes, levels = {}, {}, {}
    for name, (kind, _) in kinds.items():
        if kind == "continuous":
            values[name] = as_floats(name, frame[name])
        else:
            levels[name], codes[name] = as_levels(name, frame[name])
            _refuse_identifier(name, codes[name])
    inferred = {name: reason for name, (_, reason) in kinds.items()}
    return Table(tuple(kinds), values, codes, levels, len(frame), inferred)


def as_frame(data: DataLike, *, names: Sequence[str] | None = None) -> pd.DataFrame:
    """The data as a DataFrame with unique string column names and a fresh row index; nothing is copied needlessly."""
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        frame = data
    elif isinstance(data, Mapping):
        frame = _frame_of_columns(data)
    elif isinstance(data, str | PathLike):
        raise ArgumentTypeError("data", f"is {str(data)!r}; read the file first, for example with pandas.read_csv")
    elif isinstance(data, pd.Series):
        raise ArgumentTypeError("data", "is a single column; pass a DataFrame, for example column.to_frame()")
    elif hasattr(data, "to_pandas"):
        frame = data.to_pandas()
    else:
        frame = _frame_of_array(np.asarray(data), names)
    if frame.shape[1] == 0:
        raise _wrong("has no columns; pass a DataFrame or dict with at least one column")
    labels = [str(label) for label in frame.columns]
    repeated = sorted({label for label in labels if labels.count(label) > 1})
    if repeated:
        raise _wrong(f"has duplicate column name(s) {', '.join(map(repr, repeated))}; give every column its own name")
    return frame.set_axis(labels, axis=1).reset_index(drop=True)


def _frame_of_columns(columns: Mapping[Any, Any]) -> pd.DataFrame:
    import pandas as pd

    if {"data", "target", "feature_names"} <= set(columns):
        raise ArgumentTypeError("data", "is a Bunch of scikit-learn; load it with as_frame=True and pass its .frame")
    for name, column in columns.items():
        if getattr(column, "ndim", 1) != 1:
            raise _wrong(
                f"has {column.ndim} dimensions; every column has one, with a value for each row",
                subject=f"column {name!r}",
            )
    series = {name: pd.Series(column).reset_index(drop=True) for name, column in columns.items()}
    lengths = {name: len(column) for name, column in series.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name!r}: {length}" for name, length in lengths.items())
        raise _wrong(f"has columns that differ in length ({listed}); every column needs one value for each row")
    return pd.DataFrame(series)


def _frame_of_array(array: NDArray[Any], names: Sequence[str] | None) -> pd.DataFrame:
    import pandas as pd

    if array.dtype.names or (array.ndim == 1 and array.dtype == object):
        kind = "a structured array" if array.dtype.names else "a list of rows"
        raise ArgumentTypeError("data", f"is {kind}; make it a table with pandas.DataFrame(data)")
    if array.ndim != 2:
        raise ArgumentTypeError(
            "data",
            f"must be a DataFrame, a dict of columns or a 2-D array, got {array.ndim}-D data of type {array.dtype}",
        )
    if names is None:
        raise ArgumentError(
            "data", "is an array, whose columns have no names; pass pandas.DataFrame(data, columns=[...])"
        )
    if len(names) != array.shape[1]:
        raise ValueError(
            f"names has {len(names)} entries but the array has {array.shape[1]} columns; name every column once"
        )
    return pd.DataFrame(array, columns=list(names)).infer_objects()


def _name_list(names: Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else [str(name) for name in names]


def _kinds(frame: pd.DataFrame, continuous: Iterable[str] | None) -> dict[str, tuple[str, str]]:
    if continuous is None:
        return {name: infer_kind(name, frame[name]) for name in frame.columns}
    wanted = _name_list(continuous)
    for name in wanted:
        known_name("continuous", name, frame.columns)
    return {
        name: ("continuous", "named continuous") if name in wanted else ("discrete", "not named continuous")
        for name in frame.columns
    }


def _complete_rows(frame: pd.DataFrame, missing: str) -> pd.DataFrame:
    one_of("missing", missing, ("error", "drop"))
    absent = frame.isna()
    counts = absent.sum()
    for name in frame.columns:
        if counts[name] == len(frame):
            raise _wrong(f"has no value in any of the {len(frame)} rows; ", DROP, subject=f"column {name!r}")
    if not counts.any():
        return frame
    listed = ", ".join(f"{name!r} ({count})" for name, count in counts.items() if count)
    if missing == "error":
        rows = int(absent.any(axis=1).sum())
        raise _wrong(
            f"missing values in {rows} of {len(frame)} rows, in columns {listed}; fill them in, ",
            DROP_COLUMNS,
            ", or pass ",
            Mention("missing", "drop"),
            " to drop the rows",
            subject="",
        )
    complete = frame[~absent.any(axis=1)].reset_index(drop=True)
    if complete.empty:
        raise _wrong(
            f"every row has a missing value, in columns {listed}; ",
            DROP_COLUMNS,
            ", those with most of them",
            subject="",
        )
    LOG.warning("%d of %d rows with missing entries were dropped", len(frame) - len(complete), len(frame))
    return complete


def _refuse_identifier(name: str, codes: NDArray[np.int32]) -> None:
    if len(codes) > MIN_ROWS_FOR_ID_CHECK and len(np.unique(codes)) == len(codes):
        raise _wrong(
            f"has a different value in each of its {len(codes)} rows, so nothing can be learned from it; ",
            DROP,
            ", or name it in ",
            Mention("continuous"),
            " if it is a quantity",
            subject=f"discrete column {name!r}",
        )


def _wrong(*message: str | Mention, subject: str = "the data") -> ArgumentError:
    return ArgumentError("data", *message, subject=subject)
