"""The plain dynamic program for many resamples of one variable at once.

It goes through the rows once and keeps, for every start of the last interval, the cost of the interval up to the
current row. One step is little work, so it pays in a batch: the resamples lie side by side in the last axis of the
arrays inside. No matrix of all intervals is kept, so a problem takes little memory.

Shapes: B resamples, N rows (padded), M distinct values (padded), J terms, C cells of all terms (padded),
    G widths of the array of starts, Z entries of the tables.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbn.kernels.sweep import Optima, Sweep, earliest_best, first_sweep, widened

WIDTH = 128
"""The array of starts grows by this; M is a multiple of it."""


class ResampledProblem(NamedTuple):
    """One variable in B resamples. Rows that a resample lacks have been squeezed out; padding has weight 0."""

    cells: Array  # [B, J, N] int32, the cell of row i in term j, unique over terms
    seen: Array  # [B, J, N] int32, weight of the earlier rows in that cell
    before: Array  # [B, C, M] int32, weight of the rows before each distinct value in each cell
    term_table: Array  # [B, J] int32, where in `steps` the table of term j begins
    mass: Array  # [B, N] int32, weight of all rows up to and including row i
    mass_before: Array  # [B, M] int32, weight of the rows before each distinct value
    mass_table: Array  # [B] int32, where in `masses` its table begins
    weights: Array  # [B, N] int32
    value: Array  # [B, N] int32, number of the distinct value of row i
    cut_cost: Array  # [B, N] float64, of a cut after row i, +inf where there can be none, 0 after the last row
    first_cost: Array  # [B] float64


class Tables(NamedTuple):
    """Look-up tables that all resamples share. Those of `steps` are T(n + w) - T(n), by w and n; T(n < 0) is T(0)."""

    steps: Array  # [Z] float64, with their signs, for each weight `stride` entries, n = 0 in the middle
    masses: Array  # [Z] float64, likewise T(n) itself
    stride: Array  # [] int32


@jax.jit
def solve_resamples(problem: ResampledProblem, tables: Tables, row_ends: Array) -> Optima:
    """Solve all resamples.

    Args:
        problem: the resamples.
        tables: shared by all.
        row_ends: [G] int32, up to which row k WIDTH starts are enough, for k = 1, 2, …
    """
    n_terms, n_values = problem.cells.shape[1], problem.before.shape[2]
    last = ResampledProblem(*(jnp.moveaxis(field, 0, -1) for field in problem))  # the batch axis
    n_rows, n_problems = last.weights.shape
    lane = jnp.arange(n_problems, dtype=jnp.int32)
    counts_before = last.before.reshape(-1)
    middle = tables.stride // 2

    def look_up(table: Array, index: Array) -> Array:
        return table.at[index].get(mode="promise_in_bounds")

    def row(i: Array, carry: Sweep, width: int) -> Sweep:
        first = jnp.arange(width, dtype=jnp.int32)[:, None]  # the distinct value at which an interval begins
        inside = carry.inside
        for j in range(n_terms):
            place = (last.cells[j, i] * n_values + first) * n_problems + lane
            count = last.seen[j, i] - look_up(counts_before, place)  # below 0 if the interval begins after the row
            inside += look_up(tables.steps, last.term_table[j] + last.weights[i] * tables.stride + middle + count)
        mass = last.mass[i] - last.mass_before[:width]
        total = carry.before + inside + look_up(tables.masses, last.mass_table + middle + mass)
        least, start = earliest_best(total, first, n_values)
        best = least + last.cut_cost[i]
        opened = (first == last.value[i] + 1) & (best < jnp.inf)
        return Sweep(
            inside, jnp.where(opened, best, carry.before), carry.best.at[i].set(best), carry.start.at[i].set(start)
        )

    carry = first_sweep(problem.first_cost, n_rows, WIDTH)
    begin = jnp.int32(0)
    for k in range(n_values // WIDTH):
        carry = widened(carry, WIDTH) if k else carry
        carry = lax.fori_loop(begin, row_ends[k], partial(row, width=(k + 1) * WIDTH), carry)
        begin = row_ends[k]
    return carry.optima
