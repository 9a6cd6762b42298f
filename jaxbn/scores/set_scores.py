"""Scores of families from sums over sets of columns, each set counted once for all the families it serves.

With f_r(c) = ln Γ(c + ar) - ln Γ(ar), where a is the Dirichlet weight of a cell, and F(U, r) = Σ f_r(count) over the
cells of the table of the columns U, the score of a child v of r states with parents S is F(S ∪ {v}, 1) - F(S, r)
(docs/maths.md, "Family scores by sets").

Scores are whole numbers of a small unit. Whole numbers add up to the same in any order, so a score is the same to the
last bit in any batch and on any device, and families with equal counts tie.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from jaxbn.counts.codes import Column
from jaxbn.counts.device import Counter, best_counter
from jaxbn.counts.host import counts_of
from jaxbn.cuts.problem import table
from jaxbn.scores.evidence import log_parent_prior

ROWS_KEPT = 2**27  # bytes of sums that are remembered for columns that changed since
COUNTS_KEPT = 2**24  # counts of single sets that are remembered
SUM_BITS = 49  # most bits of a sum over one set; 22 of these and the bits of a tie rule then fit in 63
TABLES_KEPT = 2**25  # entries of tables of logarithms that are remembered in any case


@lru_cache(maxsize=64)
def unit_bits(n_rows: int) -> int:
    """The unit is 2 to the minus this: the smallest with which the score of a family keeps within `SUM_BITS`.

    A sum over n rows is at most ln Γ(2n), as no column has more states than rows and no weight is above 1, and at least
    -n ln 2, as none is below one half (docs/maths.md, "Family scores by sets"). The rest is room for the prior.
    """
    return SUM_BITS - int(gammaln(2 * n_rows + 2) + 64).bit_length()


class _Row:
    """Sums over a base with every column: [N] for one r, and the versions of the columns they were made from."""

    __slots__ = ("seen", "sums", "versions")

    def __init__(self, n_columns: int) -> None:
        self.sums = np.zeros(n_columns, np.int64)
        self.versions = np.full(n_columns, -1, np.int64)
        self.seen = -1  # when all versions were last found to be the current ones


class SetScores:
    """Scores of families of the columns at hand; what was counted is remembered while columns come and go."""

    def __init__(
        self,
        columns: Sequence[Column] = (),
        *,
        weight: float = 1.0,
        arc_charge: float = 0.0,
        links: NDArray[np.float64] | None = None,
        counter: Callable[[Sequence[Column]], Counter] = best_counter,
    ) -> None:
        self.weight = weight  # of a cell, Dirichlet; 1 makes K2 scores
        self.arc_charge = arc_charge  # of the prior over parents; 0 for none
        self.links = links  # [N, N] log odds of links, or all 0
        self.columns: tuple[Column, ...] = ()
        self._make_counter = counter
        self._numbers: dict[tuple[int, int], int] = {}  # a small version number for every (position, key)
        self._versions = np.empty(0, np.int64)
        self._shown = 0  # how often columns were shown
        self._rows: dict[tuple[tuple[int, ...], int], _Row] = {}  # by the versions of the base and r
        self._tables: dict[int, NDArray[np.int64]] = {}
        if columns:
            self.show(columns)

    def show(self, columns: Sequence[Column]) -> None:
        """Take these columns from now on, always as many and in the same places; a changed one has a new key."""
        if self.columns and [len(c.codes) for c in columns] != [len(c.codes) for c in self.columns]:
            raise ValueError("columns must keep their number and rows; make new SetScores for another table")
        self.columns = tuple(columns)
        # Sums are kept under the versions of their columns, not their places: when a variable gets back cuts that it
        # had before, what was counted then is found again.
        known = [self._numbers.setdefault((i, c.key), len(self._numbers)) for i, c in enumerate(columns)]
        self._versions = np.array(known, np.int64)
        self._known = known
        self._shown += 1
        self.n_states = [int(c.n_states) for c in columns]
        self.n_rows = len(columns[0].codes)
        self._cardinalities = sorted({1, *self.n_states})
        self._keep_tables(self._cardinalities)
        self._counter: Counter | None = None
        self._counts: dict[int, NDArray[np.int64]] = {}  # of single sets, by bit mask
        self._single: dict[tuple[int, int], int] = {}  # their sums, by mask and r
        self._forget()

    def rest(self) -> None:
        """Give back the memory that counting takes, if it is much: nothing is counted for a while."""
        self._keep_tables(())
        self._counter = None

    def _table(self, r: int) -> NDArray[np.int64]:
        """f_r at the counts 0 to n in whole units, which add up to the same in any order; made when asked for."""
        if r not in self._tables:
            units = np.ldexp(table(self.weight * r, self.n_rows + 1), unit_bits(self.n_rows))
            self._tables[r] = np.rint(units, out=units).astype(np.int64)
        return self._tables[r]

    def _keep_tables(self, cardinalities: Sequence[int]) -> None:
        """Forget the others, if they are too large."""
        if len(self._tables) * self.n_rows > TABLES_KEPT:
            for r in self._tables.keys() - set(cardinalities):
                del self._tables[r]

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return len(self.columns)

    def nats(self, units: int) -> float:
        """A score in natural units."""
        return math.ldexp(units, -unit_bits(self.n_rows))

    def units(self, nats: float) -> int:
        """The nearest whole number of units."""
        return round(math.ldexp(nats, unit_bits(self.n_rows)))

    def prior(self, child: int, parents: Sequence[int], more: int = 0) -> int:
        """Ln of the prior of these parents, and of some more, in units; 0 unless a prior was asked for."""
        if not self.arc_charge:
            return 0
        own = log_parent_prior(self.n_columns, len(parents) + more, self.arc_charge)
        return self.units(own) + sum(self._of_link(child, parents))

    def _of_link(self, child: int, parents: Sequence[int]) -> list[int]:
        """What each link adds to the prior, in units; every one is rounded by itself, so that sums are the same."""
        return [] if self.links is None else [self.units(self.links[child, p]) for p in parents]

    def family(self, child: int, parents: Sequence[int]) -> int:
        """The score of a child with some parents, in units."""
        if not parents:
            total = int(self.sums((), 1)[child]) - int(self._table(self.n_states[child])[self.n_rows])  # one cell
        else:
            # by the base without the last parent, for which the sums with *every* further column were counted in one go
            rest = tuple(parents[:-1])
            total = int(self.sums((*rest, child), 1)[parents[-1]] - self.sums(rest, self.n_states[child])[parents[-1]])
        return total + self.prior(child, parents)

    def single(self, child: int, parents: int) -> int:
        """The same with the parents of a bit mask, where few of many families are asked for: no others are counted."""
        without = self._of_set(parents, self.n_states[child])
        return self._of_set(parents | 1 << child, 1) - without + self.prior(child, _members(parents))

    def _of_set(self, members: int, r: int) -> int:
        """F of one set, which is counted once for all families of its columns."""
        if (members, r) not in self._single:
            if members not in self._counts:
                if len(self._counts) * self.n_rows > COUNTS_KEPT:
                    self._counts.clear()
                some = [(self.columns[i].codes, self.n_states[i]) for i in _members(members)]
                self._counts[members] = counts_of(some).count if some else np.array([self.n_rows])
            self._single[members, r] = int(self._table(r)[self._counts[members]].sum())
        return self._single[members, r]

    def grown(self, child: int, parents: Sequence[int]) -> NDArray[np.int64]:
        """Scores of a child with some parents and each further column, [N]; at a parent, the family without it."""
        base, family, r = tuple(parents), (*parents, child), self.n_states[child]
        if not self._current(self._key(family), 1) and not self._current(self._key(base), r):  # both in one go
            tables, columns = list(map(self._table, self._cardinalities)), np.arange(self.n_columns)
            of_family, of_base = self._count_with().family_sums(base, child, tables, columns)
            self._store(family, [1], of_family[None], columns)
            self._store(base, self._cardinalities, of_base, columns)
        found = self.sums(family, 1) - self.sums(base, r) + self.prior(child, parents, 1)
        if self.links is not None and self.arc_charge:
            found = found + np.array(self._of_link(child, range(self.n_columns)), np.int64)
        return found

    def sums(self, base: tuple[int, ...], r: int) -> NDArray[np.int64]:
        """F(base and a further column, r) for every column [N]; for a column of the base, that of the base alone."""
        key = self._key(base)
        if not self._current(key, r):
            self.count([base], [1] if r == 1 else self._cardinalities)
        return self._rows[key, r].sums

    def count(self, bases: Sequence[tuple[int, ...]], cardinalities: Sequence[int] | None = None) -> None:
        """Count the unknown parts of many bases in one go."""
        wanted = self._cardinalities if cardinalities is None else sorted(cardinalities)
        self._count([(base, self._stale(base, wanted)) for base in bases], wanted)

    def count_sets(self, members: Sequence[int], size: int, cardinalities: Sequence[int] | None = None) -> None:
        """Count all sets of some columns, each of them once, and have their sums from every base within.

        The members ascend; every other column has a single state and divides nothing. Sets smaller than `size` must be
        known. `cardinalities` are r of the sums, by default all.
        """
        wanted = self._cardinalities if cardinalities is None else sorted(cardinalities)
        bases = list(combinations(members, size - 1))
        stale = [self._stale(base, wanted) for base in bases]
        if not any(map(len, stale)):
            return
        places, counted = np.array(members, np.intp), _counted_with(len(members), size)
        asked = [np.intersect1d(some, places[own], True) for some, own in zip(stale, counted, strict=True)]
        self._count(list(zip(bases, asked, strict=True)), wanted)
        for r in wanted:
            self._store_sets(bases, np.array(members, np.intp), r)

    def _count(self, asked: Sequence[tuple[tuple[int, ...], NDArray[np.intp]]], wanted: Sequence[int]) -> None:
        """Count bases with some columns each."""
        counter, every = self._count_with(), np.arange(self.n_columns)
        some = [(base, every if counter.all_columns else columns) for base, columns in asked if len(columns)]
        found = counter.sums(some, list(map(self._table, wanted)))
        for (base, columns), sums in zip(some, found, strict=True):
            self._store(base, wanted, sums, columns)

    def _store_sets(self, bases: Sequence[tuple[int, ...]], members: NDArray[np.intp], r: int) -> None:
        """Complete the rows of all bases of one size, of which some columns are known (`_counted_with`)."""
        rows = [self._rows.get((self._key(base), r)) or _Row(self.n_columns) for base in bases]
        sums = np.stack([row.sums for row in rows])
        if bases[0]:
            alone = np.array([self._rows[self._key(base[:-1]), r].sums[base[-1]] for base in bases])
        else:
            alone = self._table(r)[[self.n_rows]]
        # a member of the base, or a column of one state, does not divide it: the sum is that of the base alone
        own = np.ones((len(bases), self.n_columns), bool)
        own[:, members] = False
        for places in np.array(bases, np.intp).T:
            own[np.arange(len(bases)), places] = True
        sums = np.where(own, alone[:, None], sums)
        if bases[0]:
            row, column = _counted_at(len(members), len(bases[0]))
            sums[:, members] = np.where(own[:, members], sums[:, members], sums[row, members[column]])
        for base, known, values in zip(bases, rows, sums, strict=True):
            known.sums, known.versions = values, self._versions.copy()
            self._rows[self._key(base), r] = known

    def _count_with(self) -> Counter:
        if self._counter is None:
            self._counter = self._make_counter(self.columns)
        return self._counter

    def _current(self, key: tuple[int, ...], r: int) -> bool:
        """Whether all sums over a base are known for the columns at hand."""
        row = self._rows.get((key, r))
        if row is None:
            return False
        if row.seen != self._shown and np.array_equal(row.versions, self._versions):
            row.seen = self._shown
        return row.seen == self._shown

    def _stale(self, base: tuple[int, ...], cardinalities: Sequence[int]) -> NDArray[np.intp]:
        """Columns whose sums with a base are not known."""
        key = self._key(base)
        stale = np.zeros(self.n_columns, bool)
        for r in cardinalities:
            row = self._rows.get((key, r))
            stale |= True if row is None else row.versions != self._versions
        return np.flatnonzero(stale)

    def _store(
        self, base: tuple[int, ...], cardinalities: Sequence[int], sums: NDArray[np.int64], columns: NDArray[np.intp]
    ) -> None:
        key = self._key(base)
        for r, values in zip(cardinalities, sums, strict=True):
            row = self._rows.get((key, r))
            if row is None:
                row = self._rows[key, r] = _Row(self.n_columns)
            row.sums[columns] = values
            row.versions[columns] = self._versions[columns]

    def _key(self, base: Sequence[int]) -> tuple[int, ...]:
        known = self._known
        return tuple(sorted([known[i] for i in base]))

    def _forget(self) -> None:
        """Drop the oldest sums of bases that are no longer there, once they are too many."""
        spare = len(self._rows) - ROWS_KEPT // (16 * self.n_columns)
        if spare > 0:
            current = set(self._known)
            old = [key for key in self._rows if not current.issuperset(key[0])]
            for key in old[:spare]:
                del self._rows[key]


def _members(mask: int) -> list[int]:
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


@lru_cache(maxsize=16)
def _counted_at(n_members: int, size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where a base of some size and a further member were counted: row and member [bases, n_members].

    Each set is counted once, with one of its members as the further one. The fewer bases serve all sets, the less is
    counted. With pairs as bases these are the pairs within each half of the members: of three members two are in the
    same half. With triples, it is the triples within each third, and two of one third with one of the next: Turan's
    system, the smallest that is known.
    """
    bases = np.array(list(combinations(range(n_members), size)), np.int64)
    masks, member = (1 << bases).sum(axis=1), np.arange(n_members)
    sets = masks[:, None] | 1 << member
    last = np.vectorize(partial(_counted_last, n_members), otypes=[np.int64])(sets)
    by_mask = np.argsort(masks)
    row = by_mask[np.searchsorted(masks[by_mask], sets & ~(1 << last)).clip(max=len(masks) - 1)]
    return row, last


@lru_cache(maxsize=2**17)
def _counted_last(n_members: int, some: int) -> int:
    """The member that a set, a bit mask, is counted with, after the base of all others."""
    members = _members(some)
    n_parts = len(members) - 1
    if n_parts not in (2, 3):
        return members[-1]
    parts = [[i for i in members if i * n_parts // n_members == part] for part in range(n_parts)]
    # the most of one part first, and of two such the one that another follows
    first = max(range(n_parts), key=lambda p: (len(parts[p]), len(parts[(p + 1) % n_parts])))
    return [i for p in range(n_parts) for i in parts[(first + p) % n_parts]][-1]


@lru_cache(maxsize=16)
def _counted_with(n_members: int, size: int) -> list[NDArray[np.intp]]:
    """The members that each base of a size less one is counted with."""
    if size == 1:
        return [np.arange(n_members)]
    row, last = _counted_at(n_members, size - 1)
    here = (row == np.arange(len(row))[:, None]) & (last == np.arange(n_members))
    bases = combinations(range(n_members), size - 1)
    return [np.setdiff1d(np.flatnonzero(own), base) for own, base in zip(here, bases, strict=True)]
