"""Fit a network with a given structure and given cuts: conditional tables and score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jaxbn.columns import MAX_INTEGER_LEVELS, suggest
from jaxbn.graph import as_parents, check_table_sizes
from jaxbn.network import BayesNet
from jaxbn.policy import Policy
from jaxbn.table import Table, as_frame, as_table
from jaxbn.tables import family_counts, k2_score, posterior_means

__all__ = ["BayesNet", "fit"]


def fit(
    data: Any,
    graph: Any,
    policies: Mapping[str, Policy | ArrayLike],
    *,
    alpha: float = 1.0,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    missing: Any = "error",
) -> BayesNet:
    """Fit the conditional tables of a network.

    Args:
        data: rows, as ``as_table`` accepts them.
        graph: ``{child: [parents]}``, a ``networkx.DiGraph`` or ``(parent, child)`` pairs.
        policies: a Policy, or its interior cuts, for each continuous column; all other columns are discrete.
        alpha: Dirichlet weight of each cell; the tables are posterior means.
        bounds: (smallest, largest) value of continuous columns, the outer edges of their densities. By default the
            range of the data, widened to that of the data the policy was made from.
        missing: ``"error"`` refuses missing entries, ``"drop"`` drops the rows that have one.

    Returns:
        The fitted network. Its tables cover all bins and all declared levels; its score counts observed ones only.

    Example:
        >>> data = {"kind": ["a", "a", "b", "b"], "size": [1.0, 2.0, 7.0, 9.0]}
        >>> net = fit(data, {"size": ["kind"]}, {"size": [4.5]})
        >>> net.tables["size"].tolist(), round(net.score, 3)
        ([[0.75, 0.25], [0.25, 0.75]], -5.598)
    """
    if not (math.isfinite(alpha) and alpha > 0):
        raise ValueError(f"alpha must be a positive number, got {alpha!r}; 1 is the uniform prior")
    cuts = {
        str(name): p if isinstance(p, Policy) else Policy(np.asarray(p, np.float64)) for name, p in policies.items()
    }
    table = _table(data, cuts, missing)
    parents = as_parents(graph, table.names)
    cuts = {name: cuts[name] for name in table.continuous}
    cards = {n: cuts[n].n_bins if n in cuts else len(table.levels[n]) for n in table.names}
    check_table_sizes(parents, cards)
    codes = {n: cuts[n](table.values[n]) if n in cuts else table.codes[n] for n in table.names}
    tables, score = {}, 0.0
    for name, found in parents.items():
        counts = family_counts(codes[name], [codes[p] for p in found], [cards[v] for v in (*found, name)])
        tables[name] = posterior_means(counts, alpha)
        score += k2_score(counts)
    limits = {name: _bounds(name, table.values[name], cuts[name], bounds or {}) for name in cuts}
    return BayesNet(parents, cuts, dict(table.levels), tables, limits, score, table.n_rows, float(alpha))


def _table(data: Any, policies: Mapping[str, Policy], missing: Any) -> Table:
    if isinstance(data, Table):
        if set(data.continuous) != set(policies):
            odd = sorted(set(data.continuous) ^ set(policies))
            raise ValueError(f"policies must name exactly the continuous columns of the table; they differ in {odd}")
        return data
    frame = as_frame(data)
    for name in policies:
        if name not in frame.columns:
            raise ValueError(f"policies name {name!r}, which is no column of the data; {suggest(name, frame)}")
    for name in frame.columns:
        column = frame[name]
        if name not in policies and column.dtype.kind in "fiu" and column.nunique() > MAX_INTEGER_LEVELS:
            raise ValueError(
                f"column {name!r} has {column.nunique()} distinct numbers but no policy; add its cuts to policies, "
                "drop it, or make it discrete with .astype(str)"
            )
    return as_table(frame, continuous=list(policies), missing=missing)


def _bounds(
    name: str, values: NDArray[np.float64], policy: Policy, given: Mapping[str, Sequence[float]]
) -> tuple[float, float]:
    if name in given:
        low, high = given[name]
        return float(low), float(high)
    low, high = float(values.min()), float(values.max())
    if math.isfinite(policy.lower) and math.isfinite(policy.upper):
        low, high = min(low, policy.lower), max(high, policy.upper)
    return low, high
