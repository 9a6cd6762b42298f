"""The first completion: from the best tree of pairs, each scored on the rows that have both, scaled to all rows.

Scores of families on different rows cannot be compared directly, but scores per row can (node-average likelihood: Balov
2013; Bodewes and Scutari 2020), where entries are missing completely at random. The tree only has to carry the main
dependencies into the first completion; what follows learns on complete tables.
"""

from __future__ import annotations

import itertools

import numpy as np

from jaxbn.counts.codes import Column
from jaxbn.inputs.later import nx
from jaxbn.inputs.table import Table
from jaxbn.learning.holes.completion import HOLES, completed, expected
from jaxbn.model.bayesnet import BayesNet
from jaxbn.runtime import limits
from jaxbn.scores.coded_table import CodedTable, Coding, Columns
from jaxbn.scores.tables import family_counts, k2_score

FEWEST_BINS, MOST_BINS = 4, 10  # bins of equal frequency that the pairs are scored with


def first_completion(data: CodedTable, rng: np.random.Generator) -> Table:
    """The table of `data` completed by expected values under the best tree."""
    return expected(data, *_tree(data), rng)


def completed_once(table: Table, seed: int = 0, net: BayesNet | None = None) -> Table:
    """A table as it is if nothing is missing, else completed by a draw from a network, or else from the best tree."""
    if not table.holes:
        return table
    data = CodedTable(table, flat=True)
    found = _tree(data) if net is None else (net.parents, net.codings)
    return completed(data, *found, np.random.default_rng([seed, HOLES]))


def _tree(data: CodedTable) -> tuple[dict[str, tuple[str, ...]], dict[str, Coding]]:
    """The best tree, and the bins it was found with."""
    n_bins = int(np.clip(round(data.table.n_rows ** (1 / 3)), FEWEST_BINS, MOST_BINS))
    start = data.start(n_bins, "frequency")
    return best_tree(start.columns), start.binnings


def best_tree(columns: Columns) -> dict[str, tuple[str, ...]]:
    """The forest with the largest sum of gains per row (Chow and Liu 1968); only arcs with a gain."""
    graph = nx.Graph()
    graph.add_nodes_from(columns)
    pairs = ((a, b, gain(columns[a], columns[b])) for a, b in itertools.combinations(columns, 2))
    graph.add_weighted_edges_from(pair for pair in pairs if pair[2] > 0)
    tree = nx.maximum_spanning_tree(graph)
    parents: dict[str, tuple[str, ...]] = dict.fromkeys(columns, ())
    for part in nx.connected_components(tree):
        root = next(name for name in columns if name in part)
        parents |= {child: (parent,) for parent, child in nx.bfs_edges(tree, root)}
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
