"""Ten-fold log-likelihood of the paper's networks, by both methods, beside the paper's figures.

Run from the project's root: ``python -m benchmarks.cross_validation [data set ...]``; it writes a markdown table.
The figures are means over a few shuffles of the rows into folds. Indian Liver Patient (ilpd) needs the directory of its
file in ``JAXBN_DATA``, or the network. The paper leaves the class term of Iris out, and so does this.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import jaxbn
from jaxbn.paper.published import LOG_LIKELIHOOD

METHODS = ("bayesian", "mdl")
SEEDS = (0, 1)


def line(name: str, structure: str) -> str:
    """One data set as a row of the table."""
    data = jaxbn.datasets.load(name)
    graph = data.structures[structure]
    frame = data.frame[list(graph)]  # a column the paper leaves out is not a key
    options = {"continuous": [c for c in data.continuous if c in graph], "given": ("class",) if name == "iris" else ()}
    started = time.perf_counter()
    runs = {m: [jaxbn.cross_validate(frame, graph, method=m, seed=s, **options) for s in SEEDS] for m in METHODS}
    seconds = time.perf_counter() - started
    mean = {method: np.mean([run.mean for run in found]) for method, found in runs.items()}
    error = {method: np.mean([run.standard_error for run in found]) for method, found in runs.items()}
    ours = [f"{mean[method]:.2f} ± {error[method]:.2f}" for method in METHODS]
    bayesian, mdl = LOG_LIKELIHOOD[name, structure]
    off, ahead = mean["bayesian"] - bayesian, mean["bayesian"] - mean["mdl"]
    label = name if structure == "paper" else f"{name}, {structure}"
    cells = [label, len(frame), ours[0], f"{bayesian:.2f}", f"{off:+.2f}", ours[1], f"{mdl:.2f}", f"{ahead:+.2f}"]
    return f"| {' | '.join(map(str, cells))} | {seconds:.0f} |"


def main(wanted: list[str]) -> None:
    print("| data | rows | Bayesian | paper | ours - paper | MDL | paper | Bayesian - MDL | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, structure in LOG_LIKELIHOOD:
        if not wanted or name in wanted:
            print(line(name, structure), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
