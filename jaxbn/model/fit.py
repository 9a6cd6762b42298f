"""Fit a network with a given structure and given cuts: conditional tables and score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jaxbn.cuts.policy import Policy
from jaxbn.groups.grouping import Grouping
from jaxbn.inputs.checks import ArgumentError, suggest
from jaxbn.inputs.columns import Level
from jaxbn.inputs.graph import as_parents, check_table_sizes
from jaxbn.inputs.kinds import MAX_INTEGER_LEVELS
from jaxbn.inputs.table import Table, as_frame, as_table
from jaxbn.model.bayesnet import BayesNet
from jaxbn.scores.tables import family_counts, k2_score, posterior_means

__all__ = ["BayesNet", "fit"]


def fit(
    data: Any,
    graph: Any,
    policies: Mapping[str, Policy | Grouping | ArrayLike] | None = None,
    *,
    alpha: float | Mapping[str, float] = 1.0,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    continuous: Sequence[str] | None = None,
    discrete: Sequence[str] | None = None,
    missing: Any = "error",
) -> BayesNet:
    """Fit the conditional tables of a network.

    Args:
        data: rows, as ``as_table`` accepts them.
        graph: ``{child: [parents]}``, a ``networkx.DiGraph`` or ``(parent, child)`` pairs.
        policies: a Policy, or its interior cuts, for each continuous column; all other columns are discrete. A Grouping
            for a discrete column whose levels are to be merged. Without any, the continuous columns are cut first, as
            ``jaxbn.discretize(data, graph)`` does.
        alpha: Dirichlet weight of each cell; the tables are posterior means. Or ``{child: weight}``, where the tables
            of children that are not named have a weight of 1.
        bounds: (smallest, largest) value of continuous columns, the outer edges of their densities. By default the
            range of the data, widened to that of the data the policy was made from.
        continuous: without policies, columns that are continuous whatever they hold; columns named neither here nor in
            ``discrete`` are inferred (see ``jaxbn.as_table``).
        discrete: without policies, columns that are discrete whatever they hold.
        missing: ``"error"`` refuses missing entries, ``"drop"`` drops the rows that have one.

    Returns:
        The fitted network. Its tables cover all bins and all declared levels; its score counts observed ones only.

    Example:
        >>> import jaxbn
        >>> data = {"kind": ["a", "a", "b", "b"], "size": [1.0, 2.0, 7.0, 9.0]}
        >>> net = jaxbn.fit(data, {"size": ["kind"]}, {"size": [4.5]})
        >>> net.tables["size"].tolist(), round(net.score, 3)
        ([[0.75, 0.25], [0.25, 0.75]], -5.598)
        >>> iris = jaxbn.datasets.load("iris")
        >>> jaxbn.fit(iris.frame, iris.structures["paper"]).policies["petal_length"].n_bins > 2
        True
    """
    if policies is None:
        data = as_table(data, continuous=continuous, discrete=discrete, missing=missing)
        policies = _cut(data, graph)
    elif continuous is not None or discrete is not None:
        argument = "continuous" if continuous is not None else "discrete"
        raise ArgumentError(argument, "has no use with policies, which name the continuous columns; leave it out")
    groupings = {str(name): p for name, p in policies.items() if isinstance(p, Grouping)}
    cuts = {str(name): _as_policy(p) for name, p in policies.items() if not isinstance(p, Grouping)}
    table = _table(data, cuts, groupings, missing)
    parents = as_parents(graph, table.names)
    alpha, alphas = _weights(alpha, table.names)
    cuts = {name: cuts[name] for name in table.continuous}
    groupings = {name: groupings[name] for name in table.discrete if name in groupings}
    coded: dict[str, Policy | Grouping] = {**cuts, **groupings}
    cards = {n: coded[n].n_bins if n in coded else len(table.levels[n]) for n in table.names}
    check_table_sizes(parents, cards)
    codes = {n: cuts[n](table.values[n]) if n in cuts else table.codes[n] for n in table.names}
    levels, shares = dict(table.levels), {}
    for name, grouping in groupings.items():
        codes[name] = grouping(table.levels[name], name=name)[table.codes[name]]
        levels[name], shares[name] = _shares(grouping, table.levels[name], table.codes[name], alphas.get(name, alpha))
    tables, score = {}, 0.0
    for name, found in parents.items():
        counts = family_counts(codes[name], [codes[p] for p in found], [cards[v] for v in (*found, name)])
        tables[name] = posterior_means(counts, alphas.get(name, alpha))
        score += k2_score(counts)
    limits = {name: _bounds(name, table.values[name], cuts[name], bounds or {}) for name in cuts}
    return BayesNet(parents, cuts, levels, tables, limits, score, table.n_rows, alpha, groupings, shares, alphas)


def _cut(table: Table, graph: Any) -> Mapping[str, Policy | Grouping]:
    """The cuts and groups that suit the structure."""
    from jaxbn.learning.discretize import discretize

    return discretize(table, graph).codings


def _weights(alpha: float | Mapping[str, float], names: Sequence[str]) -> tuple[float, dict[str, float]]:
    """The Dirichlet weight of the tables in general, and of those that have their own."""
    own = {str(name): weight for name, weight in alpha.items()} if isinstance(alpha, Mapping) else {}
    general = 1.0 if isinstance(alpha, Mapping) else alpha
    for name in own:
        if name not in names:
            raise ValueError(f"alpha names {name!r}, which is not a column of the data; {suggest(name, names)}")
    for what, weight in [("alpha", general), *((f"alpha of {name!r}", weight) for name, weight in own.items())]:
        if not (math.isfinite(weight) and weight > 0):
            raise ValueError(f"{what} must be a positive number, got {weight!r}; 1 is the uniform prior")
    return float(general), {name: float(weight) for name, weight in own.items()}


def _as_policy(given: Policy | Grouping | ArrayLike) -> Policy:
    return given if isinstance(given, Policy) else Policy(np.asarray(given, np.float64))


def _shares(
    grouping: Grouping, levels: Sequence[Level], codes: NDArray[np.int32], alpha: float
) -> tuple[tuple[Level, ...], NDArray[np.float64]]:
    """The levels a grouped column has in the network, and P(level | group): posterior means inside each group."""
    counts = dict(zip(levels, np.bincount(codes, minlength=len(levels)).tolist(), strict=True))
    known = tuple(levels) if len(levels) == len(grouping.levels) else grouping.levels
    weights = np.array([counts.get(level, 0) for level in known]) + alpha
    group_of = grouping(known)
    return known, weights / np.bincount(group_of, weights)[group_of]


def _table(data: Any, policies: Mapping[str, Policy], groupings: Mapping[str, Grouping], missing: Any) -> Table:
    if isinstance(data, Table):
        for name in groupings:
            if name not in data.codes:
                raise ValueError(
                    f"policies hold a grouping of {name!r}, which is not a discrete column; {suggest(name, data.codes)}"
                )
        if set(data.continuous) != set(policies):
            odd = sorted(set(data.continuous) ^ set(policies))
            raise ValueError(f"policies must name exactly the continuous columns of the table; they differ in {odd}")
        return data
    frame = as_frame(data)
    for name in (*policies, *groupings):
        if name not in frame.columns:
            raise ValueError(f"policies name {name!r}, which is not a column of the data; {suggest(name, frame)}")
    for name in frame.columns:
        column = frame[name]
        if (
            name not in policies
            and name not in groupings
            and column.dtype.kind in "fiu"
            and column.nunique() > MAX_INTEGER_LEVELS
        ):
            raise ValueError(
                f"column {name!r} has {column.nunique()} distinct numbers but no policy; add its cuts to policies, "
                "drop it, or make it discrete with .astype(str)"
            )
    discrete = [name for name in frame.columns if name not in policies]
    return as_table(frame, continuous=list(policies), discrete=discrete, missing=missing)


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
