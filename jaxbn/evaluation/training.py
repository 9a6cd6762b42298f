"""Structure and cuts from the training rows of each fold of a cross-validation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from jaxbn.cuts.baselines import MARGINAL_METHODS, WITH_BINS, check_installed, marginal_binning
from jaxbn.cuts.binning import Binning
from jaxbn.cuts.methods import MDL, METHODS, Evidence, MaxBins, Method, Shaping, as_method
from jaxbn.evaluation.folds import settle_together
from jaxbn.inputs import checks
from jaxbn.inputs.checks import ArgumentError, Mention
from jaxbn.inputs.graph import GraphLike, Parents, as_parents
from jaxbn.inputs.table import Table
from jaxbn.learning.columns import Columns
from jaxbn.learning.learn import learn
from jaxbn.runtime import limits
from jaxbn.scores.coded_table import CodedTable, Coding
from jaxbn.scores.density import density, shaped
from jaxbn.scores.families import structure_score

NUMBERS_OF_BINS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 25, 30)
"""Numbers tried for methods that look at each variable alone: the highest evidence on the training rows wins."""


class Training(NamedTuple):
    """Checked arguments of a cross-validation, apart from the data."""

    method: str
    options: Method
    parents: Parents | None  # None: learned in each fold
    bins: int | None
    learning: dict[str, Any]  # arguments of ``learn``
    merged: tuple[str, ...]
    shaped: bool  # whether values inside bins are distributed as their column is
    given: Mapping[str, Binning]  # cuts that are known


def known_method(method: str | Method) -> str:
    """The name of a method; one that looks at each variable alone may be it."""
    return method.name if isinstance(method, Method) else checks.one_of("method", method, (*METHODS, *MARGINAL_METHODS))


def checked_training(
    table: Table,
    graph: GraphLike | None,
    method: str | Method,
    columns: Columns,
    max_bins: MaxBins,
    shape: Shaping | None,
    bins: int | None,
    learning: dict[str, Any],
) -> Training:
    """The plan of some options, none of which is without use."""
    name = known_method(method)
    check_installed(name)
    alone = name in MARGINAL_METHODS
    options = as_method(MDL() if alone else method, max_bins, table.continuous)
    if isinstance(options, Evidence):
        options = replace(options, shape=shape or options.shape)
    if bins is not None:
        checks.at_least("bins", bins, 1)
        if name not in WITH_BINS:
            raise ArgumentError(
                "bins",
                f"is for methods {' and '.join(map(repr, WITH_BINS))}, got {bins} with method {name!r}; leave it out, "
                "or choose the start with ",
                Mention("initial_bins"),
                value=bins,
            )
    if graph is None and alone:
        raise ArgumentError(
            "method",
            f"{name!r} learns no structure; pass ",
            Mention("graph"),
            f", or choose one of {', '.join(map(repr, METHODS))}",
            value=name,
        )
    inside = checks.one_of("shape", shape or ("flat" if options.flat else "auto"), ("auto", "flat"))
    merged, known = () if alone else columns.merged(table), columns.binnings(table)
    handed_on = {"method": options, "columns": Columns(merge_levels=merged, cuts=known), **learning}
    parents = None if graph is None else as_parents(graph, table.names)
    return Training(name, options, parents, bins, handed_on, merged, inside == "auto", known)


class Structure(NamedTuple):
    """What was found on the training rows of a fold."""

    parents: Parents
    binnings: Mapping[str, Coding]


def structures(training: Sequence[Table], plan: Training) -> Iterator[Structure]:
    """Structure and cuts for each fold."""
    for table, found in zip(training, _structures(training, plan), strict=True):
        has_shapes = plan.parents is None and plan.method == "evidence"  # those that ``learn`` has found
        if plan.shaped and not has_shapes:
            yield Structure(found.parents, shaped(CodedTable(table, plan.merged), found.binnings))
        else:
            yield found


def _structures(training: Sequence[Table], plan: Training) -> Iterator[Structure]:
    if plan.parents is None:
        yield from (_learned(table, plan) for table in training)
    elif plan.method in MARGINAL_METHODS:
        yield from (Structure(plan.parents, _marginal(table, plan)) for table in training)
    else:
        for settled in settle_together(training, plan.parents, plan.options, plan.merged, plan.given):
            yield Structure(plan.parents, settled.binnings)


def _learned(table: Table, plan: Training) -> Structure:
    """Structure and cuts by ``learn``; Ctrl-C, which it answers with the best so far, ends the cross-validation."""
    net = learn(table, progress=False, **plan.learning)
    limits.check()
    return Structure(net.parents, net.codings)


def _marginal(table: Table, plan: Training) -> dict[str, Binning]:
    """Every variable cut without regard to the others, by default into the number of bins that serves best."""

    def cut(n_bins: int) -> dict[str, Binning]:
        limits.check()
        return {
            name: plan.given.get(name) or marginal_binning(values[~np.isnan(values)], plan.method, n_bins)
            for name, values in table.values.items()
        }

    if plan.bins is not None or plan.method not in WITH_BINS:
        return cut(plan.bins or 1)
    assert plan.parents is not None
    data, parents = CodedTable(table, flat=True), plan.parents
    return max(map(cut, NUMBERS_OF_BINS), key=lambda binnings: _evidence(data, parents, binnings))


def _evidence(data: CodedTable, parents: Parents, binnings: Mapping[str, Binning]) -> float:
    """Log evidence of the training rows in original units, as networks of this library are compared."""
    columns = data.recoded(binnings).columns
    return structure_score(parents, columns) + density(data, binnings)
