"""Batches that fit in memory, on several devices and by several processes: always the result of one device."""

from __future__ import annotations

import json
import time
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxbn.cuts.solve import solve
from jaxbn.runtime import devices
from jaxbn.runtime.processes import Team, team
from tests.helpers import shared_runs
from tests.helpers.killed_runs import n_finished
from tests.helpers.programs import mixed_tasks

SECONDS = 120  # a process that has not ended by then hangs


@pytest.mark.parametrize("given", ["0", "-5", "lots", "1e9"])
def test_a_memory_limit_that_is_no_number_of_bytes_is_refused(given, monkeypatch):
    monkeypatch.setenv("JAXBN_BATCH_BYTES", given)
    with pytest.raises(ValueError, match="JAXBN_BATCH_BYTES must be a whole number of bytes above zero"):
        devices.batch_bytes()


def test_the_memory_limit_does_not_change_the_answers(monkeypatch):
    tasks = mixed_tasks(6)
    expected = solve(tasks)
    monkeypatch.setenv("JAXBN_BATCH_BYTES", "1")
    for found, known in zip(solve(tasks), expected, strict=True):
        assert found.cuts == known.cuts
        np.testing.assert_allclose(found.cost, known.cost, rtol=1e-12)


def test_one_process_is_a_team_of_its_own():
    with team(lambda: "a call") as mates:
        assert list(mates.share(3)) == [0, 1, 2]
        assert mates.exchange(b"text") == [b"text"]
    assert [list(Team(rank, 2).share(5)) for rank in (0, 1)] == [[0, 2, 4], [1, 3]]


def _finish(process, seconds: float = SECONDS) -> tuple[int, str]:
    try:
        _, errors = process.communicate(timeout=seconds)
    except BaseException:
        process.kill()
        process.communicate()
        raise
    return process.returncode, errors


@pytest.mark.slow
def test_eight_devices_find_what_one_does(tmp_path: Path):
    assert len(jax.devices()) == 1
    memory = {"JAXBN_BATCH_BYTES": "30000"}  # so little that the rows of the scores are split
    process = shared_runs.start("devices", tmp_path / "out", env=shared_runs.EIGHT_DEVICES | memory)
    code, errors = _finish(process)
    assert code == 0, errors
    found = json.loads((tmp_path / "out").read_text())
    expected = {"cuts": shared_runs.cuts(), "arcs": shared_runs.arcs(), "scores": shared_runs.scores()}
    assert found == {"devices": 8, **json.loads(json.dumps(expected))}


@pytest.mark.slow
def test_two_processes_find_what_one_does(tmp_path: Path):
    port = shared_runs.free_port()
    processes = [shared_runs.start("both", tmp_path / "out", rank, port) for rank in (0, 1)]
    for process in processes:
        code, errors = _finish(process)
        assert code == 0, errors
    expected = {"cuts": shared_runs.cuts(), "arcs": shared_runs.arcs(), "restarts": shared_runs.restarts()}
    for rank in (0, 1):
        assert json.loads((tmp_path / f"out.{rank}").read_text()) == json.loads(json.dumps(expected))
    assert n_finished(tmp_path / "run.json") == shared_runs.RESAMPLES


@pytest.mark.slow
@pytest.mark.parametrize("victim", [1, 0])
def test_when_one_of_two_processes_is_killed_the_other_says_so_and_the_checkpoint_is_good(victim, tmp_path: Path):
    port, checkpoint = shared_runs.free_port(), tmp_path / "run.json"
    processes = [shared_runs.start("slow arcs", tmp_path / "out", rank, port) for rank in (0, 1)]
    deadline = time.monotonic() + SECONDS
    while n_finished(checkpoint) < 2 and time.monotonic() < deadline and all(p.poll() is None for p in processes):
        time.sleep(0.02)
    processes[victim].kill()
    code, errors = _finish(processes[1 - victim])
    _finish(processes[victim])
    assert code != 0
    assert "another task died" in errors or "Connection closed by peer" in errors  # in the words of JAX
    assert 2 <= n_finished(checkpoint) < shared_runs.RESAMPLES
    assert shared_runs.arcs(checkpoint=checkpoint) == shared_runs.arcs()


@pytest.mark.slow
def test_processes_that_make_different_calls_are_told(tmp_path: Path):
    port = shared_runs.free_port()
    processes = [shared_runs.start("other arguments", tmp_path / "out", rank, port) for rank in (0, 1)]
    codes, errors = zip(*[_finish(process) for process in processes], strict=True)
    assert all(code != 0 for code in codes)
    assert any("makes a different call from process" in each for each in errors)
