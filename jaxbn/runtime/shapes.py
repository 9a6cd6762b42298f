"""Bucket sizes: the one place that decides which array shapes the kernels are compiled for.

Every size is rounded up to a power of two (or of eight, where waste is cheap), so that problems of similar size share a
compiled program. Padding is neutral: rows of weight zero, cells of sign zero, empty slots of infinite cost.
"""

from __future__ import annotations

from typing import NamedTuple

import jax

from jaxbn.kernels.pruned.block import BLOCK
from jaxbn.kernels.pruned.tiles import CELL_GROUP
from jaxbn.kernels.resampled import WIDTH

DENSE_ROWS = 512
"""Up to this many rows every interval is costed: there is nothing to win by pruning."""

DENSE_TASKS = 8
"""From this many problems on the dense program is worth being compiled; fewer share those of larger ones."""

VALUES = 128
"""Distinct values are padded to a multiple of this."""


def dense_at_once() -> int | None:
    """Problems of a batch that are solved side by side: on a CPU one after the other."""
    return None if jax.default_backend() == "cpu" else DENSE_BATCH


DENSE_BATCH = 64
"""Problems solved side by side on devices other than CPUs."""


class DenseShape(NamedTuple):
    """Sizes of a compiled program of `dense`; the letters are its own."""

    rows_at_once: int  # R
    steps: int  # S
    factors: int  # P
    values: int  # M
    cells: int  # of one problem, at most

    @property
    def n_bytes(self) -> int:
        """Memory of one problem at work: its arrays, as made and on the device."""
        entries = 2 * self.factors * self.rows_at_once * self.steps
        return 2 * 4 * (2 * entries + self.cells * self.values)


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


PRICES = 8
"""Prices that a program is compiled for."""

FEW_POSITIONS = 2048
"""Up to this many groups of rows the costs of all intervals are one matrix."""

FEW_PRICES = 4
"""Prices of the pruned program where widths do not count: there fewer numbers of intervals are nearly best."""

MATRICES_AT_ONCE = 8
"""Problems whose matrices are worked out together on devices other than CPUs."""


def matrices_at_once() -> int:
    """Problems whose matrices are worked out together: one on a CPU."""
    return 1 if jax.default_backend() == "cpu" else MATRICES_AT_ONCE


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

FEW_CELLS = 16
"""Groups of cells of that program."""


def bucket(size: int, least: int, ratio: int = 2) -> int:
    """The smallest `least * ratio**k` that holds `size`."""
    while least < size:
        least *= ratio
    return least


def dense_shape(n_values: int, n_factors: int, n_cells: int) -> DenseShape:
    """The bucket of a problem of at most `DENSE_ROWS` rows."""
    values = -(-n_values // VALUES) * VALUES
    rows_at_once = max(DENSE_ROWS // values, 1)  # the fewer the values, the more rows each has
    return DenseShape(
        rows_at_once=rows_at_once,
        steps=DENSE_ROWS if rows_at_once == 1 else values + DENSE_ROWS // rows_at_once,
        factors=bucket(n_factors, 8),
        values=values,
        cells=bucket(n_cells, 256, 4),
    )


def pruned_shape(n_rows: int, n_terms: int, n_cells: int, total_weight: int) -> PrunedShape:
    """The bucket of a larger problem."""
    rows = bucket(n_rows, 2 * DENSE_ROWS)
    wide = n_rows <= SHARED_ROWS
    terms = 2 if n_terms <= 2 and not wide else bucket(n_terms, 16)
    least = (FEW_CELLS if wide else 1) * CELL_GROUP
    cells = bucket(n_cells, least, 4) if n_cells <= 64 * CELL_GROUP else bucket(n_cells, 128 * CELL_GROUP)
    return PrunedShape(
        rows=rows,
        terms=terms,
        cells=cells,
        tables=terms // 2 + 3,  # two more for the floors
        length=bucket(total_weight + 2 * BLOCK, 4 * DENSE_ROWS),
        settled=min(rows, 32768),
        recent=256,
        width=128,
    )


class ResampledShape(NamedTuple):
    """Sizes of a compiled program of `kernels.resampled`; the letters are its own."""

    rows: int  # N
    values: int  # M
    terms: int  # J
    cells: int  # C
    length: int  # of a table, from n = 0
    n_weights: int  # that a table of steps has

    @property
    def n_bytes(self) -> int:
        """Memory of one resample at work: its arrays, these with the batch axis last, and the costs of the starts."""
        integers = 2 * self.terms * self.rows + self.cells * self.values + self.values + 3 * self.rows
        return 8 * integers + 8 * (4 * self.rows + 5 * self.values)


def resampled_shape(
    n_rows: int, n_values: int, n_terms: int, n_cells: int, total_weight: int, most_weight: int
) -> ResampledShape:
    """The bucket of a variable: closer than that of a single problem, as it is used many times."""
    return ResampledShape(
        rows=bucket(n_rows, 64),
        values=-(-(n_values + 1) // WIDTH) * WIDTH,
        terms=n_terms,
        cells=bucket(n_cells, 8, 4),
        length=bucket(total_weight + 1, 256),
        n_weights=bucket(most_weight + 1, 8),
    )
