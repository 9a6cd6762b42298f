"""Learn a network: structure and cuts together, from several starts, the best one kept."""

from __future__ import annotations

import itertools
import json
import logging
import math
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from jaxbn.cuts.given import Cuts, Labels, given_policies, with_cut
from jaxbn.cuts.on_grid.grid import FINE_GRID
from jaxbn.groups.grouping import columns_to_group
from jaxbn.inputs import checks
from jaxbn.inputs.checks import ArgumentError
from jaxbn.inputs.graph import MAX_TABLE_CELLS
from jaxbn.inputs.table import DataLike, Missing, Table, as_table
from jaxbn.learning.checkpoint import open_checkpoint
from jaxbn.learning.holes.completion import HOLES
from jaxbn.learning.holes.first import first_completion
from jaxbn.learning.holes.rounds import Round, settle
from jaxbn.learning.learned import Learned, Watcher
from jaxbn.learning.many_runs import FINISH, ManyRuns, TimeIsUpError
from jaxbn.learning.options import GRID, Initial, MaxBins, MinWidth, Rate, Select, Shaping, check_options
from jaxbn.learning.plan import Plan
from jaxbn.learning.questions import Learner
from jaxbn.learning.turn_runs import MANY_ROWS, TurnRuns, sample_rows
from jaxbn.learning.workshop import Workshop
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.fit import fit
from jaxbn.model.search_report import SearchReport
from jaxbn.runtime.files import PathLike
from jaxbn.runtime.processes import team
from jaxbn.runtime.progress import Progress
from jaxbn.scores.coded_table import CodedTable
from jaxbn.scores.density import shaped
from jaxbn.structure.search import Search

LOG = logging.getLogger("jaxbn")

SIDE_BY_SIDE = 64
"""Runs that go on together: what they ask for at the same time is computed as one batch."""


class InterruptedWarning(UserWarning):
    """``learn`` was interrupted by Ctrl-C: its network is the best so far.

    Example:
        To stop instead of going on with such a network:

        >>> import warnings
        >>> import jaxbn
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", jaxbn.InterruptedWarning)
        ...     net = jaxbn.learn({"a": [0, 1, 0, 1], "b": [0, 1, 0, 1]}, progress=False)
        >>> net.search.finished
        True
    """


