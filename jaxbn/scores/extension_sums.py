"""Counting the tables of a base with every further column in one go, by SciPy on the host or by a program on a device.

Both give the same whole numbers to the last bit. A CPU counts on the host, because XLA makes loops of scatters there;
any other device has the program.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import jax
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from jaxbn.kernels.set_sums import extension_sums, joint_codes
from jaxbn.runtime import limits
from jaxbn.runtime.devices import batch_bytes
from jaxbn.runtime.shapes import bucket

INDICATOR_BYTES = 2**28
"""Indicators of the states of all columns are kept up to this size; beyond, columns are counted one by one."""

MOST_COUNTED = 2**16 - 1
"""Rows that are counted at once: counts are of 16 bits, because half the memory is half the time."""

FEW_CELLS = 4096
"""Bases with more cells are reduced to the cells that matter."""

FEW_CELLS_A_ROW = 8
"""Up to this many cells for each row it is quicker to count the empty ones too than to sort the rows."""

BASES = 16
"""Bases a device counts in one call."""


Tables = Sequence[NDArray[np.int64]]
"""R tables by count, [n + 1] each and zero at a count of zero."""


class Base(NamedTuple):
    """Some columns as one: the cell of every row. Cells of a single row may be left out and are counted apart."""

    cell: NDArray[np.int32]  # [n], negative where a row is left out
    n_cells: int
    n_single: int  # rows left out, each alone in its cell


class Counter(Protocol):
    """What counts the tables of bases with further columns."""

    def sums(self, members: Sequence[tuple[int, ...]], tables: Tables, columns: NDArray[np.intp]) -> NDArray[np.int64]:
        """Sums over cells [bases, tables, columns]."""

    def family_sums(
        self, parents: tuple[int, ...], child: int, tables: Tables, columns: NDArray[np.intp]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sums of the first table over parents and child [columns], and of all over the parents [tables, columns]."""


def best_counter(codes: NDArray[np.integer], n_states: Sequence[int]) -> Counter:
    """The faster counter for the device in use."""
    return (HostCounter if jax.default_backend() == "cpu" else DeviceCounter)(codes, n_states)


def joint(codes: NDArray[np.integer], n_states: Sequence[int], members: Sequence[int]) -> Base:
    """The joint code of some columns; with many cells only those that hold two rows or more are kept."""
    many = math.prod(n_states[column] for column in members) >= 2**31
    cell: NDArray[np.integer] = np.zeros(codes.shape[1], np.int64 if many else np.int32)
    n_cells = 1
    for column in members:
        if n_cells * n_states[column] > 2**40:
            cell, n_cells = _renumbered(cell)
        cell = cell * n_states[column] + codes[column]
        n_cells *= n_states[column]
    if n_cells <= min(FEW_CELLS, max(codes.shape[1], 64)):
        return Base(cell.astype(np.int32, copy=False), n_cells, 0)
    if n_cells > FEW_CELLS_A_ROW * codes.shape[1]:
        cell, n_cells = _renumbered(cell)
    counts = np.bincount(cell, minlength=n_cells)
    shared = counts > 1
    number = np.where(shared, np.cumsum(shared) - 1, -1).astype(np.int32)
    return Base(number[cell], max(int(shared.sum()), 1), int((counts == 1).sum()))


def _renumbered(cell: NDArray[np.integer]) -> tuple[NDArray[np.int64], int]:
    """The same cells numbered without gaps."""
    distinct, dense = np.unique(cell, return_inverse=True)
    return dense.astype(np.int64), len(distinct)


