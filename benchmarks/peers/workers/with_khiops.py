"""Khiops: the MODL cuts of columns given a class. A fit starts a program of its own: a small one is timed apart."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ["PATH"] = str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"]  # its program lives there

import numpy as np
import pandas as pd
from common import Answer, cuts_of_folds, serve, timed
from khiops.sklearn import KhiopsEncoder


def found(columns: dict[str, np.ndarray], codes: np.ndarray) -> dict[str, list[float]]:
    """Cuts of each column given the class; none where Khiops finds that a column tells nothing of it."""
    made = KhiopsEncoder(n_trees=0).fit(pd.DataFrame(columns), np.char.add("c", codes.astype(str)))
    if not hasattr(made, "model_report_"):  # no column tells anything: it makes no encoder
        return {name: [] for name in columns}
    statistics = {each.name: each.data_grid for each in made.model_report_.preparation_report.variables_statistics}
    return {name: _interior(statistics[name]) for name in columns}


def _interior(grid: Any) -> list[float]:
    if grid is None:
        return []
    parts = [part for part in grid.dimensions[0].partition if hasattr(part, "lower_bound") and not part.is_missing]
    return [float(part.upper_bound) for part in parts[:-1]]


def start_up() -> float:
    """Seconds of a fit of 50 rows, almost all of them spent on starting."""
    rows = np.arange(50)
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        found({"x": rows.astype(float)}, rows // 25)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def cuts(request: dict[str, Any]) -> Answer:
    arrays = np.load(request["data"])
    idle = start_up()
    edges, seconds = timed(lambda: found({"x": arrays["values"]}, arrays["codes"])["x"], at_most=0)
    return {"edges": edges, "start_up": idle, **seconds}


def fold_cuts(request: dict[str, Any]) -> Answer:
    return cuts_of_folds(request["data"], found, at_most=0)


serve({"cuts": cuts, "fold_cuts": fold_cuts})
