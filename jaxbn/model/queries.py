"""What a fitted network answers, in original units and levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.shapes.lean import Lean
from jaxbn.cuts.words import rounded
from jaxbn.inputs.checks import suggest
from jaxbn.inputs.columns import MISSING, as_floats, encode
from jaxbn.inputs.states import missing_flag_name, with_signs
from jaxbn.inputs.table import as_frame
from jaxbn.model.inference import answers
from jaxbn.model.inference.questions import joint
from jaxbn.model.lines import lean, log_ratios
from jaxbn.model.notices import tell_absent
from jaxbn.model.observations import (
    Unknown,
    as_members,
    as_range,
    as_weights,
    encode_frame,
    encode_rows,
    observation_weights,
)
from jaxbn.model.point_predictions import Returns, check_returns, means, points
from jaxbn.model.words import count_states, state_texts
from jaxbn.runtime import limits

if TYPE_CHECKING:
    import pandas as pd

    from jaxbn.model.bayesnet import BayesNet

ROWS = 2**14
"""Rows whose lines are worked out at a time: they stay in the processor's cache."""


def states(net: BayesNet, name: str) -> pd.Index:
    """A variable's states as users see them: levels, or left-closed intervals with open ends; of dates, words."""
    import pandas as pd

    found = net.shown_states.get(name)
    if found is None:
        if name in net.binnings and net.binnings[name].unit.kind != "number":
            found = pd.Index(state_texts(net, name), name=name)
        elif name in net.binnings:
            breaks = [-np.inf, *rounded(net.binnings[name].cuts.tolist(), among=net.bounds[name]), np.inf]
            found = pd.IntervalIndex.from_breaks(breaks, closed="left", name=name)
        else:
            found = pd.Index(list(net.levels[name]), name=name)
        net.shown_states[name] = found
    return found


def log_likelihood(net: BayesNet, data: Any, unknown: Unknown, max_memory: float) -> NDArray[np.float64]:
    """Log density of each row, see ``BayesNet.log_likelihood``."""
    codes = encode_rows(net, data, unknown=unknown)
    result = answers.log_likelihood(net.network, codes, max_memory=max_memory)
    frame = as_frame(data)
    for inside in log_inside_states(net, frame, codes, unknown).T:
        result += inside
    return result


def log_inside_states(
    net: BayesNet, frame: pd.DataFrame, codes: NDArray[np.int32], unknown: Unknown
) -> NDArray[np.float64]:
    """Log density of each number inside its bin and each level inside its group, 0 where missing, [rows, variables]."""
    found = np.zeros(codes.shape)
    values = {name: as_floats(name, frame[name], binning.unit) for name, binning in net.binnings.items()}
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


def query(net: BayesNet, targets: str | Sequence[str], given: Mapping[str, Any], max_memory: float) -> pd.Series:
    """Posterior of the targets, see ``BayesNet.query``."""
    import pandas as pd

    wanted = [targets] if isinstance(targets, str) else list(targets)
    check_targets(net, wanted, given)
    probabilities = joint(net, wanted, observation_weights(net, given), max_memory)
    for axis, name in enumerate(wanted):
        probabilities = _over_levels(net, name, probabilities, axis)
    axes = [states(net, name) for name in wanted]
    index = axes[0] if len(axes) == 1 else pd.MultiIndex.from_product(axes, names=wanted)
    return pd.Series(probabilities.ravel(), index=index, name="probability")


