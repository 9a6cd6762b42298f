"""Hidden variables summed, or maximized, out one after the other, for many rows at once or for one.

Shapes: U distinct rows of what is known (1 where a factor does not depend on it), then the states of the variables in a
step's scope.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.model.holes.components import Component
from jaxbn.model.holes.network import Structure
from jaxbn.runtime.memory import BYTES, in_words

Array = NDArray[np.float64]
SMALL = 2**14  # cells; where steps have more together, a second order is tried


class Step(NamedTuple):
    """One variable and everything it is summed out with; at the end of a plan that keeps some, all of those."""

    scope: tuple[int, ...]  # in the order in which they are summed out, the last one first; its own variable at the end
    shape: tuple[int, ...]  # numbers of states of the scope
    families: tuple[int, ...]  # whose tables are multiplied here, by child
    inflow: tuple[tuple[int, tuple[int, ...]], ...]  # earlier steps multiplied here, and the shape of each over scope

    @property
    def variable(self) -> int:
        """The variable that is summed out here."""
        return self.scope[-1]


class Plan(NamedTuple):
    """The steps of a component; a step's result flows into a later one, those of the roots are its results."""

    steps: tuple[Step, ...]
    cells: int  # of all steps together, for one row
    largest: int  # cells of the largest step
    roots: tuple[int, ...]  # steps that flow nowhere and keep nothing

    def check(self, max_memory: float) -> None:
        """Refuse arrays of more bytes than ``max_memory``."""
        if self.largest * BYTES > max_memory:
            raise MemoryError(
                f"summing out what is not known needs an array of {self.largest:,} numbers, "
                f"{in_words(self.largest * BYTES)}, more than max_memory = {in_words(max_memory)}; ask for fewer "
                "variables at a time, give more that is known (leave out rows that lack most), or raise max_memory"
            )


class Arithmetic(NamedTuple):
    """How factors are multiplied, and how a variable is taken out of their product along the last axis."""

    times: Callable[[Array, Array], Array]
    total: Callable[[Array], Array]


def plan(structure: Structure, component: Component, max_memory: float, keep: Sequence[int] = ()) -> Plan:
    """An order of elimination: always the variable whose scope is then smallest, or that joins the fewest others.

    Args:
        structure: parents and numbers of states.
        component: what is hidden.
        max_memory: bytes that one array may take.
        keep: hidden variables that are not summed out; their joint table is the last step's.

    Raises:
        MemoryError: a single row would need more than ``max_memory`` bytes.
    """
    found = _ordered(structure, component, keep, _size)
    if found.cells > SMALL:
        found = min(found, _ordered(structure, component, keep, _fill), key=lambda plan: plan.cells)
    found.check(max_memory)
    return found


Near = dict[int, set[int]]  # the variables that share a factor with each, itself included


def _size(near: Near, v: int, sizes: Sequence[int]) -> float:
    return math.prod([sizes[u] for u in near[v]])


def _fill(near: Near, v: int, sizes: Sequence[int]) -> float:
    """What joining all neighbours adds, each pair by the size of its table."""
    others = near[v]
    return sum(sizes[u] * sum([sizes[w] for w in others - near[u]]) for u in others)


def _ordered(
    structure: Structure, component: Component, keep: Sequence[int], cost: Callable[[Near, int, Sequence[int]], float]
) -> Plan:
    """The steps in greedy order. Costs are renewed where neighbours change, so that sparse graphs take linear time."""
    sizes, hidden = structure.sizes, set(component.hidden)
    near: Near = {v: {v} for v in component.hidden}
    for members in (hidden.intersection(structure.families[child]) for child in component.families):
        for v in members:
            near[v] |= members
    for v in keep:
        near[v].update(keep)
    costs = {v: cost(near, v, sizes) for v in hidden.difference(keep)}
    queue = [(value, v) for v, value in costs.items()]
    heapq.heapify(queue)
    scopes: dict[int, set[int]] = {}
    while queue:
        value, v = heapq.heappop(queue)
        if costs.get(v) != value:
            continue  # renewed or done
        del costs[v]
        scopes[v] = near[v]
        for u in near[v] - {v}:
            near[u] = (near[u] | near[v]) - {v}
        for u in near[v] & costs.keys():
            costs[u] = cost(near, u, sizes)
            heapq.heappush(queue, (costs[u], u))
    return _steps(structure, component, scopes, tuple(keep))


