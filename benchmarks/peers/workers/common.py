"""What every worker needs: read a request, time calls, report the peak of memory, write an answer.

A worker is a script started with the paths of a request (JSON) and of its answer (JSON), in the environment of its
peer; it imports that peer, NumPy, pandas and this module.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

Answer = dict[str, Any]
T = TypeVar("T")

REPEATS, REPEAT_SECONDS = 5, 3.0
"""A call is repeated this often, unless the repeats take longer than this."""


def timed(call: Callable[[], T], *, at_least: int = 0, at_most: int = REPEATS) -> tuple[T, dict[str, float]]:
    """The result and the seconds of the first call and of the best of the later ones; the least processor seconds, too.

    A call of more than ``REPEAT_SECONDS`` is not repeated unless ``at_least`` asks for it: its first is its best.
    """
    start, processor = time.perf_counter(), time.process_time()
    result = call()
    first, cpu = time.perf_counter() - start, [time.process_time() - processor]
    later: list[float] = []
    while len(later) < at_least or (len(later) < at_most and first + sum(later) < REPEAT_SECONDS):
        start, processor = time.perf_counter(), time.process_time()
        result = call()
        later.append(time.perf_counter() - start)
        cpu.append(time.process_time() - processor)
    return result, {"first": first, "seconds": min(later, default=first), "cpu": min(cpu)}


def cuts_of_folds(path: str, found: Callable[[dict[str, Any], Any], dict[str, list[float]]], **repeats: int) -> Answer:
    """For each fold of a table the cuts that ``found(columns, class codes)`` finds on the other rows."""
    import pandas as pd

    data = pd.read_csv(path)
    folds = data.pop("fold").to_numpy()
    codes = data.pop("class code").to_numpy()

    def call() -> list[dict[str, list[float]]]:
        kept = [folds != fold for fold in range(folds.max() + 1)]
        return [found({name: data[name].to_numpy(float)[rows] for name in data}, codes[rows]) for rows in kept]

    edges, seconds = timed(call, **repeats)
    return {"fold_edges": edges, **seconds}


def peak_megabytes() -> float:
    """The largest resident size so far of this process or of one that it has started and seen end."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return max(_own_kilobytes(), children) / (1e3 if sys.platform != "darwin" else 1e6)


def _own_kilobytes() -> float:
    """On Linux ru_maxrss begins with the size of the parent process, the status file does not."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def serve(tasks: dict[str, Callable[[dict[str, Any]], Answer]]) -> None:
    """Do the task that the request names."""
    warnings.simplefilter("ignore")
    request_path, answer_path = sys.argv[1:]
    request = json.loads(Path(request_path).read_text())
    answer = tasks[request["task"]](request)
    answer["megabytes"] = peak_megabytes()
    Path(answer_path).write_text(json.dumps(answer))
    sys.stdout.flush()
    os._exit(0)  # some peers take long to end, or abort while doing so
