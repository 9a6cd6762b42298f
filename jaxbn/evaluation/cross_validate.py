"""Cross-validated log-likelihood of a network (docs/maths.md, "Evaluation")."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jaxbn.cuts.methods import MaxBins, Method, Shaping, as_method
from jaxbn.evaluation.folds import Training, fold_numbers
from jaxbn.inputs import checks
from jaxbn.inputs.graph import GraphLike, arcs_and_names
from jaxbn.inputs.later import pd
from jaxbn.inputs.table import DataLike, Missing, Table
from jaxbn.learning.columns import Columns, as_columns
from jaxbn.learning.discretize import discretize
from jaxbn.learning.learn import learn
from jaxbn.learning.options import check_structure_options, old_keywords
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.fit import fit
from jaxbn.model.fitted import Alpha
from jaxbn.model.lines.line import Lines, check_lines
from jaxbn.runtime import limits
from jaxbn.runtime.progress import Steps
from jaxbn.runtime.workers import in_workers, n_workers
from jaxbn.sources.counting import Batches
from jaxbn.sources.source import Answer, OnBatches, Source, Task, as_source
from jaxbn.sources.survey import Survey, scattered
from jaxbn.structure.constraints import as_constraints

ROWS_SIDE_BY_SIDE = 2_000_000
"""Most training rows that are discretized together over all folds; small folds gain by it, large ones do not."""


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation:
    """Log-likelihood of rows that were held out, in original units.

    Attributes:
        per_fold: mean log-likelihood of the rows of each fold, float64 [folds].
        log_likelihood: of each row, by the network that has not seen it, float64 [rows].
        folds: number of the fold each row was held out in, from 0, int64 [rows]; may be given to another
            cross-validation, for one on the same folds.
        bins: number of bins of each continuous variable in each fold, int64 [folds].
        method: how the variables were cut.

    Example:
        >>> iris = jaxbn.datasets.load("iris")
        >>> result = jaxbn.cross_validate(iris.frame, iris.structures["paper"], method="bayesian", folds=5)
        >>> result
        CrossValidation: mean log-likelihood -3.35, standard error 0.12, 5 folds, 150 rows, method 'bayesian'
        >>> result.per_fold.round(2).tolist()
        [-3.54, -3.59, -2.92, -3.28, -3.4]
    """

    per_fold: NDArray[np.float64]
    log_likelihood: NDArray[np.float64]
    folds: NDArray[np.int64]
    bins: dict[str, NDArray[np.int64]]
    method: str

    @property
    def mean(self) -> float:
        """Mean over the folds of the mean over their rows."""
        return float(self.per_fold.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of the mean, from the spread of the folds."""
        return float(self.per_fold.std(ddof=1) / math.sqrt(len(self.per_fold)))

    @property
    def n_rows(self) -> int:
        """Rows scored, each of them once."""
        return len(self.log_likelihood)

    def __repr__(self) -> str:
        return (
            f"CrossValidation: mean log-likelihood {self.mean:.2f}, standard error {self.standard_error:.2f}, "
            f"{len(self.per_fold)} folds, {self.n_rows} rows, method {self.method!r}"
        )


