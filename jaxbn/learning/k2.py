"""K2 interleaved with discretization (docs/maths.md, "K2"): a run for each order of the variables, given or random."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from jaxbn.inputs.graph import topological_order
from jaxbn.kernels.arithmetic import tolerance
from jaxbn.learning.passes import Learned, Passes, Watcher
from jaxbn.learning.solver import Learner
from jaxbn.scores.coded_table import CodedTable
from jaxbn.scores.evidence import EvidenceCache, log_links
from jaxbn.scores.families import Family, first_best

if TYPE_CHECKING:
    from jaxbn.learning.plan import Plan


class K2Runs(Passes):
    """Numbered runs on one table, an order each."""

    arcs = None  # K2 has no search of its own

    def __init__(self, data: CodedTable, plan: Plan, seed: int | np.random.Generator) -> None:
        super().__init__(data, plan.options, EvidenceCache(data, links=plan.rules.links))
        self.rules, self.warm_start, self.start = plan.rules, plan.k2.warm_start, self.first_bins()
        self.orders = [tuple(plan.k2.order or ())]
        if plan.k2.order is None:  # at random, required arcs forward; a larger number extends the same sequence
            rng, names, required = np.random.default_rng(seed), data.names, self.rules.required
            shuffled = [rng.permutation(len(names)) for _ in range(plan.restarts)]
            self.orders = [topological_order({names[i]: required.get(names[i], ()) for i in each}) for each in shuffled]
        self.n_runs, self.n_steps = len(self.orders), len(data.names)

    def rounds(self) -> Iterator[range]:
        """Numbers of runs that can be done together: all of them."""
        yield range(self.n_runs)

    def learner(self, number: int, found: Mapping[int, Learned], watch: Watcher) -> Learner[Learned]:
        """The run of a number."""
        return self._run(self.orders[number], watch)

    def again(self, learned: Learned, watch: Watcher) -> Learner[Learned]:
        """A run with the order of a network that was learned on another completion of the same table."""
        return self._run(learned.order, watch)

    def finish(self, best: Learned, watch: Watcher) -> Learner[Learned]:
        """The best run as it is."""
        yield from ()
        return best

    def _run(self, order: Sequence[str], watch: Watcher) -> Learner[Learned]:
        """Give every variable the predecessors that raise its score most, and cut all again after each arc.

        The score to beat is that of the codes before the arc was accepted; it is not computed again on the new ones, as
        in the authors' program. Under the evidence it is; there sweeps are repeated until no arc is added. A variable
        keeps the bins of its start until the second sweep or until it has a neighbour: alone it may be best in one bin,
        and no arc from or to one bin raises F.
        """
        evidence, rules, parents = self.cache is not None, self.rules, self.rules.start
        now = yield from self.settle(parents, self.start, priority=order, isolated=False)
        trace, sweep, added = [*now.trace], 0, True
        while added or (evidence and sweep < 2):
            added = False
            for position, name in enumerate(order):
                to_beat = None
                while candidates := rules.candidates(name, order[:position], parents[name], now.columns):
                    own = tuple(now.columns[p] for p in parents[name])
                    families = [(), *((now.columns[candidate],) for candidate in candidates)]
                    score, *scores = yield [Family(now.columns[name], (*own, *more)) for more in families]
                    scores = [s + log_links(name, [c], rules.links) for s, c in zip(scores, candidates, strict=True)]
                    best = first_best(scores)
                    to_beat = score if evidence or to_beat is None else to_beat
                    if scores[best] <= to_beat + (100 if evidence else 1) * tolerance(to_beat):
                        break
                    to_beat, added = scores[best], evidence
                    parents[name] = (*parents[name], candidates[best])
                    again = now if evidence or self.warm_start else self.start
                    now = yield from self.settle(parents, again, priority=order, isolated=sweep > 0)
                    trace += now.trace
                    watch(position, parents, now)
                watch(position + 1, parents, now)
            if evidence:
                now = yield from self.settle(parents, now, priority=order)
                trace += now.trace
            sweep += 1
        return self.learned(parents, now._replace(trace=tuple(trace)), order)
