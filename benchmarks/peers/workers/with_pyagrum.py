"""pyAgrum: searches for a structure of discrete columns, and exact inference."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
import pyagrum
from common import Answer, serve, timed


def structure(request: dict[str, Any]) -> Answer:
    data = pd.read_csv(request["data"])
    names = list(data)

    def call() -> list[tuple[str, str]]:
        learner = pyagrum.BNLearner(data)
        learner.useScoreK2()
        learner.setMaxIndegree(request["max_parents"])
        if request["search"] == "K2":
            learner.useK2([names.index(name) for name in request["order"]])
        else:
            learner.useGreedyHillClimbing()
        return [(names[tail], names[head]) for tail, head in learner.learnDAG().arcs()]

    arcs, seconds = timed(call)
    return {"arcs": arcs, **seconds}


def search(request: dict[str, Any]) -> Answer:
    """A search without an order, with the threads asked for; reading the table is not part of the time."""
    data = pd.read_csv(request["data"])
    names = list(data)

    def call() -> list[tuple[str, str]]:
        learner = pyagrum.BNLearner(data)
        learner.setNumberOfThreads(request["threads"])
        learner.setMaxIndegree(request["max_parents"])
        learner.useScoreK2()
        if request["search"] == "tabu":
            learner.useLocalSearchWithTabuList()
        elif request["search"] == "MIIC":
            learner.useMIIC()
        else:
            learner.useGreedyHillClimbing()
        start = time.process_time()
        arcs = [(names[tail], names[head]) for tail, head in learner.learnDAG().arcs()]
        alone.append(time.process_time() - start)
        return arcs

    alone: list[float] = []
    arcs, seconds = timed(call, at_most=2)
    return {"arcs": arcs, **seconds, "cpu": min(alone), "cpu_all": seconds["cpu"]}


def predict(request: dict[str, Any]) -> Answer:
    """Row by row: it has no call for a table of probabilities."""
    net = pyagrum.loadBN(request["network"])
    target, order = request["target"], request["states"]
    rows = pd.read_csv(request["data"], dtype=str).drop(columns=target)[: request["rows"]]
    engine = pyagrum.LazyPropagation(net)
    engine.addTarget(target)
    labels = list(net.variable(target).labels())

    def call() -> np.ndarray:
        result = np.empty((len(rows), len(labels)))
        for i, row in enumerate(rows.to_dict("records")):
            engine.setEvidence(row)
            engine.makeInference()
            result[i] = engine.posterior(target).toarray()
        return result[:, [labels.index(state) for state in order]]

    found, seconds = timed(call)
    np.save(request["output"], found)
    return {"rows": len(rows), **seconds}


def query(request: dict[str, Any]) -> Answer:
    net = pyagrum.loadBN(request["network"])
    target, order = request["target"], request["states"]
    labels = list(net.variable(target).labels())

    def call() -> list[float]:
        engine = pyagrum.LazyPropagation(net)
        engine.setEvidence(request["evidence"])
        engine.addTarget(target)
        engine.makeInference()
        found = engine.posterior(target).toarray()
        return [float(found[labels.index(state)]) for state in order]

    found, seconds = timed(call)
    return {"posterior": found, **seconds}


serve({"structure": structure, "search": search, "predict": predict, "query": query})
