"""What a network says of rows with missing entries: their likelihood, a variable's posterior, and how to fill them.

Shapes: B rows, V variables, K states of a variable. Missing entries have code -1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.columns import MISSING
from jaxbn.model.holes.elimination import LOG_SUMS, Array, eliminate
from jaxbn.model.holes.network import Network, Structure
from jaxbn.model.holes.work import Evidence, Task, take_apart
from jaxbn.runtime.memory import MAX_MEMORY

Codes = NDArray[np.integer[Any]]


def log_likelihood(network: Network, codes: Codes, *, max_memory: float = MAX_MEMORY) -> Array:
    """Log P(what each row has), the missing entries summed out exactly.

    Args:
        network: parents and tables.
        codes: [B, V], -1 where missing.
        max_memory: bytes that one array may take.

    Returns:
        float64 [B].

    Example:
        >>> from jaxbn.model.holes.network import network
        >>> net = network([(), (0,)], [[0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]]])
        >>> np.exp(log_likelihood(net, np.array([[0, 1], [-1, 1], [-1, -1]]))).round(6).tolist()
        [0.05, 0.45, 1.0]
    """
    result = np.zeros(len(codes))
    for child in range(len(network.tables)):
        rows, places = observed_places(network.structure, codes, child)
        found = network.log_tables[child].take(places)
        if rows is None:
            result += found
        else:
            result[rows] += found
    if (codes == MISSING).any():
        for work in take_apart(network.structure, codes, drop_barren=True, max_memory=max_memory):
            for task in work.tasks:
                result[work.start + task.rows] += _log_sums(network, task, max_memory)[task.where]
    return result


def observed_places(
    structure: Structure, codes: Codes, child: int
) -> tuple[NDArray[np.intp] | None, NDArray[np.int64]]:
    """The rows in which a whole family is observed (None: all), and the place of each in its flat table."""
    family, strides = structure.families[child], structure.strides[child]
    places = np.zeros(len(codes), np.int64)
    gone = np.zeros(len(codes), bool)
    for v, stride in zip(family, strides, strict=True):
        column = codes[:, v]
        places += column * np.int64(stride)
        gone |= column == MISSING
    if not gone.any():
        return None, places
    rows = np.flatnonzero(~gone)
    return rows, places[rows]


def log_posterior(
    network: Network,
    codes: Codes,
    target: int,
    *,
    evidence: Evidence | None = None,
    max_memory: float = MAX_MEMORY,
) -> Array:
    """Log P(target, what each row has of the others), up to a constant for each row.

    Args:
        network: parents and tables.
        codes: [B, V], -1 where missing; those of the target are disregarded.
        target: a variable.
        evidence: what else is known of the states of missing entries.
        max_memory: bytes that one array may take.

    Returns:
        float64 [B, K].

    Example:
        >>> from jaxbn.model.holes.network import network
        >>> net = network([(), (0,)], [[0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]]])
        >>> np.exp(log_posterior(net, np.array([[0, 1], [-1, -1]]), 0)).round(6).tolist()
        [[0.05, 0.4], [0.5, 0.5]]
    """
    result = np.zeros((len(codes), network.structure.sizes[target]))
    for work in take_apart(
        network.structure, codes, drop_barren=not evidence, target=target, evidence=evidence, max_memory=max_memory
    ):
        for task in work.tasks:
            logs = np.empty((task.n_distinct, result.shape[1]))
            for part in task.chunks(max_memory):
                logs[part] = eliminate(task.plan, task.factors(network, part), LOG_SUMS).products[-1]
            result[work.start + task.rows] = logs[task.where]
    return result


def _log_sums(network: Network, task: Task, max_memory: float) -> Array:
    """Logarithm of the component's sum for each distinct row, [U]."""
    sums = np.empty(task.n_distinct)
    for part in task.chunks(max_memory):
        sums[part] = eliminate(task.plan, task.factors(network, part), LOG_SUMS).totals[-1]
    return sums
