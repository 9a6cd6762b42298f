"""Independent questions answered in threads on all cores: NumPy's long loops and XLA's programs release the GIL.

The answers come in the order of the questions, and each depends on its question alone, so that the number of threads
changes no result.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, lru_cache
from typing import TypeVar

THREADS = "JAXBN_THREADS"
"""Environment variable: how many threads may work at the same time, instead of one for each core."""

MANY_ROWS = 2**13  # loops over fewer rows take less time than handing them to a thread

Question = TypeVar("Question")
Answer = TypeVar("Answer")

_here = threading.local()


def n_threads() -> int:
    """Threads that may work at the same time: what the environment says, or one for each core the process may use."""
    told = os.environ.get(THREADS)
    if told is None:
        return _cores()
    if not told.isdecimal() or int(told) == 0:
        raise ValueError(f"{THREADS} must be a whole number above zero, got {told!r}")
    return int(told)


@cache
def _cores() -> int:
    """Cores that the process may use: those it is bound to, and no more than its container grants."""
    from loky import cpu_count  # here, as it takes a tenth of a second

    return cpu_count()


@lru_cache(maxsize=1)
def _pool(size: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(size, thread_name_prefix="jaxbn")


def in_threads(
    work: Callable[[Question], Answer], questions: Iterable[Question], *, rows: int = MANY_ROWS
) -> list[Answer]:
    """The answers to some questions in their order, several at a time; the first error is raised.

    Calls from inside `work` run one by one, as all threads are busy then. `rows` are what a question loops over without
    the GIL: short loops are not worth a thread.
    """
    asked = list(questions)
    size = min(n_threads(), len(asked))
    if size < 2 or rows < MANY_ROWS or getattr(_here, "busy", False):
        return [work(question) for question in asked]
    answers: list[Answer] = [None] * len(asked)  # type: ignore[list-item]
    waiting = iter(range(len(asked)))  # a thread takes the next one: `next` of an iterator is one step
    ended = threading.Event()

    def help_out() -> None:
        _here.busy = True
        try:
            for i in waiting:
                if ended.is_set():
                    return
                answers[i] = work(asked[i])
        except BaseException:
            ended.set()  # the others stop after their current question
            raise
        finally:
            _here.busy = False

    # Helpers have a copy of the caller's context, in which limits of time and memory are kept. The caller works as
    # well, so a pool that is busy with something else delays nothing.
    helpers = [_pool(n_threads()).submit(copy_context().run, help_out) for _ in range(size - 1)]
    try:
        help_out()
    finally:
        # nothing is left running: a helper that has not begun is taken back, the others are waited for
        errors = [helper.exception() for helper in helpers if not helper.cancel()]
    for error in filter(None, errors):
        raise error
    return answers
