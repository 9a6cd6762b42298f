"""Candidate families of one column, grown where a search leads.

A family is grown by scoring it with every further parent in one go; those that gain by the new parent join the pool.
A search grows the families that it uses, so each of them is at least as good as its extensions by one parent, and
everything that was scored on the way can be used later.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jaxbn.scores.set_scores import SetScores
from jaxbn.structure.constraints import Rules, bits

ARC_BITS = 13
"""Values are scores times 2 to this, minus the number of parents: ties go to fewer arcs."""


class FamilyPool:
    """Families of one column that no known family with one parent fewer beats; masks are over all columns.

    Example:
        >>> from jaxbn.counts.codes import Column
        >>> x = Column(0, np.array([0, 0, 1, 1, 0, 1]), 2)
        >>> pool = FamilyPool(1, SetScores([x, x]), Rules.of([2, 2], max_parents=1))
        >>> pool.grow_freely()
        >>> pool.masks  # no parents, and column 0
        [0, 1]
    """

    def __init__(self, child: int, scores: SetScores, rules: Rules) -> None:
        self.child, self.n_columns = child, scores.n_columns
        self.scored = 1  # families that were scored, whether they joined or not
        self.masks: list[int] = []
        self.values: list[int] = []
        self._scores, self._rules = scores, rules
        self._required = rules.must[child]
        self._grown: dict[int, NDArray[np.int64]] = {}  # [N] values with each further parent
        self._known: set[int] = set()
        self._join(self._required, self._value(self._required))

    def bound(self) -> int:
        """The largest value of any family that was scored."""
        return max(self.values)

    def is_grown(self, parents: int) -> bool:
        """Whether a family was grown, or has as many parents as it may have."""
        return parents in self._grown or parents.bit_count() >= self._rules.max_parents

    def grow(self, parents: int, value: int) -> bool:
        """Score a family with each further parent, unless done before; returns whether any joined the pool."""
        if parents in self._grown:
            return False
        further = self._rules.further(self.child, parents)
        if not further:
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
        before = len(self.masks)
        for i in np.flatnonzero(grown > beaten).tolist():
            if further >> i & 1:
                self._join(parents | 1 << i, int(grown[i]))
        return len(self.masks) > before

    def add(self, parents: int) -> None:
        """Add a family to the pool, if the rules permit it."""
        if self._rules.permits(self.child, parents):
            self._join(parents, self._value(parents))

    def refine(self, parents: int) -> bool:
        """Score the families with one parent dropped or replaced; returns whether any joined the pool."""
        before = len(self.masks)
        for parent in bits(parents & ~self._required):
            fewer = parents & ~(1 << parent)
            value = self._value(fewer)
            self._join(fewer, value)
            self.grow(fewer, value)
        return len(self.masks) > before

    def grow_freely(self) -> None:
        """Grow the best family regardless of any order, until no extension is better."""
        best = self.values.index(max(self.values))
        while self.grow(self.masks[best], self.values[best]):
            best = self.values.index(max(self.values))

    def look_at_pairs(self) -> None:
        """Grow every single-parent family, even if the parent does not help alone: two may help together."""
        for parent in bits(self._rules.further(self.child, self._required)):
            family = self._required | 1 << parent
            if not self.is_grown(family):
                self.grow(family, self._value(family))

    def _value(self, parents: int) -> int:
        return (self._scores.family(self.child, tuple(bits(parents))) << ARC_BITS) - parents.bit_count()

    def _join(self, parents: int, value: int) -> None:
        if parents not in self._known:
            self._known.add(parents)
            self.masks.append(parents)
            self.values.append(value)


def pools_of(scores: SetScores, rules: Rules) -> list[FamilyPool]:
    """A pool for every column; the pairs of columns are counted in one go."""
    live = [i for i, may in enumerate(rules.allowed) if may]
    if live and rules.max_parents:
        scores.count([()])
        scores.count([(i,) for i in live])
    return [FamilyPool(child, scores, rules) for child in range(scores.n_columns)]
