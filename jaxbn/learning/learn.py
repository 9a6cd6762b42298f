"""Learn a network: structure and cuts together, from several starts, the best one kept."""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from jaxbn.cuts.methods import MaxBins, Method, as_method
from jaxbn.cuts.on_grid import FINE_GRID
from jaxbn.inputs import checks
from jaxbn.inputs.checks import ArgumentError, Mention
from jaxbn.inputs.graph import MAX_TABLE_CELLS, topological_order
from jaxbn.inputs.missing import LOG
from jaxbn.inputs.table import DataLike, Missing, Table
from jaxbn.learning.checkpoint import open_checkpoint
from jaxbn.learning.columns import Columns, as_columns
from jaxbn.learning.for_target import network_for_target
from jaxbn.learning.holes.completion import HOLES
from jaxbn.learning.holes.first import completed_once, first_completion
from jaxbn.learning.holes.rounds import settle
from jaxbn.learning.large import Large, on_all_rows
from jaxbn.learning.many_runs import FINISH, ManyRuns, OneRun
from jaxbn.learning.options import K2, Search, as_start, old_keywords
from jaxbn.learning.passes import Learned, Passes, Watcher
from jaxbn.learning.plan import Plan
from jaxbn.learning.solver import Learner, Solver
from jaxbn.learning.turns import MANY_ROWS, TurnRuns, sample_rows
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.fit import fit
from jaxbn.model.lines.line import Lines, check_lines
from jaxbn.model.search_report import SearchReport
from jaxbn.runtime import limits
from jaxbn.runtime.files import PathLike
from jaxbn.runtime.limits import Ending
from jaxbn.runtime.processes import team
from jaxbn.runtime.progress import Progress
from jaxbn.scores.coded_table import CodedTable
from jaxbn.structure.constraints import Constraints, as_constraints

SIDE_BY_SIDE = 64  # runs in progress at once: their simultaneous questions are computed as one batch


