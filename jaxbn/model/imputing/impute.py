"""The missing entries of a table filled in by drawn, most probable, or expected values: ``net.impute``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.checks import one_of
from jaxbn.inputs.columns import MISSING, Level, scalar
from jaxbn.inputs.later import pd
from jaxbn.inputs.missing import MISSING_LEVEL
from jaxbn.inputs.table import as_frame
from jaxbn.inputs.units import Unit, from_numbers, is_text, texts
from jaxbn.model.fitted import Fitted
from jaxbn.model.imputing.regression import Experts, filled_by, fit_regressions
from jaxbn.model.inference.answers import draw_completions, marginals, most_probable_completions
from jaxbn.model.inference.network import Network
from jaxbn.model.lines.rows import by_lines, lean
from jaxbn.model.observations import Unknown, encode_frame, frame_of, numbers_of, tell_absent
from jaxbn.model.queries import draw_levels, means, over_levels

Strategy = Literal["mean", "regression", "most_probable", "draw"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
Numbers = Mapping[str, NDArray[np.float64]]  # continuous columns, [rows] each, NaN where missing


def impute(
    net: Fitted,
    data: Any,
    strategy: Strategy,
    seed: int | np.random.Generator,
    unknown: Unknown,
    experts: Experts | None = None,
) -> pd.DataFrame:
    """The data with their missing entries filled in, see ``BayesNet.impute``.

    ``experts``, if given, are used in place of those that ``strategy="regression"`` fits to the data.
    """
    one_of("strategy", strategy, STRATEGIES)
    codes, values = read_rows(net, data, unknown)
    net = without_missing_level(net)
    if strategy == "draw":
        return _filled(net, data, _drawn(net, codes, values, np.random.default_rng(seed)))
    if strategy == "most_probable":
        return _filled(net, data, _most_probable(net, codes))
    found = _means(net, codes, values)
    if strategy == "regression":
        fitted = fit_regressions(net, codes, values) if experts is None else experts
        for name, predicted in filled_by(fitted, net, codes, values).items():
            discrete = name not in net.binnings
            found[name] = over_levels(net, name, predicted, 1).argmax(axis=1) if discrete else predicted
    return _filled(net, data, found)


def read_rows(net: Fitted, data: Any, unknown: Unknown) -> tuple[NDArray[np.int32], Numbers]:
    """Rows as codes [rows, variables], -1 where missing, and the numbers of continuous columns.

    Absent columns are missing in every row.
    """
    frame = frame_of(net, data)
    tell_absent(net, [name for name in net.names if name not in frame.columns])
    codes = encode_frame(net, frame, unknown, optional=net.names)
    for name in names_with_missing_level(net):  # a missing entry is to be filled in, not that level
        if name in frame.columns:
            codes[frame[name].isna().to_numpy(), net.names.index(name)] = MISSING
    return codes, numbers_of(net, frame, net.binnings)


def _means(net: Fitted, codes: NDArray[np.int32], values: Numbers) -> dict[str, NDArray[Any]]:
    """Each entry by itself: the mean of a number's posterior, or the most probable level (its position)."""
    found = {name: np.zeros(len(codes), np.float64 if name in net.binnings else np.int64) for name in net.names}
    for variable, rows, where, chances in marginals(net.network, codes):
        name = net.names[variable]
        impossible = ~(chances.sum(axis=1) > 0)
        if impossible.any():
            row = int(rows[impossible[where]].min())
            raise ValueError(f"row {row} has probability 0 under the network, so its missing entries have no posterior")
        if name in net.lines:
            leaning = lean(net, name, codes[rows], {other: column[rows] for other, column in values.items()})
            found[name][rows] = means(net.inside(name), chances[where], leaning)
        elif name in net.binnings:
            found[name][rows] = means(net.inside(name), chances)[where]
        else:
            found[name][rows] = over_levels(net, name, chances, 1).argmax(axis=1)[where]
    return found


