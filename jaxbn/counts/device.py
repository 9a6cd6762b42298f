"""Counting on a device or on a mesh of them: codes are sent there once, and only counts and sums come back."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from numpy.typing import NDArray

from jaxbn.counts.codes import MOST_CELLS, Column
from jaxbn.counts.host import HostCounter, Tables
from jaxbn.kernels.counting import CHUNK, MOST_PRODUCT, ROWS, extension_sums, joint_codes, observed_cells, renumbered
from jaxbn.runtime import limits
from jaxbn.runtime.devices import accelerators, batch_bytes, devices_in_use, double
from jaxbn.runtime.shapes import bucket

AT_ONCE = (1, 4, 16)
"""Bases of one call: few sizes of programs, whatever is asked for."""


class DeviceCounter:
    """What `HostCounter` does, with the columns on a device, or with their rows split over several."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.sizes = tuple(int(column.n_states) for column in columns)
        devices = devices_in_use()
        self.mesh = Mesh(np.array(devices), (ROWS,)) if len(devices) > 1 else None
        self._device = devices[0]
        n, kind = len(columns[0].codes), np.min_scalar_type(max(self.sizes))
        each = bucket(-(-n // len(devices)), 64)
        n_rows = len(devices) * (each if each <= CHUNK else -(-n // (CHUNK * len(devices))) * CHUNK)
        # One more column, of one state: sets of fewer members are filled up with it, which changes no cell. Padded rows
        # have codes too, but no weight.
        codes = np.zeros((len(columns) + 1, n_rows), kind)
        for row, column in zip(codes, columns, strict=False):
            row[:n] = column.codes
        self.codes = self._put(codes, None, ROWS)  # [N + 1, n], on the device
        self.weights = self._put((np.arange(n_rows) < n).astype(np.int32), ROWS)
        self._states = np.array([*self.sizes, 1])
        self._indicator: tuple[Array, Array] | None = None
        self._tables: tuple[list[NDArray[np.int64]], Array] | None = None

    def sums(self, bases: Sequence[tuple[int, ...]], tables: Tables, columns: NDArray[np.intp]) -> NDArray[np.int64]:
        """See `HostCounter`; all columns are counted, and those asked for returned."""
        found = np.empty((len(bases), len(tables), len(columns)), np.int64)
        with double():
            for bound, chosen, joint in self._joined(bases):
                if bound <= MOST_PRODUCT:
                    found[chosen] = self._summed(joint, tables, bound)[: len(chosen), :, columns]
                    continue
                cells, (n_cells, n_single) = renumbered(joint[0], self.weights)
                own = self._summed(cells[None], tables, bucket(int(n_cells), 2 * MOST_PRODUCT, 8))
                found[chosen] = own[:, :, columns] + np.array([[table[1]] for table in tables]) * int(n_single)
        return found

    def family_sums(
        self, parents: tuple[int, ...], child: int, tables: Tables, columns: NDArray[np.intp]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """See `HostCounter`."""
        return self.sums([(*parents, child)], tables[:1], columns)[0, 0], self.sums([parents], tables, columns)[0]

    def _joined(self, sets: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, list[int], Array]]:
        """Sets of like size, a few at a time: how many cells they may have, which they are, and the cells of the rows.

        Those with more cells than a product counts come one by one, as if they had `MOST_CELLS`, or twice that if they
        have more.
        """
        alike: dict[tuple[int, int], list[int]] = defaultdict(list)
        for i, some in enumerate(sets):
            n_cells = math.prod(self.sizes[c] for c in some)
            few = n_cells <= MOST_PRODUCT
            bound = min(bucket(n_cells, 64, 8), MOST_PRODUCT) if few else MOST_CELLS * (1 + (n_cells >= MOST_CELLS))
            alike[bound, bucket(len(some), 4)].append(i)
        for (bound, width), members in sorted(alike.items()):
            if bound > MOST_CELLS:
                yield from ((bound, [i], self._ranked(sets[i])[None]) for i in members)
                continue
            kind = np.int32 if bound < 2**31 else np.int64
            while members:
                limits.check()
                # as many sets as there are and as the memory allows, but only numbers that a program exists for
                size = max(k for k in AT_ONCE if k == 1 or (k <= len(members) and self._fits(k, bound)))
                chosen, members = members[:size], members[size:]
                table = np.full((size, width), len(self.sizes), np.int32)
                for row, i in zip(table, chosen, strict=True):
                    row[width - len(sets[i]) :] = sets[i]
                yield bound, chosen, joint_codes(self.codes, self._states.astype(kind), table)

    def _ranked(self, some: Sequence[int]) -> Array:
        """Cells renumbered after every column: where there could be more than a number can hold."""
        cell = joint_codes(self.codes, self._states, np.array([some[:1]], np.int32))[0]
        for column in some[1:]:
            *_, place = observed_cells(cell, self.weights)
            cell = place.astype(np.int64) * self.sizes[column] + self.codes[column]
        return cell

    def _fits(self, n_sets: int, n_cells: int) -> bool:
        # bytes of a set: cells of all rows, counts (4) with the entries looked up for them (8), indicators of a chunk
        each = 4 * self.codes.shape[1] + 12 * n_cells * sum(self.sizes) + n_cells * CHUNK
        return n_cells < MOST_CELLS and n_sets * each <= batch_bytes()

    def _summed(self, joint: Array, tables: Tables, n_cells: int) -> NDArray[np.int64]:
        if self._indicator is None:
            self._indicator = self._indicated()
        if self._tables is None or not _same(self._tables[0], tables):
            self._tables = list(tables), self._put(np.stack(tables))
        found = extension_sums(
            joint, *self._indicator, self._tables[1], n_cells=n_cells, n_columns=len(self.sizes), mesh=self.mesh
        )
        return np.asarray(found)

    def _indicated(self) -> tuple[Array, Array]:
        """The indicator of the states of all columns, weights included, and the column of every state."""
        n_states = bucket(sum(self.sizes), 64)
        owner, state = np.zeros(n_states, np.int32), np.full(n_states, -1, np.int32)
        owner[: sum(self.sizes)] = np.repeat(np.arange(len(self.sizes)), self.sizes)
        state[: sum(self.sizes)] = np.concatenate([np.arange(size) for size in self.sizes])
        shown = (state == self.codes[owner].T) * self.weights[:, None]
        return shown.astype(np.int8), self._put(owner)

    def _put(self, array: NDArray[Any], *axes: str | None) -> Array:
        if self.mesh is None:
            return jax.device_put(array, self._device)
        return jax.device_put(array, NamedSharding(self.mesh, PartitionSpec(*axes)))  # type: ignore[no-untyped-call]


def _same(some: Tables, others: Tables) -> bool:
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


Counter = HostCounter | DeviceCounter


def best_counter(columns: Sequence[Column]) -> Counter:
    """Columns counted where it is quickest: on accelerators if there are any, else on the host."""
    return (DeviceCounter if accelerators() else HostCounter)(columns)
