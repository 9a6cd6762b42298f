"""Bootstrap: how sure is each cut, each arrow?"""

from __future__ import annotations

import json
import math
import pickle
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.counts.codes import Codes
from jaxbn.cuts.binning import Binning, marginal_binning
from jaxbn.cuts.blanket import Child, factors_at
from jaxbn.cuts.discretize_variable import Request, best_binnings
from jaxbn.cuts.methods import MaxBins, Method, as_method
from jaxbn.evaluation.bootstrap_results import ArcBootstrap, Bootstrap, CutBootstrap
from jaxbn.evaluation.cross_validate import named_columns
from jaxbn.inputs import checks
from jaxbn.inputs.graph import GraphLike, as_parents, markov_blanket
from jaxbn.inputs.table import DataLike, Missing
from jaxbn.inputs.units import NUMBER
from jaxbn.learning.checkpoint import fingerprint, open_checkpoint
from jaxbn.learning.columns import Columns, as_columns
from jaxbn.learning.discretize import split_codings
from jaxbn.learning.holes.completion import HOLES, completed
from jaxbn.learning.learn import learn
from jaxbn.learning.many_runs import ManyRuns, all_runs
from jaxbn.learning.options import check_structure_options, old_keywords
from jaxbn.learning.passes import Learned, Passes, Watcher, cut_question
from jaxbn.learning.plan import Plan
from jaxbn.learning.solver import Learner, Solver, run_alone
from jaxbn.model.bayesnet import BayesNet
from jaxbn.runtime import limits
from jaxbn.runtime.files import PathLike
from jaxbn.runtime.processes import team
from jaxbn.runtime.progress import Progress
from jaxbn.runtime.threads import n_threads
from jaxbn.runtime.workers import in_workers, n_workers
from jaxbn.scores.coded_table import CodedTable, initial_bins

SIDE_BY_SIDE = 16  # resamples that run together: what they ask for at the same time is computed as one batch


