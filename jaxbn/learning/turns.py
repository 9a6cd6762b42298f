"""Arcs and cuts in turns: the best arcs for the current cuts, then the best cuts for these arcs.

Under ``"evidence"`` every step raises F, so the turns end where neither half can improve alone. The other methods have
no common objective for both halves: there the best state visited is kept, and a repeated state ends the turns
(docs/maths.md, "Turns of structure and cuts").

Runs begin with several plain starts, then with perturbations of the best. Cuts are searched on a grid while arcs move;
the best network is then improved by changes of single arcs with new cuts, and gets its final cuts. In a very long table
the runs see a sample, which shows every arc that matters and roughly where the cuts are; the final steps see all rows.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbn.cuts.binning import NOT_CUT, Binning
from jaxbn.cuts.on_grid import FINE, FINE_GRID
from jaxbn.inputs.graph import children_of, topological_order
from jaxbn.inputs.table import Table
from jaxbn.kernels.arithmetic import tolerance
from jaxbn.learning.passes import Learned, Passes, Settled, Structure, Watcher
from jaxbn.learning.solver import Learner
from jaxbn.model.bayesnet import BayesNet
from jaxbn.scores.coded_table import CodedTable, Columns, Start
from jaxbn.scores.evidence import EvidenceCache, effective_parents
from jaxbn.structure.constraints import Rules
from jaxbn.structure.search import ArcSearch

if TYPE_CHECKING:
    from jaxbn.learning.plan import Plan

STARTS = (("frequency", 5), ("alone", 5), ("width", 5), ("frequency", 9))
"""Where the first runs begin: plain bins of a kind and number, or every variable cut alone, without any arc."""

TOGETHER = 4
"""Perturbations of the same network, so that they can run side by side; the next batch perturbs the best so far."""

PERTURBED = 0.3  # share of the coded variables that a perturbation puts back into plain bins

FEWEST, MOST = 2, 9
"""Bins, or groups, of a variable that is put back."""

STAGES = 2  # of a run: variables with neighbours, then all variables. The last cuts are for the best run alone

SMALL = 6 * 10**4
"""Up to this size joint moves are tried: in larger tables they found nothing, and took as long as the rest."""

TRIES, MOST_TRIES = 3, 60
"""Changes of an arc for each variable, and in all, that are tried with new cuts."""

MANY = ((SMALL, 24), (2 * 10**5, 8), (4 * 10**6, 4), (2 * 10**7, 2))  # runs by default up to a size of the table

SAMPLE, MANY_ROWS = 5 * 10**5, 2 * 10**6
"""Rows of a sample, and of a table that is sampled."""

ENOUGH = 1e-5
"""A smaller gain, as a share of F, ends the final passes over such a table: with millions of rows each pass still
moves a few across a cut."""

SAMPLING = 2  # goes into the seed, so that a sample is drawn apart from everything else


def size_of(n_rows: int, n_columns: int) -> int:
    """Rows times squared columns: the time of a search is about proportional to it."""
    return n_rows * n_columns**2


def runs_for(n_rows: int, n_columns: int) -> int:
    """Default number of runs: with a larger table each run is more reliable, and takes longer.

    Example:
        >>> runs_for(392, 8), runs_for(20_000, 12), runs_for(10**6, 7)
        (24, 4, 1)
    """
    return next((runs for most, runs in MANY if size_of(n_rows, n_columns) <= most), 1)


def sample_rows(table: Table, seed: int) -> Table:
    """Rows drawn without replacement, in their order."""
    rng = np.random.default_rng([seed, SAMPLING])
    return table.take(np.sort(rng.choice(table.n_rows, SAMPLE, replace=False)))


def begin_at(net: BayesNet, data: CodedTable, rules: Rules) -> Learned:
    """A network as the start of a run on a table: its cuts, groups and arcs as far as table and rules have them."""
    binnings = data.start(STARTS[0][1], STARTS[0][0]).binnings
    for name in binnings.keys() - data.given:
        if name in net.binnings:
            binnings[name] = replace(net.binnings[name], method=NOT_CUT)
        elif name in net.groupings and set(net.levels[name]) == set(data.table.levels[name]):
            binnings[name] = net.groupings[name]
    parents = rules.start
    for parent, child in net.arcs:
        new = {parent, child} <= parents.keys() and parent not in parents[child]
        if new and (parent, child) not in rules.forbidden and len(parents[child]) < rules.max_parents:
            more = {**parents, child: (*parents[child], parent)}
            with contextlib.suppress(ValueError):  # which a required arc the other way round would be
                topological_order(more)
                parents = more
    return Learned(topological_order(parents), parents, binnings, math.nan, math.nan)


class TurnRuns(Passes):
    """Numbered runs on one table."""

    n_steps = STAGES
    orders: Sequence[tuple[str, ...]] = ()  # runs are given none

    def __init__(self, data: CodedTable, plan: Plan, seed: int) -> None:
        rules, prior = plan.rules, plan.arc_charge(data.table)
        super().__init__(data, plan.options, EvidenceCache(data, prior, rules.required, rules.links))
        limits = plan.orders.starts, plan.orders.patience
        self.arcs = ArcSearch(data.names, rules, plan.search, prior, plan.options.weight, seed, limits)
        self.rules, self.seed = rules, seed
        self.begin = None if plan.begin is None else begin_at(plan.begin, data, rules)
        coded = data.ordered.keys() - data.given or data.grouped
        self.n_runs = plan.restarts if coded else 1  # without cuts and groups there is nothing to perturb

    def rounds(self) -> Iterator[range]:
        """Numbers of runs that can be done together."""
        starts = min(self.n_runs, len(STARTS))
        yield range(starts)
        for first in range(starts, self.n_runs, TOGETHER):
            yield range(first, min(first + TOGETHER, self.n_runs))

    def learner(self, number: int, found: Mapping[int, Learned], watch: Watcher) -> Learner[Learned]:
        """The run of a number, given those of the rounds before."""
        if number == 0 and self.begin is not None:
            return self.again(self.begin, watch)
        if number >= len(STARTS):
            # the best of the batches before: runs of one batch must not depend on each other to run side by side
            before = number - (number - len(STARTS)) % TOGETHER
            best = max((found[i] for i in range(before)), key=lambda learned: learned.criterion)
            return self._run(self._perturbed(best, number), watch)
        kind, n_bins = STARTS[number]
        alone = kind == "alone"
        start = self.data.start(self.options.initial_bins or n_bins, "frequency" if alone else kind)
        return self._run(start, watch, alone=alone)

    def again(self, learned: Learned, watch: Watcher) -> Learner[Learned]:
        """A run that starts from a network learned on another completion of the same table."""
        return self._run(self.data.recoded(learned.binnings), watch, learned.parents)

    def from_sample(self, learned: Learned) -> Learned:
        """The network of a sample with its cuts moved between the values of all rows, and scored on all rows."""
        # marked as not cut, so that `at_midpoints` moves them: midpoints of a sample are not those of all rows
        uncut = {
            n: replace(c, method=NOT_CUT) if isinstance(c, Binning) and n not in self.data.given else c
            for n, c in learned.binnings.items()
        }
        start = self.at_midpoints(self.data.recoded(uncut))
        return self.learned(learned.parents, self.valued(learned.parents, start))

    def finish(self, best: Learned, watch: Watcher) -> Learner[Learned]:
        """The best network with its final cuts, exact or refined to single rows, in turns with its arcs.

        After several runs on a small table, joint moves come first. Exact cuts are slow, so the cuts of the grid are
        first refined to single rows: then few exact passes are needed. Without a common objective the arcs stay.
        """
        data, options, parents = self.data, self.options, best.parents
        on_grid, proves = data.on_grid(options.grid), options.proves_cuts(data.table.n_rows)
        grid, refinements = (None, 1) if proves else (FINE_GRID, FINE)
        now = Settled(*data.recoded(best.binnings), trace=best.trace)
        if self.cache is None:
            if not on_grid:
                return best
            now = yield from self.settle(parents, now, grid=grid, refinements=refinements)
            return self.learned(parents, now)
        if self.n_runs > 1 and size_of(data.table.n_rows, len(data.names)) <= SMALL:
            parents, now = yield from self.joint_moves(parents, now, watch)
        if on_grid and proves:
            refined = yield from self.settle(parents, now, grid=FINE_GRID, refinements=FINE)
            now = refined._replace(trace=(*now.trace, *refined.trace[1:]))
        cutting = {"grid": grid, "refinements": refinements, "enough": ENOUGH if data.table.n_rows > MANY_ROWS else 0.0}
        return self.learned(*(yield from self._turns(parents, now, watch, STAGES, **cutting)))

    def joint_moves(self, parents: Structure, now: Settled, watch: Watcher) -> Learner[tuple[Structure, Settled]]:
        """Change an arc and cut again, as long as that raises F: a move that neither half of a turn can make alone."""
        while better := (yield from self._better_neighbour(parents, now)):
            parents, now = yield from self._turns(*better, watch, 1, grid=self.options.grid)
        return parents, now

    def _run(
        self, start: Start, watch: Watcher, parents: Structure | None = None, *, alone: bool = False
    ) -> Learner[Learned]:
        """A run from a start, with cuts on the grid; without `parents`, from the required arcs alone.

        A variable keeps the bins of its start until it has a neighbour: alone it may be best in one bin, and no arc
        from or to one bin raises F. With `alone` every variable is first cut without any arc, so F ends no lower than
        that of the network without arcs.
        """
        if self.cache is None:
            return (yield from self._alternate(start, watch))
        parents = self.rules.start if parents is None else parents
        now = self.valued(parents, self.at_midpoints(self.data.fitting(start, parents)))
        if alone:
            now = yield from self.settle(parents, now, grid=self.options.grid)
        for stage in (0, 1):  # first without isolated variables, which would fall into one bin before they find an arc
            parents, now = yield from self._turns(parents, now, watch, stage, grid=self.options.grid)
        return self.learned(parents, now)

    def _alternate(self, now: Start | Settled, watch: Watcher) -> Learner[Learned]:
        """Turns for the methods without a common objective: the best state by the options' criterion."""
        best, seen = None, set()
        while True:
            start = self.data.fitting(Start(now.columns, now.binnings), self.rules.start)
            found = self.arcs.best(start.columns)
            now = yield from self.settle(found.parents, now, grid=self.options.grid)
            parents = self._without_idle_arcs(found.parents, now.columns)
            learned = self.learned(parents, now)
            if best is None or learned.criterion > best.criterion:
                best = learned
            watch(0, parents, now)
            state = (str(parents), *(column.key for column in now.columns.values()))
            if state in seen:  # nothing makes these turns converge: they may go round in a cycle
                return best
            seen.add(state)

    def _turns(
        self, parents: Structure, now: Settled, watch: Watcher, stage: int, **cutting: Any
    ) -> Learner[tuple[Structure, Settled]]:
        """Turns until F rises no more; the first stage leaves variables without neighbours as they are.

        How variables are cut, `cutting`, is that of `settle`.
        """
        assert self.cache is not None
        trace, cut_for = list(now.trace), None
        parents = self._without_idle_arcs(parents, now.columns)
        while True:
            before = trace[-1]
            found = self.arcs.best(now.columns, parents, thorough=stage == STAGES, bounded=False)
            # A search rounds scores, and may miss the best arcs. F from its definition decides, so that the turns end
            # (docs/maths.md, "Turns of structure and cuts").
            value = self.cache.evidence(found.parents, now.columns, now.binnings)
            if value > before + tolerance(value):
                parents = found.parents
                trace.append(value)
                watch(stage, parents, now._replace(trace=tuple(trace)))
            elif now.converged and parents == cut_for:
                break  # these cuts are the best for the same arcs
            cut_for = parents
            now = yield from self.settle(parents, now, isolated=stage > 0, **cutting)
            parents = self._without_idle_arcs(parents, now.columns)
            # its first entry is the F that the passes began with
            trace += now.trace[1:]
            if trace[-1] <= before + tolerance(before) and parents == cut_for:
                break
            watch(stage, parents, now._replace(trace=tuple(trace)))
        now = now._replace(trace=tuple(trace))
        watch(stage + 1, parents, now)
        return parents, now

    def _better_neighbour(self, parents: Structure, now: Settled) -> Learner[tuple[Structure, Settled] | None]:
        """A structure with another arc that has the higher F once its variables are cut again; None if none has."""
        before = now.trace[-1]
        for change in self._promising(parents, now.columns) if now.binnings else ():
            changed = {**parents, **change}
            # a change that pays has always shown it after one pass
            settled = yield from self.settle(changed, now, grid=self.options.grid, most_passes=1)
            value = settled.trace[-1]
            if value > before + tolerance(before):
                trace = (*now.trace, value)
                return self._without_idle_arcs(changed, settled.columns), settled._replace(trace=trace)
        return None

    def _promising(self, parents: Structure, columns: Columns) -> list[Structure]:
        """The changes of an arc that lower F least with the current cuts, best first.

        Every change lowers it, as the arcs are the best for these cuts; new cuts may more than make up for that.
        """
        family, rules = self.cache.family, self.rules  # type: ignore[union-attr]

        def value(change: Structure) -> float:
            return math.fsum(family(n, found, columns) - family(n, parents[n], columns) for n, found in change.items())

        def usable(change: Structure) -> bool:
            families = [[columns[n] for n in (name, *found)] for name, found in change.items()]
            fits = all(math.prod(column.size for column in members) <= rules.max_cells for members in families)
            return fits and all(column.n_states > 1 for members in families for column in members)

        changes = sorted(filter(usable, neighbours(parents, rules)), key=value, reverse=True)
        return changes[: min(TRIES * len(parents), MOST_TRIES)]

    def _without_idle_arcs(self, parents: Structure, columns: Columns) -> Structure:
        """The structure without idle arcs; F does not charge for these, so it stays the same."""
        required = self.rules.required
        return {child: effective_parents(child, found, columns, required) for child, found in parents.items()}

    def _perturbed(self, learned: Learned, number: int) -> Start:
        """The codings of a network, some of them reset to plain bins or groups."""
        rng = np.random.default_rng([self.seed, number])
        start = self.data.recoded(learned.binnings)
        names = [name for name in learned.binnings if name not in self.data.given]
        chosen = [name for name in names if rng.random() < PERTURBED] or [names[rng.integers(len(names))]]
        for name in chosen:
            size = int(rng.integers(FEWEST, MOST + 1))
            start.columns[name], start.binnings[name] = self.data.plain(name, size)
        return start


def neighbours(parents: Structure, rules: Rules) -> Iterator[Structure]:
    """All changes of one arc that leave a structure acyclic and within its constraints, sizes of tables apart.

    A change is the new parents of one or two variables: an arc is removed, turned round, or has another parent in its
    place. None adds an arc: with cuts tuned to it, a spurious arc is too easily found in noise.
    """
    # descendants: an arc from one of them would close a cycle
    children, below = children_of(parents), dict[str, set[str]]()
    for name in reversed(topological_order(parents)):
        below[name] = set(children[name]).union(*(below[child] for child in children[name]))
    for child, found in parents.items():
        closed = {child, *found, *below[child], *(p for p, of in rules.forbidden if of == child)}
        for parent in found:
            if parent in rules.required.get(child, ()):
                continue
            rest = tuple(p for p in found if p != parent)
            yield {child: rest}
            turns = len(parents[parent]) < rules.max_parents and (child, parent) not in rules.forbidden
            if turns and not below[parent].intersection(rest):  # there is no other path from the parent to the child
                yield {parent: (*parents[parent], child), child: rest}
            yield from ({child: (*rest, other)} for other in parents if other not in closed)
