"""The best order of a few connected columns, all others fixed: can reverse whole chains of arcs in one move."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.structure.constraints import bits
from jaxbn.structure.family_table import FamilyTable
from jaxbn.structure.lattice import without_bit

WIDTH = 8
"""Columns of a block."""


class Blocks:
    """Blocks of the best structure of an order."""

    def __init__(self, table: FamilyTable, order: Sequence[int]) -> None:
        self.table = table
        self._tried: set[int] = set()
        self.order = list(order)
        best = table.stand(order).best.tolist()
        n_columns = table.n_columns
        self.near, self.above, self.below = [0] * n_columns, [0] * n_columns, [0] * n_columns
        parents = [table.mask(family) for family in best]
        for column in self.order:
            for parent in bits(parents[column]):
                self.near[column] |= 1 << parent
                self.near[parent] |= 1 << column
                self.above[column] |= self.above[parent] | 1 << parent
        for column in reversed(self.order):
            for parent in bits(parents[column]):
                self.below[parent] |= self.below[column] | 1 << column

    def rearranged(self, rng: random.Random, width: int = WIDTH) -> list[int] | None:
        """The order with a random block rearranged in the best way; None if it already is."""
        column = rng.randrange(len(self.order))
        block = self.block(column, width, rng)
        if block in self._tried:
            return None
        self._tried.add(block)
        order, first = self.around(block)
        return arranged(self.table, order, first, block.bit_count())

    def block(self, column: int, width: int, rng: random.Random) -> int:
        """Linked columns around a given one, with every column on a directed path between two of them."""
        block = 1 << column
        edge = self.near[column]
        while edge and block.bit_count() < width:
            joining = rng.choice(list(bits(edge)))
            grown = self._closed(block | 1 << joining)
            edge &= ~(1 << joining)
            if grown.bit_count() <= width:
                for some in bits(grown & ~block):
                    edge |= self.near[some]
                block = grown
                edge &= ~block
        return block

    def around(self, block: int) -> tuple[list[int], int]:
        """An order of the same structure with the block together, as late as possible, and where it begins."""
        after = 0
        for column in bits(block):
            after |= self.below[column]
        after &= ~block
        before = [c for c in self.order if not (after | block) >> c & 1]
        inside = [c for c in self.order if block >> c & 1]
        return before + inside + [c for c in self.order if after >> c & 1], len(before)

    def _closed(self, block: int) -> int:
        above, below = 0, 0
        for column in bits(block):
            above |= self.above[column]
            below |= self.below[column]
        return block | (above & below)


def arranged(table: FamilyTable, order: list[int], first: int, width: int) -> list[int] | None:
    """The order with a window of columns rearranged in the best way; None if it already is."""
    if width < 2:
        return None
    window = order[first : first + width]
    place = np.full(table.n_columns + 1, table.n_columns)
    place[order[: first + width]] = np.arange(-first, width)
    place[-1] = -1  # no column at all is in front of the window
    families = np.concatenate([table.numbers[table.part(column)] for column in window])
    places = place[table.members[:, families]]
    usable = (places < width).all(axis=0)
    families, places = families[usable], places[:, usable]
    inner = np.where(places >= 0, 1 << np.maximum(places, 0), 0).sum(axis=0)
    own = place[table.child[families]]
    best = np.full((width, 1 << (width - 1)), table.worth[-1])
    best[own, without_bit(inner, own)] = table.worth[families]  # of several the last stays, the best
    for bit in range(width - 1):
        halves = best.reshape(width, -1, 2, 1 << bit)
        np.maximum(halves[:, :, 1], halves[:, :, 0], out=halves[:, :, 1])
    value, found = _best_order(best)
    if value <= sum(int(best[i, (1 << i) - 1]) for i in range(width)):
        return None
    return [*order[:first], *(window[i] for i in found), *order[first + width :]]


def _best_order(best: NDArray[np.int64]) -> tuple[int, list[int]]:
    """The largest Σ best[v, columns before v] over all orders, and such an order."""
    width = len(best)
    total = np.zeros(1 << width, np.int64)
    last = np.zeros(1 << width, np.intp)
    for level in _levels(width):
        worth = total[level.rest] + best[level.column, level.inner]
        at = worth.argmax(axis=1)
        rows = np.arange(len(at))
        total[level.sets], last[level.sets] = worth[rows, at], level.column[rows, at]
    order, rest = list[int](), (1 << width) - 1
    while rest:
        order.append(int(last[rest]))
        rest ^= 1 << order[-1]
    return int(total[-1]), order[::-1]


class _Level(NamedTuple):
    """All sets of one size, each with every member as the last one."""

    sets: NDArray[np.int64]  # [sets]
    column: NDArray[np.int64]  # [sets, members]
    rest: NDArray[np.int64]  # [sets, members] the set without that member
    inner: NDArray[np.int64]  # [sets, members] the same numbered by the other columns alone


@lru_cache(maxsize=16)
def _levels(width: int) -> tuple[_Level, ...]:
    levels = []
    for size in range(1, width + 1):
        members = np.array(list(combinations(range(width), size)))
        sets = (1 << members).sum(axis=1)
        rest = sets[:, None] ^ (1 << members)
        levels.append(_Level(sets, members, rest, without_bit(rest, members)))
    return tuple(levels)
