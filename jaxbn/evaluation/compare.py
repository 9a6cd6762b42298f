"""Discretization methods compared by cross-validated log-likelihood on the same folds."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from jaxbn.cuts.baselines import WITH_BINS, check_installed
from jaxbn.cuts.given import with_cut
from jaxbn.evaluation.cross_validate import cross_validate
from jaxbn.evaluation.folds import fold_numbers
from jaxbn.evaluation.training import known_method
from jaxbn.inputs.checks import ArgumentError
from jaxbn.inputs.graph import GraphLike
from jaxbn.inputs.table import DataLike, Missing, as_table
from jaxbn.learning.options import USED_BY, Shaping, refuse_unused
from jaxbn.runtime import limits

if TYPE_CHECKING:
    import pandas as pd


@limits.within()
def compare(
    data: DataLike,
    graph: GraphLike | None,
    methods: Sequence[str] = ("evidence", "bayesian", "mdl", "equal_width", "equal_frequency"),
    *,
    folds: int | ArrayLike = 10,
    seed: int = 0,
    continuous: Sequence[str] | None = None,
    discrete: Sequence[str] | None = None,
    bins: int | None = None,
    missing: Missing = "infer",
    shape: Shaping = "auto",
    **options: Any,
) -> pd.DataFrame:
    """Compare discretization methods by cross-validated log-likelihood on the same folds.

    Args:
        data: a DataFrame, or a dict of columns.
        graph: as in ``cross_validate``; None, for a structure learned in each fold, suits ``"bayesian"`` and ``"mdl"``.
        methods: those of ``cross_validate``.
        folds: how many, or the number of each row's fold.
        seed: shuffles the rows among the folds.
        continuous: columns that are continuous whatever they hold; columns named neither here nor in ``discrete`` are
            inferred (see ``jaxbn.as_table``).
        discrete: columns that are discrete whatever they hold.
        bins: bins of ``"equal_width"`` and ``"equal_frequency"``; by default the best number for the training rows,
            see ``jaxbn.cross_validate``.
        missing: what to do about missing entries, as in ``cross_validate``.
        shape: how values are distributed inside the bins of all methods, so that only cuts differ: as the training rows
            of the whole column are, or ``"flat"``, evenly, as in the paper.
        **options: further arguments of ``cross_validate``; each method is handed those that it uses.

    Returns:
        A row for each method: ``mean`` and ``standard_error`` of the log-likelihood, ``bins``, the mean number of bins
        of a continuous variable, and ``seconds`` it took, with compilation where that was needed.

    Example:
        >>> import jaxbn
        >>> iris = jaxbn.datasets.load("iris")
        >>> table = jaxbn.compare(iris.frame, iris.structures["paper"], folds=5)
        >>> table["mean"].drop("evidence").round(2).to_dict()
        {'bayesian': -2.74, 'mdl': -2.92, 'equal_width': -2.78, 'equal_frequency': -2.84}
    """
    import pandas as pd

    if isinstance(methods, str) or not methods:
        raise ArgumentError("methods", f"must be a sequence of methods, got {methods!r}; for example ('bayesian',)")
    continuous = with_cut(continuous, options.get("cuts"), data)
    table = as_table(data, continuous=continuous, discrete=discrete, missing=missing)
    fold_of_row = fold_numbers(folds, seed, table, data)
    for method in methods:
        check_installed(known_method(method))
    for name, value in options.items():
        if not any(method in USED_BY.get(name, (method,)) for method in methods):
            refuse_unused(name, value, methods[0])
    rows = []
    for method in methods:
        started = time.perf_counter()
        own_bins = bins if method in WITH_BINS else None
        used = {name: value for name, value in options.items() if method in USED_BY.get(name, (method,))}
        used |= {"seed": seed, "method": method, "bins": own_bins, "shape": shape}
        result = cross_validate(table, graph, folds=fold_of_row, **used)
        seconds = time.perf_counter() - started
        n_bins = float(np.mean(list(result.bins.values()))) if result.bins else math.nan
        rows.append((result.mean, result.standard_error, n_bins, seconds))
    index = pd.Index(list(methods), name="method")
    return pd.DataFrame(rows, index=index, columns=["mean", "standard_error", "bins", "seconds"])
