"""Search for the best grouping of levels: greedy merges with exact gains, then moves of single levels.

Shapes: U units (levels, or levels with the same counts taken as one), G groups, C columns.

All counts that matter for the score of a group stand side by side as C columns: its rows in each configuration of the
parents, in each cell of each child's factor, and in each of the factor's contexts. The score is a sum over columns of
``sign · (ln Γ(count + offset / 2) - ln Γ(offset / 2))``. Counts add up when groups are merged, and a column in which
one of two groups has no rows does not change the gain of their merge. That is why rare levels, however many, cost
little.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from jaxbn.runtime import limits

MAX_START = 1000  # most groups that merging starts from; further units first join the most frequent ones
MAX_WORK = 10**9  # most table look-ups of a merging; with many columns it limits the number of groups at the start
TOLERANCE = 1e-9  # a change must gain more than this, which is above rounding


class Problem(NamedTuple):
    """Units, and the score of groups of them: ``whole[k]`` for k groups plus a term for each group."""

    counts: csr_array  # [U, C]
    sizes: NDArray[np.int64]  # [U] levels in each
    totals: NDArray[np.int64]  # [U] rows of each
    sign: NDArray[np.float64]  # [C] +1 for cells, -1 for contexts
    offset: NDArray[np.int64]  # [C] twice the Dirichlet weight: 2a for cells, 2aK for contexts
    log_gamma: NDArray[np.float64]  # ln Γ at 0, ½, 1, …; the entry at 0 is not used
    whole: NDArray[np.float64]  # [most groups + 1]; -inf for no group

    def rows_of(self, unit: int) -> Rows:
        """Columns in which a unit has rows, its counts there, its levels and its rows."""
        part = slice(self.counts.indptr[unit], self.counts.indptr[unit + 1])
        counts = self.counts.data[part]
        return Rows(self.counts.indices[part], counts, int(self.sizes[unit]), int(self.totals[unit]))


class Rows(NamedTuple):
    """Rows that join a group, or leave it."""

    at: NDArray[np.integer]  # columns in which there are any
    counts: NDArray[np.integer]  # of them in these columns
    size: int  # levels
    total: int  # rows


class Groups:
    """Counts of the groups of a partition, changed in place."""

    def __init__(self, problem: Problem, where: NDArray[np.int64], room: int) -> None:
        self.problem = problem
        self.n = int(where.max()) + 1
        summed, sizes, totals = joined(problem, where, self.n)
        self.counts = np.zeros((len(problem.sign), max(room, self.n)), np.int64)  # [C, room]
        self.counts[:, : self.n] = summed.toarray().T
        self.sizes, self.totals = (np.pad(each, (0, self.counts.shape[1] - self.n)) for each in (sizes, totals))

    def of_group(self, g: int) -> Rows:
        """The rows of a group."""
        at = np.flatnonzero(self.counts[:, g])
        return Rows(at, self.counts[at, g], int(self.sizes[g]), int(self.totals[g]))

    def gains(self, rows: Rows) -> NDArray[np.float64]:
        """What each group's score gains if some rows join it [G]; for an empty group, the score of these rows."""
        at, counts, size, total = rows
        sign, offset, table = self.problem.sign, self.problem.offset, self.problem.log_gamma
        # The table has ln Γ at every half number, so places in it are doubled. Columns in which the new rows have none
        # are left out: there nothing changes.
        before = 2 * self.counts[at, : self.n] + offset[at, None]
        gained = sign[at] @ (table[before + 2 * counts[:, None]] - table[before])
        sizes, totals = self.sizes[: self.n], self.totals[: self.n]
        inside = _inside(table, sizes + size, totals + total) - _inside(table, np.maximum(sizes, 1), totals)
        return np.asarray(gained + inside, np.float64)

    def add(self, g: int, rows: Rows, times: int = 1) -> None:
        """Add rows to a group; -1 times removes them."""
        self.counts[rows.at, g] += times * rows.counts
        self.sizes[g] += times * rows.size
        self.totals[g] += times * rows.total

    def replace(self, g: int, other: int) -> None:
        """Group g becomes a copy of another."""
        self.counts[:, g] = self.counts[:, other]
        self.sizes[g], self.totals[g] = self.sizes[other], self.totals[other]


def _inside(table: NDArray[np.float64], sizes: NDArray[np.int64], totals: NDArray[np.int64]) -> NDArray[np.float64]:
    """Log Γ(s) - log Γ(s + n), the part of a group's density that depends on its numbers of levels and rows."""
    return np.asarray(table[2 * sizes] - table[2 * (sizes + totals)], np.float64)