def learn(
    data: DataLike,
    *,
    continuous: Sequence[str] | None = None,
    discrete: Sequence[str] | None = None,
    keep: Iterable[str] = (),
    method: str = "evidence",
    search: Search = "auto",
    order: Sequence[str] | None = None,
    max_parents: int = 3,
    max_passes: int | None = 10,
    restarts: int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    rate: Rate | None = None,
    warm_start: bool | None = None,
    select: Select | None = None,
    required: Iterable[tuple[str, str]] = (),
    forbidden: Iterable[tuple[str, str]] = (),
    initial_bins: int | None = None,
    initial: Initial | None = None,
    missing: Missing = "infer",
    checkpoint: PathLike | None = None,
    side_by_side: int = SIDE_BY_SIDE,
    max_cells: int = MAX_TABLE_CELLS,
    progress: bool = True,
    group: Iterable[str] | None = None,
    min_width: MinWidth = None,
    max_bins: MaxBins = "auto",
    shape: Shaping | None = None,
    cuts: Cuts = None,
    labels: Labels = None,
    grid: int | None = GRID,
    exact: bool | None = None,
) -> BayesNet:
    """Learn structure and cuts together: the best arcs for the cuts, then the best cuts for the arcs, in turns.

    With ``method="evidence"`` every step raises one number, the log evidence of the table in original units, until
    neither half can improve alone (``net.trace``). Up to 20 columns the arcs are proved the best for the cuts; beyond,
    a search over orders finds them and says how far from the best they can be at most (``net.search``). The algorithm
    of the paper is ``method="bayesian", search="k2"``.

    Args:
        data: a DataFrame, a dict of columns, or the path of a CSV, TSV or Parquet file or of a folder of Parquet files.
        continuous: columns that are continuous whatever they hold; columns named neither here nor in ``discrete`` are
            inferred (see ``jaxbn.as_table``).
        discrete: columns that are discrete whatever they hold.
        keep: columns that stay though nothing can be learned from them; identifiers, constants, copies and the like
            are left out otherwise (see ``jaxbn.as_table``), unless another argument names them.
        method: ``"evidence"``, ``"bayesian"`` (the paper's objective for cuts) or ``"mdl"``.
        search: ``"exact"``, the proved best arcs, for up to 20 columns; ``"orders"``, a search over orders of the
            columns, for any number; ``"auto"``, the first where it is possible; ``"k2"``, the paper's greedy search
            from random orders, with cuts after every arc.
        order: one run of ``"k2"`` with this order of the variables; parents come before their children in it.
        max_parents: most parents of a variable.
        max_passes: most passes over the variables of a discretization.
        restarts: how many runs; the best network is kept. With ``"k2"`` each has a random order, and one is the
            default. Otherwise the first four begin with plain bins of equal frequency or width and the others with
            perturbations of the best; by default 24 for a small table and fewer for a large one.
        seed: of the random numbers.
        time_limit: seconds after which the best network so far is returned.
        rate: with ``"bayesian"``, L of the prior: ``"network"`` (the default), ``"blanket"`` or a number, see
            ``jaxbn.discretize``.
        warm_start: with ``"k2"`` and ``"bayesian"`` or ``"mdl"``, after an arc go on from the current cuts instead of
            from the bins of the start: faster.
        select: with ``"bayesian"`` and ``"mdl"``, runs are compared by ``"density"``, that of the data in original
            units (the default), or by ``"k2"``, the paper's score.
        required: arcs ``(parent, child)`` the network must have.
        forbidden: arcs it must not have.
        initial_bins: bins of the starts; by default several numbers, and with ``"k2"`` the largest cardinality of the
            discrete variables.
        initial: with ``"k2"``, whether the bins of the start are of equal ``"width"`` (the default, as in the paper) or
            ``"frequency"``, which suits skewed columns and those with outliers.
        missing: what to do about missing entries, see "Missing entries" in the documentation. ``"infer"``: rows are
            completed under the network so far and learned from again, in rounds; the tables are those of what each
            row has. ``"error"`` refuses them, ``"drop"`` drops rows that have one, ``"state"`` makes being missing a
            state of its own.
        checkpoint: a file that keeps every finished run; the same call started again goes on from it, also with more
            restarts.
        side_by_side: runs that go on together; the result does not depend on it.
        max_cells: most cells of the table of a variable with its parents, at most 10 million: families, bins and
            groups keep to it.
        progress: show a bar where someone watches.
        group: discrete columns whose levels are merged by evidence, again in each pass; by default those with more than
            50 levels, and ``()`` for none.
        min_width: with ``"evidence"``, the smallest width of a bin, see ``jaxbn.discretize``.
        max_bins: with ``"evidence"``, most bins of a column, see ``jaxbn.discretize``.
        shape: with ``"evidence"``, how values are distributed inside bins, see ``jaxbn.discretize``.
        cuts: ``{column: cuts}`` of columns whose cuts are known, see ``jaxbn.discretize``.
        labels: ``{column: words}`` for the bins of these, see ``jaxbn.discretize``.
        grid: positions of a column at which cuts are searched while arcs move; then they are placed to the last row.
            None searches all positions from the beginning. The search ``"k2"`` has no grid.
        exact: whether the cuts of the network are then proved, each given the rest, to be the best of all. By default
            up to 50,000 rows: beyond, the proof takes minutes, and finds next to nothing (``net.search`` says which).

    Returns:
        The fitted network. Interrupted by Ctrl-C, or ended by an error, it is the best so far, with a warning.

    Example:
        >>> import jaxbn
        >>> iris = jaxbn.datasets.load("iris")
        >>> net = jaxbn.learn(iris.frame, max_parents=1)
        >>> net.search.proved
        True
    """
    began = time.monotonic()
    keep, required, forbidden = [keep] if isinstance(keep, str) else list(keep), list(required), list(forbidden)
    named = itertools.chain(
        keep, order or (), group or (), cuts or (), *(arc for arc in (*required, *forbidden) if len(arc) == 2)
    )
    continuous = with_cut(continuous, cuts, data)
    table = as_table(data, continuous=continuous, discrete=discrete, missing=missing, keep=named)
    for name in keep:
        checks.known_name("keep", name, table.names)
    options = check_options(
        method=method,
        rate=rate,
        max_passes=max_passes,
        min_width=min_width,
        max_bins=max_bins,
        shape=shape,
        warm_start=warm_start,
        select=select,
        grid=grid,
        exact=exact,
        initial=initial,
        continuous=table.continuous,
    )
    plan = Plan.checked(
        table,
        options,
        grouped=columns_to_group(table, group),
        given=given_policies(cuts, labels, table),
        seed=seed,
        initial_bins=initial_bins,
        search=search,
        order=order,
        restarts=restarts,
        max_parents=max_parents,
        required=required,
        forbidden=forbidden,
        max_cells=max_cells,
    )
    coded = plan.coded(table)
    rng = np.random.default_rng([plan.seed, HOLES])
    now = Round.of(_first_rows(coded, plan, rng), plan)
    runs, seen = now.runs, now.data.table.n_rows
    checks.at_least("side_by_side", side_by_side, 1)
    deadline = math.inf if time_limit is None else began + checks.positive("time_limit", time_limit)
    described = {"kind": "learn", **plan.described(table)}
    with team(f"learn by {runs.n_runs} runs from seed {seed}: {json.dumps(described)}") as mates:
        if mates.size > 1 and time_limit is not None:
            raise ArgumentError("time_limit", "is for one process, and there are several; leave it out")
        saved = None
        if checkpoint is not None and mates.rank == 0:
            saved = open_checkpoint(checkpoint, described, runs.orders)
        with Progress(progress and mates.rank == 0, runs.n_runs, runs.n_steps) as bar:
            many = ManyRuns(mates, bar, saved, side_by_side, deadline)
            learned, now, finished = _search(many, now, plan, coded, rng)
    seconds = time.monotonic() - began
    report = _report(plan, now, learned, len(many.found), seconds, finished)
    return as_network(coded, learned, report if seen == table.n_rows else replace(report, sample=seen))


