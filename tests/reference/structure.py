"""The best structure by definition: all graphs for a few columns, a plain dynamic program over subsets for more.

Columns are a list of arrays of codes 0 to r - 1. A structure is a list of tuples of parents, one a column.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations, product

import numpy as np

Families = Callable[[int, frozenset[int]], float]  # the score, or -inf where it is not allowed


def k2_score(columns: Sequence[np.ndarray], child: int, parents: Iterable[int], a: float = 1.0) -> float:
    """Σ_j [ln Γ(ar) - ln Γ(ar + N_j) + Σ_k (ln Γ(a + N_jk) - ln Γ(a))] over observed configurations j."""
    r = len(np.unique(columns[child]))
    contexts = list(zip(*(columns[p].tolist() for p in sorted(parents)), strict=True)) or [()] * len(columns[child])
    n_j = Counter(contexts)
    n_jk = Counter(zip(contexts, columns[child].tolist(), strict=True))
    score = math.fsum(math.lgamma(a * r) - math.lgamma(a * r + count) for count in n_j.values())
    return score + math.fsum(math.lgamma(a + count) - math.lgamma(a) for count in n_jk.values())


def allowed_families(
    columns: Sequence[np.ndarray],
    max_parents: int,
    required: Iterable[tuple[int, int]] = (),
    forbidden: Iterable[tuple[int, int]] = (),
    max_cells: float = math.inf,
    prior: bool = False,
    links: Mapping[tuple[int, int], float] | None = None,
    a: float = 1.0,
) -> Families:
    """Scores of the families that keep to the constraints; columns of one state have no arcs.

    `links` are prior probabilities of links, whichever way they point, and `a` is the Dirichlet weight of a cell.
    """
    odds = {frozenset(pair): math.log(p / (1 - p)) for pair, p in (links or {}).items()}
    states = [len(np.unique(column)) for column in columns]

    @cache
    def family(child: int, parents: frozenset[int]) -> float:
        must = {p for p, c in required if c == child}
        banned = {p for p, c in forbidden if c == child} | {i for i, r in enumerate(states) if r == 1} | {child}
        cells = states[child] * math.prod(states[p] for p in parents)
        if len(parents) > max_parents or not must <= parents or parents & banned or cells > max_cells:
            return -math.inf
        if parents and states[child] == 1:
            return -math.inf
        extra = math.log(2 ** len(parents) * math.comb(len(columns) - 1, len(parents))) if prior else 0.0
        linked = sum(odds.get(frozenset((child, parent)), 0.0) for parent in parents)
        return k2_score(columns, child, parents, a) - extra + linked

    return family


@cache
def all_graphs(n_columns: int) -> list[tuple[frozenset[int], ...]]:
    """Every directed graph without cycles."""
    sets = [
        [frozenset(s) for k in range(n_columns) for s in combinations([i for i in range(n_columns) if i != v], k)]
        for v in range(n_columns)
    ]
    return [graph for graph in product(*sets) if acyclic(graph)]


def acyclic(parents: Sequence[Iterable[int]]) -> bool:
    """Whether columns can be taken one by one, parents first."""
    left = {v: set(p) for v, p in enumerate(parents)}
    while left:
        ready = [v for v, p in left.items() if not p & left.keys()]
        if not ready:
            return False
        for v in ready:
            del left[v]
    return True


def best_of_all_graphs(n_columns: int, family: Families) -> tuple[float, int]:
    """The highest score, and the fewest arcs of a graph that has it up to rounding."""
    totals = [(sum(family(v, p) for v, p in enumerate(graph)), sum(map(len, graph))) for graph in all_graphs(n_columns)]
    best = max(total for total, _ in totals)
    return best, min(arcs for total, arcs in totals if total > best - 1e-7)


def best_by_subsets(n_columns: int, family: Families) -> float:
    """The highest score, from the best last column of every set of columns."""

    @cache
    def best_family(child: int, inside: frozenset[int]) -> float:
        return max([family(child, inside), *(best_family(child, inside - {x}) for x in inside)])

    @cache
    def best(columns: frozenset[int]) -> float:
        return max((best(columns - {v}) + best_family(v, columns - {v}) for v in columns), default=0.0)

    return best(frozenset(range(n_columns)))
