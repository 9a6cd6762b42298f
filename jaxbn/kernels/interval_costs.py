"""The costs of all intervals between few positions, as one matrix.

The positions divide the rows into groups, and an interval is a run of groups. A group adds to the interval that ends
with it what its *entries* add: an entry is a cell in which the group has weight, and it adds the table's step from the
count before the group to the count after it; the start of the interval enters by one subtraction. So the work is the
number of entries times half the number of starts, and cells that a group does not touch cost nothing.

The matrix is filled in tiles, a block of groups by some starts, and the loops run to the sizes in use: one program
serves all problems that fit into its arrays. Entries that do not fit are added by further calls.

Shapes: A problems, G groups (padded), L layers of entries, B = `GROUPS` groups of a block, Z entries of a table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbn.kernels.arithmetic import running_sum
from jaxbn.kernels.pruned.state import log_width

GROUPS = 32
"""Groups of a block; a layer holds at most one entry of each."""

STARTS = 128
"""Starts of a tile; G is a multiple of it."""


class Widths(NamedTuple):
    """What an interval costs by its weight and its width alone."""

    mass: Array  # [A, G + 1] int32, weight before each position
    end: Array  # [A, G + 1] float64, where each position lies, in units of the range
    table: Array  # [A, Z] float64, cost of the weight
    latest: Array  # [A, G] int32, the last group that an interval may begin with if it ends with each
    n_groups: Array  # [A] int32


class Entries(NamedTuple):
    """What the groups add, in layers of one entry for each group of a block."""

    before: Array  # [A, V] int32, weight before each start in each cell, one cell after the other
    cell: Array  # [A, L, B] int32, where in `before` the entry's cell begins
    place: Array  # [A, L, B] int32, where in the tables the entry is looked up if nothing lies before the start
    sign: Array  # [A, L, B] float64, 0 for padding
    layers: Array  # [A, G / B + 1] int32, where the layers of each block begin


def over_batch(function: Callable[..., Any], *fields: Any) -> Any:
    """The function of every problem; a batch of one is not mapped over, as mapped slices are slow on CPUs."""
    if len(jax.tree.leaves(fields)[0]) > 1:
        return jax.vmap(function)(*fields)
    found = function(*jax.tree.map(lambda array: array[0], fields))
    return jax.tree.map(lambda array: array[None], found)


@partial(jax.jit, static_argnames=("spread",), donate_argnames=("costs",))
def interval_costs(
    widths: Widths, entries: Entries, tables: Array, costs: Array, further: Array, *, spread: bool
) -> Array:
    """Cost of the interval from group u to group v, both included, [A, v, u] float64; of no meaning where u > v.

    Args:
        widths: what depends on weight and width.
        entries: what depends on the counts in cells.
        tables: [Z] float64, cumulative tables and tables of steps, one after the other.
        costs: [A, G, G] float64, the room for the result, which is not cleared before.
        further: [] bool, whether it holds the costs of earlier entries, which these are added to.
        spread: whether n values in an interval also cost n ln width.
    """

    def of_one(widths: Widths, entries: Entries, costs: Array) -> Array:
        n_blocks = (widths.n_groups + GROUPS - 1) // GROUPS
        block = partial(_block, widths, entries, tables, further, spread)
        return lax.fori_loop(0, n_blocks, block, (costs, jnp.zeros(costs.shape[0])))[0]

    return over_batch(of_one, widths, entries, costs)


def _block(
    widths: Widths,
    entries: Entries,
    tables: Array,
    further: Array,
    spread: bool,
    b: Array,
    carry: tuple[Array, Array],
) -> tuple[Array, Array]:
    """Fill the tiles of a block; the second array [G] has what the entries added so far to the intervals of a start."""
    groups = b * GROUPS + jnp.arange(GROUPS, dtype=jnp.int32)[:, None]

    def tile(t: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        costs, inside = carry
        corner = (b * GROUPS, t * STARTS)
        starts = corner[1] + jnp.arange(STARTS, dtype=jnp.int32)
        added = jnp.where(starts <= groups, _added(entries, tables, b, t), 0.0)
        rows = running_sum(added) + lax.dynamic_slice_in_dim(inside, corner[1], STARTS)
        others = lax.cond(
            further,
            lambda: lax.dynamic_slice(costs, corner, rows.shape),
            lambda: _by_width(widths, b, t, spread),
        )
        inside = lax.dynamic_update_slice_in_dim(inside, rows[-1], corner[1], 0)
        return lax.dynamic_update_slice(costs, rows + others, corner), inside

    n_tiles = (b * GROUPS + GROUPS - 1) // STARTS + 1
    return lax.fori_loop(0, n_tiles, tile, carry)


def _added(entries: Entries, tables: Array, b: Array, t: Array) -> Array:
    """What each group of a block adds to the intervals from each start of a tile [B, STARTS]."""

    def counts_before(cell: Array) -> Array:
        return lax.dynamic_slice_in_dim(entries.before, cell + t * STARTS, STARTS)

    def layer(i: Array, total: Array) -> Array:
        counts = jax.vmap(counts_before)(entries.cell[i])
        index = jnp.maximum(entries.place[i][:, None] - counts, 0)  # below if the start comes after the group
        return total + entries.sign[i][:, None] * tables.at[index].get(mode="promise_in_bounds")

    return lax.fori_loop(entries.layers[b], entries.layers[b + 1], layer, jnp.zeros((GROUPS, STARTS)))


def _by_width(widths: Widths, b: Array, t: Array, spread: bool) -> Array:
    """What the intervals of a tile cost by weight and width [B, STARTS]."""
    after = partial(lax.dynamic_slice_in_dim, start_index=b * GROUPS + 1, slice_size=GROUPS)
    before = partial(lax.dynamic_slice_in_dim, start_index=t * STARTS, slice_size=STARTS)
    mass = jnp.maximum(after(widths.mass)[:, None] - before(widths.mass), 0)
    cost = widths.table.at[mass].get(mode="promise_in_bounds")
    if not spread:
        return cost
    width = after(widths.end)[:, None] - before(widths.end)
    starts = t * STARTS + jnp.arange(STARTS, dtype=jnp.int32)
    latest = lax.dynamic_slice_in_dim(widths.latest, b * GROUPS, GROUPS)[:, None]
    return cost + jnp.where(starts <= latest, log_width(mass, width), jnp.inf)
