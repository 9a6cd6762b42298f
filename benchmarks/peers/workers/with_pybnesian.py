"""PyBNesian: hill climbing on discrete columns, and linear-Gaussian networks of mixed columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pybnesian
from common import Answer, serve, timed


def structure(request: dict[str, Any]) -> Answer:
    """Hill climbing by the Bayesian Dirichlet score (it has no K2), prior weight 1."""
    data = pd.read_csv(request["data"]).astype(str).astype("category")

    def call() -> list[tuple[str, str]]:
        start = pybnesian.DiscreteBN(list(data))
        search = pybnesian.GreedyHillClimbing()
        operators, score = pybnesian.ArcOperatorSet(), pybnesian.BDe(data, 1.0)
        return search.estimate(operators, score, start, max_indegree=request["max_parents"]).arcs()

    arcs, seconds = timed(call)
    return {"arcs": arcs, **seconds}


def density(request: dict[str, Any]) -> Answer:
    """Ten folds: structure by hill climbing and the information criterion, log density of each held-out row.

    Columns that are not continuous are categories; where there is one the network is conditional linear-Gaussian.
    """
    data = pd.read_csv(request["data"])
    folds = data.pop("fold").to_numpy()
    discrete = [name for name in data if name not in request["continuous"]]
    data[discrete] = data[discrete].astype(str).astype("category")  # all levels are known to every fold
    data[request["continuous"]] = data[request["continuous"]].astype(float)
    kind = pybnesian.CLGNetworkType() if discrete else pybnesian.GaussianNetworkType()

    def call() -> tuple[list[float], float]:
        rows, total = np.empty(len(data)), 0.0
        for fold in range(folds.max() + 1):
            training, held_out = data[folds != fold], data[folds == fold]
            net = pybnesian.hc(training, bn_type=kind, score="bic", operators=["arcs"])
            net.fit(training)
            rows[folds == fold] = net.logl(held_out)
            total += net.slogl(held_out)
        return rows.tolist(), total

    (rows, total), seconds = timed(call)
    return {"rows": rows, "slogl": total, "network": "CLG" if discrete else "Gaussian", **seconds}


serve({"structure": structure, "density": density})
