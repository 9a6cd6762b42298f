"""K2 interleaved with discretization (docs/maths.md, "K2"): a run for each order of the variables, given or random."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from jaxbn.cuts.methods import Method
from jaxbn.inputs import checks
from jaxbn.inputs.checks import ArgumentError
from jaxbn.inputs.graph import topological_order
from jaxbn.inputs.table import Table
from jaxbn.learning.ascent import climb
from jaxbn.learning.learned import Learned, Watcher, judged
from jaxbn.learning.passes import discretize_steps
from jaxbn.learning.questions import Learner
from jaxbn.scores.coded_table import CodedTable, Start
from jaxbn.scores.families import Family, first_best, tolerance
from jaxbn.structure.constraints import Rules, candidate_parents

if TYPE_CHECKING:
    from jaxbn.structure.search import ArcSearch


@dataclass
class K2Runs:
    """Numbered runs on one table, an order each."""

    data: CodedTable
    start: Start
    orders: Sequence[tuple[str, ...]]
    rules: Rules
    options: Method
    warm_start: bool = False

    arcs: ArcSearch | None = None  # K2 has no search of its own

    @property
    def n_runs(self) -> int:
        """How many runs there are."""
        return len(self.orders)

    @property
    def n_steps(self) -> int:
        """Steps of a run, for a bar."""
        return len(self.data.names)

    def rounds(self) -> Iterator[range]:
        """Numbers of runs that can be done together: all of them."""
        yield range(self.n_runs)

    def learner(self, number: int, found: Mapping[int, Learned], watch: Watcher) -> Learner[Learned]:
        """The run of a number."""
        order, rules = self.orders[number], self.rules
        if self.options.name == "evidence":
            return climb(self.data, order, self.start, rules, self.options, watch)
        return k2_steps(self.data, order, self.start, rules, self.options, warm_start=self.warm_start, watch=watch)

    def again(self, learned: Learned, watch: Watcher) -> Learner[Learned]:
        """A run with the order of a network that was learned on another completion of the same table."""
        return replace(self, orders=[learned.order]).learner(0, {}, watch)

    def finish(self, best: Learned, watch: Watcher) -> Learner[Learned]:
        """The best run as it is."""
        yield from ()
        return best


def k2_steps(
    data: CodedTable,
    order: Sequence[str],
    start: Start,
    rules: Rules,
    options: Method,
    *,
    warm_start: bool,
    watch: Watcher = lambda done, parents, settled: None,
) -> Learner[Learned]:
    """Give every variable the predecessors that raise its score most, re-discretizing after each accepted arc.

    The score to beat is that of the codes before the arc was accepted; it is not recomputed on the new ones, as in the
    authors' program.
    """
    parents = rules.start
    settled = yield from discretize_steps(data, parents, order, start, options)
    for position, name in enumerate(order):
        own = tuple(settled.columns[p] for p in parents[name])
        (to_beat,) = yield [Family(settled.columns[name], own)]
        while len(parents[name]) < rules.max_parents:
            candidates = candidate_parents(name, order[:position], parents[name], settled.columns, rules)
            if not candidates:
                break
            columns = settled.columns
            own = tuple(columns[p] for p in parents[name])
            scores = yield [Family(columns[name], (*own, columns[candidate])) for candidate in candidates]
            best = first_best(scores)
            if not scores[best] > to_beat + tolerance(to_beat):
                break
            to_beat = scores[best]
            parents[name] = (*parents[name], candidates[best])
            again = settled.start if warm_start else start
            settled = yield from discretize_steps(data, parents, order, again, options)
            watch(position, parents, settled)
        watch(position + 1, parents, settled)
    return judged(data, parents, settled, options)._replace(order=tuple(order))


def given_order(order: Sequence[str], table: Table, rules: Rules) -> tuple[str, ...]:
    """An order that names every column once, with the parents of required arcs first."""
    names = [str(name) for name in order]
    for name in names:
        checks.known_name("order", name, table.names)
        if names.count(name) > 1:
            raise ArgumentError("order", f"names {name!r} {names.count(name)} times; name every column once")
    missing = [name for name in table.names if name not in names]
    if missing:
        raise ArgumentError("order", f"leaves out {', '.join(map(repr, missing))}; name every column once")
    for child, found in rules.required.items():
        for parent in found:
            if names.index(parent) > names.index(child):
                raise ArgumentError(
                    "order",
                    f"has {child!r} before {parent!r}, but the arc {parent!r} -> {child!r} is required; exchange them",
                )
    return tuple(names)


def random_orders(rules: Rules, restarts: int, seed: int | np.random.Generator) -> list[tuple[str, ...]]:
    """Random orders in which required arcs point forward; a larger number extends the same sequence."""
    rng = np.random.default_rng(seed)
    orders = []
    for _ in range(restarts):
        shuffled = [rules.names[i] for i in rng.permutation(len(rules.names))]
        orders.append(topological_order({name: rules.required.get(name, ()) for name in shuffled}))
    return orders
