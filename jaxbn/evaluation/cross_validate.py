"""Cross-validated log-likelihood of a network, and discretization methods compared by it (design section 6)."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jaxbn.cuts.baselines import MARGINAL_METHODS, WITH_BINS, check_installed, marginal_policy
from jaxbn.cuts.discretize_variable import METHODS
from jaxbn.cuts.policy import Policy
from jaxbn.evaluation.folds import fold_numbers, settle_together
from jaxbn.groups.grouping import columns_to_group
from jaxbn.inputs import checks
from jaxbn.inputs.columns import suggest
from jaxbn.inputs.graph import Parents, as_parents
from jaxbn.inputs.table import Table, as_table
from jaxbn.learning.discretize import starting_bins
from jaxbn.learning.learn import learn as learn_network
from jaxbn.learning.options import MinWidth, Options, Rate, check_options
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.fit import fit
from jaxbn.scores.coded_table import Coding

if TYPE_CHECKING:
    import pandas as pd

Missing = Literal["error", "drop"]
LEARN_OPTIONS = (
    "order", "max_parents", "restarts", "seed", "warm_start", "select", "required", "forbidden", "side_by_side",
    "max_cells",
)  # fmt: skip
"""Options of ``learn`` that a cross-validation hands on; the others are its own arguments."""

ROWS_SIDE_BY_SIDE = 2_000_000
"""Training rows of all folds that are discretized together; small folds gain by it, large ones do not."""


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
        >>> import jaxbn
        >>> iris = jaxbn.datasets.load("iris")
        >>> result = jaxbn.cross_validate(iris.frame, iris.structures["paper"], folds=5)
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
        """Of the mean, from the spread of the folds."""
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


class _Plan(NamedTuple):
    """Checked arguments of a cross-validation, apart from the data."""

    method: str
    options: Options
    parents: Parents | None  # None: learned in each fold
    initial_bins: int | None
    bins: int | None
    learn: dict[str, Any]
    grouped: tuple[str, ...]


def cross_validate(
    data: Any,
    graph: Any = None,
    *,
    folds: int | ArrayLike = 10,
    seed: int = 0,
    method: str = "bayesian",
    rate: Rate = "network",
    continuous: Sequence[str] | None = None,
    initial_bins: int | None = None,
    bins: int | None = None,
    max_passes: int | None = 10,
    alpha: float = 1.0,
    given: str | Sequence[str] = (),
    missing: Missing = "error",
    learn: Mapping[str, Any] | None = None,
    group: Iterable[str] | None = None,
    min_width: MinWidth = None,
) -> CrossValidation:
    """Estimate how well a network describes new rows: cut, and fit, on all folds but one, score on that one.

    The outer edges of the densities are the smallest and largest value of all the data, and the levels of discrete
    columns those of all the data; values beyond those of the training rows fall into the outer bins. So every row has a
    finite log-likelihood and none is left out.

    Args:
        data: a DataFrame, or a dict of columns.
        graph: ``{child: [parents]}``, a ``networkx.DiGraph``, or ``(parent, child)`` pairs. None: ``jaxbn.learn`` finds
            the structure in every fold anew.
        folds: how many, of sizes that differ by at most one row; or the number of each row's fold, integers [rows].
        seed: shuffles the rows among the folds.
        method: ``"bayesian"``, ``"mdl"`` or ``"evidence"``; or one that looks at each variable alone, for comparison
            and with a graph only: ``"equal_width"``, ``"equal_frequency"``, ``"bayesian_blocks"`` (needs astropy).
        rate: L of the prior, see ``jaxbn.discretize``.
        continuous: the continuous columns; inferred if not given (see ``jaxbn.inputs.table.as_table``).
        initial_bins: bins of the equal-width start; by default the largest cardinality of the discrete variables.
        bins: bins of ``"equal_width"`` and ``"equal_frequency"``; by default as many as ``initial_bins``.
        max_passes: most passes of a discretization.
        alpha: Dirichlet weight of each cell of the tables.
        given: variables to condition on: scored is ln p(row) - ln p(its values of these), exactly. For one without
            parents this leaves out its own term, as the paper does with the class of Iris.
        missing: ``"error"`` refuses missing entries, ``"drop"`` drops rows that have one before the folds are made.
        learn: without a graph, options for ``jaxbn.learn``, such as ``{"max_parents": 2, "restarts": 5}``.
        group: discrete columns whose levels are merged, see ``jaxbn.discretize``; a method that looks at each variable
            alone merges none.
        min_width: with ``"evidence"``, the smallest width of a bin, see ``jaxbn.discretize``.

    Returns:
        Mean, standard error, and the log-likelihood of each fold and each row.

    Example:
        >>> import jaxbn
        >>> iris = jaxbn.datasets.load("iris")
        >>> fixed = jaxbn.cross_validate(iris.frame, iris.structures["paper"], folds=3)
        >>> learned = jaxbn.cross_validate(iris.frame, folds=fixed.folds, learn={"max_parents": 1})
        >>> round(fixed.mean, 2), learned.log_likelihood.shape
        (-3.57, (150,))
    """
    table = as_table(data, continuous=continuous, missing=missing)
    options = check_options(
        method=METHODS[0] if method in MARGINAL_METHODS else _known(method),
        rate=rate,
        max_passes=max_passes,
        min_width=min_width,
        continuous=table.continuous,
    )
    parents = None if graph is None else as_parents(graph, table.names)
    grouped = () if method in MARGINAL_METHODS else columns_to_group(table, group)
    plan = _checked(_Plan(method, options, parents, initial_bins, bins, dict(learn or {}), grouped))
    conditions = _conditions(given, table)
    fold_of_row = fold_numbers(folds, seed, table, data)
    numbers = range(int(fold_of_row.max()) + 1)
    bounds = {name: (float(values.min()), float(values.max())) for name, values in table.values.items()}

    scores = np.empty(table.n_rows)
    n_bins: dict[str, list[int]] = {name: [] for name in table.continuous}
    step = max(1, ROWS_SIDE_BY_SIDE // table.n_rows)
    for first in numbers[::step]:
        chunk = numbers[first : first + step]
        training = [table.take(fold_of_row != fold) for fold in chunk]
        for fold, rows, found in zip(chunk, training, _structures(training, plan), strict=True):
            net = fit(rows, found.parents, found.policies, alpha=alpha, bounds=bounds)
            held_out = fold_of_row == fold
            scores[held_out] = _score(net, table.take(held_out), conditions)
            for name, policy in net.policies.items():
                n_bins[name].append(policy.n_bins)
    per_fold = np.array([scores[fold_of_row == fold].mean() for fold in numbers])
    return CrossValidation(per_fold, scores, fold_of_row, {n: np.array(k) for n, k in n_bins.items()}, method)


def compare(
    data: Any,
    graph: Any,
    methods: Sequence[str] = ("bayesian", "mdl", "equal_width", "equal_frequency"),
    *,
    folds: int | ArrayLike = 10,
    seed: int = 0,
    continuous: Sequence[str] | None = None,
    bins: int | None = None,
    missing: Missing = "error",
    **options: Any,
) -> pd.DataFrame:
    """Compare discretization methods by cross-validated log-likelihood on the same folds.

    Args:
        data: a DataFrame, or a dict of columns.
        graph: as in ``cross_validate``; None, for a structure learned in each fold, suits ``"bayesian"`` and ``"mdl"``.
        methods: those of ``cross_validate``.
        folds: how many, or the number of each row's fold.
        seed: shuffles the rows among the folds.
        continuous: the continuous columns; inferred if not given.
        bins: bins of ``"equal_width"`` and ``"equal_frequency"``.
        missing: ``"error"`` or ``"drop"``.
        **options: further arguments of ``cross_validate``.

    Returns:
        A row for each method: ``mean`` and ``standard_error`` of the log-likelihood, ``bins``, the mean number of bins
        of a continuous variable, and ``seconds`` it took, with compilation where that was needed.

    Example:
        >>> import jaxbn
        >>> iris = jaxbn.datasets.load("iris")
        >>> table = jaxbn.compare(iris.frame, iris.structures["paper"], folds=5)
        >>> table["mean"].round(2).to_dict()
        {'bayesian': -3.35, 'mdl': -3.66, 'equal_width': -3.32, 'equal_frequency': -3.47}
    """
    import pandas as pd

    if isinstance(methods, str) or not methods:
        raise ValueError(f"methods must be a sequence of one or more methods, got {methods!r}; e.g. ('bayesian',)")
    table = as_table(data, continuous=continuous, missing=missing)
    fold_of_row = fold_numbers(folds, seed, table, data)
    for method in methods:
        check_installed(_known(method))
    rows = []
    for method in methods:
        started = time.perf_counter()
        own_bins = bins if method in WITH_BINS else None
        result = cross_validate(table, graph, folds=fold_of_row, method=method, bins=own_bins, **options)
        seconds = time.perf_counter() - started
        n_bins = float(np.mean(list(result.bins.values()))) if result.bins else math.nan
        rows.append((result.mean, result.standard_error, n_bins, seconds))
    index = pd.Index(list(methods), name="method")
    return pd.DataFrame(rows, index=index, columns=["mean", "standard_error", "bins", "seconds"])


class _Structure(NamedTuple):
    """What was found on the training rows of a fold."""

    parents: Parents
    policies: Mapping[str, Coding]


def _structures(training: Sequence[Table], plan: _Plan) -> list[_Structure]:
    """Structure and cuts for each fold."""
    if plan.parents is None:
        return [_learned(table, plan) for table in training]
    if plan.method in MARGINAL_METHODS:
        return [_Structure(plan.parents, _marginal(table, plan)) for table in training]
    settled = settle_together(training, plan.parents, plan.options, plan.initial_bins, plan.grouped)
    return [_Structure(plan.parents, each.policies) for each in settled]


def _learned(table: Table, plan: _Plan) -> _Structure:
    """Structure and cuts by ``learn``; Ctrl-C, which it answers with the best so far, ends the cross-validation."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="interrupted", category=UserWarning)
        try:
            net = learn_network(
                table,
                **plan.options._asdict(),
                initial_bins=plan.initial_bins,
                progress=False,
                group=plan.grouped,
                **plan.learn,
            )
        except UserWarning:
            raise KeyboardInterrupt from None
    return _Structure(net.parents, net.codings)


