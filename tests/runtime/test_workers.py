"""Worker processes: the same answers as here, whatever becomes of the workers."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest

import jaxbn
from jaxbn.runtime import limits, workers
from jaxbn.runtime.devices import AS_ACCELERATOR
from jaxbn.runtime.memory import LIMIT
from jaxbn.runtime.threads import MANY_ROWS, THREADS
from jaxbn.runtime.workers import WORKER_BYTES, in_workers, n_workers
from tests.helpers.jobs import Remembering, Step, Steps, surroundings

HOME = os.getpid()


@pytest.fixture(autouse=True)
def _two_workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two, which are always worth their start, and none of which is left."""
    monkeypatch.setenv(THREADS, "2")
    monkeypatch.setattr(workers, "START_UP", 0.0)
    monkeypatch.setattr(workers, "HAND_OVER", 0.0)
    yield
    workers.end()
    assert multiprocessing.active_children() == []


def answers(job: Steps, n_tasks: int = 6) -> list[Step]:
    with in_workers(job, [(task, 0) for task in range(n_tasks)], n_rows=100, size=job.left) as found:
        return list(found)


def everything(n_tasks: int, n_steps: int = 1) -> list[tuple[int, int]]:
    return [(task, step) for task in range(n_tasks) for step in range(n_steps)]


def test_all_steps_are_done_once_and_those_of_a_task_in_their_order() -> None:
    found = answers(Steps(n_steps=3, home=HOME))
    assert sorted((each.task, each.step) for each in found) == everything(6, 3)
    assert [each.step for each in found if each.task == 4] == [0, 1, 2]
    assert found[0].process == HOME  # it tells how long others take
    assert {each.process for each in found} - {HOME}


def test_little_work_stays_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "START_UP", 1.0)
    assert {each.process for each in answers(Steps(n_steps=3))} == {HOME}


def test_many_calls_with_little_work_have_workers_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if each of two workers had saved half: eight calls of 0.3 seconds are worth a start of one, three are not."""
    monkeypatch.setattr(workers, "START_UP", 1.0)
    for n_calls, expected in ((3, False), (8, True)):
        for _ in range(n_calls):
            workers.done_here(2, 0.3)
        assert workers.are_worth_it(2, 0.1) is expected
    monkeypatch.setattr(workers, "_missed", workers._missed._replace(until=0.0))
    assert not workers.are_worth_it(2, 0.1)  # it was long ago


def test_so_does_the_last_task() -> None:
    assert [each.process for each in answers(Steps(), 1)] == [HOME]


def test_an_error_is_raised_as_if_there_were_no_workers() -> None:
    with pytest.raises(ZeroDivisionError, match="task 3 of the caller"):
        answers(Steps(home=HOME, fails=3))


def test_what_dead_workers_leave_is_done_here(caplog: pytest.LogCaptureFixture) -> None:
    found = answers(Steps(n_steps=2, home=HOME, kills=3))
    assert sorted((each.task, each.step) for each in found) == everything(6, 2)
    assert "what is left is done without worker processes: A worker process" in caplog.text


def test_so_is_all_of_it_where_there_can_be_none(monkeypatch, caplog: pytest.LogCaptureFixture) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError("no semaphores")

    monkeypatch.setattr("loky.ProcessPoolExecutor", refused)
    assert {each.process for each in answers(Steps(home=HOME))} == {HOME}
    assert "no semaphores" in caplog.text


def test_an_interrupt_ends_workers_at_once() -> None:
    threading.Timer(2.0, os.kill, (HOME, signal.SIGINT)).start()
    found = []
    with limits.within(), limits.ending_early() as ending:
        job = Steps(home=HOME, seconds=600.0)
        with in_workers(job, [(task, 0) for task in range(6)], n_rows=100) as some:
            for each in some:
                found.append(each.task)  # noqa: PERF401 - what came before the interrupt
    assert ending.interrupted
    assert found == [0]


def test_so_does_the_end_of_the_time() -> None:
    with limits.within(2.0), limits.ending_early() as ending:
        answers(Steps(home=HOME, seconds=600.0))
    assert ending.early
    assert not ending.interrupted


def test_one_that_is_not_asked_to_the_end_leaves_no_worker() -> None:
    with in_workers(Steps(home=HOME), [(task, 0) for task in range(50)], n_rows=100) as found:
        assert next(each for each in found if each.process != HOME)
    assert multiprocessing.active_children() == []


def test_the_next_call_finds_the_workers_of_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another job is sent to the same processes; too few of them, and those of long ago, are replaced."""

    def processes(n_tasks: int = 8) -> set[int]:
        return {each.process for each in answers(Steps(home=HOME, seconds=0.1), n_tasks)} - {HOME}

    first = processes()
    assert workers.are_there()
    assert processes() <= first
    monkeypatch.setenv(THREADS, "3")
    more = processes(12)
    assert not more & first
    workers._kept = workers._kept._replace(until=0.0)
    assert not processes() & more


def test_those_that_are_known_to_be_worth_it_begin_at_once() -> None:
    with in_workers(Steps(home=HOME), [(task, 0) for task in range(6)], n_rows=100, at_once=True) as found:
        assert HOME not in {each.process for each in found}


