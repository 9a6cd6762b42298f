"""The most probable states of everything together: elimination that keeps lists of the best in place of sums.

Of every cell of a step's table the k best ways to choose the variables eliminated so far are kept, in logarithms and
best first; places in these lists, read backwards, give the states.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.model.holes.elimination import LOG_MAXIMA, Array, Forward, Plan, beliefs_of
from jaxbn.model.inference import factors, follow, log_chance, logarithms, question, route
from jaxbn.model.observations import level_weights, observation_weights

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet

CLOSE = 1e-10  # logarithms that differ by less are tied: rounding moves them by about 1e-13


class MostProbable(NamedTuple):
    """A most probable assignment of all variables, given what is known.

    Attributes:
        states: of every variable a level, or a left-closed ``pandas.Interval``.
        probability: of these states together, given what is known.
        tied: variables that have another state in some assignment that is as probable, empty where the answer is the
            only one; of several answers, variables in which equally probable ones among them differ.

    Example:
        >>> import jaxbn
        >>> jaxbn.fit({"x": ["a", "b", "b"]}, {}, {}).most_probable()
        MostProbable(states={'x': 'b'}, probability=0.6, tied=())
    """

    states: dict[str, Any]
    probability: float
    tied: tuple[str, ...]


def most_probable(net: BayesNet, given: Mapping[str, Any], k: int | None, max_memory: float) -> list[MostProbable]:
    """The k most probable assignments, see ``BayesNet.most_probable``; without k, the first with all its ties."""
    weights = observation_weights(net, given)
    asked = question(net, {name: weight for name, weight in weights.items() if name not in net.groupings})
    levels = {net.names.index(name): _levels(net, name, given) for name in net.groupings}
    tables, soft = net.network.log_tables, logarithms(asked.soft)
    found = route(net.network, asked, whole=True, max_memory=max_memory / (k or 1) ** 2)
    lists = {variable: logs for variable, (logs, _) in levels.items()}
    best = _best(found.plan, factors(found, tables, asked, soft), lists, k or 1)
    known = [math.log(weights[net.names[v]][asked.states[v]]) for v in asked.known]
    known += [tables[child][at(asked.states)].item() for child, at, _, _ in found.constants]
    shift = math.fsum(known) - log_chance(net, weights, max_memory)
    best = [(log + shift, codes) for log, codes in best if log + shift > -math.inf]  # no NaN either
    if not best:
        raise ValueError(f"what is given on {', '.join(map(repr, given))} has probability 0 under the network")
    shown, tied = [], set()
    for log, codes in best:
        inside = {v: order[codes[v]][codes[~v]] for v, (_, order) in levels.items()}
        certain = {v: asked.states[v] for v in asked.known}
        shown.append((log, codes | inside | certain))
    if k is None:
        done, _ = follow(found, tables, asked, soft | {v: logs[:, 0] for v, logs in lists.items()}, LOG_MAXIMA)
        tied = _tied(found.plan, done)
        tied |= {v for v, logs in lists.items() if (logs[best[0][1][v]] >= logs[best[0][1][v], 0] - CLOSE).sum() > 1}
    return [_answer(net, log, codes, tied or _differing(log, shown)) for log, codes in shown]


def _levels(net: BayesNet, name: str, given: Mapping[str, Any]) -> tuple[Array, list[NDArray[np.intp]]]:
    """Ln P(level | group) of the levels a grouped variable may have, best first, [groups, any]; and which these are."""
    shares = net.shares[name] * (level_weights(net, name, given[name]) if name in given else 1.0)
    members = [np.flatnonzero(net.group_codes[name] == group) for group in range(net.cardinalities[name])]
    order = [found[np.argsort(-shares[found], kind="stable")] for found in members]
    logs = np.full((len(order), max(map(len, order))), -np.inf)
    with np.errstate(divide="ignore"):
        for row, found in zip(logs, order, strict=True):
            row[: len(found)] = np.log(shares[found])
    return logs, order


def _differing(log: float, answers: Sequence[tuple[float, dict[int, int]]]) -> set[int]:
    """Variables in which the equally probable ones of some answers differ."""
    equal = [codes for other, codes in answers if abs(other - log) <= CLOSE]
    return {v for v in equal[0] if any(codes[v] != equal[0][v] for codes in equal)}


def _answer(net: BayesNet, log: float, codes: Mapping[int, int], tied: Collection[int]) -> MostProbable:
    from jaxbn.model.queries import states

    found = {name: states(net, name)[codes[i]] for i, name in enumerate(net.names)}
    return MostProbable(found, min(math.exp(log), 1.0), tuple(name for i, name in enumerate(net.names) if i in tied))


class _Join(NamedTuple):
    """Two lists of each cell joined: where the best sums come from."""

    places: NDArray[np.intp]  # [..., k], the place in the first list times the length of the second, plus that in there
    length: int  # of the second list
    source: int  # the step that the second list comes from, or ~variable for its levels


def _join(first: Array, second: Array, k: int, source: int) -> tuple[Array, _Join]:
    """The k best sums of a member of each list, [..., k]."""
    sums = first[..., :, None] + second[..., None, :]
    sums = sums.reshape(*sums.shape[:-2], -1)
    places = _largest(sums, k)
    return np.take_along_axis(sums, places, -1), _Join(places, second.shape[-1], source)


def _largest(logs: Array, k: int) -> NDArray[np.intp]:
    """Where the k largest along the last axis are, largest first, the first of several that are equal."""
    return logs.argmax(axis=-1)[..., None] if k == 1 else np.argsort(-logs, axis=-1, kind="stable")[..., :k]


def _best(
    plan: Plan, own: Iterable[Sequence[Array]], levels: Mapping[int, Array], k: int
) -> list[tuple[float, dict[int, int]]]:
    """The k largest sums of factors, best first, with the states that give them, and at ~variable the places of levels.

    Args:
        plan: the steps.
        own: log tables of each step.
        levels: of some variables lists of what else may be added, best first, [states, any].
        k: how many are kept of each cell.
    """
    lists: list[Array] = []  # [*scope without the variable, k] of each step
    chosen: list[tuple[NDArray[np.intp], int]] = []  # states times the length of their lists, plus places in there
    joins: list[list[_Join]] = []
    for step, arrays in zip(plan.steps, own, strict=True):
        more = [(lists[i].reshape(*shape, -1), i) for i, shape in step.inflow]
        more += [(levels[v], ~v) for v in step.scope[-1:] if v in levels]
        total, joined = np.zeros((*step.shape, 1)), []
        for array in arrays:
            total = total + (array[0] if array.ndim > 1 else array)[..., None]
        for found, source in more:
            total, join = _join(total, found, k, source)
            joined.append(join)
        flat = total.reshape(*total.shape[:-2], -1)
        places = _largest(flat, k)
        lists.append(np.take_along_axis(flat, places, -1))
        chosen.append((places, total.shape[-1]))
        joins.append(joined)
    total, joined = np.zeros(1), []
    for i in plan.roots:
        total, join = _join(total, lists[i], k, i)
        joined.append(join)
    return [(float(log), _read_back(plan, chosen, joins, joined, i)) for i, log in enumerate(total)]


def _read_back(
    plan: Plan,
    chosen: Sequence[tuple[NDArray[np.intp], int]],
    joins: Sequence[Sequence[_Join]],
    roots: Sequence[_Join],
    place: int,
) -> dict[int, int]:
    """The states that give a member of the last list; see ``_best``."""
    codes: dict[int, int] = {}
    places: dict[int, int] = {}

    def split(joined: Sequence[_Join], cell: tuple[int, ...], place: int) -> None:
        for join in reversed(joined):
            place, places[join.source] = divmod(int(join.places[cell][place]), join.length)

    split(roots, (), place)
    for i in reversed(range(len(plan.steps))):
        scope, (found, length) = plan.steps[i].scope, chosen[i]
        cell = tuple([codes[v] for v in scope[:-1]])
        codes[scope[-1]], inside = divmod(int(found[cell][places[i]]), length)
        split(joins[i], (*cell, codes[scope[-1]]), inside)
    return codes | {source: at for source, at in places.items() if source < 0}


def _tied(plan: Plan, done: Forward) -> set[int]:
    """Variables that have another state in some assignment that is as probable as the best."""
    tied = set()
    for step, near in zip(plan.steps, beliefs_of(plan, done, np.max), strict=True):
        highest = near.reshape(-1, near.shape[-1]).max(axis=0)
        if np.count_nonzero(highest >= 1 - CLOSE) > 1:
            tied.add(step.variable)
    return tied
