"""The hidden variables of rows, split into connected components given what is observed.

Why this is exact is in docs/maths.md, "Missing entries".

Shapes: B rows, P patterns of missing entries, V variables, E pairs of a pattern and one of its components.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.model.inference.network import Structure, members
from jaxbn.runtime import limits

SPAN = 2**62  # keys of rows stay below this

Places = NDArray[np.intp]


class Component(NamedTuple):
    """Hidden variables that are connected: all other members of their families are observed."""

    hidden: tuple[int, ...]
    families: tuple[int, ...]  # the families with a hidden member, by child


def connected(structure: Structure, start: int, hidden: int, active: int) -> Component:
    """The components of some hidden variables, as one; tables of other than the active variables sum to 1.

    Args:
        structure: parents and numbers of states.
        start: some of the hidden variables, as a mask.
        hidden: a mask.
        active: a mask.

    Example:
        >>> chain = Structure(((), (0,), (1,), (2,)), (2, 2, 2, 2))
        >>> connected(chain, 0b0001, 0b0101, 0b1111)
        Component(hidden=(0,), families=(0, 1))
    """
    found, touched, stack = start, 0, members(start)
    while stack:
        variable = stack.pop()
        for child in (variable, *structure.children[variable]):
            bit = 1 << child
            if active & bit and not touched & bit:
                touched |= bit
                new = structure.masks[child] & hidden & ~found
                if new:
                    found |= new
                    stack += members(new)
    return Component(tuple(members(found)), tuple(members(touched)))


def split(
    structure: Structure, absent: NDArray[np.bool_], *, drop_barren: bool, target: int | None = None
) -> list[tuple[Component, Places]]:
    """The components of rows, each with the rows that have it; a row with several components is in several entries.

    Args:
        structure: parents and numbers of states.
        absent: [B, V], which entries are missing.
        drop_barren: leave out hidden variables all of whose descendants are hidden; their tables sum to 1.
        target: a variable that counts as hidden in all rows and is not left out; its component alone is returned.

    Example:
        >>> chain = Structure(((), (0,), (1,)), (2, 2, 2))
        >>> split(chain, np.array([[True, False, True]]), drop_barren=True)
        [(Component(hidden=(0,), families=(0, 1)), array([0]))]
    """
    if target is not None:
        absent = absent.copy()
        absent[:, target] = True
    first, where = distinct_masks(absent)
    patterns = absent[first]
    active = ~_barren(structure, patterns, target) if drop_barren else np.ones_like(patterns)
    labels = _labels(structure, patterns & active, active)
    if target is None:
        pattern, root = np.nonzero(labels == np.arange(labels.shape[1]))
    else:
        pattern, root = np.arange(len(labels)), labels[:, target].astype(np.intp)
    inside = labels[pattern] == root[:, None]  # [E, V]
    touched = np.stack([inside[:, family].any(axis=1) for family in structure.families], axis=1) & active[pattern]
    kinds = distinct_masks(np.hstack([inside, touched]))
    found = [
        Component(tuple(np.flatnonzero(inside[i]).tolist()), tuple(np.flatnonzero(touched[i]).tolist()))
        for i in kinds.first
    ]
    return list(zip(found, _rows(where, pattern, kinds.where, len(found)), strict=True))


def _barren(structure: Structure, hidden: NDArray[np.bool_], target: int | None) -> NDArray[np.bool_]:
    """Hidden variables all of whose descendants are hidden and none the target, [P, V]."""
    barren = hidden.copy()
    if target is not None:
        barren[:, target] = False
    for variable in reversed(structure.order):
        for child in structure.children[variable]:
            barren[:, variable] &= barren[:, child]
    return barren


def _labels(structure: Structure, hidden: NDArray[np.bool_], active: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The smallest variable of each hidden variable's component, [P, V]; V for observed ones."""
    n = hidden.shape[1]
    labels = np.where(hidden, np.arange(n), n).astype(np.int32)
    families = [np.array(family) for family in structure.families if len(family) > 1]
    open_rows = np.flatnonzero(hidden.sum(axis=1) > 1)
    while len(open_rows):  # a label spreads through all families in each round, until none changes
        before = labels[open_rows]
        after = before.copy()
        for family in families:
            limits.check()
            found = after[:, family]
            joined = np.where(found < n, found.min(axis=1, keepdims=True), n)
            after[:, family] = np.where(active[open_rows, family[-1], None], joined, found)
        labels[open_rows] = after
        open_rows = open_rows[(after != before).any(axis=1)]
    return labels


def _rows(where: Places, pattern: Places, kind: Places, n_kinds: int) -> Iterator[Places]:
    """The rows of each component, ascending.

    Args:
        where: [B], the pattern of each row.
        pattern: [E], the pattern of each pair.
        kind: [E], the component of each pair.
        n_kinds: number of components.
    """
    by_pattern = np.argsort(where, kind="stable")
    ends = np.cumsum(np.bincount(where, minlength=1))
    counts = np.diff(ends, prepend=0)
    order = np.argsort(kind, kind="stable")
    pattern, kind = pattern[order], kind[order]
    lengths = counts[pattern]
    inside = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows = by_pattern[np.repeat((ends - counts)[pattern], lengths) + inside]
    stops = np.cumsum(np.bincount(np.repeat(kind, lengths), minlength=n_kinds))
    start = 0
    for stop in stops.tolist():
        limits.check()
        yield np.sort(rows[start:stop])
        start = stop


class Distinct(NamedTuple):
    """The distinct rows: one that stands for each, and which of them each row is."""

    first: Places  # [U]
    where: Places  # [n]


def distinct_rows(columns: Sequence[NDArray[Any]], sizes: Sequence[int], n_rows: int) -> Distinct:
    """The distinct rows of columns of codes.

    Args:
        columns: codes of each column, from 0, [n] each.
        sizes: number of states of each column.
        n_rows: n, for the case of no columns.

    Example:
        >>> distinct_rows([np.array([1, 0, 1])], [2], 3)
        Distinct(first=array([1, 0]), where=array([1, 0, 1]))
    """
    key, span = np.zeros(n_rows, np.int64), 1
    for column, size in zip(columns, sizes, strict=True):
        if span > SPAN // size:
            first, key = _distinct(key, span)
            key, span = key.astype(np.int64), len(first)
        key = key * size + column
        span *= size
    return _distinct(key, span)


def distinct_masks(masks: NDArray[np.bool_]) -> Distinct:
    """The distinct rows of a matrix of booleans, [n, columns]."""
    packed = np.packbits(masks, axis=1)
    return distinct_rows(list(packed.T), [256] * packed.shape[1], len(masks))


def _distinct(key: NDArray[np.int64], span: int) -> Distinct:
    if span > 4 * len(key) + 1024:
        _, first, where = np.unique(key, return_index=True, return_inverse=True)
        return Distinct(first, where)
    first = np.full(span, -1, np.intp)  # few possible keys: a table of them spares the sort
    first[key[::-1]] = np.arange(len(key) - 1, -1, -1)
    rank = np.cumsum(first >= 0) - 1
    return Distinct(first[first >= 0], rank[key])
