"""The plain dynamic program for few rows: every interval is costed (the paper's Algorithm 1).

Quicker than the pruned program while there are few intervals, and without a branch, so that many problems run as one
batch. It goes through the rows once, in steps of a few rows of one distinct value, and keeps for every start of the
last interval the cost of the interval up to the current step; no matrix of all intervals is kept. Intervals begin and
end only between distinct values.

Shapes: B problems, S steps (padded), E entries of a step (padded): one for each of its rows and terms, M distinct
    values (padded), C cells of all terms (padded), Z entries of the tables.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbn.kernels.sweep import Optima, Sweep, earliest_best, first_sweep, widened

STEPS = 32
"""Steps whose increments are looked up together; S is a multiple of it."""

GROUP = 4
"""Entries that are looked up together; E is a multiple of it."""

N_WIDTHS = 2
"""The array of starts grows to its full width M in this many steps; each is compiled on its own."""

NEVER = -(2**24)
"""Stands in `seen` for no entry: what is looked up there is zero."""


class DenseProblem(NamedTuple):
    """Variables to cut, as arrays."""

    cells: Array  # [B, E, S] int32, the cell of an entry, unique over terms
    seen: Array  # [B, E, S] int32, weight of the rows in that cell up to and including its own
    weights: Array  # [B, E, S] int32, of its row; [B, 0, 0] if all are one
    tables: Array  # [B, E] int32, where its table begins
    before: Array  # [B, C, M] int32, weight of the rows before each distinct value in each cell
    cut_cost: Array  # [B, S] float64, of a cut after a step, +inf where there can be none, 0 after the last
    opens: Array  # [B, S] int32, the distinct value that begins after a step, M if none
    first_cost: Array  # [B] float64


class Extent(NamedTuple):
    """How much of the padded arrays is in use by any problem of the batch."""

    n_groups: Array  # [] int32, groups of entries
    ends: Array  # [N_WIDTHS] int32, up to which block of steps each width is enough


def _increments(problem: DenseProblem, tables: Array, block: Array, n_groups: Array, width: int) -> Array:
    """What each step of a block adds to the intervals from the first distinct values on, [B, STEPS, width]."""
    unit = not problem.weights.size

    def look_up(begin: Array, count: Array) -> Array:  # below zero if the interval begins after the row
        return tables.at[begin + jnp.maximum(count, 0)].get(mode="promise_in_bounds")

    def of_one(before: Array, entries: tuple[Array, ...], total: Array) -> Array:
        for begin, cell, seen, *weight in zip(*entries, strict=True):
            count = seen[:, None] - before.at[cell].get(mode="promise_in_bounds")[:, :width]
            total += look_up(begin, count)
            if not unit:
                total -= look_up(begin, count - weight[0][:, None])
        return total

    def group(g: Array, total: Array) -> Array:
        def steps(array: Array) -> Array:
            return lax.dynamic_slice_in_dim(entries(array), block * STEPS, STEPS, axis=2)

        def entries(array: Array) -> Array:
            return lax.dynamic_slice_in_dim(array, g * GROUP, GROUP, axis=1)

        weights = () if unit else (steps(problem.weights),)
        chosen = (entries(problem.tables), steps(problem.cells), steps(problem.seen), *weights)
        return jax.vmap(of_one)(problem.before, chosen, total)

    return lax.fori_loop(0, n_groups, group, jnp.zeros((len(problem.cells), STEPS, width)))


@jax.jit
def solve_dense(problem: DenseProblem, tables: Array, extent: Extent) -> Optima:
    """Solve a batch.

    Args:
        problem: the problems.
        tables: [Z] float64, shared by all, with their signs and T(0) = 0: what weight n in a cell costs, or if all
            weights are one, what the n-th row in it adds.
        extent: of the batch.
    """
    n_values = problem.before.shape[2]
    cut_cost, opens = problem.cut_cost.T, problem.opens.T  # the batch axis is the last one from here on

    def at(array: Array, i: Array) -> Array:
        return lax.dynamic_index_in_dim(array, i, keepdims=False)

    def block_of_steps(block: Array, carry: Sweep, width: int) -> Sweep:
        increments = _increments(problem, tables, block, extent.n_groups, width).transpose(1, 2, 0)
        starts = jnp.arange(width, dtype=jnp.int32)[:, None]

        def step(i: Array, carry: Sweep) -> Sweep:
            s = block * STEPS + i
            inside = carry.inside + at(increments, i)
            total = carry.before + inside
            least, start = earliest_best(total, starts, n_values)
            best = least + at(cut_cost, s)
            return Sweep(
                inside,
                jnp.where(starts == at(opens, s), best, carry.before),
                lax.dynamic_update_index_in_dim(carry.best, best, s, axis=0),
                lax.dynamic_update_index_in_dim(carry.start, start, s, axis=0),
            )

        return lax.fori_loop(0, STEPS, step, carry)

    width = n_values // N_WIDTHS
    carry = first_sweep(problem.first_cost, len(cut_cost), width)
    begin = jnp.int32(0)
    for k in range(N_WIDTHS):
        carry = widened(carry, width) if k else carry
        carry = lax.fori_loop(begin, extent.ends[k], partial(block_of_steps, width=(k + 1) * width), carry)
        begin = extent.ends[k]
    return carry.optima
