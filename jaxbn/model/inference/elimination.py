"""Variable elimination: hidden variables are taken out of a product of tables one after the other.

What "product" and "taken out" mean is the arithmetic, a semiring: sums of plain numbers or of logarithms, or maxima.
From the products that are left (`Forward`), posteriors are passed back, states are drawn or maximized, and the best
assignments are found one after the other.

Shapes: U distinct rows of what is known (1 where a factor does not depend on it), then the states of the variables in a
step's scope.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, reduce
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.model.inference.network import Structure
from jaxbn.runtime.memory import BYTES, in_words, max_memory
from jaxbn.structure.constraints import bits, cells, mask_of

Array = NDArray[np.float64]
SMALL, SMALL_ONCE = 2**14, 2**17
"""Cells; where steps have more together, a second order is tried, which takes as long as to sum over some 10^5."""


class Component(NamedTuple):
    """Hidden variables that are connected: all other members of their families are observed."""

    hidden: tuple[int, ...]
    families: tuple[int, ...]  # the families with a hidden member, by child


class Step(NamedTuple):
    """One variable and the factors it is summed out of; where a plan keeps variables, the last step has them all."""

    scope: tuple[int, ...]  # in the order in which they are summed out, the last one first; its own variable at the end
    families: Sequence[int]  # whose tables are multiplied here, by child
    inflow: Sequence[tuple[int, tuple[int, ...]]]  # earlier steps multiplied here, and the shape of each over the scope

    @property
    def variable(self) -> int:
        """The variable that is summed out here."""
        return self.scope[-1]


class Plan(NamedTuple):
    """The steps of a component; a step's result flows into a later one, those of the roots are its results."""

    steps: Sequence[Step]
    cells: int  # of all steps together, for one row
    largest: int  # cells of the largest step
    roots: Sequence[int]  # steps that flow nowhere and keep nothing

    def check(self) -> None:
        """Refuse arrays of more bytes than ``max_memory``."""
        if self.largest * BYTES > max_memory():
            raise MemoryError(
                f"summing out what is not known needs an array of {self.largest:,} numbers, "
                f"{in_words(self.largest * BYTES)}, more than max_memory = {in_words(max_memory())}; ask for fewer "
                "variables at a time, give more that is known (leave out rows that lack most), or raise max_memory"
            )

    def eliminate(self, factors: Iterable[Sequence[Array]], arithmetic: Arithmetic) -> Forward:
        """Take all variables out of the product of the factors.

        The factors of a step are its families' tables, [U, *scope], of length 1 along variables they do not hold; plain
        numbers for ``SUMS``, and logarithms, which do not underflow, for ``LOG_SUMS`` and ``LOG_MAXIMA``.
        """
        times, total = arithmetic
        products: list[Array] = []
        totals: list[Array] = []
        for step, own in zip(self.steps, factors, strict=True):
            arrays = [*own, *[totals[k].reshape(-1, *shape) for k, shape in step.inflow]]
            arrays.sort(key=attrgetter("size"))  # small ones first: only the last products are large
            products.append(reduce(times, arrays))
            totals.append(total(products[-1]))
        return Forward(self, products, totals)


def plan(structure: Structure, component: Component, keep: Sequence[int] = (), *, once: bool = False) -> Plan:
    """A greedy order of elimination: always the variable with the smallest scope, or with the least fill-in.

    Variables of `keep` are not summed out; their joint table is the last step's. A plan of few cells is good enough,
    and of more if it is followed for a single row, `once`.
    """
    found = _greedy(structure, component, keep, by_fill=False)
    if found.cells > (SMALL_ONCE if once else SMALL):
        found = min(found, _greedy(structure, component, keep, by_fill=True), key=attrgetter("cells"))
    return found