@old_keywords
@limits.within()
def cross_validate(
    data: DataLike,
    graph: GraphLike | None = None,
    *,
    folds: int | ArrayLike = 10,
    seed: int = 0,
    method: str | Method = "evidence",
    max_bins: MaxBins = "auto",
    bins: int | None = None,
    shape: Shaping | None = None,
    alpha: Alpha | None = None,
    given: str | Sequence[str] = (),
    columns: Columns | Mapping[str, str] | None = None,
    missing: Missing = "infer",
    lines: Lines = "auto",
    progress: bool = True,
    **learning: Any,
) -> CrossValidation:
    """Estimate how well a network describes new rows: cut and fit on all folds but one, score on that one.

    The outer edges of the densities are the smallest and largest value of all the data, and the levels of discrete
    columns those of all the data; values beyond those of the training rows fall into the outer bins. So every row has a
    finite log-likelihood and none is left out.

    Args:
        data: a DataFrame, or a dict of columns.
        graph: ``{child: [parents]}``, a ``networkx.DiGraph``, or ``(parent, child)`` pairs. None: ``jaxbn.learn`` finds
            the structure in every fold.
        folds: how many, of sizes that differ by at most one row; or the number of each row's fold, integers [rows]. Of
            rows that are not in memory, how many: a hash of what a row holds tells its fold, and results come fold by
            fold.
        seed: of the random numbers: shuffles the rows among the folds and, without a graph, draws the orders of
            ``jaxbn.learn``.
        method: as in ``jaxbn.discretize``; or one that looks at each variable alone, for comparison and with a graph
            only: ``"equal_width"``, ``"equal_frequency"``, ``"bayesian_blocks"`` (needs astropy).
        max_bins: with ``"evidence"``, most bins of a column, see ``jaxbn.discretize``.
        bins: bins of ``"equal_width"`` and ``"equal_frequency"``; by default, in every fold, the number from 2 to 30
            with the highest evidence on the training rows.
        shape: how values are distributed inside bins: ``"auto"``, as the training rows of the whole column are, by
            default with ``"evidence"`` only; ``"flat"``, evenly. Only scores of the same kind can be compared.
        alpha: Dirichlet weight of each cell of the tables, or ``"auto"``, see ``jaxbn.fit``; by default ``"auto"`` with
            ``"evidence"`` and 1 otherwise.
        given: variables to condition on: scored is ln p(row) - ln p(its values of these), exactly. For one without
            parents this leaves out its own term, as the paper does with the class of Iris.
        columns: what is known about columns, see ``jaxbn.discretize``; known cuts are those of every method.
        missing: ``"infer"`` learns from what each row has, and scores what each held-out row has; ``"error"`` refuses
            missing entries, ``"drop"`` drops rows that have one before the folds are made, ``"state"`` makes being
            missing a state of its own, which is scored too.
        lines: whether numbers follow their continuous parents inside bins, see ``jaxbn.fit``.
        progress: show a bar where someone watches, and a line now and then where no one does.
        **learning: without a graph, further options of ``jaxbn.learn``: ``search``, ``constraints``, ``max_parents``,
            ``max_cells``, ``restarts`` and ``time_limit``, the seconds of each fold.

    Returns:
        Mean, standard error, and the log-likelihood of each fold and each row.

    Example:
        >>> iris = jaxbn.datasets.load("iris")
        >>> fixed = jaxbn.cross_validate(iris.frame, iris.structures["paper"], method="bayesian", folds=3)
        >>> learned = jaxbn.cross_validate(iris.frame, folds=fixed.folds, max_parents=1)
        >>> round(fixed.mean, 2), learned.log_likelihood.shape
        (-3.57, (150,))
    """
    check_lines(lines)
    columns = as_columns(columns)
    source = as_source(data)
    if source is not None:
        for option, value in {"given": given or None, "bins": bins, "shape": shape}.items():
            if value is not None:
                raise checks.ArgumentError(option, "is for tables in memory; leave it out for a source", value=value)
        known = {"method": method, "max_bins": max_bins, "columns": columns, "missing": missing}
        learning = known | check_structure_options(cross_validate, learning, graph is not None)
        learning |= {"lines": lines, "progress": progress} if graph is None else {}
        fitting = {"alpha": "auto" if alpha is None else alpha, "lines": lines, "missing": missing}
        return _of_source(source, graph, checks.at_least("folds", folds, 2), seed, fitting, learning)
    table = columns.table(data, missing, keep=named_columns(graph, given, learning))
    learning = check_structure_options(cross_validate, learning, graph is not None)
    plan = Training.checked(table, graph, method, columns, max_bins, shape, bins, {"seed": seed, **learning})
    method = plan.method
    conditions = tuple(checks.known_name("given", name, table.names) for name in checks.listed(given))
    if set(conditions) == set(table.names):
        raise checks.ArgumentError("given", "names every column, which leaves nothing to score; leave one out")
    if alpha is None:
        alpha = "auto" if method == "evidence" else 1.0
    fold_of_row = fold_numbers(folds, seed, table, data)
    numbers = range(int(fold_of_row.max()) + 1)
    bounds = {name: (float(np.nanmin(values)), float(np.nanmax(values))) for name, values in table.values.items()}

    options: dict[str, Any] = {"alpha": alpha, "bounds": bounds, "lines": lines}
    scores = np.empty(table.n_rows)
    bins_of: dict[int, dict[str, int]] = {}
    step = 1 if plan.parents is None or n_workers(table.n_rows) > 1 else max(1, ROWS_SIDE_BY_SIDE // table.n_rows)
    chunks = [numbers[first : first + step] for first in numbers[::step]]
    folding = _Folds(table, fold_of_row, plan, options, conditions)
    with (
        Steps(progress, len(numbers), f"folds held out, {method}") as bar,
        in_workers(folding, chunks, table.n_rows) as answers,
    ):
        for fold, found, own in chain.from_iterable(answers):
            scores[fold_of_row == fold], bins_of[fold] = found, own
            bar.done(len(bins_of))
    per_fold = np.array([scores[fold_of_row == fold].mean() for fold in numbers])
    n_bins = {name: np.array([bins_of[fold][name] for fold in numbers]) for name in table.continuous}
    return CrossValidation(per_fold, scores, fold_of_row, n_bins, method)


@dataclass(frozen=True, eq=False)
class _Folds:
    """The folds of a table by their numbers, each scored by a network of the others."""

    table: Table
    fold_of_row: NDArray[np.int64]
    plan: Training
    fitting: dict[str, Any]  # options of ``fit``
    conditions: tuple[str, ...]

    def __call__(self, numbers: range) -> tuple[list[tuple[int, NDArray[np.float64], dict[str, int]]], None]:
        """Scores and numbers of bins of some folds."""
        training = [self.table.take(self.fold_of_row != fold) for fold in numbers]
        answers = []
        for fold, rows, (parents, codings) in zip(numbers, training, self.plan.structures(training), strict=False):
            net = fit(rows, parents, codings, inside_bins=True, **self.fitting)
            limits.check()
            scores = _score(net, self.table.take(self.fold_of_row == fold), self.conditions)
            answers.append((fold, scores, {name: binning.n_bins for name, binning in net.binnings.items()}))
        return answers, None


def named_columns(graph: Any, given: str | Sequence[str], learning: Mapping[str, Any]) -> list[str]:
    """The columns that stay though nothing can be learned from them: those that something names, as in ``learn``."""
    arcs = arcs_and_names(graph)[1] if graph is not None else as_constraints(learning.get("constraints")).named
    order = getattr(learning.get("search"), "order", None)  # of K2, which names every column
    return [*arcs, *checks.listed(given), *(order or ())]


def _score(net: BayesNet, rows: Table, conditions: Sequence[str]) -> NDArray[np.float64]:
    """Log density of each row, of the other variables given the conditions if there are any."""
    columns: dict[str, Any] = dict(rows.values)
    for name, codes in rows.codes.items():
        columns[name] = np.array([*rows.levels[name], None], object)[codes]  # a missing entry, of code -1, picks None
    total = net.log_likelihood(columns)
    if not conditions:
        return total
    unknown = np.full(rows.n_rows, np.nan)
    return total - net.log_likelihood({n: columns[n] if n in conditions else unknown for n in rows.names})


# --- sources: the fold of a row follows from what it holds, so that no list of rows is needed

Scored = list[tuple[int, NDArray[np.float64]]]
"""The number of a first row of some, and their log-likelihood."""


@dataclass(frozen=True)
class _Fold(Source):
    """The rows of a source that are held out in a fold, or all others."""

    source: Source
    folds: int
    number: int
    seed: int
    held_out: bool

    def ask(self, task: Task[Answer], watch: Callable[[int], None] = lambda rows: None) -> Answer:
        chosen = partial(_chosen, self.folds, self.number, self.seed, self.held_out)
        return self.source.ask(OnBatches(task, chosen), watch)


def _chosen(folds: int, number: int, seed: int, held_out: bool, first: int, batch: Any) -> tuple[int, Any]:
    # equal rows have equal hashes and share a fold, so that no row is scored by a network that has seen its copy
    hashes = pd.util.hash_pandas_object(batch.to_pandas(), index=False).to_numpy().astype(np.uint64)
    own = scattered(hashes, seed) % np.uint64(folds) == number
    return first, batch.filter(own == held_out)


@dataclass(frozen=True)
class _Scores:
    """The task of scoring rows; levels that a network has not seen are treated as missing."""

    net: BayesNet

    def of(self, batches: Batches) -> Scored:
        some = ((first, batch.to_pandas()) for first, batch in batches if batch.num_rows)  # one batch at a time
        return [(first, self.net.log_likelihood(frame, unknown="missing")) for first, frame in some]

    def merge(self, one: Scored, other: Scored) -> Scored:
        return one + other


def _of_source(
    source: Source, graph: Any, folds: int, seed: int, fitting: dict[str, Any], learning: dict[str, Any]
) -> CrossValidation:
    """Each fold scored by a network of the others; rows of a fold are in the order of the source.

    `fitting` has options of ``fit``, and `learning` those of ``learn``, or of ``discretize`` if there is a graph.
    """
    ends = {name: (found.low, found.high) for name, found in source.ask(Survey(below=0)).columns.items()}
    scores, nets = [], []
    for number in range(folds):
        rest: Any = _Fold(source, folds, number, seed, held_out=False)
        if graph is None:
            net = learn(rest, seed=seed, **learning)
        else:
            net = fit(rest, graph, discretize(rest, graph, **learning).codings, **fitting)
        bounds = {name: (min(low, ends[name][0]), max(high, ends[name][1])) for name, (low, high) in net.bounds.items()}
        binnings = {name: binning.stretched(*bounds[name]) for name, binning in net.binnings.items()}
        net = replace(net, bounds=bounds, binnings=binnings)
        found = _Fold(source, folds, number, seed, held_out=True).ask(_Scores(net))
        scores.append(np.concatenate([part for _, part in sorted(found, key=lambda pair: pair[0])]))
        nets.append(net)
    fold_of_row = np.repeat(np.arange(folds), [len(each) for each in scores])
    bins = {n: np.array([net.binnings[n].n_bins for net in nets if n in net.binnings]) for n in nets[0].binnings}
    per_fold = np.array([each.mean() for each in scores])
    return CrossValidation(per_fold, np.concatenate(scores), fold_of_row, bins, as_method(learning["method"]).name)
