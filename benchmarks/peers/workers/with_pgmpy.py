"""pgmpy: hill climbing on discrete columns, and exact inference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from common import Answer, serve, timed
from pgmpy.causal_discovery import HillClimbSearch
from pgmpy.inference import VariableElimination
from pgmpy.readwrite import BIFReader


def structure(request: dict[str, Any]) -> Answer:
    data = pd.read_csv(request["data"]).astype(str).astype("category")

    def call() -> list[tuple[str, str]]:
        search = HillClimbSearch(
            scoring_method="k2", max_indegree=request["max_parents"], return_type="dag", show_progress=False
        )
        return [tuple(arc) for arc in search.fit(data).causal_graph_.edges()]

    arcs, seconds = timed(call)
    return {"arcs": arcs, **seconds}


def predict(request: dict[str, Any]) -> Answer:
    model = BIFReader(request["network"]).get_model()
    target = request["target"]
    rows = pd.read_csv(request["data"], dtype=str).drop(columns=target)[: request["rows"]]
    columns = [f"{target}_{state}" for state in request["states"]]
    found, seconds = timed(lambda: model.predict_probability(rows)[columns].to_numpy())
    np.save(request["output"], found)
    return {"rows": len(rows), **seconds}


def query(request: dict[str, Any]) -> Answer:
    model = BIFReader(request["network"]).get_model()
    target = request["target"]

    def call() -> list[float]:
        found = VariableElimination(model).query([target], evidence=request["evidence"], show_progress=False)
        return [float(found.get_value(**{target: state})) for state in request["states"]]

    found, seconds = timed(call)
    return {"posterior": found, **seconds}


serve({"structure": structure, "predict": predict, "query": query})
