"""Many numbered runs: side by side, shared among processes, kept in a checkpoint, shown by a bar.

What a run finds depends on its number alone, so neither the batch size nor the number of processes changes a result.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from jaxbn.cuts.shapes.shape import Shape
from jaxbn.inputs.graph import Parents
from jaxbn.learning.checkpoint import Checkpoint, exchanged
from jaxbn.learning.passes import Learned, Settled, Watcher
from jaxbn.learning.plan import Plan, Runs
from jaxbn.learning.solver import Learner, Solver, run_alone, run_each
from jaxbn.runtime import limits, workers
from jaxbn.runtime.processes import Team
from jaxbn.runtime.progress import Progress
from jaxbn.scores.coded_table import CodedTable, Coding

Maker = Callable[[int, Watcher], tuple[Solver, Learner[Learned]]]
"""Makes the run of a number when its turn comes; the watcher follows it."""

Answers = dict[tuple[Any, ...], Coding]
"""Of a solver, by questions."""

FINISH = -1  # the number that stands for the last steps of the best run


@dataclass(frozen=True, eq=False)
class OneRun:
    """A run by its number and what was found before it, for worker processes: other runs and answers to questions."""

    plan: Plan
    data: CodedTable

    @cached_property
    def _runs(self) -> Runs:
        return self.plan.runs(self.data)

    def __call__(self, question: tuple[int, dict[int, Learned], Answers]) -> tuple[tuple[int, Learned, Answers], None]:
        """The number of the run, what it found, and new answers."""
        number, found, answers = question
        runs = self._runs
        runs.solver.binnings |= answers
        before = runs.solver.binnings.copy()
        learned = run_alone(runs.learner(number, found, lambda *_: None), runs.solver)
        return (number, learned, {key: own for key, own in runs.solver.binnings.items() if key not in before}), None


def _shapes(data: CodedTable, names: Sequence[str]) -> tuple[dict[str, tuple[Shape, ...]], None]:
    """The shapes of some columns, for worker processes."""
    return {name: data.found_shapes(name) for name in names}, None


@dataclass
class ManyRuns:
    """Runs, each done once by one of the processes."""

    mates: Team
    bar: Progress
    saved: Checkpoint | None  # held by the first process
    side_by_side: int
    deadline: float = math.inf  # by time.monotonic()
    found: dict[int, Learned] = field(default_factory=dict)
    unfinished: dict[int, tuple[Parents, Settled]] = field(default_factory=dict)
    each: float = math.inf  # seconds of a run, as far as is known
    runs: Runs = field(init=False)  # of the table that is learned from now

    def begin(self, runs: Runs) -> None:
        """Go on with the runs of another table."""
        self.runs = runs  # and none before it: a completion of a large table takes much memory
        if runs.arcs is not None:
            runs.arcs.should_stop = self.is_over

    def resume(self, numbers: Sequence[int]) -> None:
        """Restore these runs from the checkpoint, as far as it has them."""
        known = exchanged(self.saved.finished if self.saved else {}, self.mates)
        self.found.update({i: known[i] for i in numbers if i in known})
        for i, learned in self.found.items():
            self.bar.finished(i, learned.criterion)

    def do(self, numbers: Sequence[int], make: Maker, job: OneRun | None = None) -> None:
        """Do the runs that are not done yet, by workers if a `job` is given; every process gets all results."""
        todo = [i for i in numbers if i not in self.found]
        if job is None or self.mates.size > 1 or self.deadline < math.inf:  # a worker does not hand in unfinished runs
            self._do_here(todo, make)
            return
        count = min(workers.n_workers(job.data.table.n_rows), len(todo))
        if count > 1 and self.each == math.inf and not workers.are_there():
            self._do_here(todo[:1], make)
            todo = todo[1:]
        if workers.are_worth_it(count, (self.runs.n_runs - len(self.found)) * self.each):
            self._do_there(todo, job, count)
        else:
            self._do_here(todo, make)
            workers.done_here(count, len(todo) * self.each)

    def _do_there(self, todo: Sequence[int], job: OneRun, count: int) -> None:
        began, answers = time.monotonic(), self.runs.solver.binnings
        questions = [(i, dict(self.found), answers.copy()) for i in todo]
        if not (job.data.shapes or job.data.flat or job.data.origin):  # found once, and sent with the table
            names = [*job.data.ordered]  # in as many parts as there are runs: more would ask for more workers
            parts = [names[k::count] for k in range(count)]
            with workers.in_workers(partial(_shapes, job.data), parts, job.data.table.n_rows, at_once=True) as known:
                for own in known:
                    job.data.shapes.update(own)
        with workers.in_workers(job, questions, job.data.table.n_rows, at_once=True) as found:
            for number, learned, new in found:
                answers |= new
                self.keep(number, learned)
        self.each = (time.monotonic() - began) * count / max(len(todo), 1)

    def _do_here(self, todo: Sequence[int], make: Maker) -> None:
        began = time.monotonic()
        # several processes exchange what they found after each batch; one alone has no reason to pause
        step = self.side_by_side * self.mates.size if self.mates.size > 1 else max(len(todo), 1)
        for first in range(0, len(todo), step):
            batch = todo[first : first + step]
            mine = [batch[k] for k in self.mates.share(len(batch))]
            makers = [partial(make, i, partial(self._watch, i)) for i in mine]
            own: dict[int, Learned] = {}
            for k, learned in run_each(makers, self.side_by_side, self.check_time):
                own[mine[k]] = learned
                self.keep(mine[k], learned)
            for i, learned in exchanged(own, self.mates).items():
                if i not in self.found:
                    self.keep(i, learned)
        # the first run may have compiled all that workers have to
        compiled = workers.START_UP if self.each == math.inf and not workers.are_there() else 0.0
        self.each = max(time.monotonic() - began - compiled, 0.0) / max(len(todo), 1)

    def keep(self, number: int, learned: Learned) -> None:
        """A run is done."""
        self.found[number] = learned
        self.unfinished.pop(number, None)
        self.bar.finished(number, learned.criterion)
        if self.saved is not None:
            self.saved.add(number, learned)

    def finish(self, last_steps: Callable[[Learned, Watcher], Learner[Learned]], learned: Learned) -> Learned:
        """The best run, or what became of it, taken further by every process for itself."""
        steps = last_steps(learned, partial(self._watch, FINISH))
        return next(run_each([lambda: (self.runs.solver, steps)], 1, self.check_time))[1]

    def check_time(self) -> None:
        """Raise if the time limit has been reached and there is something to return."""
        if time.monotonic() > self.deadline and not self.empty:
            raise limits.TimeIsUpError

    def is_over(self) -> bool:
        """Whether a search over orders should end with the best so far."""
        return limits.over() or (time.monotonic() > self.deadline and not self.empty)

    @property
    def empty(self) -> bool:
        """Whether there is no network yet, not even an unfinished one."""
        return not self.found and not self.unfinished

    @property
    def best(self) -> Learned:
        """The run with the highest criterion; of equal ones the first."""
        return max(sorted(self.found.items()), key=lambda item: item[1].criterion)[1]

    @property
    def best_so_far(self) -> Learned:
        """The best finished run, or if there is none the unfinished one with the most arcs."""
        if self.found and FINISH not in self.unfinished:
            return self.best
        number = max(self.unfinished, key=lambda i: (i == FINISH, sum(map(len, self.unfinished[i][0].values()))))
        return self.runs.learned(*self.unfinished[number])

    def _watch(self, number: int, done: int, parents: Parents, settled: Settled) -> None:
        self.unfinished[number] = ({name: tuple(found) for name, found in parents.items()}, settled)
        arcs = sum(map(len, parents.values()))
        if number == FINISH:
            self.bar.last_steps(arcs, settled.trace[-1] if settled.trace else -math.inf)
        else:
            self.bar.watch(number, done, arcs)


def all_runs(runs: Runs, watch: Watcher) -> Learner[Learned]:
    """Every run of a table one after the other, the best of them finished: for tables that are themselves many."""
    found: dict[int, Learned] = {}
    for numbers in runs.rounds():
        for number in numbers:
            found[number] = yield from runs.learner(number, dict(found), watch)
    best = max(found.values(), key=lambda learned: learned.criterion)
    return (yield from runs.finish(best, watch))