@old_keywords
@limits.within()
def learn(
    data: DataLike,
    *,
    target: str | None = None,
    method: str | Method = "evidence",
    max_bins: MaxBins = "auto",
    search: Search = "auto",
    start: BayesNet | None = None,
    constraints: Constraints | None = None,
    max_parents: int = 3,
    max_cells: int = MAX_TABLE_CELLS,
    columns: Columns | Mapping[str, str] | None = None,
    missing: Missing = "infer",
    lines: Lines = "auto",
    restarts: int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    checkpoint: PathLike | None = None,
    progress: bool = True,
) -> BayesNet:
    """Learn structure and cuts together: the best arcs for the cuts, then the best cuts for the arcs, in turns.

    With ``method="evidence"`` every step raises one number, the log evidence of the table in original units, until
    neither half can improve alone (``net.trace``). Up to 20 columns the arcs are proved the best for the cuts; beyond,
    a search over orders finds them and says how far from the best they can be at most (``net.search``). The algorithm
    of the paper is ``method="bayesian", search="k2"``.

    Args:
        data: a DataFrame, a dict of columns, or the path of a CSV, TSV or Parquet file or of a folder of Parquet files;
            or rows that need not fit in memory, of DuckDB, PyArrow, Polars, Dask or PySpark, see "Large tables".
        target: a discrete column that the network is to predict: arcs are then chosen by how well the other rows
            predict each row's target, and columns that do not help have none.
        method: how columns are cut: ``"evidence"``, ``"bayesian"`` (the paper's objective) or ``"mdl"``; with options,
            ``jaxbn.Evidence(min_width=...)``, ``jaxbn.Bayesian(rate=...)`` or ``jaxbn.MDL(...)``.
        max_bins: with ``"evidence"``, most bins of a column: a number, ``{column: number}`` (None there, or alone, for
            no limit); by default 8, which people can read.
        search: ``"exact"``, the proved best arcs, for up to 20 columns; ``"orders"``, a search over orders of the
            columns, for any number; ``"auto"``, the first where it is possible; ``"k2"``, the paper's greedy search
            from random orders, with cuts after every arc. With options, ``jaxbn.K2(order=...)`` or
            ``jaxbn.Orders(patience=...)``.
        start: a network that the first run goes on from, of earlier rows or fewer columns; with ``restarts=1`` it is
            the only one. Not for ``"k2"``.
        constraints: arcs that the network must have or must not have, ``jaxbn.Constraints(required=..., tiers=...)``.
        max_parents: most parents of a variable.
        max_cells: most cells of the table of a variable with its parents, at most 10 million: families, bins and
            groups keep to it.
        columns: what is known about columns: ``{"age": "continuous", "grade": "discrete"}``, or ``jaxbn.Columns(...)``
            for known cuts and more. Others are inferred, see ``jaxbn.as_table``. Identifiers, constants, copies and the
            like are left out, unless an argument names them.
        missing: what to do about missing entries, see "Missing data" in the documentation. ``"infer"``: rows are
            completed under the network so far and learned from again, in rounds; the tables are those of what each
            row has. ``"error"`` refuses them, ``"drop"`` drops rows that have one, ``"state"`` makes being missing a
            state of its own.
        lines: whether numbers follow their continuous parents inside bins, see ``jaxbn.fit``.
        restarts: how many runs; the best network is kept. With ``"k2"`` each has a random order, and one is the
            default. Otherwise the first four begin with plain bins of equal frequency or width and the others with
            perturbations of the best; by default 24 for a small table and fewer for a large one.
        seed: of the random numbers.
        time_limit: seconds after which the best network so far is returned.
        checkpoint: a file that keeps every finished run; the same call started again goes on from it, also with more
            restarts.
        progress: show a bar where someone watches.

    Returns:
        The fitted network. Interrupted by Ctrl-C, or ended by an error, it is the best so far, with a warning.

    Example:
        >>> iris = jaxbn.datasets.load("iris")
        >>> net = jaxbn.learn(iris.frame, max_parents=1)
        >>> net.search.proved
        True
    """
    began = time.monotonic()
    check_lines(lines)
    columns, constraints, start = as_columns(columns), as_constraints(constraints), as_start(start)
    order = search.order if isinstance(search, K2) else None
    named = [*constraints.named, *(order or ()), *([] if target is None else [str(target)])]
    large = Large.of(data, seed=seed, progress=progress, missing=missing)
    if large is None:
        table = columns.table(data, missing, keep=named)
    else:
        table, columns = large.table(columns, missing, keep=named)
    options = as_method(method, max_bins, table.continuous)
    plan = Plan.checked(
        table,
        options,
        columns=columns,
        seed=seed,
        search=search,
        constraints=constraints,
        max_parents=max_parents,
        max_cells=max_cells,
        restarts=restarts,
    )
    if start is not None and plan.search == "k2":
        raise ArgumentError("start", "has no use with ", Mention("search", "k2"), "; leave one of them out")
    plan = plan._replace(begin=start, lines=lines)
    if target is not None:
        unused = {"search": search, "constraints": constraints.named, "restarts": restarts, "checkpoint": checkpoint}
        for argument, value in {"start": start is not None, **unused}.items():
            if value and value != "auto":
                why = "has no use with ", Mention("target"), "; leave one of them out"
                raise ArgumentError(argument, *why, value=value)
        with limits.within(time_limit and checks.positive("time_limit", time_limit)):
            return _for_target(table, target, plan, columns, began)
    coded = plan.coded(table)
    deadline = math.inf if time_limit is None else began + checks.positive("time_limit", time_limit)
    with limits.within(deadline - time.monotonic() + limits.GRACE):  # a first network may take a little longer
        net, found = _learned(coded, plan, checkpoint, progress, began, deadline)
        if large is not None and large.is_sampled:
            net = on_all_rows(large, net, coded, plan, checkpoint, began)
    assert net.search is not None
    never = sorted((parent, child) for parent, child in plan.rules.ruled_out if child in net.parents[parent])
    if limits.interrupted():
        limits.answered(found)
    return replace(net, search=replace(net.search, never=tuple(never) or None))


def _for_target(table: Table, target: str, plan: Plan, columns: Columns, began: float) -> BayesNet:
    """The network that predicts one column."""
    target = checks.known_name("target", target, table.discrete, "a discrete column")
    merged = [name for name in columns.merged(table) if name != target]
    known: Any = {"columns": replace(columns, merge_levels=merged), "max_cells": plan.rules.max_cells}
    graph, found = network_for_target(completed_once(table, plan.seed), target, method=plan.options, **known)
    net = fit(table, graph, found.codings, inside_bins=True, lines=plan.lines)
    report = SearchReport(plan.options.name, "target", 1, time.monotonic() - began, net.score, finished=True)
    return replace(net, search=report)


def _learned(
    coded: CodedTable, plan: Plan, checkpoint: PathLike | None, progress: bool, began: float, deadline: float
) -> tuple[BayesNet, str]:
    """The best network by the deadline, and how it was found in words."""
    rng = np.random.default_rng([plan.seed, HOLES])
    with limits.ending_early() as ending:
        runs = plan.runs(_first_rows(coded, plan, rng))
    if ending.early:
        return _nothing_found(coded, plan, ending, began)

    @cache
    def described() -> dict[str, Any]:
        return {"kind": "learn", **plan.described(coded.table)}

    with team(lambda: f"learn by {runs.n_runs} runs from seed {plan.seed}: {json.dumps(described())}") as mates:
        if mates.size > 1 and deadline < math.inf:
            raise ArgumentError("time_limit", "is for one process, and there are several; leave it out")
        with ExitStack() as stack:
            saved = None
            if checkpoint is not None and mates.rank == 0:
                saved = stack.enter_context(open_checkpoint(checkpoint, described(), runs.orders))
            bar = stack.enter_context(Progress(progress and mates.rank == 0, runs.n_runs, runs.n_steps))
            many = ManyRuns(mates, bar, saved, SIDE_BY_SIDE, deadline)
            many.begin(runs)
            learned, ending = _search(many, plan, coded, rng)
            if learned is None:
                return _nothing_found(coded, plan, ending, began)
            if coded.table.holes:  # by EM, which takes its time
                bar.say("fitting the tables")
            report = _report(many, plan, learned, time.monotonic() - began, ending)
            if runs.data.table.n_rows < coded.table.n_rows:
                report = replace(report, sample=runs.data.table.n_rows)
            net = replace(plan.network(coded, learned), search=report)
    return net, _in_words(many, runs.n_runs)


