"""The order of a column's values."""

from __future__ import annotations

import jax
from jax import Array, lax


@jax.jit
def stable_order(values: Array) -> Array:
    """Places [n] in ascending order of their values [n]: equal ones as they come, NaN last."""
    return lax.sort((values, lax.iota("int32", len(values))), num_keys=1, is_stable=True)[1]
