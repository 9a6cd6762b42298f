"""The Markov blanket of one variable as factors: a context, an outcome, and the number of the outcome's states."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jaxbn.counts.codes import Codes, compact_known, joint
from jaxbn.inputs import checks
from jaxbn.runtime.threads import in_threads

MAX_CONFIGURATIONS = 10**300  # largest product of cardinalities: beyond it a float overflows

Child = tuple[Codes, Sequence[Codes]]

CompactColumn = tuple[NDArray[np.signedinteger], int, bool]
"""Compact codes, how many there are, and whether some entries are missing, which are coded -1."""


class Factor(NamedTuple):
    """One Dirichlet-multinomial factor of an interval's cost (docs/maths.md, "The paper's objective")."""

    context: NDArray[np.int32]  # [n] codes 0.., all 0 for a context that is always the same
    outcome: NDArray[np.signedinteger]  # [n] codes 0.., -1 for rows that lack a member
    cell: NDArray[np.int32]  # [n] codes 0.. of the pair (context, outcome)
    n_contexts: int  # observed
    n_cells: int  # observed
    n_states: int  # K, the outcome's cardinality
    context_states: int  # product of the context variables' cardinalities, observed together or not
    lacking: bool = False  # whether the last context, and the last cell, are of rows that lack a member
    counted: NDArray[np.int64] | None = None  # rows in each cell, if a device counted them; codes are `Deferred` then

    def counts(self, weights: NDArray[np.integer] | None) -> NDArray[np.int64]:
        """Weight of the rows in each cell."""
        if weights is None and self.counted is not None:
            return self.counted
        return np.bincount(self.cell, weights, self.n_cells).astype(np.int64)

    def at(self, rows: NDArray[np.intp] | slice) -> Factor:
        """The same for some of the rows, in any order."""
        return self._replace(context=self.context[rows], outcome=self.outcome[rows], cell=self.cell[rows], counted=None)


def checked_child(
    i: int,
    child: tuple[ArrayLike, Sequence[ArrayLike]],
    n_rows: int,
    check: Callable[..., NDArray[np.int64]] = checks.integers,
) -> Child:
    """The codes of a child and of its other parents, as an argument `children` has them."""
    try:
        codes, spouses = child
    except (TypeError, ValueError):
        raise checks.ArgumentError(
            f"children[{i}]",
            "must be a pair (codes, (spouse codes, ...)); write (codes, ()) for a child without spouses",
        ) from None
    return (
        check(f"children[{i}]", codes, n_rows),
        [check(f"children[{i}] spouse {s}", spouse, n_rows) for s, spouse in enumerate(spouses)],
    )


def _configurations(whose: str, cardinalities: Sequence[int]) -> int:
    """The number of possible joint configurations; used as a number of states, it must fit in a float."""
    product = math.prod(cardinalities)
    if product > MAX_CONFIGURATIONS:
        raise ValueError(
            f"{whose} have about 10^{math.log10(product):.0f} joint configurations, more than 10^300; "
            "pass fewer of them or merge their levels"
        )
    return product


def factors_of(
    parents: Sequence[Codes], children: Sequence[Child], n_rows: int, child_states: Sequence[int] | None = None
) -> list[Factor]:
    """The parents' factor, then one for each child, also where it costs nothing (one state).

    All codes must be those of rows with positive weight: cardinalities count what is observed. A negative code is a
    missing entry: rows that lack a member of a factor add nothing to it. They share a context and a cell of their own,
    in which the outcome has one state (docs/maths.md, "Missing entries"). `child_states` are the cardinalities of the
    children, where they are known to be more than these rows show.
    """

    def factor(i: int) -> Factor:
        if i < 0:
            return parents_factor([_column(codes) for codes in parents], n_rows)
        child, others = _column(children[i][0]), [_column(spouse) for spouse in children[i][1]]
        k = child[1] if child_states is None else child_states[i]
        return child_factor(child, others, n_rows, k, f"spouses of children[{i}]")

    return in_threads(factor, range(-1, len(children)), rows=n_rows)


def factors_at(parents: Sequence[Codes], children: Sequence[Child], rows: NDArray[np.intp]) -> list[Factor]:
    """The factors of some of the rows."""
    families = [(codes[rows], [spouse[rows] for spouse in spouses]) for codes, spouses in children]
    return factors_of([codes[rows] for codes in parents], families, len(rows))


def parents_factor(columns: Sequence[CompactColumn], n_rows: int) -> Factor:
    """The factor of all parents together; their context never changes, but for rows that lack one of them."""
    cell, n_cells, lacking = _joint(columns, n_rows)
    n_states = _configurations("parents", [k for _, k, _ in columns]) if n_cells > lacking else 1
    context = (cell == n_cells - 1).astype(np.int32) if lacking else np.zeros(n_rows, np.int32)
    outcome = np.where(context, -1, cell).astype(np.int32) if lacking else cell
    return Factor(context, outcome, cell, min(1 + lacking, n_cells), n_cells, n_states, 1, lacking)


def child_factor(
    child: CompactColumn, others: Sequence[CompactColumn], n_rows: int, n_states: int, whose: str = "spouses"
) -> Factor:
    """The factor of a child of `n_states` given its other parents; `whose` names these in an error."""
    columns = list(others)
    if child[2]:
        # A column of one state that is missing where the child is: so all rows that lack the child or a spouse share
        # the last context, and the last cell.
        columns.append((np.where(child[0] < 0, -1, 0).astype(np.int32), 1, True))
    context, n_contexts, lacking = _joint(columns, n_rows)
    cell, n_cells, _ = _joint([*others, child], n_rows)
    outcome = child[0]
    if lacking:
        lacks = context == n_contexts - 1
        outcome, n_states = np.where(lacks, -1, outcome).astype(np.int32), 1 if lacks.all() else n_states
    states = _configurations(whose, [k for _, k, _ in others])
    return Factor(context, outcome, cell, n_contexts, n_cells, n_states, states, lacking)


def _column(codes: Codes) -> CompactColumn:
    found, n_levels = compact_known(np.asarray(codes))
    return found, n_levels, bool((found < 0).any())


def _joint(columns: Sequence[CompactColumn], n_rows: int) -> tuple[NDArray[np.signedinteger], int, bool]:
    """One code for the configuration of some columns; rows that lack one of them, if any, have the last code."""
    plain = [(codes, k) for codes, k, _ in columns]
    holed = [codes < 0 for codes, _, lacks in columns if lacks]
    if not holed:
        return *joint(plain, n_rows), False
    present = ~np.logical_or.reduce(holed)
    known, n_known = joint([(codes[present], k) for codes, k in plain], int(present.sum()))
    n_known = n_known if len(known) else 0
    code = np.full(n_rows, n_known, np.int32)
    code[present] = known
    return code, n_known + 1, True
