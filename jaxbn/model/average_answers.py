"""What an average of networks answers: each network's answer weighs what it gives to what is known.

Networks have bins of their own; answers about a continuous variable are over the bins between the cuts of all.
Shapes: M networks, B rows, U bins between all cuts of a variable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.shapes.inside import InsideBins
from jaxbn.cuts.words import bin_words, rounded
from jaxbn.inputs import checks
from jaxbn.inputs.columns import Level
from jaxbn.inputs.table import as_frame
from jaxbn.inputs.units import NUMBER, from_numbers
from jaxbn.model import queries
from jaxbn.model.effects import in_units, mean_where_set, with_drawn_tables
from jaxbn.model.inference.questions import log_chance
from jaxbn.model.observations import Unknown, mean_density, observation_weights
from jaxbn.model.point_predictions import Give, check_give, points
from jaxbn.model.rows.sampling import sample as draw

if TYPE_CHECKING:
    import pandas as pd

    from jaxbn.model.bayesnet import BayesNet

Networks = Sequence["BayesNet"]


def check_networks(networks: Networks) -> None:
    """Refuse networks that cannot be averaged: none, or of different variables, levels or ranges."""
    if not networks:
        raise checks.ArgumentError("networks", "is empty; an average needs at least one network")
    first = networks[0]
    for i, net in enumerate(networks):
        same = net.names == first.names and net.levels == first.levels and net.bounds == first.bounds
        if not same:
            raise checks.ArgumentError(
                "networks",
                f"must have the same variables, levels and bounds, but network {i} differs from the first; "
                "fit all of them to the same rows",
            )


def log_likelihood(networks: Networks, data: Any, unknown: Unknown, max_memory: float) -> NDArray[np.float64]:
    """Log of the average density of each row [B]."""
    frame = as_frame(data)
    logs = [queries.log_likelihood(net, frame, unknown, max_memory) for net in networks]
    return np.asarray(np.logaddexp.reduce(logs, axis=0) - np.log(len(logs)))


def predict_proba(networks: Networks, data: Any, target: str, unknown: Unknown, max_memory: float) -> pd.DataFrame:
    """Probabilities of the target for each row; a network weighs its density of the row without the target."""
    import pandas as pd

    found = [queries.predict_proba(net, data, target, unknown, max_memory) for net in networks]
    index = found[0].index
    weights = _weights_of_rows(networks, data, target, unknown, max_memory)
    chances = sum(
        w[:, None] * (each.to_numpy() @ _shares(net, networks, target))
        for w, each, net in zip(weights, found, networks, strict=True)
    )
    chances = np.minimum(chances, 1.0)  # by rounding alone it can be more
    return pd.DataFrame(chances, index=index, columns=_states(networks, target))


def _weights_of_rows(
    networks: Networks, data: Any, target: str, unknown: Unknown, max_memory: float
) -> NDArray[np.float64]:
    """What each network weighs in each row: its density of the row without the target [M, B]."""
    frame = as_frame(data)
    hidden = {name: np.nan for name in networks[0].names if name == target or name not in frame.columns}
    frame = frame.assign(**hidden)
    return _shared_out(np.array([queries.log_likelihood(net, frame, unknown, max_memory) for net in networks]))


def predict(
    networks: Networks, data: Any, target: str, give: Give, unknown: Unknown, max_memory: float
) -> pd.Series | pd.DataFrame:
    """The most probable level, or the interval of highest density; or means or quantiles."""
    import pandas as pd

    check_give(give)
    inside = _inside(networks, target) if target in networks[0].binnings else None
    if inside is not None and isinstance(give, str) and give == "mean":
        found = pd.concat([queries.expected(net, data, target, unknown, max_memory) for net in networks], axis=1)
        mean = (_weights_of_rows(networks, data, target, unknown, max_memory).T * found.to_numpy()).sum(axis=1)
        return pd.Series(from_numbers(mean, networks[0].binnings[target].unit), index=found.index, name=target)
    chances = predict_proba(networks, data, target, unknown, max_memory)
    if not (isinstance(give, str) and give == "state"):
        unit = NUMBER if inside is None else networks[0].binnings[target].unit
        return points(inside, chances, target, give, unit)
    heights = chances.to_numpy()
    if inside is not None:
        widths = np.diff(inside.edges)
        heights = heights / np.where(widths > 0, widths, np.inf)
    return pd.Series(chances.columns.take(heights.argmax(axis=1)), index=chances.index, name=target)


def query(networks: Networks, targets: str | Sequence[str], given: Mapping[str, Any], max_memory: float) -> pd.Series:
    """Probabilities of the targets given some variables."""
    import pandas as pd

    wanted = [targets] if isinstance(targets, str) else list(targets)
    total: Any = 0.0
    for weight, net in zip(_weights(networks, given, max_memory), networks, strict=True):
        answer = queries.query(net, wanted, given, max_memory)
        sizes = [len(queries.states(net, name)) for name in wanted]
        chances = answer.to_numpy().reshape(sizes)
        for axis, name in enumerate(wanted):
            chances = np.moveaxis(np.tensordot(chances, _shares(net, networks, name), (axis, 0)), -1, axis)
        total = total + weight * chances
    axes = [_states(networks, name) for name in wanted]
    index = axes[0] if len(axes) == 1 else pd.MultiIndex.from_product(axes, names=wanted)
    return pd.Series(np.asarray(total).ravel(), index=index, name="probability")


def density(
    networks: Networks, target: str, given: Mapping[str, Any], max_memory: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Edges [U + 1] and density [U] of a continuous variable."""
    found = [queries.density(net, target, given, max_memory) for net in networks]
    edges = np.unique(np.concatenate([own for own, _ in found]))
    middles = (edges[1:] + edges[:-1]) / 2
    total = np.zeros(len(middles))
    for weight, (own, heights) in zip(_weights(networks, given, max_memory), found, strict=True):
        total += weight * heights[np.searchsorted(own, middles, side="right") - 1]
    return edges, total


