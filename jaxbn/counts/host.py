"""Counting on the host, by NumPy and SciPy: XLA makes slow loops of scatters on a CPU."""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from jaxbn.counts.codes import MOST_CELLS, Codes, Column, cells, compact, narrow
from jaxbn.runtime import limits
from jaxbn.runtime.threads import in_threads

Places = NDArray[np.intp]
Tables = Sequence[NDArray[np.int64]]
"""R tables by count, [n + 1] each and zero at a count of zero."""

INDICATOR_BYTES = 2**28
"""Indicators of the states of columns are made up to this size; beyond, columns are counted one by one."""

AS_LONG_AS = 5  # indicators take as long to make as so many bases to count by them
TOGETHER = 2**13  # rows whose indicators are made at a time: these stay in the cache meanwhile

MOST_COUNTED = 2**16 - 1
"""Rows that are counted at once: counts are of 16 bits, because half the memory is half the time."""

FEW_CELLS = 4096  # bases with more cells are reduced to the cells that matter

FEW_CELLS_A_ROW = 8
"""Up to this many cells for each row it is quicker to count the empty ones too than to sort the rows."""


class Base(NamedTuple):
    """Some columns as one: the cell of every row. Cells of a single row may be left out and are counted apart."""

    cell: NDArray[np.int32]  # [n], negative where a row is left out
    n_cells: int
    n_single: int  # rows left out, each alone in its cell


class Indicators(NamedTuple):
    """Which states of some columns, or of all, every row has."""

    of_rows: NDArray[np.uint16]  # [n, states]
    columns: Places


@dataclass(frozen=True)
class Counts:
    """The table of a set of columns: the cells in which there are rows, and how many."""

    shape: tuple[int, ...]  # states of the columns
    cell: NDArray[np.int64]  # [E], ascending; the last column runs fastest
    count: NDArray[np.int64]  # [E], all positive

    @classmethod
    def of_table(cls, table: NDArray[np.int64]) -> Counts:
        """The same from all cells, [*shape]."""
        found = np.flatnonzero(table)
        return cls(table.shape, found, table.reshape(-1)[found])

    @property
    def table(self) -> NDArray[np.int64]:
        """All cells, the empty ones too, int64 [*shape]."""
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


def counts_of(columns: Sequence[tuple[Codes, int]]) -> Counts:
    """The counts of some columns, by their codes [n] and numbers of states; rows with a negative code are left out.

    Example:
        >>> counts_of([(np.array([0, 1, 1, -1]), 2)]).table.tolist()
        [1, 2]
    """
    lacking = [codes < 0 for codes, _ in columns if codes.min(initial=0) < 0]
    if lacking:
        known = ~np.logical_or.reduce(lacking)
        columns = [(codes[known], size) for codes, size in columns]
    shape, n = tuple(size for _, size in columns), len(columns[0][0])
    if math.prod(shape) >= MOST_CELLS:
        states = " x ".join(map(str, shape))
        raise ValueError(f"a table of {states} states has 2^62 cells or more; ask for fewer columns")
    cell, n_cells = cells(columns, n)
    if n_cells <= FEW_CELLS_A_ROW * n + 1024:
        return Counts.of_table(np.bincount(cell, minlength=n_cells).reshape(shape))
    found, count = np.unique(cell, return_counts=True)
    return Counts(shape, found.astype(np.int64), count)