@old_keywords
@limits.within()
def bootstrap(
    data: DataLike,
    graph: GraphLike | None = None,
    *,
    resamples: int = 200,
    seed: int = 0,
    method: str | Method = "evidence",
    max_bins: MaxBins = "auto",
    columns: Columns | Mapping[str, str] | None = None,
    missing: Missing = "infer",
    level: float | None = None,
    tolerance: float | None = None,
    time_limit: float | None = None,
    checkpoint: PathLike | None = None,
    progress: bool = True,
    **learning: Any,
) -> Bootstrap:
    """Resample the rows many times, with repetition, and see what stays: cuts with a graph, arcs without one.

    With a graph, the variables are first discretized on all the data, as ``jaxbn.discretize`` does. Then each
    continuous variable is cut again in each resample by the exact optimum, while its neighbours keep the bins that they
    have on all the data, and L the number it has there. So the spread is that of a variable's own cuts, not that of the
    whole network. A variable without neighbours gets the bins of the start in each resample, except with
    ``"evidence"``. A row that was drawn twice counts twice, so resamples tend to have more bins than the data.

    Without a graph, structure and cuts are learned in each resample as ``jaxbn.learn`` does, by default from one start,
    or from one random order with ``search="k2"``, another one in each.

    A resample depends on the seed and its number alone: not on how many there are, on the devices, or on the processes.

    Args:
        data: a DataFrame, or a dict of columns.
        graph: ``{child: [parents]}``, a ``networkx.DiGraph``, or ``(parent, child)`` pairs. None: learned each time.
        resamples: how many.
        seed: of the random numbers.
        method: as in ``jaxbn.discretize``.
        max_bins: with ``"evidence"``, most bins of a column, see ``jaxbn.discretize``.
        columns: what is known about columns, see ``jaxbn.discretize``.
        missing: what to do about missing entries, see ``jaxbn.as_table``. With ``"infer"``, resamples are completed by
            draws: with a graph all by one, without a graph each by its own, from a network that is learned first.
        level: with a graph, of the intervals of the cuts; 0.9 by default.
        tolerance: with a graph, how far from a cut of all the data a resampled one may lie to count as the same, as a
            share of the variable's range; by default half the distance to the next cut, at most 5 % of the range.
        time_limit: seconds after which the resamples that are finished are returned; with a graph the variables.
        checkpoint: without a graph, a file that keeps every finished resample; the same call started again goes on from
            it, also with more resamples.
        progress: without a graph, show a bar where someone watches.
        **learning: without a graph, further options of ``jaxbn.learn``: ``search``, ``constraints``, ``max_parents``,
            ``max_cells`` and ``restarts``.

    Returns:
        A ``CutBootstrap`` with a graph: for each cut, how often it was found and its interval. An ``ArcBootstrap``
        without: strength and direction of each arc, and the consensus network. Both have the number of bins. After
        Ctrl-C they are those of what was finished, with a warning.

    Example:
        >>> iris = jaxbn.datasets.load("iris")
        >>> found = jaxbn.bootstrap(iris.frame, iris.structures["paper"], method="bayesian", resamples=50)
        >>> print(found.frame.query("variable == 'petal_width'").round(2).to_string(index=False))
           variable  cut  found  lower  upper  tolerance
        petal_width 0.80    1.0    0.4    1.0       0.12
        petal_width 1.75    1.0    1.6    1.8       0.12
    """
    began, seconds = time.monotonic(), None if time_limit is None else checks.positive("time_limit", time_limit)
    columns = as_columns(columns)
    table = columns.table(data, missing, keep=named_columns(graph, (), learning))
    count = checks.at_least("resamples", resamples, 1)
    checks.at_least("seed", seed, 0)
    learning = check_structure_options(bootstrap, learning, graph is not None)
    options = as_method(method, max_bins, table.continuous)
    share = _check_share("level", 0.9 if level is None else level, ends=False)
    tolerance = None if tolerance is None else _check_share("tolerance", tolerance, ends=True)
    if graph is None:
        _refuse({"level": level, "tolerance": tolerance}, "is for cuts of a known structure; leave it out, or pass ")
        plan = Plan.checked(table, options, columns=columns, seed=seed, **{"restarts": 1, **learning})
        with limits.within(seconds) as limit:
            guess = None  # the network that missing entries of the resamples are drawn from
            if table.holes:
                own: Any = {"columns": Columns(merge_levels=plan.merged, cuts=plan.given), "method": options}
                guess = learn(table, **{**learning, **own, "seed": seed, "progress": False, "restarts": 1})
            # under a limit few at a time, so that some are finished when it is reached
            at_once = SIDE_BY_SIDE if limit.deadline == math.inf else n_threads()
            found = _learn_resamples(_Resamples(plan.coded(table), plan, guess), count, checkpoint, progress, at_once)
        if limits.interrupted():
            limits.answered(f"these are {len(found)} of {count} resamples")
        binnings: Any = {name: tuple(each.binnings[name] for each in found) for name in table.continuous}
        structures = tuple({name: each.parents[name] for name in table.names} for each in found)
        groupings = tuple(split_codings(each.binnings, plan.merged)[1] for each in found)
        return ArcBootstrap(binnings, len(found), seed, structures, table, groupings)
    _refuse({"checkpoint": checkpoint}, "is for learning the structure; leave it out, or leave out ")
    parents = as_parents(graph, table.names)
    coded = CodedTable(table, columns.merged(table), flat=options.flat, given=columns.binnings(table))
    coded.check_cells(parents)
    passes = Passes(coded, options)
    with limits.within(seconds):
        settled = run_alone(passes.settle_best(parents), passes.solver)
        if table.holes:
            coded = coded.like(completed(coded, parents, settled.binnings, np.random.default_rng([seed, HOLES])))
            settled = settled._replace(columns=coded.recoded(settled.binnings).columns)
    binnings, gaps = {}, {}
    left = None if seconds is None else max(began + seconds - time.monotonic(), 0.0)

    def call() -> str:
        return f"bootstrap of {fingerprint(table)}, {count} resamples from seed {seed}, {parents}, {options}"

    with team(call) as mates, limits.within(left), limits.ending_early() as ending:
        drawn = [drawn_rows(stream(seed, i), table.n_rows) for i in mates.share(count)]
        # as weights of the rows: each variable is sorted once for all resamples
        weights = np.array([np.bincount(rows, minlength=table.n_rows) for rows in drawn], np.int64)
        weights = weights.reshape(len(drawn), table.n_rows)  # how often each resample has each row
        for name in [name for name in table.continuous if name not in coded.given]:
            ordered = coded.ordered[name]
            values, here = ordered.values, weights[:, ordered.order]
            if options.name == "evidence" or markov_blanket(parents, name):
                cut = cut_question(name, parents, settled.columns, options.prior_rate)
                around = [column.codes[ordered.order] for column in cut.parents]
                children = [
                    (child.codes[ordered.order], [spouse.codes[ordered.order] for spouse in spouses])
                    for child, spouses in cut.children
                ]
                width, most = options.narrowest(name, ordered), options.most_bins(name)
                whole = Request(ordered, (), cut.rate, None, width, most, coded.shapes_of(name))
                own = resampled_binnings(whole, around, children, here, options.name)
            else:
                n_bins, kind = options.initial_bins or initial_bins(table, coded.grouped), f"equal_{options.start_kind}"
                own = [marginal_binning(np.repeat(values, each), kind, n_bins) for each in here]
            between = [neighbours(p.cuts, values[each > 0]) for p, each in zip(own, here, strict=True)]
            by_number = dict(zip(mates.share(count), zip(own, between, strict=True), strict=True))
            for message in mates.exchange(pickle.dumps(by_number)) if mates.size > 1 else ():
                by_number |= pickle.loads(message)
            binnings[name], gaps[name] = zip(*(by_number[i] for i in range(count)), strict=True)
    if ending.early and (not binnings or mates.size > 1):
        ending.reraise()
    if limits.interrupted():
        limits.answered(f"these are the cuts of {', '.join(binnings)}")
    original = {
        name: binning.in_unit(table.units.get(name, NUMBER))
        for name, binning in split_codings(settled.binnings, [*binnings])[0].items()
    }
    ascending = {name: coded.ordered[name].values for name in binnings}
    return CutBootstrap(binnings, count, seed, gaps, original, ascending, share, tolerance)


