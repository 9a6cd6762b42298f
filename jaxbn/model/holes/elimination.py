"""Hidden variables summed, or maximized, out of a component one after the other, for many rows at once.

All in logarithms, so that nothing underflows. Shapes: U distinct rows of the component's blanket (1 where a factor does
not depend on it), then the states of the variables in a step's scope.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.model.contraction import BYTES
from jaxbn.model.holes.components import Component
from jaxbn.model.holes.network import Structure
from jaxbn.runtime.memory import in_words

Array = NDArray[np.float64]
Reduction = Callable[[Array], Array]  # [U, *scope] to [U, *scope without its last]


class Step(NamedTuple):
    """One variable and everything it is summed out with."""

    scope: tuple[int, ...]  # in the order in which they are summed out, the last one first; its own variable at the end
    families: tuple[int, ...]  # whose tables are multiplied here, by child
    inflow: tuple[int, ...]  # earlier steps whose results are multiplied here

    @property
    def variable(self) -> int:
        """The variable that is summed out here."""
        return self.scope[-1]


class Plan(NamedTuple):
    """The steps of a component; a step's result flows into a later one, that of the last is the component's."""

    steps: tuple[Step, ...]
    cells: int  # of all steps together, for one row


def plan(structure: Structure, component: Component, max_memory: float, last: int | None = None) -> Plan:
    """An order of elimination: always the variable whose scope is then smallest, and ``last`` at the end.

    Raises:
        MemoryError: a single row would need more than ``max_memory`` bytes.
    """
    sizes, hidden = structure.sizes, set(component.hidden)
    near = {v: {v} for v in component.hidden}
    for child in component.families:
        members = hidden.intersection(structure.families[child])
        for v in members:
            near[v] |= members
    left, order, scopes = set(component.hidden), [], {}
    while left:
        choice = left - {last} or left
        v = min(choice, key=lambda v: (math.prod(sizes[u] for u in near[v]), v))
        order.append(v)
        scopes[v] = near[v]
        for u in near[v] - {v}:
            near[u] = (near[u] | near[v]) - {v}
        left.remove(v)
    largest = max(math.prod(sizes[u] for u in scope) for scope in scopes.values())
    if largest * BYTES > max_memory:
        raise MemoryError(
            f"rows with {len(hidden)} missing entries that hang together need an array of {largest:,} numbers, "
            f"{in_words(largest * BYTES)}, more than max_memory = {in_words(max_memory)}; raise max_memory, or leave "
            "out the rows with most missing entries"
        )
    return _steps(structure, component, order, scopes)


def _steps(structure: Structure, component: Component, order: Sequence[int], scopes: dict[int, set[int]]) -> Plan:
    rank = {v: k for k, v in enumerate(order)}
    families: list[list[int]] = [[] for _ in order]
    inflow: list[list[int]] = [[] for _ in order]
    for child in component.families:
        families[min(rank[v] for v in structure.families[child] if v in rank)].append(child)
    for k, v in enumerate(order):
        if len(scopes[v]) > 1:
            inflow[min(rank[u] for u in scopes[v] if u != v)].append(k)
    steps = tuple(
        Step(tuple(sorted(scopes[v], key=rank.__getitem__, reverse=True)), tuple(families[k]), tuple(inflow[k]))
        for k, v in enumerate(order)
    )
    cells = sum(math.prod(structure.sizes[u] for u in step.scope) for step in steps)
    return Plan(steps, cells)


class Forward(NamedTuple):
    """What elimination found: of every step the logarithms it summed, and the logarithms of the sums."""

    logs: list[Array]  # [U, *scope] of each step
    sums: list[Array]  # [U, *scope without the variable] of each step


def eliminate(plan: Plan, factors: Sequence[Sequence[Array]], reduce: Reduction) -> Forward:
    """Sum, or maximize, out all variables of a plan.

    Args:
        plan: the steps.
        factors: of each step its families' log tables, [U, *scope], of length 1 along variables they do not hold.
        reduce: ``log_sum`` or ``maximum``.
    """
    logs: list[Array] = []
    sums: list[Array] = []
    for step, own in zip(plan.steps, factors, strict=True):
        arrays = [*own, *(spread(sums[k], plan.steps[k].scope[:-1], step.scope) for k in step.inflow)]
        total = arrays[0]
        for array in arrays[1:]:
            total = total + array
        logs.append(total)
        sums.append(reduce(total))
    return Forward(logs, sums)


def spread(array: Array, scope: Sequence[int], onto: Sequence[int]) -> Array:
    """An array over a part of a scope, with length 1 along the rest; both scopes are in the same order."""
    lengths = iter(array.shape[1:])
    return array.reshape(len(array), *(next(lengths) if v in scope else 1 for v in onto))


def log_sum(logs: Array) -> Array:
    """Logarithm of the sum along the last axis; -inf where all are.

    Example:
        >>> np.exp(log_sum(np.log([[0.25, 0.5]]))).tolist()
        [0.75]
    """
    peak = logs.max(axis=-1, keepdims=True)
    peak = np.where(peak > -np.inf, peak, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(logs - peak).sum(axis=-1)) + peak[..., 0], np.float64)


def maximum(logs: Array) -> Array:
    """The largest along the last axis."""
    return np.asarray(logs.max(axis=-1), np.float64)


def shares(logs: Array, sums: Array) -> Array:
    """Each entry's share of its sum, [U, *scope]: P(variable | the rest of the scope); 0 where the sum is."""
    return np.asarray(np.exp(logs - np.where(sums > -np.inf, sums, 0.0)[..., None]), np.float64)


def beliefs_of(plan: Plan, found: Forward) -> list[Array]:
    """P(scope | what is observed) of every step, [U, *scope], passed back from the last step to the first."""
    beliefs = [shares(logs, sums) for logs, sums in zip(found.logs, found.sums, strict=True)]
    for k in reversed(range(len(plan.steps))):
        for earlier in plan.steps[k].inflow:
            between = plan.steps[earlier].scope[:-1]
            beside = tuple(axis + 1 for axis, v in enumerate(plan.steps[k].scope) if v not in between)
            beliefs[earlier] = beliefs[earlier] * beliefs[k].sum(axis=beside)[..., None]
    return beliefs
