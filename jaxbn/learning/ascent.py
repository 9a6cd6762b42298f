"""Coordinate ascent over cuts, groups and arcs: each step raises F, the evidence of the table in original units.

F is computed from its definition after every change, and the change is kept only if F rose. So the passes cannot
cycle, and restarts are compared by the same number that they maximize. See docs/maths.md, "The evidence in original
units" and "The network loop".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from jaxbn.cuts.binning import NOT_CUT, Binning
from jaxbn.cuts.evidence import TOLERANCE
from jaxbn.cuts.methods import NO_RATE, Method
from jaxbn.cuts.sorted_values import midpoints
from jaxbn.groups.grouping import Grouping
from jaxbn.inputs.graph import Parents
from jaxbn.learning.learned import Learned, Watcher
from jaxbn.learning.passes import Settled, cut_question, questions_ahead, visiting_order
from jaxbn.learning.questions import Cut, Learner
from jaxbn.runtime.threads import MANY_ROWS, n_threads
from jaxbn.scores.coded_table import CodedTable, Columns, Start, same_coding
from jaxbn.scores.evidence import EvidenceCache
from jaxbn.scores.families import Family, first_best, structure_score, tolerance
from jaxbn.scores.parent_prior import log_links
from jaxbn.structure.constraints import Rules, candidate_parents


def ascend(
    data: CodedTable,
    parents: Parents,
    priority: Sequence[str],
    start: Start,
    options: Method,
    cache: EvidenceCache,
    *,
    isolated: bool = True,
    grid: int | None = None,
    refinements: int = 1,
    enough: float = 0.0,
) -> Learner[Settled]:
    """Passes over the variables until F rises no more, with `isolated` those without neighbours too.

    The cuts of the start are first moved to midpoints.

    With a `grid` cuts are searched among that many quantile positions only, refined around what was found there. A pass
    that raises F by no more than `enough` times its size is the last.
    """
    start = at_midpoints(data, data.fitting(start, parents), options)
    columns, codings = dict(start.columns), dict(start.binnings)
    trace = [cache.evidence(parents, columns, codings)]
    visits = visiting_order(parents, priority, codings.keys() - data.given, isolated=isolated)
    done, changed = 0, True

    def question(name: str) -> Cut:
        return cut_question(name, parents, columns, NO_RATE, data.grid(name, grid), refinements)

    while changed and done < options.limit:
        done, changed, before = done + 1, False, trace[-1]
        for i, name in enumerate(visits):
            # idle threads answer likely later questions; with few rows that is not worth their start
            later = visits[i + 1 :] if data.table.n_rows >= MANY_ROWS and n_threads() > 1 else ()
            coding = yield questions_ahead(name, later, parents, trace[-1] == before, question)
            column = data.coded(name, coding)
            if same_coding(coding, codings[name]):
                codings[name] = coding  # equal to the old one, but it knows its cost
                continue
            value = cache.evidence(parents, {**columns, name: column}, {**codings, name: coding})
            if value > trace[-1] + tolerance(value):
                codings[name], columns[name] = coding, column
                trace.append(value)
                changed = value > before + enough * abs(before)
    return Settled(columns, codings, done, not changed, tuple(trace))


def at_midpoints(data: CodedTable, start: Start, options: Method) -> Start:
    """The same codes with the cuts halfway between neighbours, as F has them; one bin where some are too narrow."""
    columns, codings = dict(start.columns), dict(start.binnings)
    for name, coding in start.binnings.items():
        if isinstance(coding, Grouping) or coding.method == "evidence" or name in data.given:
            continue
        ordered = data.ordered[name]
        values, codes = ordered.values, columns[name].taken(ordered.order)
        cuts = np.flatnonzero(codes[1:] != codes[:-1])
        edges = midpoints(values[cuts], values[cuts + 1])
        most = options.most_bins(name)
        if most is not None and len(edges) >= most:
            edges = edges[np.linspace(0, len(edges) - 1, most - 1).round().astype(np.intp)]
        widths = np.diff([values[0], *edges, values[-1]])
        narrow = widths.min(initial=np.inf) < options.narrowest(name, ordered) * (1 - TOLERANCE)
        codings[name] = Binning(
            edges[:0] if narrow else edges, lower=float(values[0]), upper=float(values[-1]), method=NOT_CUT
        )
        columns[name] = data.coded(name, codings[name])
    return Start(columns, codings)


def climb(
    data: CodedTable,
    order: Sequence[str],
    start: Start,
    rules: Rules,
    options: Method,
    watch: Watcher = lambda done, parents, settled: None,
) -> Learner[Learned]:
    """K2 by F: every variable gets the predecessors that raise F most, and all are cut again after each arc.

    A variable keeps the bins of its start until it has a neighbour: alone it may be best in one bin, and no arc from or
    to one bin raises F. Sweeps are repeated, from the second on with all variables cut, until no arc is added.
    """
    cache = EvidenceCache(data, links=rules.links)
    parents = rules.start
    settled = yield from ascend(data, parents, order, start, options, cache, isolated=False)
    trace = list(settled.trace)
    sweeps, added = 0, True
    while added or sweeps < 2:
        added = False
        for position, name in enumerate(order):
            while arc := (yield from _best_arc(name, order[:position], parents, settled.columns, rules)):
                parents[name] = (*parents[name], arc)
                settled = yield from ascend(data, parents, order, settled.start, options, cache, isolated=sweeps > 0)
                trace += settled.trace
                added = True
                watch(position, parents, settled)
            watch(position + 1, parents, settled)
        settled = yield from ascend(data, parents, order, settled.start, options, cache)
        trace += settled.trace
        sweeps += 1
    score = structure_score(parents, settled.columns)
    return Learned(tuple(order), parents, settled.binnings, score, trace[-1], tuple(trace))


def _best_arc(
    name: str,
    predecessors: Sequence[str],
    parents: Mapping[str, tuple[str, ...]],
    columns: Columns,
    rules: Rules,
) -> Learner[str | None]:
    """The predecessor that raises a variable's score most, None if none does."""
    own = tuple(columns[p] for p in parents[name])
    candidates = candidate_parents(name, predecessors, parents[name], columns, rules)
    if not candidates or len(own) >= rules.max_parents:
        return None
    now, *scores = yield [Family(columns[name], own), *(Family(columns[name], (*own, columns[c])) for c in candidates)]
    scores = [score + log_links(name, [c], rules.links) for score, c in zip(scores, candidates, strict=True)]
    best = first_best(scores)
    return candidates[best] if scores[best] > now + 100 * tolerance(now) else None
