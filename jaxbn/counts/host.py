"""Counting on the host, by NumPy and SciPy: XLA makes slow loops of scatters on a CPU."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from jaxbn.counts.codes import MOST_CELLS, Codes, Column, cells, compact, narrow
from jaxbn.runtime import limits
from jaxbn.runtime.threads import in_threads

Tables = Sequence[NDArray[np.int64]]
"""R tables by count, [n + 1] each and zero at a count of zero."""

INDICATOR_BYTES = 2**28
"""Indicators of the states of all columns are kept up to this size; beyond, columns are counted one by one."""

MOST_COUNTED = 2**16 - 1
"""Rows that are counted at once: counts are of 16 bits, because half the memory is half the time."""

FEW_CELLS = 4096
"""Bases with more cells are reduced to the cells that matter."""

FEW_CELLS_A_ROW = 8
"""Up to this many cells for each row it is quicker to count the empty ones too than to sort the rows."""


class Base(NamedTuple):
    """Some columns as one: the cell of every row. Cells of a single row may be left out and are counted apart."""

    cell: NDArray[np.int32]  # [n], negative where a row is left out
    n_cells: int
    n_single: int  # rows left out, each alone in its cell


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
        self._indicators: dict[bytes, NDArray[np.uint16]] = {}
        self._own = threading.local()  # what threads change in place (`_product`), each has for itself

    def sums(self, bases: Sequence[tuple[int, ...]], tables: Tables, columns: NDArray[np.intp]) -> NDArray[np.int64]:
        """Sums of tables at the counts of each base with one further column, [bases, tables, columns].

        For a column already in the base: the sums of the base alone.
        """
        places, alone = self._places(columns), np.array([[table[1]] for table in tables])

        def of_base(some: tuple[int, ...]) -> NDArray[np.int64]:
            limits.check()
            base = self._base(some)
            if places is None:
                return self._one_by_one(base, tables, columns) + alone * base.n_single
            return _over_cells(self._counts(base, columns), tables, places) + alone * base.n_single

        return np.stack(in_threads(of_base, bases, rows=self.n_rows))

    def family_sums(
        self, parents: tuple[int, ...], child: int, tables: Tables, columns: NDArray[np.intp]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sums of the first table over parents and child [columns], and of all over the parents [tables, columns].

        The table of the parents is that of the family, summed over the child.
        """
        limits.check()
        base, places = self._base((*parents, child)), self._places(columns)
        all_cells = base.n_cells == math.prod(self.sizes[i] for i in (*parents, child))  # empty ones may be left out
        if places is None or not all_cells:
            return self.sums([(*parents, child)], tables[:1], columns)[0, 0], self.sums([parents], tables, columns)[0]
        counts = self._counts(base, columns)
        without = counts.reshape(-1, self.sizes[child], counts.shape[1]).sum(axis=1)
        return _over_cells(counts, tables[:1], places)[0], _over_cells(without, tables, places)

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

    def _places(self, columns: NDArray[np.intp]) -> NDArray[np.intp] | None:
        """Where the states of every column begin, and where the last ends; none if indicators would be too large."""
        ends = np.cumsum([0] + [self.sizes[c] for c in columns])
        return ends if 2 * self.n_rows * ends[-1] <= INDICATOR_BYTES else None

    def _counts(self, base: Base, columns: NDArray[np.intp]) -> NDArray[np.intp]:
        """Rows in each cell of the base by state of each column, [cells, states]."""
        indicator, cell, n_cells = self._indicator(columns), base.cell, base.n_cells
        if 2 * base.n_single > len(cell):
            kept = cell >= 0
            indicator, cell = indicator[kept], cell[kept]
        elif base.n_single:  # to copy the indicators of a row takes as long as to count it, in a cell of no use
            cell, n_cells = np.where(cell < 0, np.int32(n_cells), cell), n_cells + 1
        counts = np.zeros((n_cells, indicator.shape[1]), np.intp)
        # in 16 bits, and so in blocks of fewer rows than overflow them; the blocks are added in 64
        for first in range(0, len(cell), MOST_COUNTED):
            block = slice(first, first + MOST_COUNTED)
            counts += self._product(cell[block], n_cells) @ indicator[block]
        return counts[: base.n_cells]

    def _indicator(self, columns: NDArray[np.intp]) -> NDArray[np.uint16]:
        """Which states of some columns every row has, [n, states]."""
        # shared by threads without a lock: it is never changed once it is there, and made twice at worst
        key = columns.tobytes()
        known = self._indicators.get(key)
        if known is None:
            place = np.cumsum([0] + [self.sizes[c] for c in columns])
            known = np.zeros((self.n_rows, place[-1]), np.uint16)
            flat, of_row = known.reshape(-1), np.arange(self.n_rows) * place[-1]
            for column, first in zip(columns, place[:-1], strict=True):
                flat[of_row + first + self.codes[column]] = 1
            if len(self._indicators) > 1:
                self._indicators.clear()
            self._indicators[key] = known
        return known

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

    def _one_by_one(self, base: Base, tables: Tables, columns: NDArray[np.intp]) -> NDArray[np.int64]:
        kept: slice | NDArray[np.bool_] = slice(None) if not base.n_single else base.cell >= 0
        cell = base.cell[kept].astype(np.int64)
        found = np.empty((len(tables), len(columns)), np.int64)
        for i, column in enumerate(columns):
            counts = np.bincount(cell + base.n_cells * self.codes[column][kept].astype(np.int64))
            found[:, i] = [table[counts].sum() for table in tables]
        return found


def _over_cells(counts: NDArray[np.intp], tables: Tables, places: NDArray[np.intp]) -> NDArray[np.int64]:
    """Sums of every table over the cells of each column, [R, columns]."""
    return np.stack([np.add.reduceat(np.take(table, counts).sum(axis=0), places[:-1]) for table in tables])
