"""Time the exact engine: one table on the screen, the figures as JSON, and a log-log picture.

Run from anywhere: ``python benchmarks/engine.py [--quick] [--json PATH] [--plot PATH]``. Every line of the table is a
process of its own, so that the first call compiles everything and the memory is that of one problem. The costs that the
columns of a line find must agree, or the run fails. Where other work slows a run down, ``--best`` repeats it, or with
``--data`` a part of it, and keeps the better time of every cell. Needs the `bench` extra.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # jaxbn and the NumPy reference

RATE = 4.0
SYNTHETIC = ("table6", "gauss", "indep")
SIZES = (1_000, 5_000, 20_000, 100_000, 320_000, 1_000_000)
REFERENCE_ROWS = UNPRUNED_ROWS = 5_000  # they keep an n x n matrix
OTHER_METHODS = ("evidence", "mdl")
OTHER_METHODS_ROWS = (1_000, 20_000, 100_000, 1_000_000)
WARM_SECONDS = 4.0  # warm calls are repeated at least this long, and at least twice …
LONG_SECONDS = 20.0  # … unless one takes longer than this

# (data, rows) -> seconds of a warm call; None: no target
TARGETS = {
    **{(name, 20_000): 0.25 for name in SYNTHETIC},
    ("table6", 100_000): 1.5,
    ("gauss", 100_000): 3.0,
    ("indep", 100_000): 3.0,
    ("table6", 1_000_000): 20.0,
    ("gauss", 1_000_000): 60.0,
}
FIRST_CALL_TARGET = 4.0  # at 1,000 rows
MEMORY_TARGET = 1.5  # GB at 1,000,000 rows
EVIDENCE_TARGET = 5.0  # times the paper's method, at 100,000 rows
EXPONENT_TARGET = 1.4
EXPONENT_SIZES = (20_000, 320_000)


def lines(quick: bool) -> list[tuple[str, int]]:
    """Data and rows of every line of the table."""
    most = 20_000 if quick else 1_000_000
    found = [(name, n) for name in SYNTHETIC for n in SIZES if n <= most]
    found += [("blanket", n) for n in (1_000, 20_000, 100_000) if n <= most]
    return [*found, ("integers", most)]


def make(name: str, n: int) -> dict[str, Any]:
    """Arguments of `discretize_variable` by name."""
    from benchmarks.peers.tasks.cuts import rows_of

    if name in SYNTHETIC:
        values, pair = rows_of(name, n)
        return {"values": values, "parents": [pair]}
    rng = np.random.default_rng(0)
    if name == "integers":  # 100 distinct values, four classes
        values = rng.integers(0, 100, n).astype(float)
        return {"values": values, "parents": [(values // 20 + rng.integers(0, 2, n)).astype(int) % 4]}
    values = rng.normal(size=n)  # 3 parents, and 4 children with spouses

    def follow(levels: int) -> np.ndarray:
        cuts = np.sort(rng.normal(size=levels - 1))
        return np.where(rng.random(n) < 0.6, np.searchsorted(cuts, values), rng.integers(0, levels, n))

    parents = [follow(k) for k in (2, 3, 3)]
    children = [(follow(k), [rng.integers(0, s, n) for s in spouses]) for k, spouses in
                ((2, (2,)), (3, (3, 2)), (4, (3,)), (3, (2, 2)))]  # fmt: skip
    return {"values": values, "parents": parents, "children": children}


def clock(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def best_of(call: Callable[[], Any], seconds: float = WARM_SECONDS) -> float:
    times: list[float] = []
    while sum(times) < (seconds if len(times) > 1 else LONG_SECONDS) and len(times) < 50:
        times.append(clock(call)[0])
    return min(times)


def peak_memory() -> float:
    """Most memory of this process so far, in GB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def measure(name: str, n: int) -> dict[str, Any]:
    """One line of the table, in this process."""
    from jaxbn.cuts import discretize_variable, solve
    from jaxbn.cuts.grouped_rows import GroupedRows
    from jaxbn.cuts.interval_costs import CostMatrix
    from jaxbn.cuts.problem import Rows, Solution
    from jaxbn.runtime.shapes import FEW_POSITIONS

    idle = peak_memory()
    arguments = make(name, n)
    asked: list[Rows] = []
    found: list[Solution] = []

    def recording(tasks: list[Rows], **options: Any) -> list[Solution]:
        asked[:] = tasks
        found[:] = solve.solve(tasks, **options)
        return list(found)

    discretize_variable.solve = recording  # what the call asks of the engine, and its live starts

    def engine() -> Any:
        return discretize_variable.discretize_variable(**arguments, rate=RATE, method="bayesian")

    first, binning = clock(engine)
    line = {"data": name, "rows": n, "first": first, "warm": best_of(engine), "live": found[0].live}
    line |= {"memory": peak_memory() - idle, "bins": binning.n_bins, "cost": binning.cost, "load": os.getloadavg()[0]}
    costs = {"engine": binning.cost}
    task = asked[0]
    groups = GroupedRows(task, task.positions())

    def unpruned() -> Solution:
        """By the costs of all intervals."""
        with CostMatrix(groups) as matrix:
            return matrix.solve_with_cuts(task.cut_costs[groups.positions[1:] - 1], task.first_cost)

    if n <= UNPRUNED_ROWS and groups.n > FEW_POSITIONS:
        costs["unpruned"] = unpruned().cost
        line["unpruned"] = best_of(unpruned, 2.0)
    if n <= REFERENCE_ROWS:
        from tests.reference.cuts import algorithm_1

        line["reference"], (costs["reference"], _) = clock(lambda: algorithm_1(**arguments, rate=RATE))
    for column, cost in costs.items():
        if not math.isclose(cost, binning.cost, rel_tol=1e-9):
            raise SystemExit(f"{name}, {n} rows: the costs differ: {column} {cost}, engine {binning.cost}")
    if name in SYNTHETIC and n in OTHER_METHODS_ROWS:
        for method in OTHER_METHODS:
            call = partial(discretize_variable.discretize_variable, **arguments, method=method)
            call()  # compiles
            line[method] = best_of(call)
        line["times"] = line["evidence"] / line["warm"]
    return line | {"agree": sorted(costs)}