def test_a_job_that_is_asked_again_has_what_it_remembers() -> None:
    """Another one begins anew."""

    def asked(job: Remembering) -> list[tuple[int, int]]:
        with in_workers(job, range(8), n_rows=100, at_once=True) as found:
            return list(found)

    job = Remembering()
    twice = asked(job) + asked(job)
    assert sum(max(times for process, times in twice if process == own) for own in dict(twice)) == 16
    assert max(times for _, times in asked(Remembering())) <= 8
    assert not job.asked  # none was done here


def test_warnings_and_logs_are_told_here(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "jaxbn")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answers(Steps(home=HOME, warns=4))
    assert [(str(each.message), each.category) for each in caught] == [("task with a warning", RuntimeWarning)]
    assert "task 4 is done" in caplog.text
    with pytest.raises(RuntimeWarning, match="task with a warning"):
        answers(Steps(home=HOME, warns=4))


def test_a_worker_has_a_cpu_one_thread_and_the_kernels_of_the_caller() -> None:
    names = [THREADS, "JAX_PLATFORMS", "OMP_NUM_THREADS", "JAX_COMPILATION_CACHE_DIR"]
    with in_workers(surroundings, [THREADS, *names], n_rows=100) as found:
        assert next(found) == "2"  # here
        assert sorted(map(str, found)) == sorted(["1", "cpu", "1", str(jax.config.jax_compilation_cache_dir)])


def test_where_tasks_stay_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert n_workers(100) == 2
    assert n_workers(MANY_ROWS) == 1
    for name, value in ((THREADS, "1"), (AS_ACCELERATOR, "1"), (LIMIT, str(WORKER_BYTES))):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert n_workers(100) == 1
    for where, found in (("multiprocessing.parent_process", object()), ("jax.distributed.is_initialized", True)):
        with monkeypatch.context() as patch:
            patch.setattr(where, lambda found=found: found)
            assert n_workers(100) == 1


IRIS = jaxbn.datasets.load("iris").frame.iloc[::2]


@pytest.mark.slow
def test_networks_are_the_same_whatever_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> list[object]:
        net = jaxbn.learn(IRIS, restarts=9, progress=False)
        arcs = jaxbn.bootstrap(IRIS, resamples=4, progress=False)
        draws = jaxbn.sample_posterior(IRIS, draws=8, chains=3, burn_in=1, progress=False)
        scores = [
            jaxbn.cross_validate(IRIS, graph, folds=3, progress=False) for graph in (None, {"class": ["petal_width"]})
        ]
        return [
            (net.arcs, net.score, net.trace, {name: binning.cuts.tolist() for name, binning in net.binnings.items()}),
            arcs.parents,
            arcs.cuts.to_numpy().tolist(),
            [(draw.chain, draw.sweep, draw.evidence, draw.parents) for draw in draws.draws],
            draws.cuts.to_numpy().tolist(),
            [(each.log_likelihood.tolist(), {n: k.tolist() for n, k in each.bins.items()}) for each in scores],
        ]

    in_two = found()
    assert workers.are_there()
    monkeypatch.setenv(THREADS, "1")
    assert found() == in_two


ABANDONED = """
import os
from jaxbn.runtime import workers
from tests.helpers.jobs import Steps
workers.START_UP = workers.HAND_OVER = 0.0
with workers.in_workers(Steps(2, os.getpid()), [(k, 0) for k in range(4)], n_rows=100) as found:
    for each in found:
        if each.process != os.getpid():
            break
    print(*workers._kept.pool._processes, flush=True)
    os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a process is no longer known by its parent there")
def test_workers_end_with_a_caller_that_is_killed() -> None:
    """They stayed for good where an answer was on its way, and half a minute or more where none was."""
    killed = subprocess.run([sys.executable, "-c", ABANDONED], stdout=subprocess.PIPE, timeout=300, check=False)
    left = [int(number) for number in killed.stdout.split()]
    assert len(left) == 2
    for number in left:
        until = time.monotonic() + 60
        while time.monotonic() < until and is_running(number):
            time.sleep(0.1)
        assert not is_running(number)


def is_running(number: int) -> bool:
    try:
        os.kill(number, 0)
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # there is no such folder on this system
        return True
    return state != "Z"  # where nobody asks how it ended


SCRIPT = """
import jaxbn, jaxbn.runtime.workers as workers
workers.START_UP, wait = 0.0, workers.wait
workers.wait = lambda *args: print("at work", flush=True) or wait(*args)
found = jaxbn.bootstrap(jaxbn.datasets.load("iris").frame, resamples=10_000, progress=False)
print(found.resamples < 10_000)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no groups of processes")
def test_a_script_needs_no_guard_and_an_interrupt_of_all_its_processes_is_quiet(tmp_path) -> None:
    script = tmp_path / "study.py"
    script.write_text(SCRIPT)
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen([sys.executable, script], **options) as process:
        assert process.stdout.readline() == "at work\n"  # workers are being started
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        out, err = process.communicate(timeout=300)
    assert out.splitlines()[-1] == "True"
    assert "InterruptedWarning: interrupted: these are" in err
    assert "Traceback" not in err
