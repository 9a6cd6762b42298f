"""How much of `learn` can go parallel, and what several threads and worker processes give.

From the project's root: ``python -m benchmarks.parallel share|time [CASE ...]``. `share` answers one question after the
other and sums up the time of those that are asked at the same time: cuts, shapes, sets of columns, families and, below
8,192 rows, runs; over the time of the call that is the share that can go parallel. `time` runs each case in processes
of their own with one, two and eight threads: the first call, the best of the next ones, and F, the same for all.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.networks import draw

TABLES = {"2,000 x 12": 2_000, "20,000 x 12": 20_000, "1,000,000 x 12": 1_000_000}
AUTO_MPG = "Auto MPG"


def call_of(case: str) -> Callable[[], Any]:
    """A call of `learn`."""
    import jaxbn

    if case == AUTO_MPG:
        frame, options = jaxbn.datasets.load("auto_mpg").frame, {}
    else:
        n_rows = TABLES[case]
        drawn = draw(n_rows, 8, 4)
        frame, options = drawn.frame, {"columns": dict.fromkeys(drawn.continuous, "continuous")}
        if n_rows >= 20_000:
            options["max_parents"] = 2
    return lambda: jaxbn.learn(frame, progress=False, **options)


def share(case: str) -> None:
    """Print the share of a second call that is asked at the same time."""
    os.environ["JAXBN_THREADS"] = "2"  # so that questions are asked ahead
    import jaxbn
    from jaxbn.learning.many_runs import ManyRuns
    from jaxbn.runtime import threads, workers

    inside, busy = [0.0], [False]

    def timed(work: Callable[..., Any], *given: Any) -> Any:
        if busy[0]:
            return work(*given)
        busy[0], begin = True, time.perf_counter()
        try:
            return work(*given)
        finally:
            busy[0] = False
            inside[0] += time.perf_counter() - begin

    def one_by_one(work: Callable[[Any], Any], questions: Iterable[Any], *, rows: int = threads.MANY_ROWS) -> list[Any]:
        asked = list(questions)
        answers = lambda: [work(each) for each in asked]  # noqa: E731
        return timed(answers) if len(asked) > 1 and rows >= threads.MANY_ROWS else answers()

    for module in pkgutil.walk_packages(jaxbn.__path__, "jaxbn."):
        if not module.name.endswith("__main__"):
            loaded: Any = importlib.import_module(module.name)
            if loaded is not threads and getattr(loaded, "in_threads", None) is threads.in_threads:
                loaded.in_threads = one_by_one
    workers.n_workers = lambda n_rows: 1
    if TABLES.get(case, 0) < threads.MANY_ROWS:
        do_here = ManyRuns._do_here
        ManyRuns._do_here = lambda *given: timed(do_here, *given)  # type: ignore[method-assign]
    call = call_of(case)
    for words in ("first", "second"):
        inside[0], begin = 0.0, time.perf_counter()
        call()
        seconds = time.perf_counter() - begin
        print(f"{case}, {words} call: {inside[0] / seconds:.1%} of {seconds:.2f} s", flush=True)


def seconds_of(case: str) -> str:
    """The first call and the best of the next ones, with F; more calls of a short case, until it has its workers."""
    call, taken = call_of(case), []
    for _ in range(10 if case == AUTO_MPG else 4):
        begin = time.perf_counter()
        net = call()
        taken.append(time.perf_counter() - begin)
    each = " ".join(f"{seconds:.2f}" for seconds in taken)
    return f"first {taken[0]:.2f} s, then {min(taken[1:]):.2f} s ({each}), F {net.search.criterion!r}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("share", "time", "inside"))
    parser.add_argument("cases", nargs="*", default=[AUTO_MPG, *TABLES])
    given = parser.parse_args()
    for case in given.cases:
        if given.what == "inside":
            print(seconds_of(case))
        elif given.what == "share":
            # a process of its own, as it replaces functions of the package
            if len(given.cases) == 1:
                share(case)
            else:
                subprocess.run([sys.executable, "-m", "benchmarks.parallel", "share", case], check=True)
        else:
            for n_threads in (1, 2, 8):
                command = [sys.executable, "-m", "benchmarks.parallel", "inside", case]
                environment = os.environ | {"JAXBN_THREADS": str(n_threads)}
                done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
                print(f"{case}, {n_threads} threads: {done.stdout.splitlines()[-1]}", flush=True)


if __name__ == "__main__":
    main()
