"""The dynamic program over the number of intervals, for objectives that charge more than a fixed price for each.

Used where the count of intervals enters the objective non-linearly (the minimum description length, the evidence):
layer k holds the best cost of every prefix in exactly k intervals.

Shapes: P positions (padded) at which an interval may begin or end, C cells.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbn.kernels.starts import log_width


class Layers(NamedTuple):
    """Best cost, and the start of the last interval, of every number of intervals."""

    whole: Array  # [P] float64, cost of all rows in k + 1 intervals, +inf where that was not reached
    last: Array  # [P, P] int32, position at which the last interval of positions 0..p begins


@partial(jax.jit, static_argnames=("spread",))
def interval_layers(
    counts: Array,
    cell_sign: Array,
    cell_table: Array,
    tables: Array,
    mass: Array,
    end: Array,
    min_width: Array,
    n_positions: Array,
    n_cells: Array,
    n_layers: Array,
    *,
    spread: bool,
) -> Layers:
    """The first layers over the intervals between positions.

    Args:
        counts: [C, P] int32, rows before each position in each cell; position 0 is before all rows.
        cell_sign: [C] float64, sign of each cell's table.
        cell_table: [C] int32, where the table of each cell begins.
        tables: [Z] float64, cumulative tables one after the other.
        mass: [P] int32, weight before each position.
        end: [P] float64, where each position lies, as a share of the range.
        min_width: [] float64, narrower intervals are not allowed.
        n_positions: [] int32, positions in use; the last one is behind all rows.
        n_cells: [] int32.
        n_layers: [] int32, at most P.
        spread: whether n values in an interval also cost n ln width.
    """
    n = counts.shape[1]

    def cell(c: Array, total: Array) -> Array:
        index = cell_table[c] + jnp.maximum(counts[c][None, :] - counts[c][:, None], 0)
        return total + cell_sign[c] * tables.at[index].get(mode="promise_in_bounds")

    cost = lax.fori_loop(0, n_cells, cell, jnp.zeros((n, n)))  # [u, v]
    if spread:
        width = end[None, :] - end[:, None]
        cost += jnp.where(width >= min_width, log_width(mass[None, :] - mass[:, None], width), jnp.inf)
    cost = jnp.where(jnp.triu(jnp.ones((n, n), bool), 1), cost, jnp.inf)

    def layer(k: Array, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        best, whole, last = carry
        total = best[:, None] + cost
        best = total.min(axis=0)
        first = jnp.where(total == best, jnp.arange(n, dtype=jnp.int32)[:, None], n).min(axis=0)
        return best, whole.at[k].set(best[n_positions - 1]), last.at[k].set(first)

    start = jnp.full(n, jnp.inf).at[0].set(0.0)
    carry = (start, jnp.full(n, jnp.inf), jnp.zeros((n, n), jnp.int32))
    _, whole, last = lax.fori_loop(0, n_layers, layer, carry)
    return Layers(whole, last)