def _greedy(structure: Structure, component: Component, keep: Sequence[int], *, by_fill: bool) -> Plan:
    """The plan in greedy order. Costs are renewed where neighbours change, so that sparse graphs take linear time."""
    sizes, hidden = structure.sizes, mask_of(component.hidden)
    near = {v: 1 << v for v in component.hidden}  # the variables that share a factor with each, itself included
    for child in component.families:
        together = structure.masks[child] & hidden
        for v in structure.families[child]:
            if v in near:
                near[v] |= together
    for v in keep:
        near[v] |= mask_of(keep)
    costs = {v: _fill(near, v, sizes) if by_fill else cells(near[v], sizes) for v in near if v not in keep}
    queue = [(value, v) for v, value in costs.items()]
    heapq.heapify(queue)
    scopes: dict[int, list[int]] = {}
    while queue:
        value, v = heapq.heappop(queue)
        if costs.get(v) != value:
            continue  # renewed or done
        del costs[v]
        scope, scopes[v] = near[v], bits(near[v])
        before = {u: near[u] for u in scopes[v] if u != v}
        for u, own in before.items():
            # what is left without v is one factor over all its neighbours, which joins them
            near[u] = (own | scope) ^ (1 << v)
        for u, own in before.items():
            if u not in costs:
                continue
            if not by_fill:  # the size of a scope from what it was: the variable goes, others come
                cost = costs[u] // sizes[v] * cells(scope & ~own, sizes)
            elif value:
                cost = _fill(near, u, sizes)
            else:  # nothing was joined, and the pairs of the variable go, each of which is counted from both ends
                cost = costs[u] - 2 * sizes[v] * _weight(own & ~scope, sizes)
            if cost != costs[u]:
                costs[u] = cost
                heapq.heappush(queue, (cost, u))
    return _steps(structure, component, scopes, tuple(keep))


def _fill(near: dict[int, int], v: int, sizes: Sequence[int]) -> int:
    """The fill-in: pairs of neighbours that would be joined, each by the size of its table."""
    others, total = near[v], 0
    for u in bits(others):
        apart = others & ~near[u]
        if apart:
            total += sizes[u] * _weight(apart, sizes)
    return total


def _weight(mask: int, sizes: Sequence[int]) -> int:
    return sum([sizes[w] for w in bits(mask)])


def _steps(structure: Structure, component: Component, scopes: dict[int, list[int]], keep: tuple[int, ...]) -> Plan:
    sizes, n = structure.sizes, len(scopes)
    # The axes of all scopes have one order, that of elimination turned round, kept variables in front. So what a step
    # leaves has its axes in the order of the step that it flows into: there a reshape is enough, without a transpose.
    rank = {v: k for k, v in enumerate(scopes)} | dict.fromkeys(keep, n)
    place = {v: -k for k, v in enumerate(scopes)} | {v: k - n - len(keep) for k, v in enumerate(keep)}
    ordered = [tuple(sorted(scope, key=place.__getitem__)) for scope in scopes.values()] + [keep] * bool(keep)
    families: list[list[int]] = [[] for _ in ordered]
    inflow: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in ordered]
    for child in component.families:
        # where the first of its variables is summed out: until then no step needs this table
        families[min([rank[v] for v in structure.families[child] if v in rank])].append(child)
    roots = []
    for k, scope in enumerate(ordered[:n]):
        if len(scope) > 1:
            into = rank[scope[-2]]  # the next of them to be summed out
            inflow[into].append((k, tuple([sizes[u] if u in scope else 1 for u in ordered[into]])))
        else:
            roots.append(k)
    each = [math.prod([sizes[u] for u in scope]) for scope in ordered]
    return Plan(list(map(Step, ordered, families, inflow)), sum(each), max(each, default=1), roots)


Choice = Callable[[Array, int, Any], Any]
"""From products [n, K], a variable and the rows [n] to a state of each row [n]."""


class Arithmetic(NamedTuple):
    """How factors are multiplied, and how a variable is taken out of their product along the last axis."""

    times: Callable[[Array, Array], Array]
    total: Callable[[Array], Array]


