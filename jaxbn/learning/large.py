"""Learning from a source: one look at it, a search on a sample in memory, then a few passes over all rows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.methods import Method, as_method
from jaxbn.groups.grouping import Grouping
from jaxbn.inputs.columns import MAX_INTEGER_LEVELS
from jaxbn.inputs.graph import Parents, markov_blanket, topological_order
from jaxbn.inputs.missing import LOG, Missing, check_holes
from jaxbn.inputs.table import Table, as_table
from jaxbn.learning.all_rows import ENOUGH, AllRows, Moves, Standing, complete, families_with
from jaxbn.learning.checkpoint import open_checkpoint
from jaxbn.learning.columns import Columns
from jaxbn.learning.passes import Learned, Settled, Structure
from jaxbn.learning.plan import Plan
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.fit import fit
from jaxbn.model.inference.em import Counter, tell_left_out
from jaxbn.model.observations import encode_frame, frame_of
from jaxbn.model.rows.updating import recounted
from jaxbn.runtime import limits
from jaxbn.runtime.files import PathLike
from jaxbn.runtime.memory import in_words
from jaxbn.runtime.processes import several
from jaxbn.runtime.progress import Steps
from jaxbn.scores.coded_table import CodedTable, Coding
from jaxbn.scores.evidence import shaped
from jaxbn.sources.counting import Batches, Coded, Counting
from jaxbn.sources.source import ArrowSource, SharedSource, Source, as_source
from jaxbn.sources.survey import Facts, Survey, threshold
from jaxbn.structure.constraints import Constraints

SAMPLE = 5 * 10**5  # rows of the sample that a network is searched on; no more are read into memory
ROUNDS = 4  # passes after the first one, at most; the last of them only counts
EM_STEPS = 2  # passes of EM over all rows, from the tables of the sample on, where entries are missing


@dataclass
class Large:
    """A source and what the first pass over it has found."""

    source: Source
    facts: Facts
    progress: bool = False
    drop: tuple[str, ...] = ()  # rows that lack one of these columns are left out
    passes: int = 1  # over all rows, so far

    @classmethod
    def of(cls, data: Any, *, seed: int = 0, progress: bool = False, missing: Missing = "infer") -> Large | None:
        """The source behind some data, after a first pass over it; None for a table in memory."""
        source = as_source(data)
        if source is None:
            return None
        if several() and isinstance(source, ArrowSource):  # a shard for each process
            source = SharedSource(source)
        n_rows = source.n_rows()
        task = Survey(threshold(n_rows, SAMPLE), seed)
        with Steps(progress, n_rows, "rows of pass 1") as bar:
            facts = source.ask(task, bar.done)
        lacking = {name: found.missing for name, found in facts.columns.items() if found.missing}
        if missing == "error" and lacking:
            check_holes(lacking, max(lacking.values()), facts.n_rows, missing)
        return cls(source, facts, progress, tuple(facts.columns) if missing == "drop" else ())

    @property
    def is_sampled(self) -> bool:
        """Whether there are rows that are not in the sample."""
        return self.facts.n_sampled < self.facts.n_rows

    def table(self, columns: Columns, missing: Missing, keep: Sequence[str] | None = None) -> tuple[Table, Columns]:
        """The sample as a table with the levels of all rows, and what is known about columns.

        Columns of whole numbers are continuous if all rows hold many, also where the sample holds few.
        """
        named, frame = {*(columns.continuous or ()), *(columns.discrete or ())}, self.facts.sample()
        numbers = [name for name in self.facts.columns if name not in named and frame[name].dtype.kind in "iuf"]
        many = [name for name in numbers if self.facts.columns[name].n_distinct > MAX_INTEGER_LEVELS]
        more = [name for name in many if frame[name].nunique() <= MAX_INTEGER_LEVELS]
        columns = replace(columns, continuous=[*(columns.continuous or ()), *more]) if more else columns
        return self.facts.completed(columns.table(frame, missing, keep=keep)), columns

    def all_rows(self, data: CodedTable, options: Method) -> AllRows:
        """All rows under given arcs; `data` is the sample."""
        rules = Constraints().rules(data.table, max_cells=data.max_cells)
        return AllRows(self, data, options, rules, fixed=True)

    def refined(self, data: CodedTable, parents: Parents, found: Settled, options: Method) -> Settled:
        """A discretization of the sample, refined on all rows by the evidence."""
        rows, trace = self.all_rows(data, options), list[float]()
        first = Standing({name: tuple(parents[name]) for name in data.names}, shaped(data, found.binnings))
        codings = refined(rows, first, lambda _, now: trace.append(now.value)).codings
        return Settled(data.recoded(codings).columns, codings, found.passes, found.converged, tuple(trace))

    def count(self, requests: Sequence[Sequence[Coded]]) -> list[NDArray[np.int64]]:
        """The counts of one more pass."""
        self.passes += 1
        task = Counting.of_requests(requests, drop=self.drop)
        LOG.info("pass %d: %d tables, %s of counts", self.passes, len(requests), in_words(task.n_bytes))
        with Steps(self.progress, self.facts.n_rows, f"rows of pass {self.passes}") as bar:
            return self.source.ask(task, bar.done)


def on_all_rows(
    large: Large, net: BayesNet, data: CodedTable, plan: Plan, checkpoint: PathLike | None, began: float
) -> BayesNet:
    """The network of a sample refined on all rows; the best so far when time is up."""
    evidence = plan.options.name == "evidence"
    # The arcs of the sample stay where counts of all rows cannot compare families: there is no common objective, or
    # families have different rows because of holes. Those of K2 keep to its order.
    fixed = not evidence or bool(data.table.holes) or plan.search == "k2"
    rows = AllRows(large, data, plan.options, plan.rules, plan.arc_charge(data.table, large.facts.n_rows), fixed)
    found = Standing(net.parents, net.codings)
    trace: list[float] = []
    first, alone = 0, False
    with ExitStack() as stack, limits.ending_early() as ending:
        saved = None
        if checkpoint is not None and not isinstance(large.source, SharedSource):  # one process writes
            described = {"kind": "rows", "all rows": large.facts.n_rows, **plan.described(data.table)}
            saved = stack.enter_context(open_checkpoint(f"{checkpoint}.rows", described))
            if saved.finished:
                first = max(saved.finished)
                last = saved.finished[first]
                found, trace = Standing(last.parents, last.binnings), list(last.trace[:-1])
                alone = len(trace) < first  # a pass before it was not kept, as the evidence fell

        def keep(number: int, now: Standing) -> None:
            nonlocal found
            found = now
            trace.append(now.value)
            if saved is not None:
                saved.add(number, _learned(now, trace))

        found = refined(rows, found, keep, first=first, alone=alone)
    assert net.search is not None
    report = replace(
        net.search,
        seconds=time.monotonic() - began,
        criterion=found.value if trace else math.nan,
        proved=False,
        gap=None,
        cuts_proved=False,
        finished=not ending.early and net.search.finished,
        sample=large.facts.n_sampled,
        rows=large.facts.n_rows,
        passes=large.passes,
        families=rows.n_families,
    )
    if not found.tables:
        return replace(net, search=replace(report, rows=None))
    with limits.grace(60.0) if ending.early else ExitStack():
        fitted = counted(rows, plan.network(data, _learned(found, trace)), found, ended=ending.early)
    return replace(fitted, trace=tuple(trace), search=report)


def refined(
    rows: AllRows, standing: Standing, keep: Callable[[int, Standing], None], *, first: int = 0, alone: bool = False
) -> Standing:
    """The best standing of a few passes; `keep` is called with each new best and the number of its pass.

    A run that is resumed looks at its best again, as the pass with the number `first`.
    """
    best, moves = standing, Moves()
    for number in range(first, ROUNDS):
        seen, rearranged, found = rows.looked_at(standing, last=number == ROUNDS - 1)
        # each cut is the best given the old cuts of its neighbours; moved together they may lower the evidence
        if seen.value < best.value:
            alone = True
        else:
            best = rearranged or seen
            keep(number, best)
            moves = {n: move for n, move in found.items() if _same_families(n, seen.parents, best.parents)}
        moved = _moved(best, moves, alone=alone)
        if not moved and best.parents == seen.parents:
            break
        standing = best._replace(codings={**best.codings, **moved})
    return best


def _moved(best: Standing, moves: Moves, *, alone: bool) -> dict[str, Coding]:
    """The better cuts that are worth it; with `alone`, only of variables outside each other's Markov blankets."""
    moved, taken = dict[str, Coding](), set[str]()
    for name, (gain, binning) in sorted(moves.items(), key=lambda move: -move[1][0]):
        if gain > ENOUGH * abs(best.value) and not (alone and name in taken):
            moved[name] = binning
            taken.update(markov_blanket(best.parents, name))
    return moved


