"""K2 scores of tables whose rows lie on several devices: each counts its own, and the counts are added up."""

from __future__ import annotations

from functools import lru_cache

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import Mesh, PartitionSpec

ROWS = "rows"
"""Axis of the mesh that the rows are split over."""


@lru_cache(maxsize=64)
def sharded_family_scores(mesh: Mesh, n_cells: int, n_configurations: int) -> jax.stages.Wrapped:
    """The program that computes what `scores.family_scores` does, of rows split over the mesh.

    Counts are whole numbers, so the scores are the same to the last bit. Each device needs memory for its rows and for
    the counts of one batch of families.
    """

    def of_own_rows(configuration: Array, child: Array, n_states: Array, log_gamma: Array) -> Array:
        def counts(configuration: Array, child: Array, r: Array) -> tuple[Array, Array]:
            ones = jnp.ones(configuration.shape, jnp.int32)
            cell = jnp.where(configuration < n_configurations, configuration * r + child, n_cells)
            n_jk = jnp.zeros(n_cells, jnp.int32).at[cell].add(ones, mode="drop")
            return n_jk, jnp.zeros(n_configurations, jnp.int32).at[configuration].add(ones, mode="drop")

        def score(n_jk: Array, n_j: Array, r: Array) -> Array:  # the equation of `family_scores`
            return (log_gamma[r] - log_gamma[r + n_j]).sum() + log_gamma[1 + n_jk].sum()

        of_own = jax.vmap(counts)(configuration, child, n_states)
        n_jk, n_j = jax.lax.psum(of_own, ROWS)  # type: ignore[no-untyped-call]
        return jax.vmap(score)(n_jk, n_j, n_states)

    split, whole = PartitionSpec(None, ROWS), PartitionSpec()  # type: ignore[no-untyped-call]
    program = jax.shard_map(
        of_own_rows, mesh=mesh, in_specs=(split, split, whole, whole), out_specs=whole, check_vma=False
    )
    return jax.jit(program)
