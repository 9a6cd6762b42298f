"""Search for the best grouping of levels: greedy merges with exact gains, then moves of single levels.

Shapes: U units (levels, or levels with the same counts taken as one), G groups, C columns.

All counts that matter for the score of a group stand side by side as C columns: its rows in each configuration of the
parents, in each cell of each child's factor, and in each of the factor's contexts. The score is a sum over columns of
``sign · (ln Γ(count + offset / 2) - ln Γ(offset / 2))``. Counts add up when groups are merged, and a column in which
one of two groups has no rows does not change the gain of their merge. That is why rare levels, however many, cost
little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from jaxbn.runtime import limits

MAX_START = 1000
"""Most groups that merging starts from; further units first join the most frequent ones."""

MAX_WORK = 10**9
"""Most table look-ups of a merging; with many columns it limits the number of groups at the start."""

TOLERANCE = 1e-9
"""A change must gain more than this, which is above rounding."""


class Columns(NamedTuple):
    """What the score makes of the counts."""

    sign: NDArray[np.float64]  # [C] +1 for cells, -1 for contexts
    offset: NDArray[np.int64]  # [C] twice the Dirichlet weight: 2a for cells, 2aK for contexts
    log_gamma: NDArray[np.float64]  # ln Γ at 0, ½, 1, …; the entry at 0 is not used


class Units(NamedTuple):
    """What is put into groups."""

    counts: csr_array  # [U, C]
    sizes: NDArray[np.int64]  # [U] levels in each
    totals: NDArray[np.int64]  # [U] rows of each


class Problem(NamedTuple):
    """Units, and the score of groups of them: ``whole[k]`` for k groups plus a term for each group."""

    columns: Columns
    units: Units
    whole: NDArray[np.float64]  # [most groups + 1]; -inf for no group


class Groups:
    """Counts of the groups of a partition, changed in place."""

    def __init__(self, problem: Problem, where: NDArray[np.int64], room: int) -> None:
        self.columns = problem.columns
        n_groups = int(where.max()) + 1
        chosen = csr_array((np.ones(len(where), np.int64), (where, np.arange(len(where)))), (n_groups, len(where)))
        self.counts = np.zeros((len(self.columns.sign), max(room, n_groups)), np.int64)  # [C, room]
        self.counts[:, :n_groups] = (chosen @ problem.units.counts).toarray().T
        self.sizes = np.bincount(where, problem.units.sizes, self.counts.shape[1]).astype(np.int64)
        self.totals = np.bincount(where, problem.units.totals, self.counts.shape[1]).astype(np.int64)
        self.n = n_groups

    def of_group(self, g: int) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int]:
        """Columns in which a group has rows, its counts there, its levels and its rows."""
        at = np.flatnonzero(self.counts[:, g])
        return at, self.counts[at, g], int(self.sizes[g]), int(self.totals[g])

    def gains(self, at: NDArray[np.integer], counts: NDArray[np.integer], size: int, total: int) -> NDArray[np.float64]:
        """What each group's score gains if some rows join it [G]; for an empty group, the score of these rows."""
        sign, offset, table = self.columns
        # The table has ln Γ at every half number, so places in it are doubled. Columns in which the new rows have none
        # are left out: there nothing changes.
        before = 2 * self.counts[at, : self.n] + offset[at, None]
        gained = sign[at] @ (table[before + 2 * counts[:, None]] - table[before])
        sizes, totals = self.sizes[: self.n], self.totals[: self.n]
        inside = _inside(table, sizes + size, totals + total) - _inside(table, np.maximum(sizes, 1), totals)
        return np.asarray(gained + inside, np.float64)

    def add(self, g: int, at: NDArray[np.integer], counts: NDArray[np.integer], size: int, total: int) -> None:
        """Add rows to a group; negative numbers remove them."""
        self.counts[at, g] += counts
        self.sizes[g] += size
        self.totals[g] += total

    def replace(self, g: int, other: int) -> None:
        """Group g becomes a copy of another."""
        self.counts[:, g] = self.counts[:, other]
        self.sizes[g], self.totals[g] = self.sizes[other], self.totals[other]

    def clear(self, g: int) -> None:
        """Group g becomes empty."""
        self.counts[:, g] = 0
        self.sizes[g] = self.totals[g] = 0

    def scores(self) -> NDArray[np.float64]:
        """The score of each group [G]."""
        sign, offset, table = self.columns
        terms = table[2 * self.counts[:, : self.n] + offset[:, None]] - table[offset][:, None]
        inside = _inside(table, self.sizes[: self.n], self.totals[: self.n])
        return np.asarray(sign @ terms + inside, np.float64)


