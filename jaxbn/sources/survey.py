"""The first pass over a source: how many rows, what each column holds, and a sample of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.checks import wrong
from jaxbn.inputs.columns import MISSING, Level, as_levels
from jaxbn.inputs.later import pa, pd
from jaxbn.inputs.missing import MISSING_LEVEL
from jaxbn.inputs.table import Table
from jaxbn.inputs.units import NUMBER, Unit
from jaxbn.sources.counting import Batches, floats

KEPT = 2**14  # lowest hashes kept of the values of a column: so many are counted exactly, more to 1 %
MOST_LEVELS = 2**16  # distinct texts or whole numbers of a column that are kept, at most
EVERY = 2**64  # hashes are below this
FOLDING = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio


@dataclass(frozen=True)
class Column:
    """What is known of a column."""

    missing: int = 0
    low: float = math.inf
    high: float = -math.inf
    hashes: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))  # the lowest, ascending
    levels: frozenset[Any] | None = frozenset()  # None: too many

    @property
    def n_distinct(self) -> int:
        """Distinct numbers: exact up to `KEPT`, else estimated from how close together the lowest hashes are."""
        # The k-minimum-values sketch: if the k-th of d hashes, uniform between 0 and 1, is h, d is about (k - 1) / h.
        # The lowest hashes of the whole are among the lowest of its parts, so sketches can be merged.
        n = len(self.hashes)
        return n if n < KEPT else round((n - 1) * (EVERY / float(self.hashes[-1])))

    def joined(self, other: Column) -> Column:
        """What is known of both parts."""
        levels = None if self.levels is None or other.levels is None else self.levels | other.levels
        if levels is not None and len(levels) > MOST_LEVELS:
            levels = None
        hashes = np.sort(np.concatenate([self.hashes, other.hashes]))  # quicker than `np.unique`, which hashes again
        hashes = hashes[np.append(True, hashes[1:] != hashes[:-1])[: len(hashes)]][:KEPT]
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Column(self.missing + other.missing, low, high, hashes, levels)


@dataclass(frozen=True)
class Facts:
    """What the first pass has found."""

    n_rows: int
    columns: Mapping[str, Column]
    chosen: tuple[tuple[NDArray[np.uint64], Any], ...]  # numbers of rows of the sample, and a batch of these

    @property
    def n_sampled(self) -> int:
        """Rows of the sample."""
        return sum(len(numbers) for numbers, _ in self.chosen)

    def sample(self) -> pd.DataFrame:
        """The rows of the sample in the order of the source."""
        table = pa.Table.from_batches([batch for _, batch in self.chosen])
        order = np.argsort(np.concatenate([numbers for numbers, _ in self.chosen]), kind="stable")
        if (np.diff(order) != 1).any():
            table = table.take(order)
        return table.to_pandas()

    def completed(self, table: Table) -> Table:
        """The table of the sample with the levels that only other rows have."""
        levels, codes = dict(table.levels), dict(table.codes)
        for name in table.discrete:
            known, found = table.levels[name], self.columns.get(name, Column()).levels
            if not found:
                continue
            every = as_levels(name, pd.Series(list(found), dtype=object))[0]
            new = [level for level in every if level not in set(known) and level != MISSING_LEVEL]
            if new:
                ordered = list(known) == sorted(known, key=_order)
                levels[name] = tuple(sorted((*known, *new), key=_order)) if ordered else (*known, *new)
                place = {level: i for i, level in enumerate(levels[name])}
                codes[name] = np.array([*(place[level] for level in known), MISSING], np.int32)[codes[name]]
        return replace(table, levels=levels, codes=codes)


@dataclass(frozen=True)
class Survey:
    """The task of looking at every row once, and keeping those whose hash is below `below`."""

    below: int = EVERY
    seed: int = 0

    def of(self, batches: Batches) -> Facts:
        """What some rows hold."""
        columns: dict[str, Column] = {}
        n_rows, chosen = 0, []
        for first, batch in batches:
            n_rows += batch.num_rows
            for name in batch.schema.names:
                known = columns.get(name, Column())
                columns[name] = known.joined(_column(name, batch.column(name), known))
            # A row is chosen by a hash of its number: the same rows whatever the batches, threads or processes, and no
            # state to be shared between them.
            numbers = np.arange(first, first + batch.num_rows, dtype=np.uint64)
            if self.below < EVERY:
                kept = scattered(numbers, self.seed) < np.uint64(self.below)
                numbers, batch = numbers[kept], batch.filter(kept)
            if len(numbers):
                chosen.append((numbers, batch))
        return Facts(n_rows, columns, tuple(chosen))

    @staticmethod
    def merge(one: Facts, other: Facts) -> Facts:
        """What both parts hold."""
        names, unknown = one.columns or other.columns, Column()  # a part without rows names none
        columns = {n: one.columns.get(n, unknown).joined(other.columns.get(n, unknown)) for n in names}
        return Facts(one.n_rows + other.n_rows, columns, (*one.chosen, *other.chosen))


def _column(name: str, column: Any, known: Column) -> Column:
    """What a batch of a column holds; hashes that are not among the lowest of those known are left out."""
    levels, unit = None if known.levels is None else _levels(column), _unit(column)
    if unit is None:
        return Column(column.null_count, levels=levels)
    values = floats(name, column, unit)
    values = values[~np.isnan(values)]
    low, high = float(values.min(initial=math.inf)), float(values.max(initial=-math.inf))
    if len(values) and (math.isinf(low) or math.isinf(high)):
        raise wrong(name, "holds an infinite value; drop these rows, or replace the values by missing ones")
    hashes = scattered((values + 0.0).view(np.uint64))  # -0.0 is 0.0
    hashes = hashes if len(known.hashes) < KEPT else hashes[hashes < known.hashes[-1]]
    return Column(len(column) - len(values), low, high, hashes, levels)


def _unit(column: Any) -> Unit | None:
    """What the values of a type of Arrow count, None for those that are no quantity by their type."""
    kind, types = column.type, pa.types
    if types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind):
        return NUMBER
    if types.is_timestamp(kind) or types.is_date(kind):
        return Unit("datetime")
    return Unit("duration") if types.is_duration(kind) or types.is_time(kind) else None


def _levels(column: Any) -> frozenset[Any] | None:
    """The distinct values of a column that may be discrete; floats are not, unless they are few."""
    from pyarrow import compute, types

    found = column.dictionary if hasattr(column, "dictionary") else None
    if found is None:
        if types.is_floating(column.type) and len(compute.unique(column[: 2**10])) > 2**6:
            return None
        found = compute.unique(column)
    return None if len(found) > MOST_LEVELS else frozenset(v for v in found.to_pylist() if v is not None and v == v)


def _order(level: Level) -> tuple[bool, Any]:
    return isinstance(level, str), level


def threshold(n_rows: int, wanted: int) -> int:
    """The hash below which about `wanted` of so many rows are; all of them if they are no more."""
    return EVERY if n_rows <= wanted else wanted * EVERY // n_rows


def scattered(numbers: NDArray[np.uint64], seed: int = 0) -> NDArray[np.uint64]:
    """Numbers that look random, the same for the same numbers and seed (the finalizer of SplitMix64)."""
    x = numbers + np.uint64((seed + 1) * FOLDING % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x ^= x >> np.uint64(shift)
        x *= np.uint64(factor)
    x ^= x >> np.uint64(31)
    return x