def _search(
    many: ManyRuns, first: Round, plan: Plan, table: CodedTable, rng: np.random.Generator
) -> tuple[Learned, Round, bool]:
    """The best network of all runs, what it was found on, and whether the search came to its end."""
    runs, workshop, now = first.runs, first.workshop, first
    sampled = first.data.table.n_rows < table.table.n_rows

    def begin(each: Round) -> None:
        nonlocal now
        now = each  # and none before it: a completion of a large table takes much memory
        if each.runs.arcs is not None:
            each.runs.arcs.should_stop = many.time_is_up

    def run(number: int, watch: Watcher) -> tuple[Workshop, Learner[Learned]]:
        return workshop, runs.learner(number, dict(many.found), watch)

    def on_all_rows(learned: Learned) -> Learned:
        if now is first:
            begin(Round.of(table, plan))
        assert isinstance(now.runs, TurnRuns)  # K2 sees all rows
        return now.runs.from_sample(learned)

    def so_far() -> tuple[Learned, Round, bool]:
        learned = many.best_so_far(now.data)
        return on_all_rows(learned) if sampled and FINISH not in many.unfinished else learned, now, False

    begin(first)
    try:
        many.resume(range(runs.n_runs))
        for numbers in runs.rounds():
            many.do(numbers, run)
        if table.table.holes:
            return settle(many, first, plan, table, rng, begin), now, True
        best = on_all_rows(many.best) if sampled else None
        return many.finish(now.workshop, now.runs.finish, best), now, True
    except TimeIsUpError:
        return so_far()
    except KeyboardInterrupt:
        if many.mates.size > 1 or many.empty:
            raise
        warnings.warn(f"interrupted{_kept(many, runs.n_runs)}", InterruptedWarning, stacklevel=3)
        return so_far()
    except Exception as error:
        if many.mates.size > 1 or many.empty:
            raise
        why = f"the search ended with {type(error).__name__}: {error}"
        warnings.warn(f"{why}{_kept(many, runs.n_runs)}", RuntimeWarning, stacklevel=3)
        LOG.debug(why, exc_info=True)
        return so_far()


def _first_rows(data: CodedTable, plan: Plan, rng: np.random.Generator) -> CodedTable:
    """What is learned from first: a completion of a table with holes, a sample of a very long one, or all of it."""
    table = data.table
    if table.holes:
        return data.like(first_completion(data, rng))
    long = plan.search != "k2" and table.n_rows > MANY_ROWS and data.on_grid(FINE_GRID)
    return plan.coded(sample_rows(table, plan.seed)) if long else data


def _kept(many: ManyRuns, n_runs: int) -> str:
    if not many.found:
        return " before a run was finished: this is an unfinished network"
    return f": this is the best of {len(many.found)} finished runs out of {n_runs}"


def _report(plan: Plan, last: Round, learned: Learned, n_runs: int, seconds: float, finished: bool) -> SearchReport:
    """How the network was found; what its arcs are worth for its cuts is looked up once more."""
    report = SearchReport(plan.options.method, "k2", n_runs, seconds, learned.criterion, finished=finished)
    runs, data = last.runs, last.data
    if runs.arcs is None:
        return report
    exact = plan.options.proves_cuts(data.table.n_rows) or not data.on_grid(FINE_GRID)
    columns = data.recoded(learned.policies).columns
    best = runs.arcs.best(columns, learned.parents, thorough=finished)  # an interrupted run is not kept waiting
    own = runs.arcs.score(columns, learned.parents)
    gap = max(best.bound - own, 0.0)
    proved = best.proved and gap <= 1e-9 * (1 + abs(own))
    return replace(report, search=best.search, proved=proved, gap=gap, cuts_proved=exact and finished)


def as_network(data: CodedTable, learned: Learned, report: SearchReport) -> BayesNet:
    """The fitted network of a learned structure; its score is that of the codes it was learned with."""
    table: Table = data.table
    parents = {name: list(learned.parents[name]) for name in table.names}
    net = fit(table, parents, shaped(data, {**learned.policies, **data.given}), inside_bins=True)
    if table.holes:  # the score and the trace are those of a completion; `net.em_trace` is that of what was observed
        return replace(net, search=report)
    return replace(net, score=learned.score, trace=learned.trace, search=report)
