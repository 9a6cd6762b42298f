"""Conditional tables: counts of a family, their posterior means, and the K2 score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def family_counts(child: NDArray[Any], parents: Sequence[NDArray[Any]], shape: Sequence[int]) -> NDArray[np.int64]:
    """How often each combination of parents and child occurs.

    Args:
        child: codes of the child, [rows].
        parents: codes of each parent, [rows] each.
        shape: cardinalities, parents first, the child last.

    Returns:
        int64 counts [*parent cardinalities, child cardinality].

    Example:
        >>> family_counts(np.array([0, 1, 1]), [np.array([0, 0, 1])], (2, 2)).tolist()
        [[1, 1], [0, 1]]
    """
    cell = np.ravel_multi_index((*parents, child), tuple(shape))
    return np.bincount(cell, minlength=math.prod(shape)).reshape(tuple(shape)).astype(np.int64)


def posterior_means(counts: NDArray[Any], alpha: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Conditional probabilities of the last axis under a Dirichlet prior: one weight for all cells, or one for each.

    Example:
        >>> posterior_means(np.array([[1, 2], [0, 0]]), 1.0).tolist()
        [[0.4, 0.6], [0.5, 0.5]]
    """
    weights = counts + alpha
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True), np.float64)


def level_shares(counts: NDArray[Any], group_of: NDArray[Any], alpha: float) -> NDArray[np.float64]:
    """P(level | its group) under a Dirichlet(alpha, ..., alpha) prior of the levels in each group.

    Example:
        >>> level_shares(np.array([2, 0, 5]), np.array([0, 0, 1]), 1.0).tolist()
        [0.75, 0.25, 1.0]
    """
    weights = counts + alpha
    return np.asarray(weights / np.bincount(group_of, weights)[group_of], np.float64)


def k2_score(counts: NDArray[Any]) -> float:
    """Log P(child | parents) of one family with the parameters integrated out, Dirichlet(1, ..., 1).

    Σ_j [ ln Γ(r) - ln Γ(r + N_j) + Σ_k ln Γ(1 + N_jk) ], where r is the number of states of the child that were
    observed; configurations of the parents that were not observed contribute nothing. Counts may be expected ones,
    which are not whole. In JAX: kernels/family_scores.

    Example:
        >>> round(k2_score(np.array([[1, 1], [0, 1]])), 6)  # ln(1/6) + ln(1/2)
        -2.484907
    """
    table = counts.reshape(-1, counts.shape[-1])
    r = int(np.count_nonzero(table.sum(axis=0)))
    row_totals = table.sum(axis=1)
    row_totals = row_totals[row_totals > 0]
    return float(len(row_totals) * math.lgamma(r) - _log_gamma(r + row_totals).sum() + _log_gamma(table + 1).sum())


def _log_gamma(numbers: NDArray[Any]) -> NDArray[np.float64]:
    """Ln Γ of positive numbers, once for each distinct one; in a large table most are 1, and ln Γ(1) is 0."""
    found = np.zeros(numbers.shape)
    others = numbers != 1
    distinct, where = np.unique(numbers[others], return_inverse=True)
    found[others] = np.array([math.lgamma(v) for v in distinct])[where]
    return found
