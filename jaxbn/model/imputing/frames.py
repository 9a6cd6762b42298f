"""Values put into the missing entries of a frame, whose columns keep their types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.columns import Level, scalar
from jaxbn.inputs.table import as_frame
from jaxbn.inputs.units import Unit, from_numbers, is_text, texts

if TYPE_CHECKING:
    import pandas as pd

    from jaxbn.model.bayesnet import BayesNet


def fill(net: BayesNet, data: Any, found: Mapping[str, NDArray[Any]]) -> pd.DataFrame:
    """A copy of the data in which missing entries of the network's variables are filled.

    Args:
        net: the fitted network.
        data: the rows; a DataFrame keeps its index and its other columns.
        found: a value of every variable for each row; only those at missing entries are taken: numbers of
            continuous variables, positions among the levels of discrete ones, [rows].
    """
    import pandas as pd

    frame = as_frame(data)
    filled = {name: _filled(net, name, frame[name], found[name]) for name in frame.columns if name in net.parents}
    result = frame.assign(**filled)
    if isinstance(data, pd.DataFrame):
        result.index, result.columns = data.index, data.columns
    return result


def _filled(net: BayesNet, name: str, column: pd.Series, found: NDArray[Any]) -> pd.Series:
    gone = np.flatnonzero(column.isna())
    if not len(gone):
        return column
    if name not in net.binnings:
        return _with_levels(column, gone, net.levels[name], found)
    values, unit = found[gone], net.binnings[name].unit
    if unit.kind != "number" and column.dtype.kind not in "fiu":
        return _with_times(column, gone, values, unit)
    known = column.dropna().to_numpy(np.float64)
    if len(known) and (known == np.round(known)).all():  # whole numbers stay whole
        low, high = net.bounds[name]
        values = np.clip(np.round(values), np.ceil(low), np.floor(high)) if np.ceil(low) <= np.floor(high) else values
    return _put(column, gone, values)


def _with_times(column: pd.Series, gone: NDArray[np.intp], values: NDArray[Any], unit: Unit) -> pd.Series:
    """Dates or durations as this column has them: of pandas, as objects, or as text."""
    import pandas as pd

    if column.dtype.kind == "M" and getattr(column.dt, "tz", None) is not None:
        there = pd.Series(from_numbers(values, unit)).dt
        return _put(column, gone, there.tz_localize(column.dt.tz, ambiguous=True, nonexistent="shift_forward").array)
    if column.dtype.kind in "Mm":
        return _put(column, gone, from_numbers(values, unit))
    if isinstance(column.dtype, pd.PeriodDtype):
        return _put(column, gone, pd.Series(from_numbers(values, unit)).astype(column.dtype).array)
    if not is_text(column):
        return _put(column, gone, pd.Series(from_numbers(values, unit)).astype(object).to_numpy())
    if unit.kind == "duration":
        return _put(column, gone, texts(np.round(values), unit))
    form = unit.form or ("%Y-%m-%d" if unit.kind == "date" else "%Y-%m-%d %H:%M:%S")
    return _put(column, gone, pd.Series(from_numbers(values, unit)).dt.strftime(form).to_numpy(object))


def _with_levels(
    column: pd.Series, gone: NDArray[np.intp], levels: tuple[Level, ...], found: NDArray[Any]
) -> pd.Series:
    """Levels as this column spells them: intervals and decimals are levels by their text or number."""
    import pandas as pd

    name = str(column.name)
    categories = isinstance(column.dtype, pd.CategoricalDtype)
    known = column.cat.categories if categories else column.dropna().unique()
    spelled = {scalar(name, value): value for value in known}
    values = [spelled.get(levels[code], levels[code]) for code in found[gone].tolist()]
    if categories:
        new = [value for value in dict.fromkeys(values) if value not in column.cat.categories]
        column = column.cat.add_categories(new) if new else column
    return _put(column, gone, values)


def _put(column: pd.Series, gone: NDArray[np.intp], values: Any) -> pd.Series:
    """The column with these values at these positions; its type stays, where it can hold them."""
    import pandas as pd

    if isinstance(column.dtype, np.dtype):
        plain = column.to_numpy(copy=True)
        plain[gone] = np.asarray(values, column.dtype)
        return pd.Series(plain, index=column.index, name=column.name, dtype=column.dtype)  # else texts become str
    array = column.array.copy()
    array[gone] = values
    return pd.Series(array, index=column.index, name=column.name)