def joined(
    problem: Problem, where: NDArray[np.integer], n: int
) -> tuple[csr_array, NDArray[np.int64], NDArray[np.int64]]:
    """The counts, levels and rows of units put together into n groups."""
    chosen = csr_array((np.ones(len(where), np.int64), (where, np.arange(len(where)))), (n, len(where)))
    sizes, totals = (np.bincount(where, each, n).astype(np.int64) for each in (problem.sizes, problem.totals))
    return csr_array(chosen @ problem.counts), sizes, totals


def score(problem: Problem, where: NDArray[np.int64]) -> float:
    """The score of a partition; ``where`` is the group of each unit, numbered without gaps."""
    groups, table = Groups(problem, where, 0), problem.log_gamma
    terms = table[2 * groups.counts + problem.offset[:, None]] - table[problem.offset][:, None]
    of_groups = problem.sign @ terms + _inside(table, groups.sizes, groups.totals)
    return float(problem.whole[groups.n] + of_groups.sum())


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
    n_units = len(problem.sizes)
    if n_units <= most:
        return np.arange(n_units)
    order = np.argsort(-problem.totals, kind="stable")
    first = order[:most]
    where = np.empty(n_units, np.int64)
    where[first] = np.arange(most)
    seeds = problem._replace(counts=problem.counts[first], sizes=problem.sizes[first], totals=problem.totals[first])
    groups = Groups(seeds, np.arange(most), most)
    for unit in order[most:]:
        limits.check()
        rows = problem.rows_of(unit)
        where[unit] = g = int(np.argmax(groups.gains(rows)))
        groups.add(g, rows)
    return where


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
    partner = pairs.argmax(axis=1)
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
        groups.add(a, groups.of_group(b))
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
    rows = groups.of_group(a)
    groups.add(a, rows, -1)
    gained = groups.gains(rows)
    groups.add(a, rows)
    gained -= gained[a]  # what it scores alone
    gained[a] = -np.inf
    return gained


def _move(problem: Problem, where: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Move single units to the group they suit best, or to a new one, until no move gains anything."""

    def best(weights: NDArray[np.float64], home: int) -> int:
        top = int(np.argmax(weights))
        return top if weights[top] > weights[home] + TOLERANCE else home

    visits = Visits(problem, where, most)
    order = np.argsort(-problem.totals, kind="stable")
    unmoved = 0  # units in a row that stay; once these are all, none can gain
    units = cycle(order.tolist())
    while unmoved < len(order):
        limits.check()
        unmoved = 0 if visits.moved(next(units), best) else unmoved + 1
    return visits.where


class Visits:
    """A partition whose units are visited one by one; the last group is always empty, room for a new one."""

    def __init__(self, problem: Problem, where: NDArray[np.int64], most: int) -> None:
        self.problem, self.where, self.most = problem, where.copy(), most
        self.groups = Groups(problem, where, int(where.max()) + 2)
        self.groups.n += 1

    def moved(self, unit: int, choose: Callable[[NDArray[np.float64], int], int]) -> bool:
        """Put a unit where `choose` says, by the weights of all places and its group so far; whether it moved."""
        rows, home = self.problem.rows_of(unit), int(self.where[unit])
        # the unit is taken out first, so that staying at home is judged as every other place is
        self.groups.add(home, rows, -1)
        chosen = choose(self.weights(home, self.groups.gains(rows)), home)
        self.groups.add(chosen, rows)
        if chosen != home:
            self.where[unit] = chosen
            self._renumber(home)
        return chosen != home

    def weights(self, home: int, gains: NDArray[np.float64]) -> NDArray[np.float64]:
        """The score of each place of a unit that was taken out; of two empty groups, its old one counts."""
        # Each partition must have one place: a unit that was alone leaves a second empty group, and either of the two
        # would make the same partition.
        empty, alone = self.groups.n - 1, self.groups.sizes[home] == 0
        occupied, new = empty - alone, home if alone else empty
        scores = gains + self.problem.whole[occupied]
        scores[empty] = -np.inf
        scores[new] = gains[new] + self.problem.whole[occupied + 1] if occupied < self.most else -np.inf
        return scores

    def _renumber(self, left: int) -> None:
        """After a move out of group `left`: make the last group the only empty one."""
        groups = self.groups
        if groups.sizes[groups.n - 1] > 0:
            groups.n += 1
            if groups.n > groups.counts.shape[1]:
                groups.counts = np.pad(groups.counts, ((0, 0), (0, groups.n)))
                groups.sizes, groups.totals = (np.pad(each, (0, groups.n)) for each in (groups.sizes, groups.totals))
        if groups.sizes[left] == 0:
            last = groups.n - 2
            if left != last:
                groups.replace(left, last)
                self.where[self.where == last] = left
            groups.counts[:, last] = groups.sizes[last] = groups.totals[last] = 0
            groups.n -= 1
