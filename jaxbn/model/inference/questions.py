"""Exact answers to single questions.

A question is a row of which some is known. In which order the rest is summed out depends on what is known and asked,
not on the states, and is remembered for the next question of the same kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.model.fitted import Fitted
from jaxbn.model.inference.elimination import LOG_SUMS, SUMS, Arithmetic, Array, Component, Forward, Plan, plan
from jaxbn.model.inference.network import Network, Structure, draw_states
from jaxbn.structure.constraints import bits, mask_of, union_of

REMEMBERED = 1000  # routes of a network
ALL = slice(None)

Weights = Mapping[str, NDArray[np.float64]]
"""P(what is given | state) of each observed variable, up to a factor, [cardinality] each."""


class Question(NamedTuple):
    """What is known in a row."""

    states: list[Any]  # the known state of each variable, ``ALL`` of the others
    known: int  # the variables whose state is known, as a mask
    soft: dict[int, Array]  # weights of the states of other variables of which something is known


class Slice(NamedTuple):
    """A family's table at what is known, over the scope of the step that multiplies it."""

    child: int
    at: Callable[[Sequence[Any]], Any]  # from a question's states to an index of the table
    axes: Sequence[int]
    shape: Sequence[int]  # [1, *scope]


class Route(NamedTuple):
    """How questions of one kind are answered."""

    plan: Plan
    slices: list[list[Slice]]  # of each step
    constants: list[Slice]  # families that are known altogether


def question(net: Fitted, weights: Weights) -> Question:
    """The weights by position; where a single state has weight, it is known."""
    states: list[Any] = [ALL] * len(net.names)
    known, soft = 0, {}
    for name, weight in weights.items():
        variable, possible = net.names.index(name), weight.nonzero()[0]
        if len(possible) == 1:
            states[variable] = int(possible[0])
            known |= 1 << variable
        else:
            soft[variable] = weight
    return Question(states, known, soft)


def route(network: Network, asked: Question, keep: tuple[int, ...] = (), *, whole: bool = False) -> Route:
    """How to answer a question: looked up, or planned and remembered.

    `keep` are the variables that are asked about; what is not connected to them is left out, unless it might be
    impossible. With `whole`, hidden variables without known descendants are summed out too, for answers about the
    states of all.
    """
    kind = (asked.known, mask_of(asked.soft), keep, whole)
    found: Route | None = network.routes.get(kind)
    if found is None:
        if len(network.routes) >= REMEMBERED:
            network.routes.clear()
        found = network.routes[kind] = _route(network, *kind)
    found.plan.check()
    return found


def _route(network: Network, known: int, soft: int, keep: tuple[int, ...], whole: bool) -> Route:
    structure = network.structure
    # with what is known and asked about, its ancestors: all others are barren, and their tables sum to 1
    start = mask_of(range(len(structure.sizes))) if whole else known | soft | mask_of(keep)
    active = union_of(structure.ancestors, start)
    hidden = active & ~known
    # With targets, the other parts of the network cancel; they are looked at only to see if they have probability 0.
    counted = bits(active & ~network.positive if keep else active)
    start = mask_of(keep)
    for child in counted:
        start |= structure.masks[child] & hidden
    steps = plan(structure, _connected(structure, start, hidden, active), keep, once=True)

    def sliced(child: int, scope: tuple[int, ...] = ()) -> Slice:
        free = [v for v in structure.families[child] if hidden >> v & 1]
        axes = [0] if len(free) == 1 else sorted(range(len(free)), key=lambda i: scope.index(free[i]))
        shape = (1, *[structure.sizes[v] if v in free else 1 for v in scope])
        return Slice(child, itemgetter(*structure.families[child]), axes, shape)

    constants = [sliced(child) for child in counted if not structure.masks[child] & hidden]
    return Route(steps, [[sliced(child, step.scope) for child in step.families] for step in steps.steps], constants)


def _connected(structure: Structure, start: int, hidden: int, active: int) -> Component:
    """The components of some hidden variables, as one, all given as masks; tables of inactive variables sum to 1."""
    found, touched, stack = start, 0, bits(start)
    while stack:
        variable = stack.pop()
        for child in (variable, *structure.children[variable]):
            bit = 1 << child
            if active & bit and not touched & bit:
                touched |= bit
                new = structure.masks[child] & hidden & ~found
                if new:
                    found |= new
                    stack += bits(new)
    return Component(tuple(bits(found)), tuple(bits(touched)))


def follow(
    found: Route, tables: Sequence[Array], asked: Question, soft: Mapping[int, Array], arithmetic: Arithmetic
) -> tuple[Forward, list[float]]:
    """Eliminate along a route. The second result are scalar factors of the answer: the constants and the roots.

    Tables and `soft`, weights of states [K], are plain numbers or logarithms, as the arithmetic needs them.
    """
    states = asked.states

    def factors() -> Iterator[list[Array]]:
        for step, own in zip(found.plan.steps, found.slices, strict=True):
            arrays = [tables[child][at(states)].transpose(axes).reshape(shape) for child, at, axes, shape in own]
            if soft and step.variable in soft:
                arrays.append(soft[step.variable])
            yield arrays

    done = found.plan.eliminate(factors(), arithmetic)
    constants = [tables[child][at(states)].item() for child, at, _, _ in found.constants]
    return done, constants + [done.totals[k].item() for k in found.plan.roots]


