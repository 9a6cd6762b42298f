"""Whole tasks on small tables, such as resamples, in worker processes: most of their time is Python, under its lock.

A task depends on its question alone, so the number of workers changes no result. The first tasks are done here, and
tell whether what is left is worth the start of workers; whatever these cannot do is done here as well.
"""

from __future__ import annotations

import logging
import multiprocessing
import pickle
import signal
import sys
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
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

from jaxbn.runtime import limits
from jaxbn.runtime.memory import available
from jaxbn.runtime.threads import MANY_ROWS, THREADS, n_threads

LOG = logging.getLogger("jaxbn")

START_UP = 4.0
"""Seconds that a new process takes to import JAX and to compile programs."""

WORKER_BYTES = 6 * 10**8
"""Memory of a worker."""

PART = 1.0
"""Seconds after which a worker hands in what it has of a long task."""

PAUSE = 0.1
"""Seconds between two looks at limits."""

ONE_THREAD = dict.fromkeys(
    (THREADS, "PJRT_NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
KERNELS = ("compilation_cache_dir", "persistent_cache_min_compile_time_secs", "persistent_cache_min_entry_size_bytes")
"""Settings of JAX for compiled programs on disk."""

Question = TypeVar("Question")
Answer = TypeVar("Answer")

Job = Callable[[Question], tuple[Answer, Question | None]]
"""Does a step of a task: its answer, and the question that is left, None at the end. It is sent to each worker once."""

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


def in_workers(
    job: Job[Question, Answer],
    questions: Iterable[Question],
    n_rows: int,
    size: Callable[[Question], float] = lambda question: 1.0,
) -> closing[Generator[Answer]]:
    """A block that has the answers of all steps, those of one question in their order; no worker outlives it.

    The sizes of questions say how the work is distributed among them.
    """
    return closing(_answers(job, questions, n_rows, size))


def _answers(
    job: Job[Question, Answer], questions: Iterable[Question], n_rows: int, size: Callable[[Question], float]
) -> Generator[Answer]:
    waiting, most, overhead = deque(questions), n_workers(n_rows), START_UP
    while waiting:
        limits.check()
        before, began = sum(map(size, waiting)), time.monotonic()
        answer, rest = job(waiting.popleft())
        if rest is not None:
            waiting.append(rest)
        seconds = time.monotonic() - began - overhead  # the first step may have compiled all that workers have to
        yield answer
        overhead, left, count = 0.0, sum(map(size, waiting)), min(most, len(waiting))
        expected = min(seconds * left / max(before - left, 1e-9), limits.seconds_left())
        if count > 1 and expected * (1 - 1 / count) > START_UP and _one_pool.acquire(blocking=False):
            try:
                yield from _from_pool(job, waiting, count)
            finally:
                _one_pool.release()
            most = 1  # what is waiting again is done here


class _Report(NamedTuple):
    """What a worker hands in."""

    answers: list[Any]
    rest: Any  # None if the task is done
    failed: bool  # at the rest
    warned: list[tuple[Warning, type[Warning], str, int]]  # as ``warn_explicit`` takes them
    logged: list[logging.LogRecord]


def _from_pool(job: Job[Question, Answer], waiting: deque[Question], size: int) -> Iterator[Answer]:
    """Answers of workers; where these cannot be started, or have died, questions are left waiting."""
    running: dict[Future[_Report], Question] = {}
    shown: dict[Any, Any] = {}  # a warning is shown as often as if it came from here
    with _pool(job, size) as send:
        while waiting or running:
            limits.check()
            while waiting:
                question = waiting.popleft()
                running[send(question)] = question
            for future in wait(running, PAUSE, FIRST_COMPLETED).done:
                if (error := future.exception()) is not None:
                    LOG.warning("what is left is done without worker processes: %s", str(error).split("\n")[0])
                    waiting.extend(running.values())
                    return
                answers, rest, failed, warned, logged = future.result()
                del running[future]
                for words in warned:
                    warnings.warn_explicit(*words, registry=shown)
                for record in logged:
                    logging.getLogger(record.name).handle(record)
                if failed:  # here the same error has its own type and trace
                    answer, rest = job(rest)
                    answers.append(answer)
                if rest is not None:
                    waiting.append(rest)
                yield from answers


@contextmanager
def _pool(job: Any, size: int) -> Iterator[Callable[[Any], Future[_Report]]]:
    """What sends a question to one of so many workers; none of them is left in the end."""
    import jax
    from loky import ProcessPoolExecutor

    settings = {name: getattr(jax.config, f"jax_{name}") for name in KERNELS}
    kernels = {f"JAX_{name.upper()}": str(value) for name, value in settings.items() if value is not None}
    pools: list[Any] = []

    def send(question: Any) -> Future[_Report]:
        try:
            if not pools:
                given = (pickle.dumps(job), LOG.getEffectiveLevel())
                env = {**kernels, **ONE_THREAD, "JAX_PLATFORMS": "cpu"}
                pools.append(ProcessPoolExecutor(size, initializer=_begin, initargs=given, env=env))
            with _without_interrupts():  # Ctrl-C is for this process alone, and the first question starts the workers
                return pools[0].submit(_steps, question)
        except Exception as error:  # no semaphores, say, or levels of a column that cannot be sent
            failed: Future[_Report] = Future()
            failed.set_exception(error)
            return failed

    try:
        yield send
    finally:
        for pool in pools:
            pool.shutdown(wait=True, kill_workers=True)


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

_given: bytes = b""
_logged: SimpleQueue[logging.LogRecord] = SimpleQueue()


def _begin(job: bytes, level: int) -> None:
    global _given
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _given = job
    LOG.setLevel(level)
    LOG.handlers, LOG.propagate = [QueueHandler(_logged)], False


@lru_cache(maxsize=1)
def _job() -> Job[Any, Any]:
    return pickle.loads(_given)


def _steps(question: Any) -> _Report:
    """Steps of a task for a while."""
    answers: list[Any] = []
    caught: Any = ()
    failed = False
    try:
        job, until = _job(), time.monotonic() + PART  # warnings of what it imports are left out: the caller saw them
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            while question is not None and time.monotonic() < until:
                answer, question = job(question)
                answers.append(answer)
    except Exception:
        failed = True
    warned = [(each.message, each.category, each.filename, each.lineno) for each in caught]
    return _Report(answers, question, failed, warned, [_logged.get() for _ in range(_logged.qsize())])
