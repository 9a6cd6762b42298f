"""Programs over all intervals of few positions, for objectives that charge by the number of intervals.

Such a charge (the minimum description length, the evidence) is not a price for each interval: layer k of the layered
program holds the best cost of every prefix in exactly k intervals. With a price for each interval the plain program
will do; its solutions are the hull of the layers.

Shapes: P positions (padded) at which an interval may begin or end, C cells.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbn.kernels.pruned.state import log_width


class Layers(NamedTuple):
    """Best cost, and the start of the last interval, of every number of intervals."""

    whole: Array  # [P] float64, cost of all rows in k + 1 intervals, +inf where that was not reached
    last: Array  # [P, P] int32, position at which the last interval of positions 0..p begins


class Priced(NamedTuple):
    """Best cost up to each position, and where its last interval begins, at R prices for each interval."""

    best: Array  # [P, R] float64
    last: Array  # [P, R] int32


@partial(jax.jit, static_argnames=("spread",))
def interval_costs(
    counts: Array,
    cell_sign: Array,
    cell_table: Array,
    tables: Array,
    mass: Array,
    end: Array,
    min_width: Array,
    n_cells: Array,
    *,
    spread: bool,
) -> Array:
    """Cost of the interval from position u to v, [v, u] float64, +inf where u is not before v.

    Args:
        counts: [C, P] int32, rows before each position in each cell; position 0 is before all rows.
        cell_sign: [C] float64, sign of each cell's table.
        cell_table: [C] int32, where the table of each cell begins.
        tables: [Z] float64, cumulative tables one after the other.
        mass: [P] int32, weight before each position.
        end: [P] float64, where each position lies, as a share of the range.
        min_width: [] float64, narrower intervals are not allowed.
        n_cells: [] int32.
        spread: whether n values in an interval also cost n ln width.
    """
    n = counts.shape[1]

    def cell(c: Array, total: Array) -> Array:
        index = cell_table[c] + jnp.maximum(counts[c][:, None] - counts[c][None, :], 0)
        return total + cell_sign[c] * tables.at[index].get(mode="promise_in_bounds")

    cost = lax.fori_loop(0, n_cells, cell, jnp.zeros((n, n)))
    if spread:
        width = end[:, None] - end[None, :]
        cost += jnp.where(width >= min_width, log_width(mass[:, None] - mass[None, :], width), jnp.inf)
    return jnp.where(jnp.tri(n, k=-1, dtype=bool), cost, jnp.inf)


@jax.jit
def interval_layers(cost: Array, n_positions: Array, n_layers: Array) -> Layers:
    """The first layers over the intervals between positions.

    Args:
        cost: [P, P] float64, of the interval from u to v at [v, u].
        n_positions: [] int32, positions in use; the last one is behind all rows.
        n_layers: [] int32, at most P.
    """
    n = cost.shape[0]

    def layer(k: Array, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        best, whole, last = carry
        total = best[None, :] + cost
        best = total.min(axis=1)
        first = jnp.where(total == best[:, None], jnp.arange(n, dtype=jnp.int32), n).min(axis=1)
        return best, whole.at[k].set(best[n_positions - 1]), last.at[k].set(first)

    start = jnp.full(n, jnp.inf).at[0].set(0.0)
    carry = (start, jnp.full(n, jnp.inf), jnp.zeros((n, n), jnp.int32))
    _, whole, last = lax.fori_loop(0, n_layers, layer, carry)
    return Layers(whole, last)


@jax.jit
def priced_intervals(cost: Array, prices: Array, n_positions: Array) -> Priced:
    """The cheapest partition of every prefix where each interval costs a price more; of equal ones the first start.

    Args:
        cost: [P, P] float64, of the interval from u to v at [v, u].
        prices: [R] float64.
        n_positions: [] int32, positions in use.
    """
    n = cost.shape[0]

    def position(v: Array, found: Priced) -> Priced:
        total = found.best + cost[v][:, None]
        best = total.min(axis=0)
        first = jnp.where(total == best, jnp.arange(n, dtype=jnp.int32)[:, None], n).min(axis=0)
        return Priced(found.best.at[v].set(best + prices), found.last.at[v].set(first))

    shape = (n, len(prices))
    start = Priced(jnp.full(shape, jnp.inf).at[0].set(0.0), jnp.zeros(shape, jnp.int32))
    return lax.fori_loop(1, n_positions, position, start)
