"""Costs of all intervals between few positions, from counts of any size.

Ln Γ is computed, not looked up: a table as long as the largest count would take more memory than the counts themselves.

Shapes: G groups of rows, C cells.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

SHIFT = 7
"""Stirling's series is used from here on: there five terms of it are as exact as a float64."""

SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)


@jax.jit
def counted_intervals(before: Array, states: Array, sign: Array) -> Array:
    """Sum over cells of sign · [ln Γ(n + K) - ln Γ(K)], of the interval from group u to group v at [v, u].

    Args:
        before: [C, G + 1] float64, weight in each cell before each group; whole numbers.
        states: [C] float64, K.
        sign: [C] float64, 0 for cells that are not in use.
    """

    def with_cell(total: Array, cell: tuple[Array, Array, Array]) -> tuple[Array, None]:
        before, states, sign = cell
        weight = jnp.maximum(before[1:, None] - before[None, :-1], 0.0)
        return total + sign * (log_gamma(weight + states) - log_gamma(states)), None

    n = before.shape[1] - 1
    return lax.scan(with_cell, jnp.zeros((n, n), before.dtype), (before, states, sign))[0]


def log_gamma(x: Array) -> Array:
    """Ln Γ of numbers from 1 on, by Stirling's series."""
    y = x + SHIFT
    product = x
    for i in range(1, SHIFT):
        product = product * (x + i)
    inverse = 1 / y
    square, tail = inverse * inverse, jnp.zeros_like(x)
    for factor in reversed(SERIES):
        tail = tail * square + factor
    return (y - 0.5) * jnp.log(y) - y + 0.5 * jnp.log(2 * jnp.pi) + tail * inverse - jnp.log(product)
