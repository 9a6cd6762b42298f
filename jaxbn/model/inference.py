"""Exact inference in a fitted network: which tables matter, what is known, what is summed out.

Shapes: B rows, K states of the kept variable. Missing entries have code -1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from jaxbn.model.contraction import MAX_MEMORY, contract, plan
from jaxbn.model.holes.answers import log_likelihood, log_posterior
from jaxbn.model.holes.network import network_of

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet

Family = tuple[str, ...]  # parents first, the child last: the axes of its table


def ancestors(parents: Mapping[str, Sequence[str]], names: Iterable[str]) -> set[str]:
    """The names and all their ancestors; the tables of all other variables are summed out to 1.

    Example:
        >>> sorted(ancestors({"a": (), "b": ("a",), "c": ("b",)}, ["b"]))
        ['a', 'b']
    """
    found: set[str] = set()
    stack = list(names)
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack += parents[name]
    return found


def joint(
    net: BayesNet, targets: Sequence[str], weights: Mapping[str, NDArray[np.float64]], max_memory: float = MAX_MEMORY
) -> NDArray[np.float64]:
    """P(targets | what is given).

    Args:
        net: the fitted network.
        targets: variables to keep.
        weights: P(what is given | state) of each observed variable, up to a factor, [cardinality] each.
        max_memory: refuse when one array would take more bytes than this.

    Returns:
        float64 [*cardinalities of the targets], which sums to 1.
    """
    result, _ = _weighed(net, targets, weights, max_memory)
    total = result.sum()
    if not total > 0:
        raise ValueError(f"what is given on {', '.join(map(repr, weights))} has probability 0 under the network")
    return np.asarray(result / total, np.float64)


def log_chance(net: BayesNet, weights: Mapping[str, NDArray[np.float64]], max_memory: float = MAX_MEMORY) -> float:
    """Log of the sum over all states of their probability times what they weigh; -inf where that is 0.

    Example:
        >>> import jaxbn
        >>> net = jaxbn.fit({"x": [0.0, 1.0, 4.0]}, {}, {"x": [2.0]})
        >>> round(float(np.exp(log_chance(net, {"x": np.array([0.5, 1.0])}))), 6)  # of 0.6 and 0.4
        0.7
    """
    result, log_scale = _weighed(net, (), weights, max_memory)
    with np.errstate(divide="ignore"):
        return float(np.log(result.sum()) + log_scale)


def _weighed(
    net: BayesNet, targets: Sequence[str], weights: Mapping[str, NDArray[np.float64]], max_memory: float
) -> tuple[NDArray[np.float64], float]:
    """P(targets, what is given) with all others summed out, and the log of a factor that it lacks."""
    known = {name: int(np.argmax(w)) for name, w in weights.items() if np.count_nonzero(w) == 1}
    axes: list[Family] = [(name,) for name in weights if name not in known]
    arrays = [weights[name] for (name,) in axes]
    relevant = ancestors(net.parents, [*targets, *weights])
    for family in _families(net, relevant):
        axes.append(tuple(name for name in family if name not in known))
        arrays.append(net.tables[family[-1]][tuple(known.get(name, slice(None)) for name in family)])
    peaks = [float(array.max()) or 1.0 for array in arrays]  # taken out so that no product of many tables underflows
    log_scale = float(np.log([*peaks, *(weights[name][state] for name, state in known.items())]).sum())
    if not axes:
        return np.ones(()), log_scale
    route = plan(axes, tuple(targets), net.cardinalities, max_memory)
    return np.asarray(contract(route, [array / peak for array, peak in zip(arrays, peaks, strict=True)])), log_scale


def row_log_joint(
    net: BayesNet, codes: NDArray[np.int32], keep: str | None = None, max_memory: float = MAX_MEMORY
) -> NDArray[np.float64]:
    """Log P(observed entries) of each row, the missing ones summed out; with ``keep``, for each state of that variable.

    With ``keep`` the tables that cancel in its posterior are left out.

    Args:
        net: the fitted network.
        codes: [B, variables], -1 where missing.
        keep: a variable whose own codes are disregarded.
        max_memory: bytes that one array may take; rows are split to stay below it.

    Returns:
        float64 [B], or [B, K] with ``keep``.
    """
    if keep is None:
        return log_likelihood(network_of(net), codes, max_memory=max_memory)
    return log_posterior(network_of(net), codes, net.names.index(keep), max_memory=max_memory)


def _families(net: BayesNet, names: Collection[str]) -> list[Family]:
    return [(*net.parents[name], name) for name in net.names if name in names]