def _most_probable(net: Fitted, codes: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
    """All entries of a row together; of a grouped variable, a group counts with its most probable level."""
    best = {}  # the most probable level of each group, [groups]
    for name, groups in net.group_codes.items():
        of_group = np.arange(net.cardinalities[name])[:, None] == groups
        best[name] = np.where(of_group, net.shares[name], -1.0).argmax(axis=1)
    tables = tuple(net.tables[n] * (net.shares[n][best[n]] if n in best else 1.0) for n in net.names)
    states = most_probable_completions(Network(net.network.structure, tables), codes)
    found: dict[str, NDArray[Any]] = {}
    for i, name in enumerate(net.names):
        chosen = net.inside(name).means if name in net.binnings else best.get(name)
        found[name] = states[:, i] if chosen is None else chosen[states[:, i]]
    return found


def _drawn(net: Fitted, codes: NDArray[np.int32], values: Numbers, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """All entries of a row together, from their joint posterior."""
    states = draw_completions(net.network, codes, rng).astype(np.int64)
    found: dict[str, NDArray[Any]] = {}
    for name in by_lines(net):
        i = net.names.index(name)
        gone = codes[:, i] == MISSING
        if name in net.binnings:
            known = {n: found[n][gone] for n in net.lines[name].numbers} if name in net.lines else {}
            leaning = lean(net, name, states[gone], known, states[gone, i])
            found[name] = values[name].copy()
            found[name][gone] = net.inside(name).draw(states[gone, i], rng, lean=leaning)
            continue
        found[name] = states[:, i].copy()
        if name in net.groupings:
            found[name][gone] = draw_levels(net, name, states[gone, i], rng)
    return found


# --- networks in which "missing" is a level of its own


def without_missing_level(net: Fitted) -> Fitted:
    """The network given that nothing is missing.

    The missing levels keep their places, with probability 0, and the other probabilities are scaled to add up to 1.
    So entries count as missing at random.

    Example:
        >>> net = jaxbn.fit({"kind": ["a", "b", None]}, {}, missing="state")
        >>> without_missing_level(net).tables["kind"].tolist()
        [0.5, 0.5, 0.0]
    """
    tables, shares = dict(net.tables), dict(net.shares)
    for name in names_with_missing_level(net):
        rest = np.array([level != MISSING_LEVEL for level in net.levels[name]], np.float64)
        if name in net.groupings:
            group_of = net.group_codes[name]
            by_level = rest * net.shares[name]
            rest = np.asarray(np.bincount(group_of, by_level), np.float64)  # what is left of each group
            shares[name] = by_level / np.where(rest > 0, rest, 1.0)[group_of]
        weights = net.tables[name] * rest
        total = weights.sum(axis=-1, keepdims=True)
        tables[name] = np.where(total > 0, weights, rest) / np.where(total > 0, total, rest.sum())
    return replace(net, tables=tables, shares=shares)


def names_with_missing_level(net: Fitted) -> list[str]:
    """The variables that have a missing level."""
    return [name for name, levels in net.levels.items() if MISSING_LEVEL in levels]


# --- values put into the missing entries of a frame, whose columns keep their types


def _filled(net: Fitted, data: Any, found: Mapping[str, NDArray[Any]]) -> pd.DataFrame:
    """A copy of the data with the missing entries of the network's variables filled in.

    `found` has numbers for continuous variables and positions among the levels for discrete ones, [rows] each. A
    DataFrame keeps its index and its other columns.
    """
    frame = as_frame(data)
    filled = {name: _column(net, name, frame[name], found[name]) for name in frame.columns if name in net.parents}
    result = frame.assign(**filled)
    if isinstance(data, pd.DataFrame):
        result.index, result.columns = data.index, data.columns
    return result


def _column(net: Fitted, name: str, column: pd.Series, found: NDArray[Any]) -> pd.Series:
    gone = np.flatnonzero(column.isna())
    if not len(gone):
        return column
    if name not in net.binnings:
        return _with_levels(column, gone, net.levels[name], found)
    values, unit = found[gone], net.binnings[name].unit
    if unit.kind != "number" and column.dtype.kind not in "fiu":
        return _put(column, gone, _times_like(column, values, unit))
    known = column.dropna().to_numpy(np.float64)
    if len(known) and (known == np.round(known)).all():  # whole numbers stay whole
        low, high = net.bounds[name]
        values = np.clip(np.round(values), np.ceil(low), np.floor(high)) if np.ceil(low) <= np.floor(high) else values
    return _put(column, gone, values)


def _times_like(column: pd.Series, values: NDArray[Any], unit: Unit) -> Any:
    """Dates or durations of the type that a column has: of pandas, objects, or text."""
    times = pd.Series(from_numbers(values, unit))
    if column.dtype.kind == "M" and getattr(column.dt, "tz", None) is not None:
        return times.dt.tz_localize(column.dt.tz, ambiguous=True, nonexistent="shift_forward").array
    if column.dtype.kind in "Mm":
        return times.to_numpy()
    if not is_text(column):
        period = isinstance(column.dtype, pd.PeriodDtype)
        return times.astype(column.dtype).array if period else times.astype(object).to_numpy()
    if unit.kind == "duration":
        return texts(np.round(values), unit)
    form = unit.form or ("%Y-%m-%d" if unit.kind == "date" else "%Y-%m-%d %H:%M:%S")
    return times.dt.strftime(form).to_numpy(object)


def _with_levels(
    column: pd.Series, gone: NDArray[np.intp], levels: tuple[Level, ...], found: NDArray[Any]
) -> pd.Series:
    """Levels as this column spells them: intervals and decimals are levels by their text or number."""
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
    array = column.array.copy()
    array[gone] = np.asarray(values, column.dtype) if isinstance(column.dtype, np.dtype) else values
    return pd.Series(array, index=column.index, name=column.name, dtype=column.dtype)  # else texts become str
