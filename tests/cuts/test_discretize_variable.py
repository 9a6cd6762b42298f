"""The cuts of one variable are the exact optimum, and what must not matter does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxbn
from tests.helpers.programs import close
from tests.helpers.random_variables import (
    RATES,
    cost_of_edges,
    method_options,
    random_variable,
    reference_cost,
    subset,
    variables,
)
from tests.reference import cuts as reference

GOLDEN = Path(__file__).parents[1] / "golden"
METHODS = ("bayesian", "mdl")
many = settings(deadline=None, derandomize=True, max_examples=200)


def assert_exact(variable: dict[str, Any], method: str, rate: float) -> jaxbn.Binning:
    """The cost is the reference's optimum, and that of the returned edges."""
    binning = jaxbn.discretize_variable(**variable, **method_options(method, rate))
    assert binning.cost == close(reference_cost(variable, method, rate))
    assert binning.cost == close(cost_of_edges(variable, binning.cuts, method, rate))
    return binning


# --- exactness: 150 + 2 * 200 problems here, more in test_pruning.py


@settings(many, max_examples=150)
@given(variables(st.integers(1, 9), most_values=6), st.sampled_from(RATES))
def test_tiny_problems_equal_the_enumeration(variable, rate):
    for method in METHODS:
        binning = jaxbn.discretize_variable(**variable, **method_options(method, rate))
        assert binning.cost == close(reference.enumerate_best(**variable, method=method, rate=rate)[0])
        assert binning.cost == close(cost_of_edges(variable, binning.cuts, method, rate))


@many
@given(variables(st.integers(10, 120)), st.sampled_from(RATES))
def test_bayesian_equals_algorithm_1(variable, rate):
    assert_exact(variable, "bayesian", rate)


@many
@given(variables(st.integers(10, 120)))
def test_mdl_equals_the_program_over_the_number_of_bins(variable):
    assert_exact(variable, "mdl", 1.0)


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 64, 128, 129, 511, 512])
@pytest.mark.parametrize("method", METHODS)
def test_sizes_around_those_of_tiles(n, method):
    assert_exact(random_variable(n, n, n_parents=1, spouses=(1,)), method, 4.0)


# --- golden results


