"""Sums over all partitions of few positions, given the costs of all intervals: the twin of ``interval_costs``.

A partition weighs exp(-cost) and a charge for its number of intervals. First every interval has one price: the sum over
the partitions of each prefix makes the intervals that may end a prefix a distribution, the *steps* of a walk from the
last position back. Then layers count the steps of the walk: layer k holds, of every prefix, the chance that
the walk from its end takes exactly k steps. So all numbers lie between 0 and 1 and none is a difference
(docs/maths.md, "Sums over all cuts").

Shapes: G groups of rows (padded), K layers there is room for, D draws.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

ROWS = 64  # steps lead back only, so half of their table is empty; products leave it out in pieces of so many rows

LOG_NEGLIGIBLE = -36.0
"""Log of the share of the sum that may be left out: e to the minus 36 is below the rounding of the rest."""


class Walk(NamedTuple):
    """The walk from the last position back to the first, at one price."""

    log_total: Array  # [] float64, log of the sum over all partitions at the price
    steps: Array  # [G, G] float64, chance that the interval which ends with group v begins with u, at [v, u]
    layers: Array  # [K + 1, G + 1] float64, chance that the walk from each position takes exactly k steps
    n_layers: Array  # [] int32, layers worked out
    more: Array  # [] float64, chance that the walk from the last position takes more steps than these


@partial(jax.jit, static_argnames=("size",))
def walk_back(
    costs: Array, price: Array, log_weights: Array, ahead: Array, n_groups: Array, *, size: int | None = None
) -> Walk:
    """The walk at a price, and layers until the weight of all further ones is negligible or there is no room.

    Args:
        costs: [G, G] float64, of the interval from group u to group v at [v, u].
        price: [] float64, of an interval.
        log_weights: [K + 1] float64, what the number of intervals weighs beyond its price; -inf for none.
        ahead: [K + 1] float64, the most that this or any larger number weighs.
        n_groups: [] int32, groups in use.
        size: room for groups in the walk, all of the costs' if not given; less room is less work.
    """
    costs = costs[:size, :size]
    n, groups = len(costs), jnp.arange(len(costs))

    def group(v: Array, log_before: Array) -> Array:
        weights = jnp.where(groups <= v, log_before[:n] - costs[v], -jnp.inf)
        top = jnp.maximum(weights.max(), -1e300)  # -inf if no interval may end here
        return log_before.at[v + 1].set(jnp.log(jnp.exp(weights - top).sum()) + top - price)

    # log of the sum over all partitions of the groups before each position [G + 1]
    log_before = lax.fori_loop(0, n_groups, group, jnp.full(n + 1, -jnp.inf).at[0].set(0.0))
    possible = (groups <= groups[:, None]) & (groups[:, None] < n_groups) & jnp.isfinite(log_before[1:, None])
    # differences of logarithms that are close to each other: the exponentials are probabilities, however small or large
    # the sums themselves are
    logs = log_before[:-1] - costs - price - log_before[1:, None]
    steps = jnp.exp(jnp.where(possible, logs, -jnp.inf))
    layers, n_layers, more = _layers(steps, log_weights, ahead, n_groups)
    return Walk(log_before[n_groups], steps, layers, n_layers, more)


@jax.jit
def boundary_chances(walk: Walk, weights: Array, n_groups: Array) -> Array:
    """Chance that each position is the end of an interval, [G + 1] float64.

    `weights` [K + 1] are what the number of intervals weighs, up to a factor.
    """
    room = len(weights)

    def step(i: Array, reached: Array) -> Array:
        return reached.at[i].set(jnp.append(reached[i - 1, 1:] @ walk.steps, 0.0))

    # chance that the walk from the last position is at each position after 0, 1, … steps [K + 1, G + 1]
    last = jnp.zeros((room, len(walk.steps) + 1)).at[0, n_groups].set(1.0)
    reached = lax.fori_loop(1, room, step, last)
    both = jnp.arange(room)[:, None] + jnp.arange(room)
    weight = jnp.where(both < room, weights[jnp.minimum(both, room - 1)], 0.0)  # of k steps after and j before
    return (reached * (weight @ walk.layers)).sum(axis=0) / (weights @ walk.layers[:, n_groups])


@jax.jit
def draw_boundaries(walk: Walk, n_intervals: Array, chances: Array, n_groups: Array) -> Array:
    """Partitions drawn exactly: whether each position is the end of an interval, [D, G + 1] bool.

    Each draw has so many intervals, `n_intervals` [D], and a uniform number for each of them, `chances` [D, K].
    """
    n = len(walk.steps)

    def draw(k: Array, chances: Array) -> Array:
        def step(i: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
            end, ends = carry
            # the first place at which the running sum exceeds a uniform share of the whole; rounding must not lead
            # beyond the last start
            summed = jnp.cumsum(walk.steps[end - 1] * walk.layers[k - 1 - i, :n])
            begin = (summed <= chances[i] * summed[-1]).sum().astype(jnp.int32)
            begin = jnp.minimum(begin, end - 1)
            return begin, ends.at[begin].set(True)

        last = jnp.zeros(n + 1, bool).at[n_groups].set(True)
        return lax.fori_loop(0, k, step, (n_groups.astype(jnp.int32), last))[1]

    return jax.vmap(draw)(n_intervals, chances)


def _layers(steps: Array, log_weights: Array, ahead: Array, n_groups: Array) -> tuple[Array, Array, Array]:
    """Layers, how many, and the chance of more steps."""
    n, room = len(steps), len(log_weights)
    parts = [steps[first : first + ROWS, : first + ROWS] for first in range(0, n, ROWS)]  # no step leads on

    def before(chances: Array) -> Array:
        """What a step leads to, from each position."""
        return jnp.concatenate([jnp.zeros(1), *(part @ chances[: part.shape[1]] for part in parts)])

    def unfinished(carry: tuple[Array, Array, Array, Array]) -> Array:
        k, _, further, log_sum = carry
        # the most that all further numbers of intervals can add (docs/maths.md, "Sums over all cuts")
        left = jnp.log(further[n_groups]) + ahead[jnp.minimum(k + 1, room - 1)]
        return (k < room - 1) & ~(left < log_sum + LOG_NEGLIGIBLE)

    def layer(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        k, layers, further, log_sum = carry
        following, further = before(layers[k]), before(further)  # one product with two columns takes thrice as long
        log_sum = jnp.logaddexp(log_sum, jnp.log(following[n_groups]) + log_weights[k + 1])
        return k + 1, layers.at[k + 1].set(following), further, log_sum

    layers = jnp.zeros((room, n + 1)).at[0, 0].set(1.0)
    further = jnp.ones(n + 1).at[0].set(0.0)  # of more than no steps
    first = jnp.int32(0), layers, further, jnp.array(-jnp.inf)
    k, layers, further, _ = lax.while_loop(unfinished, layer, first)
    return layers, k, further[n_groups]