def joint(net: Fitted, targets: Sequence[str], weights: Weights, network: Network | None = None) -> NDArray[np.float64]:
    """P(targets | what is given), [*cardinalities of the targets]; by default the tables are the net's own."""
    result, log_scale = _weighed(net, tuple(net.names.index(name) for name in targets), weights, network)
    total = result.sum()
    if not total > 0 or log_scale == -math.inf:
        raise impossible(weights)
    return np.asarray(result / total, np.float64)


def impossible(given: Mapping[str, Any]) -> ValueError:
    """The error about observations of probability 0."""
    return ValueError(f"what is given on {', '.join(map(repr, given))} has probability 0 under the network")


def log_chance(net: Fitted, weights: Weights) -> float:
    """Log of the sum over all states of their probability times their weight; -inf where that is 0."""
    _, log_scale = _weighed(net, (), weights)
    known = [float(weight.sum()) for weight in weights.values() if np.count_nonzero(weight) == 1]
    return log_scale + math.fsum(map(math.log, known))


def _weighed(
    net: Fitted, keep: tuple[int, ...], weights: Weights, network: Network | None = None
) -> tuple[Array, float]:
    """P(what is kept, what is given) up to a factor, and the logarithm of that factor."""
    network, asked = network or net.network, question(net, weights)
    found = route(network, asked, keep)
    try:
        with np.errstate(under="raise", over="raise"):
            done, scales = follow(found, network.tables, asked, asked.soft, SUMS)
        table, peak = done.products[-1][0] if keep else np.ones(()), 0.0
        logs = [math.log(scale) if scale > 0 else -math.inf for scale in scales]
    except FloatingPointError:  # too small for plain numbers: slower by logarithms
        done, logs = follow(found, network.log_tables, asked, logarithms(asked.soft), LOG_SUMS)
        table = done.products[-1][0] if keep else np.zeros(())
        peak = float(table.max())
        table = np.exp(table - peak) if peak > -math.inf else np.zeros(table.shape)
    return table, peak + math.fsum(logs) if -math.inf not in logs else -math.inf


def logarithms(soft: Mapping[int, Array]) -> dict[int, Array]:
    """Logarithms of weights; -inf where they are 0."""
    with np.errstate(divide="ignore"):
        return {variable: np.log(weight) for variable, weight in soft.items()}


def draw_codes(
    net: Fitted, n: int, rng: np.random.Generator, weights: Weights | None = None, network: Network | None = None
) -> NDArray[np.int64]:
    """States of n rows, [n, variables], drawn from their exact joint posterior given what is known."""
    codes, network = np.empty((n, len(net.names)), np.int64), network or net.network
    if not weights:
        for v in network.structure.order:
            table = network.tables[v][tuple(codes[:, p] for p in network.structure.parents[v])]
            codes[:, v] = draw_states(np.atleast_2d(table), rng.random(n))
        return codes
    asked = question(net, weights)
    found = route(network, asked, whole=True)
    done, scales = follow(found, network.log_tables, asked, logarithms(asked.soft), LOG_SUMS)
    if -math.inf in scales:
        raise impossible(weights)
    for v in bits(asked.known):
        codes[:, v] = asked.states[v]

    def draw(logs: Array, _variable: int, _rows: Any) -> NDArray[np.int64]:
        return draw_states(np.exp(logs - logs.max(axis=1, keepdims=True)), rng.random(n))

    done.choose_backwards(codes, ALL, np.zeros(n, np.intp), draw)
    return codes


# --- for pages and pictures: exactly, or from drawn rows where that would take too long

MOST_SUMMED = 2_000_000  # numbers that exact answers sum over, for all variables, at most: a page asks hundreds
DRAWN = 20_000  # rows that are drawn where it would be more
Chances = Callable[[Sequence[str]], NDArray[np.float64]]  # from names of variables to the chances of their states


def chances_of(net: Fitted) -> Chances:
    """How probable the states of a network's variables are."""
    if is_small(net):
        return lambda names: joint(net, names, {})
    codes = draw_codes(net, DRAWN, np.random.default_rng(0))

    def counted(names: Sequence[str]) -> NDArray[np.float64]:
        shape = [net.cardinalities[name] for name in names]
        cell = np.ravel_multi_index(tuple(codes[:, net.names.index(name)] for name in names), shape)
        return np.bincount(cell, minlength=math.prod(shape)).reshape(shape) / DRAWN

    return counted


def is_small(net: Fitted) -> bool:
    """Whether hundreds of exact answers take no time."""
    return n_summed(net) <= MOST_SUMMED


def n_summed(net: Fitted) -> int:
    """How many numbers all variables together are summed over."""
    whole = tuple(range(len(net.names)))
    return plan(net.network.structure, Component(whole, whole)).cells
