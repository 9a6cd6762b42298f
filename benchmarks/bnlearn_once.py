"""Compare with `bnlearn.discretize` 1.1.0, the only other installable program of this method, at 1,000 rows.

bnlearn is heavy, so it lives in an environment of its own (``pip install torch==2.13.0``, then ``bnlearn==1.1.0``):
``python benchmarks/bnlearn_once.py --python PATH_TO_ITS_PYTHON``. One parent with four states. bnlearn is given one
pass (`max_iterations=1`), in which it solves this one problem with L = 4, as jaxbn does; both are timed warm.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
RESULT = HERE / "results" / "bnlearn_once.json"
NAMES = ("table6", "gauss", "indep")
ROWS = 1_000


def time_bnlearn(path: str) -> dict[str, Any]:
    """In bnlearn's own environment: seconds of two calls, and the edges, for the data in a file."""
    import bnlearn
    import pandas as pd

    with np.load(path) as arrays:
        data = pd.DataFrame({"P": arrays["codes"], "X": arrays["values"]})
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        found = bnlearn.discretize(data.copy(), [("P", "X")], ["X"], max_iterations=1)
        seconds.append(time.perf_counter() - start)
    edges = [interval.right for interval in found.X.cat.categories][:-1]
    return {"version": bnlearn.__version__, "seconds": min(seconds), "edges": edges}


def time_jaxbn(values: np.ndarray, codes: np.ndarray) -> dict[str, Any]:
    import jaxbn

    seconds = []
    for _ in range(50):
        start = time.perf_counter()
        binning = jaxbn.discretize_variable(values, [codes], rate=4.0, method="bayesian")
        seconds.append(time.perf_counter() - start)
    return {"seconds": min(seconds), "edges": binning.cuts.tolist()}


def compare(name: str, python: str) -> dict[str, Any]:
    from benchmarks.peers.scoring import same_cuts
    from benchmarks.peers.tasks.cuts import rows_of

    values, codes = rows_of(name, ROWS)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "data.npz")
        np.savez(path, values=values, codes=codes)
        done = subprocess.run([python, __file__, "--peer", path], stdout=subprocess.PIPE, text=True, check=True)
    theirs = json.loads(done.stdout.splitlines()[-1])
    ours = time_jaxbn(values, codes)
    return {
        "data": name,
        "rows": ROWS,
        "bnlearn": theirs["version"],
        "bnlearn_seconds": theirs["seconds"],
        "jaxbn_seconds": ours["seconds"],
        "ratio": theirs["seconds"] / ours["seconds"],
        "same_edges": same_cuts(ours["edges"], theirs["edges"], 1e-12),
        "edges": ours["edges"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="the Python of the environment that has bnlearn")
    parser.add_argument("--peer", metavar="PATH", help="time bnlearn on the data in this file")
    options = parser.parse_args()
    if options.peer:
        print(json.dumps(time_bnlearn(options.peer)))
        return
    found = [compare(name, options.python) for name in NAMES]
    print(f"{'data':>8} {'bnlearn s':>10} {'jaxbn s':>10} {'ratio':>8}  same edges")
    for line in found:
        print(
            f"{line['data']:>8} {line['bnlearn_seconds']:10.2f} {line['jaxbn_seconds']:10.5f} {line['ratio']:8.0f}"
            f"  {'yes' if line['same_edges'] else 'NO'}"
        )
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
