"""Structure and cuts from the training rows of each fold of a cross-validation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxbn.cuts.baselines import MARGINAL_METHODS, WITH_BINS, check_installed, marginal_binning
from jaxbn.cuts.binning import Binning
from jaxbn.cuts.discretize_variable import METHODS
from jaxbn.evaluation.folds import settle_together
from jaxbn.inputs import checks
from jaxbn.inputs.checks import ArgumentError, Mention
from jaxbn.inputs.graph import Parents
from jaxbn.inputs.table import Table
from jaxbn.learning.learn import learn
from jaxbn.learning.options import Options
from jaxbn.runtime import limits
from jaxbn.scores.coded_table import CodedTable, Coding
from jaxbn.scores.density import density, shaped
from jaxbn.scores.families import family_score

NUMBERS_OF_BINS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 25, 30)
"""Numbers tried for methods that look at each variable alone: the highest evidence on the training rows wins."""


class Plan(NamedTuple):
    """Checked arguments of a cross-validation, apart from the data."""

    method: str
    options: Options
    parents: Parents | None  # None: learned in each fold
    initial_bins: int | None
    bins: int | None
    learning: dict[str, Any]  # arguments of ``learn``
    grouped: tuple[str, ...]
    shaped: bool = False  # whether values inside bins are distributed as their column is
    given: Mapping[str, Binning] = {}  # cuts that are known


def known_method(method: str) -> str:
    """The method, if it is known; methods that look at each variable alone are."""
    return checks.one_of("method", method, (*METHODS, *MARGINAL_METHODS))


def checked(plan: Plan) -> Plan:
    """Refuse options that do not go together or would not be used."""
    check_installed(plan.method)
    if plan.initial_bins is not None:
        checks.at_least("initial_bins", plan.initial_bins, 1)
    if plan.bins is not None:
        checks.at_least("bins", plan.bins, 1)
        if plan.method not in WITH_BINS:
            raise ArgumentError(
                "bins",
                f"is for methods {' and '.join(map(repr, WITH_BINS))}, got {plan.bins} with method {plan.method!r}; "
                "leave it out, or choose the start with ",
                Mention("initial_bins"),
                value=plan.bins,
            )
    if plan.parents is None and plan.method in MARGINAL_METHODS:
        raise ArgumentError(
            "method",
            f"{plan.method!r} learns no structure; pass ",
            Mention("graph"),
            f", or choose one of {', '.join(map(repr, METHODS))}",
            value=plan.method,
        )
    return plan


class Structure(NamedTuple):
    """What was found on the training rows of a fold."""

    parents: Parents
    binnings: Mapping[str, Coding]


def structures(training: Sequence[Table], plan: Plan) -> Iterator[Structure]:
    """Structure and cuts for each fold."""
    for table, found in zip(training, _structures(training, plan), strict=True):
        has_shapes = plan.parents is None and plan.method == "evidence"  # those that ``learn`` has found
        if plan.shaped and not has_shapes:
            yield Structure(found.parents, shaped(CodedTable(table, plan.grouped), found.binnings))
        else:
            yield found


def _structures(training: Sequence[Table], plan: Plan) -> Iterator[Structure]:
    if plan.parents is None:
        yield from (_learned(table, plan) for table in training)
    elif plan.method in MARGINAL_METHODS:
        yield from (Structure(plan.parents, _marginal(table, plan)) for table in training)
    else:
        given, start = plan.given, plan.initial_bins
        for settled in settle_together(training, plan.parents, plan.options, start, plan.grouped, given):
            yield Structure(plan.parents, settled.binnings)


def _learned(table: Table, plan: Plan) -> Structure:
    """Structure and cuts by ``learn``; Ctrl-C, which it answers with the best so far, ends the cross-validation."""
    net = learn(table, progress=False, **plan.learning)
    limits.check()
    return Structure(net.parents, net.codings)


def _marginal(table: Table, plan: Plan) -> dict[str, Binning]:
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
    families = (family_score(columns[name], [columns[p] for p in parents[name]]) for name in data.names)
    return math.fsum(families) + density(data, binnings)
