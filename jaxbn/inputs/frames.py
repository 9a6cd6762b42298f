"""What users hand in as a table, as a DataFrame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.checks import ArgumentError, ArgumentTypeError, Mention, few, wrong_data, wrong_type
from jaxbn.inputs.later import nw, pa, pd, types
from jaxbn.inputs.missing import MISSING_LEVEL
from jaxbn.inputs.table_files import read_file

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

    from jaxbn.inputs.table import Table


DataLike: TypeAlias = "pd.DataFrame | Mapping[str, Any] | NDArray[Any] | IntoFrame | Table | str | PathLike[str]"
"""What users hand in as data: a DataFrame of pandas or of any library that narwhals knows (Polars, PyArrow, Modin, cuDF
and others), a dict of columns, a ``Table``, or the path of a file (see ``inputs.table_files``)."""


def as_frame(data: DataLike, *, names: Sequence[str] | None = None) -> pd.DataFrame:
    """The data as a DataFrame with unique string column names and a fresh row index; nothing is copied needlessly.

    Columns of decimals become floats, and the text ``(missing)`` a missing entry.
    """
    if isinstance(data, pd.DataFrame):
        frame = data
    elif isinstance(data, Mapping):
        if type(data).__name__ == "Bunch":  # of scikit-learn's load_...: arrays, texts and names, not columns
            remedy = "data.frame" + ", after loading it with as_frame=True" * (data.get("frame") is None)
            raise ArgumentTypeError("data", f"is scikit-learn's Bunch, which is not a table; pass {remedy}")
        frame = _frame_of_columns(data)
    elif isinstance(data, str | PathLike):
        frame = read_file(data)
    elif isinstance(data, pd.Series):
        raise ArgumentTypeError("data", "is a single column; pass a DataFrame, for example column.to_frame()")
    elif (other := _narwhal(data)) is not None:
        frame = pd.DataFrame({name: _pandas(other[name]) for name in other.columns}, copy=False)
    elif callable(convert := getattr(data, "to_pandas", None)):
        frame = convert()
    else:
        frame = _frame_of_array(data, names)
    if frame.shape[1] == 0:
        raise wrong_data("has no columns; pass a DataFrame or dict with at least one column")
    labels = pd.Index([str(label) for label in frame.columns])
    if repeated := sorted(set(labels[labels.duplicated()])):
        raise wrong_data(
            f"has duplicate column name(s) {', '.join(map(repr, repeated))}; give every column its own name"
        )
    frame = frame.copy(deep=False)  # so that the user's own keeps its labels and columns
    frame.columns, frame.index = labels, pd.RangeIndex(len(frame))
    return _as_entries(frame)


def in_kind_of(data: Any, frame: pd.DataFrame) -> Any:
    """A frame as the library of some data has it: pandas stays pandas, and so does what is no frame.

    Example:
        >>> import pyarrow
        >>> in_kind_of(pyarrow.table({"x": [1.0]}), as_frame({"x": [2.0]}))["x"].to_pylist()
        [2.0]
    """
    other = _narwhal(data)
    if other is None:
        return frame
    made = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata()
    return nw.from_arrow(made, backend=other.implementation).to_native()


def _narwhal(data: Any) -> Any:
    """A frame of another library than pandas by narwhals, read into memory if it was not; None for anything else."""
    if isinstance(data, pd.DataFrame | Mapping | str | PathLike | np.ndarray | list | tuple):
        return None
    found = nw.from_native(data, pass_through=True)
    if isinstance(found, nw.LazyFrame):
        return found.collect(backend="pyarrow")
    return found if isinstance(found, nw.DataFrame) else None


def _pandas(column: Any) -> Any:
    """A column of narwhals for pandas: numbers as they lie in memory, decimals as numbers, others with their types."""
    if column.dtype == nw.Decimal:
        column = column.cast(nw.Float64)
    if column.dtype.is_float() or (column.dtype.is_integer() and not column.null_count()):
        return column.to_numpy()
    return column.to_native().to_pandas()  # as its library has it: narwhals makes texts of some categories


def _frame_of_columns(columns: Mapping[Any, Any]) -> pd.DataFrame:
    series = {name: _series(str(name), column) for name, column in columns.items()}
    lengths = {name: len(column) for name, column in series.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name!r}: {length}" for name, length in lengths.items())
        raise wrong_data(f"has columns that differ in length ({listed}); every column needs one value for each row")
    return pd.DataFrame(series)


def _series(name: str, column: Any) -> pd.Series:
    shape = getattr(column, "shape", ())
    if len(shape) > 1:
        split = f"make a column of each part, for example with pandas.DataFrame(data[{name!r}])"
        found = f"has {len(shape)} dimensions, shape {tuple(shape)}, where a column has one; "
        raise wrong_type(name, found, Mention("convert", words=split))
    return pd.Series(column).reset_index(drop=True)


def _frame_of_array(data: Any, names: Sequence[str] | None) -> pd.DataFrame:
    array = np.asarray(data)
    if array.dtype.names is not None:
        fields = few([*map(repr, array.dtype.names)], 6)
        raise ArgumentTypeError("data", f"is a structured array with the fields {fields}; pass pandas.DataFrame(data)")
    if array.ndim == 1 and array.dtype == object:
        raise ArgumentTypeError("data", "is a list of rows; make it a table with pandas.DataFrame(data)")
    if array.ndim != 2:
        raise ArgumentTypeError(
            "data",
            f"must be a DataFrame, a dict of columns or a 2-D array, got {array.ndim}-D data of type {array.dtype}",
        )
    if names is None:
        raise ArgumentError(
            "data",
            f"is a 2-D array, whose {array.shape[1]} columns have no names; pass pandas.DataFrame(data, columns=[...])",
        )
    if len(names) != array.shape[1]:
        raise ArgumentError(
            "names", f"has {len(names)} entries but the array has {array.shape[1]} columns; name every column once"
        )
    return pd.DataFrame(array, columns=list(names)).infer_objects()


def _as_entries(frame: pd.DataFrame) -> pd.DataFrame:
    """Decimals as floats, and the level of missing entries, which samples of a network may hold, as missing again."""
    changed: dict[str, Any] = {}
    for name in frame.columns:
        column = frame[name]
        kind, text = column.dtype.kind, types.is_string_dtype(column.dtype)
        # with lists, dates and times of day of Arrow pandas can do little but hand out the entries
        if isinstance(column.dtype, pd.ArrowDtype) and ((kind == "O" and not text) or str(column.dtype)[:4] == "date"):
            changed[name] = column = column.astype(object)
        if column.dtype.kind != "O" and not types.is_string_dtype(column.dtype):
            continue
        if isinstance(column.dtype, pd.CategoricalDtype):
            if MISSING_LEVEL in column.cat.categories:
                changed[name] = column.cat.remove_categories([MISSING_LEVEL])
        elif types.infer_dtype(column, skipna=True) == "decimal":
            changed[name] = column.to_numpy(dtype=object, na_value=np.nan).astype(np.float64)
        elif types.infer_dtype(column, skipna=True) == "string" and (where := column.isin([MISSING_LEVEL])).any():
            changed[name] = column.mask(where, None)
    return frame.assign(**changed) if changed else frame