class HostCounter:
    """Some coded columns of a table, in memory; none of them lacks an entry.

    A base, some columns by their numbers, is counted with all further columns by one product, of a sparse matrix of
    cells by rows and a dense one of rows by the states of all columns.
    """

    all_columns = False  # whether a base is counted with all columns, whatever is asked for

    def __init__(self, columns: Sequence[Column]) -> None:
        self.sizes = tuple(int(column.n_states) for column in columns)
        self.codes = [column.codes.astype(narrow(column.n_states), copy=False) for column in columns]
        self.n_rows = len(columns[0].codes)
        self._ones = np.ones(self.n_rows, np.uint16)
        self._first = np.cumsum([0, *self.sizes])  # where the states of each column begin among those of all
        self._own = threading.local()  # what threads change in place (`_product`), each has for itself

    def sums(self, asked: Sequence[tuple[tuple[int, ...], Places]], tables: Tables) -> list[NDArray[np.int64]]:
        """Sums of tables at the counts of some bases, each with one further column of those asked for with it.

        Of each base [tables, columns]. For a column already in the base: the sums of the base alone.
        """
        alike: dict[bytes, list[int]] = defaultdict(list)
        for i, (_, columns) in enumerate(asked):
            alike[columns.tobytes()].append(i)
        found, others = dict[int, NDArray[np.int64]](), list[int]()
        for some in alike.values():
            columns = asked[some[0]][1]
            if self._own_pay(columns, len(some)):
                own = self._indicators(columns)
                found |= zip(some, self._over_bases([asked[i] for i in some], tables, own), strict=True)
            else:
                others += some
        every = self._every if others else None
        found |= zip(others, self._over_bases([asked[i] for i in others], tables, every), strict=True)
        return [found[i] for i in range(len(asked))]

    def _over_bases(
        self, asked: Sequence[tuple[tuple[int, ...], Places]], tables: Tables, indicators: Indicators | None
    ) -> list[NDArray[np.int64]]:
        alone = np.array([[table[1]] for table in tables])

        def of_base(question: tuple[tuple[int, ...], Places]) -> NDArray[np.int64]:
            limits.check()
            base, columns = self._base(question[0]), question[1]
            if indicators is None:
                return self._one_by_one(base, tables, columns) + alone * base.n_single
            return self._over_cells(self._counts(base, indicators, columns), tables, columns) + alone * base.n_single

        return in_threads(of_base, asked, rows=self.n_rows)

    def family_sums(
        self, parents: tuple[int, ...], child: int, tables: Tables, columns: Places
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sums of the first table over parents and child [columns], and of all over the parents [tables, columns].

        The table of the parents is that of the family, summed over the child.
        """
        limits.check()
        family = (*parents, child)
        base = self._base(family)
        all_cells = base.n_cells == math.prod(self.sizes[i] for i in family)  # empty ones may be left out
        if self._every is None or not all_cells:
            return self.sums([(family, columns)], tables[:1])[0][0], self.sums([(parents, columns)], tables)[0]
        counts = self._counts(base, self._every, columns)
        without = counts.reshape(-1, self.sizes[child], counts.shape[1]).sum(axis=1)
        return self._over_cells(counts, tables[:1], columns)[0], self._over_cells(without, tables, columns)

    def _base(self, some: Sequence[int]) -> Base:
        """The cell of some columns; with many cells only those that hold two rows or more are kept."""
        cell, n_cells = cells([(self.codes[i], self.sizes[i]) for i in some], self.n_rows, 2**40)
        if n_cells <= min(FEW_CELLS, max(self.n_rows, 64)):
            return Base(cell.astype(np.int32, copy=False), n_cells, 0)
        if n_cells > FEW_CELLS_A_ROW * self.n_rows:
            cell, n_cells = compact(cell)
        # a row that is alone in its cell is alone in every finer one: it adds f_r(1) to every sum, and need not be
        # looked at again (docs/maths.md, "Family scores by sets")
        counts = np.bincount(cell, minlength=n_cells)
        shared = counts > 1
        number = np.where(shared, np.cumsum(shared) - 1, -1).astype(np.int32)
        return Base(number[cell], max(int(shared.sum()), 1), int((counts == 1).sum()))

    def _own_pay(self, columns: Places, n_bases: int) -> bool:
        """Whether indicators of some columns alone are made for so many bases: to count by fewer takes less time."""
        own, every = sum(self.sizes[c] for c in columns), sum(self.sizes)
        if self._fits(every):
            return n_bases * (every - own) > AS_LONG_AS * own
        return n_bases > AS_LONG_AS and self._fits(own)

    def _fits(self, n_states: int) -> bool:
        return 2 * self.n_rows * n_states <= INDICATOR_BYTES

    @cached_property
    def _every(self) -> Indicators | None:
        """Those of all columns, if they are not too large."""
        return self._indicators(np.arange(len(self.sizes))) if self._fits(sum(self.sizes)) else None

    def _indicators(self, columns: Places) -> Indicators:
        sizes = [self.sizes[c] for c in columns]
        found, places = np.zeros((self.n_rows, sum(sizes)), np.uint16), np.cumsum([0, *sizes[:-1]])
        of_row = np.arange(TOGETHER) * found.shape[1]

        def of_rows(first: int) -> None:
            rows = slice(first, first + TOGETHER)
            flat = found[rows].reshape(-1)
            for column, place in zip(columns, places, strict=True):
                codes = self.codes[column][rows]
                flat[of_row[: len(codes)] + place + codes] = 1

        in_threads(of_rows, range(0, self.n_rows, TOGETHER), rows=self.n_rows)
        return Indicators(found, columns)

    def _counts(self, base: Base, indicators: Indicators, columns: Places) -> NDArray[np.intp]:
        """Rows in each cell of the base by state of each column, [cells, states]."""
        of_rows, cell, n_cells = indicators.of_rows, base.cell, base.n_cells
        if 2 * base.n_single > len(cell):
            kept = cell >= 0
            of_rows, cell = of_rows[kept], cell[kept]
        elif base.n_single:  # to copy the indicators of a row takes as long as to count it, in a cell of no use
            cell, n_cells = np.where(cell < 0, np.int32(n_cells), cell), n_cells + 1
        counts = np.zeros((n_cells, of_rows.shape[1]), np.intp)
        # in 16 bits, and so in blocks of fewer rows than overflow them; the blocks are added in 64
        for first in range(0, len(cell), MOST_COUNTED):
            block = slice(first, first + MOST_COUNTED)
            counts += self._product(cell[block], n_cells) @ of_rows[block]
        if np.array_equal(columns, indicators.columns):
            return counts[: base.n_cells]
        states = np.concatenate([np.arange(self._first[c], self._first[c + 1]) for c in columns])  # among those of all
        return counts[: base.n_cells, states]

    def _product(self, cell: NDArray[np.int32], n_cells: int) -> csc_array:
        """Cells by rows. One is kept for each shape, as SciPy's checks of a new matrix take as long as counting."""
        kept: dict[tuple[int, int], csc_array] = self._own.__dict__.setdefault("products", {})
        known = kept.get((n_cells, len(cell)))
        if known is None:
            ends = np.arange(len(cell) + 1, dtype=np.int32)
            known = csc_array((self._ones[: len(cell)], cell, ends), shape=(n_cells, len(cell)))
            if len(kept) > 100:
                kept.clear()
            kept[n_cells, len(cell)] = known
        known.indices = cell
        return known

    def _one_by_one(self, base: Base, tables: Tables, columns: Places) -> NDArray[np.int64]:
        kept: slice | NDArray[np.bool_] = slice(None) if not base.n_single else base.cell >= 0
        cell = base.cell[kept].astype(np.int64)
        found = np.empty((len(tables), len(columns)), np.int64)
        for i, column in enumerate(columns):
            counts = np.bincount(cell + base.n_cells * self.codes[column][kept].astype(np.int64))
            found[:, i] = [table[counts].sum() for table in tables]
        return found

    def _over_cells(self, counts: NDArray[np.intp], tables: Tables, columns: Places) -> NDArray[np.int64]:
        """Sums of every table over the cells of each column, [tables, columns]."""
        places = np.cumsum([0] + [self.sizes[c] for c in columns])[:-1]
        return np.stack([np.add.reduceat(np.take(table, counts).sum(axis=0), places) for table in tables])
