"""The first completion: from the best tree of pairs, each scored on the rows that have both, scaled to all rows.

Scores of families on different rows cannot be compared directly, but scores per row can (node-average likelihood: Balov
2013; Bodewes and Scutari 2020), where entries are missing completely at random. The tree only has to carry the main
dependencies into the first completion; what follows learns on complete tables.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from jaxbn.counts.codes import Column
from jaxbn.inputs.table import Table
from jaxbn.learning.holes.completion import HOLES, completed, expected
from jaxbn.runtime import limits
from jaxbn.scores.coded_table import CodedTable, Coding, Columns
from jaxbn.scores.tables import family_counts, k2_score

FEWEST_BINS, MOST_BINS = 4, 10
"""Bins of equal frequency that the pairs are scored with."""


def first_completion(data: CodedTable, rng: np.random.Generator) -> Table:
    """The table of `data` completed by expected values under the best tree."""
    return expected(data, *_tree(data), rng)


def first_completed(table: Table, seed: int = 0) -> Table:
    """A table completed by draws from the best tree, for what needs complete rows; itself if nothing is missing."""
    if not table.holes:
        return table
    data = CodedTable(table, flat=True)
    return completed(data, *_tree(data), np.random.default_rng([seed, HOLES]))


def _tree(data: CodedTable) -> tuple[dict[str, tuple[str, ...]], dict[str, Coding]]:
    """The best tree, and the bins it was found with."""
    n_bins = int(np.clip(round(data.table.n_rows ** (1 / 3)), FEWEST_BINS, MOST_BINS))
    start = data.start(n_bins, "frequency")
    return best_tree(start.columns), start.binnings


def best_tree(columns: Columns) -> dict[str, tuple[str, ...]]:
    """The forest with the largest sum of gains per row (Chow and Liu 1968); only arcs with a gain."""
    names = list(columns)
    pairs = list(itertools.combinations(range(len(names)), 2))
    gains = np.array([gain(columns[names[i]], columns[names[j]]) for i, j in pairs])
    kept = [(i, j, g) for (i, j), g in zip(pairs, gains, strict=True) if g > 0]
    parents: dict[str, tuple[str, ...]] = dict.fromkeys(names, ())
    if not kept:
        return parents
    left, right, weight = (np.array(each) for each in zip(*kept, strict=True))
    n = len(names)
    # gains with their signs turned: what remains is the tree with the largest sum
    tree = minimum_spanning_tree(coo_array((-weight, (left, right)), (n, n)).tocsr())
    done: set[int] = set()
    for root in range(n):
        if root in done:
            continue
        order, before = breadth_first_order(tree, root, directed=False)
        done.update(int(i) for i in order)
        for child in order[1:]:
            parents[names[child]] = (names[before[child]],)
    return parents


def gain(a: Column, b: Column) -> float:
    """What an arc between two variables gains per row that has both, on average over its two directions."""
    limits.check()
    if a.n_states < 2 or b.n_states < 2:
        return 0.0
    counts = family_counts(a.codes, [b.codes], [b.n_states, a.n_states])
    n = int(counts.sum())
    alone = k2_score(counts.sum(axis=0)[None]), k2_score(counts.sum(axis=1)[None])
    # K2 scores differ with the direction of an arc, which a tree leaves open
    together = k2_score(counts) + alone[1] + k2_score(counts.T) + alone[0]
    return (together / 2 - sum(alone)) / n if n else 0.0
