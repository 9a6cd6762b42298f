"""Bucket sizes: the one place that decides which array shapes the kernels are compiled for.

Every size is rounded up to a power of two (or of eight, where waste is cheap), so that problems of similar size share a
compiled program. Padding is neutral: rows of weight zero, cells of sign zero, empty slots of infinite cost.
"""

from __future__ import annotations

from typing import NamedTuple

from jaxbn.kernels.program import BLOCK, CELL_GROUP

SMALL_ROWS = 512
"""Up to here every start gets a slot of its own and nothing is pruned: there is nothing to win."""


class Shape(NamedTuple):
    """Sizes and switches of one compiled program; the letters are those of `program`."""

    rows: int  # N
    terms: int  # J
    cells: int  # C
    tables: int  # Q
    length: int  # Z
    settled: int  # M of the settled starts
    recent: int  # M of the recent ones
    width: int  # W
    unit: bool
    prune: bool

    @property
    def n_bytes(self) -> int:
        """Memory of one problem and its state."""
        per_slot = 4 * self.cells + 20
        return (
            (self.settled + self.recent) * per_slot
            + self.rows * (4 * self.terms + 24)
            + 8 * self.length * (self.tables + 1)
            + 16 * BLOCK * self.width
        )


def bucket(size: int, least: int, ratio: int = 2) -> int:
    """The smallest `least * ratio**k` that holds `size`."""
    while least < size:
        least *= ratio
    return least


def shape_for(n_rows: int, n_terms: int, n_cells: int, total_weight: int, *, unit: bool, prune: bool = True) -> Shape:
    """The bucket of a problem."""
    rows = bucket(n_rows, SMALL_ROWS)
    terms = 2 if n_terms <= 2 else bucket(n_terms, 16)
    prune = prune and rows > SMALL_ROWS
    width = 256 if prune else 128
    recent = 512 if prune else rows + width
    return Shape(
        rows=rows,
        terms=terms,
        cells=bucket(n_cells, 8 * CELL_GROUP if terms > 2 else CELL_GROUP, 8),
        tables=terms // 2 + 1,
        length=bucket(total_weight + 2 * BLOCK, 2 * SMALL_ROWS),
        settled=bucket(2 * int(rows**0.5), 1024) if prune else width,
        recent=recent,
        width=width,
        unit=unit,
        prune=prune,
    )