class Forward(NamedTuple):
    """What elimination found: of every step the product of its factors, and what is left without its variable."""

    plan: Plan
    products: list[Array]  # [U, *scope] of each step
    totals: list[Array]  # [U, *scope without the variable] of each step

    def choose_backwards(self, states: NDArray[Any], rows: Any, where: NDArray[np.intp], choose: Choice) -> None:
        """Choose the states of a plan's variables, the last eliminated first, each given those before it.

        They are filled into the `rows` [n] of a table of states [B, variables]; `where` says which of the distinct rows
        each of them is. The plan keeps nothing.
        """
        # the other variables of a scope are eliminated later, so they are chosen before
        for step, product in zip(reversed(self.plan.steps), reversed(self.products), strict=True):
            own = where if len(product) > 1 else np.zeros_like(where)
            chosen = product[(own, *[states[rows, v] for v in step.scope[:-1]])]
            states[rows, step.variable] = choose(chosen, step.variable, rows)

    def best_assignments(self, k: int, inside: Mapping[int, Array]) -> list[tuple[float, dict[int, int]]]:
        """The k largest products of all factors, as logarithms and largest first, with the states that give them.

        What elimination by maxima (of one row) leaves tells of each state how much lower the best product with it is,
        given the states chosen before: so a best-first search finds one assignment after the other, none in vain.

        Of some variables, `inside` has what may be chosen further inside each state, as logarithms added to the product
        less those of the best choice, [states, choices]; such a choice is at ~variable of the answer.
        """
        total = sum([self.totals[root].item() for root in self.plan.roots])
        products = zip(self.plan.steps, self.products, strict=True)
        steps = [(step.variable, step.scope[:-1], product[0]) for step, product in products][::-1]
        steps += [(~v, (v,), logs) for v, logs in inside.items()]
        queue: list[tuple[float, int, tuple[int, ...]]] = [(0.0, 0, ())]  # loss, a number to break ties, choices so far
        number, answers = itertools.count(1), list[tuple[float, dict[int, int]]]()
        while queue and len(answers) < k and total > -math.inf:
            loss, _, choices = heapq.heappop(queue)
            states = dict(zip([v for v, _, _ in steps], choices, strict=False))
            for variable, scope, product in steps[len(choices) :]:
                logs = product[tuple([states[v] for v in scope])]
                best = states[variable] = int(logs.argmax())
                if len(answers) + 1 < k:
                    # a branch for each other state, with the best states after it: what that loses is known at once,
                    # because this product holds the maxima over what is chosen later and depends on this state
                    for other, less in enumerate((logs[best] - logs).tolist()):
                        if other != best and less < math.inf:
                            heapq.heappush(queue, (loss + less, next(number), (*choices, other)))
                    choices = (*choices, best)
            answers.append((total - loss, states))
        return answers

    def beliefs(self, over: Callable[..., Array] = np.sum, *, plain: bool = False) -> list[Array]:
        """P(scope | what is known) of every step, [U, *scope], passed back from the last step to the first.

        With ``np.max`` in place of sums, after ``LOG_MAXIMA``: how near each cell comes to the most probable
        assignment. `plain`: after ``SUMS``, not ``LOG_SUMS``.
        """
        steps = self.plan.steps
        if plain:
            totals = [np.where(total > 0, total, 1.0)[..., None] for total in self.totals]
            beliefs = list(map(np.divide, self.products, totals))
        else:
            totals = [np.where(total > -np.inf, total, 0.0)[..., None] for total in self.totals]
            beliefs = [np.exp(logs - total) for logs, total in zip(self.products, totals, strict=True)]
        # So far these are P(variable | rest of its scope). The rest lies within the scope of the step that this one
        # flowed into, whose belief is complete by now: later steps come first.
        for k in reversed(range(len(steps))):
            for earlier, _ in steps[k].inflow:
                beside = tuple(axis + 1 for axis, v in enumerate(steps[k].scope) if v not in steps[earlier].scope)
                beliefs[earlier] = beliefs[earlier] * over(beliefs[k], axis=beside)[..., None]
        return beliefs


def log_sum(logs: Array) -> Array:
    """Logarithm of the sum along the last axis; -inf where all are."""
    peak = logs.max(axis=-1, keepdims=True)
    peak = np.where(peak > -np.inf, peak, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(_sum(np.exp(logs - peak))) + peak[..., 0], np.float64)


def _sum(numbers: Array) -> Array:
    return np.matmul(numbers, _ones(numbers.shape[-1]))  # over few states several times as fast as a sum


@cache
def _ones(n: int) -> Array:
    return np.ones(n)


SUMS = Arithmetic(np.multiply, _sum)
LOG_SUMS = Arithmetic(np.add, log_sum)
LOG_MAXIMA = Arithmetic(np.add, lambda logs: logs.max(axis=-1))
