"""jaxbn itself, in a process of its own for each request: the first call compiles, the later ones are warm."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from common import Answer, serve, timed

import jaxbn
from jaxbn.counts.codes import Column
from jaxbn.scores.set_scores import SetScores
from jaxbn.structure.constraints import Rules
from jaxbn.structure.exact import exact_structure
from jaxbn.structure.orders import order_structure


def cuts(request: dict[str, Any]) -> Answer:
    arrays = np.load(request["data"])
    values, codes, method = arrays["values"], arrays["codes"], request["method"]
    options = {"rate": request["rate"]} if method == "bayesian" else {}
    binning, seconds = timed(
        lambda: jaxbn.discretize_variable(values, [codes], method=method, **options), at_least=request["warm"]
    )
    return {"edges": binning.cuts.tolist(), "cost": binning.cost, **seconds}


def fixed(request: dict[str, Any]) -> Answer:
    data, arcs = pd.read_csv(request["data"]), [tuple(arc) for arc in request["arcs"]]
    columns = jaxbn.Columns(continuous=request["continuous"])
    found, seconds = timed(lambda: jaxbn.discretize(data, arcs, method=request["method"], columns=columns), at_least=1)
    return {"edges": {name: binning.cuts.tolist() for name, binning in found.binnings.items()}, **seconds}


def structure(request: dict[str, Any]) -> Answer:
    data = pd.read_csv(request["data"])
    options: dict[str, Any] = {"method": "bayesian", "search": "k2", "max_parents": request["max_parents"]}
    options |= {"order": request["order"]} if request["order"] else {"restarts": request["restarts"]}
    call = lambda: jaxbn.learn(data, progress=False, **options)  # noqa: E731
    net, seconds = timed(call, at_least=1)
    return {"arcs": net.arcs, "score": net.score, **seconds}


def search(request: dict[str, Any]) -> Answer:
    """The best structure for given codes by the plain K2 score: counting is part of the time, reading is not.

    Nor is the bound of the order search, which nobody else has: it is found afterwards.
    """
    data = pd.read_csv(request["data"])
    columns = [Column(i, data[name].to_numpy(), int(data[name].max()) + 1) for i, name in enumerate(data)]
    rules = Rules(tuple(data), request["max_parents"], {}, frozenset())
    rules = rules.of_columns(dict(zip(data, columns, strict=True)))
    if request["search"] == "exact":
        found, seconds = timed(lambda: exact_structure(SetScores(columns), rules), at_most=2)
    else:
        options = request.get("options", {})
        call = lambda: order_structure(SetScores(columns), rules, **options, bound_steps=0)  # noqa: E731
        found, seconds = timed(call, at_most=2)
        found = replace(found, bound=order_structure(SetScores(columns), rules, **options).bound)
    names = list(data)
    arcs = [(names[parent], names[child]) for child, parents in enumerate(found.parents) for parent in parents]
    gap = found.bound - found.score
    return {"arcs": arcs, "score": found.score, "gap": gap, "families": found.families, **seconds}


def density(request: dict[str, Any]) -> Answer:
    """Ten folds with the given structure, or with one learned in each fold."""
    data = pd.read_csv(request["data"])
    folds = data.pop("fold").to_numpy()
    options: dict[str, Any] = {"method": request["method"], "continuous": request["continuous"]}
    if request["parents"] is None:
        options |= {"search": "k2", "restarts": request["restarts"], "max_parents": request["max_parents"]}
    call = lambda: jaxbn.cross_validate(data, request["parents"], folds=folds, **options)  # noqa: E731
    found, seconds = timed(call, at_least=request["warm"])
    bins = {name: counts.tolist() for name, counts in found.bins.items()}
    return {"rows": found.log_likelihood.tolist(), "bins": bins, **seconds}


def predict(request: dict[str, Any]) -> Answer:
    net, rows = jaxbn.load(request["model"]), pd.read_csv(request["original"])[: request["rows"]]
    found, seconds = timed(lambda: net.predict_proba(rows, request["target"]).to_numpy(), at_least=1)
    np.save(request["output"], found)
    return {"rows": len(rows), **seconds}


def query(request: dict[str, Any]) -> Answer:
    net = jaxbn.load(request["model"])
    found, seconds = timed(lambda: net.query(request["target"], request["original_evidence"]), at_least=1)
    return {"posterior": np.asarray(found, float).ravel().tolist(), **seconds}


serve(
    {
        "cuts": cuts,
        "fixed": fixed,
        "structure": structure,
        "search": search,
        "density": density,
        "predict": predict,
        "query": query,
    }
)
