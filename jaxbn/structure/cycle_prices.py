"""First prices for sets of columns in which one member must do without parents from the set (see `cycle_bound`).

If every member's best families all have parents in the set, its price can rise by the smallest loss of a member that
gives them up, and the bound falls by as much. Cycles of few columns come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

import numpy as np
from numpy.typing import NDArray

from jaxbn.structure.constraints import bits, mask_of
from jaxbn.structure.family_table import FamilyTable


def first_prices(table: FamilyTable, most: int) -> dict[int, int]:
    """Prices of sets, given as masks, found by raising one at a time, at most `most` times."""
    return _Ascent(table).run(most)


class _Ascent:
    """What every family is below its column's best, prices that it earns added; zero at the best ones."""

    def __init__(self, table: FamilyTable) -> None:
        self.table = table
        self.prices: dict[int, int] = {}
        self.below: NDArray[np.int64] = table.values - np.maximum.reduceat(table.values, table.starts)[table.child]
        self.best: list[list[int]] = [[] for _ in range(table.n_columns)]  # parents of a column's best families
        self.core = [0] * table.n_columns  # parents that all of these have
        for column in range(table.n_columns):
            self._note(column)

    def run(self, most: int) -> dict[int, int]:
        """Raise prices of cycles until there are none, or `most` were raised."""
        waiting = list(range(self.table.n_columns))
        while most and waiting:
            cycle = shortest_cycle(waiting[-1], self.core)
            if cycle:
                most -= 1
                self._raise(cycle)
                members = list(bits(cycle))
                waiting = [column for column in waiting if column not in members] + members
            else:
                waiting.pop()
        while most and (some := self._smallest(self._without_free((1 << self.table.n_columns) - 1))):
            most -= 1
            self._raise(some)
        return self.prices

    def _raise(self, cycle: int) -> None:
        """Raise the price of a set until a member has a best family without parents in it."""
        earners = {column: self.table.without_parents_in(cycle, column) for column in bits(cycle)}
        losses = [-int(self.below[families].max()) for families in earners.values() if len(families)]
        self.prices[cycle] = self.prices.get(cycle, 0) + min(losses)
        for column, families in earners.items():
            self.below[families] += min(losses)
            self._note(column)

    def _note(self, column: int) -> None:
        part = self.table.part(column)
        best = np.flatnonzero(self.below[part] == 0) + part.start
        self.best[column] = [self.table.mask(family) for family in best.tolist()]
        self.core[column] = reduce(and_, self.best[column])

    def _without_free(self, some: int) -> int:
        """What is left of a set once members with a best family that has no parent among the rest are gone."""
        while free := mask_of(c for c in bits(some) if any(not mask & some for mask in self.best[c])):
            some &= ~free
        return some

    def _smallest(self, some: int) -> int:
        """A part of a set whose best families all have parents in it, and of which no member can be left out."""
        for column in bits(some):
            if some >> column & 1:
                some = self._without_free(some & ~(1 << column)) or some
        return some


def shortest_cycle(column: int, parents: Sequence[int]) -> int:
    """The shortest cycle through a column along parents, as a mask; nothing if there is none.

    Example:
        >>> bin(shortest_cycle(0, [0b010, 0b101, 0b001]))  # 0 and 1 are parents of each other
        '0b11'
    """
    levels, seen = [1 << column], 1 << column
    while levels[-1]:
        following = 0
        for some in bits(levels[-1]):
            following |= parents[some]
        if following >> column & 1:
            return _path(column, levels, parents)
        levels.append(following & ~seen)
        seen |= following
    return 0


def _path(column: int, levels: Sequence[int], parents: Sequence[int]) -> int:
    """One column of each level, from the last one back, each with the one before among its parents."""
    found, child = 1 << column, column
    for level in levels[:0:-1]:
        child = next(some for some in bits(level) if parents[some] >> child & 1)
        found |= 1 << child
    return found
