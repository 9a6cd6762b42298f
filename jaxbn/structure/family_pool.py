"""Candidate families of every column, grown where a search looks: what is the best family inside a set of predecessors?

A family is grown by scoring it with every further parent in one go. The best known family inside a set counts as found
once it was grown itself; until then it is grown and the question is asked again. So every answer is at least as good as
its extensions by one parent, and everything that was scored on the way can be the answer to later questions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jaxbn.scores.set_scores import SetScores
from jaxbn.structure.arc_rules import ArcRules, bits

ARC_BITS = 13
"""Values are scores times 2 to this, minus the number of parents: of equal scores the fewer arcs are better."""

IMPOSSIBLE = -(1 << 90)
"""The value of a column whose required parents do not all come before it."""

WORD = 64
"""Bits of a mask that one number of an array holds."""


FULL = (1 << WORD) - 1
LEAST = np.iinfo(np.int64).min


class FamilyPool:
    """Families of one column that no known family with a parent less beats; masks are over all columns."""

    def __init__(self, child: int, scores: SetScores, rules: ArcRules) -> None:
        self.child = child
        self.relevant = 0  # columns in any family of the pool: the answer depends on no other
        self.scored = 1
        self._scores, self._rules = scores, rules
        self._required = rules.required[child]
        self._grown: dict[int, NDArray[np.int64]] = {}  # [N] values with each further parent
        self._answers: dict[int, tuple[int, int]] = {}
        self._masks: list[int] = []
        self._known: set[int] = set()
        self._values = np.empty(16, np.int64)
        self._words = np.empty((-(-scores.n_columns // WORD), 16), np.uint64)  # the masks, a word a row
        self._enter(self._required, self._family(self._required))

    def best(self, before: int) -> tuple[int, int]:
        """Value and mask of the best family inside a set of columns; of equal ones the one found first."""
        key = before & self.relevant
        answer = self._answers.get(key)
        return self._find(key) if answer is None else answer

    def bound(self) -> int:
        """The largest value of any family that was scored."""
        return int(self._values[: len(self._masks)].max())

    def grow(self, parents: int, value: int) -> bool:
        """Score a family with every further parent, unless that was done; whether anything new was entered."""
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
        for parent in bits(parents & ~self._required):
            smaller = self._grown.get(parents & ~(1 << parent))
            if smaller is not None:
                np.maximum(beaten, smaller, out=beaten)
        before = len(self._masks)
        for i in np.flatnonzero(grown > beaten).tolist():
            if further >> i & 1:
                self._enter(parents | 1 << i, int(grown[i]))
        return len(self._masks) > before

    def refine(self, parents: int) -> bool:
        """Look at the families with one parent less and at all that replace it; whether anything new was entered."""
        before = len(self._masks)
        self.grow(parents, self._family(parents))
        for parent in bits(parents & ~self._required):
            fewer = parents & ~(1 << parent)
            value = self._family(fewer)
            self._enter(fewer, value)
            self.grow(fewer, value)
        return len(self._masks) > before

    def grow_single(self) -> None:
        """Look at all pairs of parents, even if neither helps alone."""
        for parent in bits(self._rules.further(self.child, self._required)):
            family = self._required | 1 << parent
            if family not in self._grown:
                self.grow(family, self._family(family))

    def _find(self, key: int) -> tuple[int, int]:
        if self._required & ~key:
            return IMPOSSIBLE, self._required
        while True:
            n = len(self._masks)
            outside = self._words[0, :n] & (~key & FULL)
            for w in range(1, len(self._words)):
                outside |= self._words[w, :n] & (~(key >> WORD * w) & FULL)
            at = int(np.where(outside, LEAST, self._values[:n]).argmax())
            value, mask = int(self._values[at]), self._masks[at]
            if not self.grow(mask, value):
                break
        self._answers[key] = value, mask
        return value, mask

    def _family(self, parents: int) -> int:
        return (self._scores.family(self.child, tuple(bits(parents))) << ARC_BITS) - parents.bit_count()

    def _enter(self, parents: int, value: int) -> None:
        """Add a family unless it is there."""
        if parents in self._known:
            return
        n = len(self._masks)
        if n == len(self._values):
            self._values = np.concatenate([self._values, self._values])
            self._words = np.concatenate([self._words, self._words], axis=1)
        self._known.add(parents)
        self._masks.append(parents)
        self._values[n] = value
        for w, row in enumerate(self._words):
            row[n] = parents >> WORD * w & FULL
        self.relevant |= parents
        self._answers.clear()


def pools_of(scores: SetScores, rules: ArcRules) -> list[FamilyPool]:
    """A pool for every column; the pairs of columns are counted in one go."""
    live = [i for i, may in enumerate(rules.allowed) if may]
    if live and rules.max_parents:
        scores.count([()])
        scores.count([(i,) for i in live])
    return [FamilyPool(child, scores, rules) for child in range(scores.n_columns)]
