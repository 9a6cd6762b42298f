"""Rows aggregated into groups between few positions: the counts from which the cost of any run of groups follows.

Shapes: n rows, G groups, C cells of all terms, E pairs of a group and a cell in which it has weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.counts.codes import wide_enough
from jaxbn.cuts.problem import ENTROPY, Rows, Term, padded, table_at
from jaxbn.kernels.arithmetic import TINY
from jaxbn.kernels.dense_partitions import Counted
from jaxbn.kernels.interval_costs import GROUPS, STARTS, Entries
from jaxbn.runtime.shapes import MatrixShape
from jaxbn.runtime.threads import in_threads


class Pairs(NamedTuple):
    """Groups and cells in which they have weight, cell after cell, and in each of them group after group.

    Cells that cost nothing in any interval, those of one row in all, are left out.
    """

    group: NDArray[np.int32]  # [E]
    cell: NDArray[np.int32]  # [E]
    weight: NDArray[np.signedinteger]  # [E]
    seen: NDArray[np.signedinteger]  # [E], weight of the earlier groups in the cell
    sign: NDArray[np.float64]  # [C]
    name: NDArray[np.float64]  # [C], of the cell's table

    def of_cells(self, first: int, end: int) -> Pairs:
        """The pairs of the cells from `first` to before `end`, numbered from 0."""
        part = slice(*np.searchsorted(self.cell, [first, end]))
        group, cell, weight, seen = (array[part] for array in self[:4])
        return Pairs(group, cell - np.int32(first), weight, seen, self.sign[first:end], self.name[first:end])


@dataclass(frozen=True)
class GroupedRows:
    """The rows between some positions."""

    rows: Rows
    positions: NDArray[np.integer]  # [G + 1], ascending from 0 to the number of rows

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
        return np.zeros(self.n + 1) if spread is None else spread.at(self.positions)

    @property
    def latest(self) -> NDArray[np.int32]:
        """The last group that an interval may begin with if it ends with each [G]."""
        spread = self.rows.spread
        if spread is None or spread.latest is None:
            return np.arange(self.n, dtype=np.int32)
        rows = spread.latest[self.positions[1:] - 1]
        return (np.searchsorted(self.positions, rows, side="right") - 1).astype(np.int32)

    @property
    def n_cells(self) -> int:
        """Cells of `dense`."""
        return len(self.pairs.sign) + len(self.mass_names)

    @property
    def most_states(self) -> int:
        """The largest number that names a table of cells, rounded up."""
        return math.ceil(max((term.tables[0] for term in self._of_cells), default=1))

    @cached_property
    def bases(self) -> tuple[float, ...]:
        """Names of the tables that those of all cells are parts of, in the order in which they are laid out."""
        if any(ENTROPY in term.tables for term in self.rows.terms):
            return (ENTROPY,)
        return (1.0, 0.5) if any(term.weight % 1 for term in self.rows.terms) else (1.0,)

    def places(self, names: NDArray[np.float64], length: int) -> NDArray[np.int32]:
        """Where in the shared tables, each of that length, some tables begin."""
        # ln Γ(n + s) stands in the table of ln Γ(n + base) from s - base on; the constant ln Γ(s) is taken off apart
        base = np.where(names % 1, 0.5, np.minimum(names, 1.0))
        return (names - base + length * (base != self.bases[0])).astype(np.int32)

    @property
    def largest_name(self) -> float:
        """The largest number that names any table."""
        return max((name for term in self.rows.terms for name in term.tables), default=1)

    @property
    def _of_all(self) -> list[Term]:
        """Terms of one cell: they depend on the weight alone."""
        return [term for term in self.rows.terms if term.n_cells == 1]

    @property
    def _of_cells(self) -> list[Term]:
        return [term for term in self.rows.terms if term.n_cells > 1]

    @property
    def pairs(self) -> Pairs:
        """The pairs of all terms of more than one cell."""
        return self._counted[0]

    @cached_property
    def _counted(self) -> tuple[Pairs, list[int]]:
        """The pairs, and where those of each term begin and end."""
        of_row = np.repeat(np.arange(self.n, dtype=np.int32), np.diff(self.positions))
        terms: list[Term] = self._of_cells
        firsts = np.cumsum([0, *(term.n_cells for term in terms)])

        def of_term(k: int) -> tuple[Any, Any, Any]:
            cell, group, weight = _weights(terms[k], of_row, self.n, self.rows.weights)
            return cell + np.int32(firsts[k]), group, weight

        found: list[Any] = in_threads(of_term, range(len(terms)), rows=self.rows.n)
        cell, group, weight = map(np.concatenate, zip(*found or [[np.zeros(0, np.int32)] * 3], strict=True))
        sign = np.repeat([term.sign for term in terms], np.diff(firsts))
        names = np.concatenate([np.zeros(0), *(term.names for term in terms)])
        # A cell of one row costs ln Γ(1 + s) - ln Γ(s) = ln s in the interval that has it: nothing if s is 1, and with
        # n ln n. With a Dirichlet weight of ½ such cells have to stay.
        kept = (np.bincount(cell, weight, len(names)) > 1) | ((names != 1) & (names != ENTROPY))
        if not kept.all():
            chosen, number = kept[cell], np.cumsum(kept, dtype=np.int32) - 1
            cell, group, weight = number[cell[chosen]], group[chosen], weight[chosen]
            firsts = np.append(0, np.cumsum(kept))[firsts]
            sign, names = sign[kept], names[kept]
        running = np.cumsum(weight, dtype=weight.dtype) - weight
        begins = np.append(True, cell[1:] != cell[:-1])[: len(cell)]
        pairs = Pairs(group, cell, weight, since_begin(running, begins), sign, names)
        return pairs, np.searchsorted(cell, firsts).tolist()

    @property
    def counted_as(self) -> tuple[int, bytes]:
        """The same for problems that differ in their widths alone."""
        return id(self.rows.terms), self.positions.tobytes()

    def count_as(self, other: GroupedRows) -> None:
        """Take over the counts of a problem that has the same rows, terms and positions."""
        self.__dict__["_counted"] = other._counted

    @property
    def mass_names(self) -> tuple[tuple[float, float], ...]:
        """Signs and names of the tables of what a weight costs by the terms of one cell."""
        return tuple(sorted((term.sign, name) for term in self._of_all for name in term.tables))

    def cost_of_one(self) -> float:
        """Cost of all rows in one interval."""
        pairs, total = self.pairs, self.total
        whole = np.array([total])
        cost = sum(sign * float(table_at(name, whole, total + 1)[0]) for sign, name in self.mass_names)
        counts = np.bincount(pairs.cell, pairs.weight, len(pairs.sign)).astype(np.int64)
        for name in np.unique(pairs.name):
            own = pairs.name == name
            cost += float((pairs.sign[own] * table_at(float(name), counts[own], total + 1)).sum())
        return cost

    def floor(self) -> float:
        """No partition costs less: the sum of the floors of single groups.

        The proof is in docs/maths.md, "Cuts under a charge for their number".
        """
        length, masses = self.total + 1, np.diff(self.mass)
        pairs, ends = self._counted
        weights = [pairs.weight[first:end] for first, end in pairwise(ends)]
        cost = 0.0
        for term, weight in zip([*self._of_all, *self._of_cells], [masses] * len(self._of_all) + weights, strict=True):
            cost += term.sign * float(sum(table_at(name, weight, length).sum() for name in term.floor))
        if self.rows.spread is not None:
            cost += float((masses * np.log(np.maximum(np.diff(self.end), TINY))).sum())
        return cost

    def dense(self, n_groups: int, n_cells: int, length: int | None) -> Counted:
        """All counts as padded NumPy arrays; terms of one cell are cells in which every group has its weight.

        `length` is that of the shared tables, None where there are none.
        """
        dtype: Any = np.int32 if length else np.float64
        pairs, of_all, mass = self.pairs, self.mass_names, np.diff(self.mass)
        n_pairs = len(pairs.sign)
        counts = np.zeros((n_cells, n_groups), dtype)
        counts[pairs.cell, pairs.group] = pairs.weight
        counts[n_pairs : n_pairs + len(of_all), : self.n] = mass
        names = np.append(pairs.name, [name for _, name in of_all])
        made: Any = (
            counts,
            padded(self.places(names, length) if length else names, (n_cells,), 0 if length else 1, dtype),
            padded(np.append(pairs.sign, [sign for sign, _ in of_all]), (n_cells,), 0.0, np.float64),
            padded(mass, (n_groups,), 0, dtype),
            padded(self.end, (n_groups + 1,), self.end[-1], np.float64),
            padded(self.latest, (n_groups,), n_groups),
            np.int32(self.n),
        )
        return Counted(*made)

    def chunks(self, shape: MatrixShape, first: int = 0, end: int | None = None) -> Iterator[Entries]:
        """The entries of the cells from `first` to before `end`, by default of all, halved until they fit."""
        end = len(self.pairs.sign) if end is None else end
        stride = (-(-self.n // GROUPS) * GROUPS // STARTS + 1) * STARTS  # room for the end of the last block
        if (end - first) * stride <= shape.counts:
            some = self.pairs.of_cells(first, end)
            look_ups = 1 + (some.weight > 1)  # an entry is a step, or two look-ups: from and to
            # entries cost a look-up each for every start; a cell with more of them than groups is cheaper looked up for
            # each interval as a whole
            whole = np.bincount(some.cell, look_ups, end - first) > self.n
            counts = np.bincount(some.group, look_ups * ~whole[some.cell], shape.groups).astype(np.int64)
            begins = np.append(0, np.cumsum(counts.reshape(-1, GROUPS).max(axis=1)))
            if begins[-1] <= shape.layers:
                # where the first entry of each group goes, in layers of `GROUPS` places, less the entries before it
                groups = np.arange(shape.groups)
                places = (begins[groups // GROUPS] - (np.cumsum(counts) - counts)) * GROUPS + groups % GROUPS
                yield _entries(self, some, whole, places, begins.astype(np.int32), stride, shape)
                return
        middle = (first + end) // 2
        yield from self.chunks(shape, first, middle)
        yield from self.chunks(shape, middle, end)


def _weights(
    term: Term, of_row: NDArray[np.int32], n_groups: int, weights: NDArray[np.int32] | None
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.signedinteger]]:
    """Cell, group and weight of the pairs of a term."""
    size = term.n_cells * n_groups
    key = np.array(term.cells, wide_enough(size))
    key *= n_groups
    key += of_row
    if size <= 4 * len(key) + 2**16:
        sums = np.bincount(key, weights, size)
        found = np.flatnonzero(sums).astype(key.dtype)
        weight = sums[found]
    else:
        found, place = np.unique(key, return_inverse=True)
        weight = np.bincount(place, weights, len(found))
    cell, group = np.divmod(found, key.dtype.type(n_groups))
    weight = weight.astype(wide_enough(int(weight.sum())))
    return cell.astype(np.int32, copy=False), group.astype(np.int32, copy=False), weight


def since_begin(running: NDArray[np.signedinteger], begins: NDArray[np.bool_]) -> NDArray[np.signedinteger]:
    """A running number counted from where its stretch begins."""
    return running - running[begins][np.cumsum(begins, dtype=np.int32) - 1]


def _entries(
    problem: GroupedRows, pairs: Pairs, whole: Any, place_of: Any, begins: Any, stride: int, shape: MatrixShape
) -> Entries:
    """The entries of some cells: one for a weight of one, a step; two for more, from and to, in two layers.

    Cells that are `whole` [C] are looked up so. `place_of` [G] is where the entries of each group go, `begins` says
    where the layers of each block of groups begin, and `stride` how many places a cell has in `before`.
    """
    before = np.zeros(shape.counts, np.int32)
    rows = before[: len(whole) * stride].reshape(-1, stride)
    rows[pairs.cell, pairs.group + 1] = pairs.weight
    np.cumsum(rows, axis=1, out=rows)
    offset = problem.places(pairs.name, shape.length)
    order = np.argsort(pairs.group.astype(np.uint16), kind="stable")  # sorted by counting
    order = order[~whole[pairs.cell[order]]]
    group, cell, weight = pairs.group[order], pairs.cell[order], pairs.weight[order]
    # Group g of a block has column g % GROUPS of its layers, and its entries lie in it one below the other. A weight of
    # one is looked up in the tables of steps, after the others; a larger one is table[to] - table[from], two entries of
    # opposite sign.
    two = weight > 1
    at = (np.cumsum(two) - two + np.arange(len(order))) * GROUPS + place_of[group]
    low, sign, where = pairs.seen[order] + offset[cell], pairs.sign[cell], cell * np.int32(stride)
    size = (shape.layers, GROUPS)
    layers = np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size)
    cells, places, signs = (array.reshape(-1) for array in layers)
    cells[at], places[at], signs[at] = where, low + np.where(two, weight, len(problem.bases) * shape.length), sign
    again = at[two] + GROUPS
    cells[again], places[again], signs[again] = where[two], low[two], -sign[two]
    chosen = np.flatnonzero(whole)
    number, within = np.divmod(offset[chosen], shape.length)
    at_zero = np.zeros(len(chosen))
    for i, base in enumerate(problem.bases):
        at_zero[number == i] = table_at(base, within[number == i], shape.length)
    made: Any = (
        before,
        *layers,
        begins,
        *(padded(each, (shape.counts // STARTS,)) for each in (chosen * stride, offset[chosen])),
        padded(pairs.sign[chosen], (shape.counts // STARTS,), 0.0, np.float64),
        np.int32(len(chosen)),
        np.float64(-(pairs.sign[chosen] * at_zero).sum()),
    )
    return Entries(*made)
