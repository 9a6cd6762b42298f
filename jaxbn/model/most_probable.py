"""The most probable states of everything together: elimination by maxima in place of sums."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxbn.model.fitted import Fitted
from jaxbn.model.inference.elimination import LOG_MAXIMA, Array
from jaxbn.model.inference.questions import follow, impossible, log_chance, logarithms, question, route
from jaxbn.model.observations import level_weights, observation_weights
from jaxbn.model.queries import states
from jaxbn.structure.constraints import bits

CLOSE = 1e-10  # logarithms that differ by less are tied: rounding moves them by about 1e-13


class MostProbable(NamedTuple):
    """A most probable assignment of all variables, given what is known.

    Attributes:
        states: of every variable a level, or a left-closed ``pandas.Interval``.
        probability: of these states together, given what is known.
        tied: variables that have another state in some assignment that is as probable, empty where the answer is the
            only one; of several answers, variables in which equally probable ones among them differ.

    Example:
        >>> jaxbn.fit({"x": ["a", "b", "b"]}, {}, {}).most_probable()
        MostProbable(states={'x': 'b'}, probability=0.6, tied=())
    """

    states: dict[str, Any]
    probability: float
    tied: tuple[str, ...]


def most_probable(net: Fitted, given: Mapping[str, Any], k: int | None) -> list[MostProbable]:
    """The k most probable assignments, see ``BayesNet.most_probable``; without k, the first with all its ties."""
    weights = observation_weights(net, given)
    asked = question(net, {name: weight for name, weight in weights.items() if name not in net.groupings})
    levels = {net.names.index(name): _levels(net, name, given) for name in net.groupings}
    way = route(net.network, asked, whole=True)
    soft = logarithms(asked.soft) | {v: logs.max(axis=1) for v, logs in levels.items()}
    done, scales = follow(way, net.network.log_tables, asked, soft, LOG_MAXIMA)
    known = {v: asked.states[v] for v in bits(asked.known)}
    # without the roots, whose maxima `best_assignments` adds itself
    scales = scales[: len(way.constants)] + [math.log(weights[net.names[v]][state]) for v, state in known.items()]
    shift = math.fsum(scales) - log_chance(net, weights)
    shown = []
    for log, codes in done.best_assignments(k or 1, levels):
        if log + shift > -math.inf:  # and no NaN either
            shown.append((log + shift, codes | known | {v: codes[~v] for v in levels}))
    if not shown:
        raise impossible(given)
    tied = set()
    if k is None:
        for step, near in zip(way.plan.steps, done.beliefs(np.max), strict=True):
            if np.count_nonzero(near.reshape(-1, near.shape[-1]).max(axis=0) >= 1 - CLOSE) > 1:
                tied.add(step.variable)
        for v, logs in levels.items():
            own = logs[net.group_codes[net.names[v]][shown[0][1][v]]]
            if (own >= own.max() - CLOSE).sum() > 1:
                tied.add(v)
    found = []
    for log, codes in shown:
        equal = [each for other, each in shown if abs(other - log) <= CLOSE]
        odd = tied or {v for v in codes if any(each[v] != codes[v] for each in equal)}
        raw = {name: states(net, name)[codes[i]] for i, name in enumerate(net.names)}
        named = {name: state.item() if isinstance(state, np.generic) else state for name, state in raw.items()}
        odd_names = tuple(name for i, name in enumerate(net.names) if i in odd)
        found.append(MostProbable(named, min(math.exp(log), 1.0), odd_names))
    return found


def _levels(net: Fitted, name: str, given: Mapping[str, Any]) -> Array:
    """Ln P(level | group) of the levels that a grouped variable may have, -inf of all others, [groups, levels]."""
    shares = net.shares[name] * (level_weights(net, name, given[name]) if name in given else 1.0)
    inside = np.arange(net.cardinalities[name])[:, None] == net.group_codes[name]
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(inside, np.log(shares), -np.inf))
