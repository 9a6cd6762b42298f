"""Moves of orders: single columns, and blocks of connected ones.

The gain of moving any column to any place is found for all of them at once. Moving a column to another gap changes its
own family and those of the columns it passes. Columns that it passes on its way forward gain it as a possible parent;
columns that it passes on its way back lose it. Both are sums over the columns between, so one cumulative sum gives all
gaps. The gains of moves over disjoint ranges of places add up, so all of them are made at once.

A block of a few connected columns is put into its best order, all others fixed: that can reverse whole chains of arcs
in one move.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from jaxbn.structure.constraints import bits, union_of
from jaxbn.structure.exact import NOTHING, best_order, inside, without_bit
from jaxbn.structure.families import FamilyTable, Standing

WIDTH = 8  # columns of a block


def climb(table: FamilyTable, order: Sequence[int], should_stop: Callable[[], bool]) -> tuple[list[int], Standing]:
    """Put columns at their best places until no move gains anything; the order, and how the families stand in it."""
    found = list(order)
    while True:
        standing = table.stand(found)
        if should_stop():
            return found, standing
        gains = insertion_gains(table, standing)
        gaps = gains.argmax(axis=0)
        gain = gains[gaps, np.arange(len(found))]
        if gain.max(initial=0) <= 0:
            return found, standing
        # each move permutes its own range of places alone, so the places of the moves that follow stay right
        for here, gap in _disjoint(gain, gaps, standing):
            if gap < here:
                found[gap : here + 1] = [found[here], *found[gap:here]]
            else:
                found[here:gap] = [*found[here + 1 : gap], found[here]]


def insertion_gains(table: FamilyTable, standing: Standing) -> NDArray[np.int64]:
    """What every column wins by moving to every gap, [N + 1 gaps, N]; gap i is in front of the column at place i."""
    n = table.n_columns
    # The best family of every column at every gap, [N + 1, N], -1 where none fits: a family fits at the gap behind its
    # last parent, and at all later ones. Of several the last one stays, which is the best.
    own = np.full((n + 1, n), -1)
    own[standing.last + 1, table.child] = table.numbers
    np.maximum.accumulate(own, axis=0, out=own)
    worth, place = table.worth, standing.place[:n]
    now = worth[standing.best]
    # At [place, column]: what the column at that place is worth with this column before it, less its worth with this
    # column after it. One of the two is the case now; the best families with one parent more or fewer tell the other.
    passed = np.zeros((n + 1, n), np.int64)
    families = _with_one_more(table, standing)  # of several with the same place the last one stays, the best
    passed[standing.here[families], standing.order[standing.last[families]]] = (
        worth[families] - now[table.child[families]]
    )
    for children, parents, others in _with_one_less(table, standing):
        passed[place[children], parents] = now[children] - worth[others]
    before = np.zeros((n + 1, n), np.int64)
    np.cumsum(passed[:-1], axis=0, out=before[1:])
    # the equation of docs/maths.md, "The best structure": its own family there, less now, and the sums over the columns
    # before its old place, less those before the gap
    gains = worth[own]
    gains -= before
    gains += before[place, np.arange(n)] - now
    gains[own < 0] = NOTHING  # before a required parent: not allowed, whatever the columns it passes would win
    return gains


def rivals(table: FamilyTable, standing: Standing) -> NDArray[np.intp]:
    """Families that are the best of their column in this order or after one move, ascending."""
    more = _with_one_more(table, standing)
    best_with = np.full((table.n_columns, table.n_columns), -1)
    best_with[standing.here[more], standing.last[more]] = more
    found = [standing.best, best_with.ravel()]
    found += [others for _, _, others in _with_one_less(table, standing)]
    families = np.unique(np.concatenate(found))
    return families[families >= 0]


def _with_one_more(table: FamilyTable, standing: Standing) -> NDArray[np.intp]:
    """Families better than the ones in use that lack one column which comes later."""
    ahead = (standing.second < standing.here) & (standing.last > standing.here)
    ahead &= table.numbers > standing.best[table.child]
    return np.flatnonzero(ahead)


def _with_one_less(
    table: FamilyTable, standing: Standing
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]]:
    """Children, a parent of each, and the best family that fits without it; -1 where there is none."""
    for parents in table.members[:, standing.best]:
        children = np.flatnonzero(parents < table.n_columns)
        if not len(children):
            return
        with_it = (table.members == parents[table.child]).any(axis=0)
        others = np.maximum.reduceat(np.where(with_it, -1, standing.fits), table.starts)
        yield children, parents[children], others[children]


def _disjoint(gain: NDArray[np.int64], gaps: NDArray[np.intp], standing: Standing) -> Iterator[tuple[int, int]]:
    """Moves (place, gap) that gain, the best first, without those whose places overlap with a better one's."""
    taken = np.zeros(len(gain), bool)
    for column in np.argsort(-gain, kind="stable").tolist():
        if gain[column] <= 0:
            return
        here, gap = int(standing.place[column]), int(gaps[column])
        between = slice(gap, here + 1) if gap < here else slice(here, gap)
        if not taken[between].any():
            taken[between] = True
            yield here, gap


