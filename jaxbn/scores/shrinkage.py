"""Dirichlet weights that follow from the counts: a large table leans on smaller ones (docs/maths.md, "Fitted tables").

With the same weight in every cell, a table of thousands of cells is mostly prior: contexts with few rows are nearly
uniform, whatever the rest of the rows say. Here a context leans on the table with one parent fewer, which leans on the
next, down to the margin of the child. How much is chosen by evidence, which has a closed form.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from jaxbn.scores.tables import posterior_means

STRENGTHS = 0.5 * 2.0 ** np.arange(8)
"""Weights of a cell on average. None is below ½: the rows have chosen the cuts too, and call for less than is good."""

EVEN = 0.25
"""The share of the weights that is the same in all cells: no state is ruled out because smaller tables lack it."""


class _Step(NamedTuple):
    evidence: float
    parent: int
    counts: NDArray[Any]
    weights: NDArray[np.float64]


def shrunken_weights(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Dirichlet weights of the cells of a family's table [*parents, child], the same sum in every context.

    All are 1 without parents.

    Example:
        >>> shrunken_weights(np.array([[30, 10], [3, 1]])).round(1).tolist()  # the parent does not matter
        [[87.0, 41.0], [87.0, 41.0]]
    """
    parents = tuple(range(counts.ndim - 1))
    if not parents:
        return np.ones(counts.shape)
    table = posterior_means(counts.sum(axis=parents, keepdims=True), 1.0)
    used: tuple[int, ...] = ()
    for _ in parents:
        prior = (1 - EVEN) * table + EVEN / counts.shape[-1]
        step = max(
            (_step(counts, prior, used, parent) for parent in parents if parent not in used),
            key=lambda step: step.evidence,
        )
        table, used = posterior_means(step.counts, step.weights), (*used, step.parent)
    return step.weights


def _step(counts: NDArray[Any], prior: NDArray[np.float64], used: tuple[int, ...], parent: int) -> _Step:
    """The table with one more parent, and the best strength of what it leans on."""
    others = tuple(axis for axis in range(counts.ndim - 1) if axis != parent and axis not in used)
    found = counts.sum(axis=others, keepdims=True)
    means = np.broadcast_to(prior, found.shape)
    # cells and contexts without rows add nothing to the evidence: of large tables few are left
    totals, seen = found.sum(axis=-1), found > 0
    totals, cells, shares = totals[totals > 0], found[seen], means[seen]

    def evidence(strength: float) -> float:
        """Log evidence of the counts, where the parameters of every context are Dirichlet(strength * shares)."""
        of_contexts = len(totals) * gammaln(strength) - gammaln(strength + totals).sum()
        return float(of_contexts + (gammaln(strength * shares + cells) - gammaln(strength * shares)).sum())

    strengths = STRENGTHS * counts.shape[-1]
    values = [evidence(strength) for strength in strengths]
    best = int(np.argmax(values))
    return _Step(values[best], parent, found, strengths[best] * means)
