"""The known families of all columns in flat arrays, and which of them fit an order of the columns.

F families, K members at most, N columns. Families of a column are adjacent, sorted from worst to best, so that the
best of several is the one with the highest number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.structure.constraints import bits
from jaxbn.structure.family_pool import FamilyPool


class Standing(NamedTuple):
    """How the families stand in an order."""

    order: NDArray[np.intp]  # [N] columns
    place: NDArray[np.int16]  # [N + 1] of every column, and -1 for no column
    here: NDArray[np.int16]  # [F] place of the child
    last: NDArray[np.int16]  # [F] place of the last parent, -1 without parents
    second: NDArray[np.int16]  # [F] place of the last but one
    fits: NDArray[np.intp]  # [F] number of the family if all its parents come before the child, else -1
    best: NDArray[np.intp]  # [N] best family of every column


class FamilyTable:
    """The families of some pools; `update` adds those that joined the pools since.

    Worths are values relative to the best of their column, scaled so that the sum over all columns fits in 62 bits.
    """

    child: NDArray[np.intp]  # [F]
    members: NDArray[np.intp]  # [K, F], N where there are fewer
    values: NDArray[np.int64]  # [F] as in the pools
    worth: NDArray[np.int64]  # [F + 1]; the last one is that of a column none of whose families fit
    starts: NDArray[np.intp]  # [N] first family of every column
    numbers: NDArray[np.intp]  # [F] 0 to F - 1

    def __init__(self, pools: Sequence[FamilyPool]) -> None:
        self.pools = pools
        self.n_columns = len(pools)
        self._parts = [_Part(pool) for pool in pools]
        self._gather()

    def update(self) -> None:
        """Add the families that joined the pools."""
        changed = [part.update() for part in self._parts]
        if any(changed):
            self._gather()

    def part(self, column: int) -> slice:
        """The families of a column."""
        return self._slices[column]

    def stand(self, order: Sequence[int]) -> Standing:
        """How the families stand in an order in which required parents come first."""
        columns = np.asarray(order, np.intp)
        place = np.empty(self.n_columns + 1, np.int16)
        place[columns] = np.arange(self.n_columns, dtype=np.int16)
        place[-1] = -1
        places = place[self.members]
        last, second = places[0], np.full(len(self.child), -1, np.int16)
        for other in places[1:]:
            np.maximum(second, np.minimum(last, other), out=second)
            last = np.maximum(last, other)
        here = place[self.child]
        fits = np.where(last < here, self.numbers, -1)
        return Standing(columns, place, here, last, second, fits, np.maximum.reduceat(fits, self.starts))

    def value(self, standing: Standing) -> int:
        """The value of an order: the sum of every column's best family among its predecessors."""
        return sum(self.values[standing.best].tolist())

    def mask(self, family: int) -> int:
        """The parents of a family."""
        return self._parts[self.child[family]].masks[family - self.starts[self.child[family]]]

    def without_parents_in(self, some: int, column: int) -> NDArray[np.intp]:
        """Families of a column that have no parent in a set."""
        inside = np.zeros(self.n_columns + 1, bool)
        inside[list(bits(some))] = True
        part = self.part(column)
        return self.numbers[part][~inside[self.members[:, part]].any(axis=0)]

    def grow(self, families: NDArray[np.intp]) -> bool:
        """Grow some families in their pools; returns whether any joined, after which families are renumbered."""
        joined = False
        for family in families[~self._grown[families]].tolist():
            self._grown[family] = True
            part = self._parts[self.child[family]]
            joined |= part.grow(family - int(self.starts[self.child[family]]))
        if joined:
            self.update()
        return joined

    def refine(self, families: NDArray[np.intp]) -> bool:
        """Score families with one parent dropped or replaced; returns whether any joined."""
        found = [self.pools[self.child[family]].refine(self.mask(family)) for family in families.tolist()]
        if any(found):
            self.update()
        return any(found)

    def _gather(self) -> None:
        """Join the parts into flat arrays."""
        sizes = [len(part.values) for part in self._parts]
        self.starts = np.cumsum([0, *sizes[:-1]])
        self._slices = [slice(first, first + size) for first, size in zip(self.starts.tolist(), sizes, strict=True)]
        self.child = np.repeat(np.arange(self.n_columns), sizes)
        self.numbers = np.arange(len(self.child))
        self.values = np.concatenate([part.values for part in self._parts])
        width = max(part.members.shape[1] for part in self._parts)
        self.members = np.full((width, len(self.child)), self.n_columns)
        for part, start in zip(self._parts, self.starts.tolist(), strict=True):
            self.members[: part.members.shape[1], start : start + len(part.values)] = part.members.T
        self._grown = np.concatenate([part.grown for part in self._parts])
        below = self.values - self.values[self.starts + np.array(sizes) - 1][self.child]
        room = 2**60 // (self.n_columns + 2)
        self.worth = np.append(below >> max((-int(below.min()) // room).bit_length(), 0), -2 * room)


class _Part:
    """The families of one pool, sorted."""

    def __init__(self, pool: FamilyPool) -> None:
        self.pool = pool
        self._sets: list[list[int]] = []
        self.update()

    def update(self) -> bool:
        """Add new families; returns whether there were any."""
        new = self.pool.masks[len(self._sets) :]
        if not new:
            return False
        self._sets += [list(bits(mask)) for mask in new]
        width = max(1, *map(len, self._sets))
        padded = [some + [self.pool.n_columns] * (width - len(some)) for some in self._sets]
        values = np.array(self.pool.values)
        order = np.argsort(values, kind="stable")
        self.values, self.members = values[order], np.array(padded)[order]
        self.masks = [self.pool.masks[i] for i in order.tolist()]
        self.grown = np.array([self.pool.is_grown(mask) for mask in self.masks])
        return True

    def grow(self, family: int) -> bool:
        """Grow a family by its number here; whether any joined the pool."""
        self.grown[family] = True
        return self.pool.grow(self.masks[family], int(self.values[family]))
