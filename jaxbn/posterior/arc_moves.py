"""Moves of arcs that leave a distribution over graphs without cycles invariant.

A graph is a list of bit masks: bit u of entry v says that u is a parent of v. A move proposes another graph by a choice
among *slots* of equal probability; as many slots lead from one graph to another as lead back, so a proposal is taken
with the ratio of the two graphs' probabilities (docs/maths.md, "Draws of cuts and arcs").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from jaxbn.structure.constraints import Rules, bits

Graph = tuple[int, ...]
"""The parents of each column as a bit mask."""

KINDS = ("toggle", "reverse", "swap")


def slots(graph: Graph, kind: str, column: int | None = None) -> Sequence[tuple[int, ...]]:
    """The slots of a kind of move, for the arcs of one column or, other than of ``"swap"``, for all.

    As many slots lead from a graph to another as lead back, and both graphs have equally many slots: a toggle is its
    own inverse, arcs stay as many when one is turned round, and parents when one takes the place of another.
    """
    n = len(graph)
    if kind == "toggle":
        return _pairs(n, column)  # (parent, child)
    if kind == "reverse":
        return [(u, v) for v in range(n) for u in bits(graph[v]) if column is None or column in (u, v)]
    child = 0 if column is None else column
    others = [u for u in range(n) if u != child and not graph[child] >> u & 1]
    return [(child, old, new) for old in bits(graph[child]) for new in others]


def moved(graph: Graph, kind: str, slot: tuple[int, ...]) -> Graph:
    """Where a slot leads.

    Example:
        >>> moved((0, 0b1), "reverse", (0, 1)), moved((0, 0b1), "toggle", (0, 1))
        ((2, 0), (0, 0))
    """
    if kind == "swap":
        child, old, new = slot
        return _with(graph, {child: graph[child] ^ (1 << old | 1 << new)})
    parent, child = slot
    if kind == "toggle":
        return _with(graph, {child: graph[child] ^ 1 << parent})
    return _with(graph, {child: graph[child] ^ 1 << parent, parent: graph[parent] | 1 << child})


def propose(graph: Graph, rng: np.random.Generator, column: int | None = None) -> Graph:
    """One slot of one kind of move, both by chance, of one column or of all."""
    kind = KINDS[int(rng.integers(len(KINDS)))]
    if kind == "swap" and column is None:
        column = int(rng.integers(len(graph)))
    found = slots(graph, kind, column)
    return moved(graph, kind, found[int(rng.integers(len(found)))]) if found else graph


@lru_cache(maxsize=256)
def _pairs(n: int, column: int | None) -> list[tuple[int, int]]:
    return [(u, v) for u in range(n) for v in range(n) if u != v and (column is None or column in (u, v))]


def move_arcs(
    graph: Graph,
    rules: Rules,
    n_states: Sequence[int],
    log_score: Callable[[int, int], float],
    rng: np.random.Generator,
    n_proposals: int,
) -> Graph:
    """Metropolis: some proposals, each taken with the ratio of the probabilities of the families it changes."""
    if len(graph) < 2:
        return graph
    for log_chance in np.log1p(-rng.random(n_proposals)):
        new = propose(graph, rng)
        changed = differences(graph, new)
        if not changed or not rules.allows(new, changed, n_states):
            continue
        gain = sum(log_score(v, new[v]) - log_score(v, graph[v]) for v in changed)
        if log_chance < gain:
            graph = new
    return graph


def differences(graph: Graph, other: Graph) -> list[int]:
    """Columns whose parents are not the same."""
    return [v for v, (a, b) in enumerate(zip(graph, other, strict=True)) if a != b]


def _with(graph: Graph, parents: dict[int, int]) -> Graph:
    return tuple(parents.get(v, mask) for v, mask in enumerate(graph))
