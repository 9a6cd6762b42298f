"""Our programs run on a client of their own with one thread, and the rest of the process keeps what it has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbn
from jaxbn.runtime import one_thread
from tests.helpers.random_variables import method_options, random_variable

SAME = "import os; from jaxbn.runtime.one_thread import own_device; print(own_device(), os.environ.get('PJRT_NPROC'))"


def test_it_is_another_client_and_the_users_arrays_stay_where_they_were():
    device = one_thread.own_device()
    assert device is not None
    assert device.client is not jax.devices()[0].client
    assert one_thread.THREADS not in os.environ
    with one_thread.on_one_thread():
        assert jnp.zeros(3).devices() == {device}
        assert one_thread.own_device() is device  # within itself too
    assert jnp.zeros(3).devices() == {jax.devices()[0]}


@pytest.mark.parametrize(("method", "n_rows"), [("bayesian", 300), ("bayesian", 3000), ("evidence", 300)])
def test_cuts_are_the_same_on_the_usual_device(monkeypatch, method, n_rows):
    variable = random_variable(0, n_rows, n_parents=1)
    ours = jaxbn.discretize_variable(**variable, **method_options(method))
    x = jnp.arange(3.0)
    assert x.devices() == {jax.devices()[0]}
    with jax.default_device(jax.devices()[0]):  # whoever chooses a device gets it
        assert one_thread.own_device() is None
        usual = jaxbn.discretize_variable(**variable, **method_options(method))
    assert np.array_equal(ours.edges, usual.edges)
    assert ours.cost == usual.cost


@pytest.mark.parametrize(
    "setting", [{"PJRT_NPROC": "1"}, {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}], ids=["threads", "two"]
)
def test_there_is_none_where_threads_were_chosen_or_there_are_several_devices(setting):
    done = subprocess.run(
        [sys.executable, "-c", SAME], env={**os.environ, **setting}, check=True, capture_output=True, text=True,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.stdout.split() == ["None", setting.get("PJRT_NPROC", "None")]


def test_without_the_function_of_jaxlib_the_usual_device_is_used(monkeypatch):
    import jaxlib.xla_client

    one_thread._made.cache_clear()
    monkeypatch.delattr(jaxlib.xla_client, "make_cpu_client")
    try:
        assert one_thread.own_device() is None
        assert one_thread.THREADS not in os.environ
    finally:
        one_thread._made.cache_clear()
