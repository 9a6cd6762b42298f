"""Whole tasks on small tables, such as resamples, in worker processes: most of their time is Python, under its lock.

A task depends on its question alone, so the number of workers changes no result. The first tasks are done here, and
tell whether what is left is worth the start of workers; whatever these cannot do is done here as well. Workers stay for
a while, as the next call may need them too.
"""

from __future__ import annotations

import atexit
import logging
import multiprocessing
import os
import pickle
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing, contextmanager
from functools import lru_cache
from logging.handlers import QueueHandler
from multiprocessing import resource_tracker
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from jaxbn.runtime import limits
from jaxbn.runtime.memory import available
from jaxbn.runtime.threads import MANY_ROWS, THREADS, Answer, Question, n_threads

LOG = logging.getLogger("jaxbn")

START_UP = 2.0  # seconds that a new process takes to import JAX and to compile programs
HAND_OVER = 0.05  # seconds until workers that are there have a task
STAYS = 30.0  # seconds for which workers stay after a call; within them the next one finds them
WORKER_BYTES = 6 * 10**8  # memory of a worker
PART = 1.0  # seconds after which a worker hands in what it has of a long task
PAUSE = 0.1  # seconds between two looks at limits

ONE_THREAD = dict.fromkeys(
    (THREADS, "PJRT_NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
KERNELS = ("compilation_cache_dir", "persistent_cache_min_compile_time_secs", "persistent_cache_min_entry_size_bytes")
"""Settings of JAX for compiled programs on disk."""

Job = Callable[[Question], tuple[Answer, Question | None]]
"""Does a step of a task: its answer, and the question that is left, None at the end. It is sent to each worker once."""

Report = tuple[list[Answer], Question | None, list[warnings.WarningMessage], list[logging.LogRecord]]
"""What a worker hands in: answers, the question that is left, and what it would have told."""


class _Kept(NamedTuple):
    """Workers that stay."""

    pool: Any
    size: int
    env: dict[str, str]
    folder: Path
    until: float = 0.0  # by time.monotonic()
    job: Any = None  # the last one: asked again, it is where it was, with all that it remembers
    n_jobs: int = 0  # so far


class _Missed(NamedTuple):
    """Seconds that workers would have saved so far, and until when that counts, by time.monotonic()."""

    seconds: float = 0.0
    until: float = 0.0


_kept: _Kept | None = None
_missed = _Missed()
_one_pool = threading.Lock()


def n_workers(n_rows: int) -> int:
    """Processes among which tasks on a table of so many rows may be shared; 1 where they stay in this one.

    Long tables use threads, and accelerators batches; a process that another one has started leaves the other cores to
    its siblings.
    """
    import jax  # here, so that a worker starts quickly

    from jaxbn.runtime.devices import accelerators

    shared = multiprocessing.parent_process() is not None or jax.distributed.is_initialized()
    if n_rows >= MANY_ROWS or shared or accelerators() or getattr(sys, "frozen", False):
        return 1
    free = available()
    return n_threads() if free is None else max(min(n_threads(), free // WORKER_BYTES), 1)


def are_worth_it(count: int, seconds: float) -> bool:
    """Whether so many workers save time where all tasks together take so many seconds.

    What they would have saved shortly before counts for their start: as the calls of a loop go on, they pay in the end.
    """
    saved = seconds * (1 - 1 / max(count, 1))
    return saved > HAND_OVER and (are_there() or _missed_before() + saved > START_UP)


def done_here(count: int, seconds: float) -> None:
    """Tasks that so many workers could have shared took so many seconds in this process."""
    global _missed
    missed = max(seconds, 0.0) * (1 - 1 / max(count, 1))
    _missed = _Missed(_missed_before() + missed, time.monotonic() + STAYS)


def _missed_before() -> float:
    return _missed.seconds if time.monotonic() < _missed.until else 0.0


def are_there() -> bool:
    """Whether workers wait for a task."""
    return _kept is not None and time.monotonic() < _kept.until


def in_workers(
    job: Job[Question, Answer],
    questions: Iterable[Question],
    n_rows: int,
    size: Callable[[Question], float] = lambda question: 1.0,
    *,
    at_once: bool = False,
) -> closing[Generator[Answer]]:
    """A block that has the answers of all steps, those of one question in their order; no task goes on after it.

    The sizes of questions say how the work is distributed among them. With `at_once` workers are known to be worth it,
    and none of the questions is answered here first.
    """

    def answers() -> Generator[Answer]:
        waiting, most, overhead = deque(questions), n_workers(n_rows), START_UP
        if at_once and most > 1:
            yield from _from_pool(job, waiting, min(most, len(waiting)))
            most = 1
        while waiting:
            limits.check()
            before, began = sum(map(size, waiting)), time.monotonic()
            answer, rest = job(waiting.popleft())
            if rest is not None:
                waiting.append(rest)
            seconds = time.monotonic() - began - overhead  # the first step may have compiled all that workers have to
            done_here(most, seconds)
            yield answer
            overhead, left, count = 0.0, sum(map(size, waiting)), min(most, len(waiting))
            expected = min(seconds * left / max(before - left, 1e-9), limits.seconds_left())
            if are_worth_it(count, expected):
                yield from _from_pool(job, waiting, count)
                most = 1  # what is waiting again is done here, where an error has its own type and trace

    return closing(answers())


def _from_pool(job: Job[Question, Answer], waiting: deque[Question], size: int) -> Iterator[Answer]:
    """Answers of workers; after a failure of any kind, what has not been answered is waiting again."""
    global _kept
    if not _one_pool.acquire(blocking=False):
        return
    running: dict[Future[Report[Answer, Question]], Question] = {}
    shown: dict[Any, Any] = {}  # a warning is shown as often as if it came from here
    done = False
    try:
        pool, file = _pool(size), _file_of(job)
        while waiting or running:
            limits.check()
            with _without_interrupts():  # Ctrl-C is for this process alone, and a question may start workers
                while waiting:
                    running |= {pool.submit(_steps, file, waiting[0]): waiting.popleft()}
            for future in wait(running, PAUSE, FIRST_COMPLETED).done:
                answers, rest, warned, logged = future.result()
                for each in warned:
                    warnings.warn_explicit(each.message, each.category, each.filename, each.lineno, registry=shown)
                for record in logged:
                    logging.getLogger(record.name).handle(record)
                del running[future]
                if rest is not None:
                    waiting.append(rest)
                yield from answers
        done = True
    except Exception as error:  # no semaphores, say, levels of a column that cannot be sent, or an error of a task
        LOG.warning("what is left is done without worker processes: %s", str(error).split("\n")[0])
        waiting.extend(running.values())
    finally:
        if done and _kept is not None:
            _kept = _kept._replace(until=time.monotonic() + STAYS)
        else:
            end()
        _one_pool.release()


def _pool(size: int) -> Any:
    """So many workers, those of the last call if they are enough and have the same settings."""
    global _kept
    import jax
    from loky import ProcessPoolExecutor

    settings = {f"JAX_{name.upper()}": getattr(jax.config, f"jax_{name}") for name in KERNELS}
    env = {name: str(value) for name, value in settings.items() if value is not None}
    env |= ONE_THREAD | {"JAX_PLATFORMS": "cpu"}
    if _kept is None or _kept.size < size or _kept.env != env or time.monotonic() > _kept.until:
        end()
        # an idle worker ends by itself, but later than it is asked again: none goes while a question is on its way
        pool = ProcessPoolExecutor(size, initializer=_begin, initargs=(os.getpid(),), env=env, timeout=2 * STAYS)
        _kept = _Kept(pool, size, env, Path(tempfile.mkdtemp(prefix="jaxbn")))
    return _kept.pool


def _file_of(job: Job[Any, Any]) -> Path:
    """Where workers find a job."""
    global _kept
    assert _kept is not None
    if _kept.job is not job:
        number = _kept.n_jobs + 1
        (_kept.folder / str(number)).write_bytes(pickle.dumps((job, LOG.getEffectiveLevel())))
        _kept = _kept._replace(job=job, n_jobs=number)
    return _kept.folder / str(_kept.n_jobs)


@atexit.register
def end() -> None:
    """End the workers that are there."""
    global _kept
    if _kept is not None:
        _kept.pool.shutdown(wait=True, kill_workers=True)
        shutil.rmtree(_kept.folder, ignore_errors=True)
        _kept = None


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Processes that are started inside never see Ctrl-C; one that is pressed meanwhile comes at the end."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which would let interrupts through when it is started
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- in a worker

_logged: SimpleQueue[logging.LogRecord] = SimpleQueue()


def _begin(caller: int) -> None:
    threading.Thread(target=_end_with, args=(caller,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    LOG.handlers, LOG.propagate = [QueueHandler(_logged)], False


def _end_with(caller: int) -> None:
    """End when the caller is gone: if it was killed, answers would wait for ever to be read."""
    while os.getppid() == caller:  # which on Windows it always is
        time.sleep(PART)
    os._exit(1)


@lru_cache(maxsize=1)
def _job(file: Path) -> tuple[Job[Any, Any], int]:
    return pickle.loads(file.read_bytes())


def _steps(file: Path, question: Any) -> Report[Any, Any]:
    """Steps of a task for a while."""
    answers = []
    (job, level), until = _job(file), time.monotonic() + PART  # warnings of what it imports are left out: all saw them
    LOG.setLevel(level)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        while question is not None and time.monotonic() < until:
            answer, question = job(question)
            answers.append(answer)
    return answers, question, warned, [_logged.get() for _ in range(_logged.qsize())]
