"""A slow program is compiled once and read back by another process; nothing else is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxbn.runtime import kept_programs
from jaxbn.runtime.one_thread import on_one_thread, own_device
from tests.helpers.compilations import compilations

TWICE = """
import jax, jax.monitoring, numpy as np
compiled = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, *_, **__: compiled.append(event) if event.endswith("backend_compile_duration") else None
)
import jaxbn
x = np.random.default_rng(0).normal(size=3000)
before = len(compiled)
policy = jaxbn.discretize_variable(x, parents=[(x > 0.3).astype(int)], method="bayesian", rate=2.0)
jax.jit(lambda a: a + 1)(x)  # the user's own
print(policy.edges.tolist(), len(compiled) - before)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A store of its own, as if JAX kept nothing."""
    monkeypatch.setattr(kept_programs, "store", lambda: tmp_path / "programs")
    monkeypatch.setattr(kept_programs, "_ready", {})
    return tmp_path / "programs"


@jax.jit
def add(x, y):
    return x + y


def test_a_program_is_stored_once_and_read_back(folder, monkeypatch):
    x, y = np.arange(3), np.arange(1, 4)
    assert kept_programs.run(add, x, x).tolist() == [0, 2, 4]
    (file,) = folder.iterdir()
    monkeypatch.setattr(kept_programs, "_ready", {})
    with compilations() as names:
        assert kept_programs.run(add, x, y).tolist() == [1, 3, 5]
        assert kept_programs.run(add, x, x).tolist() == [0, 2, 4]
    assert not any("add" in name for name in names)
    assert list(folder.iterdir()) == [file]
    kept_programs.run(add, np.arange(4), np.arange(4))  # another shape, another program
    assert len(list(folder.iterdir())) == 2


def test_a_program_runs_on_the_device_that_was_chosen(folder):
    """A compiled program belongs to one device: that of the first call must not serve the others."""
    x = np.arange(3)
    with on_one_thread():
        assert kept_programs.run(add, x, x).devices() == {own_device()}
    assert kept_programs.run(add, x, x).devices() == {jax.devices()[0]}
    with jax.default_device(jax.devices()[0]):
        assert kept_programs.run(add, x, x).devices() == {jax.devices()[0]}
    assert len(list(folder.iterdir())) == 1  # the file serves all


@pytest.mark.parametrize("content", [b"", b"no program", b"\x80\x04N."])
def test_a_broken_file_is_made_again(folder, monkeypatch, content):
    x = np.arange(3)
    kept_programs.run(add, x, x)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(content)
    monkeypatch.setattr(kept_programs, "_ready", {})
    assert kept_programs.run(add, x, x).tolist() == [0, 2, 4]
    assert len(file.read_bytes()) > len(whole) // 2


def test_where_nothing_can_be_written_it_runs_all_the_same(folder):
    folder.parent.joinpath("programs").write_text("a file in the way")
    assert kept_programs.run(add, np.arange(3), np.arange(3)).tolist() == [0, 2, 4]


def test_the_oldest_programs_go(folder, monkeypatch):
    monkeypatch.setattr(kept_programs, "MOST_FILES", 2)
    for n in (2, 3, 4):
        kept_programs.run(add, np.arange(n), np.arange(n))
        for file in folder.iterdir():
            os.utime(file, (n, n))
    assert len(list(folder.iterdir())) == 2


def test_what_a_program_depends_on_has_a_name_of_its_own():
    x, y = np.arange(3), np.arange(3.0)
    names = {
        kept_programs._name("a", (x, x), {}),
        kept_programs._name("a", (x, y), {}),
        kept_programs._name("b", (x, x), {}),
        kept_programs._name("a", ((x,), x), {}),
        kept_programs._name("a", (x, x), {"width": 4}),
    }
    assert len(names) == 5


@pytest.mark.parametrize("setting", ["JAXBN_NO_CACHE", "JAX_COMPILATION_CACHE_DIR"])
def test_nothing_is_kept_if_told_so_or_if_jax_keeps_it(tmp_path, setting):
    _run({"XDG_CACHE_HOME": str(tmp_path), setting: str(tmp_path / "jax")})
    assert not (tmp_path / "jaxbn").exists()


def test_another_process_reads_our_program_and_jax_keeps_nothing(tmp_path):
    first, second = (_run({"XDG_CACHE_HOME": str(tmp_path)}) for _ in range(2))
    edges, compiled = first.rsplit(maxsplit=1)
    again, fewer = second.rsplit(maxsplit=1)
    assert edges == again
    assert int(fewer) == int(compiled) - 1  # the user's own program is compiled again
    assert [file.name.split("-")[0] for file in tmp_path.rglob("*") if file.is_file()] == ["advance"]


def _run(settings: dict[str, str]) -> str:
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "JAXBN_NO"))}
    done = subprocess.run(
        [sys.executable, "-c", TWICE], env={**plain, **settings}, check=True, capture_output=True, text=True,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    return done.stdout.strip()