def effect(
    networks: Networks,
    cause: str,
    outcome: str,
    level: Level | None,
    coverage: float,
    seed: int | np.random.Generator,
    max_memory: float,
) -> pd.DataFrame:
    """The mean of the outcome where the cause is set, over all networks; see ``AverageNet.effect``."""
    import pandas as pd

    if not (checks.is_number(coverage) and 0 < coverage <= 1):
        raise checks.ArgumentError("coverage", f"must be a share above 0, at most 1, not {coverage!r}")
    rng = np.random.default_rng(seed)
    means, drawn = [], []
    for net in networks:
        own: Any = slice(None)
        if cause in net.binnings:  # of each bin between all cuts, by the network's own bin around it
            own = np.searchsorted(net.binnings[cause].cuts, _edges(networks, cause)[:-1], side="right")
        means.append(mean_where_set(net, cause, outcome, level, max_memory)[own])
        drawn.append(mean_where_set(with_drawn_tables(net, rng), cause, outcome, level, max_memory)[own])
    low, high = np.quantile(drawn, [(1 - coverage) / 2, (1 + coverage) / 2], axis=0)
    columns = {"mean": np.mean(means, axis=0), "low": low, "high": high}
    return pd.DataFrame(in_units(networks[0], outcome, columns), index=_states(networks, cause))


def sample(networks: Networks, n: int, seed: int | np.random.Generator) -> pd.DataFrame:
    """Rows drawn from the average."""
    import pandas as pd

    checks.at_least("n", n, 0)
    rng = np.random.default_rng(seed)
    chosen = rng.integers(len(networks), size=n)
    parts = [draw(net, int((chosen == m).sum()), rng, {}) for m, net in enumerate(networks)]
    rows = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    order = np.argsort(np.argsort(chosen, kind="stable"), kind="stable")
    return rows.iloc[order].reset_index(drop=True)


def _weights(networks: Networks, given: Mapping[str, Any], max_memory: float) -> NDArray[np.float64]:
    """What each network weighs, given some variables [M]: a value counts by its density, an interval by its chance."""
    if not given:
        return np.full(len(networks), 1 / len(networks))
    logs = np.array([_log_given(net, given, max_memory) for net in networks])
    if not np.isfinite(logs).any():
        raise ValueError(f"what is given on {', '.join(map(repr, given))} has probability 0 under all networks")
    return _shared_out(logs)


def _shared_out(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of the networks [M, ...] that add up to one, whatever the size of their logarithms."""
    weights = np.exp(logs - logs.max(axis=0))
    return np.asarray(weights / weights.sum(axis=0), np.float64)


def _log_given(net: BayesNet, given: Mapping[str, Any], max_memory: float) -> float:
    weights = observation_weights(net, given)
    for name, value in given.items():
        if name in net.binnings and np.count_nonzero(weights[name]) == 1 and not _is_interval(value):
            weights[name] = weights[name] * mean_density(net, name, value)
    return log_chance(net, weights, max_memory)


def _is_interval(value: Any) -> bool:
    """Whether it is a range of values, or likelihoods, which count by probability; one without length is a value."""
    import pandas as pd

    if isinstance(value, Mapping | pd.Series):
        return True
    if isinstance(value, pd.Interval):
        return bool(value.left != value.right)
    return isinstance(value, tuple) and len(value) == 2 and value[0] != value[1]


def _edges(networks: Networks, name: str) -> NDArray[np.float64]:
    """The edges of all networks together [U + 1], the outer ones included."""
    low, high = networks[0].bounds[name]
    inner = np.unique(np.concatenate([net.binnings[name].cuts for net in networks]))
    return np.array([low, *inner, high])


def _states(networks: Networks, name: str) -> pd.Index:
    """Levels, or the intervals between all cuts."""
    import pandas as pd

    if name not in networks[0].binnings:
        return queries.states(networks[0], name)
    inner = _edges(networks, name)[1:-1].tolist()
    unit = networks[0].binnings[name].unit
    if unit.kind != "number":
        return pd.Index(bin_words(inner, *networks[0].bounds[name], unit), name=name)
    breaks = [-np.inf, *rounded(inner, among=networks[0].bounds[name]), np.inf]
    return pd.IntervalIndex.from_breaks(breaks, closed="left", name=name)


def _shares(net: BayesNet, networks: Networks, name: str) -> NDArray[np.float64]:
    """How a network's probability of each of its states is shared among the common ones [own states, U]."""
    if name not in net.binnings:
        return np.eye(len(net.levels[name]))
    edges, own = _edges(networks, name), net.inside(name)
    of = np.minimum(np.searchsorted(own.edges[1:-1], edges[:-1], side="right"), len(own.measures) - 1)
    shares = np.zeros((len(own.measures), len(of)))
    shares[of, np.arange(len(of))] = np.diff(own.below(edges))
    totals = shares.sum(axis=1, keepdims=True)
    atoms = (totals == 0) & (np.arange(len(own.measures))[:, None] == of)  # bins without measure are as they are
    shares = np.where(totals > 0, shares / np.where(totals > 0, totals, 1.0), atoms)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _inside(networks: Networks, name: str) -> InsideBins:
    """The bins between the cuts of all networks, with the shape of the first: those of draws are the same."""
    return InsideBins(_edges(networks, name), networks[0].binnings[name].shape)
