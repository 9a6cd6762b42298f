"""K2 scores of many families at once, on one device or with the rows split over several.

The score is in docs/maths.md, "Family scores by sets". Shapes: F families, n rows (padded), Z entries of a table.
"""

from __future__ import annotations

from functools import lru_cache, partial

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import Mesh, PartitionSpec

ROWS = "rows"
"""Axis of the mesh that the rows are split over."""


@partial(jax.jit, static_argnames=("n_cells",))
def family_scores(cell: Array, n_states: Array, log_gamma: Array, *, n_cells: int) -> Array:
    """The score of every family, float64 [F].

    Args:
        cell: [F, n] int32, configuration of the parents times r plus state of the child; `n_cells` for padding.
        n_states: [F] int32, r, the child's cardinality.
        log_gamma: [Z] float64, ln Γ at the whole numbers; entry 0 is not used.
        n_cells: at least the largest number of (configuration, state) pairs.
    """
    return scores_of_counts(cell_counts(cell, n_cells), n_states, log_gamma)


@lru_cache(maxsize=64)
def sharded_family_scores(mesh: Mesh, n_cells: int) -> jax.stages.Wrapped:
    """The program that computes what `family_scores` does, for rows split over the mesh.

    Each device counts its own rows, and the counts are added up. They are whole numbers, so the scores are the same
    to the last bit. Each device needs memory for its rows and for the counts of one batch of families.
    """

    def of_own_rows(cell: Array, n_states: Array, log_gamma: Array) -> Array:
        counts = jax.lax.psum(cell_counts(cell, n_cells), ROWS)  # type: ignore[no-untyped-call]
        return scores_of_counts(counts, n_states, log_gamma)

    split, whole = PartitionSpec(None, ROWS), PartitionSpec()  # type: ignore[no-untyped-call]
    program = jax.shard_map(of_own_rows, mesh=mesh, in_specs=(split, whole, whole), out_specs=whole, check_vma=False)
    return jax.jit(program)


def cell_counts(cell: Array, n_cells: int) -> Array:
    """N_jk of every family, int32 [F, n_cells]: one scatter for all of them, with a place for padding after each."""
    n_families = cell.shape[0]
    place = cell + (n_cells + 1) * jnp.arange(n_families, dtype=jnp.int32)[:, None]
    counts = jnp.zeros(n_families * (n_cells + 1), jnp.int32).at[place.ravel()].add(1, mode="promise_in_bounds")
    return counts.reshape(n_families, n_cells + 1)[:, :n_cells]


def scores_of_counts(counts: Array, n_states: Array, log_gamma: Array) -> Array:
    """Σ_j [ ln Γ(r) - ln Γ(r + N_j) + Σ_k ln Γ(1 + N_jk) ] of every family [F]; in NumPy: scores/tables.k2_score."""

    def score(n_jk: Array, r: Array) -> Array:
        configuration = jnp.arange(len(n_jk), dtype=jnp.int32) // r
        n_j = jnp.zeros_like(n_jk).at[configuration].add(n_jk)  # those that were not observed add nothing
        return (log_gamma[r] - log_gamma[r + n_j]).sum() + log_gamma[1 + n_jk].sum()

    return jax.vmap(score)(counts, n_states)
