"""Discretization methods compared by cross-validated log-likelihood on the same folds."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jaxbn.cuts.binning import WITH_BINS, check_installed
from jaxbn.cuts.methods import MaxBins, Method, Shaping, each_method, users_of
from jaxbn.evaluation.cross_validate import cross_validate, named_columns
from jaxbn.evaluation.folds import fold_numbers, known_method
from jaxbn.inputs.checks import ArgumentError
from jaxbn.inputs.graph import GraphLike
from jaxbn.inputs.later import pd
from jaxbn.inputs.table import DataLike, Missing
from jaxbn.learning.columns import Columns, as_columns
from jaxbn.learning.options import old_keywords
from jaxbn.runtime import limits


@old_keywords
@limits.within()
def compare(
    data: DataLike,
    graph: GraphLike | None,
    methods: Sequence[str | Method] = ("evidence", "bayesian", "mdl", "equal_width", "equal_frequency"),
    *,
    folds: int | ArrayLike = 10,
    seed: int = 0,
    max_bins: MaxBins = "auto",
    bins: int | None = None,
    shape: Shaping = "auto",
    columns: Columns | Mapping[str, str] | None = None,
    missing: Missing = "infer",
    **options: Any,
) -> pd.DataFrame:
    """Compare discretization methods by cross-validated log-likelihood on the same folds.

    Args:
        data: a DataFrame, or a dict of columns.
        graph: as in ``cross_validate``; None, for a structure learned in each fold, suits ``"bayesian"`` and ``"mdl"``.
        methods: those of ``cross_validate``, by name or with their options, such as ``jaxbn.Bayesian(rate=2)``.
        folds: how many, or the number of each row's fold.
        seed: shuffles the rows among the folds.
        max_bins: with ``"evidence"``, most bins of a column, see ``jaxbn.discretize``.
        bins: bins of ``"equal_width"`` and ``"equal_frequency"``; by default the best number for the training rows,
            see ``jaxbn.cross_validate``.
        shape: how values are distributed inside the bins of all methods, so that only cuts differ: as the training rows
            of the whole column are, or ``"flat"``, evenly, as in the paper.
        columns: what is known about columns, see ``jaxbn.discretize``.
        missing: what to do about missing entries, as in ``cross_validate``.
        **options: further arguments of ``cross_validate``, and options of methods, such as ``rate``: each method is
            handed those that it has.

    Returns:
        A row for each method: ``mean`` and ``standard_error`` of the log-likelihood, ``bins``, the mean number of bins
        of a continuous variable, and ``seconds`` it took, with compilation where that was needed.

    Example:
        >>> iris = jaxbn.datasets.load("iris")
        >>> table = jaxbn.compare(iris.frame, iris.structures["paper"], folds=5)
        >>> table["mean"].drop("evidence").round(2).to_dict()
        {'bayesian': -2.74, 'mdl': -2.91, 'equal_width': -2.78, 'equal_frequency': -2.84}
    """
    if isinstance(methods, str) or not methods:
        raise ArgumentError("methods", f"must be a sequence of methods, got {methods!r}; for example ('bayesian',)")
    columns = as_columns(columns)
    table = columns.table(data, missing, keep=named_columns(graph, options.get("given", ()), options))
    fold_of_row = fold_numbers(folds, seed, table, data)
    names = [known_method(method) for method in methods]
    if of_methods := {name: options.pop(name) for name in list(options) if users_of(name)}:
        methods = each_method(names, of_methods)
    for name in names:
        check_installed(name)
    rows = []
    for method, name in zip(methods, names, strict=True):
        started = time.perf_counter()
        limit: Any = {"max_bins": max_bins} if name == "evidence" else {"bins": bins} if name in WITH_BINS else {}
        known: Any = {"seed": seed, "columns": columns, "shape": shape, **limit, **options}
        result = cross_validate(table, graph, folds=fold_of_row, method=method, **known)
        seconds = time.perf_counter() - started
        n_bins = float(np.mean(list(result.bins.values()))) if result.bins else math.nan
        rows.append((result.mean, result.standard_error, n_bins, seconds))
    index = pd.Index(names, name="method")
    return pd.DataFrame(rows, index=index, columns=["mean", "standard_error", "bins", "seconds"])


SCORES = ("method", "log-likelihood a row", "standard error", "mean bins")


def scores_in_words(found: pd.DataFrame) -> list[tuple[str, str, str, str]]:
    """A row for each method, under the head `SCORES`."""
    return [
        (str(method).replace("_", " "), f"{mean:.3f}", f"{error:.3f}", f"{bins:.1f}" if bins > 0 else "")
        for method, mean, error, bins in found.reindex(columns=["mean", "standard_error", "bins"]).itertuples()
    ]
