"""Counting on the host, by NumPy and SciPy: XLA makes slow loops of scatters on a CPU."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from jaxbn.counts.codes import Codes, Column, cells, compact, joint, narrow
from jaxbn.counts.counter import Counter, Counts, Tables, check_cells
from jaxbn.runtime import limits
from jaxbn.runtime.threads import in_threads

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


def base_of(columns: Sequence[tuple[Codes, int]], n_rows: int) -> Base:
    """The cell of some columns; with many cells only those that hold two rows or more are kept."""
    cell, n_cells = cells(columns, n_rows, 2**40)
    if n_cells <= min(FEW_CELLS, max(n_rows, 64)):
        return Base(cell.astype(np.int32, copy=False), n_cells, 0)
    if n_cells > FEW_CELLS_A_ROW * n_rows:
        cell, n_cells = compact(cell)
    # a row that is alone in its cell is alone in every finer one: it adds f_r(1) to every sum, and need not be looked
    # at again (docs/maths.md, "Family scores by sets")
    counts = np.bincount(cell, minlength=n_cells)
    shared = counts > 1
    number = np.where(shared, np.cumsum(shared) - 1, -1).astype(np.int32)
    return Base(number[cell], max(int(shared.sum()), 1), int((counts == 1).sum()))


def counts_of(columns: Sequence[tuple[Codes, int]], weights: Codes | None = None, n_rows: int | None = None) -> Counts:
    """The counts of some columns, with the weights of the rows if these have any.

    Args:
        columns: codes [n], negative where an entry is missing, and how many states there are.
        weights: whole numbers [n].
        n_rows: n, for the case of no columns.

    Example:
        >>> counts_of([(np.array([0, 1, 1, -1]), 2)]).table.tolist()
        [1, 2]
    """
    n = len(columns[0][0]) if n_rows is None else n_rows
    lacking = [codes < 0 for codes, _ in columns if codes.min(initial=0) < 0]
    if not lacking:
        return _counts(columns, weights, n)
    known = ~np.logical_or.reduce(lacking)
    some = [(codes[known], size) for codes, size in columns]
    return _counts(some, None if weights is None else weights[known], int(known.sum()))


def _counts(columns: Sequence[tuple[Codes, int]], weights: Codes | None, n: int) -> Counts:
    shape = check_cells(tuple(size for _, size in columns))
    cell, n_cells = cells(columns, n)
    if n_cells <= FEW_CELLS_A_ROW * n + 1024:
        table = np.bincount(cell, weights, n_cells)
        found = np.flatnonzero(table)
        return Counts(shape, found, table[found].astype(np.int64, copy=False))
    found, place = np.unique(cell, return_inverse=True)
    count = np.bincount(place, weights, len(found)).astype(np.int64, copy=False)
    seen = count > 0
    return Counts(shape, found[seen].astype(np.int64), count[seen])


class HostCounter(Counter):
    """Columns in memory.

    A base is counted with all further columns by one product, of a sparse matrix of cells by rows and a dense one of
    rows by the states of all columns.
    """

    def __init__(self, columns: Sequence[Column], weights: NDArray[np.integer] | None = None) -> None:
        self.sizes = tuple(int(column.n_states) for column in columns)
        self.codes = [column.codes.astype(narrow(column.n_states), copy=False) for column in columns]
        self.n_rows, self.weights = len(columns[0].codes), weights
        self._added = np.ones(self.n_rows, np.uint16) if weights is None else weights.astype(np.int64)
        self._lacking = {i for i, codes in enumerate(self.codes) if codes.min(initial=0) < 0}
        self._indicators: dict[bytes, NDArray[np.integer]] = {}
        self._own = threading.local()  # what threads change in place (`_product`), each has for itself

    def count(self, sets: Sequence[Sequence[int]]) -> list[Counts]:
        """See `Counter`."""

        def of_set(some: Sequence[int]) -> Counts:
            count = counts_of if self._lacking.intersection(some) else _counts
            return count(self._members(some), self.weights, self.n_rows)

        return in_threads(of_set, sets, rows=self.n_rows)

    def sums(self, bases: Sequence[tuple[int, ...]], tables: Tables, columns: NDArray[np.intp]) -> NDArray[np.int64]:
        """See `Counter`."""
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
        """See `Counter`: the table of the parents is that of the family, summed over the child."""
        limits.check()
        base, places = self._base((*parents, child)), self._places(columns)
        all_cells = base.n_cells == math.prod(self.sizes[i] for i in (*parents, child))  # empty ones may be left out
        if places is None or not all_cells:
            return super().family_sums(parents, child, tables, columns)
        counts = self._counts(base, columns)
        without = counts.reshape(-1, self.sizes[child], counts.shape[1]).sum(axis=1)
        return _over_cells(counts, tables[:1], places)[0], _over_cells(without, tables, places)

    def _members(self, some: Sequence[int]) -> list[tuple[Codes, int]]:
        return [(self.codes[i], self.sizes[i]) for i in some]

    def _base(self, some: Sequence[int]) -> Base:
        """The base of some columns. Rows that are alone in their cell are left out only where no row has a weight."""
        if self.weights is None:
            return base_of(self._members(some), self.n_rows)
        return Base(*joint(self._members(some), self.n_rows), 0)

    def _places(self, columns: NDArray[np.intp]) -> NDArray[np.intp] | None:
        """Where the states of every column begin, and where the last ends; none if indicators would be too large."""
        ends = np.cumsum([0] + [self.sizes[c] for c in columns])
        return ends if 2 * self.n_rows * ends[-1] <= INDICATOR_BYTES else None

    def _counts(self, base: Base, columns: NDArray[np.intp]) -> NDArray[np.intp]:
        """Rows in each cell of the base by state of each column, [cells, states]."""
        indicator, cell, added, n_cells = self._indicator(columns), base.cell, self._added, base.n_cells
        if 2 * base.n_single > len(cell):
            kept = cell >= 0
            indicator, cell = indicator[kept], cell[kept]
        elif base.n_single:  # to copy the indicators of a row takes as long as to count it, in a cell of no use
            cell, n_cells = np.where(cell < 0, np.int32(n_cells), cell), n_cells + 1
        counts = np.zeros((n_cells, indicator.shape[1]), np.intp)
        # in 16 bits, and so in blocks of fewer rows than overflow them; the blocks are added in 64
        for first in range(0, len(cell), MOST_COUNTED):
            block = slice(first, first + MOST_COUNTED)
            counts += self._product(cell[block], n_cells, added[: len(cell)][block]) @ indicator[block]
        return counts[: base.n_cells]

    def _indicator(self, columns: NDArray[np.intp]) -> NDArray[np.integer]:
        """Which states of some columns every row has, [n, states]."""
        # shared by threads without a lock: it is never changed once it is there, and made twice at worst
        key = columns.tobytes()
        known = self._indicators.get(key)
        if known is None:
            place = np.cumsum([0] + [self.sizes[c] for c in columns])
            known = np.zeros((self.n_rows, place[-1]), self._added.dtype)
            flat, of_row = known.reshape(-1), np.arange(self.n_rows) * place[-1]
            for column, first in zip(columns, place[:-1], strict=True):
                flat[of_row + first + self.codes[column]] = 1
            if len(self._indicators) > 1:
                self._indicators.clear()
            self._indicators[key] = known
        return known

    def _product(self, cell: NDArray[np.int32], n_cells: int, added: NDArray[np.integer]) -> csc_array:
        """Cells by rows. One is kept for each shape, as SciPy's checks of a new matrix take as long as counting."""
        kept: dict[tuple[int, int], csc_array] = self._own.__dict__.setdefault("products", {})
        known = kept.get((n_cells, len(cell)))
        if known is None:
            ends = np.arange(len(cell) + 1, dtype=np.int32)
            known = csc_array((added, cell, ends), shape=(n_cells, len(cell)))
            if len(kept) > 100:
                kept.clear()
            kept[n_cells, len(cell)] = known
        known.indices, known.data = cell, added
        return known

    def _one_by_one(self, base: Base, tables: Tables, columns: NDArray[np.intp]) -> NDArray[np.int64]:
        kept: slice | NDArray[np.bool_] = slice(None) if not base.n_single else base.cell >= 0
        cell, weights = base.cell[kept].astype(np.int64), None if self.weights is None else self.weights[kept]
        found = np.empty((len(tables), len(columns)), np.int64)
        for i, column in enumerate(columns):
            codes = self.codes[column][kept].astype(np.int64)
            counts = np.bincount(cell + base.n_cells * codes, weights).astype(np.intp, copy=False)
            found[:, i] = [table[counts].sum() for table in tables]
        return found


def _over_cells(counts: NDArray[np.intp], tables: Tables, places: NDArray[np.intp]) -> NDArray[np.int64]:
    """Sums of every table over the cells of each column, [R, columns]."""
    return np.stack([np.add.reduceat(np.take(table, counts).sum(axis=0), places[:-1]) for table in tables])