def _same_families(name: str, before: Structure, after: Structure) -> bool:
    one, other = ({(each[-1], frozenset(each)) for each in families_with(p, name)} for p in (before, after))
    return one == other


def fit_source(
    data: Any,
    graph: Any,
    binnings: Mapping[str, Any] | None,
    missing: Missing,
    options: Mapping[str, Any],
    kinds: Mapping[str, Any],
) -> BayesNet:
    """See ``jaxbn.fit``: a network of a sample, with the tables of all rows."""
    from jaxbn.learning.discretize import discretize

    large = Large.of(data, missing=missing)
    assert large is not None
    if binnings is None:
        binnings = discretize(data, graph, missing=missing, columns=Columns(**kinds)).codings
    frame = large.facts.sample()
    continuous = [name for name, coding in binnings.items() if not isinstance(coding, Grouping)]
    discrete = [name for name in frame.columns if name not in continuous]
    table = large.facts.completed(as_table(frame, continuous=continuous, discrete=discrete, missing=missing))
    net = fit(table, graph, binnings, missing=missing, **options)
    if not large.is_sampled:
        return net
    rows = large.all_rows(CodedTable(table), as_method("evidence", "auto", table.continuous))
    standing, *_ = rows.looked_at(Standing(net.parents, net.codings), last=True)
    return counted(rows, net, standing)


