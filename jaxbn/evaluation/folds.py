"""Folds of a cross-validation: which rows are held out together, and structure and cuts from the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jaxbn.cuts.binning import MARGINAL_METHODS, WITH_BINS, Binning, check_installed, marginal_binning
from jaxbn.cuts.methods import MDL, METHODS, Evidence, MaxBins, Method, Shaping, as_method
from jaxbn.inputs import checks
from jaxbn.inputs.checks import ArgumentError, Mention
from jaxbn.inputs.graph import GraphLike, Parents, as_parents
from jaxbn.inputs.table import Table, as_frame, as_table
from jaxbn.learning.columns import Columns
from jaxbn.learning.learn import learn
from jaxbn.learning.passes import Passes, Settled
from jaxbn.learning.solver import Learner, Solver, run_each
from jaxbn.runtime import limits
from jaxbn.scores.coded_table import CodedTable, Coding
from jaxbn.scores.evidence import density, shaped
from jaxbn.scores.families import structure_score

NUMBERS_OF_BINS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 25, 30)
"""Numbers tried for methods that look at each variable alone: the highest evidence on the training rows wins."""


def fold_numbers(folds: int | ArrayLike, seed: int, table: Table, data: Any) -> NDArray[np.int64]:
    """The fold of each row of the table, numbered from 0 without gaps [rows].

    Where the number of each row's fold is given, it may be that of each row of the original `data`, of which rows with
    missing entries were dropped.
    """
    n = table.n_rows
    if np.ndim(folds) > 0:
        numbers = np.asarray(folds)
        if numbers.ndim == 1 and len(numbers) != n and not isinstance(data, Table):
            absent = as_frame(data).isna()
            for lost in (absent.any(axis=1), absent.all(axis=1)):  # rows with a missing entry, or without any value
                if len(numbers) == len(lost) and int((~lost).sum()) == n:
                    numbers = numbers[~lost.to_numpy()]
                    break
        distinct, fold_of_row = np.unique(checks.integers("folds", numbers, n, "number the folds"), return_inverse=True)
        if len(distinct) < 2:
            raise ArgumentError("folds", f"puts every row into fold {distinct[0]}; number two folds or more")
        return fold_of_row.astype(np.int64)
    count = checks.at_least("folds", folds, 2)
    if count > n:
        raise ArgumentError("folds", f"is {count} but there are {n} rows; choose at most {n}", value=count)
    fold_of_row = np.empty(n, np.int64)
    fold_of_row[np.random.default_rng(seed).permutation(n)] = np.arange(n) % count
    return fold_of_row


def known_method(method: str | Method) -> str:
    """The name of a method; one that looks at each variable alone may be it."""
    return method.name if isinstance(method, Method) else checks.one_of("method", method, (*METHODS, *MARGINAL_METHODS))


@dataclass(frozen=True, eq=False)
class Training:
    """How structure and cuts are found from the training rows of each fold."""

    method: str  # its name; one that looks at each variable alone may be it
    options: Method
    parents: Parents | None  # None where they are learned in each fold
    bins: int | None  # of the methods that take their number, None for the best one
    learning: dict[str, Any]  # arguments of ``learn``
    merged: tuple[str, ...]  # columns whose levels are merged
    shaped: bool  # whether values inside bins are distributed as their column is
    given: Mapping[str, Binning]  # cuts that are known

    @classmethod
    def checked(
        cls,
        table: Table,
        graph: GraphLike | None,
        method: str | Method,
        columns: Columns,
        max_bins: MaxBins,
        shape: Shaping | None,
        bins: int | None,
        learning: dict[str, Any],
    ) -> Training:
        """From arguments of a cross-validation, none of which is without use."""
        name = known_method(method)
        check_installed(name)
        alone = name in MARGINAL_METHODS
        options = as_method(MDL() if alone else method, max_bins, table.continuous)
        if isinstance(options, Evidence):
            options = replace(options, shape=shape or options.shape)
        if bins is not None:
            checks.at_least("bins", bins, 1)
            if name not in WITH_BINS:
                why = f"is for methods {' and '.join(map(repr, WITH_BINS))}, got {bins} with method {name!r}; leave it "
                raise ArgumentError("bins", f"{why}out, or choose the start with ", Mention("initial_bins"), value=bins)
        if graph is None and alone:
            others = f", or choose one of {', '.join(map(repr, METHODS))}"
            raise ArgumentError("method", f"{name!r} learns no structure; pass ", Mention("graph"), others, value=name)
        inside = checks.one_of("shape", shape or ("flat" if options.flat else "auto"), ("auto", "flat"))
        merged, known = () if alone else columns.merged(table), columns.binnings(table)
        handed_on = {"method": options, "columns": Columns(merge_levels=merged, cuts=known), **learning}
        parents = None if graph is None else as_parents(graph, table.names)
        return cls(name, options, parents, bins, handed_on, merged, inside == "auto", known)

    def structures(self, tables: Sequence[Table]) -> Iterator[tuple[Parents, Mapping[str, Coding]]]:
        """Structure and cuts from the training rows of each fold."""
        lacking = self.shaped and not (self.parents is None and self.method == "evidence")  # ``learn`` has found them
        for table, (parents, codings) in zip(tables, self._found(tables), strict=True):
            yield parents, shaped(CodedTable(table, self.merged), codings) if lacking else codings

    def _found(self, tables: Sequence[Table]) -> Iterator[tuple[Parents, Mapping[str, Coding]]]:
        if self.parents is None:
            for table in tables:
                net = learn(table, progress=False, **self.learning)
                limits.check()  # Ctrl-C, which ``learn`` answers with the best so far, ends the cross-validation
                yield net.parents, net.codings
        elif self.method in MARGINAL_METHODS:
            yield from ((self.parents, self._marginal(table, self.parents)) for table in tables)
        else:
            for settled in settle_together(tables, self.parents, self.options, self.merged, self.given):
                yield self.parents, settled.binnings

    def _marginal(self, table: Table, parents: Parents) -> dict[str, Binning]:
        """Every variable cut without regard to the others, by default into the number of bins that serves best."""

        def cut(n_bins: int) -> dict[str, Binning]:
            limits.check()
            return {
                name: self.given.get(name) or marginal_binning(values[~np.isnan(values)], self.method, n_bins)
                for name, values in table.values.items()
            }

        if self.bins is not None or self.method not in WITH_BINS:
            return cut(self.bins or 1)
        data = CodedTable(table, flat=True)

        def evidence(binnings: Mapping[str, Binning]) -> float:
            """Of the training rows in original units, as networks of this library are compared."""
            return structure_score(parents, data.recoded(binnings).columns) + density(data, binnings)

        return max(map(cut, NUMBERS_OF_BINS), key=evidence)


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
        return passes.solver, passes.settle_best(parents)

    settled = dict(run_each([partial(make, table) for table in tables], len(tables)))
    return [settled[i] for i in range(len(tables))]