def _search(many: ManyRuns, plan: Plan, table: CodedTable, rng: np.random.Generator) -> tuple[Learned | None, Ending]:
    """The best network of all runs, if there is one, and how the search ended."""
    runs = many.runs
    sampled = runs.data.table.n_rows < table.table.n_rows

    def run(number: int, watch: Watcher) -> tuple[Solver, Learner[Learned]]:
        return runs.solver, runs.learner(number, dict(many.found), watch)

    def on_all_rows(learned: Learned) -> Learned:
        if many.runs is runs:
            many.begin(plan.runs(table))
        assert isinstance(many.runs, TurnRuns)  # K2 sees all rows
        return many.runs.from_sample(learned)

    with limits.ending_early() as ending:
        try:
            many.resume(range(runs.n_runs))
            job = OneRun(plan, runs.data)
            for numbers in runs.rounds():
                many.do(numbers, run, job)
            if table.table.holes:
                return settle(many, plan, table, rng), ending
            best = on_all_rows(many.best) if sampled else many.best
            return many.finish(many.runs.finish, best), ending
        except Exception as error:
            if many.mates.size > 1 or many.empty:
                raise
            why = f"the search ended with {type(error).__name__}: {error}"
            warnings.warn(f"{why}; {_in_words(many, runs.n_runs)}", RuntimeWarning, stacklevel=3)
            LOG.debug(why, exc_info=True)
            ending.early = True
    if many.empty:
        return None, ending
    if ending.interrupted and many.mates.size > 1:
        raise KeyboardInterrupt
    with limits.grace():
        learned = many.best_so_far
        return on_all_rows(learned) if sampled and FINISH not in many.unfinished else learned, ending


def _nothing_found(data: CodedTable, plan: Plan, ending: Ending, began: float) -> tuple[BayesNet, str]:
    """The network of the required arcs and plain bins, if time was too short for any other."""
    if ending.interrupted:
        raise KeyboardInterrupt
    start = Passes(data, replace(plan.options, initial="frequency")).first_bins()
    parents = plan.rules.start
    learned = Learned(topological_order(parents), parents, start.binnings, math.nan, math.nan)
    report = SearchReport(plan.options.name, plan.search, 0, time.monotonic() - began, math.nan, finished=False)
    return replace(plan.network(data, learned), search=report), "this is a network without a search"


def _first_rows(data: CodedTable, plan: Plan, rng: np.random.Generator) -> CodedTable:
    """What is learned from first: a completion of a table with holes, a sample of a very long one, or all of it."""
    table = data.table
    if table.holes:
        return data.like(first_completion(data, rng))
    long = plan.search != "k2" and table.n_rows > MANY_ROWS and data.on_grid(FINE_GRID)
    return plan.coded(sample_rows(table, plan.seed)) if long else data


def _in_words(many: ManyRuns, n_runs: int) -> str:
    if not many.found:
        return "no run was finished, and this is an unfinished network"
    return f"this is the best of {len(many.found)} finished runs out of {n_runs}"


def _report(many: ManyRuns, plan: Plan, learned: Learned, seconds: float, ending: Ending) -> SearchReport:
    """How the network was found; if time is left, its arcs are searched once more for its cuts, to report the bound."""
    finished, runs, data = not ending.early, many.runs, many.runs.data
    n_runs = len(many.found)
    report = SearchReport(plan.options.name, plan.search, n_runs, seconds, learned.criterion, finished=finished)
    if runs.arcs is None:
        return report
    exact = plan.options.proves_cuts(data.table.n_rows) or not data.on_grid(FINE_GRID)
    report = replace(report, cuts_proved=exact and finished)
    with limits.grace() if ending.early else nullcontext(), limits.ending_early():
        columns = data.recoded(learned.binnings).columns
        best = runs.arcs.best(columns, learned.parents, thorough=finished)  # an interrupted run is not kept waiting
        own = runs.arcs.score(columns, learned.parents)
        gap = max(best.bound - own, 0.0)
        proved = best.proved and gap <= 1e-9 * (1 + abs(own))
        return replace(report, search=best.search, proved=proved, gap=gap)
    return report
