"""Passes over the variables of a network, each coded again given the others (docs/maths.md, "The network loop").

Under the evidence F is computed from its definition after every change, and a change is kept only if F rose. So the
passes cannot cycle, and runs are compared by the same number that they maximize (docs/maths.md, "The evidence in
original units").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from jaxbn.counts.codes import Column
from jaxbn.cuts.binning import NOT_CUT, Binning
from jaxbn.cuts.evidence import TOLERANCE
from jaxbn.cuts.methods import NO_RATE, Method, Rate
from jaxbn.inputs.graph import Parents, children_of, markov_blanket, topological_order
from jaxbn.kernels.arithmetic import tolerance
from jaxbn.learning.solver import Cut, Learner, Solver
from jaxbn.runtime.threads import in_threads, n_threads
from jaxbn.scores.coded_table import CodedTable, Coding, Columns, Start, initial_bins, same_coding
from jaxbn.scores.evidence import EvidenceCache, density
from jaxbn.scores.families import structure_score

Structure = dict[str, tuple[str, ...]]
"""The parents of each variable, in the order in which they were added."""


class Settled(NamedTuple):
    """The variables of a network as passes left them."""

    columns: dict[str, Column]
    binnings: dict[str, Coding]
    passes: int = 0
    converged: bool = False
    trace: tuple[float, ...] = ()  # of the evidence, where that is the objective


class Learned(NamedTuple):
    """A structure with its binnings."""

    order: tuple[str, ...]
    parents: Structure
    binnings: dict[str, Coding]
    score: float  # ln P(D* | G)
    criterion: float  # what restarts are compared by
    trace: tuple[float, ...] = ()  # of the evidence, where that is the objective


OTHER_STARTS = (("frequency", 5), ("frequency", 9))
"""Plain bins, of a kind and number, that the passes for a known structure may begin with as well."""

Watcher = Callable[[int, Parents, Settled], None]
"""Called after every variable and every arc: variables done, parents so far, the current discretization."""


@dataclass
class Passes:
    """Passes over the variables of one table, by one method."""

    data: CodedTable
    options: Method
    cache: EvidenceCache | None = None  # of F, where that is the objective
    solver: Solver = field(init=False)

    def __post_init__(self) -> None:
        self.solver = Solver(self.data, self.options)
        if self.options.name != "evidence":
            self.cache = None
        elif self.cache is None:
            self.cache = EvidenceCache(self.data)

    def first_bins(self) -> Start:
        """The bins that passes begin with."""
        n_bins = self.options.initial_bins or initial_bins(self.data.table, self.data.grouped)
        return self.data.start(n_bins, self.options.start_kind)

    def settle_best(self, parents: Parents) -> Learner[Settled]:
        """Passes from plain bins; under the evidence from those of several plain bins that lead furthest on the grid.

        From one start alone, variables of which it shows little to each other (bins of equal width of a column with
        long tails) may end in one bin each, although together they are worth many.
        """
        options, data = self.options, self.data
        if self.cache is None or options.initial_bins is not None or not data.ordered.keys() - data.given.keys():
            return (yield from self.settle(parents, self.first_bins()))
        best = yield from self.settle(parents, self.first_bins(), grid=options.grid)
        for kind, n_bins in OTHER_STARTS:
            found = yield from self.settle(parents, data.start(n_bins, kind), grid=options.grid)
            best = found if found.trace[-1] > best.trace[-1] else best
        if not data.on_grid(options.grid):
            return best
        found = yield from self.settle(parents, best)
        return found._replace(passes=best.passes + found.passes, trace=best.trace + found.trace[1:])

    def settle(
        self,
        parents: Parents,
        start: Start | Settled,
        *,
        priority: Sequence[str] | None = None,
        isolated: bool = True,
        grid: int | None = None,
        refinements: int = 1,
        most_passes: int | None = None,
        enough: float = 0.0,
    ) -> Learner[Settled]:
        """Passes from a start until nothing changes, or F rises no more.

        Args:
            parents: the structure.
            start: where the passes begin; under the evidence its cuts are first moved to midpoints.
            priority: variables are visited from the leaves to the roots, ties broken by this order.
            isolated: under the evidence, whether variables without neighbours are visited too.
            grid: cuts are searched among so many quantile positions, then around what was found there; None for all.
            refinements: of the grid.
            most_passes: most passes, by default those of the method.
            enough: a pass that raises F by no more than this share of it is the last.
        """
        data, cache = self.data, self.cache
        fitting = data.fitting(Start(start.columns, start.binnings), parents)
        now = self.valued(parents, fitting if cache is None else self.at_midpoints(fitting))
        columns, codings, trace = dict(now.columns), dict(now.binnings), list(now.trace)
        visits = _visiting_order(parents, priority or data.names, isolated and cache is not None)
        visits = [name for name in visits if name in codings and name not in data.given]
        limit = self.options.max_passes if most_passes is None else most_passes
        done, changed = 0, True

        def question(name: str) -> Cut:
            rate = NO_RATE if name in data.grouped else self.options.prior_rate
            return cut_question(name, parents, columns, rate, data.grid(name, grid), refinements)

        while changed and (limit is None or done < limit):
            done, changed, before = done + 1, False, trace[-1] if trace else 0.0
            for i, name in enumerate(visits):
                asked = question(name)
                if n_threads() > 1 and self.solver.worth_a_thread(asked):
                    # Idle threads answer likely later questions. A guess that proves wrong costs only their time:
                    # answers are remembered by their question.
                    later = _unaffected(name, visits[i + 1 :], parents, quiet=not changed)
                    asked = asked._replace(ahead=tuple(map(question, later)))
                coding = yield asked
                column = data.coded(name, coding)
                if not same_coding(coding, codings[name]):
                    if cache is not None:
                        value = cache.evidence(parents, {**columns, name: column}, {**codings, name: coding})
                        # On a grid, or of groups, the answer may be worse than what is there. Only what raises F is
                        # kept, of finitely many codings, so the passes end (docs/maths.md, "The network loop").
                        if value <= trace[-1] + tolerance(value):
                            continue
                        trace.append(value)
                    changed = cache is None or trace[-1] > before + enough * abs(before)
                codings[name], columns[name] = coding, column  # an equal coding is kept too: it knows its cost
        return Settled(columns, codings, done, not changed, tuple(trace))

    def valued(self, parents: Parents, now: Start) -> Settled:
        """A start with its F, where that is the objective."""
        trace = () if self.cache is None else (self.cache.evidence(parents, now.columns, now.binnings),)
        return Settled(now.columns, now.binnings, trace=trace)

    def at_midpoints(self, start: Start) -> Start:
        """The same codes with the cuts halfway between neighbours, as F has them; one bin where some are too narrow."""
        moved = [
            name
            for name, coding in start.binnings.items()
            if isinstance(coding, Binning) and coding.method != "evidence" and name not in self.data.given
        ]
        own = in_threads(lambda name: self._at_midpoints(name, start.columns[name]), moved, rows=self.data.table.n_rows)
        found = dict(zip(moved, own, strict=True))
        columns = start.columns | {name: column for name, (column, _) in found.items()}
        return Start(columns, start.binnings | {name: coding for name, (_, coding) in found.items()})

    def _at_midpoints(self, name: str, column: Column) -> tuple[Column, Binning]:
        ordered = self.data.ordered[name]
        values, codes = ordered.values, column.taken(ordered.order)
        edges = ordered.edges(np.flatnonzero(codes[1:] != codes[:-1]))
        most = self.options.most_bins(name)
        if most is not None and len(edges) >= most:
            edges = edges[np.linspace(0, len(edges) - 1, most - 1).round().astype(np.intp)]
        widths = np.diff([values[0], *edges, values[-1]])
        if widths.min(initial=np.inf) < self.options.narrowest(name, ordered) * (1 - TOLERANCE):
            edges = edges[:0]
        coding = Binning(edges, lower=float(values[0]), upper=float(values[-1]), method=NOT_CUT)
        return self.data.coded(name, coding), coding

    def learned(self, parents: Parents, now: Settled, order: Sequence[str] | None = None) -> Learned:
        """A network with what runs are compared by: F, the density of the data, or the score alone."""
        score = structure_score(parents, now.columns)
        if self.cache is not None:
            criterion = now.trace[-1]
        else:
            criterion = score + (density(self.data, now.binnings) if self.options.by_density else 0.0)
        found = {name: tuple(parents[name]) for name in parents}
        return Learned(tuple(order or topological_order(parents)), found, now.binnings, score, criterion, now.trace)


def _visiting_order(parents: Parents, priority: Sequence[str], isolated: bool) -> list[str]:
    """The variables that have neighbours, or all of them, leaves first."""
    order = topological_order({name: parents[name] for name in priority})
    near = {parent for found in parents.values() for parent in found} | {name for name in order if parents[name]}
    return [name for name in reversed(order) if isolated or name in near]


def _unaffected(name: str, later: Sequence[str], parents: Parents, *, quiet: bool) -> list[str]:
    """Later variables whose questions no earlier answer can change.

    If nothing has changed in this pass yet (`quiet`), probably nothing will: then these are all.
    """
    chosen, touched = [], {name}
    for other in later:
        if quiet or not touched.intersection(markov_blanket(parents, other)):
            chosen.append(other)
        touched.add(other)
    return chosen


def cut_question(
    name: str, parents: Parents, columns: Columns, rate: Rate, grid: int | None = None, refinements: int = 1
) -> Cut:
    """The question for one variable, given the current columns of the others."""

    def sort(names: Sequence[str]) -> tuple[Column, ...]:
        # in a fixed order, so that equal questions have equal keys in the solver's cache
        return tuple(sorted((columns[other] for other in names), key=lambda column: column.key))

    children = [
        (columns[child], sort([other for other in parents[child] if other != name]))
        for child in children_of(parents)[name]
    ]
    children.sort(key=lambda family: (family[0].key, [spouse.key for spouse in family[1]]))
    if isinstance(rate, str):  # the largest number of states in the network or the blanket
        rate = max(columns[n].n_states for n in (columns if rate == "network" else markov_blanket(parents, name)))
    return Cut(name, sort(parents[name]), tuple(children), float(rate), grid, refinements)