def _inside(table: NDArray[np.float64], sizes: NDArray[np.int64], totals: NDArray[np.int64]) -> NDArray[np.float64]:
    """Log Γ(s) - log Γ(s + n), the part of a group's density that depends on its numbers of levels and rows."""
    return np.asarray(table[2 * sizes] - table[2 * (sizes + totals)], np.float64)


def score(problem: Problem, where: NDArray[np.int64]) -> float:
    """The score of a partition; ``where`` is the group of each unit, numbered without gaps."""
    groups = Groups(problem, where, 0)
    return float(problem.whole[groups.n] + groups.scores().sum())


def most_groups(n_units: int, n_columns: int) -> int:
    """Most groups that merging may start from."""
    # the gains of all pairs take a look-up for each pair and column
    return max(2, min(n_units, MAX_START, int((MAX_WORK / max(n_columns, 1)) ** 0.5)))


def search(problem: Problem, start: int, most: int | None = None) -> NDArray[np.int64]:
    """A partition that no merge and no move of one unit improves, deterministically [U].

    It starts from so many groups, and ends with at most `most`.
    """
    where = _start(problem, start)
    room = min(start, len(problem.whole) - 1)
    most = room if most is None else min(most, room)
    found = score(problem, where) if where.max() < most else -np.inf
    settled = None
    while True:
        merged = _merge(problem, where, most)
        if settled is not None and np.array_equal(merged, settled):
            return settled  # no merge pays, and no move did before
        where = settled = _move(problem, merged, most)
        reached = score(problem, where)
        if not reached > found + TOLERANCE * (1 + abs(found)):
            return where
        found = reached


def _start(problem: Problem, most: int) -> NDArray[np.int64]:
    """Every unit alone; if there are too many, each of the rarer ones joins the frequent one it suits best."""
    units = problem.units
    n_units = len(units.sizes)
    if n_units <= most:
        return np.arange(n_units)
    order = np.argsort(-units.totals, kind="stable")
    where = np.empty(n_units, np.int64)
    where[order[:most]] = np.arange(most)
    some = Units(*(field[order[:most]] for field in units))
    seeds = Problem(problem.columns, some, problem.whole)
    groups = Groups(seeds, np.arange(most), most)
    for unit in order[most:]:
        limits.check()
        rows = rows_of(units, unit)
        where[unit] = g = int(np.argmax(groups.gains(*rows)))
        groups.add(g, *rows)
    return where


def rows_of(units: Units, unit: int) -> tuple[NDArray[np.integer], NDArray[np.integer], int, int]:
    """Columns in which a unit has rows, its counts there, its levels and its rows."""
    first, last = units.counts.indptr[unit], units.counts.indptr[unit + 1]
    counts = units.counts.data[first:last]
    return units.counts.indices[first:last], counts, int(units.sizes[unit]), int(units.totals[unit])


