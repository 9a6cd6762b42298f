"""Groups of the levels of one discrete variable, by definition; imports nothing from jaxbn.

The evidence of the data at the level of the original categories, for a partition of m observed levels into k groups:
the evidence of the group codes given the parents, that of each child given the groups and its other parents, the
level of each row given its group (chances uniform a priori), and the code of the partition, ln m + ln B(m, k).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np


def k2_evidence(child: np.ndarray, parents: Sequence[np.ndarray], weights: np.ndarray, a: float = 0.5) -> float:
    """ln P(child | parents) with Dirichlet(a, ..., a) parameters, r the child's observed states."""
    r = len(np.unique(child))
    columns = np.stack([*parents, np.zeros(len(child), int)], axis=1)
    total = 0.0
    for configuration in np.unique(columns, axis=0):
        rows = (columns == configuration).all(axis=1)
        counts = [int(weights[rows & (child == state)].sum()) for state in np.unique(child)]
        total += math.lgamma(a * r) - math.lgamma(a * r + sum(counts))
        total += sum(math.lgamma(a + c) - math.lgamma(a) for c in counts)
    return total


def level_evidence(levels: np.ndarray, groups: np.ndarray, weights: np.ndarray) -> float:
    """ln P(levels | groups): inside a group of s levels a Dirichlet(1, ..., 1)-multinomial."""
    total = 0.0
    for group in np.unique(groups):
        inside = groups == group
        counts = [int(weights[inside & (levels == level)].sum()) for level in np.unique(levels[inside])]
        total += math.lgamma(len(counts)) - math.lgamma(len(counts) + sum(counts))
        total += sum(math.lgamma(c + 1) for c in counts)
    return total


def partition_cost(m: int, k: int) -> float:
    """ln m + ln B(m, k), B the number of partitions of m things into at most k groups, in whole numbers."""
    stirling = [1]  # of 0 things into 0, 1, ... groups
    for _ in range(m):
        stirling = [
            0,
            *(i * s + before for i, (s, before) in enumerate(zip([*stirling[1:], 0], stirling, strict=True), 1)),
        ]
    return math.log(m) + math.log(sum(stirling[1 : k + 1]))


def evidence(levels, group_of_level, parents=(), children=(), weights=None) -> float:
    """F of a partition, given as {level: group}; rows of weight 0 are dropped first."""
    levels = np.asarray(levels)
    weights = np.ones(len(levels), int) if weights is None else np.asarray(weights)
    kept = weights > 0
    levels, weights = levels[kept], weights[kept]
    parents = [np.asarray(p)[kept] for p in parents]
    groups = np.array([group_of_level[level] for level in levels.tolist()])
    total = k2_evidence(groups, parents, weights) + level_evidence(levels, groups, weights)
    for child, spouses in children:
        total += k2_evidence(np.asarray(child)[kept], [groups, *(np.asarray(s)[kept] for s in spouses)], weights)
    return total - partition_cost(len(np.unique(levels)), len(np.unique(groups)))


def set_partitions(n: int) -> Iterator[tuple[int, ...]]:
    """Every partition of n things, as the group of each, groups numbered in order of appearance."""
    for groups in itertools.product(range(n), repeat=n):
        if all(g <= max(groups[:i], default=-1) + 1 for i, g in enumerate(groups)):
            yield groups


def adjusted_rand_index(a: np.ndarray, b: np.ndarray) -> float:
    """Agreement of two partitions of the same things: 1 for the same, 0 on average for unrelated ones."""
    table = np.array([[np.sum((a == i) & (b == j)) for j in np.unique(b)] for i in np.unique(a)])
    pairs = [int((counts * (counts - 1) // 2).sum()) for counts in (table, table.sum(axis=1), table.sum(axis=0))]
    expected = pairs[1] * pairs[2] / math.comb(len(a), 2)
    largest = (pairs[1] + pairs[2]) / 2
    return 1.0 if largest == expected else (pairs[0] - expected) / (largest - expected)
