"""The shapes that programs are compiled for hold their problems, and padding to them changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxbn.cuts import solve
from jaxbn.kernels.pruned.block import BLOCK
from jaxbn.runtime.shapes import pruned_shape
from tests.helpers.programs import close, task_of
from tests.helpers.random_variables import random_variable, reference_cost


@given(st.integers(1, 3_000_000), st.integers(1, 300), st.integers(1, 20_000), st.integers(0, 3_000_000))
def test_a_bucket_holds_its_problem(n_rows, n_terms, n_cells, more_weight):
    shape = pruned_shape(n_rows, n_terms, n_cells, n_rows + more_weight)
    assert n_rows <= shape.rows < 2 * max(n_rows, 1024)
    assert n_terms <= shape.terms < 2 * max(n_terms, 16)
    assert n_cells <= shape.cells
    assert shape.length >= n_rows + more_weight + 2 * BLOCK  # a table has an entry for every count
    assert shape.tables >= n_terms // 2 + 3
    assert shape.width <= shape.recent <= shape.rows
    assert shape.settled <= shape.rows


@pytest.mark.parametrize(
    ("n", "options"), [(600, {"n_parents": 1}), (900, {"n_parents": 3, "spouses": (1, 2, 0), "weighted": True})]
)
def test_padding_changes_nothing(n, options, buckets_of_users, monkeypatch):
    problem = random_variable(0, n, **options)
    task = task_of(problem)
    own = solve.solve([task])[0]
    roomy = buckets_of_users(4096, 16, 128, 12_000)
    monkeypatch.setattr(solve, "pruned_shape", lambda *_, **__: roomy)
    padded = solve.solve([task])[0]
    assert own.cost == close(padded.cost)
    assert own.cuts == padded.cuts
    assert own.cost == close(reference_cost(problem, "bayesian", 4.0))
