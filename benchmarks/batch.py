"""Bootstrap in batches: resamples per second, scaling over devices and processes, memory, coverage of the intervals.

Run from anywhere: ``python benchmarks/batch.py [--quick] [--coverage] [--json PATH]``. Resamples of one variable of 500
rows are cut by one batched call, by a loop of warm `discretize_variable` calls and by the NumPy reference; all costs
must agree, or the run fails. Every line of the scaling and memory tables is a process of its own. Times are the best of
several, so that other work on the machine counts less. Needs the `bench` extra.

``--coverage`` simulates `table6` many times and counts how often the 90 % interval of a cut covers the true edge.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # jaxbn and the NumPy reference

RATE = 4.0
ROWS = 500
RESAMPLES = 1_000
TARGET = 5.0
EDGES = (2.0, 3.0, 4.0, 4.5, 5.0, 6.0)  # of table6
REMARK = (
    "2 hyperthreads of one core: two busy loops side by side take about 1.6 times as long as one, so two devices or "
    "processes can gain a quarter at most on a quiet machine. Other work ran beside these: then two processes also get "
    "a larger share of the machine, and a ratio above 1.25 is no speed-up. What the lines do show is the same result"
)


def resamples(n: int, count: int) -> np.ndarray:
    """How often each row is in each resample [count, n]."""
    from jaxbn.evaluation.bootstrap import drawn_rows, stream

    return np.array([np.bincount(drawn_rows(stream(0, i), n), minlength=n) for i in range(count)])


def batched(values: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> list[Any]:
    from jaxbn.cuts.discretize_variable import Request
    from jaxbn.cuts.sorted_values import sort_values
    from jaxbn.evaluation.bootstrap import resampled_binnings

    ordered = sort_values(values)
    whole, here = Request(ordered, (), RATE), weights[:, ordered.order]
    return resampled_binnings(whole, [codes[ordered.order]], [], here, "bayesian")


def best(work: Callable[[], Any], seconds: float) -> float:
    """Shortest time of a warm call, repeated for some seconds."""
    work()
    times = []
    until = time.perf_counter() + seconds
    while len(times) < 2 or time.perf_counter() < until:
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def throughput(seconds: float, count: int) -> dict[str, Any]:
    """Resamples per second of each way, in turns, so that other work on the machine hits all of them."""
    import jaxbn
    from benchmarks.peers.tasks.cuts import rows_of
    from tests.reference.cuts import algorithm_1

    values, codes = rows_of("table6", ROWS)
    weights = resamples(ROWS, count)
    few = 100
    rows = [np.repeat(np.arange(ROWS), each) for each in weights[:few]]
    costs: dict[str, list[float]] = {}

    def one_batch() -> None:
        costs["batch"] = [binning.cost for binning in batched(values, codes, weights)]

    def loop_of_rows() -> None:
        found = [jaxbn.discretize_variable(values[r], [codes[r]], rate=RATE, method="bayesian") for r in rows]
        costs["loop of rows"] = [binning.cost for binning in found]

    def loop_of_weights() -> None:
        found = [
            jaxbn.discretize_variable(values, [codes], rate=RATE, weights=w, method="bayesian") for w in weights[:few]
        ]
        costs["loop of weights"] = [binning.cost for binning in found]

    def numpy() -> None:
        costs["numpy"] = [algorithm_1(values, [codes], rate=RATE, weights=w)[0] for w in weights[:10]]

    ways = {
        "batch": (one_batch, count),
        "loop of rows": (loop_of_rows, few),
        "loop of weights": (loop_of_weights, few),
        "numpy": (numpy, 10),
    }
    times = {name: float("inf") for name in ways}
    for _ in range(3):
        for name, (work, n) in ways.items():
            times[name] = min(times[name], best(work, seconds) / n)
    for name, found in costs.items():
        np.testing.assert_allclose(found, costs["batch"][: len(found)], rtol=1e-9, err_msg=name)
    per_second = {name: 1 / each for name, each in times.items()}
    single = max(per_second["loop of rows"], per_second["loop of weights"])
    return {
        "rows": ROWS,
        "resamples": count,
        "per_second": per_second,
        "times_the_loop": per_second["batch"] / single,
        "times_numpy": per_second["batch"] / per_second["numpy"],
        "target": TARGET,
    }


def one_line(rank: int, size: int, port: int, seconds: float, count: int) -> None:
    """One process of the scaling or memory table: prints its figures as JSON."""
    import jax

    if size > 1:
        jax.distributed.initialize(f"127.0.0.1:{port}", size, rank)
    import jaxbn

    frame = jaxbn.datasets.table6(ROWS)
    frame["P"] = 2 * frame.P1 + frame.P2
    idle = kilobytes("VmRSS")

    def work() -> Any:
        graph = {"X": ["P"]}
        return jaxbn.bootstrap(
            frame[["X", "P"]],
            graph,
            resamples=count,
            columns=jaxbn.Columns(continuous=["X"]),
            method=jaxbn.Bayesian(rate=RATE, max_passes=1),
        )

    def timed() -> float:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started

    costs = sum(binning.cost for binning in work().binnings["X"])
    fastest = min(timed() for _ in range(3 if seconds < 2 else 6))  # every process as often as the other
    peak = kilobytes("VmHWM")
    if rank == 0:
        line = {"per_second": count / fastest, "cost": costs, "peak_megabytes_over_idle": (peak - idle) / 1024}
        print(json.dumps(line), flush=True)


def kilobytes(what: str) -> int:
    """A size of this process, as Linux tells it; `ru_maxrss` would begin with that of the process that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(what + ":")))


