"""bnlearn: its port of the same method, and inference (through pgmpy)."""

from __future__ import annotations

from typing import Any

import bnlearn
import numpy as np
import pandas as pd
from common import Answer, serve, timed


def cuts(request: dict[str, Any]) -> Answer:
    """One pass (``max_iterations=1``) solves this one problem with L = 4, the class being the parent."""
    arrays = np.load(request["data"])
    data = pd.DataFrame({"P": arrays["codes"], "X": arrays["values"]})
    found, seconds = timed(lambda: bnlearn.discretize(data.copy(), [("P", "X")], ["X"], max_iterations=1))
    return {"edges": _interior(found["X"]), **seconds}


def fixed(request: dict[str, Any]) -> Answer:
    data = pd.read_csv(request["data"])
    arcs = [tuple(arc) for arc in request["arcs"]]
    found, seconds = timed(lambda: bnlearn.discretize(data.copy(), arcs, request["continuous"]))
    return {"edges": {name: _interior(found[name]) for name in request["continuous"]}, **seconds}


def _interior(column: pd.Series) -> list[float]:
    return [float(interval.right) for interval in column.cat.categories][:-1]


def predict(request: dict[str, Any]) -> Answer:
    """One query for each distinct row, by the numbers of the states: its reader of BIF files drops their names."""
    model, target, labels = _model(request["network"]), request["target"], request["labels"]
    rows = pd.read_csv(request["data"], dtype=str)[: request["rows"]]
    numbers = pd.DataFrame({name: [labels[name].index(state) for state in rows[name]] for name in rows})
    found, seconds = timed(lambda: bnlearn.predict(model, numbers, [target], to_df=False, method=None))
    np.save(request["output"], [[each["p"][i] for i in sorted(each["p"], key=each[target].get)] for each in found])
    return {"rows": len(rows), **seconds}


def query(request: dict[str, Any]) -> Answer:
    model, target, labels = _model(request["network"]), request["target"], request["labels"]
    evidence = {name: labels[name].index(state) for name, state in request["evidence"].items()}

    def call() -> list[float]:
        found = bnlearn.inference.fit(model, variables=[target], evidence=evidence, to_df=False)
        return [float(value) for value in found.values]

    found, seconds = timed(call)
    return {"posterior": found, **seconds}


def _model(path: str) -> dict[str, Any]:
    return bnlearn.import_DAG(path, checkmodel=False)


serve({"cuts": cuts, "fixed": fixed, "predict": predict, "query": query})
