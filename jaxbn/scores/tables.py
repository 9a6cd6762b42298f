"""Conditional tables: counts of a family, their posterior means, and the score of a family."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from jaxbn.counts.codes import few
from jaxbn.counts.host import counts_of


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
