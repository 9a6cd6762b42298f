"""K2 scores of families one by one, each from one count of the rows: for chains, which ask for few of many sets.

They are the whole numbers of `set_scores`, which counts a base with every further column in one go and so serves a
search that asks for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from jaxbn.scores.count_tables import CountTables, unit_bits
from jaxbn.scores.families import Column
from jaxbn.scores.parent_prior import log_parent_prior

MOST_KEPT = 2**24
"""Cells of rows that are remembered, of all sets of columns together."""


class SingleFamilies:
    """Scores of families of some columns, with the prior of their parents; no entry may be missing.

    Example:
        >>> x, y = Column(0, np.array([0, 0, 1, 1]), 2), Column(1, np.array([0, 0, 1, 1]), 2)
        >>> round(SingleFamilies([x, y]).nats(1, 0b1), 6) == round(2 * math.log(1 / 3) - math.log(2), 6)
        True
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = tuple(columns)
        self.n_rows = len(columns[0].codes)
        self._cells: dict[int, tuple[NDArray[np.int64], int]] = {}
        self._known: dict[tuple[int, int], int] = {}
        self._tables = CountTables(self.n_rows)

    def nats(self, child: int, parents: int) -> float:
        """The score of a child with the parents of a bit mask, in natural units."""
        return math.ldexp(self.units(child, parents), -unit_bits(self.n_rows))

    def units(self, child: int, parents: int) -> int:
        """The same in whole units, which add up exactly."""
        if (child, parents) not in self._known:
            prior = math.ldexp(log_parent_prior(len(self.columns), parents.bit_count()), unit_bits(self.n_rows))
            self._known[child, parents] = self._counted(child, parents) + round(prior)
        return self._known[child, parents]

    def _counted(self, child: int, parents: int) -> int:
        cell, n_cells = self._joint(parents)
        r = self.columns[child].n_states
        counts = np.bincount(cell * r + self.columns[child].codes, minlength=n_cells * r)
        above = counts.reshape(n_cells, r).sum(axis=1)
        return int(self._tables[1][counts].sum() - self._tables[r][above].sum())

    def _joint(self, members: int) -> tuple[NDArray[np.int64], int]:
        """The cell of every row in the table of some columns, and how many cells: no more than rows, if not few."""
        if not members:
            return np.zeros(self.n_rows, np.int64), 1
        if members not in self._cells:
            last = members.bit_length() - 1
            cell, n_cells = self._joint(members ^ 1 << last)
            column = self.columns[last]
            cell, n_cells = cell * column.n_states + column.codes, n_cells * column.n_states
            if n_cells > self.n_rows:  # most are empty
                distinct, cell = np.unique(cell, return_inverse=True)
                n_cells = len(distinct)
            if (len(self._cells) + 1) * self.n_rows > MOST_KEPT:
                self._cells.clear()
            self._cells[members] = cell, n_cells
        return self._cells[members]