def density(
    net: BayesNet, target: str, given: Mapping[str, Any], max_memory: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Edges and posterior density of a continuous variable, see ``BayesNet.density``."""
    check_targets(net, [target], given)
    edges = net.bin_edges(target)
    if edges[0] == edges[-1]:
        raise ValueError(f"{target!r} is constant ({edges[0]:g}) and has no density; use query instead")
    if edges[-2] == edges[-1]:
        raise ValueError(
            f"{target!r} has a cut at its largest value {edges[-1]:g}, an atom without density; use query instead"
        )
    probabilities = joint(net, [target], observation_weights(net, given), max_memory)
    found = lean(net, target, *_as_row(net, given)) if target in net.lines else None
    own = None if found is None else found.take(0)
    pieces, of, share = net.inside(target).pieces(own)
    return pieces, probabilities[of] * share / np.diff(pieces)


def _as_row(net: BayesNet, given: Mapping[str, Any]) -> tuple[NDArray[np.int32], dict[str, NDArray[np.float64]]]:
    """What is given as a row of codes and its numbers, missing where it is not one state or not one number."""
    codes, values = np.full((1, len(net.names)), MISSING, np.int32), {n: np.full(1, np.nan) for n in net.binnings}
    for name, weights in observation_weights(net, given).items():
        if np.count_nonzero(weights) == 1:
            codes[0, net.names.index(name)] = weights.argmax()
        if name in net.binnings and as_weights(name, given[name]) is None and as_range(net, name, given[name]) is None:
            members = as_members(net, name, given[name])
            values[name][0] = members[0] if len(members) == 1 else np.nan
    return codes, values


def cpt(net: BayesNet, name: str) -> pd.DataFrame:
    """The conditional table of a variable, see ``BayesNet.cpt``."""
    import pandas as pd

    check_targets(net, [name], {})

    def labels(of: str) -> pd.Index:
        if of not in net.groupings:
            return states(net, of)
        return pd.Index([", ".join(map(str, group)) for group in net.groupings[of].groups], name=of)

    table, found = net.tables[name], net.parents[name]
    axes = [labels(parent) for parent in found]
    index = pd.MultiIndex.from_product(axes, names=found) if len(axes) > 1 else axes[0] if axes else None
    return pd.DataFrame(table.reshape(-1, table.shape[-1]), index=index, columns=labels(name))


def predict_proba(
    net: BayesNet,
    data: Any,
    target: str,
    unknown: Unknown,
    max_memory: float,
    soft: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Posterior of the target for each row, see ``BayesNet.predict_proba``."""
    import pandas as pd

    check_targets(net, [target], {})
    index = data.index if isinstance(data, pd.DataFrame) else None
    frame = with_signs(as_frame(data).drop(columns=target, errors="ignore"), net.names)
    asked = (target, missing_flag_name(target))  # whether the target is missing is not looked at
    told = {*asked, *(soft or {}), *frame.columns}
    tell_absent(net, [name for name in net.names if name not in told])
    codes = encode_frame(net, frame, unknown, optional=net.names)
    evidence = {}
    for name, value in (soft or {}).items():
        check_targets(net, [name], {target: None})
        evidence[net.names.index(name)] = _log_likelihoods(net, name, value, len(codes))
        codes[:, net.names.index(name)] = MISSING
    target_place = net.names.index(target)
    logs = answers.log_posterior(net.network, codes, target_place, evidence=evidence, max_memory=max_memory)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    chances = _over_levels(net, target, weights / weights.sum(axis=1, keepdims=True), 1)
    return pd.DataFrame(chances, index=index, columns=states(net, target))


def _log_likelihoods(net: BayesNet, name: str, value: Any, n_rows: int) -> NDArray[np.float64]:
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


def predict(
    net: BayesNet, data: Any, target: str, returns: Returns, unknown: Unknown, max_memory: float
) -> pd.Series | pd.DataFrame:
    """Most probable state of the target for each row, or its mean or quantiles, see ``BayesNet.predict``."""
    import pandas as pd

    check_returns(returns)
    probabilities = predict_proba(net, data, target, unknown, max_memory)
    if not (isinstance(returns, str) and returns == "state"):
        if target not in net.binnings:
            return points(None, probabilities, target, returns)
        found = _lean_of_rows(net, data, target, unknown)
        return points(net.inside(target), probabilities, target, returns, net.binnings[target].unit, found)
    best = probabilities.to_numpy().argmax(axis=1)
    return pd.Series(probabilities.columns.take(best), index=probabilities.index, name=target)


def expected(net: BayesNet, data: Any, target: str, unknown: Unknown, max_memory: float) -> pd.Series:
    """The mean of a continuous target for each row, as a number whatever its unit."""
    import pandas as pd

    chances, found = predict_proba(net, data, target, unknown, max_memory), _lean_of_rows(net, data, target, unknown)
    return pd.Series(means(net.inside(target), chances.to_numpy(), found), index=chances.index)


def _lean_of_rows(net: BayesNet, data: Any, target: str, unknown: Unknown) -> Lean | None:
    """How the target leans inside each of its bins, given the other columns, [rows, bins]."""
    if target not in net.lines:
        return None
    frame = with_signs(as_frame(data).drop(columns=target, errors="ignore"), net.names)
    values = {
        name: as_floats(name, frame[name], net.binnings[name].unit)
        if name in frame.columns
        else np.full(len(frame), np.nan)
        for name in net.lines[target].parents
    }
    return lean(net, target, encode_frame(net, frame, unknown, optional=net.names), values)


def describe(net: BayesNet) -> str:
    """The network in a few lines: one for each variable, with its parents and number of states."""
    arcs = sum(map(len, net.parents.values()))
    fitted = f", fitted to {net.n_rows} rows, score {net.score:.2f}" if net.n_rows else ""
    count = f"{len(net.names)} variable{'s' * (len(net.names) != 1)} ({len(net.binnings)} continuous)"
    heads = [f"{name} <- {', '.join(found)}" if found else name for name, found in net.parents.items()]
    width = max(map(len, heads)) + 4
    lines = [f"  {h:<{width}} {_size(net, name)}" for h, name in zip(heads, net.names, strict=True)]
    return "\n".join([f"BayesNet: {count}, {arcs} arc{'s' * (arcs != 1)}{fitted}", *lines])


def _size(net: BayesNet, name: str) -> str:
    size = count_states(net, name)
    return f"{size} of {len(net.levels[name])} levels" if name in net.groupings else size


def _over_levels(net: BayesNet, name: str, chances: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Chances of a grouped variable's groups shared out among its levels; those of other variables as they are."""
    if name not in net.groupings:
        return chances
    shape = [-1 if i == axis else 1 for i in range(chances.ndim)]
    return np.take(chances, net.group_codes[name], axis=axis) * net.shares[name].reshape(shape)


def decode(
    net: BayesNet,
    name: str,
    codes: NDArray[np.int64],
    rng: np.random.Generator,
    shares: NDArray[np.float64] | None = None,
) -> Any:
    """Levels drawn inside states; ``shares`` of the levels of a grouped variable in place of its own."""
    if name in net.groupings:
        codes = draw_levels(net, name, codes, rng, shares)
    levels = net.levels[name]
    of_one_kind = {type(level) for level in levels} in ({bool}, {int}, {float}, {int, float})
    return np.array(levels, None if of_one_kind else object)[codes]


def draw_levels(
    net: BayesNet,
    name: str,
    groups: NDArray[np.int64],
    rng: np.random.Generator,
    shares: NDArray[np.float64] | None = None,
) -> NDArray[np.int64]:
    """A level of each row's group, by its share of the group."""
    shares = net.shares[name] if shares is None else shares
    group_of, drawn = net.group_codes[name], np.empty(len(groups), np.int64)
    chances = rng.random(len(groups))
    for group in np.unique(groups):
        members, rows = np.flatnonzero(group_of == group), groups == group
        ends = np.cumsum(shares[members])
        found = np.searchsorted(ends, chances[rows] * ends[-1], side="right")
        drawn[rows] = members[np.minimum(found, len(members) - 1)]
    return drawn


def check_targets(net: BayesNet, targets: Sequence[str], given: Mapping[str, Any]) -> None:
    """Refuse targets that are unknown, given or named twice."""
    if not targets:
        raise ValueError("targets is empty; name at least one variable")
    for name in targets:
        if name not in net.parents:
            raise ValueError(f"{name!r} is not a variable of the network; {suggest(name, net.parents)}")
        if name in given:
            raise ValueError(f"{name!r} is both a target and given; leave it out of one of them")
    repeated = {name for name in targets if list(targets).count(name) > 1}
    if repeated:
        raise ValueError(f"targets repeat {sorted(repeated)}; name each variable once")
