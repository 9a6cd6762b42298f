"""Task 2: Auto MPG with the paper's structure, all continuous columns cut together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.peers.jobs import Job, Row, Setting
from benchmarks.peers.scoring import in_bins, row_densities, same_cuts
from jaxbn import datasets
from jaxbn.inputs.graph import topological_order
from jaxbn.paper.published import FIXED

NAME = "fixed"
BNLEARN_SECONDS = 420.0  # it takes about five minutes


def jobs(setting: Setting) -> Iterator[Job]:
    """jaxbn and bnlearn on the same file; in a quick run bnlearn is left out for its five minutes."""
    cars = datasets.load("auto_mpg")
    path = setting.folder / "auto_mpg.csv"
    parents = cars.structures["paper"]
    # bnlearn goes through the columns from the last to the first, whatever the graph; parents first, both visit them
    # alike, and from another order it settles on other cuts, each of them the best given the rest as well
    cars.frame[list(topological_order(parents))].to_csv(path, index=False)
    arcs = [(parent, child) for child, of_child in parents.items() for parent in of_child]
    request = {"task": "fixed", "data": str(path), "arcs": arcs, "continuous": list(cars.continuous)}

    def score(answer: dict[str, Any]) -> Row:
        edges = answer["edges"]
        cuts = sum(len(each) for each in edges.values())
        return {"cuts": cuts, "as_published": _as_published(edges), "score": _fit(cars, edges), "edges": edges}

    about = {"data": "auto_mpg", "rows": len(cars.frame)}
    for method in setting.methods:
        yield Job(NAME, "jaxbn", f"jaxbn {method}", about, request | {"method": method}, score)
    if not setting.quick:
        yield Job(NAME, "bnlearn", "bnlearn discretize", about, request, score, BNLEARN_SECONDS)


def _as_published(edges: dict[str, list[float]]) -> str:
    """How many of the paper's cuts are found, up to the digits it prints."""
    table = next(t for t in FIXED if (t.dataset, t.structure) == ("auto_mpg", "paper"))
    names = list(datasets.load("auto_mpg").frame)
    wanted = [(names["ABCDEFGH".index(letter)], edge) for letter, of_it in table.bayesian.items() for edge in of_it]
    met = sum(bool(np.isclose(edges[name], edge, rtol=2.5e-4, atol=0).any()) for name, edge in wanted)
    return f"{met} of {len(wanted)}"


def _fit(cars: Any, edges: dict[str, list[float]]) -> float:
    """Mean log-likelihood of the rows the network was fitted on, in original units."""
    columns, cards, densities = in_bins(cars.frame, edges)
    return float((densities + row_densities(columns, columns, cars.structures["paper"], cards)).mean())


def checks(rows: list[Row]) -> list[Row]:
    """Where a variable has at most one parent, which all the continuous ones here have, bnlearn finds the same cuts."""
    answered = {row["label"]: row for row in rows if "edges" in row}
    if not {"jaxbn bayesian", "bnlearn discretize"} <= set(answered):
        return []
    ours, theirs = answered["jaxbn bayesian"], answered["bnlearn discretize"]
    same = {name: same_cuts(edges, theirs["edges"][name], 1e-9) for name, edges in ours["edges"].items()}
    found = [(f"{name}: bnlearn finds the same cuts", each) for name, each in same.items()]
    ahead = theirs["seconds"] / ours["seconds"]
    found.append((f"at least 500 times as fast as bnlearn ({ahead:,.0f})", ahead >= 500))
    return [{"what": what, "holds": bool(holds)} for what, holds in found]
