"""What the programs that step through the rows of many problems at once have in common.

Shapes: B problems, S steps, W starts of the last interval known so far.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array


class Optima(NamedTuple):
    """Optimum up to each step; meaningful where a cut can follow it."""

    best: Array  # [B, S] float64, with a cut after it
    start: Array  # [B, S] int32, the distinct value at which its last interval begins


class Sweep(NamedTuple):
    """Everything between two steps; the batch axis is the last one."""

    inside: Array  # [W, B] float64, cost of the interval from each distinct value to the current step
    before: Array  # [W, B] float64, best cost of everything before it, +inf if not known yet
    best: Array  # [S, B] float64
    start: Array  # [S, B] int32

    @property
    def optima(self) -> Optima:
        """What was found, a row for each problem."""
        return Optima(self.best.T, self.start.T)


def first_sweep(first_cost: Array, n_steps: int, width: int) -> Sweep:
    """Before the first step only the first distinct value is known as a start; room for `width` of them."""
    n_problems = len(first_cost)
    empty = Sweep(
        jnp.zeros((0, n_problems)),
        jnp.zeros((0, n_problems)),
        jnp.full((n_steps, n_problems), jnp.inf),
        jnp.zeros((n_steps, n_problems), jnp.int32),
    )
    sweep = widened(empty, width)
    return sweep._replace(before=sweep.before.at[0].set(first_cost))


def widened(sweep: Sweep, more: int) -> Sweep:
    """Room for `more` starts that are not known yet."""
    shape = (more, sweep.best.shape[1])
    return sweep._replace(
        inside=jnp.concatenate([sweep.inside, jnp.zeros(shape)]),
        before=jnp.concatenate([sweep.before, jnp.full(shape, jnp.inf)]),
    )


def earliest_best(total: Array, starts: Array, never: int) -> tuple[Array, Array]:
    """The least total of each problem and its start; of equal ones, up to rounding, the earliest start wins."""
    least = total.min(axis=0)
    return least, jnp.where(total <= least + rounding(least), starts, never).min(axis=0)


def rounding(cost: Array) -> Array:
    """Costs closer than this are equal (docs/maths.md, "Ties and rounding")."""
    return jnp.where(jnp.isfinite(cost), 1e-11 * (1 + jnp.abs(cost)), 0)
