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
from functools import cache, lru_cache, reduce
from itertools import chain, combinations
from operator import or_
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.structure.constraints import Rules, bits, cells, mask_of, union_of
from jaxbn.structure.exact import inside

Graph = tuple[int, ...]
"""The parents of each column as a bit mask."""

Slot = tuple[tuple[int, int], ...]
"""The columns whose parents a move changes, and the mask of what joins or leaves them."""

LogScore = Callable[[int, int], float]
"""The score of a child with the parents of a bit mask."""

KINDS = ("toggle", "reverse", "swap")
NEVER = -1e300  # log of the weight of what cannot be; unlike -inf it can be multiplied by zero


class Families(NamedTuple):
    """Which families a graph may have, and their scores."""

    rules: Rules
    n_states: Sequence[int]  # of each column
    log_score: LogScore


def slots(graph: Graph, kind: str, child: int = 0) -> Sequence[Slot]:
    """The slots of a kind of move; of ``"swap"`` those of one child.

    As many slots lead from a graph to another as lead back, and both graphs have equally many slots: a toggle is its
    own inverse, arcs stay as many when one is turned round, and parents when one takes the place of another.
    """
    n = len(graph)
    if kind == "toggle":
        return _toggles(n)
    if kind == "reverse":
        return [((v, 1 << u), (u, 1 << v)) for v in range(n) for u in bits(graph[v])]
    others = [u for u in range(n) if u != child and not graph[child] >> u & 1]
    return [((child, 1 << old | 1 << new),) for old in bits(graph[child]) for new in others]


@lru_cache(maxsize=256)
def _toggles(n: int) -> list[Slot]:
    return [((v, 1 << u),) for u in range(n) for v in range(n) if u != v]


def moved(graph: Graph, slot: Slot) -> Graph:
    """Where a slot leads."""
    changes = dict(slot)
    return tuple(mask ^ changes.get(v, 0) for v, mask in enumerate(graph))


def propose(graph: Graph, rng: np.random.Generator) -> Graph:
    """One slot of one kind of move, both by chance."""
    kind = KINDS[int(rng.integers(len(KINDS)))]
    found = slots(graph, kind, int(rng.integers(len(graph))))
    # without a slot the graph stays: to try another kind instead would make the ways there and back unequal
    return moved(graph, found[int(rng.integers(len(found)))]) if found else graph


def move_arcs(graph: Graph, families: Families, rng: np.random.Generator, n_proposals: int) -> Graph:
    """Metropolis: some proposals, each taken with the ratio of the probabilities of the families it changes."""
    for log_chance in np.log1p(-rng.random(n_proposals)):
        new = propose(graph, rng)
        changed = differences(graph, new)
        if changed and families.rules.allows(new, changed, families.n_states):
            gain = sum(families.log_score(v, new[v]) - families.log_score(v, graph[v]) for v in changed)
            graph = new if log_chance < gain else graph
    return graph


def differences(graph: Graph, other: Graph) -> list[int]:
    """Columns whose parents are not the same."""
    return [v for v, (a, b) in enumerate(zip(graph, other, strict=True)) if a != b]


def blocks(n_columns: int, size: int, rng: np.random.Generator) -> list[list[int]]:
    """Columns in blocks of nearly equal sizes, none larger than this, by chance; every column in one."""
    n_blocks = -(-n_columns // size)
    order = rng.permutation(n_columns) if n_blocks > 1 else np.arange(n_columns)
    return [each.tolist() for each in np.array_split(order, n_blocks)]


def draw_block(graph: Graph, members: Sequence[int], families: Families, rng: np.random.Generator) -> Graph:
    """Gibbs: all arcs among some columns drawn together, given all others."""
    reached = reached_from(graph, members)
    sets = [_sets(graph, members, i, reached, families) for i in range(len(members))]
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


def reached_from(graph: Graph, members: Sequence[int]) -> list[int]:
    """For each column outside a block, the members from which a path leads to it through columns outside."""
    place = {column: 1 << i for i, column in enumerate(members)}

    @cache
    def of(column: int) -> int:
        return place[column] if column in place else reduce(or_, map(of, bits(graph[column])), 0)

    return [of(column) for column in range(len(graph))]


def _sets(
    graph: Graph, members: Sequence[int], i: int, reached: Sequence[int], families: Families
) -> tuple[list[int], NDArray[np.intp], NDArray[np.float64]]:
    """What the parents of a member can be: those outside as they are, those inside any within the rules.

    Masks of all its parents, of the members that must come before it, and the scores.
    """
    child, (rules, n_states, log_score) = members[i], families
    outside = graph[child] & ~mask_of(members)
    behind = union_of(reached, outside)
    needed = rules.must[child]
    free = [j for j, u in enumerate(members) if j != i and not (rules.never[child] | needed) >> u & 1]
    fixed = [j for j, u in enumerate(members) if needed >> u & 1]
    room = rules.max_parents - outside.bit_count() - len(fixed)
    masks, before = [], []
    for some in chain.from_iterable(combinations(free, size) for size in range(min(room, len(free)) + 1)):
        mask = outside | mask_of(members[j] for j in (*fixed, *some))
        if cells(mask | 1 << child, n_states) <= rules.max_cells:
            masks.append(mask)
            before.append(behind | mask_of((*fixed, *some)))
    return masks, np.array(before, np.intp), np.array([log_score(child, mask) for mask in masks])


def draw_layers(weights: NDArray[np.float64], rng: np.random.Generator) -> list[tuple[int, int, int]]:
    """Layers of a graph without cycles: each with the layer before it and all columns before it, as masks.

    The weights [m, 2^m] are logarithms of those of each set of columns that come before a column.
    """
    later = _Later(weights)
    found, last, done = [], 0, 0
    while done < later.all:
        following, logs = later.weights(last, done)
        layer = int(following[_drawn(logs, rng)])
        found.append((layer, last, done))
        last, done = layer, done | layer
    return found


class _Later:
    """Sums over the layers that follow, by what came before: all columns `done`, the `last` layer of them."""

    def __init__(self, weights: NDArray[np.float64]) -> None:
        m, size = weights.shape
        self.all, self.members = size - 1, _members(m)
        self.hit = _hits(weights)  # [m, done, last], log of the weight of sets within `done` with one of `last`
        self.roots = weights[:, 0]  # [m], log of the weight of no columns before
        self.sums = np.full((size, size), NEVER)  # [done, last], log of the sum over all ways to go on
        self.sums[-1] = 0.0
        # larger sets first: sums over what follows them are known then
        for done in sorted(range(1, self.all), key=int.bit_count, reverse=True):
            last = _subsets(done)[1:]
            logs = self.weights(last, done)[1]
            top = logs.max(axis=1, keepdims=True)
            self.sums[done, last] = np.log(np.exp(logs - top).sum(axis=1)) + top[:, 0]

    def weights(self, last: int | NDArray[np.intp], done: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The layers that may follow, and log of the weight of all ways to go on with each [..., layers]."""
        following = _subsets(self.all & ~done)[1:]
        each = self.hit[:, done, last] if done else self.roots
        return following, each.T @ self.members[:, following] + self.sums[done | following, following]


def _hits(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log of the weight of all sets within `done` that have one of `last`: [m, done, last]; only sums, no differences.

    They are those with the lowest column of `last`, and those without it that have one of the others.
    """
    m, size = weights.shape
    with_one = np.where(_members(m)[:, None] > 0, weights, NEVER)  # [m, m, 2^m]: sets that have the first index
    inside(np.logaddexp, with_one)  # now all sets within a set
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
