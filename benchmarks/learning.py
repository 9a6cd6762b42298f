"""Time `learn` as a user meets it: each table in a new process, first and second call, without a cache unless named.

From the project's root: ``python -m benchmarks.learning [--cache DIRECTORY] [CASE ...]``; without a case, all but the
largest. Tables are drawn by `benchmarks.networks.draw`. A case is learned twice in its process; `programs` are those
compiled by the first call (operations that compile in a moment do not count), `compiling` the seconds of it. Figures
are in NOTES.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.networks import draw

EVIDENCE: dict[str, Any] = {}
PAPER: dict[str, Any] = {"method": "bayesian"}
TABLES: dict[str, tuple[tuple[int, int, int], dict[str, Any]]] = {  # rows, continuous and discrete columns; options
    "2,000 x 12": ((2_000, 8, 4), EVIDENCE),
    "20,000 x 12": ((20_000, 8, 4), {"max_parents": 2}),
    "20,000 x 12, paper's cuts": ((20_000, 8, 4), PAPER | {"max_parents": 2}),
    "100,000 x 20": ((100_000, 12, 8), EVIDENCE),
    "100,000 x 20, paper's cuts": ((100_000, 12, 8), PAPER),
    "100,000 x 20, K2 in the true order": ((100_000, 12, 8), PAPER | {"search": "k2"}),
    "1,000 x 100": ((1_000, 70, 30), EVIDENCE),
    "1,000 x 100, K2 in the true order": ((1_000, 70, 30), PAPER | {"search": "k2"}),
    "200,000 x 12": ((200_000, 8, 4), {"max_parents": 2}),
    "1,000,000 x 12": ((1_000_000, 8, 4), {"max_parents": 2}),
}
OTHERS = ("breast cancer", "auto_mpg by the command line", "CSV of 1,000,000 x 7 by the command line")
LARGE = "10,000,000 x 12 from Parquet"
SMALL = 0.2  # seconds: what compiles in less is an operation on its own, not a program of ours
SLOW = {"1,000,000 x 12", "100,000 x 20, K2 in the true order", LARGE}


def learn_case(case: str) -> dict[str, Any]:
    """Learn one table twice in this process."""
    import jax.monitoring

    import jaxbn

    compiled: list[float] = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: compiled.append(seconds) if event.endswith("backend_compile_duration") else None
    )
    if case == "breast cancer":
        from sklearn.datasets import load_breast_cancer

        frame, options, arcs = load_breast_cancer(as_frame=True).frame, EVIDENCE, None
    else:
        size, options = TABLES[case]
        drawn = draw(*size)
        frame, arcs = drawn.frame, drawn.arcs
        options = options | {"columns": dict.fromkeys(drawn.continuous, "continuous")}
        if options.get("search") == "k2":
            options = options | {"search": jaxbn.K2(order=drawn.order)}
    seconds, spent = [], []
    for _ in range(2):
        begin = time.perf_counter()
        net = jaxbn.learn(frame, progress=False, **options)
        seconds.append(time.perf_counter() - begin)
        spent.append(list(compiled))
    figures = {"first": seconds[0], "second": seconds[1], "F": net.search.criterion}
    figures |= {"compiling": sum(spent[0]), "programs": sum(each > SMALL for each in spent[0])}
    if arcs is not None:
        true, found = {frozenset(arc) for arc in arcs}, {frozenset(arc) for arc in net.graph.edges}
        figures |= {"links": len(true), "found": len(true & found), "false": len(found - true)}
    return figures | {"peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


def command_line(case: str) -> dict[str, Any]:
    """Run the command line as a user would."""
    with tempfile.TemporaryDirectory() as folder:
        if case.startswith("auto_mpg"):
            arguments = ["auto_mpg", "--folds", "0"]
        else:
            drawn = draw(1_000_000, 4, 3)
            drawn.frame.to_csv(Path(folder) / "table.csv", index=False)
            arguments = ["table.csv", "--max-parents", "2", "--folds", "0"]
        environment = {**os.environ, "PYTHONPATH": str(Path.cwd()), "XDG_CACHE_HOME": folder, "JAXBN_NO_CACHE": ""}
        begin = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "jaxbn", "learn", *arguments, "--force"], cwd=folder, env=environment, check=True,
            capture_output=True,
        )  # fmt: skip
        return {"first": time.perf_counter() - begin, "peak_gb": _peak_of_children()}


def parquet() -> dict[str, Any]:
    """Ten million rows, written in pieces as a folder of Parquet files, then learned in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for part in range(10):
            drawn = draw(1_000_000 + part, 8, 4)  # other rows for every number of them
            drawn.frame.iloc[:1_000_000].to_parquet(Path(folder) / f"{part}.parquet")
        program = "import jaxbn, sys; net = jaxbn.learn(sys.argv[1], max_parents=2, progress=False); print(net.search)"
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", program, folder], check=True)
        return {"first": time.perf_counter() - begin, "peak_gb": _peak_of_children()}


def _peak_of_children() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20


def in_new_process(case: str, cache: str | None) -> dict[str, Any]:
    """The figures of a case, measured in a process of its own."""
    kept = {"JAX_COMPILATION_CACHE_DIR": cache} if cache else {}
    environment = {k: v for k, v in os.environ.items() if k != "JAX_COMPILATION_CACHE_DIR"} | kept
    command = [sys.executable, "-m", "benchmarks.learning", "--inside", case]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help="all but the slowest if not given")
    parser.add_argument("--cache", help="directory of compiled programs, which is kept; none if not given")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside in OTHERS[1:]:
        print(json.dumps(command_line(given.inside)))
    elif given.inside == LARGE:
        print(json.dumps(parquet()))
    elif given.inside:
        print(json.dumps(learn_case(given.inside)))
    else:
        everything = [*TABLES, *OTHERS, LARGE]
        for case in given.cases or [case for case in everything if case not in SLOW]:
            figures = in_new_process(case, given.cache)
            print(case + ": " + ", ".join(f"{key} {value:.4g}" for key, value in figures.items()), flush=True)


if __name__ == "__main__":
    main()
