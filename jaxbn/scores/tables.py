"""Conditional tables: counts of a family, its score, posterior means, and Dirichlet weights that follow from counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from jaxbn.counts.codes import few
from jaxbn.counts.host import counts_of

# weights of a cell on average; none is below ½: the rows have chosen the cuts too, and call for less than is good
STRENGTHS = 0.5 * 2.0 ** np.arange(8)
EVEN = 0.25  # share of the weights that is the same in all cells: no state is ruled out because smaller tables lack it


def family_counts(child: NDArray[Any], parents: Sequence[NDArray[Any]], shape: Sequence[int]) -> NDArray[np.int64]:
    """How often each combination of parents and child occurs [*parents, child]; rows with a negative code are left out.

    `shape` are the cardinalities, parents first, the child last.
    """
    return counts_of(list(zip((*parents, child), shape, strict=True))).table


def posterior_means(counts: NDArray[Any], alpha: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Conditional probabilities of the last axis under a Dirichlet prior: one weight for all cells, or one for each."""
    weights = counts + alpha
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True), np.float64)


def level_shares(counts: NDArray[Any], group_of: NDArray[Any], alpha: float) -> NDArray[np.float64]:
    """P(level | its group) under a Dirichlet(alpha, ..., alpha) prior of the levels in each group."""
    weights = counts + alpha
    return np.asarray(weights / np.bincount(group_of, weights)[group_of], np.float64)


def k2_score(counts: NDArray[Any], weight: float = 1.0) -> float:
    """Log P(child | parents) of one family with the parameters integrated out, Dirichlet(a, ..., a).

    Σ_j [ ln Γ(ar) - ln Γ(ar + N_j) + Σ_k (ln Γ(a + N_jk) - ln Γ(a)) ], where r is the number of states of the child
    that were observed; configurations of the parents that were not observed contribute nothing. Counts may be expected
    ones, which are not whole. With a weight a of 1 it is the K2 score.

    Example:
        >>> round(k2_score(np.array([[1, 1], [0, 1]])), 6)  # ln(1/6) + ln(1/2)
        -2.484907
        >>> round(k2_score(np.array([[1, 1], [0, 1]]), 0.5), 6)  # ln(1/8) + ln(1/2)
        -2.772589
    """
    table = counts.reshape(-1, counts.shape[-1])
    return k2_of_counts(table.ravel(), table.sum(axis=1), int(np.count_nonzero(table.sum(axis=0))), weight)


def k2_of_counts(cells: NDArray[Any], contexts: NDArray[Any], r: int, weight: float = 1.0) -> float:
    """The same from the counts of cells and of contexts, in any order and with or without empty ones."""
    value, times = _distinct(contexts)
    terms = [times * (gammaln(weight * r) - gammaln(weight * r + value))]
    value, times = _distinct(cells)
    return math.fsum(np.concatenate([*terms, times * (gammaln(weight + value) - gammaln(weight))]))


def _distinct(counts: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct ones of some counts that are not zero, and how often each occurs."""
    if not np.issubdtype(counts.dtype, np.integer) or int(counts.max(initial=0)) > few(len(counts)):
        return np.unique(counts[counts > 0], return_counts=True)
    times = np.bincount(counts)
    times[:1] = 0
    value = np.flatnonzero(times)
    return value, times[value]


# --- Weights that follow from the counts: a large table leans on smaller ones (docs/maths.md, "Fitted tables").
#
# With the same weight in every cell, a table of thousands of cells is mostly prior: contexts with few rows are nearly
# uniform, whatever the rest of the rows say. Here a context leans on the table with one parent fewer, which leans on
# the next, down to the margin of the child. How much is chosen by evidence, which has a closed form.


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
        steps = [(*_step(counts, prior, used, parent), parent) for parent in parents if parent not in used]
        _, found, weights, parent = max(steps, key=lambda step: step[0])
        table, used = posterior_means(found, weights), (*used, parent)
    return weights


def _step(
    counts: NDArray[Any], prior: NDArray[np.float64], used: tuple[int, ...], parent: int
) -> tuple[float, NDArray[Any], NDArray[np.float64]]:
    """The evidence of the table with one more parent, its counts, and weights of the best strength."""
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
    return values[best], found, strengths[best] * means
