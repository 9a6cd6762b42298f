"""The cheapest partitions, given the costs of all intervals between few positions.

Where intervals have a price, or each cut its own, the plain dynamic program will do. A charge for the number of
intervals that is not a price for each (the minimum description length, the evidence) needs layers: layer k holds the
best cost of every prefix in exactly k intervals. The optima at all prices are the lower convex hull of the layers
(docs/maths.md, "Cuts under a charge for their number").

Only costs are worked out, which are minima of sums; where the last interval of an optimum begins is looked up in its
row of costs on the way back (`earliest_start`).

Shapes: G groups of rows (padded), R prices, K layers.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.typing import NDArray

LAYERS = 8
"""K, the layers of one call."""

ENDS = 32
"""Ends that are looked at together; G is a multiple of it."""

STARTS, LANES = 64, 8
"""Starts that are looked at together, and those of them side by side: a compiler makes vector instructions of minima
of slices, but not of one along a row (measured: a third of the time). G is a multiple of `STARTS`."""


def rounding(cost: Array) -> Array:
    """Costs closer than this are equal (docs/maths.md, "Ties and rounding")."""
    return jnp.where(jnp.isfinite(cost), 1e-11 * (1 + jnp.abs(cost)), 0)


def earliest_start(totals: NDArray[np.float64]) -> int:
    """The first of the least totals, up to `rounding` (NumPy: the way back is the host's)."""
    least = totals.min()
    return int(np.argmax(totals <= least + 1e-11 * (1 + abs(least))))


@jax.jit
def priced_intervals(costs: Array, prices: Array, first_cost: Array, n_groups: Array) -> Array:
    """Cost of the cheapest partition of the groups before each position, at every price [R, G + 1] float64.

    `costs` [G, G] has that of the interval from group u to group v at [v, u], +inf where u > v; `prices` [R, G] are of
    an interval that ends with each group, `first_cost` is of the empty prefix, and `n_groups` are in use.
    """
    n_prices, n = prices.shape

    def block(b: Array, before: Array) -> Array:
        first = b * ENDS
        # Starts up to the block's first group are settled, and so are the same for all its ends; `before` is +inf at
        # later ones, which a tile may contain. Only starts inside the block depend on each other.
        earlier = _least(costs, before, first, first)
        own = lax.dynamic_slice(costs, (first, first), (ENDS, ENDS))
        best = _settled(earlier, own, lax.dynamic_slice_in_dim(prices, first, ENDS, axis=1))
        return lax.dynamic_update_slice_in_dim(before, best, first + 1, axis=1)

    before = jnp.full((n_prices, n + 1), jnp.inf).at[:, 0].set(first_cost)
    return lax.fori_loop(0, (n_groups + ENDS - 1) // ENDS, block, before)


def _settled(earlier: Array, own: Array, prices: Array) -> Array:
    """Least cost up to each end of a block [R, ENDS].

    Each turn of the loop allows one more interval to begin inside the block; few are of use. `earlier` [R, ENDS] is the
    least cost with a start up to the block's first group, `own` [ENDS, ENDS] has the intervals within the block.
    """

    def with_one_more(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        inside = (carry[0][:, None, :-1] + own[:, 1:]).min(axis=2)
        better = jnp.minimum(earlier, inside) + prices
        return better, jnp.any(better < carry[0])

    return lax.while_loop(lambda carry: carry[1], with_one_more, (earlier + prices, jnp.array(True)))[0]


@jax.jit
def further_layers(costs: Array, before: Array, n_groups: Array) -> Array:
    """The next K layers: cost of the groups before each position in one more interval, in two more, … [K, G + 1].

    `before` [G + 1] is that of the last layer so far; at first 0 before the first group, +inf elsewhere.
    """
    n_blocks = (n_groups + ENDS - 1) // ENDS

    def layer(before: Array, _: None) -> tuple[Array, Array]:
        def block(b: Array, found: Array) -> Array:
            # a layer needs only the one before it: nothing is sequential but the layers themselves
            least = _least(costs, before[None], b * ENDS, b * ENDS + ENDS - 1)[0]
            return lax.dynamic_update_slice_in_dim(found, least, b * ENDS + 1, 0)

        found = lax.fori_loop(0, n_blocks, block, jnp.full(len(before), jnp.inf))
        return found, found

    return lax.scan(layer, before, None, length=LAYERS)[1]


def _least(costs: Array, before: Array, first_end: Array, last_start: Array) -> Array:
    """Least cost of the groups up to each of some ends [R, ENDS]; starts after `last_start` may be left out.

    `before` [R, G + 1] is the cost of everything before each group, +inf where that is not known.
    """
    n_prices = len(before)
    part = partial(lax.dynamic_slice_in_dim, slice_size=STARTS, axis=1)

    def tile(t: Array, least: Array) -> Array:
        cost = lax.dynamic_slice(costs, (first_end, t * STARTS), (ENDS, STARTS))
        total = part(before, t * STARTS)[:, None] + cost
        return jnp.minimum(least, total.reshape(n_prices, ENDS, STARTS // LANES, LANES).min(axis=2))

    lanes = jnp.full((n_prices, ENDS, LANES), jnp.inf)
    return lax.fori_loop(0, last_start // STARTS + 1, tile, lanes).min(axis=2)
