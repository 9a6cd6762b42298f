"""The logarithm and the running sum against NumPy."""

import jax
import numpy as np
import pytest

from jaxbn.kernels.arithmetic import log, running_sum


def test_log_is_right_to_two_units_in_the_last_place():
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [
            np.exp(rng.uniform(-708, 709, 100_000)),
            np.exp(rng.normal(size=100_000) * 1e-3),
            np.arange(1.0, 5000),
            1 / np.arange(1.0, 5000),
            [1.0, np.nextafter(1, 0), np.nextafter(1, 2), np.sqrt(0.5), np.sqrt(2), np.finfo(float).tiny],
            [np.finfo(float).max],
        ]
    )
    with jax.enable_x64(True):
        found = np.asarray(jax.jit(log)(x))
    np.testing.assert_array_max_ulp(found, np.log(x), maxulp=8)
    assert np.abs(found - np.log(x)).max() <= 2.3e-16 * 709
    assert found[x == 1.0].tolist() == [0.0] * (x == 1.0).sum()


@pytest.mark.parametrize("shape", [(4, 1), (32, 128), (64, 3)])
def test_running_sum_is_a_cumulative_sum(shape):
    rows = np.random.default_rng(1).normal(size=shape)
    with jax.enable_x64(True):
        found = np.asarray(jax.jit(running_sum)(rows))
    np.testing.assert_allclose(found, np.cumsum(rows, axis=0), rtol=0, atol=1e-13)
