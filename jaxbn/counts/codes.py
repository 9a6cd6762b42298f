"""Columns of codes, and several of them as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.integer]

MOST_CELLS = 2**62  # numbers of cells stay below this


class Column(NamedTuple):
    """One variable as codes without gaps. Two columns are equal if and only if their keys are."""

    key: int
    codes: NDArray[np.int32]  # [n], -1 where an entry is missing
    n_states: int  # distinct codes observed
    declared: int = 0  # states that a table of the variable has, if these are more: levels and bins without a row

    @property
    def size(self) -> int:
        """States that a table of the variable has."""
        return max(self.n_states, self.declared)

    def taken(self, rows: Any) -> NDArray[np.signedinteger]:
        """The codes of some rows, in as few bits as they need: then more of a long column fits in the cache."""
        return self.codes.astype(narrow(self.n_states))[rows]


def narrow(n_states: int) -> np.dtype[np.signedinteger]:
    """The smallest type for so many codes and -1."""
    return np.min_scalar_type(-max(n_states, 1))


def wide_enough(size: int) -> Any:
    """The type for numbers below `size`: 32 bits, which take half the time and memory of 64, where they are enough."""
    return np.int32 if size < 2**31 else np.int64


def few(n_rows: int) -> int:
    """Numbers below this are told apart by a table of them, larger ones by sorting the rows."""
    return 4 * n_rows + 1024


def compact(codes: Codes) -> tuple[NDArray[np.signedinteger], int]:
    """Codes renumbered 0, 1, … in ascending order without gaps, in 32 bits or fewer, and how many there are."""
    top = int(codes.max(initial=0))
    if top > few(len(codes)):
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
    """The same where negative codes are missing entries, which become -1."""
    if not len(codes) or codes.min() >= 0:
        return compact(codes)
    known = codes >= 0
    renumbered, n_levels = compact(codes[known])
    found = np.full(len(codes), -1, renumbered.dtype)
    found[known] = renumbered
    return found, n_levels


def cells(columns: Sequence[tuple[Codes, int]], n_rows: int, most: int = MOST_CELLS) -> tuple[Codes, int]:
    """The cell of every row in the table of some columns, the last of which runs fastest, and how many cells.

    Columns are codes [n] from 0 and their numbers of states. Where there would be more than `most` cells, those that
    are observed are renumbered on the way.

    Example:
        >>> cells([(np.array([0, 1]), 2), (np.array([2, 0]), 3)], 2)
        (array([2, 3], dtype=int32), 6)
    """
    cell: Codes = np.zeros(n_rows, np.int32)
    n_cells = 1
    for codes, size in columns:
        # numbers of cells multiply up; renumbered, there are no more of them than rows
        if n_cells * size > most:
            cell, n_cells = compact(cell)
        n_cells *= size
        cell = cell.astype(wide_enough(n_cells), copy=False) * size
        cell += codes
    return cell, n_cells


def joint(columns: Sequence[tuple[Codes, int]], n_rows: int) -> tuple[NDArray[np.int32], int]:
    """One compact code for the configuration of several columns; a single 0 for none."""
    found, n_cells = compact(cells(columns, n_rows, few(n_rows))[0])
    return found.astype(np.int32, copy=False), n_cells
