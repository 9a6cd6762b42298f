"""Counting on a device or on a mesh of them: codes are sent there once, and only counts and sums come back."""

from __future__ import annotations

import math
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from numpy.typing import NDArray

from jaxbn.counts.codes import Column, cells
from jaxbn.counts.host import Counts, HostCounter, Places, Tables, counts_of
from jaxbn.kernels.counting import (
    CHUNK,
    LAST,
    MOST_PRODUCT,
    ROWS,
    Terms,
    extension_sums,
    family_sums,
    indicator_of,
    joint_codes,
    position_counts,
    set_counts,
)
from jaxbn.runtime import limits
from jaxbn.runtime.devices import accelerators, batch_bytes, devices_in_use, double
from jaxbn.runtime.shapes import bucket
from jaxbn.runtime.threads import MANY_ROWS, in_threads

FEWEST_ROWS = MANY_ROWS  # fewer rows are counted by the host in less time than a device is asked
AT_ONCE = (1, 4, 16)  # bases of one call: few sizes of programs, whatever is asked for

_sent: dict[tuple[int, Any], tuple[Any, Array]] = {}
"""What was made of arrays of the host, by the identity of each; it stays on the devices as long as that array lives."""


class Rows:
    """Where the rows of a table lie: on some devices, padded to equal shares."""

    def __init__(self, n: int, devices: tuple[Any, ...]) -> None:
        self.n, self.devices = n, devices
        each = -(-n // len(devices))
        self.padded = len(devices) * (bucket(each, 64) if each <= CHUNK else -(-each // CHUNK) * CHUNK)
        self.mesh = Mesh(np.array(devices), (ROWS,)) if len(devices) > 1 else None

    def put(self, array: NDArray[Any], axis: str | None = ROWS) -> Array:
        """An array split by rows, or whole on every device."""
        if self.mesh is None:
            return jax.device_put(array, self.devices[0])
        return jax.device_put(array, NamedSharding(self.mesh, PartitionSpec(axis)))  # type: ignore[no-untyped-call]

    def kept(self, array: NDArray[Any], made: Callable[[NDArray[Any]], NDArray[Any]], axis: str | None = ROWS) -> Array:
        """What is made of an array, sent once."""
        key = id(array), self.devices
        if key not in _sent:
            _sent[key] = weakref.ref(array, lambda _: _sent.pop(key, None)), self.put(made(array), axis)
        return _sent[key][1]

    def codes(self, columns: Sequence[Column], n_columns: int) -> Array:
        """The codes of some columns, and of columns of one state up to that many, [n_columns, padded]."""
        kinds = [np.min_scalar_type(column.n_states) for column in columns]
        every = [self.kept(c.codes, partial(self._filled, kind)) for c, kind in zip(columns, kinds, strict=True)]
        widest = np.result_type(np.uint8, *kinds).name
        return _stacked([*every, *[self.weights] * (n_columns - len(every))], len(every), kind=widest)

    def _filled(self, kind: np.dtype[Any], codes: NDArray[np.integer]) -> NDArray[np.unsignedinteger]:
        return np.pad(codes.astype(kind), (0, self.padded - self.n))

    def ranks(self, orders: Sequence[NDArray[np.integer]]) -> Array:
        """The place of each row in some orders, [orders, padded]."""
        return _stacked([self.kept(order, self._inverse) for order in orders], len(orders), kind="int32")

    def _inverse(self, order: NDArray[np.integer]) -> NDArray[np.int32]:
        found = np.full(self.padded, LAST, np.int32)
        found[order] = np.arange(len(order), dtype=np.int32)
        return found

    @cached_property
    def weights(self) -> Array:
        """One for each row, and zero for those that are padded, int32 [padded]."""
        return self.put((np.arange(self.padded) < self.n).astype(np.int32))


_rows = lru_cache(maxsize=4)(Rows)


@partial(jax.jit, static_argnames=("kind",))
def _stacked(arrays: list[Array], n: int, *, kind: str) -> Array:
    """Arrays as the rows of one, those from the nth on as zeros."""
    return jnp.stack([jnp.where(i < n, each, 0).astype(kind) for i, each in enumerate(arrays)])


class DeviceCounter:
    """What `HostCounter` does, with the columns on a device, or with their rows split over several."""

    all_columns = True

    def __init__(self, columns: Sequence[Column]) -> None:
        self.sizes = tuple(int(column.n_states) for column in columns)
        self.rows = _rows(len(columns[0].codes), devices_in_use())
        # One more column, of one state: sets of fewer members are filled up with it, which changes no cell. Padded rows
        # have codes too, but no weight.
        with double():
            self.codes = self.rows.codes(columns, len(columns) + 1)
        self._host = cache(partial(HostCounter, columns))  # for what has too many cells
        self._states = np.array([*self.sizes, 1], np.int32)

    def sums(self, asked: Sequence[tuple[tuple[int, ...], Places]], tables: Tables) -> list[NDArray[np.int64]]:
        """See `HostCounter`; all columns are counted, and those asked for returned."""
        found = dict[int, NDArray[np.int64]]()
        many = [i for i, (base, _) in enumerate(asked) if self._n_cells(base) > MOST_PRODUCT]
        if many:
            found |= zip(many, self._host().sums([asked[i] for i in many], tables), strict=True)
        with double():
            for bound, chosen, joint in self._joined([base for base, _ in asked]):
                sums = self._answer(extension_sums, tables, bound, joint)
                found |= {i: own[:, asked[i][1]] for i, own in zip(chosen, sums, strict=False)}
        return [found[i] for i in range(len(asked))]

    def family_sums(
        self, parents: tuple[int, ...], child: int, tables: Tables, columns: Places
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """See `HostCounter`."""
        family = (*parents, child)
        if self._n_cells(family) > MOST_PRODUCT:
            return self._host().family_sums(parents, child, tables, columns)
        with double():
            ((bound, _, joint),) = self._joined([family])
            own, without = self._answer(family_sums, tables, bound, joint, np.array([self.sizes[child]], np.int32))
        return own[0, 0, columns], without[0][:, columns]

    def _n_cells(self, some: Sequence[int]) -> int:
        return math.prod(self.sizes[c] for c in some)

    def _joined(self, sets: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, list[int], Array]]:
        """Sets of like size, a few at a time: how many cells they may have, which they are, and the cells of the rows.

        Those with more cells than a product counts are left out.
        """
        alike: dict[tuple[int, int], list[int]] = defaultdict(list)
        for i, some in enumerate(sets):
            if self._n_cells(some) <= MOST_PRODUCT:
                alike[bucket(self._n_cells(some), 64, 8), bucket(len(some), 4)].append(i)
        for (bound, width), members in sorted(alike.items()):
            while members:
                limits.check()
                # as many sets as there are and as the memory allows, but only numbers that a program exists for
                size = max(k for k in AT_ONCE if k == 1 or (k <= len(members) and self._fits(k, bound)))
                chosen, members = members[:size], members[size:]
                table = np.full((size, width), len(self.sizes), np.int32)
                for row, i in zip(table, chosen, strict=True):
                    row[width - len(sets[i]) :] = sets[i]
                yield bound, chosen, joint_codes(self.codes, self._states, table)

    def _fits(self, n_sets: int, n_cells: int) -> bool:
        # bytes of a set: cells of all rows, counts (4) with the entries looked up for them (8), indicators of a chunk
        each = 4 * self.codes.shape[1] + 12 * n_cells * sum(self.sizes) + n_cells * CHUNK
        return n_sets * each <= batch_bytes()

    def _answer(self, program: Any, tables: Tables, n_cells: int, *given: Any) -> Any:
        units = [self.rows.kept(table, np.asarray, None) for table in tables]
        shape = {"n_cells": n_cells, "n_columns": len(self.sizes), "mesh": self.rows.mesh}
        return jax.device_get(program(*given, *self._indicator, _stacked(units, len(units), kind="int64"), **shape))

    @cached_property
    def _indicator(self) -> tuple[Array, Array]:
        """The indicator of the states of all columns, weights included, and the column of every state."""
        n_states = bucket(sum(self.sizes), 64)
        owner, state = np.zeros(n_states, np.int32), np.full(n_states, -1, np.int32)
        owner[: sum(self.sizes)] = np.repeat(np.arange(len(self.sizes)), self.sizes)
        state[: sum(self.sizes)] = np.concatenate([np.arange(size) for size in self.sizes])
        return indicator_of(self.codes, owner, state, self.rows.weights), self.rows.put(owner, None)


class Deferred:
    """Some columns as one compact code, in an order of the rows, which a device counts.

    Codes are made when they are looked at: those of some ranks by an index, all of them by ``np.asarray``.
    """

    def __init__(self, columns: Sequence[Column], counts: NDArray[np.int64], order: NDArray[np.integer]) -> None:
        seen = counts.reshape(-1) > 0
        self.columns, self.order = tuple(columns), order
        self.counts = counts.reshape(-1)[seen]  # of each code
        self.number = np.where(seen, np.cumsum(seen) - 1, -1).astype(np.int32)  # by cell, -1 if there is no row in it

    @cached_property
    def array(self) -> NDArray[np.int32]:
        """The codes, [n]."""
        of_row, _ = cells([(column.codes, column.n_states) for column in self.columns], len(self.order))
        return self.number[of_row][self.order]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.array, dtype, copy=copy)

    def __getitem__(self, ranks: Any) -> Any:
        if "array" in self.__dict__:
            return self.array[ranks]
        rows = self.order[ranks]
        of_row, _ = cells([(column.codes[rows], column.n_states) for column in self.columns], len(rows))
        return self.number[of_row]

    def __len__(self) -> int:
        return len(self.order)


class _Batch:
    """Sets of columns of tables of one length, on the device; numbers of sets and columns are rounded up."""

    def __init__(self, sets: Sequence[Sequence[Column]]) -> None:
        columns = list({id(column.codes): column for some in sets for column in some}.values())
        place = {id(column.codes): i for i, column in enumerate(columns)}
        self.rows, size = _rows(len(columns[0].codes), devices_in_use()), bucket(len(columns) + 1, 8, 4)
        self.codes = self.rows.codes(columns, size)
        self.sizes = np.array([c.n_states for c in columns] + [1] * (size - len(columns)), np.int32)
        self.members = np.full((bucket(len(sets), 4, 4), bucket(max(map(len, sets)), 4)), len(columns), np.int32)
        for row, some in zip(self.members, sets, strict=False):
            row[len(row) - len(some) :] = [place[id(column.codes)] for column in some]


def suits_device(some: Sequence[Column], n_rows: int) -> bool:
    """Whether there is an accelerator that counts a set of columns in less time than the host."""
    few_cells = math.prod(column.n_states for column in some) <= MOST_PRODUCT
    return few_cells and n_rows >= FEWEST_ROWS and bool(accelerators())


def counts_of_sets(sets: Sequence[Sequence[Column]]) -> list[Counts]:
    """The counts of some sets of columns, all at once; rows that lack one of a set's columns are left out of it."""
    n_rows = len(sets[0][0].codes) if sets else 0
    there = [some for some in sets if suits_device(some, n_rows) and all(c.codes.min(initial=0) >= 0 for c in some)]
    tables = {id(some): own for some, own in zip(there, tables_of(there) if there else [], strict=True)}

    def count(some: Sequence[Column]) -> Counts:
        limits.check()
        if id(some) in tables:
            return Counts.of_table(tables[id(some)])
        return counts_of([(column.codes, column.n_states) for column in some])

    return in_threads(count, sets, rows=n_rows)


def tables_of(sets: Sequence[Sequence[Column]]) -> list[NDArray[np.int64]]:
    """The counts of some sets of columns, each of up to `MOST_PRODUCT` cells, [*states]."""
    shapes = [tuple(column.n_states for column in some) for some in sets]
    n_cells = bucket(max(map(math.prod, shapes)), 512, 8)
    with double():
        batch = _Batch(sets)
        given = batch.codes, batch.sizes, batch.members, batch.rows.weights
        found = np.asarray(set_counts(*given, n_cells=n_cells, mesh=batch.rows.mesh), np.int64)
    return [own[: math.prod(shape)].reshape(shape) for own, shape in zip(found, shapes, strict=False)]


def counts_at(problems: Sequence[tuple[NDArray[np.integer], Sequence[Deferred]]], n_cells: int, n_groups: int) -> Array:
    """Rows by cell and by position of some problems, int32 [at least as many, n_cells, n_groups], on the device.

    A problem has positions [G + 1] in an order of the rows, and codes in that order, whose cells follow each other.
    """
    size, terms = bucket(len(problems), 1, 4), [(i, term) for i, (_, some) in enumerate(problems) for term in some]
    positions = np.full((size, n_groups + 1), LAST, np.int32)
    for row, (some, _) in zip(positions, problems, strict=False):
        row[: len(some)] = some
    with double():
        batch = _Batch([term.columns for _, term in terms])
        longest = bucket(max(len(term.number) for _, term in terms), 512, 8)
        number, problem = np.full((len(batch.members), longest), -1, np.int32), np.zeros(len(batch.members), np.int32)
        first = [0] * len(problems)
        for f, (i, term) in enumerate(terms):
            number[f, : len(term.number)] = np.where(term.number < 0, -1, term.number + first[i])
            problem[f], first[i] = i, first[i] + len(term.counts)
        orders = [problems[min(i, len(problems) - 1)][1][0].order for i in range(size)]
        sets: Any = batch.members, number, problem
        given = batch.codes, batch.sizes, batch.rows.ranks(orders), positions, Terms(*sets)
        return position_counts(*given, n_cells=n_cells, mesh=batch.rows.mesh)


Counter = HostCounter | DeviceCounter


def best_counter(columns: Sequence[Column]) -> Counter:
    """Columns counted where it is quickest: on accelerators if there are any, else on the host."""
    return (DeviceCounter if accelerators() else HostCounter)(columns)
