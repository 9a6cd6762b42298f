"""Counts of many sets of columns in one pass over rows.

A request is a tuple of coded columns; the answer is an int64 table with an axis for each of them, whose last place is
that of missing entries. Counts of parts of the rows add up, wherever the parts are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.counts.codes import cells
from jaxbn.inputs.columns import MISSING, Level, as_floats, encode
from jaxbn.inputs.later import pa
from jaxbn.inputs.missing import MISSING_LEVEL
from jaxbn.inputs.states import signed_name
from jaxbn.inputs.units import NUMBER, Unit

Batches = Iterable[tuple[int, Any]]  # pairs of the number of a batch's first row in its source, and the batch


@dataclass(frozen=True, eq=False)
class Coded:
    """How a column becomes whole numbers."""

    name: str
    cuts: NDArray[np.float64] | None = None  # of a continuous column; bins are closed on the left
    unit: Unit = NUMBER
    levels: tuple[Level, ...] = ()  # of a discrete column
    groups: NDArray[np.int32] | None = None  # of each level, where they are merged; the last is that of all others

    @property
    def size(self) -> int:
        """States, without that of missing entries."""
        if self.cuts is not None:
            return len(self.cuts) + 1
        return len(self.levels) if self.groups is None else int(self.groups.max()) + 1

    def lookup(self, cuts: NDArray[np.float64] | None) -> NDArray[np.intp]:
        """The state of each position among more cuts, or of each level; missing entries come last."""
        if self.cuts is not None:
            assert cuts is not None
            states = np.concatenate([[0], np.searchsorted(self.cuts, cuts, side="right")])
        else:
            states = np.arange(len(self.levels)) if self.groups is None else self.groups[: len(self.levels)]
        return np.append(states, self.size).astype(np.intp)

    def codes(self, batch: Any) -> NDArray[np.signedinteger]:
        """Positions among the cuts or levels [rows], the last one for missing entries."""
        of = signed_name(self.name)
        if of is not None and self.name not in batch.schema.names:  # whether another column is missing
            return level_codes(self.name, batch.column(of).is_null(nan_is_null=True), self.levels)
        column = batch.column(self.name)
        if self.cuts is None:
            known = level_codes(self.name, column, self.levels)
            if self.groups is None:
                return np.where(known >= 0, known, len(self.levels))
            # levels of no group join those of the last entry: the first level in it will do
            other = np.flatnonzero(self.groups == self.groups[-1])[0]
            absent = np.asarray(column.is_null(nan_is_null=True))
            return np.where(known >= 0, known, np.where(absent, len(self.levels), other))
        values = floats(self.name, column, self.unit)
        codes = np.searchsorted(self.cuts, values, side="right")
        if len(values) and np.isnan(values.min()):
            codes[np.isnan(values)] = len(self.cuts) + 1
        return codes


@dataclass(frozen=True, eq=False)
class Counting:
    """The task of counting some requests, without the rows that lack an entry of the columns to `drop` them by."""

    bases: tuple[Coded, ...]  # each column at the cuts of all its codings, or as levels
    lookups: tuple[tuple[int, NDArray[np.intp]], ...]  # the base and the states of its positions
    requests: tuple[tuple[int, ...], ...]  # by numbers of lookups
    shapes: tuple[tuple[int, ...], ...]
    drop: tuple[str, ...] = ()

    @classmethod
    def of_requests(cls, requests: Sequence[Sequence[Coded]], *, drop: tuple[str, ...] = ()) -> Counting:
        """The task for some requests; equal objects are coded once."""

        def base(name: str) -> Coded:
            codings = [one for one in coded if one.name == name]
            every = [one.cuts for one in codings if one.cuts is not None]
            return replace(codings[0], cuts=np.unique(np.concatenate(every))) if every else codings[0]

        coded = list({id(one): one for request in requests for one in request}.values())
        names = sorted({one.name for one in coded})
        bases = tuple(map(base, names))
        place = {id(one): i for i, one in enumerate(coded)}
        lookups = tuple((names.index(one.name), one.lookup(bases[names.index(one.name)].cuts)) for one in coded)
        numbers = tuple(tuple(place[id(one)] for one in request) for request in requests)
        shapes = tuple(tuple(one.size + 1 for one in request) for request in requests)
        return cls(bases, lookups, numbers, shapes, drop)

    @property
    def n_bytes(self) -> int:
        """Bytes of the answer, which is what crosses a network for each part of the rows."""
        return 8 * sum(map(math.prod, self.shapes))

    def of(self, batches: Batches) -> list[NDArray[np.int64]]:
        """The counts of some rows."""
        tables = [np.zeros(math.prod(shape), np.int64) for shape in self.shapes]
        for _, batch in batches:
            read = [base.codes(batch) for base in self.bases]
            if self.drop:
                absent = [batch.column(name).is_null(nan_is_null=True) for name in self.drop]
                complete = ~np.logical_or.reduce([np.asarray(each) for each in absent])
                read = [codes[complete] for codes in read]
            # A column is read once, at all cuts that any request has for it; the coding of a request is a look-up of
            # these finer codes, which takes far less time than another search among the cuts.
            codes = [states.take(read[base]) for base, states in self.lookups]
            for request, shape, table in zip(self.requests, self.shapes, tables, strict=True):
                cell, _ = cells([(codes[i], size) for i, size in zip(request, shape, strict=True)], len(read[0]))
                if len(table) <= 2 * len(cell):
                    table += np.bincount(cell, minlength=len(table))
                else:
                    np.add.at(table, cell, 1)
        return [table.reshape(shape) for table, shape in zip(tables, self.shapes, strict=True)]

    @staticmethod
    def merge(one: list[NDArray[Any]], other: list[NDArray[Any]]) -> list[NDArray[Any]]:
        """The counts of both parts."""
        return [a + b for a, b in zip(one, other, strict=True)]


# --- one column of a batch, a ``pyarrow.RecordBatch``


def floats(name: str, column: Any, unit: Unit = NUMBER) -> NDArray[np.float64]:
    """A column as float64 [rows], NaN where missing; numbers of Arrow go into NumPy without a detour."""
    if unit == NUMBER and pa.types.is_decimal(column.type):
        column = column.cast("float64")
    if unit == NUMBER and (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)
    return as_floats(name, column.to_pandas(), unit)


def level_codes(name: str, column: Any, levels: Sequence[Level]) -> NDArray[np.int32]:
    """The codes of a discrete column [rows], -1 where missing or not among the levels: each distinct value once."""
    found = column if hasattr(column, "dictionary") else column.dictionary_encode()
    values = found.dictionary.to_pandas().astype(object)
    absent = levels.index(MISSING_LEVEL) if MISSING_LEVEL in levels else MISSING
    of_value = np.append(encode(values, levels, name=name, unknown="missing"), np.int32(absent))
    return np.asarray(of_value[found.indices.fill_null(-1).to_numpy(zero_copy_only=False)], np.int32)