def _marginal(table: Table, plan: _Plan) -> dict[str, Policy]:
    n_bins = starting_bins(table, plan.initial_bins) if plan.bins is None else plan.bins
    return {name: marginal_policy(values, plan.method, n_bins) for name, values in table.values.items()}


def _score(net: BayesNet, rows: Table, conditions: Sequence[str]) -> NDArray[np.float64]:
    """Log density of each row, of the other variables given the conditions if there are any."""
    columns: dict[str, Any] = dict(rows.values)
    for name, codes in rows.codes.items():
        levels = np.empty(len(rows.levels[name]), object)
        levels[:] = rows.levels[name]
        columns[name] = levels[codes]
    total = net.log_likelihood(columns)
    if not conditions:
        return total
    unknown = np.full(rows.n_rows, np.nan)
    return total - net.log_likelihood({n: columns[n] if n in conditions else unknown for n in rows.names})


def _known(method: str) -> str:
    return checks.one_of("method", method, (*METHODS, *MARGINAL_METHODS))


def _checked(plan: _Plan) -> _Plan:
    """Refuse options that do not go together or would not be looked at."""
    check_installed(plan.method)
    if plan.initial_bins is not None:
        checks.at_least("initial_bins", plan.initial_bins, 1)
    if plan.bins is not None:
        checks.at_least("bins", plan.bins, 1)
        if plan.method not in WITH_BINS:
            raise ValueError(
                f"bins is for methods {' and '.join(map(repr, WITH_BINS))}, got bins={plan.bins} with method "
                f"{plan.method!r}; leave it out, or choose the start with initial_bins"
            )
    if plan.parents is None and plan.method in MARGINAL_METHODS:
        raise ValueError(f"method {plan.method!r} learns no structure; pass a graph, or choose one of {METHODS}")
    if plan.parents is not None and plan.learn:
        raise ValueError(f"learn={plan.learn!r} has no use beside a graph; leave one of them out")
    for name in plan.learn:
        if name not in LEARN_OPTIONS:
            raise ValueError(
                f"learn has no option {name!r} here; {suggest(name, LEARN_OPTIONS)} (method, rate, initial_bins and "
                "max_passes are arguments of cross_validate)"
            )
    arcs = {name: list(plan.learn[name]) for name in ("required", "forbidden") if name in plan.learn}
    return plan._replace(learn=plan.learn | arcs)  # an iterator would last for one fold only


def _conditions(given: str | Sequence[str], table: Table) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if name not in table.names:
            raise ValueError(f"given names {name!r}, which is no column of the data; {suggest(name, table.names)}")
    if set(names) == set(table.names):
        raise ValueError("given names every column, which leaves nothing to score; leave one out")
    return names
