"""K2 interleaved with discretization, for one order of the variables (docs/maths.md, "K2")."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxbn.cuts.methods import Method
from jaxbn.learning.learned import Learned, Watcher
from jaxbn.learning.passes import discretize_steps
from jaxbn.learning.questions import Learner
from jaxbn.scores.coded_table import CodedTable, Start
from jaxbn.scores.density import density
from jaxbn.scores.families import Family, family_score, first_best, tolerance
from jaxbn.structure.constraints import Rules, candidate_parents


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
    score = math.fsum(
        family_score(settled.columns[name], [settled.columns[p] for p in parents[name]]) for name in data.names
    )
    criterion = score + (density(data, settled.binnings) if options.by_density else 0.0)
    return Learned(tuple(order), parents, settled.binnings, score, criterion)
