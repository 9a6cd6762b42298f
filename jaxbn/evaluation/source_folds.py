"""Cross-validation of a source: the fold of a row follows from what it holds, so that no list of rows is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.learning.discretize import discretize
from jaxbn.learning.learn import learn
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.fit import fit
from jaxbn.sources.counting import Batches
from jaxbn.sources.source import Answer, OnBatches, Source, Task, as_source
from jaxbn.sources.survey import Survey, row_hashes

Scored = list[tuple[int, NDArray[np.float64]]]
"""The number of a first row of some, and their log-likelihood."""


@dataclass(frozen=True)
class Fold(Source):
    """The rows of a source that are held out in a fold, or all others."""

    source: Source
    folds: int
    number: int
    held_out: bool
    seed: int = 0

    def ask(self, task: Task[Answer], watch: Callable[[int], None] = lambda rows: None) -> Answer:
        """The answer for these rows."""
        chosen = partial(_chosen, self.folds, self.number, self.held_out, self.seed)
        return self.source.ask(OnBatches(task, chosen), watch)


def _chosen(folds: int, number: int, held_out: bool, seed: int, first: int, batch: Any) -> tuple[int, Any]:
    # equal rows have equal hashes and share a fold, so that no row is scored by a network that has seen its copy
    own = row_hashes(batch, seed) % np.uint64(folds) == number
    return first, batch.filter(own == held_out)


@dataclass(frozen=True)
class _Scores:
    """The task of scoring rows; levels that a network has not seen are treated as missing."""

    net: BayesNet

    def of(self, batches: Batches) -> Scored:
        return [
            (first, self.net.log_likelihood(batch.to_pandas(), unknown="missing"))
            for first, batch in batches
            if batch.num_rows
        ]

    def merge(self, one: Scored, other: Scored) -> Scored:
        return one + other


def scored_folds(
    data: Any, graph: Any, folds: int, seed: int, fitting: dict[str, Any], learning: dict[str, Any]
) -> tuple[list[NDArray[np.float64]], list[BayesNet]]:
    """The log-likelihood of the rows of each fold by a network of the others, in the order of the source.

    `fitting` has options of ``fit``, and `learning` those of ``learn``, or of ``discretize`` if there is a graph.
    """
    source = as_source(data)
    assert source is not None
    ends = {name: (found.low, found.high) for name, found in source.ask(Survey(below=0)).columns.items()}
    scores, nets = [], []
    for number in range(folds):
        rest: Any = Fold(source, folds, number, False, seed)
        if graph is None:
            net = learn(rest, seed=seed, **learning)
        else:
            net = fit(rest, graph, discretize(rest, graph, **learning).codings, **fitting)
        bounds = {name: (min(low, ends[name][0]), max(high, ends[name][1])) for name, (low, high) in net.bounds.items()}
        binnings = {name: binning.stretched(*bounds[name]) for name, binning in net.binnings.items()}
        net = replace(net, bounds=bounds, binnings=binnings)
        found = Fold(source, folds, number, True, seed).ask(_Scores(net))
        scores.append(np.concatenate([part for _, part in sorted(found, key=lambda pair: pair[0])]))
        nets.append(net)
    return scores, nets