def measure_apart(name: str, n: int) -> dict[str, Any]:
    """One line of the table, in a fresh process."""
    command = [sys.executable, str(HERE / "engine.py"), "--line", name, str(n)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}, {n} rows: the process failed")
    return json.loads(done.stdout.splitlines()[-1])


def better(new: dict[str, Any], old: dict[str, Any] | None) -> dict[str, Any]:
    """The line with the least time in every column."""
    if old is None:
        return new
    if not math.isclose(new["cost"], old["cost"], rel_tol=1e-9):
        raise SystemExit(f"{new['data']}, {new['rows']} rows: the cost was {old['cost']} and is {new['cost']}")
    times = {column: min(new[column], old.get(column, math.inf)) for column in TIMES if column in new}
    return new | times  # `times warm` stays that of one run


TIMES = ("reference", "unpruned", "first", "warm", *OTHER_METHODS)
COLUMNS = {
    "data": "data", "rows": "rows", "reference": "NumPy s", "unpruned": "unpruned s", "first": "first call s",
    "warm": "warm s", "target": "target s", "live": "live starts", "memory": "memory GB", "bins": "bins",
    "evidence": "evidence s", "times": "times warm", "mdl": "mdl s",
}  # fmt: skip


def cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def show(row: list[str]) -> None:
    print("| " + " | ".join(f"{text:>12}" for text in row) + " |", flush=True)


def exponents(found: list[dict[str, Any]]) -> dict[str, float]:
    """Growth of the warm time between two sizes, as a power of the rows."""
    warm = {(line["data"], line["rows"]): line["warm"] for line in found}
    low, high = EXPONENT_SIZES
    return {
        name: math.log(warm[name, high] / warm[name, low]) / math.log(high / low)
        for name in SYNTHETIC
        if (name, high) in warm
    }


def verdicts(found: list[dict[str, Any]]) -> list[tuple[str, float, float]]:
    """What was asked for: what, the figure, and the target."""
    result = [(f"{d['data']}, {d['rows']:,} rows, warm s", d["warm"], d["target"]) for d in found if "target" in d]
    result += [(f"{name}, growth exponent", power, EXPONENT_TARGET) for name, power in exponents(found).items()]
    result += [(f"{d['data']}, 1,000 rows, first call s", d["first"], FIRST_CALL_TARGET)
               for d in found if d["rows"] == 1_000 and d["data"] in SYNTHETIC]  # fmt: skip
    result += [(f"{d['data']}, 100,000 rows, evidence, times warm", d["times"], EVIDENCE_TARGET)
               for d in found if d["rows"] == 100_000 and "times" in d]  # fmt: skip
    result += [(f"{d['data']}, 1,000,000 rows, memory GB", d["memory"], MEMORY_TARGET)
               for d in found if d["rows"] == 1_000_000]  # fmt: skip
    return result


