"""An upper bound on every structure of the known families: each column's best family, less what cycles must cost.

The best families of all columns together would be a bound, but they form cycles: with A the best parent of B and B that
of A, one of the two must do without the other. For a set C of columns, some member of C comes first in any order and
has no parent in C. So for any prices λ ≥ 0,

    value of a structure ≤ Σ_v max_f [value(f) + Σ_{C with v} λ_C · 1(f has no parent in C)] - Σ_C λ_C,

because every structure earns each price at least once. Prices are lowered where the maxima on the right earn them more
than once and raised where they do not earn them at all, by subgradient steps; sets are the cycles that the maxima form
(docs/maths.md, "The best structure").

First prices come from single cycles: if every member's best families all have parents in the set, its price can rise by
the smallest loss of a member that gives them up, and the bound falls by as much. Cycles of few columns come first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_, or_

import numpy as np
from numpy.typing import NDArray

from jaxbn.runtime import limits
from jaxbn.structure.constraints import bits, mask_of, union_of
from jaxbn.structure.families import FamilyTable

STEPS = 100  # steps of the prices
LENGTH = 0.1  # length of the first steps, as a share of the step that would close the gap if prices did not interact
STALLS = 8  # steps without a better bound after which steps become shorter


def cycle_bound(table: FamilyTable, reached: int, steps: int = STEPS) -> int:
    """An upper bound on the value of every structure of the table's families.

    `reached` is the value of the best structure known, which sets the length of the steps; without steps, the bound is
    the sum of all columns' best families.
    """
    prices = _Prices(table, _Ascent(table).run(4 * steps))
    best, at_best, length, stalls = prices.bound(), prices.price, LENGTH, 0
    for _ in range(steps):
        limits.check()
        if best <= reached:
            break
        prices.step(length, reached)
        bound = prices.bound()
        stalls = 0 if bound < best else stalls + 1
        if bound < best:
            best, at_best = bound, prices.price
        # steps leap over the lowest bound: shorter ones, from the best prices so far on
        if stalls >= STALLS:
            length, stalls = length / 2, 0
            prices.price = np.pad(at_best, (0, len(prices.price) - len(at_best)))
            prices.bound()
    return max(best, reached)


class _Prices:
    """Prices of sets of columns, and the maxima that they lead to."""

    def __init__(self, table: FamilyTable, first: Mapping[int, int]) -> None:
        self.table = table
        self.price: NDArray[np.int64] = np.zeros(0, np.int64)
        self.sets: dict[int, int] = {}  # a set as a mask, and its number
        self.set_of: NDArray[np.intp] = np.zeros(0, np.intp)  # [E] of every family that earns a set's price: the set
        self.earner: NDArray[np.intp] = np.zeros(0, np.intp)  # [E] and the family
        self.chosen = table.numbers  # [N] the best families with prices
        self._add(list(first))
        self.price = np.array(list(first.values()), np.int64)

    def bound(self) -> int:
        """The right side of the inequality; the families of its maxima are chosen."""
        table = self.table
        worth = table.values.copy()
        np.add.at(worth, self.earner, self.price[self.set_of])
        best = np.maximum.reduceat(worth, table.starts)
        tied = np.where(worth == best[table.child], table.numbers, -1)
        self.chosen = np.maximum.reduceat(tied, table.starts)
        # as integers of Python, which cannot overflow
        return sum(best.tolist()) - sum(self.price.tolist())

    def step(self, length: float, reached: int) -> None:
        """Change the prices towards a lower bound; new cycles get a price."""
        distance = self.bound() - reached
        self._add(self._cycles())
        is_chosen = np.zeros(len(self.table.child), bool)
        is_chosen[self.chosen] = True
        # The bound changes by (times earned - 1) for each unit of a price, so 1 - earned leads downhill; a share of
        # Polyak's step is taken. A price of zero that is earned cannot fall, and must not shorten the step.
        earned = np.bincount(self.set_of[is_chosen[self.earner]], minlength=len(self.price))
        slope = np.where((self.price > 0) | (earned == 0), 1 - earned, 0)
        size = int((slope**2).sum())
        if size:
            change = np.rint(slope * (length * distance / size)).astype(np.int64)
            self.price = np.maximum(self.price + change, 0)

    def _add(self, sets: Sequence[int]) -> None:
        """Give sets a price of zero, unless they have one."""
        parts = [(self.set_of, self.earner)]
        for some in sets:
            if some not in self.sets:
                number = self.sets[some] = len(self.sets)
                earners = np.concatenate([self.table.without_parents_in(some, column) for column in bits(some)])
                parts.append((np.full(len(earners), number), earners))
        self.set_of, self.earner = (np.concatenate(part) for part in zip(*parts, strict=True))
        self.price = np.pad(self.price, (0, len(self.sets) - len(self.price)))

    def _cycles(self) -> list[int]:
        """Short cycles of the chosen families, as masks: one through every column that is on any."""
        parents = [self.table.masks[family] for family in self.chosen.tolist()]
        left = (1 << len(parents)) - 1
        while free := mask_of(column for column in bits(left) if not parents[column] & left):
            left &= ~free
        found = (shortest_cycle(column, [mask & left for mask in parents]) for column in bits(left))
        return list(dict.fromkeys(some for some in found if some))


class _Ascent:
    """What every family is below its column's best, prices that it earns added; zero at the best ones."""

    def __init__(self, table: FamilyTable) -> None:
        self.table = table
        self.prices: dict[int, int] = {}
        self.below: NDArray[np.int64] = table.values - np.maximum.reduceat(table.values, table.starts)[table.child]
        self.best: list[list[int]] = [[] for _ in range(table.n_columns)]  # parents of a column's best families
        self.core = [0] * table.n_columns  # parents that all of these have
        self.any = [0] * table.n_columns  # and parents that some of them have
        for column in range(table.n_columns):
            self._note(column)

    def run(self, most: int) -> dict[int, int]:
        """Raise prices of cycles until there are none, or `most` were raised."""
        waiting = list(range(self.table.n_columns))
        while most and waiting:
            # along parents that all best families of a column share: no member has a best family without the cycle
            cycle = shortest_cycle(waiting[-1], self.core)
            if cycle:
                most -= 1
                self._raise(cycle)
                members = bits(cycle)
                waiting = [column for column in waiting if column not in members] + members
            else:
                waiting.pop()
        # then sets in which every best family has some parent, though not always the same one
        while most and (some := self._smallest(self._without_free((1 << self.table.n_columns) - 1))):
            most -= 1
            self._raise(some)
        return self.prices

    def _raise(self, cycle: int) -> None:
        """Raise the price of a set until a member has a best family without parents in it."""
        earners = {column: self.table.without_parents_in(cycle, column) for column in bits(cycle)}
        # Up to the least loss no column's maximum changes, so the bound falls by all of the price. Members that have a
        # required parent in the set never earn its price and set no limit.
        losses = [-int(self.below[families].max()) for families in earners.values() if len(families)]
        self.prices[cycle] = self.prices.get(cycle, 0) + min(losses)
        for column, families in earners.items():
            self.below[families] += min(losses)
            self._note(column)

    def _note(self, column: int) -> None:
        part = self.table.part(column)
        best = np.flatnonzero(self.below[part] == 0) + part.start
        self.best[column] = [self.table.masks[family] for family in best.tolist()]
        self.core[column], self.any[column] = reduce(and_, self.best[column]), reduce(or_, self.best[column])

    def _without_free(self, some: int, gone: int | None = None) -> int:
        """What is left of a set once members with a best family that has no parent among the rest are gone.

        If none had one before some columns were `gone`, only children of these can have one now.
        """
        while free := mask_of(
            c
            for c in bits(some)
            if (gone is None or self.any[c] & gone) and not all(mask & some for mask in self.best[c])
        ):
            some, gone = some & ~free, free
        return some

    def _smallest(self, some: int) -> int:
        """A part of a set whose best families all have parents in it, and of which no member can be left out."""
        for column in bits(some):
            if some >> column & 1:
                some = self._without_free(some & ~(1 << column), 1 << column) or some
        return some


def shortest_cycle(column: int, parents: Sequence[int]) -> int:
    """The shortest cycle through a column along parents, as a mask; nothing if there is none."""
    levels, seen = [1 << column], 1 << column
    while not (following := union_of(parents, levels[-1])) >> column & 1:
        levels.append(following & ~seen)
        seen |= following
        if not levels[-1]:
            return 0
    # one column of each level, from the last one back, each with the one before among its parents
    found, child = 1 << column, column
    for level in levels[:0:-1]:
        child = next(some for some in bits(level) if parents[some] >> child & 1)
        found |= 1 << child
    return found
