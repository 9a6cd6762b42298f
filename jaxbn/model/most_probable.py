"""The most probable state of everything together, by max-product elimination.

Variables are maximized out one after the other, always the one whose table is then smallest; the tables that a variable
was maximized in are kept, and read backwards they give the best states. All in logarithms, so that nothing underflows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.model.contraction import BYTES, contract, plan
from jaxbn.model.inference import ancestors
from jaxbn.model.observations import level_weights, observation_weights
from jaxbn.runtime.memory import in_words

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet

CLOSE = 1e-10  # logarithms that differ by less are tied: rounding moves them by about 1e-13


class MostProbable(NamedTuple):
    """The most probable assignment of all variables, given what is known.

    Attributes:
        states: of every variable a level, or a left-closed ``pandas.Interval``.
        probability: of these states together, given what is known.
        tied: variables that have another state in some assignment that is as probable; empty where the answer is the
            only one.
    """

    states: dict[str, Any]
    probability: float
    tied: tuple[str, ...]


class _Factor(NamedTuple):
    axes: tuple[str, ...]
    logs: NDArray[np.float64]  # [cardinality of each axis]


def most_probable(net: BayesNet, given: Mapping[str, Any], max_memory: float) -> MostProbable:
    """The most probable states, see ``BayesNet.most_probable``."""
    from jaxbn.model.queries import states

    weights = observation_weights(net, given)
    levels = {name: _shares(net, name, given) for name in net.groupings}
    best_share = {name: _largest(net, name, shares) for name, shares in levels.items()}
    factors = _factors(net, {**weights, **best_share})
    steps, top = _maximize(factors, net.cardinalities, max_memory)
    if top == -math.inf:
        raise ValueError(f"what is given on {', '.join(map(repr, given))} has probability 0 under the network")
    codes, tied = _read_back(steps), _tied(steps)
    found: dict[str, Any] = {}
    for name in net.names:
        code = codes[name]
        if name in levels:
            inside = np.where(net.group_codes[name] == code, levels[name], 0.0)
            code = int(np.argmax(inside))
            if np.count_nonzero(inside >= inside[code] * (1 - CLOSE)) > 1:
                tied.add(name)
        found[name] = states(net, name)[code]
    probability = math.exp(top - _log_probability(net, weights, max_memory))
    return MostProbable(found, min(probability, 1.0), tuple(name for name in net.names if name in tied))


def _shares(net: BayesNet, name: str, given: Mapping[str, Any]) -> NDArray[np.float64]:
    """P(level | group) of the levels that a grouped variable may have, 0 for the others."""
    shares = net.shares[name]
    return shares * level_weights(net, name, given[name]) if name in given else shares


def _largest(net: BayesNet, name: str, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    result = np.zeros(net.cardinalities[name])
    np.maximum.at(result, net.group_codes[name], shares)
    return result


def _factors(net: BayesNet, weights: Mapping[str, NDArray[np.float64]]) -> list[_Factor]:
    with np.errstate(divide="ignore"):  # ln 0 = -inf is right
        tables = [_Factor((*net.parents[name], name), np.log(net.tables[name])) for name in net.names]
        return tables + [_Factor((name,), np.log(weight)) for name, weight in weights.items()]


def _maximize(
    factors: Sequence[_Factor], sizes: Mapping[str, int], max_memory: float
) -> tuple[list[tuple[str, _Factor]], float]:
    """Each variable with the factor it was maximized in, its axis last, in order; and the maximum."""
    open_factors, steps, top = list(factors), [], 0.0
    left = dict.fromkeys(sizes)
    while left:
        scopes = {name: _scope(open_factors, name) for name in left}
        name = min(left, key=lambda name: math.prod(sizes[axis] for axis in scopes[name]))
        axes = scopes[name]
        cells = math.prod(sizes[axis] for axis in axes)
        if cells * BYTES > max_memory:
            raise MemoryError(
                f"the most probable states need an array of {cells:,} numbers, {in_words(cells * BYTES)}, more than "
                f"max_memory = {in_words(max_memory)}; give more that is known, or raise max_memory"
            )
        logs = np.zeros([sizes[axis] for axis in axes])
        for factor in open_factors:
            if name in factor.axes:
                logs += _spread(factor, axes)
        open_factors = [factor for factor in open_factors if name not in factor.axes]
        steps.append((name, _Factor(axes, logs)))
        rest = _Factor(axes[:-1], logs.max(axis=-1))
        if rest.axes:
            open_factors.append(rest)
        else:
            top += float(rest.logs)
        del left[name]
    return steps, top


def _scope(factors: Sequence[_Factor], name: str) -> tuple[str, ...]:
    """The variables that share a factor with this one, itself last."""
    near = dict.fromkeys(axis for factor in factors if name in factor.axes for axis in factor.axes)
    near.pop(name, None)
    return (*near, name)


def _spread(factor: _Factor, axes: Sequence[str]) -> NDArray[np.float64]:
    """The factor with its axes in this order, of length 1 where it has none."""
    order = [factor.axes.index(axis) for axis in axes if axis in factor.axes]
    turned = factor.logs.transpose(order)
    shape = iter(turned.shape)
    return turned.reshape([next(shape) if axis in factor.axes else 1 for axis in axes])


def _read_back(steps: Sequence[tuple[str, _Factor]]) -> dict[str, int]:
    """The best state of each variable, the first of several."""
    codes: dict[str, int] = {}
    for name, factor in reversed(steps):
        logs = factor.logs[tuple(codes[axis] for axis in factor.axes[:-1])]
        codes[name] = int(np.flatnonzero(logs >= logs.max() - CLOSE)[0])
    return codes


def _tied(steps: Sequence[tuple[str, _Factor]]) -> set[str]:
    """Variables that have another state in some assignment that is as probable.

    The maximum over all other variables, for each state: what comes from the variables maximized out before is in a
    step's factor, what comes from those after it is passed back from the step that took its maximum over.
    """
    place = {name: k for k, (name, _) in enumerate(steps)}
    whole: dict[int, _Factor] = {}
    tied = set()
    for k in reversed(range(len(steps))):
        name, (axes, logs) = steps[k]
        if len(axes) > 1:
            above = whole[min(place[axis] for axis in axes[:-1])]
            outer = tuple(i for i, axis in enumerate(above.axes) if axis not in axes[:-1])
            kept = tuple(axis for axis in above.axes if axis in axes[:-1])
            best, own = _spread(_Factor(kept, above.logs.max(axis=outer)), axes[:-1]), logs.max(axis=-1)
            logs = logs + (best - np.where(own == -np.inf, 0.0, own))[..., None]
        whole[k] = _Factor(axes, logs)
        highest = logs.reshape(-1, logs.shape[-1]).max(axis=0)
        if np.count_nonzero(highest >= highest.max() - CLOSE) > 1:
            tied.add(name)
    return tied


def _log_probability(net: BayesNet, weights: Mapping[str, NDArray[np.float64]], max_memory: float) -> float:
    """Ln P(what is known), with the weights of each state as they are."""
    if not weights:
        return 0.0
    names = [name for name in net.names if name in ancestors(net.parents, weights)]
    axes = [*((*net.parents[name], name) for name in names), *((name,) for name in weights)]
    arrays = [*(net.tables[name] for name in names), *weights.values()]
    peaks = [float(array.max()) for array in arrays]
    route = plan(axes, (), net.cardinalities, max_memory)
    total = contract(route, [array / peak for array, peak in zip(arrays, peaks, strict=True)])
    return math.log(float(total)) + math.fsum(map(math.log, peaks))
