"""Structures of mixed tables: `jaxbn.learn` beside searches on bins of equal frequency, on networks made for it.

From the project's root: ``python benchmarks/simulated.py --seeds 5``. Columns are skewed, heavy-tailed, U-shaped,
zero-inflated and discrete; every one with parents depends on a mixture of theirs. Peers get 8 bins of equal frequency
and their graphs are cut and fitted by `jaxbn.discretize` and `jaxbn.fit`, so that held-out likelihood compares graphs.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
if __package__ in (None, ""):
    sys.path.insert(0, str(HERE.parent))

import jaxbn  # noqa: E402
from benchmarks.peers.environments import default_directory, make  # noqa: E402
from benchmarks.peers.jobs import Job, Row, run  # noqa: E402
from benchmarks.peers.markdown import table  # noqa: E402
from benchmarks.peers.scoring import arcs_as_parents  # noqa: E402
from jaxbn.structure.equivalence import Parents, class_distance  # noqa: E402

Floats = NDArray[np.float64]
KINDS = ("skewed", "heavy-tailed", "U-shaped", "zero-inflated", "discrete", "plain")
BINS, MAX_PARENTS, HELD_OUT = 8, 3, 2_000
RESULTS = HERE / "results" / "simulated.json"
PEERS: dict[str, tuple[str, dict[str, Any]]] = {
    "pgmpy hill climbing": ("pgmpy", {"task": "structure"}),
    "pyAgrum hill climbing": ("pyagrum", {"task": "search", "search": "hill climbing", "threads": 1}),
    "pyAgrum MIIC": ("pyagrum", {"task": "search", "search": "MIIC", "threads": 1}),
}


def mixed_network(n_columns: int, n_rows: int, seed: int) -> tuple[pd.DataFrame, dict[str, tuple[str, ...]]]:
    """Rows, and the true parents: each column after the first has one or two among the three before it.

    Every column comes from a latent value: noise, plus its parents' latent values bent by a sine, a square or a step.
    What is seen is the latent value made skewed, heavy-tailed, U-shaped, zero-inflated or discrete.
    """
    rng = np.random.default_rng([20, seed, n_columns])
    names = [f"v{i:02d}" for i in rng.permutation(n_columns)]
    latent: dict[str, Floats] = {}
    parents: dict[str, tuple[str, ...]] = {}
    for i, name in enumerate(names):
        near = names[max(0, i - 3) : i]
        count = min(len(near), int(rng.choice([0, 1, 2], p=[0.15, 0.6, 0.25])))
        parents[name] = tuple(str(p) for p in rng.choice(near, count, replace=False)) if count else ()
        total = sum((_bent(latent[p], rng) for p in parents[name]), np.zeros(n_rows))
        latent[name] = _standard(total + rng.normal(size=n_rows) * (0.5 if count else 1.0))
    seen = {name: _seen(latent[name], KINDS[i % len(KINDS)]) for i, name in enumerate(names)}
    return pd.DataFrame({name: seen[name] for name in sorted(seen)}), parents


def _standard(values: Floats) -> Floats:
    return (values - values.mean()) / values.std()


def _bent(values: Floats, rng: np.random.Generator) -> Floats:
    shape = rng.choice(["line", "sine", "square", "step"])
    bent = {"line": values, "sine": np.sin(2 * values), "square": values**2, "step": np.sign(values)}[shape]
    return _standard(bent) * rng.choice([-1.0, 1.0])


def _seen(values: Floats, kind: str) -> Floats | NDArray[np.str_]:
    """What is seen of a latent value; nothing of it is lost except by `zero-inflated` and `discrete`."""
    if kind == "skewed":
        return np.exp(values)
    if kind == "heavy-tailed":
        return np.sinh(2 * values)
    if kind == "U-shaped":
        return np.sin(np.pi * (1 / (1 + np.exp(-2 * values)) - 0.5))
    if kind == "zero-inflated":
        return np.where(values < -0.3, 0.0, values + 0.3)
    if kind == "discrete":
        return np.array(["a", "b", "c", "d"])[np.digitize(values, [-0.7, 0.0, 0.7])]
    return values


def peers_table(data: pd.DataFrame) -> pd.DataFrame:
    """Codes: bins of equal frequency, and levels."""
    codes = {}
    for name in data:
        column = data[name]
        if column.dtype == float:
            codes[name] = pd.qcut(column, BINS, labels=False, duplicates="drop").to_numpy()
        else:
            codes[name] = np.unique(column.to_numpy(str), return_inverse=True)[1]
    return pd.DataFrame(codes)


def held_out(training: pd.DataFrame, test: pd.DataFrame, parents: Parents) -> tuple[float, float]:
    """Mean log density of the test rows, the graph cut by the evidence and fitted on the others; time of the cuts."""
    graph = {name: list(of_name) for name, of_name in parents.items()}
    start = time.process_time()
    found = jaxbn.discretize(training, graph)
    spent = time.process_time() - start
    return _density(jaxbn.fit(training, graph, found.binnings, bounds=_bounds(training, test)), test), spent


def _bounds(training: pd.DataFrame, test: pd.DataFrame) -> dict[str, tuple[float, float]]:
    both = pd.concat([training, test])
    return {name: (both[name].min(), both[name].max()) for name in both if both[name].dtype == float}


def _density(net: jaxbn.BayesNet, test: pd.DataFrame) -> float:
    return float(np.mean(net.log_likelihood(test)))


def one_seed(seed: int, n_columns: int, n_rows: int, environments: Path) -> list[Row]:
    """A row for each search."""
    data, truth = mixed_network(n_columns, n_rows + HELD_OUT, seed)
    training, test = data[:n_rows].reset_index(drop=True), data[n_rows:].reset_index(drop=True)
    names, rows = list(data), []

    def entry(label: str, parents: Parents, cpu: float, density: float, cuts: float) -> Row:
        about = {"label": label, "seed": seed, "columns": n_columns, "rows": n_rows, "cpu": cpu, "density": density}
        return about | {"cuts": cuts} | class_distance(parents, truth)._asdict()

    start = time.process_time()
    net = jaxbn.learn(training, max_parents=MAX_PARENTS, progress=False)
    spent = time.process_time() - start
    fitted = jaxbn.fit(training, net.graph, net.codings, bounds=_bounds(training, test))
    rows.append(entry("jaxbn learn", net.parents, spent, _density(fitted, test), 0.0))
    rows.append(entry("the true graph", truth, 0.0, *held_out(training, test, truth)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes.csv"
        peers_table(training).to_csv(path, index=False)
        for label, (peer, request) in PEERS.items():
            asked = request | {"data": str(path), "max_parents": MAX_PARENTS}
            job = Job("simulated", peer, label, {"seed": seed}, asked, lambda answer: {"graph": answer["arcs"]})
            answer = run(job, {peer: make(peer, environments)})
            if "failure" in answer:
                rows.append({"label": label, "seed": seed, "failure": answer["failure"]})
                continue
            parents = arcs_as_parents(answer["graph"], names)
            rows.append(entry(label, parents, answer["cpu"], *held_out(training, test, parents)))
    return rows


def page(rows: list[Row]) -> str:
    """Means over the seeds."""
    lines = []
    for label in dict.fromkeys(row["label"] for row in rows):
        own = [row for row in rows if row["label"] == label and "failure" not in row]
        means = {name: np.mean([row[name] for row in own]) for name in ("found", "missing", "false", "distance")}
        links = f"{means['found']:.1f} of {means['found'] + means['missing']:.1f}"
        density = f"{np.mean([row['density'] for row in own]):.3f}"
        cpu = f"{np.mean([row['cpu'] for row in own]):.1f}"
        cuts = f"{np.mean([row['cuts'] for row in own]):.1f}"
        lines.append([label, len(own), links, f"{means['false']:.2f}", f"{means['distance']:.2f}", density, cpu, cuts])
    header = (
        "search",
        "seeds",
        "links found",
        "false links",
        "distance",
        "held-out ln p(row)",
        "processor s",
        "cuts s",
    )
    return table(header, lines)


def main() -> None:
    """Read the command line, go through the seeds, print the table."""
    parser = argparse.ArgumentParser(description="Mixed networks: jaxbn beside searches on equal-frequency bins.")
    parser.add_argument("--environments", type=Path, default=default_directory(), help="where peers are installed")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--columns", type=int, default=12)
    parser.add_argument("--rows", type=int, default=2_000)
    options = parser.parse_args()
    rows: list[Row] = []
    for seed in range(options.seeds):
        rows += one_seed(seed, options.columns, options.rows, options.environments)
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
        print(page(rows), flush=True)


if __name__ == "__main__":
    main()
