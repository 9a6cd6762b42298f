"""Folds of a cross-validation: which rows are held out together, and all folds discretized side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jaxbn import checks
from jaxbn.coded import CodedTable
from jaxbn.graph import Parents
from jaxbn.passes import Options, Settled, discretize_steps, starting_bins
from jaxbn.table import Table, as_frame
from jaxbn.variable import best_policies
from jaxbn.work import Cut, Question, Workshop, drive


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
            raise ValueError(f"folds puts every row into fold {distinct[0]}; number two folds or more")
        return fold_of_row.astype(np.int64)
    count = checks.at_least("folds", folds, 2)
    if count > n:
        raise ValueError(f"folds is {count} but there are {n} rows; choose at most {n}")
    fold_of_row = np.empty(n, np.int64)
    fold_of_row[np.random.default_rng(seed).permutation(n)] = np.arange(n) % count
    return fold_of_row


def _complete(numbers: NDArray[Any], table: Table, data: Any) -> NDArray[Any]:
    """The fold numbers of rows that were kept, where there is one for each row of the original data."""
    if numbers.ndim == 1 and len(numbers) != table.n_rows and not isinstance(data, Table):
        kept = ~as_frame(data).isna().any(axis=1).to_numpy()
        if len(numbers) == len(kept):
            return numbers[kept]
    return numbers


def settle_together(
    tables: Sequence[Table], parents: Parents, options: Options, initial_bins: int | None
) -> list[Settled]:
    """Discretize several tables with one structure; the cuts that all of them wait for are computed as one batch.

    The results are those of one table after the other.
    """
    workshops = [Workshop(CodedTable(table), options.method) for table in tables]
    learners = []
    for table, workshop in zip(tables, workshops, strict=True):
        start = workshop.data.start(starting_bins(table, initial_bins))
        learners.append(discretize_steps(workshop.data, parents, table.names, start, options.rate, options.max_passes))
    settled: dict[int, Settled] = {}
    waiting: dict[int, Question | None] = dict.fromkeys(range(len(tables)))
    while waiting:
        for i, question in list(waiting.items()):
            try:
                waiting[i] = drive(learners[i], question, workshops[i])
            except StopIteration as end:
                settled[i] = end.value
                del waiting[i]
        cuts = {i: question for i, question in waiting.items() if isinstance(question, Cut)}
        found = best_policies([workshops[i].request(cut) for i, cut in cuts.items()], options.method)
        for (i, cut), policy in zip(cuts.items(), found, strict=True):
            workshops[i].policies[cut.key] = policy
    return [settled[i] for i in range(len(tables))]