def _steps(structure: Structure, component: Component, scopes: dict[int, set[int]], keep: tuple[int, ...]) -> Plan:
    sizes = structure.sizes
    rank = {v: k for k, v in enumerate(scopes)} | dict.fromkeys(keep, len(scopes))
    place = {v: -k for k, v in enumerate(scopes)} | {v: k - len(scopes) - len(keep) for k, v in enumerate(keep)}
    ordered = [tuple(sorted(scope, key=place.__getitem__)) for scope in scopes.values()] + [keep] * bool(keep)
    families: list[list[int]] = [[] for _ in ordered]
    inflow: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in ordered]
    for child in component.families:
        families[min(rank[v] for v in structure.families[child] if v in rank)].append(child)
    for k, scope in enumerate(ordered[: len(scopes)]):
        if len(scope) > 1:
            into = min(rank[u] for u in scope[:-1])
            inflow[into].append((k, tuple([sizes[u] if u in scope else 1 for u in ordered[into]])))
    shapes = [tuple([sizes[u] for u in scope]) for scope in ordered]
    steps = tuple(map(Step, ordered, shapes, map(tuple, families), map(tuple, inflow)))
    roots = tuple(k for k, scope in enumerate(ordered[: len(scopes)]) if len(scope) == 1)
    cells = [math.prod(shape) for shape in shapes]
    return Plan(steps, sum(cells), max(cells, default=1), roots)


class Forward(NamedTuple):
    """What elimination found: of every step the product of its factors, and what is left without its variable."""

    products: list[Array]  # [U, *scope] of each step
    totals: list[Array]  # [U, *scope without the variable] of each step


def eliminate(plan: Plan, factors: Iterable[Sequence[Array]], arithmetic: Arithmetic) -> Forward:
    """Take all variables of a plan out of the product of its factors.

    Args:
        plan: the steps.
        factors: of each step its families' tables, [U, *scope], of length 1 along variables they do not hold.
        arithmetic: ``SUMS`` of plain numbers; ``LOG_SUMS`` or ``LOG_MAXIMA`` of logarithms, which do not underflow.
    """
    times, total = arithmetic
    products: list[Array] = []
    totals: list[Array] = []
    for step, own in zip(plan.steps, factors, strict=True):
        arrays = [*own, *[totals[k].reshape(-1, *shape) for k, shape in step.inflow]]
        arrays.sort(key=attrgetter("size"))  # small ones first: only the last products are as large as the scope
        product = arrays[0]
        for array in arrays[1:]:
            product = times(product, array)
        products.append(product)
        totals.append(total(product))
    return Forward(products, totals)


def log_sum(logs: Array) -> Array:
    """Logarithm of the sum along the last axis; -inf where all are.

    Example:
        >>> np.exp(log_sum(np.log([[0.25, 0.5]]))).tolist()
        [0.75]
    """
    peak = logs.max(axis=-1, keepdims=True)
    peak = np.where(peak > -np.inf, peak, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(_sum(np.exp(logs - peak))) + peak[..., 0], np.float64)


def _sum(numbers: Array) -> Array:
    return np.matmul(numbers, np.ones(numbers.shape[-1]))  # over few states several times as fast as a sum


SUMS = Arithmetic(np.multiply, _sum)
LOG_SUMS = Arithmetic(np.add, log_sum)
LOG_MAXIMA = Arithmetic(np.add, lambda logs: logs.max(axis=-1))


def beliefs_of(plan: Plan, found: Forward, over: Callable[..., Array] = np.sum) -> list[Array]:
    """P(scope | what is known) of every step, [U, *scope], passed back from the last step to the first.

    Args:
        plan: the steps; they keep nothing.
        found: what elimination by ``LOG_SUMS`` found.
        over: ``np.max`` after ``LOG_MAXIMA``: how near each cell comes to the most probable assignment.
    """
    totals = [np.where(total > -np.inf, total, 0.0)[..., None] for total in found.totals]
    beliefs: list[Array] = [np.exp(logs - total) for logs, total in zip(found.products, totals, strict=True)]
    for k in reversed(range(len(plan.steps))):
        for earlier, _ in plan.steps[k].inflow:
            beside = tuple(axis + 1 for axis, v in enumerate(plan.steps[k].scope) if v not in plan.steps[earlier].scope)
            beliefs[earlier] = beliefs[earlier] * over(beliefs[k], axis=beside)[..., None]
    return beliefs
