"""K2 scores of many families at once (design section 5)."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array


@partial(jax.jit, static_argnames=("n_cells", "n_configurations"))
def family_scores(
    configuration: Array, child: Array, n_states: Array, log_gamma: Array, *, n_cells: int, n_configurations: int
) -> Array:
    """The score g = Σ_j [ ln Γ(r) - ln Γ(r + N_j) + Σ_k ln Γ(1 + N_jk) ] of every family, float64 [F].

    Args:
        configuration: [F, n] int32, the parents' joint code of each row; rows of padding have one out of range.
        child: [F, n] int32, the child's code.
        n_states: [F] int32, r, the child's cardinality.
        log_gamma: [Z] float64, ln Γ at the whole numbers; entry 0 is not used.
        n_cells: at least the largest number of (configuration, state) pairs.
        n_configurations: at least the largest number of configurations.
    """

    def one(configuration: Array, child: Array, r: Array) -> Array:
        ones = jnp.ones(configuration.shape, jnp.int32)
        cell = jnp.where(configuration < n_configurations, configuration * r + child, n_cells)
        n_jk = jnp.zeros(n_cells, jnp.int32).at[cell].add(ones, mode="drop")
        n_j = jnp.zeros(n_configurations, jnp.int32).at[configuration].add(ones, mode="drop")
        return (log_gamma[r] - log_gamma[r + n_j]).sum() + log_gamma[1 + n_jk].sum()

    return jax.vmap(one)(configuration, child, n_states)
