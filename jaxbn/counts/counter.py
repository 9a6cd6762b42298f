"""What every place that counts rows offers: counts of sets of columns, all that are asked for together in one go.

A set is a tuple of numbers of columns. One column may be a continuous variable as positions on a grid: with the members
of a family beside it, the counts are those that the costs of intervals are made of. Rows may be anywhere; counts of
parts of them are added (`added`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jaxbn.counts.codes import MOST_CELLS

Tables = Sequence[NDArray[np.int64]]
"""R tables by count, [n + 1] each and zero at a count of zero."""


@dataclass(frozen=True)
class Counts:
    """The table of a set of columns: the cells in which there are rows, and how many (or their weight)."""

    shape: tuple[int, ...]  # states of the columns
    cell: NDArray[np.int64]  # [E], ascending; the last column runs fastest
    count: NDArray[np.int64]  # [E], all positive

    @property
    def table(self) -> NDArray[np.int64]:
        """All cells, the empty ones too, int64 [*shape].

        Example:
            >>> Counts((2, 2), np.array([1, 2]), np.array([5, 7])).table.tolist()
            [[0, 5], [7, 0]]
        """
        found = np.zeros(math.prod(self.shape), np.int64)
        found[self.cell] = self.count
        return found.reshape(self.shape)

    @property
    def of_contexts(self) -> NDArray[np.int64]:
        """Counts of the configurations, of all columns but the last, in which there are rows."""
        if not len(self.cell):
            return self.count
        context = self.cell // self.shape[-1]
        return np.add.reduceat(self.count, np.flatnonzero(np.append(True, context[1:] != context[:-1])))


def check_cells(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The same shape, or an error if its cells are too many to be numbered."""
    if math.prod(shape) >= MOST_CELLS:
        states = " x ".join(map(str, shape))
        raise ValueError(f"a table of {states} states has 2^62 cells or more; ask for fewer columns")
    return shape


def added(parts: Sequence[Counts]) -> Counts:
    """The counts of all rows from those of parts of them.

    Example:
        >>> part = Counts((3,), np.array([0, 2]), np.array([1, 4]))
        >>> added([part, Counts((3,), np.array([2]), np.array([3]))]).table.tolist()
        [1, 0, 7]
    """
    if len(parts) == 1:
        return parts[0]
    cell, place = np.unique(np.concatenate([part.cell for part in parts]), return_inverse=True)
    count = np.zeros(len(cell), np.int64)
    np.add.at(count, place, np.concatenate([part.count for part in parts]))
    return Counts(parts[0].shape, cell, count)


class Counter(ABC):
    """Some coded columns of a table. A row that lacks an entry is left out of the counts of sets with that column."""

    sizes: tuple[int, ...]  # states of every column

    @abstractmethod
    def count(self, sets: Sequence[Sequence[int]]) -> list[Counts]:
        """The counts of each of some sets of columns, in their order: those of a round, asked for together."""

    def sums(self, bases: Sequence[tuple[int, ...]], tables: Tables, columns: NDArray[np.intp]) -> NDArray[np.int64]:
        """Sums of tables at the counts of each base with one further column, [bases, tables, columns].

        For a column already in the base: the sums of the base alone. Columns must be complete. Subclasses override
        this where they can be quicker.
        """
        found = self.count([tuple(dict.fromkeys((*base, int(c)))) for base in bases for c in columns])
        sums = [[table[counts.count].sum() for table in tables] for counts in found]
        return np.array(sums, np.int64).reshape(len(bases), len(columns), -1).swapaxes(1, 2)

    def family_sums(
        self, parents: tuple[int, ...], child: int, tables: Tables, columns: NDArray[np.intp]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sums of the first table over parents and child [columns], and of all over the parents [tables, columns]."""
        return self.sums([(*parents, child)], tables[:1], columns)[0, 0], self.sums([parents], tables, columns)[0]
