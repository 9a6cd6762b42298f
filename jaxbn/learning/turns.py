"""Alternating optimization: the best arcs for the current cuts, then the best cuts for these arcs, in turns.

Under ``"evidence"`` every step raises F, so the turns end where neither half can improve alone. The other methods have
no common objective for both halves: there the best state visited is kept, and a repeated state ends the turns.
See docs/maths.md, "Turns of structure and cuts".
"""

from __future__ import annotations

import math
from dataclasses import replace

from jaxbn.cuts.methods import Method
from jaxbn.cuts.on_grid.grid import FINE, FINE_GRID
from jaxbn.inputs.graph import topological_order
from jaxbn.learning.ascent import ascend, at_midpoints
from jaxbn.learning.learned import Learned, Watcher, judged
from jaxbn.learning.passes import Settled, discretize_steps
from jaxbn.learning.questions import Learner
from jaxbn.scores.coded_table import CodedTable, Columns, Start
from jaxbn.scores.evidence import EvidenceCache, effective_parents
from jaxbn.scores.families import structure_score, tolerance
from jaxbn.structure.neighbours import neighbours
from jaxbn.structure.search import ArcSearch

STAGES = 2
"""Of a run: variables with neighbours, then all variables. The last cuts are for the best run alone."""

TRIES, MOST_TRIES = 3, 60
"""Changes of an arc for each variable, and in all, that are tried with new cuts."""

Structure = dict[str, tuple[str, ...]]


def evidence_turns(
    data: CodedTable,
    start: Start,
    arcs: ArcSearch,
    options: Method,
    cache: EvidenceCache,
    watch: Watcher,
    *,
    alone: bool = False,
    parents: Structure | None = None,
) -> Learner[Learned]:
    """Turns that raise F from a start, with cuts on the grid; without `parents`, from the required arcs alone.

    A variable keeps the bins of its start until it has a neighbour: alone it may be best in one bin, and no arc from
    or to one bin raises F. With `alone` every variable is first cut without any arc, so F ends no lower than that of
    the network without arcs.
    """
    if parents is None:
        parents = arcs.rules.start
    start = at_midpoints(data, data.fitting(start, parents), options)
    learned = state(parents, start, (cache.evidence(parents, start.columns, start.binnings),))
    if alone:
        settled = yield from ascend(data, parents, data.names, start, options, cache, grid=options.grid)
        learned = state(parents, settled.start, settled.trace)
    for stage in (0, 1):  # first without isolated variables, which would fall into one bin before they find an arc
        learned = yield from _settle(data, learned, arcs, options, cache, watch, stage=stage, grid=options.grid)
    return learned


def finish(
    data: CodedTable,
    learned: Learned,
    arcs: ArcSearch,
    options: Method,
    cache: EvidenceCache,
    watch: Watcher,
    enough: float = 0.0,
) -> Learner[Learned]:
    """The network with its final cuts, exact or refined to single rows, in turns with its arcs until neither improves.

    A pass over the cuts that raises F by no more than `enough` times its size is the last.
    Exact cuts are slow, so the cuts of the grid are first refined to single rows: then few exact passes are needed.
    Without a common objective the arcs stay as they are.
    """
    on_grid = data.on_grid(options.grid)
    last = (None, 1) if options.proves_cuts(data.table.n_rows) else (FINE_GRID, FINE)
    if options.name != "evidence":
        return (yield from _last_passes(data, learned, options, *last)) if on_grid else learned
    if on_grid and last[0] is None:
        start = data.recoded(learned.binnings)
        settled = yield from ascend(
            data, learned.parents, data.names, start, options, cache, grid=FINE_GRID, refinements=FINE
        )
        learned = state(dict(learned.parents), settled.start, (*learned.trace, *settled.trace[1:]))
    return (
        yield from _settle(
            data,
            learned,
            arcs,
            options,
            cache,
            watch,
            stage=2,
            grid=last[0],
            refinements=last[1],
            enough=enough,
        )
    )


def _last_passes(
    data: CodedTable, learned: Learned, options: Method, grid: int | None, refinements: int
) -> Learner[Learned]:
    """The last cuts for the arcs of a network that was found on the grid."""
    start, parents = data.recoded(learned.binnings), dict(learned.parents)
    settled = yield from discretize_steps(data, parents, data.names, start, options, grid, refinements)
    return judged(data, parents, settled, options)


def joint_moves(
    data: CodedTable, learned: Learned, arcs: ArcSearch, options: Method, cache: EvidenceCache, watch: Watcher
) -> Learner[Learned]:
    """Change an arc and cut again, as long as that raises F: a move that neither half of a turn can make alone."""
    if options.name != "evidence" or not learned.binnings:
        return learned
    while better := (yield from _better_neighbour(data, learned, arcs, options, cache)):
        learned = yield from _settle(data, better, arcs, options, cache, watch, stage=1, grid=options.grid)
    return learned