class Blocks:
    """Blocks of the best structure of an order."""

    def __init__(self, table: FamilyTable, order: Sequence[int]) -> None:
        self.table = table
        self._tried: set[int] = set()
        self.order = list(order)
        best = table.stand(order).best.tolist()
        n_columns = table.n_columns
        self.near, self.above, self.below = [0] * n_columns, [0] * n_columns, [0] * n_columns
        parents = [table.masks[family] for family in best]
        for column in self.order:
            for parent in bits(parents[column]):
                self.near[column] |= 1 << parent
                self.near[parent] |= 1 << column
                self.above[column] |= self.above[parent] | 1 << parent
        for column in reversed(self.order):
            for parent in bits(parents[column]):
                self.below[parent] |= self.below[column] | 1 << column

    def rearranged(self, rng: random.Random) -> list[int] | None:
        """The order with a random block rearranged in the best way; None if it already is."""
        column = rng.randrange(len(self.order))
        block = self.block(column, WIDTH, rng)
        if block in self._tried:
            return None
        self._tried.add(block)
        return arranged(self.table, *self.around(block), block.bit_count())

    def block(self, column: int, width: int, rng: random.Random) -> int:
        """Linked columns around a given one, with every column on a directed path between two of them."""
        block = 1 << column
        edge = self.near[column]
        while edge and block.bit_count() < width:
            joining = rng.choice(bits(edge))
            # with every column on a path between two members: without it, these could not stand together in an order
            grown = block | 1 << joining
            grown |= union_of(self.above, grown) & union_of(self.below, grown)
            edge &= ~(1 << joining)
            if grown.bit_count() <= width:
                edge = (edge | union_of(self.near, grown & ~block)) & ~grown
                block = grown
        return block

    def around(self, block: int) -> tuple[list[int], int]:
        """An order of the same structure with the block together, as late as possible, and where it begins."""
        after = union_of(self.below, block) & ~block
        before = [c for c in self.order if not (after | block) >> c & 1]
        inside = [c for c in self.order if block >> c & 1]
        return before + inside + [c for c in self.order if after >> c & 1], len(before)


def arranged(table: FamilyTable, order: list[int], first: int, width: int) -> list[int] | None:
    """The order with a window of columns rearranged in the best way; None if it already is."""
    if width < 2:
        return None
    window = order[first : first + width][::-1]  # from its end, so that of equal orders the first columns come last
    place = np.full(table.n_columns + 1, table.n_columns)
    place[order[:first]] = -1
    place[window] = np.arange(width)
    place[-1] = -1  # no column at all is in front of the window
    families = np.concatenate([table.numbers[table.part(column)] for column in reversed(window)])
    # -1 is in front of the window, a parent in any arrangement; the number of columns is behind it, a parent in none
    places = place[table.members[:, families]]
    usable = (places < width).all(axis=0)
    families, places = families[usable], places[:, usable]
    inner = np.where(places >= 0, 1 << np.maximum(places, 0), 0).sum(axis=0)
    own = place[table.child[families]]
    best = np.full((width, 1 << (width - 1)), NOTHING)
    best[own, without_bit(inner, own)] = table.worth[families]  # of several the last stays, the best
    inside(np.maximum, best)
    value, found = best_order(best)
    now = sum(int(best[i, -1 << i]) for i in range(width))  # with all columns of higher numbers in front
    if value <= now:
        return None
    return [*order[:first], *(window[i] for i in found), *order[first + width :]]
