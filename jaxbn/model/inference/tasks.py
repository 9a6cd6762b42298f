"""A table with missing entries, taken apart into what has to be worked out once for each component and blanket.

It holds no probabilities: the same tasks serve one table of probabilities after the other, as EM needs it.
Shapes: B rows, V variables, P patterns of missing entries, E pairs of a pattern and one of its components; of one task
n rows, U distinct ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.counts.codes import joint
from jaxbn.inputs.columns import MISSING
from jaxbn.model.inference.elimination import LOG_SUMS, SUMS, Arithmetic, Array, Component, Forward, Plan, plan
from jaxbn.model.inference.network import Network, Structure
from jaxbn.runtime import limits
from jaxbn.runtime.memory import BYTES, max_memory

CELLS = 2**18  # numbers worked on at a time: they stay in the processor's cache
BLOCK = 2**26  # entries of a table that are taken apart at a time
TINY = 1e-200  # a sum of plain numbers that is worked out again by logarithms

Codes = NDArray[np.integer[Any]]
Places = NDArray[np.intp]
Evidence = Mapping[int, Array]
"""Of some variables, what else is known of their states where they are missing: ln P(it | state), [B, K]."""


@dataclass(frozen=True, eq=False)
class Task:
    """One component and the rows that have it.

    Where there is evidence, all rows are distinct; it may change from one network to the next.
    """

    plan: Plan  # the order in which the component's variables are summed out
    rows: Places  # positions of the rows in the table, [n]
    where: Places  # which of the distinct rows each of them is, [n]
    counts: NDArray[np.int64]  # how many rows each distinct one stands for, [U]
    structure: Structure
    known: Mapping[int, NDArray[np.int64]]  # the states of the blanket in the distinct rows, [U] each
    evidence: list[Array | None]  # of each step what else is known of its variable's state, [B, K]

    @property
    def n_distinct(self) -> int:
        """Number of distinct rows, U."""
        return len(self.counts)

    @property
    def n_cells(self) -> int:
        """Numbers that its rows are summed over, all distinct ones together."""
        return self.plan.cells * self.n_distinct

    def eliminated(self, network: Network, arithmetic: Arithmetic) -> Iterator[tuple[slice, Forward]]:
        """Elimination, in logarithms, for parts of the distinct rows that fit into memory together with all steps."""
        for part in self._parts():
            yield part, self.plan.eliminate(self._factors(network.log_tables, part), arithmetic)

    def beliefs(self, network: Network) -> Iterator[tuple[slice, Array, list[Array]]]:
        """Of parts of the distinct rows ln P(what is known) [U], and P(scope | what is known) of every step.

        Plain numbers are several times as fast as logarithms. No factor is above 1, so what underflows on the way is
        nothing beside a sum that is not `TINY`.
        """
        for part in self._parts():
            done = self.plan.eliminate(self._factors(network.tables, part, plain=True), SUMS)
            # a component is connected: its last step is its only root, and what it leaves is the whole sum
            if (done.totals[-1] > TINY).all():
                logs = np.log(done.totals[-1])
                for more in self.evidence:
                    logs = logs if more is None else logs + more[self.rows[part]].max(axis=1)
                yield part, logs, done.beliefs(plain=True)
            else:
                done = self.plan.eliminate(self._factors(network.log_tables, part), LOG_SUMS)
                yield part, done.totals[-1], done.beliefs()

    def _parts(self) -> Iterator[slice]:
        self.plan.check()
        cells = min(CELLS, int(max_memory() / (4 * BYTES)))
        step = max(1, cells // self.plan.cells)
        for start in range(0, self.n_distinct, step):
            limits.check()
            yield slice(start, min(start + step, self.n_distinct))

    def places(self, step: int, family: int, part: slice) -> NDArray[np.int64]:
        """Where the entries of a step's family are in its flat table, [U, *scope]."""
        outer, inner = self._places[step][family]
        chosen = outer[part] if len(outer) == self.n_distinct else outer
        return chosen.reshape(-1, *[1] * inner.ndim) + inner

    def members(self, part: slice) -> NDArray[np.intp] | slice:
        """Which of the rows are in a part of the distinct ones."""
        if part == slice(0, self.n_distinct):
            return slice(None)
        return self._sorted[self.counts[: part.start].sum() : self.counts[: part.stop].sum()]

    @cached_property
    def _sorted(self) -> NDArray[np.intp]:
        return np.argsort(self.where, kind="stable")

    @cached_property
    def _places(self) -> list[list[tuple[NDArray[np.int64], NDArray[np.int64]]]]:
        """Of each step and each of its families the place of what is observed, [U] or [1], and that of the scope.

        So a network's tables are only looked up, for all distinct rows at once.
        """
        return [[self._places_of(child, step.scope) for child in step.families] for step in self.plan.steps]

    def _places_of(self, child: int, scope: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        outer, inner = np.zeros(1, np.int64), np.zeros([1] * len(scope), np.int64)
        for v, stride in zip(self.structure.families[child], self.structure.strides[child], strict=True):
            if v in self.known:
                outer = outer + self.known[v] * stride
            else:
                shape = [-1 if u == v else 1 for u in scope]
                inner = inner + (np.arange(self.structure.sizes[v]) * stride).reshape(shape)
        return outer, inner

    def _factors(self, tables: Sequence[Array], part: slice, *, plain: bool = False) -> Iterator[list[Array]]:
        """The tables of every step's families at the observed entries of some distinct rows, and the evidence."""
        for k, step in enumerate(self.plan.steps):
            own = [tables[child].take(self.places(k, i, part)) for i, child in enumerate(step.families)]
            more = self.evidence[k]
            if more is not None:
                told = more[self.rows[part]]
                told = np.exp(told - told.max(axis=1, keepdims=True)) if plain else told
                own.append(told.reshape(-1, *[1] * (len(step.scope) - 1), more.shape[1]))
            yield own


def take_apart(
    structure: Structure,
    codes: Codes,
    *,
    drop_barren: bool,
    target: int | None = None,
    evidence: Evidence | None = None,
    rows: Places | None = None,
) -> Iterator[Task]:
    """The tasks of a table of codes [B, V], -1 where missing.

    With `drop_barren`, hidden variables without evidence that have no other descendants are left out: their tables sum
    to 1. A `target` counts as hidden in all rows and is not left out; its components alone are tasks. With `evidence`
    of what else is known of missing entries, rows whose hidden variables have some are all distinct. `rows` are those
    that are looked at.
    """
    absent, evidence = codes == MISSING, evidence or {}
    if rows is None:
        rows = np.flatnonzero(absent.any(axis=1)) if target is None else np.arange(len(codes))
    told = [*evidence] if target is None else [*evidence, target]
    size = max(2**16, BLOCK // max(1, codes.shape[1]))
    for block in (rows[start : start + size] for start in range(0, len(rows), size)):
        for component, places in _split(structure, absent[block], told if drop_barren else None, target):
            limits.check()
            own = block[places]
            near = {v for child in component.families for v in structure.families[child]}
            blanket = sorted(near.difference(component.hidden))
            observed = codes.T[np.array(blanket, np.intp)[:, None], own].astype(np.int64)  # [blanket, n]
            if any(v in evidence for v in component.hidden):
                first = where = np.arange(len(own))
            else:
                sizes = [structure.sizes[v] for v in blanket]
                first, where = _distinct(list(zip(observed, sizes, strict=True)), len(own))
            known = dict(zip(blanket, observed[:, first], strict=True))
            found = plan(structure, component, () if target is None else (target,))
            more = [evidence.get(step.variable) for step in found.steps]
            yield Task(found, own, where, np.bincount(where, minlength=len(first)), structure, known, more)


# --- components of rows (why this is exact: docs/maths.md, "Missing entries")


def _split(
    structure: Structure, absent: NDArray[np.bool_], told: list[int] | None, target: int | None
) -> list[tuple[Component, Places]]:
    """The components of rows, each with the rows that have it; a row with several components is in several entries.

    `absent` says which entries are missing, [B, V]; barren are variables without descendants that are observed or
    `told`, and stay if that is None.
    """
    if target is not None:
        absent = absent.copy()
        absent[:, target] = True
    # components follow from where a row has holes, so they are found once for each such pattern
    first, where = _distinct_masks(absent)
    patterns = absent[first]
    active = np.ones_like(patterns) if told is None else ~_barren(structure, patterns, told)
    labels = _labels(structure, patterns & active, active)
    if target is None:
        pattern, root = np.nonzero(labels == np.arange(labels.shape[1]))
    else:
        pattern, root = np.arange(len(labels)), labels[:, target].astype(np.intp)
    inside = labels[pattern] == root[:, None]  # [E, V]
    touched = np.stack([inside[:, family].any(axis=1) for family in structure.families], axis=1) & active[pattern]
    one_of_kind, kind = _distinct_masks(np.hstack([inside, touched]))
    found = [
        Component(tuple(np.flatnonzero(inside[i]).tolist()), tuple(np.flatnonzero(touched[i]).tolist()))
        for i in one_of_kind
    ]
    return list(zip(found, _rows(where, pattern, kind, len(found)), strict=True))


def _barren(structure: Structure, hidden: NDArray[np.bool_], told: list[int]) -> NDArray[np.bool_]:
    """Barren variables, hidden like all their descendants, none of which is told, [P, V]."""
    barren = hidden.copy()
    barren[:, told] = False
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
    """The rows of each component, ascending: `where` has the pattern of each row [B], the others are of pairs [E]."""
    of_pattern = np.split(np.argsort(where, kind="stable"), np.cumsum(np.bincount(where, minlength=1))[:-1])
    patterns = np.split(pattern[np.argsort(kind, kind="stable")], np.cumsum(np.bincount(kind, minlength=n_kinds))[:-1])
    for own in patterns if n_kinds else ():
        limits.check()
        yield np.sort(np.concatenate([of_pattern[each] for each in own]))


def _distinct(columns: Sequence[tuple[NDArray[Any], int]], n_rows: int) -> tuple[Places, Places]:
    """The distinct rows of columns of codes with their sizes: the first of each [U], and which of them each row is."""
    where, n = joint(columns, n_rows)
    first = np.zeros(n, np.intp)
    first[where[::-1]] = np.arange(n_rows - 1, -1, -1)
    return first, where.astype(np.intp)


def _distinct_masks(masks: NDArray[np.bool_]) -> tuple[Places, Places]:
    """The same of a matrix of booleans, [n, columns]."""
    packed = np.packbits(masks, axis=1)
    return _distinct([(column, 256) for column in packed.T], len(masks))
