"""What learners ask, answered in batches; every answer is remembered.

A learner is a generator with the algorithm of one run: it yields a question, a `Cut` or a list of `Family`, and is sent
the answer, a coding or scores. Many run side by side, so that what they ask for at the same time is computed together.
An answer depends on the question alone, so the results do not depend on how many run together.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from jaxbn.counts.codes import Column
from jaxbn.counts.device import Deferred, suits_device, tables_of
from jaxbn.cuts.blanket import Factor, factors_of
from jaxbn.cuts.discretize_variable import Request, best_binnings
from jaxbn.cuts.methods import Method
from jaxbn.groups.grouping import Grouping
from jaxbn.groups.levels import best_grouping
from jaxbn.runtime import limits
from jaxbn.runtime.devices import accelerators
from jaxbn.runtime.threads import MANY_ROWS, in_threads, n_threads
from jaxbn.scores.coded_table import CodedTable, Coding
from jaxbn.scores.families import Family, score_families

MANY_PLACED = 2**10  # with fewer rows cuts are placed down to single ones in less time than threads need to begin
MOST_TABLES = 2**12  # counts of factors that are remembered, at most


class Cut(NamedTuple):
    """A question: the best binning of a variable given its blanket. Members are sorted by key."""

    name: str
    parents: tuple[Column, ...]
    children: tuple[tuple[Column, tuple[Column, ...]], ...]
    rate: float
    grid: int | None = None  # candidate positions at most; None for all
    refinements: int = 1  # of the grid around its cuts
    ahead: tuple[Cut, ...] = ()  # likely next questions, for idle threads

    @property
    def key(self) -> tuple[Any, ...]:
        """What the answer depends on."""
        children = tuple((child.key, tuple(s.key for s in spouses)) for child, spouses in self.children)
        return self.name, tuple(p.key for p in self.parents), children, self.rate, self.grid, self.refinements


Question = Cut | list[Family]
Result = TypeVar("Result")
Learner = Generator[Question, Any, Result]


@dataclass
class Solver:
    """Answers questions about one table."""

    data: CodedTable
    options: Method
    binnings: dict[tuple[Any, ...], Coding] = field(default_factory=dict)
    scores: dict[tuple[int, ...], float] = field(default_factory=dict)
    tables: dict[tuple[Any, ...], NDArray[np.int64]] = field(default_factory=dict)

    def answer(self, question: Question) -> Any:
        """The answer if it is known, else None."""
        if isinstance(question, Cut):
            return self.binnings.get(question.key)
        known = [self.scores.get(family.key) for family in question]
        return None if any(score is None for score in known) else known

    @staticmethod
    def work_out(asked: Sequence[tuple[Solver, Question]]) -> None:
        """Compute and cache the answers to some questions, of all tables: in threads, or in one batch for each kind.

        Threads that would be idle answer what is likely to be asked next.
        """
        cuts = {(id(s), q.key): (s, q) for s, q in asked if isinstance(q, Cut) and q.key not in s.binnings}
        later = {(id(s), a.key): (s, a) for s, q in asked if isinstance(q, Cut) for a in q.ahead}
        unknown = [(key, each) for key, each in later.items() if key not in cuts and key[1] not in each[0].binnings]
        cuts |= dict(unknown[: max(n_threads() - len(cuts), 0)])
        # cuts of one kind make a batch; groups, and what is worth a thread, are answered one by one, under None
        how: dict[Any, list[tuple[Solver, Cut]]] = defaultdict(list)
        for solver, cut in cuts.values():
            alone = cut.name in solver.data.grouped or solver.worth_a_thread(cut)
            how[None if alone else (solver.options.name, cut.grid, cut.refinements)].append((solver, cut))
        single = how.pop(None, [])
        found = in_threads(lambda pair: pair[0].best(pair[1]), single, rows=MANY_ROWS if len(single) > 1 else 0)
        answers = list(zip(single, found, strict=True))
        for each, alike in how.items():
            answers += zip(alike, best_binnings([solver.request(cut) for solver, cut in alike], *each), strict=True)
        for (solver, cut), coding in answers:
            solver.binnings[cut.key] = coding
        families = {
            (id(s), f.key): (s, f) for s, q in asked if not isinstance(q, Cut) for f in q if f.key not in s.scores
        }
        scores = score_families([(family, solver.options.weight) for solver, family in families.values()])
        for (solver, family), score in zip(families.values(), scores, strict=True):
            solver.scores[family.key] = score

    def worth_a_thread(self, cut: Cut) -> bool:
        """Whether a question is worth a thread; short ones, and accelerators, are better at batches."""
        last_steps = cut.grid is None or cut.refinements > 1
        return self.data.table.n_rows >= (MANY_PLACED if last_steps else MANY_ROWS) and not accelerators()

    def best(self, cut: Cut) -> Coding:
        """The answer to one question."""
        limits.check()
        if cut.name in self.data.grouped:
            return self.group(cut)
        return best_binnings([self.request(cut)], self.options.name, cut.grid, cut.refinements)[0]

    def group(self, cut: Cut) -> Grouping:
        """The groups of a discrete variable's levels; the rate plays no part."""
        codes = self.data.known_codes(cut.name)
        rows = np.flatnonzero(~self.data.table.absent(cut.name)) if cut.name in self.data.table.holes else slice(None)
        factors = self._factors(cut, rows, len(codes))
        return best_grouping(
            self.data.table.levels[cut.name], codes, factors, most=self._most_states(cut), weight=self.options.weight
        )

    def _most_states(self, cut: Cut) -> int:
        """Most bins or groups of a variable with which the tables of its own and its children's families fit."""
        others = [cut.parents, *((child, *spouses) for child, spouses in cut.children)]
        cells = max(math.prod(column.size for column in columns) for columns in others)
        return max(self.data.max_cells // cells, 1)

    def _factors(self, cut: Cut, rows: Any, n_rows: int) -> list[Factor]:
        """The blanket of a variable in some rows, those that have it."""
        return factors_of(
            [parent.taken(rows) for parent in cut.parents],
            [(child.taken(rows), [spouse.taken(rows) for spouse in spouses]) for child, spouses in cut.children],
            n_rows,
            [child.n_states for child, _ in cut.children] if self.data.table.holes else None,
        )

    def _counted_factors(self, cut: Cut, order: NDArray[np.integer]) -> list[Factor] | None:
        """The blanket where a device counts it, and the host sees the counts of each family only; else None."""
        pairs = [((), cut.parents), *((spouses, (child,)) for child, spouses in cut.children)]  # contexts and outcomes
        families = [(*given, *told) for given, told in pairs]
        if self.data.table.holes or not all(suits_device(family, len(order)) for family in families):
            return None
        keys = [tuple(column.key for column in family) for family in families]
        if len(self.tables) > MOST_TABLES:
            self.tables.clear()
        self.tables[()] = np.array(len(order))
        unknown = {key: family for key, family in zip(keys, families, strict=True) if key not in self.tables}
        if unknown:
            self.tables |= zip(unknown, tables_of(list(unknown.values())), strict=True)
        code: Any = partial(Deferred, order=order)  # in place of an array
        found = []
        for (given, told), key in zip(pairs, keys, strict=True):
            counts, axes = self.tables[key], tuple(range(len(key)))
            contexts, states = counts.sum(axis=axes[len(given) :]), counts.sum(axis=axes[: len(given)])
            context, outcome, cell = code(given, contexts), code(told, states), code((*given, *told), counts)
            sizes = len(context.counts), len(cell.counts), states.size, contexts.size
            found.append(Factor(context, outcome, cell, *sizes, counted=cell.counts))
        return found

    def request(self, cut: Cut) -> Request:
        """The question as rows in ascending order of the variable's values."""
        ordered = self.data.ordered[cut.name]
        factors = self._counted_factors(cut, ordered.order)
        if factors is None:
            factors = self._factors(cut, ordered.order, len(ordered.values))
        most = self._most_states(cut)
        most = min(most, self.options.most_bins(cut.name) or most)
        return Request(
            ordered,
            factors,
            cut.rate,
            min_width=self.options.narrowest(cut.name, ordered),
            most_bins=most if most < ordered.n_distinct else None,
            shapes=self.data.shapes_of(cut.name),
        )


def run_alone(learner: Learner[Result], solver: Solver) -> Result:
    """Run one learner to its end."""
    return next(run_each([lambda: (solver, learner)], 1))[1]


def run_each(
    makers: Sequence[Callable[[], tuple[Solver, Learner[Result]]]],
    at_once: int,
    check: Callable[[], None] = lambda: None,
) -> Iterator[tuple[int, Result]]:
    """Run learners side by side, at most `at_once` of them; yields (number, result) as each one ends.

    Each has its own solver, or shares one with others on the same table; it is made when its turn comes. `check` is
    called between questions and may raise to end it all.
    """
    waiting = list(enumerate(makers))[::-1]
    running: dict[int, tuple[Solver, Learner[Result], Question | None]] = {}
    while waiting or running:
        limits.check()
        check()
        while waiting and len(running) < at_once:
            number, make = waiting.pop()
            running[number] = (*make(), None)
        # first all go on until each asks what is not known, then all of that is worked out together
        for number, (solver, learner, question) in list(running.items()):
            try:
                running[number] = (solver, learner, drive(learner, question, solver))
            except StopIteration as end:
                del running[number]
                yield number, end.value
        Solver.work_out([(solver, question) for solver, _, question in running.values() if question is not None])


def drive(learner: Learner[Any], question: Question | None, solver: Solver) -> Question:
    """Advance a learner until it asks a question whose answer is not cached."""
    question = next(learner) if question is None else learner.send(solver.answer(question))
    while (known := solver.answer(question)) is not None:
        question = learner.send(known)
    return question
