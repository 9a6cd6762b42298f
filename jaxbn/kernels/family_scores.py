"""K2 scores of many families at once (docs/maths.md, "K2").

Shapes: F families, n rows (padded), Z entries of a table.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array


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


def cell_counts(cell: Array, n_cells: int) -> Array:
    """N_jk of every family, int32 [F, n_cells]: one scatter for all of them, with a place for padding after each."""
    n_families = cell.shape[0]
    place = cell + (n_cells + 1) * jnp.arange(n_families, dtype=jnp.int32)[:, None]
    counts = jnp.zeros(n_families * (n_cells + 1), jnp.int32).at[place.ravel()].add(1, mode="promise_in_bounds")
    return counts.reshape(n_families, n_cells + 1)[:, :n_cells]


def scores_of_counts(counts: Array, n_states: Array, log_gamma: Array) -> Array:
    """G = Σ_j [ ln Γ(r) - ln Γ(r + N_j) + Σ_k ln Γ(1 + N_jk) ] of every family [F]."""

    def score(n_jk: Array, r: Array) -> Array:
        configuration = jnp.arange(len(n_jk), dtype=jnp.int32) // r
        n_j = jnp.zeros_like(n_jk).at[configuration].add(n_jk)  # those that were not observed add nothing
        return (log_gamma[r] - log_gamma[r + n_j]).sum() + log_gamma[1 + n_jk].sum()

    return jax.vmap(score)(counts, n_states)
