"""The costs of all intervals between few positions, as one matrix, and the cheapest partitions: what a CPU is good at.

The positions divide the rows into groups, and an interval is a run of groups. A cell in which few groups have weight is
a list of *entries*, one for each of these groups: an entry adds the table's step from the count before its group to the
count after it to the intervals that end there or later; the start of the interval enters by one subtraction. So the
work is the number of entries times half the number of starts, and cells that a group does not touch cost nothing. A
cell that most groups touch is looked up once for each interval instead. (`dense_partitions`, for accelerators, does
so with every cell.)

The matrix is filled in tiles, a block of groups by some starts, and the loops run to the sizes in use: one program
serves all problems that fit into its arrays. What does not fit is added by further calls.

Where intervals have a price, or each cut its own, the plain dynamic program will do. A charge for the number of
intervals that is not a price for each (the minimum description length, the evidence) needs layers: layer k holds the
best cost of every prefix in exactly k intervals. The optima at all prices are the lower convex hull of the layers
(docs/maths.md, "Cuts under a charge for their number"). Only costs are worked out, which are minima of sums; where the
last interval of an optimum begins the host looks up in its row of costs on the way back.

Shapes: G groups (padded), L layers of entries, B = `GROUPS` groups of a block, D cells that are looked up for each
    interval (padded), Z entries of a table; R prices, K layers of the dynamic program.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbn.kernels.arithmetic import log_width, running_sum, settled

GROUPS = 32  # groups of a block, and ends that are looked at together; a layer holds at most one entry of each
STARTS = 128  # starts of a tile; G is a multiple of it
LAYERS = 8  # K, the layers of one call

FEW_STARTS, LANES = 64, 8
"""Starts that are looked at together, and those of them side by side: a compiler makes vector instructions of minima
of slices, but not of one along a row (measured: a third of the time). G is a multiple of `FEW_STARTS`."""


class Widths(NamedTuple):
    """What an interval costs by its weight and its width alone."""

    mass: Array  # [G + 1] int32, weight before each position
    end: Array  # [G + 1] float64, where each position lies, in units of the range
    table: Array  # [Z] float64, cost of the weight
    latest: Array  # [G] int32, the last group that an interval may begin with if it ends with each
    n_groups: Array  # [] int32


class Entries(NamedTuple):
    """What the groups add, in layers of one entry for each group of a block, and cells looked up as a whole."""

    before: Array  # [V] int32, weight before each position in each cell, one cell after the other
    cell: Array  # [L, B] int32, where in `before` the entry's cell begins
    place: Array  # [L, B] int32, where in the tables the entry is looked up if nothing lies before the start
    sign: Array  # [L, B] float64, 0 for padding
    layers: Array  # [G / B + 1] int32, where the layers of each block begin
    whole_cell: Array  # [D] int32, where in `before` each cell that is looked up as a whole begins
    whole_place: Array  # [D] int32, where in the tables an empty interval is looked up
    whole_sign: Array  # [D] float64
    n_whole: Array  # [] int32
    constant: Array  # [] float64, added to every interval


Matrices = tuple[Array, ...]
_Carry = tuple[Matrices, Array]


@partial(jax.jit, static_argnames=("spread",), donate_argnames=("costs",))
def interval_costs(
    widths: tuple[Widths, ...], entries: Entries, tables: Array, costs: Matrices, further: Array, *, spread: bool
) -> Matrices:
    """Cost of the interval from group u to group v, both included, [v, u] float64; +inf where u > v.

    Several matrices, of problems that differ in their widths alone, share what the cells cost.

    Args:
        widths: what depends on weight and width, of every problem.
        entries: what depends on the counts in cells.
        tables: [Z] float64, cumulative tables and tables of steps, one after the other.
        costs: [G, G] float64 each, the room for the results, which is not cleared before.
        further: [] bool, whether it holds the costs of earlier entries, which these are added to.
        spread: whether n values in an interval also cost n ln width.
    """
    n_blocks = (widths[0].n_groups + GROUPS - 1) // GROUPS

    def block(b: Array, carry: _Carry) -> _Carry:
        """Fill the tiles of a block; the last array [G] has what the entries so far added to each start's intervals."""
        groups = b * GROUPS + jnp.arange(GROUPS, dtype=jnp.int32)[:, None]

        def tile(t: Array, carry: _Carry) -> _Carry:
            costs, inside = carry
            corner = (b * GROUPS, t * STARTS)
            starts = corner[1] + jnp.arange(STARTS, dtype=jnp.int32)
            added = jnp.where(starts <= groups, _added(entries, tables, b, t), 0.0)
            rows = running_sum(added) + lax.dynamic_slice_in_dim(inside, corner[1], STARTS)
            whole = _of_whole_cells(entries, tables, b, t)

            def filled(own: Widths, matrix: Array) -> Array:
                earlier = partial(lax.dynamic_slice, matrix, corner, rows.shape)
                others = lax.cond(further, earlier, lambda: _by_width(own, b, t, spread))
                found = jnp.where(starts <= groups, rows + others + whole, jnp.inf)
                return lax.dynamic_update_slice(matrix, found, corner)

            inside = lax.dynamic_update_slice_in_dim(inside, rows[-1], corner[1], 0)
            return tuple(map(filled, widths, costs)), inside

        # Tiles in which every start comes after the block are not filled, and may hold the costs of another problem:
        # whoever reads them has to mask them.
        n_tiles = (b * GROUPS + GROUPS - 1) // STARTS + 1
        return lax.fori_loop(0, n_tiles, tile, carry)

    return lax.fori_loop(0, n_blocks, block, (costs, jnp.zeros(len(costs[0]))))[0]