def _better_neighbour(
    data: CodedTable, learned: Learned, arcs: ArcSearch, options: Method, cache: EvidenceCache
) -> Learner[Learned | None]:
    """A structure with another arc that has the higher F once its variables are cut again; None if none has."""
    now, parents, before = data.recoded(learned.binnings), learned.parents, learned.criterion
    once = replace(options, max_passes=1)  # a change that pays has always shown it after one pass
    for change in _promising(parents, now.columns, arcs, cache):
        changed = {**parents, **change}
        settled = yield from ascend(data, changed, data.names, now, once, cache, grid=options.grid)
        if settled.trace[-1] > before + tolerance(before):
            changed = _without_idle_arcs(changed, settled.columns, arcs)
            return state(changed, settled.start, (*learned.trace, settled.trace[-1]))
    return None


def _promising(parents: Structure, columns: Columns, arcs: ArcSearch, cache: EvidenceCache) -> list[Structure]:
    """The changes of an arc that lower F least with the current cuts, best first.

    Every change lowers it, as the arcs are the best for these cuts; new cuts may more than make up for that.
    """

    def value(change: Structure) -> float:
        return math.fsum(
            cache.family(name, found, columns) - cache.family(name, parents[name], columns)
            for name, found in change.items()
        )

    def fits(change: Structure) -> bool:
        sizes = [math.prod(columns[n].size for n in (name, *found)) for name, found in change.items()]
        return max(sizes) <= arcs.rules.max_cells

    busy = {name: column.n_states > 1 for name, column in columns.items()}
    usable = [
        change
        for change in neighbours(parents, arcs.rules)
        if fits(change) and all(busy[n] for name, found in change.items() for n in (name, *found))
    ]
    return sorted(usable, key=value, reverse=True)[: min(TRIES * len(parents), MOST_TRIES)]


def _settle(
    data: CodedTable,
    learned: Learned,
    arcs: ArcSearch,
    options: Method,
    cache: EvidenceCache,
    watch: Watcher,
    *,
    stage: int,
    grid: int | None,
    refinements: int = 1,
    enough: float = 0.0,
) -> Learner[Learned]:
    """Turns until F rises no more; the first stage leaves variables without neighbours as they are."""
    now, trace = data.recoded(learned.binnings), list(learned.trace)
    parents = _without_idle_arcs(learned.parents, now.columns, arcs)
    settled: Settled | None = None
    cut_for: Structure = {}
    while True:
        before = trace[-1]
        found = arcs.best(now.columns, parents, thorough=stage == STAGES)
        value = cache.evidence(found.parents, now.columns, now.binnings)
        if value > before + tolerance(value):
            parents = found.parents
            trace.append(value)
            watch(stage, parents, Settled(now.columns, now.binnings, 0, False, tuple(trace)))
        elif settled is not None and settled.converged and parents == cut_for:
            break  # these cuts are the best for the same arcs
        cut_for = parents
        settled = yield from ascend(
            data,
            parents,
            data.names,
            now,
            options,
            cache,
            isolated=stage > 0,
            grid=grid,
            refinements=refinements,
            enough=enough,
        )
        now, parents = settled.start, _without_idle_arcs(parents, settled.columns, arcs)
        trace += settled.trace[1:]
        if trace[-1] <= before + tolerance(before) and parents == cut_for:
            break
        watch(stage, parents, settled._replace(trace=tuple(trace)))
    watch(stage + 1, parents, settled._replace(trace=tuple(trace)))
    return state(parents, now, tuple(trace))


def _without_idle_arcs(parents: Structure, columns: Columns, arcs: ArcSearch) -> Structure:
    """The structure without idle arcs; F does not charge for these, so it stays the same."""
    required = arcs.rules.required
    return {child: effective_parents(child, found, columns, required) for child, found in parents.items()}


def alternate(data: CodedTable, start: Start, arcs: ArcSearch, options: Method, watch: Watcher) -> Learner[Learned]:
    """Turns for the methods without a common objective: the best state by the options' criterion."""
    now, best, seen = start, None, set()
    while True:
        found = arcs.best(data.fitting(now, arcs.rules.start).columns)
        settled = yield from discretize_steps(data, found.parents, data.names, now, options, options.grid)
        parents = _without_idle_arcs(found.parents, settled.columns, arcs)
        now_judged = judged(data, parents, settled, options)
        if best is None or now_judged.criterion > best.criterion:
            best = now_judged
        watch(0, parents, settled)
        state = (str(parents), *(column.key for column in settled.columns.values()))
        if state in seen:  # nothing makes these turns converge: they may go round in a cycle
            return best
        seen.add(state)
        now = settled.start


def state(parents: Structure, now: Start, trace: tuple[float, ...]) -> Learned:
    """A network whose F is the last of its trace."""
    score = structure_score(parents, now.columns)
    return Learned(topological_order(parents), dict(parents), now.binnings, score, trace[-1], trace)
