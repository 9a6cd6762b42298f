"""Counting rows on a device, where their codes stay: whole numbers, the same in any order and on any mesh.

Shapes: N columns, n rows (padded), B sets or bases of K columns at most, C cells at most, T states of all columns
together, R tables of Z entries. A padded row has the weight zero and no state.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.sharding import Mesh, PartitionSpec

ROWS = "rows"
"""Axis of the mesh that the rows are split over."""

CHUNK = 2**13
"""Rows of one product: the indicator of their cells is made for so many at a time."""

MOST_PRODUCT = 4096
"""Cells of a base up to which counting is a product."""


@jax.jit
def joint_codes(codes: Array, sizes: Array, members: Array) -> Array:
    """The cell of every row in the table of some columns, [B, n] of the type of `sizes`.

    Args:
        codes: [N + 1, n] unsigned; the last column is all zeros.
        sizes: [N + 1] signed, one for the last column.
        members: [B, K] int32, columns of every set, padded with N; the last of a set runs fastest.
    """
    joint = jnp.zeros((members.shape[0], codes.shape[1]), sizes.dtype)
    for column in members.T:
        joint = joint * sizes[column, None] + codes[column].astype(sizes.dtype)
    return joint


@jax.jit
def observed_cells(joint: Array, weights: Array) -> tuple[Array, Array, Array]:
    """The cells that there are, their weights, and which of them each row has, [n] each; the rest has no weight."""
    order = jnp.argsort(joint)
    ascending = joint[order]
    place = jnp.cumsum(jnp.append(False, ascending[1:] != ascending[:-1]).astype(jnp.int32))
    totals = jnp.zeros_like(weights).at[place].add(jnp.where(ascending < 0, 0, weights[order]))
    return jnp.zeros_like(joint).at[place].set(ascending), totals, jnp.zeros_like(weights).at[order].set(place)


@jax.jit
def renumbered(joint: Array, weights: Array) -> tuple[Array, Array]:
    """Cells of weight two or more numbered without gaps [n], -1 for other rows; how many they are, and the others."""
    _, totals, place = observed_cells(joint, weights)
    shared = totals > 1
    number = jnp.where(shared, jnp.cumsum(shared.astype(jnp.int32)) - 1, -1)
    return number[place], jnp.stack([shared.sum(), (totals == 1).sum()])


@partial(jax.jit, static_argnames=("n_cells", "n_columns", "mesh"))
def extension_sums(
    joint: Array, indicator: Array, owner: Array, tables: Array, *, n_cells: int, n_columns: int, mesh: Mesh | None
) -> Array:
    """Σ over the cells of (base, column) of a table at the cell's count: int64 [B, R, N], exact in any order.

    Counts are a product of two matrices of indicators, one of cells by rows and one of rows by states, in whole numbers
    of 8 bits with sums of 32: what accelerators are quickest at. Where there are too many cells for that, rows are
    added to their cells one by one.

    Args:
        joint: [B, n] int32 cell of the base; negative for a row that does not count.
        indicator: [n, T] weight of a row at each of its states, zero elsewhere.
        owner: [T] int32, the column of every state.
        tables: [R, Z] int64, zero at a count of zero.
        n_cells: C.
        n_columns: N.
        mesh: what the rows are split over.
    """

    def count(joint: Array, indicator: Array) -> Array:
        own = _extension_counts(joint, indicator, n_cells)
        return own if mesh is None else lax.psum(own, ROWS)  # type: ignore[no-untyped-call]

    everywhere: Any = count
    if mesh is not None:  # each device counts its own rows, and these are added
        split, whole = (PartitionSpec(None, ROWS), PartitionSpec(ROWS)), PartitionSpec()  # type: ignore[no-untyped-call]
        everywhere = jax.shard_map(count, mesh=mesh, in_specs=split, out_specs=whole, check_vma=False)
    counts = everywhere(joint, indicator)  # [B, C, T]
    by_state = lax.map(lambda table: table[counts].sum(axis=1), tables)  # [R, B, T]
    sums = jnp.zeros((len(tables), len(joint), n_columns), jnp.int64).at[:, :, owner].add(by_state)
    return sums.swapaxes(0, 1)


def _extension_counts(joint: Array, indicator: Array, n_cells: int) -> Array:
    n_bases, n_states = len(joint), indicator.shape[1]
    if n_cells > MOST_PRODUCT:
        rows = jnp.where(joint < 0, n_cells, joint)
        empty = jnp.zeros((n_bases, n_cells, n_states), jnp.int32)
        return jax.vmap(lambda none, cell: none.at[cell].add(indicator.astype(jnp.int32), mode="drop"))(empty, rows)
    size = min(CHUNK, joint.shape[1])
    cells = jnp.arange(n_cells, dtype=joint.dtype)[:, None]

    def chunk(total: Array, rows: tuple[Array, Array]) -> tuple[Array, None]:
        own, states = rows  # [B, size], [size, T]
        inside = (own[:, None, :] == cells).astype(indicator.dtype).reshape(n_bases * n_cells, size)
        return total + jnp.matmul(inside, states, preferred_element_type=jnp.int32), None

    chunks = joint.reshape(n_bases, -1, size).swapaxes(0, 1), indicator.reshape(-1, size, n_states)
    empty = jnp.zeros((n_bases * n_cells, n_states), jnp.int32)
    return lax.scan(chunk, empty, chunks)[0].reshape(n_bases, n_cells, n_states)