class HostCounter:
    """Counts with a sparse product: row by row, the indicators of all columns are added to the cell of the base."""

    def __init__(self, codes: NDArray[np.integer], n_states: Sequence[int]) -> None:
        self.codes = codes  # [N, n]
        self.n_states = list(n_states)
        self._indicators: dict[bytes, NDArray[np.uint16]] = {}
        self._ones = np.ones(codes.shape[1], np.uint16)
        self._products: dict[tuple[int, int], csc_array] = {}

    def sums(self, members: Sequence[tuple[int, ...]], tables: Tables, columns: NDArray[np.intp]) -> NDArray[np.int64]:
        """See `Counter`."""
        found = np.empty((len(members), len(tables), len(columns)), np.int64)
        places, alone = self._places(columns), np.array([[table[1]] for table in tables])
        for result, some in zip(found, members, strict=True):
            limits.check()
            base = joint(self.codes, self.n_states, some)
            if places is None:
                self._one_by_one(base, tables, columns, result)
            else:
                _over_cells(self._counts(base, columns), tables, places, result)
            result += alone * base.n_single
        return found

    def family_sums(
        self, parents: tuple[int, ...], child: int, tables: Tables, columns: NDArray[np.intp]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """See `Counter`: the table of the parents is that of the family, summed over the child."""
        limits.check()
        base = joint(self.codes, self.n_states, (*parents, child))
        places = self._places(columns)
        all_cells = base.n_cells == math.prod(self.n_states[i] for i in (*parents, child))  # empty ones may be left out
        if places is None or not all_cells:
            return self.sums([(*parents, child)], tables[:1], columns)[0, 0], self.sums([parents], tables, columns)[0]
        counts = self._counts(base, columns)
        family, without = np.empty((1, len(columns)), np.int64), np.empty((len(tables), len(columns)), np.int64)
        _over_cells(counts, tables[:1], places, family)
        _over_cells(counts.reshape(-1, self.n_states[child], counts.shape[1]).sum(axis=1), tables, places, without)
        return family[0], without

    def _places(self, columns: NDArray[np.intp]) -> NDArray[np.intp] | None:
        """Where the states of every column begin, and where the last ends; none if indicators would be too large."""
        ends = np.cumsum([0] + [self.n_states[c] for c in columns])
        return ends if 2 * self.codes.shape[1] * ends[-1] <= INDICATOR_BYTES else None

    def _counts(self, base: Base, columns: NDArray[np.intp]) -> NDArray[np.intp]:
        """Rows in each cell of the base by state of each column, [cells, states]."""
        indicator, cell = self._indicator(columns), base.cell
        if base.n_single:
            indicator, cell = indicator[cell >= 0], cell[cell >= 0]
        counts = np.zeros((base.n_cells, indicator.shape[1]), np.intp)
        for first in range(0, len(cell), MOST_COUNTED):
            block = slice(first, first + MOST_COUNTED)
            counts += self._product(cell[block], base.n_cells) @ indicator[block]
        return counts

    def _indicator(self, columns: NDArray[np.intp]) -> NDArray[np.uint16]:
        """Which states of some columns every row has, [n, states]."""
        key = columns.tobytes()
        if key not in self._indicators:
            if len(self._indicators) > 1:
                self._indicators.clear()
            place = np.cumsum([0] + [self.n_states[c] for c in columns])
            made = np.zeros((self.codes.shape[1], place[-1]), np.uint16)
            flat, of_row = made.reshape(-1), np.arange(len(made)) * place[-1]
            for column, first in zip(columns, place[:-1], strict=True):
                flat[of_row + first + self.codes[column]] = 1
            self._indicators[key] = made
        return self._indicators[key]

    def _product(self, cell: NDArray[np.int32], n_cells: int) -> csc_array:
        """Cells by rows; the one of a shape is used again, because checking a new one takes as long as counting."""
        known = self._products.get((n_cells, len(cell)))
        if known is None:
            ends = np.arange(len(cell) + 1, dtype=np.int32)
            known = csc_array((self._ones[: len(cell)], cell, ends), shape=(n_cells, len(cell)))
            if len(self._products) > 100:
                self._products.clear()
            self._products[n_cells, len(cell)] = known
        known.indices = cell
        return known

    def _one_by_one(self, base: Base, tables: Tables, columns: NDArray[np.intp], result: NDArray[np.int64]) -> None:
        counted = slice(None) if not base.n_single else base.cell >= 0
        cell = base.cell[counted].astype(np.int64)
        for i, column in enumerate(columns):
            counts = np.bincount(cell + base.n_cells * self.codes[column][counted].astype(np.int64))
            for r, table in enumerate(tables):
                result[r, i] = table[counts].sum()


def _over_cells(counts: NDArray[np.intp], tables: Tables, places: NDArray[np.intp], result: NDArray[np.int64]) -> None:
    """Sums of every table over the cells of each column, into [R, columns]."""
    for r, table in enumerate(tables):
        result[r] = np.add.reduceat(np.take(table, counts).sum(axis=0), places[:-1])


class DeviceCounter:
    """Counts on a device, where the codes stay; a few sizes of programs, whatever the sets."""

    def __init__(self, codes: NDArray[np.integer], n_states: Sequence[int]) -> None:
        self.codes, self.n_states = codes, list(n_states)
        n_rows = bucket(codes.shape[1], 512)
        padded = np.zeros((len(codes) + 1, n_rows), np.int32)
        padded[:-1, : codes.shape[1]] = codes
        n_places = bucket(sum(n_states), 64)
        indicator = np.zeros((n_rows, n_places), np.int8)
        owner, place = np.zeros(n_places, np.int32), 0
        for column, states in enumerate(n_states):
            indicator[: codes.shape[1], place : place + states] = codes[column][:, None] == np.arange(states)
            owner[place : place + states] = column
            place += states
        self._codes, self._indicator, self._owner = jax.device_put((padded, indicator, owner))
        self._states = jax.device_put(np.array([*n_states, 1], np.int32))

    def sums(self, members: Sequence[tuple[int, ...]], tables: Tables, columns: NDArray[np.intp]) -> NDArray[np.int64]:
        """See `Counter`; all columns are counted, and those asked for returned."""
        found = np.empty((len(members), len(tables), len(columns)), np.int64)
        n_tables = bucket(len(tables), 4)
        wide = np.zeros((n_tables, self._codes.shape[1] + 1), np.int64)
        for row, table in zip(wide, tables, strict=False):
            row[: len(table)] = table
        sizes = [int(np.prod([self.n_states[c] for c in some], dtype=object)) for some in members]
        few = [i for i, size in enumerate(sizes) if size <= FEW_CELLS]
        many = [i for i, size in enumerate(sizes) if size > FEW_CELLS]
        with jax.enable_x64(True):
            for bound in sorted({self._bucket(sizes[i]) for i in few}):
                same = [i for i in few if self._bucket(sizes[i]) == bound]
                at_once = self._at_once(bound)
                for first in range(0, len(same), at_once):
                    chosen = same[first : first + at_once]
                    cells = self._joint([members[i] for i in chosen], at_once)
                    found[chosen] = self._counted(cells, wide, bound)[: len(chosen), : len(tables), columns]
            for i in many:
                base = joint(self.codes, self.n_states, members[i])
                bound = bucket(base.n_cells, FEW_CELLS, 8)
                cells = np.full((1, self._codes.shape[1]), bound, np.int32)
                cells[0, : len(base.cell)] = np.where(base.cell < 0, bound, base.cell)
                found[i] = self._counted(cells, wide, bound)[0, : len(tables), columns].T
                found[i] += np.array([[table[1]] for table in tables]) * base.n_single
        return found

    def family_sums(
        self, parents: tuple[int, ...], child: int, tables: Tables, columns: NDArray[np.intp]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """See `Counter`."""
        family, without = self.sums([(*parents, child), parents], tables, columns)
        return family[0], without

    @staticmethod
    def _bucket(n_cells: int) -> int:
        return bucket(n_cells, 64, 8)

    def _at_once(self, n_cells: int) -> int:
        """Bases of one call: as many as memory allows, up to a fixed number."""
        each = 4 * self._codes.shape[1] + 12 * n_cells * self._indicator.shape[1]
        return max(min(BASES, batch_bytes() // each), 1)

    def _joint(self, members: list[tuple[int, ...]], size: int) -> NDArray[np.int32]:
        """Joint codes on the device; padding rows lie in cell 0 and have no state, so they add nothing."""
        width = bucket(max(len(some) for some in members), 4)
        table = np.full((size, width), len(self.n_states), np.int32)
        for row, some in zip(table, members, strict=False):
            row[: len(some)] = some
        return joint_codes(self._codes, self._states, table)

    def _counted(self, cells: NDArray[np.int32], tables: NDArray[np.int64], n_cells: int) -> NDArray[np.int64]:
        n_columns = len(self.n_states)
        return np.asarray(
            extension_sums(cells, self._indicator, self._owner, tables, n_cells=n_cells, n_columns=n_columns)
        )
