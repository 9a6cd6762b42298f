"""Log density of held-out rows as a smooth function of where the cuts lie and of the Dirichlet weights.

Shape legend: K folds, E edges of all variables in a row (the outer ones included), S values of held-out rows that lie
inside the gap of a cut, T cells of tables that held-out rows look up, U those whose look-up depends on a value inside a
gap, P variables of the largest family, F families.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

SOFTNESS = 0.1
"""Spread of the smoothed membership of a bin, as a share of the gap."""


class Cells(NamedTuple):
    """Cells of conditional tables that held-out rows look up; T stands for T or U. NumPy arrays outside jit."""

    cell: Any  # [K, T] float64, N_jk: rows of the other folds in the cell
    total: Any  # [K, T] float64, N_j: those in all cells of the same configuration of the parents
    states: Any  # [K, T] float64, r: states of the child; 0 is padding
    family: Any  # [K, T] int32, whose table it is
    times: Any  # [K, T] float64, held-out rows that look it up


class Folds(NamedTuple):
    """What is held out in each fold, and what the other folds' rows say of it; NumPy arrays outside jit."""

    low: Any  # [K, E] float64, where an edge lies at share 0: the nearest value below it in the other folds
    high: Any  # [K, E] float64, where it lies at share 1; equal to `low` for an edge that stays
    rows: Any  # [K, E] float64, held-out rows that are in the bin after an edge wherever its ends lie
    value: Any  # [K, S] float64, held-out values inside a gap
    edge: Any  # [K, S] int32, the edge that lies in the gap
    weight: Any  # [K, S] float64, 1, or 0 for padding
    settled: Cells  # [K, T]
    open: Cells  # [K, U]
    inside: Any  # [K, U, P] int32, the values inside a gap on whose bins the look-up depends; -1 for none
    right: Any  # [K, U, P] bool, whether it takes place when that value is right of its edge


def held_out(shares: Array, log_alpha: Array, folds: Folds, *, smooth: bool) -> Array:
    """Log density of all held-out rows, a float64 scalar.

    Args:
        shares: [E] float64, where in its gap each edge lies.
        log_alpha: [F] float64, logarithms of the families' Dirichlet weights.
        folds: the rows.
        smooth: whether a value inside a gap belongs to both neighbouring bins by degrees. Else it belongs to the one it
            is in, and the result is the exact log density.
    """
    return jax.vmap(lambda fold: _fold(shares, log_alpha, fold, smooth))(folds).sum()


def _fold(shares: Array, log_alpha: Array, fold: Folds, smooth: bool) -> Array:
    positions = fold.low + shares * (fold.high - fold.low)  # [E]
    log_width = _log_widths(positions)
    on_right = _memberships(positions, fold, smooth)
    width_inside = (1.0 - on_right) * log_width[fold.edge - 1] + on_right * log_width[fold.edge]
    log_volume = (fold.rows * log_width).sum() + (fold.weight * width_inside).sum()
    log_table = (fold.settled.times * _log_tables(log_alpha, fold.settled)).sum()
    log_table += (fold.open.times * _degrees(on_right, fold) * _log_tables(log_alpha, fold.open)).sum()
    return log_table - log_volume


def _log_widths(positions: Array) -> Array:
    """Log width of the bin after each edge [E]; 0 for an atom, and for what lies between two variables."""
    widths = jnp.append(jnp.diff(positions), 0.0)
    positive = widths > 0
    return jnp.where(positive, jnp.log(jnp.where(positive, widths, 1.0)), 0.0)


def _memberships(positions: Array, fold: Folds, smooth: bool) -> Array:
    """How much each value inside a gap belongs to the bin right of its edge [S]."""
    offset = fold.value - positions[fold.edge]
    if not smooth:
        return (offset >= 0).astype(offset.dtype)
    gap = (fold.high - fold.low)[fold.edge]
    return jax.nn.sigmoid(offset / (SOFTNESS * jnp.where(gap > 0, gap, 1.0)))


def _degrees(on_right: Array, fold: Folds) -> Array:
    """To what degree each open look-up takes place: all its values must be on the right side [U]."""
    degree = on_right[fold.inside]  # [U, P]
    return jnp.where(fold.inside < 0, 1.0, jnp.where(fold.right, degree, 1.0 - degree)).prod(axis=-1)


def _log_tables(log_alpha: Array, cells: Cells) -> Array:
    """Log posterior means, ln (N_jk + α) - ln (N_j + r α) [T]."""
    alpha = jnp.exp(log_alpha)[cells.family]
    return jnp.log(cells.cell + alpha) - jnp.log(cells.total + jnp.maximum(cells.states, 1.0) * alpha)