def stream(seed: int, number: int) -> np.random.Generator:
    """The random stream of a resample: the seed's spawned child with this number."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))


def drawn_rows(rng: np.random.Generator, n_rows: int) -> NDArray[np.int64]:
    """The rows of a resample, ascending, with repetitions [rows]."""
    return np.sort(rng.integers(0, n_rows, n_rows))


def resampled_binnings(
    whole: Request, parents: Sequence[Codes], children: Sequence[Child], weights: NDArray[np.integer], method: str
) -> list[Binning]:
    """The exact optimum in every resample, by how often each row, in order of the values, was drawn [resamples, n].

    `whole` is the variable without its factors. Rows of weight zero do not count: cardinalities, range and midpoints
    are those of the other rows. So a resample's binning is that of ``discretize_variable`` on the rows written out as
    often as they were drawn.
    """

    def request(own: NDArray[np.int32]) -> Request:
        kept = np.flatnonzero(own)
        factors = factors_at(parents, children, kept)
        return whole._replace(ordered=whole.ordered.at(kept), factors=factors, weights=own[kept])

    return best_binnings([request(each.astype(np.int32)) for each in weights], method)


@dataclass(frozen=True)
class _Resamples:
    """The resamples of a table by their numbers; missing entries are drawn from the structure and cuts of a guess."""

    whole: CodedTable
    plan: Plan
    guess: BayesNet | None

    def learner(self, number: int, watch: Watcher) -> tuple[Solver, Learner[Learned]]:
        """One resample: its rows written out, and the best network of its runs."""
        rng = stream(self.plan.seed, number)
        data = self.whole.like(self.whole.table.take(drawn_rows(rng, self.whole.table.n_rows)))
        if self.guess is not None:
            data = data.like(completed(data, self.guess.parents, self.guess.codings, rng))
        runs = self.plan.runs(data, rng)
        return runs.solver, all_runs(runs, watch)

    def __call__(self, number: int) -> tuple[tuple[int, Learned], None]:
        solver, learner = self.learner(number, lambda *_: None)
        return (number, run_alone(learner, solver)), None


def _learn_resamples(
    todo: _Resamples, count: int, checkpoint: PathLike | None, progress: bool, at_once: int
) -> list[Learned]:
    """The network of every resample, or of those that were finished when Ctrl-C or the time ended it.

    Several processes share them; process 0 keeps the checkpoint.
    """
    table, plan = todo.whole.table, todo.plan

    @cache
    def about() -> dict[str, Any]:
        order = None if plan.k2.order is None else list(plan.k2.order)
        own = {"seed": plan.seed, "restarts": plan.restarts, "order": order}
        return {"kind": "bootstrap", **plan.described(table), **own}

    with team(lambda: f"{count} resamples of {json.dumps(about())}") as mates:
        with (
            nullcontext() if checkpoint is None or mates.rank else open_checkpoint(checkpoint, about()) as saved,
            Progress(progress and mates.rank == 0, count, len(table.names), "resamples") as bar,
            limits.ending_early() as ending,
        ):
            many = ManyRuns(mates, bar, saved, at_once)
            many.resume(range(count))
            if n_workers(table.n_rows) == 1:
                many.do(range(count), todo.learner)
            left = [i for i in range(count) if i not in many.found]
            with in_workers(todo, left, table.n_rows) as found:
                for number, learned in found:
                    bar.watch(number, len(table.names), sum(map(len, learned.parents.values())))
                    many.keep(number, learned)
        if ending.early and (not many.found or mates.size > 1):
            ending.reraise()
    return [many.found[i] for i in sorted(many.found)]


def _refuse(options: dict[str, Any], why: str) -> None:
    for name, value in options.items():
        if value is not None:
            raise checks.ArgumentError(name, why, checks.Mention("graph"), value=value)


def _check_share(argument: str, value: Any, *, ends: bool) -> float:
    """A number between 0 and 1, the ends included if asked for."""
    number = checks.positive(argument, value)
    if number > 1 or (number == 1 and not ends):
        most = "at most" if ends else "below"
        raise checks.ArgumentError(argument, f"must be {most} 1, got {number}; for example 0.9", value=number)
    return number


def neighbours(cuts: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The two neighbouring values that each cut lies between [cuts, 2]."""
    right = np.searchsorted(values, cuts)
    return np.stack([values[right - 1], values[right]], axis=1)
