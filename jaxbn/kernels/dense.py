"""The plain dynamic program for few rows: every interval is costed (the paper's Algorithm 1).

Quicker than the pruned program while there are few intervals. It goes through the rows once, in steps of a few rows of
one distinct value and blocks of steps, and keeps for every start of the last interval the cost of the interval up to
the current block; no matrix of all intervals is kept. Intervals begin and end only between distinct values.

All weights are one, so a row adds the logarithm of a ratio to an interval: of the product of (context + K) to that of
(outcome + 1) over all factors, counts without the row itself. Products take a fraction of the time of table look-ups.

Shapes: B problems, S steps (padded), P factors (padded), R rows of a step at most, M distinct values (padded), C cells
    of all problems (padded).
"""

from __future__ import annotations

from functools import partial, reduce
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbn.kernels.arithmetic import kept, log, running_sum
from jaxbn.kernels.sweep import Optima, rounding

STEPS = 32
"""Steps of a block; S is a multiple of it."""

STARTS = 64
"""Starts of a tile; M is a multiple of it."""

LANES = 16
"""Starts side by side in a minimum over all of them: a compiler makes vector instructions of that."""


class DenseProblem(NamedTuple):
    """Variables to cut, as arrays; where there is no row, or no factor, a ratio of one."""

    cells: Array  # [B, P, 2, R, S] int32, the cells of a row in the contexts and in the outcomes of each factor
    seen: Array  # [B, P, 2, R, S] int32, rows in that cell up to and including its own, for contexts K - 1 more
    value: Array  # [B, S] int32, the distinct value of a step, ascending
    opens: Array  # [B, M] int32, the step after which each distinct value begins, -1 for the first and for padding
    cut_cost: Array  # [B, S] float64, of a cut after a step, +inf where there can be none, 0 after the last
    first_cost: Array  # [B] float64
    n_factors: Array  # [B] int32
    n_steps: Array  # [B] int32


class _Carry(NamedTuple):
    """Everything between two blocks."""

    inside: Array  # [M] float64, cost of the interval from each distinct value to the current step
    before: Array  # [M] float64, best cost of everything before it, +inf if not known yet
    best: Array  # [S] float64
    start: Array  # [S] int32


@partial(jax.jit, static_argnames=("at_once",))
def solve_dense(problem: DenseProblem, before: Array, *, at_once: int | None) -> Optima:
    """Solve a batch.

    Args:
        problem: the problems.
        before: [C, M] int32, rows before each distinct value in each cell; cells of all problems are numbered through.
        at_once: problems that are solved side by side; None for one after the other, as a CPU has it.
    """
    return lax.map(partial(_solve_one, before), problem, batch_size=at_once)


def _solve_one(counts: Array, problem: DenseProblem) -> Optima:
    n_values, n_steps = counts.shape[1], len(problem.value)

    def block(b: Array, carry: _Carry) -> _Carry:
        some = partial(lax.dynamic_slice_in_dim, start_index=b * STEPS, slice_size=STEPS, axis=-1)
        value, cut_cost = some(problem.value), some(problem.cut_cost)
        entries = some(problem.cells), some(problem.seen)
        inside, costs = _interval_costs(counts, entries, value, problem.n_factors, carry.inside)
        before, best = _settled(carry.before, costs, problem.opens - b * STEPS, cut_cost)
        put = partial(lax.dynamic_update_slice_in_dim, start_index=b * STEPS, axis=0)
        start = _earliest_best(before + costs)
        return _Carry(inside, before, put(carry.best, best), put(carry.start, start))

    nothing = _Carry(
        jnp.zeros(n_values),
        jnp.where(jnp.arange(n_values) == 0, problem.first_cost, jnp.inf),
        jnp.full(n_steps, jnp.inf),
        jnp.zeros(n_steps, jnp.int32),
    )
    found = lax.fori_loop(0, (problem.n_steps + STEPS - 1) // STEPS, block, nothing)
    return Optima(found.best, found.start)


def _interval_costs(
    counts: Array, entries: tuple[Array, Array], value: Array, n_factors: Array, inside: Array
) -> tuple[Array, Array]:
    """Costs of the intervals up to each step of a block, [STEPS, M], and up to its last, [M]."""
    cells, seen = entries

    def tile(t: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        inside, costs = carry
        first = t * STARTS
        known = first + jnp.arange(STARTS, dtype=jnp.int32) <= value[:, None]
        added = jnp.where(known, log(_ratio(counts, cells, seen, n_factors, first)), 0.0)
        rows = running_sum(added) + lax.dynamic_slice_in_dim(inside, first, STARTS)
        inside = lax.dynamic_update_slice_in_dim(inside, rows[-1], first, 0)
        return inside, lax.dynamic_update_slice_in_dim(costs, jnp.where(known, rows, jnp.inf), first, 1)

    none = jnp.full((STEPS, len(inside)), jnp.inf)
    return lax.fori_loop(0, value[-1] // STARTS + 1, tile, (inside, none))


def _ratio(counts: Array, cells: Array, seen: Array, n_factors: Array, first: Array) -> Array:
    """What the rows of each step multiply the intervals from the starts of a tile with, [STEPS, STARTS]."""

    def number(cell: Array, seen: Array) -> Array:
        row = jax.vmap(lambda c: lax.dynamic_slice(counts, (c, first), (1, STARTS))[0])(cell)
        return (seen[:, None] - row).astype(jnp.float64)

    def product(cells: Array, seen: Array) -> Array:
        found = number(cells[0], seen[0])
        for r in range(1, len(cells)):
            found *= number(cells[r], seen[r])
        return found

    def factor(p: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        contexts, outcomes = carry
        return contexts * product(cells[p, 0], seen[p, 0]), outcomes * product(cells[p, 1], seen[p, 1])

    one = jnp.ones((STEPS, STARTS))
    contexts, outcomes = lax.fori_loop(0, n_factors, factor, (one, one))
    return contexts / outcomes


def _settled(before: Array, costs: Array, opens: Array, cut_cost: Array) -> tuple[Array, Array]:
    """Best cost before each start after a block [M], and up to each of its steps with a cut after it [STEPS].

    `opens` [M] is the step of the block after which a start begins. Each turn of the loop allows one more interval to
    begin inside the block; few are of use.
    """
    inside, after = (opens >= 0) & (opens < STEPS), jnp.clip(opens, 0, STEPS - 1)

    def with_one_more(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        before, best, _ = carry
        better = _least(before + costs) + cut_cost
        opened = better.at[after].get(mode="promise_in_bounds")
        return jnp.where(inside, opened, before), better, jnp.any(better < best)

    carry = before, jnp.full(STEPS, jnp.inf), jnp.array(True)
    return lax.while_loop(lambda carry: carry[2], with_one_more, carry)[:2]


def _earliest_best(total: Array) -> Array:
    """The start of the least total of each step; of equal ones, up to rounding, the earliest start wins."""
    starts, least = jnp.arange(total.shape[1], dtype=jnp.int32), _least(total)
    return _least(jnp.where(total <= (least + rounding(least))[:, None], starts, total.shape[1]))


def _least(total: Array) -> Array:
    """The least of each row; compilers make vector instructions of minima of slices, but not of one along a row."""
    parts = [total[:, i : i + LANES] for i in range(0, total.shape[1], LANES)]
    lanes = kept(reduce(jnp.minimum, parts))
    return reduce(jnp.minimum, [lanes[:, i] for i in range(LANES)])
