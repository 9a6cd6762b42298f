"""The hidden variables of rows, split into those that hang together given what is observed.

Why this is exact is in docs/maths.md, "Missing entries".

Shapes: B rows, P patterns of missing entries, V variables, E pairs of a pattern and one of its components.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.model.holes.distinct import distinct_masks
from jaxbn.model.holes.network import Structure
from jaxbn.runtime import limits


class Component(NamedTuple):
    """Hidden variables that hang together: all other members of their families are observed."""

    hidden: tuple[int, ...]
    families: tuple[int, ...]  # the families with a hidden member, by child
    blanket: tuple[int, ...]  # the observed members of these families


class Split(NamedTuple):
    """Rows by component; a row with several components is in several entries."""

    parts: list[tuple[Component, NDArray[np.intp]]]  # a component and the rows that have it
    barren: NDArray[np.bool_]  # [B, V], hidden variables that were left out as they have no observed descendant


def split(structure: Structure, absent: NDArray[np.bool_], *, drop_barren: bool, target: int | None = None) -> Split:
    """The components of every row.

    Args:
        structure: parents and numbers of states.
        absent: [B, V], which entries are missing.
        drop_barren: leave out hidden variables all of whose descendants are hidden; their tables sum to 1.
        target: a variable that counts as hidden in all rows and is not left out; its component alone is returned.

    Example:
        >>> chain = Structure(((), (0,), (1,)), (2, 2, 2))
        >>> split(chain, np.array([[True, False, True]]), drop_barren=True).parts
        [(Component(hidden=(0,), families=(0, 1), blanket=(1,)), array([0]))]
    """
    if target is not None:
        absent = absent.copy()
        absent[:, target] = True
    first, where = distinct_masks(absent)
    patterns = absent[first]
    barren = _barren(structure, patterns, target) if drop_barren else np.zeros_like(patterns)
    active = ~barren
    labels = _labels(structure, patterns & active, active)
    if target is None:
        pattern, root = np.nonzero(labels == np.arange(labels.shape[1]))
    else:
        pattern, root = np.arange(len(labels)), labels[:, target].astype(np.intp)
    members = labels[pattern] == root[:, None]  # [E, V]
    touched = np.stack([members[:, family].any(axis=1) for family in structure.families], axis=1) & active[pattern]
    kinds = distinct_masks(np.hstack([members, touched]))
    found = [_component(structure, members[i], touched[i]) for i in kinds.first]
    return Split(list(zip(found, _rows(where, pattern, kinds.where, len(found)), strict=True)), barren[where])


def hanging_on(
    structure: Structure, start: Iterable[int], hidden: Collection[int], active: Collection[int]
) -> Component:
    """The components of some hidden variables, as one; tables of other than the active variables sum to 1.

    Example:
        >>> chain = Structure(((), (0,), (1,), (2,)), (2, 2, 2, 2))
        >>> hanging_on(chain, [0], {0, 2}, {0, 1, 2, 3})
        Component(hidden=(0,), families=(0, 1), blanket=(1,))
    """
    found, touched = set(start), set()
    stack = list(found)
    while stack:
        variable = stack.pop()
        for child in (variable, *structure.children[variable]):
            if child in active and child not in touched:
                touched.add(child)
                new = [v for v in structure.families[child] if v in hidden and v not in found]
                found.update(new)
                stack += new
    near = {v for child in touched for v in structure.families[child]}
    return Component(tuple(sorted(found)), tuple(sorted(touched)), tuple(sorted(near - found)))


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


def _component(structure: Structure, members: NDArray[np.bool_], touched: NDArray[np.bool_]) -> Component:
    hidden = tuple(np.flatnonzero(members).tolist())
    families = tuple(np.flatnonzero(touched).tolist())
    near = {v for child in families for v in structure.families[child]}
    return Component(hidden, families, tuple(sorted(near.difference(hidden))))


def _rows(
    where: NDArray[np.intp], pattern: NDArray[np.intp], kind: NDArray[np.intp], n_kinds: int
) -> Iterator[NDArray[np.intp]]:
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
