"""The Markov blanket of one variable as factors: a context, an outcome, and the number of the outcome's states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_CONFIGURATIONS = 10**300
"""Largest product of cardinalities: beyond it a float overflows."""

Codes = NDArray[np.integer]
Child = tuple[Codes, Sequence[Codes]]


class Factor(NamedTuple):
    """One Dirichlet-multinomial factor of an interval's cost (docs/maths.md, "The paper's objective")."""

    context: NDArray[np.int32]  # [n] codes 0.., all 0 for a context that is always the same
    outcome: NDArray[np.int32]  # [n] codes 0..
    cell: NDArray[np.int32]  # [n] codes 0.. of the pair (context, outcome)
    n_contexts: int  # observed
    n_cells: int  # observed
    n_states: int  # K, the outcome's cardinality
    context_states: int  # product of the context variables' cardinalities, observed together or not


def compact(codes: Codes) -> tuple[NDArray[np.int32], int]:
    """Codes renumbered 0, 1, … in ascending order without gaps, and how many there are.

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
    return (np.cumsum(seen, dtype=np.int32) - 1)[codes], int(seen.sum())


def joint(columns: Sequence[tuple[NDArray[np.int32], int]], n_rows: int) -> tuple[NDArray[np.int32], int]:
    """One compact code for the configuration of several compact columns; a single 0 for none."""
    code, n_levels = np.zeros(n_rows, np.int32), 1
    for codes, cardinality in columns:
        code, n_levels = compact(code.astype(np.int64) * cardinality + codes)
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


def factors_of(parents: Sequence[Codes], children: Sequence[Child], n_rows: int) -> list[Factor]:
    """The parents' factor, then one for each child, also where it costs nothing (one state).

    All codes must be those of rows with positive weight: cardinalities count what is observed.
    """
    compact_parents = [compact(np.asarray(codes)) for codes in parents]
    nothing = np.zeros(n_rows, np.int32)
    cell, n_cells = joint(compact_parents, n_rows)
    n_states = _configurations("parents", [k for _, k in compact_parents])
    factors = [Factor(nothing, cell, cell, 1, n_cells, n_states, 1)]
    for i, (codes, spouses) in enumerate(children):
        outcome = compact(np.asarray(codes))
        compact_spouses = [compact(np.asarray(spouse)) for spouse in spouses]
        context, n_contexts = joint(compact_spouses, n_rows)
        cell, n_cells = joint([(context, n_contexts), outcome], n_rows)
        states = _configurations(f"spouses of children[{i}]", [k for _, k in compact_spouses])
        factors.append(Factor(context, outcome[0], cell, n_contexts, n_cells, outcome[1], states))
    return factors
