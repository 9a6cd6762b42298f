"""Rows gathered into the groups between few positions: what the cost of any run of groups is made of.

Shapes: n rows, G groups, C cells of all terms, E pairs of a group and a cell in which it has weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.problem import ENTROPY, Rows, Term, table
from jaxbn.kernels.interval_costs import GROUPS, STARTS
from jaxbn.kernels.pruned.state import TINY
from jaxbn.runtime.shapes import MatrixShape

NO_COST_ALONE = (1, ENTROPY)
"""Names of tables in which a weight of one costs nothing."""


class Pairs(NamedTuple):
    """Groups and cells in which they have weight, cell after cell, and in each of them group after group."""

    group: NDArray[np.int64]  # [E]
    cell: NDArray[np.int64]  # [E]
    weight: NDArray[np.int64]  # [E]
    seen: NDArray[np.int64]  # [E], weight of the earlier groups in the cell
    sign: NDArray[np.float64]  # [C]
    name: NDArray[np.int64]  # [C], of the cell's table


class Chunk(NamedTuple):
    """Entries for one call of the program, see `kernels.interval_costs.Entries`."""

    before: NDArray[np.int32]
    cell: NDArray[np.int32]
    place: NDArray[np.int32]
    sign: NDArray[np.float64]
    layers: NDArray[np.int32]


@dataclass(frozen=True)
class GroupedRows:
    """The rows between some positions."""

    rows: Rows
    positions: NDArray[np.intp]  # [G + 1], ascending from 0 to the number of rows

    @property
    def n(self) -> int:
        """G."""
        return len(self.positions) - 1

    @property
    def total(self) -> int:
        """Weight of all rows."""
        return int(self.mass[-1])

    @cached_property
    def mass(self) -> NDArray[np.int64]:
        """Weight before each position [G + 1]."""
        return self.rows.weight_before(self.positions)

    @cached_property
    def end(self) -> NDArray[np.float64]:
        """Where each position lies, in units of the range [G + 1]."""
        spread = self.rows.spread
        return np.zeros(self.n + 1) if spread is None else spread.positions[self.positions]

    @property
    def most_states(self) -> int:
        """The largest number that names a table of cells."""
        return max((term.tables[0] for term in self._of_cells), default=1)

    @property
    def _of_all(self) -> list[Term]:
        """Terms of one cell: they depend on the weight alone."""
        return [term for term in self.rows.terms if term.n_cells == 1]

    @property
    def _of_cells(self) -> list[Term]:
        return [term for term in self.rows.terms if term.n_cells > 1]

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs of all terms of more than one cell."""
        of_row = np.repeat(np.arange(self.n), np.diff(self.positions))
        found, first = [], 0
        for term in self._of_cells:
            cell, of_group, weight = _weights(term, of_row, self.n, self.rows.weights)
            found.append((of_group, cell + first, weight))
            first += term.n_cells
        of_cell = [term for term in self._of_cells for _ in range(term.n_cells)]
        nothing = np.zeros(0, np.int64)
        group, cell, weight = (np.concatenate([nothing, *(part[i] for part in found)]) for i in range(3))
        return Pairs(
            group,
            cell,
            weight,
            _seen(cell, weight),
            np.array([term.sign for term in of_cell]),
            np.concatenate([nothing, *(term.names for term in self._of_cells)]),
        )

    def mass_table(self, length: int) -> NDArray[np.float64]:
        """What a weight costs by the terms of one cell [length]."""
        total = np.zeros(length)
        for term in self._of_all:
            for name in term.tables:
                total += term.sign * table(name, length)
        return total

    def cost_of_one(self) -> float:
        """Cost of all rows in one interval."""
        pairs, total = self.pairs, self.total
        cost = float(self.mass_table(total + 1)[total])
        counts = np.bincount(pairs.cell, pairs.weight, len(pairs.sign)).astype(np.int64)
        for name in np.unique(pairs.name):
            own = pairs.name == name
            cost += float((pairs.sign[own] * table(int(name), total + 1)[counts[own]]).sum())
        return cost

    def floor(self) -> float:
        """No partition costs less: that into single groups, at the maximum-likelihood parameters of each."""
        length, masses = self.total + 1, np.diff(self.mass)
        cost = 0.0
        for term in self._of_all:
            cost += term.sign * float(sum(table(name, length)[masses].sum() for name in term.floor))
        term_of = np.repeat(np.arange(len(self._of_cells)), [term.n_cells for term in self._of_cells])
        pairs = self.pairs
        for i, term in enumerate(self._of_cells):
            weight = pairs.weight[term_of[pairs.cell] == i]
            cost += term.sign * float(sum(table(name, length)[weight].sum() for name in term.floor))
        if self.rows.spread is not None:
            cost += float((masses * np.log(np.maximum(np.diff(self.end), TINY))).sum())
        return cost

    def chunks(self, shape: MatrixShape) -> list[Chunk]:
        """The entries of all pairs, in as many chunks as they need; at least one."""
        pairs = _without_free(self.pairs)
        return list(_chunks(pairs, 0, len(pairs.sign), self.n, shape))


