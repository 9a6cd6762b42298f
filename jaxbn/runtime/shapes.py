"""Bucket sizes: the one place that decides which array shapes the kernels are compiled for.

Every size is rounded up to a power of two (or of eight, where waste is cheap), so that problems of similar size share a
compiled program. Padding is neutral: rows of weight zero, cells of sign zero, empty slots of infinite cost.
"""

from __future__ import annotations

from typing import NamedTuple

from jaxbn.kernels.pruned.block import BLOCK
from jaxbn.kernels.pruned.tiles import CELL_GROUP

LEAST_ROWS = 1024  # rows of the smallest pruned program


class PrunedShape(NamedTuple):
    """Sizes and switches of a compiled program of `program`; the letters are its own."""

    rows: int  # N
    terms: int  # J
    cells: int  # C
    tables: int  # Q
    length: int  # Z
    settled: int  # M of the settled starts
    recent: int  # M of the recent ones
    width: int  # W


PRICES = 8  # prices that a program is compiled for
FEW_POSITIONS = 2048  # up to this many groups of rows the costs of all intervals are one matrix
FEW_PRICES = 4  # prices of the pruned program where widths do not count: fewer numbers are nearly best

TWO_PRICES = 2
"""Those where few bins are allowed: one that leads to the best number, and one that rules out larger ones."""


class MatrixShape(NamedTuple):
    """Sizes of a compiled program of `kernels.interval_costs`; they follow the table, whatever the blanket."""

    groups: int  # G
    length: int  # of the shared tables
    mass_length: int  # of the table of weights
    counts: int  # V
    layers: int  # L

    @classmethod
    def of(cls, n_groups: int, total_weight: int, most_states: int) -> MatrixShape:
        """The bucket of problems with at most this many groups and states."""
        groups = bucket(n_groups, 256)
        return cls(
            groups=groups,
            length=bucket(total_weight + max(most_states, 2048), 4096),
            mass_length=bucket(total_weight + 1, 1024),
            counts=max(2**18, groups),
            layers=max(1024, groups // 16),
        )


SHARED_ROWS = 2**17
"""Up to this many rows all small blankets share one pruned program: compiling another takes longer than it saves."""

FEW_CELLS = 16  # groups of cells of that program


def bucket(size: int, least: int, ratio: int = 2) -> int:
    """The smallest `least * ratio**k` that holds `size`."""
    while least < size:
        least *= ratio
    return least


def pruned_shape(n_rows: int, n_terms: int, n_cells: int, total_weight: int) -> PrunedShape:
    """The bucket of a larger problem."""
    # Few shapes for problems of few rows, where compiling takes longer than running: one with room for 16 terms and 128
    # cells. With many rows, room that is not used costs more than another compilation.
    rows = bucket(n_rows, LEAST_ROWS)
    wide = n_rows <= SHARED_ROWS
    terms = 2 if n_terms <= 2 and not wide else bucket(n_terms, 16)
    least = (FEW_CELLS if wide else 1) * CELL_GROUP
    cells = bucket(n_cells, least, 4) if n_cells <= 64 * CELL_GROUP else bucket(n_cells, 128 * CELL_GROUP)
    return PrunedShape(
        rows=rows,
        terms=terms,
        cells=cells,
        tables=terms // 2 + 3,  # two more for the floors
        length=bucket(total_weight + 2 * BLOCK, 2 * LEAST_ROWS),
        settled=min(rows, 32768),
        recent=256,
        width=128,
    )
