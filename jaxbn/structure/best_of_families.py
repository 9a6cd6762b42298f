"""The best structure of given families, proved: an integer program, with cycle constraints added as cycles turn up."""

from __future__ import annotations

from collections.abc import Mapping

import networkx as nx
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

Families = Mapping[str, Mapping[tuple[str, ...], float]]
"""The score of each family that a variable may have, by its parents."""


def best_of_families(families: Families) -> dict[str, tuple[str, ...]]:
    """The acyclic structure with the highest score: one family for each variable.

    An acyclic choice must exist; a family without parents for each variable ensures that.

    Example:
        >>> best_of_families({"a": {(): 0.0, ("b",): 3.0}, "b": {(): 0.0, ("a",): 2.0}})
        {'a': ('b',), 'b': ()}
    """
    chosen = [(child, parents) for child, found in families.items() for parents in found]
    scores = np.array([families[child][parents] for child, parents in chosen])
    best = {child: max(found.values()) for child, found in families.items()}
    losses = (
        np.array([best[child] for child, _ in chosen]) - scores
    )  # relative to the best family: small numbers, as the solver's tolerance is relative
    rows = [[child == name for child, _ in chosen] for name in families]
    limits = [LinearConstraint(np.array(rows, np.float64), 1, 1)]
    while True:
        found = milp(losses, constraints=limits, integrality=np.ones(len(chosen)), bounds=Bounds(0, 1))
        if found.x is None:
            raise ValueError(f"no structure without cycles can be made of these families: {found.message}")
        parents = dict(pair for pair, x in zip(chosen, found.x, strict=True) if x > 0.5)
        graph = nx.DiGraph([(parent, child) for child, each in parents.items() for parent in each])
        cycles = [part for part in nx.strongly_connected_components(graph) if len(part) > 1]
        if not cycles:
            return {child: parents[child] for child in families}
        for part in cycles:  # cutting planes: some variable of each cycle must have no parent in it
            cycle = {tail for tail, _ in nx.find_cycle(graph.subgraph(part))}
            outside = [child in cycle and not cycle & set(each) for child, each in chosen]
            limits.append(LinearConstraint(np.array([outside], np.float64), 1, np.inf))
