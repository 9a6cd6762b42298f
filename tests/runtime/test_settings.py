"""What a program has switched on in JAX for its own arrays does not end ours."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import jaxbn

SETTINGS = {
    "no jit": lambda: jax.disable_jit(),
    "strict promotion": lambda: jax.numpy_dtype_promotion("strict"),
    "ranks that must agree": lambda: jax.numpy_rank_promotion("raise"),
    "no infinities": lambda: jax.debug_infs(True),
    "no transfers": lambda: jax.transfer_guard("disallow"),
}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("method", ["evidence", "bayesian", "mdl"])
def test_cuts_are_the_same_under_any_setting(method: str, setting: str) -> None:
    values = np.random.default_rng(0).normal(size=(60, 2)).cumsum(axis=1)
    data: dict[str, Any] = {"a": values[:, 0], "b": values[:, 1], "k": (values[:, 1] > 0).astype(int)}
    expected = jaxbn.discretize(data, {"b": ["a"], "k": ["b"]}, method=method)
    with SETTINGS[setting]():
        found = jaxbn.discretize(data, {"b": ["a"], "k": ["b"]}, method=method)
    for name, binning in expected.binnings.items():
        np.testing.assert_array_equal(found.binnings[name].cuts, binning.cuts)