def test_ten_rows_of_the_paper():
    case = json.loads((GOLDEN / "ten_rows.json").read_text())
    table = {name: np.array(column) for name, column in case["columns"].items()}
    for expected in case["reference_output"]:
        binning = jaxbn.discretize_variable(
            table["X"],
            [table[p] for p in expected["parents"]],
            [(table[c], [table[s] for s in spouses]) for c, spouses in expected["children"]],
            rate=expected["rate"],
            method=expected["method"],
        )
        assert binning.cost == pytest.approx(expected["cost"], abs=1e-9)
        np.testing.assert_allclose(binning.cuts, expected["edges"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_iris_as_published(method):
    """Naive Bayes: E is the parent of each; L is 3, the largest cardinality, from the start to the end."""
    case = json.loads((GOLDEN / "iris_naive.json").read_text())
    frame = jaxbn.datasets.load("iris").frame
    names = {letter: frame.columns[position] for letter, position in case["columns"].items()}
    species = np.unique(frame[names["E"]], return_inverse=True)[1]
    for letter, edges in case["expected"][method]["edges"].items():
        binning = jaxbn.discretize_variable(frame[names[letter]], [species], **method_options(method, 3.0))
        np.testing.assert_allclose(binning.cuts, edges, rtol=1e-12, err_msg=letter)


# --- what must not matter


VARIED = [
    {"n": 80, "n_parents": 1},
    {"n": 150, "n_parents": 2, "spouses": (0, 1), "n_values": 40},
    {"n": 700, "n_parents": 1, "spouses": (2,)},
    {"n": 700, "n_parents": 0, "spouses": (1, 0), "n_values": 300},
]


@pytest.fixture(params=range(len(VARIED)), ids=lambda i: f"{VARIED[i]['n']}-{len(VARIED[i].get('spouses', ()))}")
def variable(request) -> dict[str, Any]:
    return random_variable(request.param, **VARIED[request.param])


@pytest.mark.parametrize("method", METHODS)
def test_repeating_rows_equals_weighting_them(variable, method):
    weights = np.random.default_rng(1).integers(0, 4, len(variable["values"]))
    weighted = jaxbn.discretize_variable(**variable, weights=weights, **method_options(method))
    repeated = jaxbn.discretize_variable(
        **subset(variable, np.repeat(np.arange(len(weights)), weights)), **method_options(method)
    )
    assert weighted.cost == close(repeated.cost)
    assert weighted.cuts.tolist() == repeated.cuts.tolist()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [2.0**-40, 2.0**60])
def test_scaling_by_a_power_of_two_changes_nothing_but_the_unit(variable, method, scale):
    binning = jaxbn.discretize_variable(**variable, **method_options(method))
    scaled = jaxbn.discretize_variable(**variable | {"values": variable["values"] * scale}, **method_options(method))
    assert scaled.cost == binning.cost
    assert scaled.cuts.tolist() == (binning.cuts * scale).tolist()


@pytest.mark.parametrize("method", METHODS)
def test_shifting_and_scaling_moves_the_edges_and_leaves_the_cost(variable, method):
    binning = jaxbn.discretize_variable(**variable, **method_options(method))
    moved = jaxbn.discretize_variable(
        **variable | {"values": 3.7 * variable["values"] - 11.3}, **method_options(method)
    )
    assert moved.cost == pytest.approx(binning.cost, rel=1e-9, abs=1e-6)  # gaps are rounded
    np.testing.assert_allclose(moved.cuts, 3.7 * binning.cuts - 11.3, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_mirroring_mirrors_the_edges(variable, method):
    binning = jaxbn.discretize_variable(**variable, **method_options(method))
    mirrored = jaxbn.discretize_variable(**variable | {"values": -variable["values"]}, **method_options(method))
    assert mirrored.cost == close(binning.cost)
    np.testing.assert_allclose(mirrored.cuts, -binning.cuts[::-1])


@pytest.mark.parametrize("method", METHODS)
def test_relabelling_codes_changes_nothing(variable, method):
    names = np.array([7_000_000, 3, 0, 41, 12, 5])

    def rename(codes: np.ndarray) -> np.ndarray:
        return names[codes]

    binning = jaxbn.discretize_variable(**variable, **method_options(method))
    renamed = jaxbn.discretize_variable(
        variable["values"],
        [rename(codes) for codes in variable["parents"]],
        [(rename(codes), [rename(s) for s in spouses]) for codes, spouses in variable["children"]],
        **method_options(method),
    )
    assert renamed.cost == close(binning.cost)
    assert renamed.cuts.tolist() == binning.cuts.tolist()


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_rows_parents_and_children_changes_nothing(variable, method):
    binning = jaxbn.discretize_variable(**variable, **method_options(method))
    rows = np.random.default_rng(2).permutation(len(variable["values"]))
    shuffled = subset(variable, rows)
    shuffled["parents"].reverse()
    shuffled["children"].reverse()
    again = jaxbn.discretize_variable(**shuffled, **method_options(method))
    assert again.cost == close(binning.cost)
    assert again.cuts.tolist() == binning.cuts.tolist()


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_weight_zero_are_as_good_as_absent(variable, method):
    """Also their codes do not count as levels, nor their values as the range."""
    n = len(variable["values"])
    extra = subset(variable, np.append(np.arange(n), [0, 0]))
    extra["values"][n:] = [-50.0, 90.0]
    for codes in [*extra["parents"], *(codes for codes, _ in extra["children"])]:
        codes[n:] = 99
    weights = np.append(np.ones(n, int), [0, 0])
    binning = jaxbn.discretize_variable(**variable, **method_options(method))
    padded = jaxbn.discretize_variable(**extra, weights=weights, **method_options(method))
    assert padded.cost == binning.cost
    assert padded.cuts.tolist() == binning.cuts.tolist()
    assert (padded.lower, padded.upper) == (binning.lower, binning.upper)


@pytest.mark.parametrize("method", METHODS)
def test_a_given_answer_is_repeated_bit_for_bit(variable, method):
    first, second = (jaxbn.discretize_variable(**variable, **method_options(method)) for _ in range(2))
    assert first.cost == second.cost
    assert first.cuts.tolist() == second.cuts.tolist()


def test_results_are_numpy():
    binning = jaxbn.discretize_variable(**random_variable(0, 50, n_parents=1), **method_options("bayesian"))
    assert type(binning.cuts) is np.ndarray
    assert binning.cuts.dtype == np.float64
    assert type(binning.cost) is float
    assert type(binning([0.0])) is np.ndarray