def _added(entries: Entries, tables: Array, b: Array, t: Array) -> Array:
    """What each group of a block adds to the intervals from each start of a tile [B, STARTS]."""

    def counts_before(cell: Array) -> Array:
        return lax.dynamic_slice_in_dim(entries.before, cell + t * STARTS, STARTS)

    def layer(i: Array, total: Array) -> Array:
        counts = jax.vmap(counts_before)(entries.cell[i])
        # negative where the start comes after the group; what is looked up there is masked by the caller
        index = jnp.maximum(entries.place[i][:, None] - counts, 0)
        return total + entries.sign[i][:, None] * tables.at[index].get(mode="promise_in_bounds")

    return lax.fori_loop(entries.layers[b], entries.layers[b + 1], layer, jnp.zeros((GROUPS, STARTS)))


def _of_whole_cells(entries: Entries, tables: Array, b: Array, t: Array) -> Array:
    """What the cells that are looked up as a whole cost in the intervals of a tile [B, STARTS]."""

    def cell(i: Array, total: Array) -> Array:
        begin = entries.whole_cell[i]
        after = lax.dynamic_slice_in_dim(entries.before, begin + b * GROUPS + 1, GROUPS)
        counts = after[:, None] - lax.dynamic_slice_in_dim(entries.before, begin + t * STARTS, STARTS)
        index = entries.whole_place[i] + jnp.maximum(counts, 0)
        return total + entries.whole_sign[i] * tables.at[index].get(mode="promise_in_bounds")

    return lax.fori_loop(0, entries.n_whole, cell, jnp.full((GROUPS, STARTS), entries.constant))


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


@jax.jit
def priced_intervals(costs: Array, prices: Array, first_cost: Array, n_groups: Array) -> Array:
    """Cost of the cheapest partition of the groups before each position, at every price [R, G + 1] float64.

    `costs` [G, G] has that of the interval from group u to group v at [v, u], +inf where u > v; `prices` [R, G] are of
    an interval that ends with each group, `first_cost` is of the empty prefix, and `n_groups` are in use.
    """
    n_prices, n = prices.shape

    def block(b: Array, before: Array) -> Array:
        first = b * GROUPS
        # Starts up to the block's first group are settled, and so are the same for all its ends; `before` is +inf at
        # later ones, which a tile may contain. Only starts inside the block depend on each other.
        earlier = _least(costs, before, first, first)
        own = lax.dynamic_slice(costs, (first, first), (GROUPS, GROUPS))[:, 1:]
        best = settled(earlier, own, lax.dynamic_slice_in_dim(prices, first, GROUPS, axis=1))
        return lax.dynamic_update_slice_in_dim(before, best, first + 1, axis=1)

    before = jnp.full((n_prices, n + 1), jnp.inf).at[:, 0].set(first_cost)
    return lax.fori_loop(0, (n_groups + GROUPS - 1) // GROUPS, block, before)


@jax.jit
def further_layers(costs: Array, before: Array, n_groups: Array) -> Array:
    """The next K layers: cost of the groups before each position in one more interval, in two more, … [K, G + 1].

    `before` [G + 1] is that of the last layer so far; at first 0 before the first group, +inf elsewhere.
    """
    n_blocks = (n_groups + GROUPS - 1) // GROUPS

    def layer(before: Array, _: None) -> tuple[Array, Array]:
        def block(b: Array, found: Array) -> Array:
            # a layer needs only the one before it: nothing is sequential but the layers themselves
            least = _least(costs, before[None], b * GROUPS, b * GROUPS + GROUPS - 1)[0]
            return lax.dynamic_update_slice_in_dim(found, least, b * GROUPS + 1, 0)

        found = lax.fori_loop(0, n_blocks, block, jnp.full(len(before), jnp.inf))
        return found, found

    return lax.scan(layer, before, None, length=LAYERS)[1]


def _least(costs: Array, before: Array, first_end: Array, last_start: Array) -> Array:
    """Least cost of the groups up to each of some ends [R, GROUPS]; starts after `last_start` may be left out.

    `before` [R, G + 1] is the cost of everything before each group, +inf where that is not known.
    """
    n_prices = len(before)
    part = partial(lax.dynamic_slice_in_dim, slice_size=FEW_STARTS, axis=1)

    def tile(t: Array, least: Array) -> Array:
        cost = lax.dynamic_slice(costs, (first_end, t * FEW_STARTS), (GROUPS, FEW_STARTS))
        total = part(before, t * FEW_STARTS)[:, None] + cost
        return jnp.minimum(least, total.reshape(n_prices, GROUPS, FEW_STARTS // LANES, LANES).min(axis=2))

    lanes = jnp.full((n_prices, GROUPS, LANES), jnp.inf)
    return lax.fori_loop(0, last_start // FEW_STARTS + 1, tile, lanes).min(axis=2)
