"""From what users ask to inference, and from its probabilities to answers: states, levels of groups, point predictions.

The probabilities of ``net.query`` are computed in `jaxbn.model.inference.questions`.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.shapes.inside import InsideBins
from jaxbn.cuts.shapes.scores import Lean
from jaxbn.cuts.words import rounded
from jaxbn.inputs.checks import ArgumentError
from jaxbn.inputs.columns import MISSING, encode
from jaxbn.inputs.later import pd
from jaxbn.inputs.units import from_numbers
from jaxbn.model.fitted import Fitted, check_variable
from jaxbn.model.inference.network import Network
from jaxbn.model.lines.rows import log_ratios, range_ratios
from jaxbn.model.observations import Unknown, as_numbers, as_range, as_weights, numbers_of, observation_weights
from jaxbn.model.words import state_texts
from jaxbn.runtime import limits

Array = NDArray[np.float64]
Returns = str | float | Sequence[float]
"""What ``predict`` returns: "state", "mean", "median", a quantile or several."""

ROWS = 2**14  # rows whose lines are worked out at a time: they stay in the processor's cache


def states(net: Fitted, name: str) -> pd.Index:
    """A variable's states as users see them: levels, left-closed intervals with open ends, or, for dates, words."""
    if name not in net.shown_states:
        if name not in net.binnings:
            net.shown_states[name] = pd.Index(list(net.levels[name]), name=name)
        elif net.binnings[name].unit.kind != "number":
            net.shown_states[name] = pd.Index(state_texts(net, name), name=name)
        else:
            net.shown_states[name] = intervals(net, name, net.binnings[name].cuts)
    return net.shown_states[name]


def intervals(net: Fitted, name: str, cuts: Array) -> pd.Index:
    """Left-closed intervals with open ends, between some cuts as users see them."""
    breaks = [-np.inf, *rounded(cuts.tolist(), among=net.bounds[name]), np.inf]
    return pd.IntervalIndex.from_breaks(breaks, closed="left", name=name)


def as_series(chances: Array, axes: Sequence[pd.Index]) -> pd.Series:
    """Probabilities of the states of one or several variables, an axis each."""
    index = axes[0] if len(axes) == 1 else pd.MultiIndex.from_product(axes, names=[axis.name for axis in axes])
    return pd.Series(chances.ravel(), index=index, name="probability")


def log_inside_states(net: Fitted, frame: pd.DataFrame, codes: NDArray[np.int32], unknown: Unknown) -> Array:
    """Log density of each number inside its bin and each level inside its group, 0 where missing, [rows, variables]."""
    found = np.zeros(codes.shape)
    values = numbers_of(net, frame, net.binnings)
    for i, name in enumerate(net.names):
        if name in net.binnings:
            found[:, i] = net.inside(name).log_density(values[name], codes[:, i])
        elif name in net.shares:
            level = encode(frame[name], net.levels[name], name=name, unknown=unknown)
            found[:, i] = np.append(np.log(net.shares[name]), 0.0)[level]  # a missing entry, of code -1, picks the last
    for start in range(0, len(codes) if net.lines else 0, ROWS):
        limits.check()
        part = slice(start, start + ROWS)
        own = {name: column[part] for name, column in values.items()}
        for name, ratio in log_ratios(net, codes[part], own).items():
            found[part, net.names.index(name)] += ratio
    return found


def as_row(net: Fitted, given: Mapping[str, Any]) -> tuple[NDArray[np.int32], dict[str, Array]]:
    """The codes and numbers of a row with what is given; missing unless it is a single state or number."""
    codes, values = np.full((1, len(net.names)), MISSING, np.int32), {n: np.full(1, np.nan) for n in net.binnings}
    for name, weights in observation_weights(net, given).items():
        if np.count_nonzero(weights) == 1:
            codes[0, net.names.index(name)] = weights.argmax()
        members = as_numbers(net, name, given[name])
        if members is not None and len(members) == 1:
            values[name][0] = members[0]
    return codes, values


def weighed_by_ranges(net: Fitted, given: Mapping[str, Any]) -> Network:
    """The network with tables weighed by the probability that a line gives to an observed range inside a bin."""
    tables = {}
    for name in net.lines.keys() & given.keys():
        span = as_range(net, name, given[name])
        if span is not None:
            tables[name] = net.tables[name] * range_ratios(net, name, *span)
    return Network(net.network.structure, tuple((net.tables | tables).values())) if tables else net.network


def log_likelihoods(net: Fitted, name: str, value: Any, n_rows: int) -> Array:
    """Logarithms of the likelihoods of a variable's states in each row, [rows, cardinality]."""
    if as_weights(name, value) is not None:
        weights = np.tile(observation_weights(net, {name: value})[name], (n_rows, 1))
    else:
        weights, shape = np.asarray(value, np.float64), (n_rows, len(states(net, name)))
        right = weights.shape == shape and (weights >= 0).all() and np.isfinite(weights).all()
        if not right or not weights.any(axis=1).all():
            raise ValueError(
                f"the likelihoods of {name!r} in soft must be numbers of at least 0, some above it in each row, of "
                f"shape {shape}, got {weights.shape}"
            )
        if name in net.groupings:
            weights = weights * net.shares[name] @ np.eye(net.cardinalities[name])[net.group_codes[name]]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(weights))


