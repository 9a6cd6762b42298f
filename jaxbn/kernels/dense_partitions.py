"""Costs of all intervals and the best partition as one program for accelerators: dense tiles, loops of known length.

The same question as `interval_costs` answers on a CPU, for a batch of problems at once. The cost of an
interval is a sum over all cells of table look-ups at differences of prefix counts, a few cells at a time. Layers
and blocks of the dynamic program, and the way back, take as many steps as the shapes say: a device never waits for the
host to read how often a loop is to run. Counts go in, and only cuts come out.

Shapes: A problems, C cells (padded), G groups of rows (padded), K layers, Z entries of the table.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbn.kernels.arithmetic import log_gamma, log_width, rounding

CELLS = 8  # cells that are looked up together; C is a multiple of it
ENDS = 32  # groups of a block; G is a multiple of it


class Counted(NamedTuple):
    """Problems as counts; without the first axis, one of them."""

    counts: Array  # [A, C, G] int32, weight of each group in each cell; float64 where these are very many
    place: Array  # [A, C] int32, where in the table an empty interval is looked up; s of ln Γ(n + s) if there is none
    sign: Array  # [A, C] float64, 0 for padding
    mass: Array  # [A, G] of the same type, weight of each group
    end: Array  # [A, G + 1] float64, where each position lies, in units of the range
    latest: Array  # [A, G] int32, the last group that an interval may begin with if it ends with each
    n_groups: Array  # [A] int32


Partitions = tuple[Array, Array]
"""The cheapest partition of each problem: cost [A] float64, and whether an interval begins with each group [A, G]."""


@partial(jax.jit, static_argnames=("spread",))
def best_by_number(problems: Counted, table: Array, charge: Array, *, spread: bool) -> Partitions:
    """The least of the charge [A, K] for 1, 2, … intervals, +inf where there may not be so many, and their costs.

    `table` [Z] is ln Γ(n + 1) or n ln n; or ln Γ(n + 1) and ln Γ(n + ½), one after the other. With `spread` n values in
    an interval also cost n ln width.
    """

    def of_one(problem: Counted, charge: Array) -> Partitions:
        costs = dense_costs(problem, table, spread=spread)
        n, n_layers = len(costs), len(charge)

        def layer(before: Array, _: None) -> tuple[Array, Array]:
            found = jnp.append(jnp.inf, (costs + before[:-1]).min(axis=1))
            return found, before

        first = jnp.full(n + 1, jnp.inf).at[0].set(0.0)
        last, before = lax.scan(layer, first, None, length=n_layers)
        whole = jnp.append(before[1:, problem.n_groups], last[problem.n_groups])
        best = jnp.argmin(charge + whole).astype(jnp.int32)  # one less than the number of intervals

        def back(carry: tuple[Array, Array], k: Array) -> tuple[tuple[Array, Array], None]:
            end, begins = carry
            start = _earliest_start(costs[end - 1] + before[k, :-1])
            end = jnp.where(k <= best, start, end)
            return (end, begins.at[end].set(k <= best, mode="drop")), None

        # The way back takes a step for every layer, used or not, so that its length is known. In layers above the best
        # the end stays where it is, at `n_groups`, and False is written there.
        layers = jnp.arange(n_layers - 1, -1, -1, dtype=jnp.int32)
        (_, begins), _ = lax.scan(back, (problem.n_groups, jnp.zeros(n, bool)), layers)
        return (charge + whole)[best], begins

    return jax.vmap(of_one)(problems, charge)


@partial(jax.jit, static_argnames=("spread",))
def best_with_cuts(problems: Counted, table: Array, cut_cost: Array, first_cost: Array, *, spread: bool) -> Partitions:
    """The cheapest partition where a cut after each group [A, G], and the empty prefix [A], have costs of their own.

    Blocks of groups follow one another. What paths inside a block cost is known beforehand, of all blocks at once: the
    shortest ones, by squares of the matrix of single intervals in the algebra of minima and sums.
    """

    def of_one(problem: Counted, cut_cost: Array, first_cost: Array) -> Partitions:
        costs = dense_costs(problem, table, spread=spread)
        n = len(costs)
        inside = _paths(costs, cut_cost)

        def block(before: Array, paths_from: tuple[Array, Array]) -> tuple[Array, None]:
            paths, first = paths_from
            rows = lax.dynamic_slice_in_dim(costs, first, ENDS)
            arrived = (rows + before[:-1]).min(axis=1) + lax.dynamic_slice_in_dim(cut_cost, first, ENDS)
            best = jnp.minimum(arrived, (arrived[:, None] + paths).min(axis=0))
            return lax.dynamic_update_slice_in_dim(before, best, first + 1, 0), None

        before = jnp.full(n + 1, jnp.inf).at[0].set(first_cost)
        before, _ = lax.scan(block, before, (inside, jnp.arange(0, n, ENDS, dtype=jnp.int32)))
        start = jax.vmap(_earliest_start)(costs + before[:-1])
        return before[problem.n_groups], _reached(start, problem.n_groups)

    return jax.vmap(of_one)(problems, cut_cost, first_cost)


@partial(jax.jit, static_argnames=("spread",))
def dense_costs(problem: Counted, table: Array | None, *, spread: bool) -> Array:
    """Cost of the interval from group u to group v, both included, at [v, u]; +inf where u > v.

    Without a table ln Γ is computed: one up to very large counts would take more memory than the counts themselves.
    """
    n = problem.counts.shape[1]
    before = _positions(problem.counts)
    chunks = before.reshape(-1, CELLS, n + 1), problem.place.reshape(-1, CELLS), problem.sign.reshape(-1, CELLS)

    def look_up(place: Array, count: Array) -> Array:
        if table is None:
            return log_gamma(place + count)
        return table.at[place + count].get(mode="promise_in_bounds")

    def some(total: Array, chunk: tuple[Array, Array, Array]) -> tuple[Array, None]:
        for counts, place, sign in zip(*chunk, strict=True):
            count = jnp.maximum(counts[1:, None] - counts[:-1], 0)
            total = total + sign * look_up(place, count)
        return total, None

    empty = -(problem.sign * look_up(problem.place, jnp.zeros_like(problem.place))).sum()
    total, _ = lax.scan(some, jnp.full((n, n), empty), chunks)
    groups = jnp.arange(n, dtype=jnp.int32)
    latest = groups
    if spread:
        mass = _positions(problem.mass)
        width = problem.end[1:, None] - problem.end[:-1]
        total += log_width(jnp.maximum(mass[1:, None] - mass[:-1], 0), width)
        latest = jnp.minimum(groups, problem.latest)
    return jnp.where(groups <= latest[:, None], total, jnp.inf)


def _positions(counts: Array) -> Array:
    """What lies before each position, from the counts of the groups [..., G + 1]."""
    none = jnp.zeros((*counts.shape[:-1], 1), counts.dtype)
    return jnp.concatenate([none, jnp.cumsum(counts, axis=-1, dtype=counts.dtype)], axis=-1)


def _paths(costs: Array, cut_cost: Array) -> Array:
    """Of each block, the least cost from the end of one group to that of a later one, [blocks, ENDS, ENDS]."""
    blocks = costs.reshape(-1, ENDS, len(costs) // ENDS, ENDS)
    own = jax.vmap(lambda i: blocks[i, :, i])(jnp.arange(len(blocks)))  # [block, end, start]
    paths = jnp.full(own.shape, jnp.inf).at[:, :-1].set(jnp.swapaxes(own, 1, 2)[:, 1:])  # from the end before a start
    paths = paths + cut_cost.reshape(-1, 1, ENDS)
    # each square doubles the number of intervals that a path may have, and no path in a block has more than ENDS
    for _ in range(ENDS.bit_length() - 1):
        paths = jnp.minimum(paths, (paths[:, :, :, None] + paths[:, None]).min(axis=2))
    return paths


def _earliest_start(totals: Array) -> Array:
    """The first of the least totals, up to `rounding`."""
    least = totals.min()
    return jnp.argmax(totals <= least + rounding(least)).astype(jnp.int32)


def _reached(start: Array, n_groups: Array) -> Array:
    """The starts on the way back from the end [G]: jumps of one, two, four, … intervals."""
    n = len(start)
    jump = jnp.append(jnp.int32(0), start)  # by position
    reached = (jnp.arange(n + 1) == n_groups).astype(jnp.int32)
    for _ in range(n.bit_length()):
        reached, jump = reached.at[jump].max(reached), jump[jump]
    return (reached[:-1] > 0) & (jnp.arange(n) < n_groups)
