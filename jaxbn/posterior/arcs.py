"""Moves of arcs that leave a distribution over graphs without cycles invariant.

A graph is a list of bit masks: bit u of entry v says that u is a parent of v. Proofs are in docs/maths.md, "Draws of
cuts and arcs".

Single arcs: a move proposes another graph by a choice among *slots* of equal probability; as many slots lead from one
graph to another as lead back, so a proposal is taken with the ratio of the two graphs' probabilities.

Blocks: all arcs among some columns are drawn together, the other arcs and all cuts as they are. A graph without cycles
falls into layers: columns without parents first, then those whose parents lie in the layers before, one at least in the
last of them. Weights of graphs are products over columns, so the sum over all graphs is a sum over layers, and layers
are drawn one after the other, then the parents of each column. Columns of the block are numbered 0 to m - 1, sets of
them are bit masks. Parents that a column has outside the block stay, and so do the paths through columns outside: a
column whose parent is reached from a member comes after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.structure.constraints import Rules, bits, cells, mask_of

Graph = tuple[int, ...]
"""The parents of each column as a bit mask."""

KINDS = ("toggle", "reverse", "swap")

NEVER = -1e300
"""Log of the weight of what cannot be; unlike -inf it can be multiplied by zero."""


def slots(graph: Graph, kind: str, child: int = 0) -> Sequence[tuple[int, ...]]:
    """The slots of a kind of move; of ``"swap"`` those of one child.

    As many slots lead from a graph to another as lead back, and both graphs have equally many slots: a toggle is its
    own inverse, arcs stay as many when one is turned round, and parents when one takes the place of another.
    """
    n = len(graph)
    if kind == "toggle":
        return _pairs(n)  # (parent, child)
    if kind == "reverse":
        return [(u, v) for v in range(n) for u in bits(graph[v])]
    others = [u for u in range(n) if u != child and not graph[child] >> u & 1]
    return [(child, old, new) for old in bits(graph[child]) for new in others]


def moved(graph: Graph, kind: str, slot: tuple[int, ...]) -> Graph:
    """Where a slot leads."""
    if kind == "swap":
        child, old, new = slot
        return _with(graph, {child: graph[child] ^ (1 << old | 1 << new)})
    parent, child = slot
    if kind == "toggle":
        return _with(graph, {child: graph[child] ^ 1 << parent})
    return _with(graph, {child: graph[child] ^ 1 << parent, parent: graph[parent] | 1 << child})


def propose(graph: Graph, rng: np.random.Generator) -> Graph:
    """One slot of one kind of move, both by chance."""
    kind = KINDS[int(rng.integers(len(KINDS)))]
    found = slots(graph, kind, int(rng.integers(len(graph))))
    # without a slot the graph stays: to try another kind instead would make the ways there and back unequal
    return moved(graph, kind, found[int(rng.integers(len(found)))]) if found else graph


@lru_cache(maxsize=256)
def _pairs(n: int) -> list[tuple[int, int]]:
    return [(u, v) for u in range(n) for v in range(n) if u != v]


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


class Parents(NamedTuple):
    """The sets of parents that a member may have."""

    masks: list[int]  # of all its parents, also those outside the block
    before: NDArray[np.intp]  # members that must come before it, as masks of the block
    logs: NDArray[np.float64]


def blocks(n_columns: int, size: int, rng: np.random.Generator) -> list[list[int]]:
    """Columns in blocks of nearly equal sizes, none larger than this, by chance; every column in one."""
    n_blocks = -(-n_columns // size)
    order = rng.permutation(n_columns) if n_blocks > 1 else np.arange(n_columns)
    return [each.tolist() for each in np.array_split(order, n_blocks)]


def draw_block(
    graph: Graph,
    members: Sequence[int],
    rules: Rules,
    n_states: Sequence[int],
    log_score: Callable[[int, int], float],
    rng: np.random.Generator,
) -> Graph:
    """Gibbs: all arcs among some columns drawn together, given all others."""
    reached = reached_from(graph, members)
    sets = [_sets(graph, members, i, reached, rules, n_states, log_score) for i in range(len(members))]
    # sets of parents that put the same members before a column count as one until the layers are drawn
    weights = np.full((len(members), 2 ** len(members)), NEVER)
    for own, (_, before, logs) in zip(weights, sets, strict=True):
        np.logaddexp.at(own, before, logs)
    new = list(graph)
    for layer, last, done in draw_layers(weights, rng):
        for i in bits(layer):
            masks, before, logs = sets[i]
            # what puts a member into this layer: all before it in earlier layers, one at least in the last of these
            fits = (before & ~done == 0) & ((before & last > 0) | (last == 0))
            new[members[i]] = masks[_drawn(np.where(fits, logs, NEVER), rng)]
    return tuple(new)


def reached_from(graph: Graph, members: Sequence[int]) -> dict[int, int]:
    """For each column outside a block, the members from which a path leads to it through columns outside."""
    place = {column: 1 << i for i, column in enumerate(members)}
    found: dict[int, int] = {}

    def of(column: int) -> int:
        if column in place:
            return place[column]
        if column not in found:
            found[column] = 0  # a graph without cycles does not come back here
            for parent in bits(graph[column]):
                found[column] |= of(parent)
        return found[column]

    for column in range(len(graph)):
        of(column)
    return found


def _sets(
    graph: Graph,
    members: Sequence[int],
    i: int,
    reached: dict[int, int],
    rules: Rules,
    n_states: Sequence[int],
    log_score: Callable[[int, int], float],
) -> Parents:
    """What the parents of a member can be: those outside as they are, those inside any within the rules."""
    child = members[i]
    outside = graph[child] & ~mask_of(members)
    behind = 0
    for column in bits(outside):
        behind |= reached[column]
    needed = rules.must[child]
    free = [j for j, u in enumerate(members) if j != i and not (rules.never[child] | needed) >> u & 1]
    fixed = [j for j, u in enumerate(members) if needed >> u & 1]
    room = rules.max_parents - outside.bit_count() - len(fixed)
    masks, before = [], []
    for size in range(min(room, len(free)) + 1):
        for some in combinations(free, size):
            inside = [*fixed, *some]
            mask = outside | mask_of([members[j] for j in inside])
            if cells(mask | 1 << child, n_states) <= rules.max_cells:
                masks.append(mask)
                before.append(behind | mask_of(inside))
    return Parents(masks, np.array(before, np.intp), np.array([log_score(child, mask) for mask in masks]))


def draw_layers(weights: NDArray[np.float64], rng: np.random.Generator) -> list[tuple[int, int, int]]:
    """Layers of a graph without cycles: each with the layer before it and all columns before it, as masks.

    The weights [m, 2^m] are logarithms of those of each set of columns that come before a column.
    """
    m = len(weights)
    later = _later(weights)
    found, last, done = [], 0, 0
    while done < 2**m - 1:
        following = _subsets(2**m - 1 & ~done)[1:]
        logs = later.steps(last, done, following) + later.sums[done | following, following]
        layer = int(following[_drawn(logs, rng)])
        found.append((layer, last, done))
        last, done = layer, done | layer
    return found


class _Later(NamedTuple):
    """Sums over the layers that follow."""

    sums: NDArray[np.float64]  # [done, last], log of the sum over all ways to go on
    hit: NDArray[np.float64]  # [m, done, last], log of the weight of sets within `done` with one of `last`
    roots: NDArray[np.float64]  # [m], log of the weight of no columns before

    def steps(self, last: int | NDArray[np.intp], done: int, following: NDArray[np.intp]) -> NDArray[np.float64]:
        """Log of the weight of each layer that may follow [..., layers]."""
        each = self.hit[:, done, last] if done else self.roots
        return each.T @ _members(len(self.roots))[:, following]


def _later(weights: NDArray[np.float64]) -> _Later:
    m = len(weights)
    later = _Later(np.full((2**m, 2**m), NEVER), _hits(weights), weights[:, 0])
    later.sums[-1] = 0.0
    # larger sets first: sums over what follows them are known then
    for done in sorted(range(1, 2**m - 1), key=int.bit_count, reverse=True):
        last, following = _subsets(done)[1:], _subsets(2**m - 1 & ~done)[1:]
        logs = later.steps(last, done, following) + later.sums[done | following, following]
        top = logs.max(axis=1, keepdims=True)
        later.sums[done, last] = np.log(np.exp(logs - top).sum(axis=1)) + top[:, 0]
    return later


def _hits(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log of the weight of all sets within `done` that have one of `last`: [m, done, last]; only sums, no differences.

    They are those with the lowest column of `last`, and those without it that have one of the others.
    """
    m, size = weights.shape
    with_one = np.where(_members(m)[:, None] > 0, weights, NEVER)  # [m, m, 2^m]: sets that have the first index
    for j in range(m):  # now all sets within a set
        halves = with_one.reshape(m, m, size >> j + 1, 2, 1 << j)
        halves[..., 1, :] = np.logaddexp(halves[..., 0, :], halves[..., 1, :])
    found = np.full((m, size, size), NEVER)
    done = np.arange(size)
    for last in range(1, size):
        lowest = (last & -last).bit_length() - 1
        found[:, :, last] = np.logaddexp(with_one[lowest], found[:, done & ~(1 << lowest), last & last - 1])
    return found


def _drawn(logs: NDArray[np.float64], rng: np.random.Generator) -> int:
    chances = np.cumsum(np.exp(logs - logs.max()))
    return int(np.searchsorted(chances, rng.random() * chances[-1], side="right"))


@lru_cache(maxsize=16)
def _members(m: int) -> NDArray[np.float64]:
    """Whether a set has a column [m, 2^m]."""
    return (np.arange(2**m) >> np.arange(m)[:, None] & 1).astype(np.float64)


@lru_cache(maxsize=2**12)
def _subsets(mask: int) -> NDArray[np.intp]:
    """All subsets of a set, the empty one first."""
    found = np.zeros(1, np.intp)
    for i in bits(mask):
        found = np.concatenate([found, found | 1 << i])
    return found
