"""Rows filled in: by draws from the exact posterior, or by the most probable states together.

Shapes: B rows, V variables; of one task n rows, U distinct ones. Missing entries have code -1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.columns import MISSING
from jaxbn.model.holes.elimination import LOG_MAXIMA, LOG_SUMS, Arithmetic, Array, eliminate
from jaxbn.model.holes.network import Network
from jaxbn.model.holes.work import Task, take_apart
from jaxbn.runtime.memory import MAX_MEMORY

Codes = NDArray[np.integer[Any]]
Choice = Callable[[Array, int, NDArray[np.intp]], NDArray[np.int64]]  # logs [n, K], variable, rows [n] to states [n]


def draw_completions(
    network: Network, codes: Codes, seed: int | np.random.Generator = 0, *, max_memory: float = MAX_MEMORY
) -> Codes:
    """Rows with their missing entries drawn from the exact joint posterior given what each row has.

    A row's draw depends on the seed and on the place of its missing entries among all of them, not on how rows are
    worked off together.

    Args:
        network: parents and tables.
        codes: [B, V], -1 where missing.
        seed: of the draws.
        max_memory: bytes that one array may take.

    Returns:
        The codes without missing entries, of the same type.

    Example:
        >>> from jaxbn.model.holes.network import network
        >>> net = network([(), (0,)], [[0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]]])
        >>> draw_completions(net, np.array([[-1, 1], [0, -1], [1, 0]])).tolist()
        [[1, 1], [0, 0], [1, 0]]
    """
    result = codes.copy()
    rng = np.random.default_rng(seed)
    absent = codes == MISSING
    chances = np.zeros(codes.shape)
    chances[absent] = rng.random(int(absent.sum()))

    def draw(logs: Array, variable: int, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        return draw_states(np.exp(logs - _finite(logs.max(axis=1, keepdims=True))), chances[rows, variable])

    for work in take_apart(network.structure, codes, drop_barren=True, max_memory=max_memory):
        for task in work.tasks:
            _fill(network, task, work.start, result, LOG_SUMS, draw, max_memory)
        for variable in network.structure.order:  # what has no observed descendant, parents first
            rows = work.start + np.flatnonzero(work.barren[:, variable])
            if len(rows):
                family = [result[rows, parent] for parent in network.structure.parents[variable]]
                table = network.tables[variable][tuple(family)]  # [n, K], or [K] without parents
                result[rows, variable] = draw_states(np.atleast_2d(table), chances[rows, variable])
    return result


def most_probable_completions(network: Network, codes: Codes, *, max_memory: float = MAX_MEMORY) -> Codes:
    """Rows with their missing entries set to the states that are most probable together, given what each row has.

    Example:
        >>> from jaxbn.model.holes.network import network
        >>> net = network([(), (0,)], [[0.6, 0.4], [[0.5, 0.5], [0.1, 0.9]]])
        >>> most_probable_completions(net, np.array([[-1, -1], [-1, 0], [0, -1]])).tolist()
        [[1, 1], [0, 0], [0, 0]]
    """
    result = codes.copy()

    def best(logs: Array, variable: int, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        return np.asarray(logs.argmax(axis=1), np.int64)

    for work in take_apart(network.structure, codes, drop_barren=False, max_memory=max_memory):
        for task in work.tasks:
            _fill(network, task, work.start, result, LOG_MAXIMA, best, max_memory)
    return result


def _fill(
    network: Network, task: Task, start: int, result: Codes, arithmetic: Arithmetic, choose: Choice, max_memory: float
) -> None:
    """Choose the hidden variables of a task's rows, the last eliminated first."""
    for part, members in _members(task, max_memory):
        found = eliminate(task.plan, task.factors(network, part), arithmetic)
        rows = start + task.rows[members]
        where = task.where[members] - part.start
        for step, logs in zip(reversed(task.plan.steps), reversed(found.products), strict=True):
            given = tuple(result[rows, v] for v in step.scope[:-1])
            chosen = logs[(where if len(logs) > 1 else np.zeros_like(where), *given)]
            result[rows, step.variable] = choose(chosen, step.variable, rows)


def _members(task: Task, max_memory: float) -> Iterator[tuple[slice, NDArray[np.intp] | slice]]:
    """Parts of the distinct rows, and which of the task's rows are among them."""
    parts = list(task.chunks(max_memory))
    if len(parts) == 1:
        yield parts[0], slice(None)
        return
    order = np.argsort(task.where, kind="stable")
    ends = np.cumsum(task.counts)
    for part in parts:
        yield part, order[ends[part.start] - task.counts[part.start] : ends[part.stop - 1]]


def draw_states(weights: Array, chances: Array) -> NDArray[np.int64]:
    """A state of each row in proportion to its weights, by the row's chance in [0, 1); [n, K] or [1, K]."""
    cumulative = np.cumsum(weights, axis=1)
    drawn = (chances[:, None] * cumulative[:, -1:] >= cumulative).sum(axis=1)
    return np.minimum(drawn, weights.shape[1] - 1)


def _finite(peak: Array) -> Array:
    return np.where(peak > -np.inf, peak, 0.0)