def picture(found: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8.5, 5.8), layout="constrained")
    colours = {"table6": "#1b6ca8", "gauss": "#c8553d", "indep": "#588157", "blanket": "#7b4f9d"}
    styles = {"warm": ("-", "o", "warm"), "first": (":", ".", "first call"), "unpruned": ("--", "s", "unpruned"),
              "reference": ("-.", "^", "NumPy")}  # fmt: skip
    for name, colour in colours.items():
        for column, (dash, marker, label) in styles.items():
            points = [(d["rows"], d[column]) for d in found if d["data"] == name and column in d]
            if points and not (name == "blanket" and column != "warm"):
                shown = f"{name}, {label}" if column == "warm" else None
                axes.plot(*zip(*points, strict=True), dash, marker=marker, ms=5, color=colour, label=shown,
                          alpha=1.0 if column == "warm" else 0.6)  # fmt: skip
    for d in found:
        if d["data"] == "integers":
            axes.plot(d["rows"], d["warm"], "D", color="#444444", label="integers (100 values), warm")
    for (name, rows), seconds in TARGETS.items():
        axes.plot(rows, seconds, "_", color=colours[name], ms=18, mew=2)
    axes.plot([], [], "_", color="#444444", ms=14, mew=2, label="target")
    for dash, marker, label in list(styles.values())[1:]:
        axes.plot([], [], dash, marker=marker, color="#444444", alpha=0.6, label=label)
    axes.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds")
    axes.set_title("Exact cuts of one variable; parent with four states (blanket: 3 parents, 4 children with spouses)",
                   fontsize=10)  # fmt: skip
    axes.grid(which="major", alpha=0.3)
    axes.legend(fontsize=8, loc="upper left", ncols=2)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="no more than 20,000 rows")
    parser.add_argument("--data", nargs="+", choices=[*SYNTHETIC, "blanket", "integers"], help="these lines only")
    parser.add_argument(
        "--best", action="store_true", help="keep the better of these times and of those in the JSON file"
    )
    parser.add_argument("--json", type=Path, default=HERE / "results" / "engine.json", metavar="PATH")
    parser.add_argument("--plot", type=Path, default=HERE / "results" / "engine.png", metavar="PATH")
    parser.add_argument(
        "--line", nargs=2, metavar=("DATA", "ROWS"), help="one line of the table as JSON, in this process"
    )
    options = parser.parse_args()
    if options.line:
        print(json.dumps(measure(options.line[0], int(options.line[1]))))
        return

    known: dict[tuple[str, int], dict[str, Any]] = {}
    if options.best and options.json.exists():
        known = {(line["data"], line["rows"]): line for line in json.loads(options.json.read_text())["lines"]}
    show(list(COLUMNS.values()))
    show(["---:"] * len(COLUMNS))
    for name, n in lines(options.quick):
        if options.data is None or name in options.data:
            line = better(measure_apart(name, n), known.get((name, n)))
            known[name, n] = line | ({"target": TARGETS[name, n]} if (name, n) in TARGETS else {})
        if (name, n) in known:
            show([cell(known[name, n].get(column)) for column in COLUMNS])
    print()
    found = list(known.values())
    for what, figure, target in verdicts(found):
        print(f"{'met   ' if figure <= target else 'MISSED'} {what}: {cell(figure)} (target {cell(target)})")

    import jax

    about = {"cores": os.cpu_count(), "device": jax.default_backend(), "machine": platform.machine()}
    about |= {"python": platform.python_version(), "jax": jax.__version__, "numpy": np.__version__}
    options.json.parent.mkdir(parents=True, exist_ok=True)
    report = {"about": about, "lines": found, "exponents": exponents(found)}
    options.json.write_text(json.dumps(report, indent=1) + "\n")
    picture(found, options.plot)


if __name__ == "__main__":
    main()
