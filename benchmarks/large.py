"""Learn tables that need not fit in memory: time, peak memory, passes, and what is lost beside a table in memory.

From the project's root: ``python -m benchmarks.large FOLDER --millions 10 [--whole 5]``. The rows of
`benchmarks.networks.draw`, 12 columns, 8 of them continuous, are written to FOLDER a million a file, where they are not
there yet. They are learned as a PyArrow dataset in a process of its own; with `--whole`, so many millions of them are
also learned in memory. Both networks are scored on a million other rows. Figures are in NOTES.md.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.networks import draw

PART = 1_000_000
HELD_OUT = "held_out.parquet"


def write(folder: Path, millions: int) -> None:
    """Write the files that are not there yet, and the rows to be scored."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in range(millions):
        file = folder / f"{part:03d}.parquet"
        if not file.exists():
            drawn = draw(PART + part, 8, 4)  # other rows for every number of them
            drawn.frame.iloc[:PART].to_parquet(file)
    held_out = folder.parent / f"{folder.name}_{HELD_OUT}"
    if not held_out.exists():
        draw(PART + 1000, 8, 4).frame.iloc[:PART].to_parquet(held_out)


def learn(folder: Path, millions: int, whole: bool) -> dict[str, Any]:
    """Learn in this process, from the files or with all of them in memory."""
    import logging

    import pandas as pd
    import pyarrow.dataset

    import jaxbn

    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    files = [str(folder / f"{part:03d}.parquet") for part in range(millions)]
    data = pyarrow.dataset.dataset(files)
    begin = time.perf_counter()
    net = jaxbn.learn(data.to_table().to_pandas() if whole else data, max_parents=2, progress=False)
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(net.search, net.trace, file=sys.stderr)
    held_out = pd.read_parquet(folder.parent / f"{folder.name}_{HELD_OUT}")
    score = float(net.log_likelihood(held_out).mean())
    arcs = len({frozenset(arc) for arc in net.arcs})
    passes = net.search.passes
    return {
        "millions": millions,
        "seconds": seconds,
        "peak_gb": peak,
        "passes": passes,
        "arcs": arcs,
        "held_out": score,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--millions", type=int, default=10)
    parser.add_argument("--whole", type=int, help="millions of rows that are learned in memory too")
    parser.add_argument("--inside", choices=("source", "memory"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        print(json.dumps(learn(given.folder, given.millions, given.inside == "memory")))
        return
    write(given.folder, given.millions)
    for kind, millions in (("source", given.millions), ("memory", given.whole)):
        if millions:
            command = [sys.executable, "-m", "benchmarks.large", str(given.folder), "--millions", str(millions)]
            subprocess.run([*command, "--inside", kind], check=True)


if __name__ == "__main__":
    main()
