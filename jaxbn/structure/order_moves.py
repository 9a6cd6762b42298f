"""Hill climbing over orders: the gain of moving any column to any place, for all of them at once.

Moving column c to another gap changes its own family and those of the columns it passes. Columns that
it passes on its way forward gain it as a possible parent; columns that it passes on its way back lose it. Both are sums
over the columns between, so one cumulative sum gives all gaps. The gains of moves over disjoint
ranges of places add up, so all of them are made at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from jaxbn.structure.family_table import FamilyTable, Standing


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
        for here, gap in _disjoint(gain, gaps, standing):
            if gap < here:
                found[gap : here + 1] = [found[here], *found[gap:here]]
            else:
                found[here:gap] = [*found[here + 1 : gap], found[here]]


def insertion_gains(table: FamilyTable, standing: Standing) -> NDArray[np.int64]:
    """What every column wins by moving to every gap, [N + 1 gaps, N]; gap i is in front of the column at place i."""
    n = table.n_columns
    worth, place = table.worth, standing.place[:n]
    now = worth[standing.best]
    passed = np.zeros((n + 1, n), np.int64)  # what the column at a place wins or loses as a column passes it
    families = _with_one_more(table, standing)  # of several with the same place the last one stays, the best
    passed[standing.here[families], standing.order[standing.last[families]]] = (
        worth[families] - now[table.child[families]]
    )
    for children, parents, others in _with_one_less(table, standing):
        passed[place[children], parents] = now[children] - worth[others]
    before = np.zeros((n + 1, n), np.int64)
    np.cumsum(passed[:-1], axis=0, out=before[1:])
    gains = worth[_own_families(table, standing)]
    gains -= before
    gains += before[place, np.arange(n)] - now
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
        lost = parents[table.child]
        with_it = table.members[0] == lost
        for members in table.members[1:]:
            with_it |= members == lost
        others = np.maximum.reduceat(np.where(with_it, -1, standing.fits), table.starts)
        yield children, parents[children], others[children]


def _own_families(table: FamilyTable, standing: Standing) -> NDArray[np.intp]:
    """The best family of every column at every gap, [N + 1, N]; -1 where none fits."""
    own = np.full((table.n_columns + 1, table.n_columns), -1)
    own[standing.last + 1, table.child] = table.numbers  # of several the last one stays, which is the best
    np.maximum.accumulate(own, axis=0, out=own)
    return own


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