def _merge(problem: Problem, where: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Merge the best pair, again and again, down to one group; returns the best partition into few enough on the way.

    Of the groups a < b, b is merged into a and the last group takes b's number. The gains of all pairs are kept, and
    for each group its best partner; a merge changes one row of them.
    """
    groups = Groups(problem, where, 0)
    pairs = np.full((groups.n, groups.n), -np.inf)
    for a in range(groups.n):
        limits.check()
        pairs[a] = _pair_gains(groups, a)
    partner = pairs.argmax(axis=1) if groups.n else np.zeros(0, np.int64)
    gain = pairs[np.arange(groups.n), partner]

    where = best = where.copy()
    value = score(problem, where)
    highest = value if groups.n <= most else -np.inf
    while groups.n > 1:
        limits.check()
        n = groups.n
        first = int(np.argmax(gain[:n]))
        a, b = sorted((first, int(partner[first])))
        value += float(gain[first]) + problem.whole[n - 1] - problem.whole[n]
        groups.add(a, *groups.of_group(b))
        last = groups.n = n - 1
        where = np.where(where == b, a, where)
        if b != last:
            groups.replace(b, last)
            where = np.where(where == last, b, where)
            pairs[b, :n], pairs[:n, b] = pairs[last, :n], pairs[:n, last]
            pairs[b, b] = -np.inf
            partner[b], gain[b] = partner[last], gain[last]
        # A merge changes the gains of pairs with a alone. The best partner of a group has to be looked for again only
        # if it was changed, removed or renumbered; else a takes its place where it is better now.
        stale = np.isin(partner[:last], (a, b, last))
        pairs[a, :last] = pairs[:last, a] = _pair_gains(groups, a)
        better = pairs[:last, a] > gain[:last]
        partner[:last][better], gain[:last][better] = a, pairs[:last, a][better]
        stale[a] = True
        rows = np.flatnonzero(stale)
        partner[rows] = pairs[rows, :last].argmax(axis=1)
        gain[rows] = pairs[rows, partner[rows]]
        if last <= most and value > highest + TOLERANCE:
            best, highest = where, value
    return best


def _pair_gains(groups: Groups, a: int) -> NDArray[np.float64]:
    """What the score gains if group a is merged with each of the others [G]."""
    at, counts, size, total = rows = groups.of_group(a)
    groups.add(a, at, -counts, -size, -total)
    gained = groups.gains(*rows)
    groups.add(a, *rows)
    gained -= gained[a]  # what it scores alone
    gained[a] = -np.inf
    return gained


def _move(problem: Problem, where: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Move single units to the group they suit best, or to a new one, until no move gains anything."""
    units, whole = problem.units, problem.whole
    where = where.copy()
    groups = Groups(problem, where, int(where.max()) + 2)
    groups.n += 1  # the last group is always empty: room for a unit that forms a new group
    order = np.argsort(-units.totals, kind="stable")
    unmoved = 0  # units in a row that stay; once these are all, none can gain
    while unmoved < len(order):
        for unit in order:
            limits.check()
            unmoved += 1
            if unmoved > len(order):
                break
            rows = at, counts, size, total = rows_of(units, unit)
            home = int(where[unit])
            # the unit is taken out first, so that staying at home is judged as every other place is
            groups.add(home, at, -counts, -size, -total)
            empty = groups.n - 1
            occupied = empty - (groups.sizes[home] == 0)
            gains = groups.gains(*rows)
            alone = gains[empty] + (whole[occupied + 1] if occupied < most else -np.inf)
            gains += whole[occupied]
            gains[empty] = alone
            if groups.sizes[home] == 0:
                gains[home] = alone
            best = int(np.argmax(gains))
            if not gains[best] > gains[home] + TOLERANCE:
                best = home
            groups.add(best, *rows)
            if best != home:
                unmoved = 0
                where[unit] = best
                renumber(groups, where, home)
    return where


def renumber(groups: Groups, where: NDArray[np.int64], left: int) -> None:
    """After a move out of group `left`: make the last group the only empty one."""
    if groups.sizes[groups.n - 1] > 0:
        groups.n += 1
        if groups.n > groups.counts.shape[1]:
            groups.counts = np.pad(groups.counts, ((0, 0), (0, groups.n)))
            groups.sizes = np.pad(groups.sizes, (0, groups.n))
            groups.totals = np.pad(groups.totals, (0, groups.n))
    if groups.sizes[left] == 0:
        last = groups.n - 2
        if left != last:
            groups.replace(left, last)
            where[where == last] = left
        groups.clear(last)
        groups.n -= 1
