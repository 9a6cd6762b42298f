"""K2 scores of tables whose rows lie on several devices: each counts its own, and the counts are added up."""

from __future__ import annotations

from functools import lru_cache

import jax
from jax import Array
from jax.sharding import Mesh, PartitionSpec

from jaxbn.kernels.family_scores import cell_counts, scores_of_counts

ROWS = "rows"
"""Axis of the mesh that the rows are split over."""


@lru_cache(maxsize=64)
def sharded_family_scores(mesh: Mesh, n_cells: int) -> jax.stages.Wrapped:
    """The program that computes what `family_scores` does, for rows split over the mesh.

    Counts are whole numbers, so the scores are the same to the last bit. Each device needs memory for its rows and for
    the counts of one batch of families.
    """

    def of_own_rows(cell: Array, n_states: Array, log_gamma: Array) -> Array:
        counts = jax.lax.psum(cell_counts(cell, n_cells), ROWS)  # type: ignore[no-untyped-call]
        return scores_of_counts(counts, n_states, log_gamma)

    split, whole = PartitionSpec(None, ROWS), PartitionSpec()  # type: ignore[no-untyped-call]
    program = jax.shard_map(of_own_rows, mesh=mesh, in_specs=(split, whole, whole), out_specs=whole, check_vma=False)
    return jax.jit(program)
