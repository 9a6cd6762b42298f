"""The plain dynamic program for few rows: the cost of every interval first, then the optimum (the paper's Algorithm 1).

Quicker than the pruned program while all intervals fit in memory, and without a branch, so that many problems run as
one batch. A value may occur in several rows; intervals begin and end only between distinct values.

Shapes: N rows (padded), M distinct values (padded), J terms (padded), C cells of all terms (padded), Z tables.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

BLOCK = 32
"""Rows of a tile, summed by one product with a triangle; N is a multiple of it."""

CHUNK = 64
"""Distinct values of a tile; M is a multiple of it."""


class DenseProblem(NamedTuple):
    """One variable to cut, as arrays."""

    cells: Array  # [J, N] int32, the cell of row i in term j, unique over terms
    seen: Array  # [J, N] int32, weight of the earlier rows in that cell
    weights: Array  # [N] int32, 0 for padding
    first_row: Array  # [M] int32, first row of each distinct value, N for padding
    last_row: Array  # [M] int32
    before: Array  # [C, M] int32, weight of the rows before each distinct value in each cell
    cut_cost: Array  # [M] float64, of a cut behind each distinct value, 0 behind the last
    first_cost: Array  # [] float64
    tables: Array  # [Z] float64, cumulative tables (step tables if weights are all one), one after the other
    term_table: Array  # [J] int32, where the table of term j begins
    term_sign: Array  # [J] float64
    n_terms: Array  # [] int32


class DenseResult(NamedTuple):
    """Optimum up to each distinct value."""

    best: Array  # [M] float64, with a cut behind it
    start: Array  # [M] int32, the distinct value at which its last interval begins


class Extent(NamedTuple):
    """How much of the padded arrays is in use by any problem of the batch."""

    n_values: Array  # [] int32
    n_terms: Array  # [] int32
    n_blocks: Array  # [] int32, blocks of rows
    n_chunks: Array  # [N / BLOCK] int32, chunks of distinct values that begin before the end of each block


def _interval_costs(problem: DenseProblem, extent: Extent, unit: bool) -> Array:
    """Cost of the interval from distinct value u to row i, [N, M]; what is not needed is not filled in.

    Row by row the cost only grows by the row's own increments; tiles of rows and values stay in the cache.
    """
    n, m = problem.weights.shape[0], problem.first_row.shape[0]

    def look_up(index: Array) -> Array:
        return problem.tables.at[index].get(mode="promise_in_bounds")

    def tile(block: Array, chunk: Array, costs: Array) -> Array:
        rows = partial(lax.dynamic_slice_in_dim, start_index=block * BLOCK, slice_size=BLOCK, axis=-1)
        values = partial(lax.dynamic_slice_in_dim, start_index=chunk * CHUNK, slice_size=CHUNK, axis=-1)
        cells, seen, weights = rows(problem.cells), rows(problem.seen), rows(problem.weights)
        inside = (block * BLOCK + jnp.arange(BLOCK))[:, None] >= values(problem.first_row)  # [B, W]

        def window(cell: Array) -> Array:
            return lax.dynamic_slice(problem.before, (cell, chunk * CHUNK), (1, CHUNK))[0]

        def term(j: Array, total: Array) -> Array:
            count = seen[j][:, None] - jax.vmap(window)(cells[j])
            count = problem.term_table[j] + jnp.where(inside, count, 0)
            change = look_up(count) if unit else look_up(count + weights[:, None]) - look_up(count)
            return total + problem.term_sign[j] * change

        increments = lax.fori_loop(0, extent.n_terms, term, jnp.zeros((BLOCK, CHUNK)))
        row_before = jnp.maximum(block * BLOCK - 1, 0)
        so_far = lax.dynamic_slice(costs, (row_before, chunk * CHUNK), (1, CHUNK))
        running = jnp.tril(jnp.ones((BLOCK, BLOCK))) @ jnp.where(inside, increments, 0)
        return lax.dynamic_update_slice(costs, so_far + running, (block * BLOCK, chunk * CHUNK))

    def block_of_rows(block: Array, costs: Array) -> Array:
        return lax.fori_loop(0, extent.n_chunks[block], lambda chunk, costs: tile(block, chunk, costs), costs)

    return lax.fori_loop(0, extent.n_blocks, block_of_rows, jnp.zeros((n, m)))


@partial(jax.jit, static_argnames=("unit",))
def solve_dense(problem: DenseProblem, extent: Extent, *, unit: bool) -> DenseResult:
    """Solve a batch: all fields of `problem` have a leading batch axis."""

    def one(problem: DenseProblem) -> DenseResult:
        costs = _interval_costs(problem, extent, unit)
        starts = jnp.arange(costs.shape[1], dtype=jnp.int32)

        def end(t: Array, carry: tuple[Array, DenseResult]) -> tuple[Array, DenseResult]:
            before, found = carry  # `before`: best cost of everything before each distinct value, +inf if not known yet
            total = before + costs[problem.last_row[t]]
            least = total.min()
            # of equal costs, up to rounding, the earliest start wins
            start = jnp.where(total <= least + 1e-11 * (1 + jnp.abs(least)), starts, starts.shape[0]).min()
            best = least + problem.cut_cost[t]
            found = DenseResult(found.best.at[t].set(best), found.start.at[t].set(start))
            return before.at[t + 1].set(best, mode="drop"), found

        before = jnp.full(starts.shape[0], jnp.inf).at[0].set(problem.first_cost)
        found = DenseResult(jnp.full(starts.shape[0], jnp.inf), jnp.zeros(starts.shape[0], jnp.int32))
        return lax.fori_loop(0, extent.n_values, end, (before, found))[1]

    return jax.vmap(one)(problem)
