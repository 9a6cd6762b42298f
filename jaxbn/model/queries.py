"""What a fitted network answers, in original units and levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.words import rounded
from jaxbn.inputs import checks
from jaxbn.inputs.checks import suggest
from jaxbn.inputs.columns import encode
from jaxbn.inputs.graph import topological_order
from jaxbn.inputs.states import sign_name, with_signs
from jaxbn.inputs.table import as_frame
from jaxbn.model.inference import joint, row_log_joint
from jaxbn.model.notices import tell_absent
from jaxbn.model.observations import Unknown, encode_rows, observation_weights
from jaxbn.model.point_predictions import Give, check_give, points
from jaxbn.model.words import count_states
from jaxbn.runtime.memory import check_room

if TYPE_CHECKING:
    import pandas as pd

    from jaxbn.model.bayesnet import BayesNet


def states(net: BayesNet, name: str) -> pd.Index:
    """A variable's states as users see them: levels, or left-closed intervals whose outer ends are open."""
    import pandas as pd

    if name in net.policies:
        breaks = [-np.inf, *rounded(net.policies[name].edges.tolist(), among=net.bounds[name]), np.inf]
        return pd.IntervalIndex.from_breaks(breaks, closed="left", name=name)
    return pd.Index(list(net.levels[name]), name=name)


def log_likelihood(net: BayesNet, data: Any, unknown: Unknown, max_memory: float) -> NDArray[np.float64]:
    """Log density of each row, see ``BayesNet.log_likelihood``."""
    codes = encode_rows(net, data, unknown=unknown)
    result = row_log_joint(net, codes, max_memory=max_memory)
    for i, name in enumerate(net.names):
        if name in net.policies:
            result -= _log_widths(net, name)[codes[:, i]]
    for name, shares in net.shares.items():
        level = encode(as_frame(data)[name], net.levels[name], name=name, unknown=unknown)
        result += np.append(np.log(shares), 0.0)[level]  # a missing entry, of code -1, picks the last
    return result


def query(net: BayesNet, targets: str | Sequence[str], given: Mapping[str, Any], max_memory: float) -> pd.Series:
    """Posterior of the targets, see ``BayesNet.query``."""
    import pandas as pd

    wanted = [targets] if isinstance(targets, str) else list(targets)
    _check_targets(net, wanted, given)
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
    _check_targets(net, [target], given)
    edges = net.edges(target)
    if edges[0] == edges[-1]:
        raise ValueError(f"{target!r} is constant ({edges[0]:g}) and has no density; use query instead")
    if edges[-2] == edges[-1]:
        raise ValueError(
            f"{target!r} has a cut at its largest value {edges[-1]:g}, an atom without density; use query instead"
        )
    probabilities = joint(net, [target], observation_weights(net, given), max_memory)
    return edges, probabilities / np.diff(edges)


def predict_proba(net: BayesNet, data: Any, target: str, unknown: Unknown, max_memory: float) -> pd.DataFrame:
    """Posterior of the target for each row, see ``BayesNet.predict_proba``."""
    import pandas as pd

    _check_targets(net, [target], {})
    index = data.index if isinstance(data, pd.DataFrame) else None
    frame = with_signs(as_frame(data).drop(columns=target, errors="ignore"), net.names)
    asked = (target, sign_name(target))  # whether the target is missing is not looked at
    tell_absent(net, [name for name in net.names if name not in asked and name not in frame.columns])
    codes = encode_rows(net, frame, unknown=unknown, optional=net.names)
    logs = row_log_joint(net, codes, target, max_memory)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    chances = _over_levels(net, target, weights / weights.sum(axis=1, keepdims=True), 1)
    return pd.DataFrame(chances, index=index, columns=states(net, target))


def predict(
    net: BayesNet, data: Any, target: str, give: Give, unknown: Unknown, max_memory: float
) -> pd.Series | pd.DataFrame:
    """Most probable state of the target for each row, or its mean or quantiles, see ``BayesNet.predict``."""
    import pandas as pd

    check_give(give)
    probabilities = predict_proba(net, data, target, unknown, max_memory)
    if not (isinstance(give, str) and give == "state"):
        return points(net.edges(target) if target in net.policies else None, probabilities, target, give)
    best = probabilities.to_numpy().argmax(axis=1)
    return pd.Series(probabilities.columns.take(best), index=probabilities.index, name=target)


def sample(net: BayesNet, n: int, seed: int | np.random.Generator) -> pd.DataFrame:
    """Rows drawn from the network, see ``BayesNet.sample``."""
    import pandas as pd

    checks.at_least("n", n, 0)
    widest = max(net.cardinalities.values(), default=1)
    check_room(8 * n * (3 * len(net.names) + 3 * widest), f"drawing {n:,} rows", "draw fewer at a time")
    rng = np.random.default_rng(seed)
    codes: dict[str, NDArray[np.int64]] = {}
    for name in topological_order(net.parents):
        chances = net.tables[name][tuple(codes[p] for p in net.parents[name])]  # [n, K], or [K] without parents
        cumulative = np.cumsum(chances, axis=-1)
        drawn = rng.random((n, 1)) * cumulative[..., -1:]
        codes[name] = np.minimum((drawn >= cumulative).sum(axis=-1), net.cardinalities[name] - 1)
    return pd.DataFrame({name: _decode(net, name, codes[name], rng) for name in net.names})


def describe(net: BayesNet) -> str:
    """The network in a few lines: one for each variable, with its parents and number of states."""
    arcs = sum(map(len, net.parents.values()))
    fitted = f", fitted to {net.n_rows} rows, score {net.score:.2f}" if net.n_rows else ""
    count = f"{len(net.names)} variable{'s' * (len(net.names) != 1)} ({len(net.policies)} continuous)"
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


def _log_widths(net: BayesNet, name: str) -> NDArray[np.float64]:
    """Log width of each bin and a 0 for missing entries, whose code -1 picks the last element."""
    widths = np.diff(net.edges(name))
    return np.append(np.log(np.where(widths > 0, widths, 1.0)), 0.0)


def _decode(net: BayesNet, name: str, codes: NDArray[np.int64], rng: np.random.Generator) -> Any:
    if name in net.groupings:
        codes = draw_levels(net, name, codes, rng)
    if name not in net.policies:
        levels = net.levels[name]
        of_one_kind = {type(level) for level in levels} in ({bool}, {int}, {float}, {int, float})
        return np.array(levels, None if of_one_kind else object)[codes]
    return draw_inside_bins(net, name, codes, rng)


def draw_inside_bins(
    net: BayesNet, name: str, codes: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """A number inside each bin, uniformly."""
    edges = net.edges(name)
    left, right = edges[codes], edges[codes + 1]
    values = left + rng.random(len(codes)) * (right - left)
    inner = codes < len(edges) - 2  # rounding may reach the right edge, which belongs to the next bin
    return np.where(inner, np.minimum(values, np.nextafter(right, -np.inf)), np.minimum(values, right))


def draw_levels(net: BayesNet, name: str, groups: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """A level of each row's group, by its share of the group."""
    group_of, drawn = net.group_codes[name], np.empty(len(groups), np.int64)
    chances = rng.random(len(groups))
    for group in np.unique(groups):
        members, rows = np.flatnonzero(group_of == group), groups == group
        ends = np.cumsum(net.shares[name][members])
        found = np.searchsorted(ends, chances[rows] * ends[-1], side="right")
        drawn[rows] = members[np.minimum(found, len(members) - 1)]
    return drawn


def _check_targets(net: BayesNet, targets: Sequence[str], given: Mapping[str, Any]) -> None:
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
