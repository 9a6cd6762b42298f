"""What a learner asks: the best coding of a variable, or the scores of families.

A learner is a generator: it yields a `Cut` or a list of `Family` and is sent back the coding or the scores. Many run
side by side, so that what they ask for at the same time is computed together.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple, TypeVar

from jaxbn.counts.codes import Column
from jaxbn.scores.families import Family


class Cut(NamedTuple):
    """A question: the best binning of a variable given its blanket. Members are sorted by key."""

    name: str
    parents: tuple[Column, ...]
    children: tuple[tuple[Column, tuple[Column, ...]], ...]
    rate: float
    grid: int | None = None  # candidate positions at most; None for all
    refinements: int = 1  # of the grid around its cuts
    ahead: tuple[Cut, ...] = ()  # likely next questions, for idle threads

    @property
    def key(self) -> tuple[Any, ...]:
        """What the answer depends on."""
        children = tuple((child.key, tuple(s.key for s in spouses)) for child, spouses in self.children)
        return self.name, tuple(p.key for p in self.parents), children, self.rate, self.grid, self.refinements


Question = Cut | list[Family]


Result = TypeVar("Result")


Learner = Generator[Question, Any, Result]
