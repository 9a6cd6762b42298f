"""The best partitions, given the costs of all intervals between few positions.

Where intervals have a price, or each cut its own, the plain dynamic program will do. A charge for the number of
intervals that is not a price for each (the minimum description length, the evidence) needs layers: layer k holds the
best cost of every prefix in exactly k intervals. The optima at all prices are the lower convex hull of the layers
(docs/maths.md, "Cuts under a charge for their number").

Shapes: A problems, G groups of rows (padded), R prices, K layers.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbn.kernels.interval_costs import over_batch
from jaxbn.kernels.sweep import earliest_best, rounding

LAYERS = 16
"""K, the layers of one call."""

STARTS_AT_ONCE = 512
"""Pairs of a start and a price that are looked at together, at most; G is a multiple of it, or smaller."""

ENDS = 32
"""Ends that are looked at together; G is a multiple of it."""


class Priced(NamedTuple):
    """The best partition of every prefix at each price."""

    before: Array  # [A, G + 1, R] float64, cost of everything before each group
    last: Array  # [A, G, R] int32, the group with which the last interval of the prefix up to each group begins


class Layers(NamedTuple):
    """The best partition of every prefix into k intervals, for K successive k."""

    before: Array  # [A, G + 1] float64, cost of everything before each group in the last of these layers
    whole: Array  # [A, K] float64, cost of all groups
    last: Array  # [A, K, G] int32


@jax.jit
def priced_intervals(costs: Array, prices: Array, first_cost: Array, n_groups: Array) -> Priced:
    """The cheapest partition of every prefix; of equal ones, up to rounding, the earliest start of the last interval.

    Args:
        costs: [A, G, G] float64, of the interval from group u to group v at [v, u].
        prices: [A, G, R] float64, of an interval that ends with each group.
        first_cost: [A] float64, of the empty prefix.
        n_groups: [A] int32, groups in use.
    """

    def of_one(costs: Array, prices: Array, first_cost: Array, n_groups: Array) -> Priced:
        n, n_prices = prices.shape

        def block(b: Array, found: Priced) -> Priced:
            first = b * ENDS
            earlier, start = _best_starts(costs, found.before, first, ENDS, first)
            own = lax.dynamic_slice(costs, (first, first), (ENDS, ENDS))
            best, inside = _settled(earlier, own, lax.dynamic_slice_in_dim(prices, first, ENDS))
            last = jnp.where(inside > 0, first + inside, start)
            put = partial(lax.dynamic_update_slice_in_dim, axis=0)
            return Priced(put(found.before, best, start_index=first + 1), put(found.last, last, start_index=first))

        before = jnp.full((n + 1, n_prices), jnp.inf).at[0].set(first_cost)
        none = Priced(before, jnp.zeros((n, n_prices), jnp.int32))
        return lax.fori_loop(0, (n_groups + ENDS - 1) // ENDS, block, none)

    return over_batch(of_one, costs, prices, first_cost, n_groups)


def _settled(earlier: Array, own: Array, prices: Array) -> tuple[Array, Array]:
    """Least cost up to each end of a block [ENDS, R], and the start inside the block that gives it, 0 for none.

    Each turn of the loop allows one more interval to begin inside the block; few are of use.

    Args:
        earlier: [ENDS, R], least cost with a start up to the block's first group.
        own: [ENDS, ENDS], costs of the intervals from and to groups of the block.
        prices: [ENDS, R].
    """
    starts = jnp.arange(1, ENDS, dtype=jnp.int32)
    within = jnp.where(starts <= jnp.arange(ENDS)[:, None], own[:, 1:], jnp.inf)

    def candidates(best: Array) -> Array:
        return best[:-1] + within[:, :, None]  # [end, start, R]

    def with_one_more(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        better = jnp.minimum(earlier, candidates(carry[0]).min(axis=1)) + prices
        return better, jnp.any(better < carry[0])

    best, _ = lax.while_loop(lambda carry: carry[1], with_one_more, (earlier + prices, jnp.array(True)))
    total = candidates(best)
    least, start = jax.vmap(lambda each: earliest_best(each, starts[:, None], ENDS))(total)
    return best, jnp.where(least < earlier - rounding(earlier), start, 0)


@jax.jit
def further_layers(costs: Array, before: Array, n_groups: Array) -> Layers:
    """The next K layers.

    Args:
        costs: as above.
        before: [A, G + 1] float64, that of the layers so far; at first 0 before the first group, +inf elsewhere.
        n_groups: [A] int32.
    """

    def of_one(costs: Array, before: Array, n_groups: Array) -> Layers:
        n = len(costs)
        n_blocks = (n_groups + ENDS - 1) // ENDS

        def layer(k: Array, found: Layers) -> Layers:
            def block(b: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
                best, first = _best_starts(costs, found.before[:, None], b * ENDS, ENDS, b * ENDS + ENDS - 1)
                put = partial(lax.dynamic_update_slice_in_dim, start_index=b * ENDS, axis=0)
                return put(carry[0], best[:, 0]), put(carry[1], first[:, 0])

            best, last = lax.fori_loop(0, n_blocks, block, (jnp.full(n, jnp.inf), jnp.zeros(n, jnp.int32)))
            before = jnp.concatenate([jnp.full(1, jnp.inf), best])
            return Layers(before, found.whole.at[k].set(before[n_groups]), found.last.at[k].set(last))

        none = Layers(before, jnp.full(LAYERS, jnp.inf), jnp.zeros((LAYERS, n), jnp.int32))
        return lax.fori_loop(0, LAYERS, layer, none)

    return over_batch(of_one, costs, before, n_groups)


def _best_starts(costs: Array, before: Array, first_end: Array, n_ends: int, last_start: Array) -> tuple[Array, Array]:
    """Least cost of the groups up to each of some ends, and the start of the last interval, at every price [ends, R].

    `before` [G + 1, R] is the cost of everything before each group; starts after `last_start` are not looked at.
    """
    n, n_prices = len(costs), before.shape[1]
    width = min(STARTS_AT_ONCE // n_prices, n)
    ends = first_end + jnp.arange(n_ends, dtype=jnp.int32)[:, None]

    def tile(t: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        least, first = carry
        starts = t * width + jnp.arange(width, dtype=jnp.int32)
        cost = lax.dynamic_slice(costs, (first_end, t * width), (n_ends, width))
        cost = jnp.where(starts <= jnp.minimum(ends, last_start), cost, jnp.inf)
        earlier = lax.dynamic_slice_in_dim(before, t * width, width)
        here, start = jax.vmap(lambda row: earliest_best(earlier + row[:, None], starts[:, None], n))(cost)
        better = here < least - rounding(least)
        return jnp.minimum(here, least), jnp.where(better, start, first)

    shape = (n_ends, n_prices)
    nothing = jnp.full(shape, jnp.inf), jnp.zeros(shape, jnp.int32)
    return lax.fori_loop(0, last_start // width + 1, tile, nothing)
