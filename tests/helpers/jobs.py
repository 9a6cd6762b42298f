"""Jobs for worker processes: what they do shows where they were done."""

from __future__ import annotations

import logging
import os
import signal
import time
import warnings
from dataclasses import dataclass, field
from typing import NamedTuple


class Step(NamedTuple):
    """A step of a task, and the process that has done it."""

    task: int
    step: int
    process: int


@dataclass(frozen=True)
class Steps:
    """Tasks of some steps; those of the numbers that are named go wrong, or not as others do."""

    n_steps: int = 1
    home: int = 0  # the process that asks, which lives on
    seconds: float = 0.0  # that a step takes elsewhere
    fails: int | None = None
    kills: int | None = None
    warns: int | None = None

    def __call__(self, question: tuple[int, int]) -> tuple[Step, tuple[int, int] | None]:
        task, step = question
        here = os.getpid() == self.home
        if not here:
            time.sleep(self.seconds)
        if task == self.fails:
            raise ZeroDivisionError(f"task {task} of {'the caller' if here else 'a worker'}")
        if task == self.kills and not here:
            os.kill(os.getpid(), signal.SIGKILL)
        if task == self.warns:
            warnings.warn("task with a warning", RuntimeWarning, stacklevel=1)
            logging.getLogger("jaxbn").info("task %d is done", task)
        return Step(task, step, os.getpid()), (task, step + 1) if step + 1 < self.n_steps else None

    def left(self, question: tuple[int, int]) -> int:
        return self.n_steps - question[1]


def surroundings(question: str) -> tuple[str | None, None]:
    """A variable of the environment."""
    return os.environ.get(question), None


@dataclass(frozen=True, eq=False)
class Remembering:
    """A job that counts how often it was asked in a process."""

    asked: list[int] = field(default_factory=list)

    def __call__(self, question: int) -> tuple[tuple[int, int], None]:
        self.asked.append(question)
        return (os.getpid(), len(self.asked)), None
