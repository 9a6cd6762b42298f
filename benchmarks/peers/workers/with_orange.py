"""Orange: EntropyMDL, the recursive splits of Fayyad and Irani."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import Answer, cuts_of_folds, serve, timed
from Orange.data import ContinuousVariable, DiscreteVariable, Domain, Table
from Orange.preprocess.discretize import EntropyMDL


def found(columns: dict[str, np.ndarray], codes: np.ndarray) -> dict[str, list[float]]:
    """Cuts of each column given the class."""
    label = DiscreteVariable("class", values=[str(code) for code in range(codes.max() + 1)])
    domain = Domain([ContinuousVariable(name) for name in columns], label)
    table = Table.from_numpy(domain, np.column_stack(list(columns.values())), codes.astype(float))
    made = {name: EntropyMDL()(table, domain[name]).compute_value for name in columns}
    return {name: [] if each is None else np.asarray(each.points).tolist() for name, each in made.items()}


def cuts(request: dict[str, Any]) -> Answer:
    arrays = np.load(request["data"])
    edges, seconds = timed(lambda: found({"x": arrays["values"]}, arrays["codes"])["x"])
    return {"edges": edges, **seconds}


def fold_cuts(request: dict[str, Any]) -> Answer:
    return cuts_of_folds(request["data"], found)


serve({"cuts": cuts, "fold_cuts": fold_cuts})
