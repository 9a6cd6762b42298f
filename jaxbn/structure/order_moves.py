"""An order of the columns, and moves that raise its value: one column put elsewhere, neighbours rearranged."""

from __future__ import annotations

from collections.abc import Sequence

from jaxbn.structure.arc_rules import bits
from jaxbn.structure.family_pool import IMPOSSIBLE, FamilyPool

WINDOW = 5
"""Neighbours that are rearranged at once."""


class Order:
    """Columns in order; the value is the sum of every column's best family among its predecessors."""

    def __init__(self, pools: Sequence[FamilyPool], columns: Sequence[int]) -> None:
        self.pools = pools
        self.columns = list(columns)
        self.place = [0] * len(columns)
        self.before = [0] * len(columns)  # by column: the mask of its predecessors
        self._number(0, len(columns))

    def value(self) -> int:
        """The value of the order."""
        return sum(pool.best(before)[0] for pool, before in zip(self.pools, self.before, strict=True))

    def parents(self) -> list[int]:
        """The best family of every column, as masks."""
        return [pool.best(before)[1] for pool, before in zip(self.pools, self.before, strict=True)]

    def move(self, column: int, place: int) -> None:
        """Take a column out and put it at a place among the others."""
        old = self.place[column]
        del self.columns[old]
        self.columns.insert(place, column)
        self._number(min(old, place), max(old, place) + 1)

    def insert_best(self, column: int) -> bool:
        """Put a column at its best place; whether it moved.

        Its own family changes only where a relevant column passes it, and between two of those an earlier place is
        better for all others. So the first place and those just after its relevant columns are all to be looked at.
        """
        here = self.place[column]
        gains = self._gains(column)
        best_value, best_place, current = IMPOSSIBLE, here, IMPOSSIBLE
        lost, k = 0, 0
        for start, own in self._own_values(column):
            while k < len(gains) and gains[k][0] < start:
                lost += gains[k][1]
                k += 1
            if own - lost > best_value:
                best_value, best_place = own - lost, start
            if start <= here:
                current = own - lost - sum(gain for place, gain in gains[k:] if place < here)
        if best_value <= current:
            return False
        self.move(column, best_place)
        return True

    def _gains(self, column: int) -> list[tuple[int, int]]:
        """Places among the others, ascending, and what the columns there win by having this one before them."""
        bit, here, found = 1 << column, self.place[column], []
        for other, pool in enumerate(self.pools):
            if pool.relevant & bit:
                value, mask = pool.best(self.before[other] | bit)
                if mask & bit:
                    place = self.place[other]
                    without = pool.best(self.before[other] & ~bit)[0]
                    found.append((place - (place > here), value - without))
        return sorted(found)

    def _own_values(self, column: int) -> list[tuple[int, int]]:
        """Places among the others, ascending, from which on a column has a better family, and its value there."""
        pool, here = self.pools[column], self.place[column]
        ordered = sorted((self.place[i], 1 << i) for i in bits(pool.relevant))
        seen, found = pool.relevant, []
        value, mask = pool.best(seen)
        for place, bit in reversed(ordered):
            seen &= ~bit
            if mask & bit:
                found.append((place + (place < here), value))
                value, mask = pool.best(seen)
        found.append((0, value))
        return found[::-1]

    def rearrange(self, first: int, width: int = WINDOW) -> bool:
        """Put the columns of a window into their best order; whether it changed."""
        window = self.columns[first : first + width]
        outside = self.before[window[0]]
        sets = [outside]
        for column in window:
            sets += [some | 1 << column for some in sets]
        totals, sinks = [0], [-1]
        for number in range(1, len(sets)):
            best, sink = None, -1
            for k, column in enumerate(window):
                if number >> k & 1:
                    rest = number ^ (1 << k)
                    value = totals[rest] + self.pools[column].best(sets[rest])[0]
                    if best is None or value > best:
                        best, sink = value, k
            totals.append(best or 0)
            sinks.append(sink)
        if totals[-1] <= sum(self.pools[c].best(self.before[c])[0] for c in window):
            return False
        rest = len(sets) - 1
        for place in range(first + len(window) - 1, first - 1, -1):
            self.columns[place] = window[sinks[rest]]
            rest ^= 1 << sinks[rest]
        self._number(first, first + len(window))
        return True

    def _number(self, first: int, last: int) -> None:
        """Places and predecessors of the columns from one place to before another."""
        mask = self.before[self.columns[first - 1]] | 1 << self.columns[first - 1] if first else 0
        for i in range(first, last):
            column = self.columns[i]
            self.place[column] = i
            self.before[column] = mask
            mask |= 1 << column
