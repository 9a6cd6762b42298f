"""Folds of a cross-validation: which rows are held out together, and all folds discretized side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jaxbn.cuts.binning import Binning
from jaxbn.cuts.methods import Method
from jaxbn.inputs import checks
from jaxbn.inputs.graph import Parents
from jaxbn.inputs.table import Table, as_frame, as_table
from jaxbn.learning.passes import Passes, Settled
from jaxbn.learning.solver import Learner, Solver, run_each
from jaxbn.scores.coded_table import CodedTable


def fold_numbers(folds: int | ArrayLike, seed: int, table: Table, data: Any) -> NDArray[np.int64]:
    """The fold of each row of the table, numbered from 0 without gaps [rows].

    Args:
        folds: how many, of sizes that differ by at most one row; or the number of each row's fold, for each row of the
            table or, where rows with missing entries were dropped, of the original data.
        seed: shuffles the rows.
        table: the rows.
        data: what the table was made from.
    """
    n = table.n_rows
    if np.ndim(folds) > 0:
        numbers = _complete(np.asarray(folds), table, data)
        distinct, fold_of_row = np.unique(checks.integers("folds", numbers, n, "number the folds"), return_inverse=True)
        if len(distinct) < 2:
            raise checks.ArgumentError("folds", f"puts every row into fold {distinct[0]}; number two folds or more")
        return fold_of_row.astype(np.int64)
    count = checks.at_least("folds", folds, 2)
    if count > n:
        raise checks.ArgumentError("folds", f"is {count} but there are {n} rows; choose at most {n}", value=count)
    fold_of_row = np.empty(n, np.int64)
    fold_of_row[np.random.default_rng(seed).permutation(n)] = np.arange(n) % count
    return fold_of_row


def _complete(numbers: NDArray[Any], table: Table, data: Any) -> NDArray[Any]:
    """The fold numbers of rows that were kept, where there is one for each row of the original data."""
    if numbers.ndim == 1 and len(numbers) != table.n_rows and not isinstance(data, Table):
        absent = as_frame(data).isna()
        for lost in (absent.any(axis=1), absent.all(axis=1)):  # rows with a missing entry, or without any value
            if len(numbers) == len(lost) and int((~lost).sum()) == table.n_rows:
                return numbers[~lost.to_numpy()]
    return numbers


def settle_together(
    tables: Sequence[Table],
    parents: Parents,
    options: Method,
    grouped: tuple[str, ...] = (),
    given: Mapping[str, Binning] | None = None,
) -> list[Settled]:
    """Discretize several tables with one structure; the cuts that all of them wait for are computed as one batch.

    The results are those of one table after the other.
    """

    def make(table: Table) -> tuple[Solver, Learner[Settled]]:
        table = as_table(table, missing="infer")  # which sees that every column has a value
        passes = Passes(CodedTable(table, grouped, flat=options.flat, given=given or {}), options)
        return passes.solver, passes.settle(parents, passes.first_bins())

    settled = dict(run_each([partial(make, table) for table in tables], len(tables)))
    return [settled[i] for i in range(len(tables))]
