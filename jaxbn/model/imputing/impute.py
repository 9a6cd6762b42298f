"""What goes into the missing entries of a table: drawn, most probable, or expected values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.checks import one_of
from jaxbn.inputs.columns import MISSING
from jaxbn.inputs.missing import MISSING_LEVEL
from jaxbn.inputs.states import with_signs
from jaxbn.inputs.table import as_frame
from jaxbn.model.imputing.frames import fill
from jaxbn.model.imputing.regression import Regressions, fit_regressions
from jaxbn.model.inference.answers import draw_completions, marginals, most_probable_completions
from jaxbn.model.inference.network import Network, network
from jaxbn.model.lines import by_lines, lean
from jaxbn.model.observations import Unknown, encode_frame, tell_absent
from jaxbn.model.queries import draw_levels, means, numbers_of, over_levels

if TYPE_CHECKING:
    import pandas as pd

    from jaxbn.model.bayesnet import BayesNet

Strategy = Literal["mean", "regression", "most_probable", "draw"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


class Rows(NamedTuple):
    """Rows to be filled: their codes, and the numbers of their continuous columns."""

    codes: NDArray[np.int32]  # [rows, variables], -1 where missing
    values: dict[str, NDArray[np.float64]]  # [rows], NaN where missing


def impute(
    net: BayesNet,
    data: Any,
    strategy: Strategy,
    seed: int | np.random.Generator,
    unknown: Unknown,
    max_memory: float,
    regressions: Regressions | None = None,
) -> pd.DataFrame:
    """The data with their missing entries filled in, see ``BayesNet.impute``.

    ``regressions``, if given, are used in place of those that ``strategy="regression"`` fits to the data.
    """
    one_of("strategy", strategy, STRATEGIES)
    rows = read_rows(net, data, unknown)
    net = without_missing_level(net)
    if strategy == "draw":
        found = _drawn(net, rows, np.random.default_rng(seed), max_memory)
    elif strategy == "most_probable":
        found = _most_probable(net, rows, max_memory)
    else:
        found = _means(net, rows, max_memory)
        if strategy == "regression":
            fitted = regressions or fit_regressions(net, rows.codes, rows.values, max_memory)
            predicted = fitted.predict(net, rows.codes, rows.values, max_memory)
            found |= {
                name: predicted[name] if name in net.binnings else _levels(net, name, predicted[name])
                for name in predicted
            }
    return fill(net, data, found)


def read_rows(net: BayesNet, data: Any, unknown: Unknown) -> Rows:
    """Rows as codes and numbers; absent columns are missing in every row."""
    frame = with_signs(as_frame(data), net.names)
    tell_absent(net, [name for name in net.names if name not in frame.columns])
    codes = encode_frame(net, frame, unknown, optional=net.names)
    for name in with_missing_level(net):  # a hole, and not the level of its own that a network may have for it
        if name in frame.columns:
            codes[frame[name].isna().to_numpy(), net.names.index(name)] = MISSING
    return Rows(codes, numbers_of(net, frame, net.binnings))


def _means(net: BayesNet, rows: Rows, max_memory: float) -> dict[str, NDArray[Any]]:
    """Each entry by itself: the mean of a number's posterior, or the most probable level (its position)."""
    found = _empty(net, rows)
    for variable, where_rows, where, chances in marginals(net.network, rows.codes, max_memory=max_memory):
        name = net.names[variable]
        _refuse_impossible(chances, where, where_rows)
        if name in net.lines:
            own = {n: values[where_rows] for n, values in rows.values.items()}
            leaning = lean(net, name, rows.codes[where_rows], own)
            found[name][where_rows] = means(net.inside(name), chances[where], leaning)
        else:
            answer = chances @ net.inside(name).means if name in net.binnings else _levels(net, name, chances)
            found[name][where_rows] = answer[where]
    return found


def _levels(net: BayesNet, name: str, chances: NDArray[np.float64]) -> NDArray[np.int64]:
    """The most probable level (its position) of a discrete variable, from the chances of its states, [rows]."""
    return over_levels(net, name, chances, 1).argmax(axis=1)


def _most_probable(net: BayesNet, rows: Rows, max_memory: float) -> dict[str, NDArray[Any]]:
    """All entries of a row together; of a grouped variable, a group counts with its most probable level."""
    best = {name: _best_levels(net, name) for name in net.groupings}
    plain = net.network
    tables = [net.tables[n] * (net.shares[n][best[n]] if n in best else 1.0) for n in net.names]
    weighed = Network(plain.structure, network(plain.structure.parents, tables).tables)
    codes = most_probable_completions(weighed, rows.codes, max_memory=max_memory)
    found: dict[str, NDArray[Any]] = {}
    for i, name in enumerate(net.names):
        if name in net.binnings:
            found[name] = net.inside(name).means[codes[:, i]]
        else:
            found[name] = best[name][codes[:, i]] if name in best else codes[:, i]
    return found


def _drawn(net: BayesNet, rows: Rows, rng: np.random.Generator, max_memory: float) -> dict[str, NDArray[Any]]:
    """All entries of a row together, from their joint posterior."""
    codes = draw_completions(net.network, rows.codes, rng, max_memory=max_memory).astype(np.int64)
    found: dict[str, NDArray[Any]] = {}
    for name in by_lines(net):
        i = net.names.index(name)
        gone = rows.codes[:, i] == MISSING
        if name in net.binnings:
            known = {n: found[n][gone] for n in net.lines[name].parents} if name in net.lines else {}
            leaning = lean(net, name, codes[gone], known, codes[gone, i])
            found[name] = rows.values[name].copy()
            found[name][gone] = net.inside(name).draw(codes[gone, i], rng, lean=leaning)
            continue
        found[name] = codes[:, i].copy()
        if name in net.groupings:
            found[name][gone] = draw_levels(net, name, codes[gone, i], rng)
    return found


def _best_levels(net: BayesNet, name: str) -> NDArray[np.int64]:
    """The most probable level of each group, [groups]."""
    group_of, shares = net.group_codes[name], net.shares[name]
    return np.array([np.where(group_of == g, shares, -1.0).argmax() for g in range(net.cardinalities[name])])


def _empty(net: BayesNet, rows: Rows) -> dict[str, NDArray[Any]]:
    n = len(rows.codes)
    return {name: np.zeros(n, np.float64 if name in net.binnings else np.int64) for name in net.names}


def _refuse_impossible(chances: NDArray[np.float64], where: NDArray[np.intp], rows: NDArray[np.intp]) -> None:
    impossible = ~(chances.sum(axis=1) > 0)
    if impossible.any():
        row = int(rows[impossible[where]].min())
        raise ValueError(f"row {row} has probability 0 under the network, so its missing entries have no posterior")


# --- networks in which being missing is a level: what an entry would be, were it there


def without_missing_level(net: BayesNet) -> BayesNet:
    """The network without the chance of its missing levels.

    The levels stay where they are, with probability 0, and what is left of each distribution adds up to 1 again. That
    an entry is missing says nothing else then: it counts as missing at random.

    Example:
        >>> import jaxbn
        >>> net = jaxbn.fit({"kind": ["a", "b", None]}, {}, missing="state")
        >>> without_missing_level(net).tables["kind"].tolist()
        [0.5, 0.5, 0.0]
    """
    tables, shares = dict(net.tables), dict(net.shares)
    for name in with_missing_level(net):
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


def with_missing_level(net: BayesNet) -> list[str]:
    """The variables that have a missing level."""
    return [name for name, levels in net.levels.items() if MISSING_LEVEL in levels]
