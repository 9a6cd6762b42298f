"""Scores of single families, each from one count of its rows, and when one is better than another.

Searches score families in bulk instead, see `jaxbn.scores.set_scores`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxbn.counts.codes import Column
from jaxbn.counts.device import counts_of_sets
from jaxbn.counts.host import Counts, counts_of
from jaxbn.inputs.graph import Parents
from jaxbn.kernels.arithmetic import tolerance
from jaxbn.scores.tables import k2_of_counts


class Family(NamedTuple):
    """A child with its parents, whose score is asked for."""

    child: Column
    parents: tuple[Column, ...]

    @property
    def key(self) -> tuple[int, ...]:
        """What the score depends on."""
        return self.child.key, *sorted(parent.key for parent in self.parents)


def score_families(families: Sequence[tuple[Family, float]]) -> list[float]:
    """Scores of some families, each given with the Dirichlet weight of its cells."""
    counts = counts_of_sets([(*family.parents, family.child) for family, _ in families])
    return [_score(family, own, weight) for (family, weight), own in zip(families, counts, strict=True)]


def family_score(child: Column, parents: Sequence[Column], weight: float = 1.0) -> float:
    """The score of a family by the Dirichlet weight of a cell; with a weight of 1 it is the K2 score.

    Only rows with a known child count; rows that lack a parent form one extra context.
    """
    return score_families([(Family(child, tuple(parents)), weight)])[0]


def _score(family: Family, counts: Counts, weight: float) -> float:
    """The score of a family from the counts of the rows that have all its members."""
    child, cells, contexts = family.child, counts.count, counts.of_contexts
    if not family.parents or cells.sum() == len(child.codes):
        n_observed = np.count_nonzero(np.bincount(counts.cell % counts.shape[-1]))  # states of the child
        return k2_of_counts(cells, contexts, int(n_observed), weight)
    # To be comparable, all families of a child are scored on the same rows: those that have the child. Rows that lack
    # a parent are counted apart.
    own = counts_of([(child.codes, child.n_states)])
    apart = own.table - np.bincount(counts.cell % child.n_states, cells, child.n_states).astype(np.int64)
    return k2_of_counts(np.append(cells, apart), np.append(contexts, apart.sum()), len(own.cell), weight)


def structure_score(parents: Parents, columns: Mapping[str, Column]) -> float:
    """The K2 score of a structure: the sum of those of its families."""
    families = [Family(columns[name], tuple(columns[p] for p in found)) for name, found in parents.items()]
    return math.fsum(score_families([(family, 1.0) for family in families]))


def first_best(scores: Sequence[float]) -> int:
    """Position of the highest score; the first of those equal up to rounding."""
    top = max(scores)
    return next(i for i, score in enumerate(scores) if score >= top - tolerance(top))
