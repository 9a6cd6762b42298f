"""One job: one request to one worker in a process of its own, with a time limit; whatever happens becomes a row."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.environments import Environment, last_line

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
Row = dict[str, Any]
NOBODY = "nobody"
"""Peer of a row that says why nobody was asked."""


@dataclass(frozen=True)
class Setting:
    """What a run is to do.

    Attributes:
        folder: where data for the workers is written.
        quick: a small part of every task.
        thorough: also what would take a run beyond forty minutes.
        evidence: whether this jaxbn knows the method of that name.
    """

    folder: Path
    quick: bool
    thorough: bool
    evidence: bool

    @property
    def methods(self) -> tuple[str, ...]:
        """Of jaxbn."""
        return ("bayesian", "evidence") if self.evidence else ("bayesian",)


@dataclass(frozen=True)
class Job:
    """What to ask whom.

    Attributes:
        task: name of the task; its rows stand together.
        peer: name of the worker and of its environment; "jaxbn" runs with this Python.
        label: the row's name on the page.
        about: further fields of the row that say what was asked: data set, rows.
        request: what the worker is told; its "task" is the worker's own.
        score: quality of an answer, as further fields of the row.
        timeout: seconds.
        processor: seconds of the processor, where the clock of a busy machine would not be fair.
    """

    task: str
    peer: str
    label: str
    about: Row
    request: dict[str, Any]
    score: Callable[[dict[str, Any]], Row]
    timeout: float = 120.0
    processor: float | None = None

    @property
    def key(self) -> str:
        """Tells rows apart."""
        return "/".join([self.task, self.label, *map(str, self.about.values())])


def run(job: Job, environments: dict[str, Environment]) -> Row:
    """The row of a job: times, memory and quality, or what went wrong."""
    row: Row = {"key": job.key, "task": job.task, "peer": job.peer, "label": job.label, **job.about}
    if job.peer == NOBODY:
        return row | job.score({})
    if job.peer != "jaxbn" and environments[job.peer].python is None:
        return row | {"failure": f"did not install: {environments[job.peer].error}"}
    answer = _ask(sys.executable if job.peer == "jaxbn" else str(environments[job.peer].python), job)
    if "failure" in answer:
        return row | answer
    kept = ("first", "seconds", "cpu", "start_up", "megabytes", "note")
    row |= {name: answer[name] for name in kept if name in answer}
    try:
        return row | job.score(answer)
    except Exception as error:  # an answer that cannot be scored is a wrong answer: it becomes a row as well
        return row | {"failure": f"answer could not be scored: {type(error).__name__}: {error}"}


def _ask(python: str, job: Job) -> dict[str, Any]:
    """The worker's answer."""
    with tempfile.TemporaryDirectory() as folder:
        request, answer, errors = (Path(folder) / name for name in ("request.json", "answer.json", "errors.txt"))
        request.write_text(json.dumps(job.request))
        command = [python, str(HERE / "workers" / f"with_{job.peer}.py"), str(request), str(answer)]
        with errors.open("w") as stream:
            code = _wait(command, _variables(job.peer), stream, job.timeout, job.processor)
        if code is None or code in (-signal.SIGXCPU, -signal.SIGKILL):
            seconds = job.processor or job.timeout
            return {"failure": f"no answer within {seconds:.0f} s", "timeout": seconds}
        if code or not answer.exists():
            return {"failure": last_line(errors.read_text(errors="replace")) or f"ended with code {code}"}
        return json.loads(answer.read_text())


def _wait(
    command: list[str], variables: dict[str, str], errors: Any, timeout: float, processor: float | None
) -> int | None:
    """Exit code; None if the time was up, and then the worker and all that it started are ended."""
    process = subprocess.Popen(
        command,
        env=variables,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    if processor is not None and hasattr(resource, "prlimit"):  # on Linux; elsewhere the clock alone limits
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (int(processor), int(processor) + 5))
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _variables(peer: str) -> dict[str, str]:
    """jaxbn is read from this copy of the source; nobody else sees its path."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return variables | ({"PYTHONPATH": str(ROOT)} if peer == "jaxbn" else {})
