"""Many variables of few rows, against the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jaxbn.cuts import solve
from jaxbn.cuts.discretize_variable import best_binnings
from tests.helpers.programs import close, request_of, task_of
from tests.helpers.random_variables import random_variable
from tests.reference.cuts import algorithm_1

BLANKETS: list[dict[str, Any]] = [
    {"n_parents": 1},
    {"n_parents": 3, "spouses": (2, 1)},
    {"n_parents": 0, "spouses": (0,)},
    {"n_parents": 2, "spouses": (0, 1, 2)},
]


def variables(n_rows: int, n_values: int | None) -> list[dict[str, Any]]:
    blankets = [BLANKETS[seed % len(BLANKETS)] for seed in range(9)]
    return [random_variable(seed, n_rows, **blanket, n_values=n_values) for seed, blanket in enumerate(blankets)]


SIZES = [(1, None), (40, 7), (130, None), (300, 20), (300, 200), (512, None)]


@pytest.mark.parametrize(("n_rows", "n_values"), SIZES)
def test_same_cuts_as_the_reference(n_rows, n_values):
    """One or several tiles of starts, one or many rows of a value."""
    problems = variables(n_rows, n_values)
    found = best_binnings([request_of(problem) for problem in problems], "bayesian")
    for problem, binning in zip(problems, found, strict=True):
        cost, edges = algorithm_1(problem["values"], problem["parents"], problem["children"], rate=4.0)
        assert binning.cost == close(cost)
        np.testing.assert_allclose(binning.cuts, edges, rtol=1e-12)


def test_a_hundred_children():
    rng = np.random.default_rng(0)
    values = rng.normal(size=60).round(1)
    children = [((values + rng.normal(size=60) > 0).astype(int), []) for _ in range(100)]
    problem = {"values": values, "parents": [], "children": children}
    cost, _ = algorithm_1(values, [], children, rate=4.0)
    assert all(found.cost == close(cost) for found in solve.solve([task_of(problem)] * 8))
