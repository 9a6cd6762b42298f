"""Counting rows on a device, where their codes stay: whole numbers, the same in any order and on any mesh.

Shapes: N columns, n rows (padded), B sets or bases of K columns at most, C cells at most, T states of all columns
together, R tables of Z entries. A padded row has the weight zero and no state.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.sharding import Mesh, PartitionSpec

ROWS = "rows"  # axis of the mesh that the rows are split over
CHUNK = 2**15  # rows of one product: the indicator of their cells is made for so many at a time
AT_ONCE = 2**29  # bytes of the indicators of all rows up to which there is one product
MOST_PRODUCT = 4096  # cells of a base up to which it is counted here: beyond, the indicators of all cells take too much
LAST = 2**31 - 1  # the rank of padded rows, and where padded groups begin


class Terms(NamedTuple):
    """Sets of columns, the cells of which are counted by position; without the first axis, one of them."""

    members: Array  # [F, K] int32, as for `joint_codes`
    number: Array  # [F, M] int32, the cell of the problem for each cell of the set; -1 for none
    problem: Array  # [F] int32


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


@partial(jax.jit, static_argnames=("n_cells", "mesh"))
def set_counts(codes: Array, sizes: Array, members: Array, weights: Array, *, n_cells: int, mesh: Mesh | None) -> Array:
    """Weight of each cell of some sets, int32 [B, C], set after set; the arguments are those of `joint_codes`."""

    def count(codes: Array, weights: Array) -> Array:
        empty = jnp.zeros(n_cells, jnp.int32)
        return lax.map(lambda some: empty.at[joint_codes(codes, sizes, some[None])[0]].add(weights), members)

    return _by_rows(count, mesh, codes, weights)


@partial(jax.jit, static_argnames=("n_cells", "mesh"))
def position_counts(
    codes: Array, sizes: Array, ranks: Array, positions: Array, terms: Terms, *, n_cells: int, mesh: Mesh | None
) -> Array:
    """Rows of each problem by cell and group, int32 [A, C, G]: one after the other, each term adds all rows.

    Args:
        codes: see `joint_codes`.
        sizes: see `joint_codes`.
        ranks: [A, n] int32, the place of every row in the order of the variable; `LAST` for padded rows.
        positions: [A, G + 1] int32, the ranks between which the groups lie, ascending; `LAST` for padded groups.
        terms: F terms of all problems.
        n_cells: C.
        mesh: what the rows are split over.
    """
    n_groups = positions.shape[1] - 1

    def count(codes: Array, ranks: Array) -> Array:
        search = partial(jnp.searchsorted, side="right", method="scan_unrolled")
        groups = lax.map(lambda each: search(*each) - 1, (positions, ranks))

        def term(found: Array, each: Terms) -> tuple[Array, None]:
            cell, group = each.number[joint_codes(codes, sizes, each.members[None])[0]], groups[each.problem]
            at = (each.problem * n_cells + cell) * n_groups + group
            inside = (group < n_groups) & (cell >= 0)
            return found.at[jnp.where(inside, at, found.size)].add(1, mode="drop"), None

        return lax.scan(term, jnp.zeros(len(ranks) * n_cells * n_groups, jnp.int32), terms)[0]

    return _by_rows(count, mesh, codes, ranks).reshape(-1, n_cells, n_groups)


@jax.jit
def with_counts(counts: Array, found: Array, source: Array) -> Array:
    """Counts [A, C, G], to which those of `source` [A] are added."""
    return counts + found[source]


@jax.jit
def indicator_of(codes: Array, owner: Array, state: Array, weights: Array) -> Array:
    """The weight of every row at each of its states, int8 [T, n], by the column and the code of every state [T]."""
    return ((state[:, None] == codes[owner]) * weights).astype(jnp.int8)


@partial(jax.jit, static_argnames=("n_cells", "n_columns", "mesh"))
def extension_sums(
    joint: Array, indicator: Array, owner: Array, tables: Array, *, n_cells: int, n_columns: int, mesh: Mesh | None
) -> Array:
    """Σ over the cells of (base, column) of a table at the cell's count: int64 [B, R, N], exact in any order.

    Counts are a product of two matrices of indicators, one of cells by rows and one of rows by states, in whole numbers
    of 8 bits with sums of 32: what accelerators are quickest at.

    Args:
        joint: [B, n] int32 cell of the base.
        indicator: [T, n] weight of a row at each of its states, zero elsewhere.
        owner: [T] int32, the column of every state.
        tables: [R, Z] int64, zero at a count of zero.
        n_cells: C.
        n_columns: N.
        mesh: what the rows are split over.
    """
    return _over_cells(_extension_counts(joint, indicator, n_cells, mesh), owner, tables, n_columns)


@partial(jax.jit, static_argnames=("n_cells", "n_columns", "mesh"))
def family_sums(
    joint: Array,
    child: Array,
    indicator: Array,
    owner: Array,
    tables: Array,
    *,
    n_cells: int,
    n_columns: int,
    mesh: Mesh | None,
) -> tuple[Array, Array]:
    """The same of bases that end with a child, by the first table [B, 1, N], and without it, by all [B, R, N].

    `child` [B] int32 are the states of each child: the table of the parents is that of the family, summed over these.
    """
    counts = _extension_counts(joint, indicator, n_cells, mesh)
    parents = jnp.arange(n_cells, dtype=jnp.int32) // child[:, None]
    without = jax.vmap(lambda own, onto: jnp.zeros_like(own).at[onto].add(own))(counts, parents)
    return _over_cells(counts, owner, tables[:1], n_columns), _over_cells(without, owner, tables, n_columns)


def _over_cells(counts: Array, owner: Array, tables: Array, n_columns: int) -> Array:
    by_state = lax.map(lambda table: table[counts].sum(axis=1), tables)  # [R, B, T]
    sums = jnp.zeros((len(tables), len(counts), n_columns), jnp.int64).at[:, :, owner].add(by_state)
    return sums.swapaxes(0, 1)


def _extension_counts(joint: Array, indicator: Array, n_cells: int, mesh: Mesh | None) -> Array:
    """Weight of each base by cell and state, [B, C, T]."""
    cells = jnp.arange(n_cells, dtype=joint.dtype)[:, None]

    def count(joint: Array, indicator: Array) -> Array:
        n_bases, n_rows = joint.shape
        size = n_rows if n_rows * n_bases * n_cells <= AT_ONCE else min(CHUNK, n_rows)

        def chunk(total: Array, first: Array) -> tuple[Array, None]:
            own, states = (lax.dynamic_slice_in_dim(each, first, size, 1) for each in (joint, indicator))
            inside = (own[:, None, :] == cells).astype(indicator.dtype).reshape(n_bases * n_cells, size)
            return total + jnp.matmul(inside, states.T, preferred_element_type=jnp.int32), None

        empty = jnp.zeros((n_bases * n_cells, len(indicator)), jnp.int32)
        return lax.scan(chunk, empty, jnp.arange(0, n_rows, size))[0].reshape(n_bases, n_cells, -1)

    return _by_rows(count, mesh, joint, indicator)


def _by_rows(count: Any, mesh: Mesh | None, *arrays: Array) -> Any:
    """What is counted in some arrays, the last axis of which are the rows: each device counts its own."""
    if mesh is None:
        return count(*arrays)
    specs: Any = PartitionSpec
    split = tuple(specs(*[None] * (each.ndim - 1), ROWS) for each in arrays)

    def added(*own: Array) -> Array:
        return lax.psum(count(*own), ROWS)  # type: ignore[no-untyped-call]

    return jax.shard_map(added, mesh=mesh, in_specs=split, out_specs=specs(), check_vma=False)(*arrays)
