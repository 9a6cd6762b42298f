"""Candidate families: a pool for each column, grown where a search leads, and all of them in flat arrays.

A family is grown by scoring it with every further parent in one go; those that gain by the new parent join the pool.
A search grows the families that it uses, so each of them is at least as good as its extensions by one parent, and
everything that was scored on the way can be used later.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.scores.set_scores import SetScores
from jaxbn.structure.constraints import Rules, bits

ARC_BITS = 13  # values are scores times 2 to this, minus the number of parents: ties go to fewer arcs


class FamilyPool:
    """Families of one column that no known family with one parent fewer beats; masks are over all columns."""

    def __init__(self, child: int, scores: SetScores, rules: Rules) -> None:
        self.child = child
        self.scored = 1  # families that were scored, whether they joined or not
        self._scores, self._rules = scores, rules
        self._required = rules.must[child]
        self.most_parents = max(rules.max_parents, self._required.bit_count(), 1)
        self._grown: dict[int, NDArray[np.int64] | None] = {}  # [N] values with each further parent, if one may join
        self.values = {self._required: self._value(self._required)}  # of each family by its parents

    def grow(self, parents: int, value: int) -> bool:
        """Score a family with each further parent, unless done before; returns whether any joined the pool."""
        if parents in self._grown:
            return False
        further = self._rules.further(self.child, parents)
        if not further:
            self._grown[parents] = None
            return False
        size = parents.bit_count() + 1
        grown = (self._scores.grown(self.child, tuple(bits(parents))) << ARC_BITS) - size
        self._grown[parents] = grown
        self.scored += further.bit_count()
        beaten = np.full(len(grown), value)
        # a family no better than one of its parts is never used: wherever it fits, the part fits too
        for parent in bits(parents & ~self._required):
            smaller = self._grown.get(parents & ~(1 << parent))
            if smaller is not None:
                np.maximum(beaten, smaller, out=beaten)
        before = len(self.values)
        for i in np.flatnonzero(grown > beaten).tolist():
            if further >> i & 1:
                self.values.setdefault(parents | 1 << i, int(grown[i]))
        return len(self.values) > before

    def add(self, parents: int) -> None:
        """Add a family to the pool, if the rules permit it."""
        if self._rules.permits(self.child, parents):
            self.values.setdefault(parents, self._value(parents))

    def refine(self, parents: int) -> None:
        """Score the families with one parent dropped or replaced."""
        for parent in bits(parents & ~self._required):
            fewer = parents & ~(1 << parent)
            value = self._value(fewer)
            self.values.setdefault(fewer, value)
            self.grow(fewer, value)

    def grow_freely(self) -> None:
        """Grow the best family regardless of any order, until no extension is better."""
        while self.grow(*max(self.values.items(), key=lambda family: family[1])):
            pass

    def look_at_pairs(self) -> None:
        """Grow every single-parent family, even if the parent does not help alone: two may help together."""
        for parent in bits(self._rules.further(self.child, self._required)):
            family = self._required | 1 << parent
            if family not in self._grown and family.bit_count() < self._rules.max_parents:
                self.grow(family, self._value(family))

    def _value(self, parents: int) -> int:
        return (self._scores.family(self.child, tuple(bits(parents))) << ARC_BITS) - parents.bit_count()


def pools_of(scores: SetScores, rules: Rules) -> list[FamilyPool]:
    """A pool for every column; the pairs of columns are counted in one go."""
    live = [i for i, may in enumerate(rules.allowed) if may]
    if live and rules.max_parents:
        scores.count([()])
        scores.count([(i,) for i in live])
    return [FamilyPool(child, scores, rules) for child in range(scores.n_columns)]


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

    F families, K members at most, N columns. Families of a column are adjacent, sorted from worst to best, so that the
    best of several is the one with the highest number. Worths are values relative to the best of their column, scaled
    so that the sum over all columns fits in 62 bits.
    """

    child: NDArray[np.intp]  # [F]
    members: NDArray[np.intp]  # [K, F], N where there are fewer
    values: NDArray[np.int64]  # [F] as in the pools
    worth: NDArray[np.int64]  # [F + 1]; the last one is that of a column none of whose families fit
    starts: NDArray[np.intp]  # [N] first family of every column
    numbers: NDArray[np.intp]  # [F] 0 to F - 1
    masks: list[int]  # [F] the parents of a family

    def __init__(self, pools: Sequence[FamilyPool]) -> None:
        self.pools, self.n_columns = pools, len(pools)
        self._known = [0] * len(pools)  # families of each pool that are here
        self.masks = []
        most = max((pool.most_parents for pool in pools), default=1)
        self.child, self.values = np.zeros(0, np.intp), np.zeros(0, np.int64)
        self.members = np.zeros((most, 0), np.intp)
        self.update()

    def update(self) -> bool:
        """Add the families that joined the pools; returns whether any did, after which families are renumbered."""
        new = [
            (pool.child, mask, value)
            for pool, known in zip(self.pools, self._known, strict=True)
            for mask, value in islice(pool.values.items(), known, None)
        ]
        if not new:
            return False
        self._known = [len(pool.values) for pool in self.pools]
        parents = [bits(mask) for _, mask, _ in new]
        padded = [some + [self.n_columns] * (len(self.members) - len(some)) for some in parents]
        child = np.append(self.child, [family[0] for family in new])
        values = np.append(self.values, [family[2] for family in new])
        order = np.lexsort((values, child))  # stable: of equal families the one known longer comes first
        masks = [*self.masks, *(family[1] for family in new)]
        self.masks = [masks[i] for i in order.tolist()]
        self.child, self.values = child[order], values[order]
        self.members = np.concatenate([self.members, np.array(padded).T], axis=1)[:, order]
        self.numbers = np.arange(len(order))
        self.starts = np.searchsorted(self.child, np.arange(self.n_columns))
        self._ends = np.searchsorted(self.child, np.arange(self.n_columns), side="right")
        below = self.values - self.values[self._ends - 1][self.child]
        # shifting never reverses the order of two families and leaves no worth below -room, so that a column none of
        # whose families fit is worth less than with any of them
        room = 2**60 // (self.n_columns + 2)
        self.worth = np.append(below >> max((-int(below.min()) // room).bit_length(), 0), -2 * room)
        return True

    def part(self, column: int) -> slice:
        """The families of a column."""
        return slice(int(self.starts[column]), int(self._ends[column]))

    def stand(self, order: Sequence[int]) -> Standing:
        """How the families stand in an order in which required parents come first."""
        columns = np.asarray(order, np.intp)
        place = np.empty(self.n_columns + 1, np.int16)
        place[columns] = np.arange(self.n_columns, dtype=np.int16)
        place[-1] = -1
        places = place[self.members]
        last, second = places[0], np.full(len(self.child), -1, np.int16)
        # the two latest parents of every family, kept up to date parent by parent
        for other in places[1:]:
            np.maximum(second, np.minimum(last, other), out=second)
            last = np.maximum(last, other)
        here = place[self.child]
        fits = np.where(last < here, self.numbers, -1)
        return Standing(columns, place, here, last, second, fits, np.maximum.reduceat(fits, self.starts))

    def value(self, standing: Standing) -> int:
        """The value of an order: the sum of every column's best family among its predecessors."""
        return sum(self.values[standing.best].tolist())

    def without_parents_in(self, some: int, column: int) -> NDArray[np.intp]:
        """Families of a column that have no parent in a set."""
        inside = np.zeros(self.n_columns + 1, bool)
        inside[bits(some)] = True
        part = self.part(column)
        return self.numbers[part][~inside[self.members[:, part]].any(axis=0)]

    def grow(self, families: NDArray[np.intp]) -> bool:
        """Grow some families in their pools, see `update`."""
        for f in families.tolist():
            self.pools[self.child[f]].grow(self.masks[f], int(self.values[f]))
        return self.update()

    def refine(self, families: NDArray[np.intp]) -> bool:
        """Score families with one parent dropped or replaced, see `update`."""
        for f in families.tolist():
            self.pools[self.child[f]].refine(self.masks[f])
        return self.update()
