"""Sums over the tables of many sets of columns at once: every set is a base with one further column.

Shapes: B bases, K columns of a base at most, n rows (padded), N columns, T states of all columns together, R tables,
Z entries of a table, C cells of a base at most.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax


@jax.jit
def joint_codes(codes: Array, n_states: Array, members: Array) -> Array:
    """The mixed radix code of some columns in every row, int32 [B, n].

    Args:
        codes: [N + 1, n] int32; the last column is all zeros, for padding.
        n_states: [N + 1] int32, one for the last column.
        members: [B, K] int32, columns of every base, padded with N.
    """
    joint = jnp.zeros((members.shape[0], codes.shape[1]), jnp.int32)
    for k in range(members.shape[1]):
        joint = joint * n_states[members[:, k], None] + codes[members[:, k]]
    return joint


@partial(jax.jit, static_argnames=("n_cells", "n_columns"))
def extension_sums(
    joint: Array, indicator: Array, owner: Array, tables: Array, *, n_cells: int, n_columns: int
) -> Array:
    """Σ over the cells of (base, column) of a table at the cell's count: int64 [B, R, N], exact in any order.

    Args:
        joint: [B, n] int32 cell of the base; `n_cells` or more for a row that does not count.
        indicator: [n, T] int8, one where a row has a state.
        owner: [T] int32, the column of every state.
        tables: [R, Z] int64, zero at a count of zero.
        n_cells: C.
        n_columns: N.
    """

    def sums(cell: Array) -> Array:
        empty = jnp.zeros((n_cells, indicator.shape[1]), jnp.int32)
        counts = empty.at[cell].add(indicator.astype(jnp.int32), mode="drop")
        by_state = lax.map(lambda table: table[counts].sum(axis=0), tables)
        return jnp.zeros((len(tables), n_columns), jnp.int64).at[:, owner].add(by_state)

    return lax.map(sums, joint)
