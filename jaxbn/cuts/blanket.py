"""The Markov blanket of one variable as factors: a context, an outcome, and the number of the outcome's states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_CONFIGURATIONS = 10**300
"""Largest product of cardinalities: beyond it a float overflows."""

Codes = NDArray[np.integer]
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

    def at(self, rows: NDArray[np.intp] | slice) -> Factor:
        """The same for some of the rows, in any order."""
        return self._replace(context=self.context[rows], outcome=self.outcome[rows], cell=self.cell[rows])


def wide_enough(size: int) -> Any:
    """The type for numbers below `size`: 32 bits, which take half the time and memory of 64, where they are enough."""
    return np.int32 if size < 2**31 else np.int64


def compact(codes: Codes) -> tuple[NDArray[np.signedinteger], int]:
    """Codes renumbered 0, 1, … in ascending order without gaps, in 32 bits or fewer, and how many there are.

    Example:
        >>> compact(np.array([7, 2, 7]))
        (array([1, 0, 1], dtype=int32), 2)
    """
    top = int(codes.max(initial=0))
    if top > 4 * len(codes) + 1024:
        levels, renumbered = np.unique(codes, return_inverse=True)
        return renumbered.astype(np.int32), len(levels)
    seen = np.zeros(top + 1, bool)
    seen[codes] = True
    few_bits: Any = codes.dtype if codes.dtype in (np.int8, np.int16) else np.int32
    n_levels = int(np.count_nonzero(seen))
    if n_levels == len(seen):
        return codes.astype(few_bits), n_levels
    return (np.cumsum(seen, dtype=np.int32) - 1).astype(few_bits)[codes], n_levels


def compact_known(codes: Codes) -> tuple[NDArray[np.signedinteger], int]:
    """The same where negative codes are missing entries, which become -1.

    Example:
        >>> compact_known(np.array([7, -1, 2]))
        (array([ 1, -1,  0], dtype=int32), 2)
    """
    if not len(codes) or codes.min() >= 0:
        return compact(codes)
    known = codes >= 0
    renumbered, n_levels = compact(codes[known])
    found = np.full(len(codes), -1, renumbered.dtype)
    found[known] = renumbered
    return found, n_levels


def joint(columns: Sequence[tuple[NDArray[np.signedinteger], int]], n_rows: int) -> tuple[NDArray[np.int32], int]:
    """One compact code for the configuration of several compact columns; a single 0 for none."""
    code, n_levels = np.zeros(n_rows, np.int32), 1
    for codes, cardinality in columns:
        cell = code.astype(wide_enough(n_levels * cardinality))
        cell *= cardinality
        cell += codes
        code, n_levels = compact(cell)
    return code, n_levels


def _configurations(whose: str, cardinalities: Sequence[int]) -> int:
    """How many joint configurations there could be; as a number of states it must fit in a float."""
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
    in which the outcome has one state (docs/maths.md, "Missing entries").

    Args:
        parents: codes of each parent [n].
        children: codes of each child [n] and of its other parents.
        n_rows: n.
        child_states: cardinality of each child, where it is known to be more than these rows show.
    """
    factors = [parents_factor([_column(codes) for codes in parents], n_rows)]
    for i, (codes, spouses) in enumerate(children):
        child, others = _column(codes), [_column(spouse) for spouse in spouses]
        k = child[1] if child_states is None else child_states[i]
        factors.append(child_factor(child, others, n_rows, k, f"spouses of children[{i}]"))
    return factors


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
    states = _configurations(whose, [k for _, k, _ in others])
    if child[2] or any(lacks for _, _, lacks in others):
        return _holed_factor(child, others, n_states, states)
    context, n_contexts, _ = _joint(others, n_rows)
    cell, n_cells = joint([(context, n_contexts), child[:2]], n_rows)
    return Factor(context, child[0], cell, n_contexts, n_cells, n_states, states)


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


def _holed_factor(child: CompactColumn, spouses: Sequence[CompactColumn], n_states: int, context_states: int) -> Factor:
    """The factor of a child where some rows lack it, or a spouse."""
    n_rows = len(child[0])
    has_child = np.where(child[0] < 0, -1, 0).astype(np.int32), 1, True
    context, n_contexts, _ = _joint([*spouses, has_child], n_rows)
    cell, n_cells, _ = _joint([*spouses, child], n_rows)
    lacks = context == n_contexts - 1
    outcome = np.where(lacks, -1, child[0]).astype(np.int32)
    return Factor(context, outcome, cell, n_contexts, n_cells, 1 if lacks.all() else n_states, context_states, True)