def _learned(standing: Standing, trace: Sequence[float]) -> Learned:
    parents = standing.parents
    return Learned(topological_order(parents), parents, standing.codings, math.nan, standing.value, tuple(trace))


def counted(rows: AllRows, net: BayesNet, standing: Standing, *, ended: bool = False) -> BayesNet:
    """The network with the tables of all rows."""
    counts: Mapping[str, NDArray[Any]] = {name: complete(standing.tables[name]) for name in net.names}
    bounds = {name: rows.bounds(name) for name in net.binnings}
    net = recounted(net, counts, dict(standing.level_counts), bounds, rows.large.facts.n_rows)
    if rows.data.table.holes and not ended:
        for _ in range(EM_STEPS):
            *expected, left_out = rows.large.source.ask(_Expected(net))
            net = recounted(net, dict(zip(net.names, expected, strict=True)), net.level_counts, bounds, net.n_rows)
        tell_left_out(int(left_out))
    return net


@dataclass(frozen=True)
class _Expected:
    """The task of a step of EM: counts that a network expects of rows that may lack entries, and how many it cannot."""

    net: BayesNet

    def of(self, batches: Batches) -> list[NDArray[Any]]:
        total: list[NDArray[Any]] = [*(np.zeros(table.shape) for table in self.net.tables.values()), np.zeros((), int)]
        for _, batch in batches:
            codes = encode_frame(self.net, frame_of(self.net, batch.to_pandas()), "missing")
            counter = Counter(self.net.network.structure, codes)
            counts = counter.expected(self.net.network).counts
            total = self.merge(total, [*counts, np.array(counter.left_out)])
        return total

    merge = staticmethod(Counting.merge)
