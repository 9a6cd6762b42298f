"""The runs of a search in turns: several plain starts, perturbations of the best, and the final steps.

Cuts are searched on a grid while arcs move; the best network is then improved by changes of single arcs with new
cuts, and gets its final cuts. In a very long table the runs see a sample, which shows every arc that matters and
roughly where the cuts are; the final steps see all rows.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from jaxbn.cuts.binning import NOT_CUT, Binning
from jaxbn.cuts.methods import Method
from jaxbn.inputs.graph import topological_order
from jaxbn.inputs.table import Table
from jaxbn.learning.ascent import at_midpoints
from jaxbn.learning.learned import Learned, Watcher, judged
from jaxbn.learning.passes import Settled
from jaxbn.learning.questions import Learner
from jaxbn.learning.turns import STAGES, alternate, evidence_turns, finish, joint_moves, state
from jaxbn.model.bayesnet import BayesNet
from jaxbn.scores.coded_table import CodedTable, Start
from jaxbn.scores.evidence import EvidenceCache
from jaxbn.structure.constraints import Rules
from jaxbn.structure.search import ArcSearch

STARTS = (("frequency", 5), ("alone", 5), ("width", 5), ("frequency", 9))
"""Where the first runs begin: plain bins of a kind and number, or every variable cut alone, without any arc."""

TOGETHER = 4
"""Perturbations of the same network, so that they can run side by side; the next batch perturbs the best so far."""

PERTURBED = 0.3
"""Share of the coded variables that a perturbation puts back into plain bins."""

FEWEST, MOST = 2, 9
"""Bins, or groups, of a variable that is put back."""

SMALL = 6 * 10**4
"""Up to this size joint moves are tried: in larger tables they found nothing, and took as long as the rest."""

MANY = ((SMALL, 24), (2 * 10**5, 8), (4 * 10**6, 4), (2 * 10**7, 2))
"""Runs by default up to a size of the table."""


SAMPLE, MANY_ROWS = 5 * 10**5, 2 * 10**6
"""Rows of a sample, and of a table that is sampled."""

ENOUGH = 1e-5
"""A smaller gain, as a share of F, ends the final passes over such a table: with millions of rows each pass still
moves a few across a cut."""

SAMPLING = 2
"""Goes into the seed, so that a sample is drawn apart from everything else."""


def sample_rows(table: Table, seed: int) -> Table:
    """Rows drawn without replacement, in their order.

    Example:
        >>> from jaxbn.inputs.table import as_table
        >>> sample_rows(as_table({"x": np.arange(600_000.0)}), 0).n_rows
        500000
    """
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
    for child in net.parents:
        for parent in net.parents[child] if child in parents else ():
            more = {**parents, child: (*parents[child], parent)}
            allowed = parent in parents and parent not in parents[child] and (parent, child) not in rules.forbidden
            if allowed and len(more[child]) <= rules.max_parents:
                with contextlib.suppress(ValueError):  # which a required arc the other way round would be
                    topological_order(more)
                    parents = more
    return Learned(topological_order(parents), parents, binnings, math.nan, math.nan)


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


@dataclass
class TurnRuns:
    """Numbered runs on one table."""

    data: CodedTable
    arcs: ArcSearch
    options: Method
    n_runs: int
    seed: int = 0
    begin: Learned | None = None  # where the first run begins
    cache: EvidenceCache = field(init=False)

    def __post_init__(self) -> None:
        self.cache = EvidenceCache(self.data, self.arcs.parent_prior, self.arcs.rules.required, self.arcs.rules.links)
        if not self.data.ordered.keys() - self.data.given and not self.data.grouped:
            self.n_runs = 1  # without cuts and groups there is one start, and nothing to perturb

    @property
    def n_steps(self) -> int:
        """Steps of a run, for a bar."""
        return STAGES

    @property
    def orders(self) -> Sequence[tuple[str, ...]]:
        """Orders that the runs are given: none."""
        return ()

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
        if number < len(STARTS):
            kind, n_bins = STARTS[number]
            start = self.data.start(self.options.initial_bins or n_bins, "frequency" if kind == "alone" else kind)
        else:
            first = len(STARTS) + (number - len(STARTS)) // TOGETHER * TOGETHER
            earlier = [found[i] for i in range(first)]
            start = self._perturbed(max(earlier, key=lambda learned: learned.criterion), number)
        if self.options.name == "evidence":
            alone = number < len(STARTS) and STARTS[number][0] == "alone"
            return evidence_turns(self.data, start, self.arcs, self.options, self.cache, watch, alone=alone)
        return alternate(self.data, start, self.arcs, self.options, watch)

    def again(self, learned: Learned, watch: Watcher) -> Learner[Learned]:
        """A run that starts from a network learned on another completion of the same table."""
        start = self.data.recoded(learned.binnings)
        if self.options.name != "evidence":
            return alternate(self.data, start, self.arcs, self.options, watch)
        return evidence_turns(self.data, start, self.arcs, self.options, self.cache, watch, parents=learned.parents)

    def from_sample(self, learned: Learned) -> Learned:
        """The network of a sample with its cuts moved between the values of all rows, and scored on all rows."""
        uncut = {
            n: replace(c, method=NOT_CUT) if isinstance(c, Binning) and n not in self.data.given else c
            for n, c in learned.binnings.items()
        }
        start = at_midpoints(self.data, self.data.recoded(uncut), self.options)
        if self.options.name == "evidence":
            value = self.cache.evidence(learned.parents, start.columns, start.binnings)
            return state(learned.parents, start, (value,))
        return judged(self.data, learned.parents, Settled(start.columns, start.binnings, 0, False), self.options)

    def finish(self, best: Learned, watch: Watcher) -> Learner[Learned]:
        """The best network with its final cuts; after several runs on a small table, joint moves come first."""
        if self.n_runs > 1 and size_of(self.data.table.n_rows, len(self.data.names)) <= SMALL:
            best = yield from joint_moves(self.data, best, self.arcs, self.options, self.cache, watch)
        enough = ENOUGH if self.data.table.n_rows > MANY_ROWS else 0.0
        return (yield from finish(self.data, best, self.arcs, self.options, self.cache, watch, enough))

    def _perturbed(self, learned: Learned, number: int) -> Start:
        """The codings of a network, some of them reset to plain bins or groups."""
        rng = np.random.default_rng([self.seed, number])
        start = self.data.recoded(learned.binnings)
        names = [name for name in learned.binnings if name not in self.data.given]
        chosen = [name for name in names if rng.random() < PERTURBED] or [names[rng.integers(len(names))]]
        for name in chosen:
            size = int(rng.integers(FEWEST, MOST + 1))
            if name in self.data.grouped:
                start.columns[name], start.binnings[name] = self.data.plain_groups(name, size)
            else:
                start.columns[name], start.binnings[name] = self.data.plain_bins(name, size)
        return start
