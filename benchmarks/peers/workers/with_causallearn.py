"""causal-learn: BOSS and GRaSP on discrete columns."""

from __future__ import annotations

from typing import Any

import pandas as pd
from causallearn.search.PermutationBased.BOSS import boss
from causallearn.search.PermutationBased.GRaSP import grasp
from causallearn.utils.PDAG2DAG import pdag2dag
from common import Answer, serve, timed


def search(request: dict[str, Any]) -> Answer:
    """By the BDeu score, as it has no K2, and with any number of parents; the class found is made a graph."""
    data = pd.read_csv(request["data"])
    names, values = list(data), data.to_numpy(float)
    find = boss if request["search"] == "BOSS" else grasp

    def call() -> Any:
        return find(values, score_func="local_score_BDeu", verbose=False, node_names=names)

    found, seconds = timed(call, at_most=1)
    edges = pdag2dag(found).get_graph_edges()
    arcs = [(edge.get_node1().get_name(), edge.get_node2().get_name()) for edge in edges]
    forward = [edge.get_endpoint2().name == "ARROW" for edge in edges]
    return {"arcs": [arc if ahead else arc[::-1] for arc, ahead in zip(arcs, forward, strict=True)], **seconds}


serve({"search": search})
