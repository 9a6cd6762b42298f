"""Time the learning of whole networks: restarts against NumPy, then wide and long tables, with arcs recovered.

Run from the project's root: ``python -m benchmarks.networks [--quick] [--part restarts|columns|rows]``.

restarts: 50 random orders on Auto MPG (at most 2 parents, 5 passes), Wine and Housing (3 parents, 10 passes), against
    the NumPy reference in ``tests/reference`` doing the same: on Auto MPG all of it, on the others for the first few
    of the same orders, scaled to 50. On these orders its graph, edges and score must be ours. Ours is timed before and
    after it: the first run compiles, the best of the others counts. Processor time is given beside the time on the
    clock: where other programs run, a program with two threads loses more of the clock than one with a single thread.
columns, rows: tables drawn from a known sparse network, learned in its own order with at most 3 parents, each in a
    process of its own, so that the peak of memory and the number of compiled programs are its own.

Results go to ``benchmarks/results/networks.json`` and ``.png``; ``--quick`` takes a small share and only prints.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

RESULTS = Path(__file__).parent / "results"
RESTARTS = {  # data set: options of learn, orders the reference is timed on
    "auto_mpg": ({"max_parents": 2, "max_passes": 5}, 50),
    "wine": ({"max_parents": 3, "max_passes": 10}, 2),
    "housing": ({"max_parents": 3, "max_passes": 10}, 1),
}
LIMIT = 1800  # seconds one table may take


class Drawn(NamedTuple):
    """A table and the network it was drawn from."""

    frame: pd.DataFrame
    continuous: list[str]
    order: list[str]  # topological
    arcs: set[tuple[str, str]]


def draw(n_rows: int, n_continuous: int, n_discrete: int, seed: int = 0) -> Drawn:
    """A sparse network, about 1.3 arcs a variable: kinds mixed at random, discrete variables of 2 to 5 levels.

    Every variable has 0, 1 or 2 parents (15, 40 and 45 %) among the 12 before it. A parent acts by its standardized
    value, its absolute value or its sign; continuous variables add normal noise of sd 0.6, discrete ones are such a
    value cut at quantiles, with a tenth of the entries drawn again. The network is the same for any number of rows.
    """
    rng, noise = np.random.default_rng(seed), np.random.default_rng([seed, n_rows])
    kinds = rng.permutation([True] * n_continuous + [False] * n_discrete)
    order = [f"{'x' if is_continuous else 'c'}{i}" for i, is_continuous in enumerate(kinds)]
    columns: dict[str, np.ndarray] = {}
    arcs = set()
    for i, (name, is_continuous) in enumerate(zip(order, kinds, strict=True)):
        near = order[max(0, i - 12) : i]
        parents = rng.permutation(near)[: rng.choice(3, p=[0.15, 0.4, 0.45])].tolist()
        arcs |= {(parent, name) for parent in parents}
        value = noise.normal(size=n_rows) * (0.6 if parents else 1.0)
        for parent in parents:
            z = (columns[parent] - columns[parent].mean()) / columns[parent].std()
            value += rng.choice([-1, 1]) * (z, np.abs(z), np.sign(z))[rng.integers(3)]
        if not is_continuous:
            k = int(rng.integers(2, 6))
            value = np.digitize(value, np.quantile(value, np.arange(1, k) / k))
            value = np.where(noise.random(n_rows) < 0.1, noise.integers(0, k, n_rows), value)
        columns[name] = value
    names = sorted(order, key=lambda name: int(name[1:]))
    frame = pd.DataFrame({name: columns[name] for name in names})
    return Drawn(frame, [n for n in names if n[0] == "x"], order, arcs)


def compilations() -> int:
    """Programs compiled so far in this process."""
    from jaxbn.kernels.interval_costs import further_layers, interval_costs, priced_intervals
    from jaxbn.kernels.pruned.program import advance

    functions = [advance, interval_costs, further_layers, priced_intervals]
    return sum(function._cache_size() for function in functions)


# --- restarts against the reference


def time_restarts(name: str, n_restarts: int, n_reference: int) -> dict[str, Any]:
    """Ours on all orders, the reference on the first few of them, ours again."""
    import jaxbn

    data = jaxbn.datasets.load(name)
    options = RESTARTS[name][0]

    def run(checkpoint: Path | None = None) -> tuple[float, float]:
        begin = clocks()
        jaxbn.learn(
            data.frame,
            method="bayesian",
            search="k2",
            restarts=n_restarts,
            checkpoint=checkpoint,
            progress=False,
            columns=jaxbn.Columns(continuous=data.continuous),
            **options,
        )
        return since(begin)

    before = compilations()
    with tempfile.TemporaryDirectory() as folder:
        first = run(Path(folder) / "run.json")
        kept = json.loads((Path(folder) / "run.json").read_text())["finished"]
    compiled = compilations() - before
    warm = [run()]
    reference = [time_reference(data, kept[str(i)], options) for i in range(n_reference)]
    warm.append(run())
    scaled, scaled_cpu = (np.mean(reference, axis=0) * n_restarts).tolist()
    return {
        "rows": len(data.frame),
        "columns": data.frame.shape[1],
        "restarts": n_restarts,
        "first": first[0],
        "warm": [seconds for seconds, _ in warm],
        "warm_cpu": [cpu for _, cpu in warm],
        "compilations": compiled,
        "compilations_again": compilations() - before - compiled,
        "reference_orders": n_reference,
        "reference_each": [seconds for seconds, _ in reference],
        "reference_scaled": scaled,
        "reference_scaled_cpu": scaled_cpu,
        "speedup": scaled / min(seconds for seconds, _ in warm),
        "speedup_cpu": scaled_cpu / min(cpu for _, cpu in warm),
    }


def clocks() -> tuple[float, float]:
    """Seconds on the clock and of processor time, all threads."""
    return time.perf_counter(), time.process_time()


def since(begin: tuple[float, float]) -> tuple[float, float]:
    now = clocks()
    return now[0] - begin[0], now[1] - begin[1]


def time_reference(data: Any, kept: dict[str, Any], options: dict[str, Any]) -> tuple[float, float]:
    """One order with the NumPy reference, whose result must be ours."""
    from tests.reference import network as reference

    columns = {name: data.frame[name].to_numpy() for name in data.frame}
    begin = clocks()
    found = reference.learn(columns, data.continuous, kept["order"], **options)
    taken = since(begin)
    assert {c: list(p) for c, p in found["parents"].items()} == kept["parents"]
    for name, binning in kept["policies"].items():
        np.testing.assert_allclose(found["edges"][name], binning["edges"], rtol=1e-12, atol=0, err_msg=name)
    np.testing.assert_allclose(found["score"], kept["score"], rtol=1e-11)
    return taken


# --- drawn tables, each in a process of its own


def time_table(n_rows: int, n_continuous: int, n_discrete: int, limit: float) -> dict[str, Any]:
    """Learn one drawn table in a process of its own."""
    arguments = ["--table", str(n_rows), str(n_continuous), str(n_discrete)]
    command = [sys.executable, "-m", "benchmarks.networks", *arguments]
    size = {"rows": n_rows, "columns": n_continuous + n_discrete, "continuous": n_continuous}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=True)
    except subprocess.TimeoutExpired:
        return size | {"seconds": None, "limit": limit}
    return size | json.loads(done.stdout.splitlines()[-1])


def learn_table(n_rows: int, n_continuous: int, n_discrete: int) -> dict[str, Any]:
    """One order, at most 3 parents: time, memory, programs compiled, arcs recovered."""
    import jaxbn

    drawn = draw(n_rows, n_continuous, n_discrete)
    begin = clocks()
    net = jaxbn.learn(
        drawn.frame,
        max_parents=3,
        progress=False,
        method="bayesian",
        columns=jaxbn.Columns(continuous=drawn.continuous),
        search=jaxbn.K2(order=drawn.order),
    )
    seconds, cpu_seconds = since(begin)
    found = set(net.graph.edges)
    right = len(found & drawn.arcs)
    return {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "compilations": compilations(),
        "arcs": len(drawn.arcs),
        "arcs_found": len(found),
        "precision": right / max(1, len(found)),
        "recall": right / max(1, len(drawn.arcs)),
        "mean_bins": float(np.mean([binning.n_bins for binning in net.binnings.values()])),
    }


# --- the whole


def measure(part: str, quick: bool, limit: float) -> Any:
    """One part of the benchmark."""
    if part == "restarts":
        chosen = {"auto_mpg": (8, 1)} if quick else {name: (50, orders) for name, (_, orders) in RESTARTS.items()}
        result: Any = {}
        for name, counts in chosen.items():
            result[name] = time_restarts(name, *counts)
            show(name, result[name])
        return result
    if part == "columns":
        sizes = [(1000, 18, 7)] if quick else [(1000, 18, 7), (1000, 35, 15), (1000, 70, 30)]
    else:
        sizes = [(1000, 12, 8)] if quick else [(1000, 12, 8), (10_000, 12, 8), (100_000, 12, 8)]
    result = []
    for size in sizes:
        result.append(time_table(*size, limit))
        show("{:,} rows x {} continuous + {} discrete".format(*size), result[-1])
    return result


def show(label: str, figures: dict[str, Any]) -> None:
    def text(value: Any) -> str:
        if isinstance(value, list):
            return "[" + " ".join(map(text, value)) + "]"
        return f"{value:.3g}" if isinstance(value, float) else str(value)

    print(f"{label}: " + ", ".join(f"{key} {text(value)}" for key, value in figures.items()), flush=True)


def machine() -> dict[str, Any]:
    import jax

    return {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "jax": jax.__version__,
        "numpy": np.__version__,
    }


def plot(results: dict[str, Any], path: Path) -> None:
    """Restarts against the reference; seconds by columns and by rows."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
    restarts = results.get("restarts", {})
    for i, entry in enumerate(restarts.values()):
        axes[0].barh(
            i + 0.2, entry["reference_scaled"], 0.35, color="0.7", label="NumPy reference, scaled" if not i else ""
        )
        axes[0].barh(i - 0.2, min(entry["warm"]), 0.35, color="C0", label="jaxbn, warm" if not i else "")
        axes[0].annotate(
            f"{entry['speedup']:.0f}x", (min(entry["warm"]), i - 0.2), (4, 0), textcoords="offset points", va="center"
        )
    if restarts:
        axes[0].set(
            title="50 restarts", xlabel="seconds", xscale="log", yticks=range(len(restarts)), yticklabels=restarts
        )
        axes[0].legend(fontsize=7)
    for axis, part, key, title in (
        (axes[1], "columns", "columns", "1,000 rows, one order"),
        (axes[2], "rows", "rows", "20 columns, one order"),
    ):
        entries = [entry for entry in results.get(part, []) if entry["seconds"] is not None]
        if not entries:
            continue
        axis.plot([e[key] for e in entries], [e["seconds"] for e in entries], "o-")
        axis.set(title=title, xlabel=key, ylabel="seconds", xscale="log", yscale="log")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small share, printed only")
    parser.add_argument("--part", action="append", choices=["restarts", "columns", "rows"], help="all if not given")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds one drawn table may take, 1800 by default")
    parser.add_argument("--table", nargs=3, type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.table:
        print(json.dumps(learn_table(*arguments.table)))
        return
    path = RESULTS / "networks.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    for part in arguments.part or ["restarts", "columns", "rows"]:
        measured = measure(part, arguments.quick, arguments.limit)
        if not arguments.quick:
            results |= {"machine": machine(), part: measured}
            RESULTS.mkdir(exist_ok=True)
            path.write_text(json.dumps(results, indent=1) + "\n")
            plot(results, path.with_suffix(".png"))


if __name__ == "__main__":
    main()