def in_processes(size: int, seconds: float, count: int, **env: str) -> dict[str, Any]:
    """Run `one_line` in one or several processes."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    started = [
        subprocess.Popen(
            [sys.executable, __file__, "--line", *map(str, (rank, size, port, seconds, count))],
            env={**os.environ, **env},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]
    texts = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        raise SystemExit("a process of the scaling table failed")
    return dict(json.loads(texts[0].splitlines()[-1]))


def scaling(seconds: float, count: int) -> list[dict[str, Any]]:
    """The whole public call on 1, 2 and 8 virtual devices, and in 2 processes."""
    lines = []
    for n_devices, n_processes in ((1, 1), (2, 1), (8, 1), (1, 2)):
        flags = f"--xla_force_host_platform_device_count={n_devices}"
        found = in_processes(n_processes, seconds, count, XLA_FLAGS=flags)
        lines.append({"devices": n_devices, "processes": n_processes, **found})
        print(lines[-1], flush=True)
    costs = [line.pop("cost") for line in lines]
    np.testing.assert_allclose(costs, costs[0], rtol=1e-12)
    return lines


def coverage(sets: int, n: int, count: int, seed: int = 5000) -> dict[str, Any]:
    """How often the 90 % interval of the cut nearest to a true edge covers that edge."""
    import jaxbn

    covered, widths, missed = np.zeros(len(EDGES)), np.zeros(len(EDGES)), np.zeros(len(EDGES))
    by_midpoints = np.zeros(len(EDGES))
    off: list[list[float]] = [[] for _ in EDGES]
    cuts = []
    for number in range(sets):
        frame = jaxbn.datasets.table6(n, seed=seed + number)
        found = jaxbn.bootstrap(
            frame,
            {"X": ["P1", "P2"]},
            resamples=count,
            seed=number,
            method="bayesian",
            columns=jaxbn.Columns(continuous=["X"]),
        )
        rows = found.frame
        cuts.append(len(rows))
        for i, edge in enumerate(EDGES):
            row = rows.iloc[int((rows["cut"] - edge).abs().argmin())]
            covered[i] += row["lower"] <= edge <= row["upper"]
            widths[i] += row["upper"] - row["lower"]
            missed[i] += abs(row["cut"] - edge) > row["tolerance"]
            off[i].append(row["cut"] - edge)
            near = [p.cuts[np.abs(p.cuts - row["cut"]).argmin()] for p in found.binnings["X"] if len(p.cuts)]
            low, high = np.quantile(near, [0.05, 0.95])
            by_midpoints[i] += low <= edge <= high
    return {
        "data_sets": sets,
        "rows": n,
        "resamples": count,
        "level": 0.9,
        "edges": list(EDGES),
        "covered": (covered / sets).tolist(),
        "covered_by_percentiles_of_the_cuts_alone": (by_midpoints / sets).tolist(),
        "mean_width": (widths / sets).tolist(),
        "mean_error": np.mean(off, axis=1).tolist(),
        "spread_of_the_error": np.std(off, axis=1).tolist(),
        "without_a_cut_near": (missed / sets).tolist(),
        "cuts_found": {str(k): int(np.sum(np.array(cuts) == k)) for k in sorted(set(cuts))},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few resamples and data sets")
    parser.add_argument("--coverage", action="store_true", help="the coverage study alone")
    parser.add_argument("--json", type=Path, default=HERE / "results" / "batch.json")
    parser.add_argument("--line", nargs=5, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.line:
        rank, size, port, seconds, count = arguments.line
        one_line(int(rank), int(size), int(port), float(seconds), int(count))
        return
    seconds, count = (0.5, 128) if arguments.quick else (4.0, RESAMPLES)
    known = json.loads(arguments.json.read_text()) if arguments.json.exists() else {}
    if arguments.coverage:
        known["coverage"] = coverage(10 if arguments.quick else 100, 800, 50 if arguments.quick else 200)
        print(json.dumps(known["coverage"], indent=1))
    else:
        known["machine"] = {"cores": os.cpu_count(), "processor": platform.machine(), "remark": REMARK}
        known["throughput"] = throughput(seconds / 2, count)
        print(json.dumps(known["throughput"], indent=1), flush=True)
        known["scaling"] = scaling(seconds, count)
    arguments.json.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
