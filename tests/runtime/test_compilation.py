"""Few programs are compiled, and no global switch is left on."""

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
from tests.helpers.compilations import compilations
from tests.helpers.random_variables import method_options, random_variable


def random_calls(count: int, sizes: tuple[int, int], method: str = "bayesian") -> None:
    """Variables of random size with up to five factors: parents, and children with their spouses."""
    rng = np.random.default_rng(0)
    for seed in range(count):
        n_parents = int(rng.integers(0, 4))
        n_children = int(rng.integers(0, 6 - min(n_parents, 1)))
        variable = random_variable(
            seed,
            int(rng.integers(sizes[0], sizes[1] + 1)),
            n_parents=n_parents,
            spouses=tuple(rng.integers(0, 3, n_children).tolist()),
        )
        jaxbn.discretize_variable(**variable, **method_options(method, float(rng.uniform(1, 9))))


def test_the_counter_counts():
    with compilations() as names:
        for size in (3, 3, 4):
            jax.jit(lambda x: x + 1)(np.zeros(size))
    assert len(names) == 3  # a new function each time


@pytest.mark.parametrize(("method", "calls"), [("bayesian", 200), ("mdl", 100)])
def test_200_calls_compile_at_most_8_times(method, calls):
    with compilations() as names:
        random_calls(calls, (100, 400), method)
    assert 1 <= len(names) <= 8, names


def test_larger_variables_share_one_program():
    """Of more positions than a matrix has: one for each power of two; what runs outside it is compiled once too."""
    variables = [random_variable(seed, n, n_parents=1) for seed, n in enumerate((2050, 3200, 3900, 2500))]
    with compilations() as names:
        jaxbn.discretize_variable(**variables[0], **method_options("bayesian"))
        after_one = len(names)
        for variable in variables[1:]:
            jaxbn.discretize_variable(**variable, **method_options("bayesian", 2.0))
    assert sum("advance" in name for name in names) == 1, names
    assert len(names) == after_one, names


@pytest.mark.parametrize("method", ["bayesian", "mdl"])
def test_the_global_precision_is_left_alone(method):
    assert not jax.config.jax_enable_x64
    binning = jaxbn.discretize_variable(**random_variable(0, 60, n_parents=1), **method_options(method))
    assert not jax.config.jax_enable_x64
    assert jnp.zeros(1).dtype == jnp.float32
    assert binning.cuts.dtype == np.float64


def test_an_answer_does_not_depend_on_the_global_precision():
    variable = random_variable(0, 60, n_parents=1)
    expected = jaxbn.discretize_variable(**variable, **method_options("bayesian"))
    with jax.enable_x64(True):
        inside = jaxbn.discretize_variable(**variable, **method_options("bayesian"))
    assert (inside.cost, inside.cuts.tolist()) == (expected.cost, expected.cuts.tolist())


@pytest.fixture
def _settings_stay():
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    yield
    for name, value in before.items():
        jax.config.update(name, value)


@pytest.mark.usefixtures("_settings_stay")
def test_kernels_are_kept_in_a_folder_that_only_its_owner_can_write_to(tmp_path):
    folder = jaxbn.enable_compilation_cache(tmp_path / "new" / "kernels")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert jax.config.jax_compilation_cache_dir == str(folder)
    assert jaxbn.enable_compilation_cache(folder) == folder


@pytest.mark.usefixtures("_settings_stay")
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_folder_that_others_can_write_to_is_refused(tmp_path, mode):
    tmp_path.chmod(mode)
    before = jax.config.jax_compilation_cache_dir
    with pytest.warns(UserWarning, match="others can write to .*; chmod 700 it"):
        assert jaxbn.enable_compilation_cache(tmp_path) is None
    assert jax.config.jax_compilation_cache_dir == before


@pytest.mark.usefixtures("_settings_stay")
def test_a_folder_of_somebody_else_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("os.getuid", lambda: 12345)
    with pytest.warns(UserWarning, match="others can write to"):
        assert jaxbn.enable_compilation_cache(tmp_path) is None


@pytest.mark.usefixtures("_settings_stay")
def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(UserWarning, match="cannot write to"):
        assert jaxbn.enable_compilation_cache(tmp_path / "file") is None


def test_nothing_is_kept_unless_asked_for(tmp_path):
    """A library must not turn on a cache that is one setting for everything that a process compiles."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JAX_")} | {"XDG_CACHE_HOME": str(tmp_path)}
    program = "import jaxbn; jaxbn.discretize_variable([1.0, 2.0, 3.0, 9.0], method='evidence')"
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, cwd=Path(__file__).parents[2])
    assert list(tmp_path.iterdir()) == []
