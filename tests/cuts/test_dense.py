"""Many variables of few rows: the dense program, against the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jaxbn.cuts import dense, solve
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
    """One, two and four rows of a value at a time, and one or several tiles of starts."""
    problems = variables(n_rows, n_values)
    assert all(dense.fits_dense(task_of(problem)) for problem in problems)
    found = best_binnings([request_of(problem) for problem in problems], "bayesian")
    for problem, binning in zip(problems, found, strict=True):
        cost, edges = algorithm_1(problem["values"], problem["parents"], problem["children"], rate=4.0)
        assert binning.cost == close(cost)
        np.testing.assert_allclose(binning.cuts, edges, rtol=1e-12)


def test_problems_side_by_side_change_nothing(monkeypatch):
    """Other devices than CPUs solve several problems of a batch at a time."""
    tasks = [task_of(problem) for problem in variables(200, 60)]
    one_by_one = dense.solve_small(tasks)
    monkeypatch.setattr(dense, "dense_at_once", lambda: 3)
    for one, other in zip(one_by_one, dense.solve_small(tasks), strict=True):
        assert one.cost == close(other.cost)
        assert one.cuts == other.cuts


def test_products_that_do_not_fit_in_a_float():
    """A hundred children go to the program of all intervals; it finds the same."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=60).round(1)
    children = [((values + rng.normal(size=60) > 0).astype(int), []) for _ in range(100)]
    problem = {"values": values, "parents": [], "children": children}
    assert not dense.fits_dense(task_of(problem))
    cost, _ = algorithm_1(values, [], children, rate=4.0)
    assert all(found.cost == close(cost) for found in solve.solve([task_of(problem)] * 8))