def _weights(
    term: Term, group: NDArray[np.int64], n_groups: int, weights: NDArray[np.int32] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Cell, group and weight of the pairs of a term."""
    key = term.cells.astype(np.int64) * n_groups + group
    size = term.n_cells * n_groups
    if size <= 4 * len(key) + 2**16:
        sums = np.bincount(key, weights, size)
        found = np.flatnonzero(sums)
        weight = sums[found]
    else:
        found, place = np.unique(key, return_inverse=True)
        weight = np.bincount(place, weights, len(found))
    return found // n_groups, found % n_groups, weight.astype(np.int64)


def _seen(cell: NDArray[np.int64], weight: NDArray[np.int64]) -> NDArray[np.int64]:
    """Weight of the earlier pairs of the same cell [E]."""
    running = np.cumsum(weight) - weight
    return running - running[np.searchsorted(cell, cell)]


def _without_free(pairs: Pairs) -> Pairs:
    """The pairs without the cells that cost nothing in any interval: those of one row in all."""
    counts = np.bincount(pairs.cell, pairs.weight, len(pairs.sign))
    kept = (counts > 1) | ~np.isin(pairs.name, NO_COST_ALONE)
    number, chosen = np.cumsum(kept) - 1, kept[pairs.cell]
    return Pairs(
        pairs.group[chosen],
        number[pairs.cell[chosen]],
        pairs.weight[chosen],
        pairs.seen[chosen],
        pairs.sign[kept],
        pairs.name[kept],
    )


def _chunks(pairs: Pairs, first: int, end: int, n_groups: int, shape: MatrixShape) -> Iterator[Chunk]:
    """The entries of the cells from `first` to before `end`, halved until they fit."""
    stride = -(-n_groups // STARTS) * STARTS
    begin, stop = np.searchsorted(pairs.cell, [first, end])
    part = slice(begin, stop)
    some = pairs._replace(
        group=pairs.group[part], cell=pairs.cell[part], weight=pairs.weight[part], seen=pairs.seen[part]
    )
    chunk = _chunk(some, first, end, n_groups, stride, shape) if (end - first) * stride <= shape.counts else None
    if chunk is not None:
        yield chunk
    else:
        middle = (first + end) // 2
        yield from _chunks(pairs, first, middle, n_groups, shape)
        yield from _chunks(pairs, middle, end, n_groups, shape)


def _chunk(pairs: Pairs, first: int, end: int, n_groups: int, stride: int, shape: MatrixShape) -> Chunk | None:
    """The entries of some cells, None where they need too many layers."""
    group, cell, place, sign = _entries(pairs, shape.length)
    order = np.argsort(group, kind="stable")
    group, cell, place, sign = group[order], cell[order] - first, place[order], sign[order]
    counts = np.bincount(group, minlength=shape.groups)
    begins = np.append(0, np.cumsum(counts.reshape(-1, GROUPS).max(axis=1)))
    if begins[-1] > shape.layers:
        return None
    rank = np.arange(len(group)) - (np.cumsum(counts) - counts)[group]
    at = (begins[group // GROUPS] + rank, group % GROUPS)
    made = no_entries(shape)._replace(layers=begins.astype(np.int32))
    made.cell[at], made.place[at], made.sign[at] = cell * stride, place, sign
    before = np.zeros((end - first, stride + 1), np.int32)
    before[pairs.cell - first, pairs.group + 1] = pairs.weight
    np.cumsum(before[:, :-1], axis=1, out=made.before[: (end - first) * stride].reshape(-1, stride))
    return made


def no_entries(shape: MatrixShape) -> Chunk:
    """A chunk that adds nothing."""
    size = (shape.layers, GROUPS)
    numbers = np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size)
    return Chunk(np.zeros(shape.counts, np.int32), *numbers, np.zeros(shape.groups // GROUPS + 1, np.int32))


def _entries(
    pairs: Pairs, length: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Group, cell, place in the tables and sign: one for a weight of one, a step; two for more, from and to."""
    offset = np.where(pairs.name == ENTROPY, 0, pairs.name - 1)[pairs.cell]
    at, sign = pairs.seen + offset, pairs.sign[pairs.cell]
    one, more = pairs.weight == 1, pairs.weight > 1
    group, cell = (np.concatenate([f[one], f[more], f[more]]) for f in (pairs.group, pairs.cell))
    place = np.concatenate([length + at[one], (at + pairs.weight)[more], at[more]])
    return group, cell, place, np.concatenate([sign[one], sign[more], -sign[more]])


def shared_tables(entropy: bool, length: int) -> NDArray[np.float64]:
    """The table that all cells share, and its steps [2 · length].

    ln Γ(n + 1), of which that of K states is the part from K - 1 on, up to a constant; or n ln n.
    """
    name = ENTROPY if entropy else 1
    return np.concatenate([table(name, length), table(name, length, steps=True)])
