"""The result of a learner, and the callback that watches it."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import NamedTuple

from jaxbn.cuts.methods import Method
from jaxbn.inputs.graph import topological_order
from jaxbn.inputs.table import Table
from jaxbn.learning.passes import Settled
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.fit import fit
from jaxbn.model.fitted import Alpha
from jaxbn.model.lines import Lines
from jaxbn.model.search_report import SearchReport
from jaxbn.runtime import limits
from jaxbn.scores.coded_table import CodedTable, Coding
from jaxbn.scores.density import density, shaped
from jaxbn.scores.families import structure_score


class Learned(NamedTuple):
    """A structure with its binnings."""

    order: tuple[str, ...]
    parents: dict[str, tuple[str, ...]]  # in order of addition
    binnings: dict[str, Coding]
    score: float  # ln P(D* | G)
    criterion: float  # what restarts are compared by
    trace: tuple[float, ...] = ()  # of the evidence, where that is the objective


Watcher = Callable[[int, dict[str, tuple[str, ...]], Settled], None]
"""Called after every variable and every arc: variables done, parents so far, the current discretization."""


def judged(data: CodedTable, parents: dict[str, tuple[str, ...]], settled: Settled, options: Method) -> Learned:
    """A network with the options' criterion."""
    score = structure_score(parents, settled.columns)
    criterion = score + (density(data, settled.binnings) if options.by_density else 0.0)
    return Learned(topological_order(parents), parents, settled.binnings, score, criterion)


def as_network(data: CodedTable, learned: Learned, report: SearchReport, lines: Lines = "auto") -> BayesNet:
    """The fitted network of a learned structure; its score is that of the codes it was learned with."""
    table: Table = data.table
    parents = {name: list(learned.parents[name]) for name in table.names}
    codings = {**learned.binnings, **data.given}
    with limits.grace() if limits.over() else nullcontext(), limits.ending_early() as shaping:
        binnings = shaped(data, codings)
    if shaping.early:  # no time to find shapes
        data.flat = True
        binnings = shaped(data, codings)
    alpha: Alpha = "auto" if report.method == "evidence" else 1.0
    with limits.grace() if limits.over() else nullcontext(), limits.ending_early() as ending:
        net = fit(table, parents, binnings, alpha=alpha, inside_bins=True, lines=lines)
    if ending.early:
        with limits.grace():
            net = fit(table, parents, binnings, alpha=alpha, inside_bins=True, lines=lines)
    if table.holes:  # the score and the trace are those of a completion; `net.em_trace` is that of what was observed
        return replace(net, search=report)
    score = net.score if math.isnan(learned.score) else learned.score
    return replace(net, score=score, trace=learned.trace, search=report)