def over_levels(net: Fitted, name: str, chances: Array, axis: int) -> Array:
    """Probabilities of levels from those of their groups; those of variables without groups as they are."""
    if name not in net.groupings:
        return chances
    shape = [-1 if i == axis else 1 for i in range(chances.ndim)]
    return np.take(chances, net.group_codes[name], axis=axis) * net.shares[name].reshape(shape)


def decode(
    net: Fitted, name: str, codes: NDArray[np.int64], rng: np.random.Generator, shares: Array | None = None
) -> Any:
    """Levels of states; those of groups are drawn by ``shares``, or by the network's own."""
    if name in net.groupings:
        codes = draw_levels(net, name, codes, rng, shares)
    levels = net.levels[name]
    of_one_kind = {type(level) for level in levels} in ({bool}, {int}, {float}, {int, float})
    return np.array(levels, None if of_one_kind else object)[codes]


def draw_levels(
    net: Fitted, name: str, groups: NDArray[np.int64], rng: np.random.Generator, shares: Array | None = None
) -> NDArray[np.int64]:
    """A level drawn from each row's group, by its share of the group."""
    shares = net.shares[name] if shares is None else shares
    group_of, drawn = net.group_codes[name], np.empty(len(groups), np.int64)
    chances = rng.random(len(groups))
    for group in np.unique(groups):
        members, rows = np.flatnonzero(group_of == group), groups == group
        ends = np.cumsum(shares[members])
        found = np.searchsorted(ends, chances[rows] * ends[-1], side="right")
        drawn[rows] = members[np.minimum(found, len(members) - 1)]
    return drawn


def listed_targets(targets: Any) -> list[str]:
    """Targets as a list, a single one too."""
    return [targets] if isinstance(targets, str) or not isinstance(targets, Iterable) else list(targets)


def check_targets(net: Fitted, targets: Sequence[str], given: Mapping[str, Any]) -> None:
    """Refuse targets that are unknown, given or named twice."""
    if not targets:
        raise ValueError("targets is empty; name at least one variable")
    for name in targets:
        check_variable(net, name)
        if name in given:
            raise ValueError(f"{name!r} is both a target and given; leave it out of one of them")
    repeated = {name for name in targets if list(targets).count(name) > 1}
    if repeated:
        raise ValueError(f"targets repeat {sorted(repeated)}; name each variable once")


# --- numbers in place of the intervals of a continuous target: the mean, the median or quantiles of its posterior


def points(
    net: Fitted, chances: pd.DataFrame, target: str, returns: Returns, *, lean: Lean | None = None,
    inside: InsideBins | None = None,
) -> pd.Series | pd.DataFrame:  # fmt: skip
    """Means or quantiles of a continuous target, from the chances [rows, bins] of its bins, or those of `inside`."""
    if target not in net.binnings:
        raise ArgumentError(
            "returns",
            f"is {returns!r}, but {target!r} is discrete and has no mean or quantiles; leave it out",
            value=returns,
        )
    inside, unit = inside or net.inside(target), net.binnings[target].unit
    if isinstance(returns, str) and returns == "mean":
        found = means(inside, chances.to_numpy(), lean)
        return pd.Series(from_numbers(found, unit), index=chances.index, name=target)
    levels = quantile_levels(returns)
    found = from_numbers(quantiles(inside, chances.to_numpy(), levels, lean), unit)
    if isinstance(returns, str | numbers.Real):
        return pd.Series(found[:, 0], index=chances.index, name=target)
    return pd.DataFrame(found, index=chances.index, columns=pd.Index(levels, name=target))


def quantile_levels(returns: Any) -> list[float]:
    """The quantiles that are asked for, none for the state or the mean; refuses what ``predict`` cannot return."""
    if isinstance(returns, str):
        if returns not in ("state", "mean", "median"):
            raise ArgumentError(
                "returns", f"must be 'state', 'mean', 'median', a quantile or several, got {returns!r}", value=returns
            )
        return [0.5] if returns == "median" else []
    levels = [returns] if isinstance(returns, numbers.Real) else list(returns)
    for level in levels:
        if isinstance(level, bool) or not isinstance(level, numbers.Real) or not 0 <= float(level) <= 1:
            raise ArgumentError("returns", f"has the quantile {level!r}, which is not between 0 and 1", value=returns)
    if not levels:
        raise ArgumentError("returns", "is empty; name at least one quantile between 0 and 1", value=returns)
    return [float(level) for level in levels]


def means(inside: InsideBins, chances: Array, lean: Lean | None = None) -> Array:
    """Means of a continuous variable [rows], from the chances of its bins and how values lean in them."""
    if lean is None:
        return np.asarray(chances @ inside.means)
    return np.asarray((chances * inside.means_by(lean)).sum(axis=1))


def quantiles(inside: InsideBins, chances: Array, levels: Sequence[float], lean: Lean | None = None) -> Array:
    """Quantiles of a continuous variable, [rows, levels], from the chances of its bins and how values lean in them."""
    ends = np.cumsum(chances, axis=1)
    found = np.empty((len(chances), len(levels)))
    for k, level in enumerate(levels):
        wanted = level * ends[:, -1:]
        place = np.minimum((ends < wanted).sum(axis=1), chances.shape[1] - 1)[:, None]
        own = np.take_along_axis(chances, place, 1)
        below = np.take_along_axis(ends, place, 1) - own
        share = np.divide(wanted - below, own, out=np.zeros_like(below), where=own > 0)
        share = np.clip(share, 0.0, 1.0)
        if lean is not None:
            share = lean.take(np.arange(len(place))[:, None], place).at(share)
        found[:, k] = inside.at(place[:, 0], share[:, 0])
    return found
