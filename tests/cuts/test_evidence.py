"""Cuts of one variable by the evidence in original units: always the optimum."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import comb

import jaxbn
from jaxbn.cuts import solve
from jaxbn.cuts.by_number import charged
from jaxbn.cuts.evidence import choice_cost
from jaxbn.cuts.grouped_rows import GroupedRows
from jaxbn.cuts.interval_costs import CostMatrix
from tests.helpers.programs import close, gauss, priced_by_definition, prices_and_few_slots, rows_of
from tests.helpers.random_variables import cost_of_edges, method_options, random_variable, reference_cost
from tests.reference import evidence as reference
from tests.reference import network
from tests.reference.cuts import prepare

SHAPES = [(0, ()), (1, ()), (2, ()), (0, (0,)), (1, (1,)), (2, (0, 2))]  # parents, spouses of each child


def assert_exact(problem: dict[str, Any], min_width: float | None = None) -> jaxbn.Binning:
    """The cost is the reference's optimum under the same rules, and that of the returned edges."""
    binning = jaxbn.discretize_variable(**problem, method="evidence", shape="flat", max_bins=None, min_width=min_width)
    expected, _ = reference.layered_evidence(**problem, min_width=min_width)
    assert binning.cost == close(expected)
    assert binning.cost == close(reference.evidence_cost(**problem, cuts=binning.cuts))
    assert reference.is_allowed(binning.cuts, prepare(**problem).distinct, min_width)
    return binning


# --- one variable, every partition


def tiny(seed: int, shape: tuple[int, tuple[int, ...]]) -> dict[str, Any]:
    """At most eight distinct values: with repeats and weights or without."""
    rng = np.random.default_rng(seed)
    n_values = int(rng.integers(1, 9)) if seed % 2 else None
    n = 14 if n_values else int(rng.integers(1, 9))
    return random_variable(seed, n, n_parents=shape[0], spouses=shape[1], n_values=n_values, weighted=seed // 2 % 2 > 0)


def some_width(problem: dict[str, Any], kind: int) -> float | None:
    """No limit, the smallest gap, or a share of the range that forbids much or all."""
    distinct = prepare(**problem).distinct
    if kind == 0 or len(distinct) == 1:
        return [None, 1.0][kind > 0]
    span = float(np.ptp(distinct))
    return [None, float(np.diff(distinct).min()), 0.1 * span, 0.3 * span, 2 * span][kind]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_cost_is_the_least_of_all_partitions(shape):
    for seed in range(60):
        problem = tiny(seed, shape)
        width = some_width(problem, seed // 4 % 5)
        binning = jaxbn.discretize_variable(**problem, method="evidence", shape="flat", max_bins=None, min_width=width)
        assert binning.cost == close(reference.enumerate_evidence(**problem, min_width=width)[0])
        assert binning.cost == close(reference.evidence_cost(**problem, cuts=binning.cuts))
        assert reference.is_allowed(binning.cuts, prepare(**problem).distinct, width)
        assert binning.method == "evidence"


def test_a_constant_and_a_single_row_have_one_bin():
    child = np.array([0, 1, 1])
    for values, own in ([2.5, 2.5, 2.5], child), ([7.0], child[:1]):
        binning = jaxbn.discretize_variable(
            values, children=[(own, ())], method="evidence", shape="flat", max_bins=None, min_width=1.0
        )
        assert binning.n_bins == 1
        assert binning.cost == close(-network.k2_family_score(own, [], 0.5))


def test_values_that_span_all_floats():
    binning = jaxbn.discretize_variable(
        [-1.5e308, 0.0, 1.5e308], [[0, 1, 1]], method="evidence", shape="flat", max_bins=None
    )
    assert np.isfinite(binning.cost)


@pytest.mark.parametrize("way", ["matrix", "pruned"])
@pytest.mark.parametrize("sides", ["left", "right", "both"])
def test_values_closer_than_the_rounding_of_their_range(sides, way):
    """Of exp(20 z) and the like most values lie within 1e-16 of the range from each other, all of them near zero."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=120)
        sign = {"left": -1, "right": 1, "both": np.where(rng.random(120) < 0.5, -1, 1)}[sides]
        stretch = (z * sign).argsort().argsort() * 5 // 120
        noisy = np.where(rng.random(120) < 0.2, rng.integers(0, 3, 120), stretch % 3)
        problem = {"values": sign * np.exp(20 * z), "parents": [noisy], "children": [(stretch % 2, [])]}
        with prices_and_few_slots() if way == "pruned" else nullcontext():
            assert assert_exact(problem).n_bins > 3


@pytest.mark.parametrize("n", [20, 100, 1000])
def test_noise_is_not_cut_at_every_value(n):
    """With a charge that falls again near k = m the finest partition would win in many of these."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        problem = {"values": rng.normal(size=n), "parents": list(rng.integers(0, 2, (2, n))), "children": []}
        binning = jaxbn.discretize_variable(**problem, method="evidence", shape="flat", max_bins=None)
        assert binning.n_bins <= 8
        if n < 1000:
            assert binning.cost == close(reference.layered_evidence(**problem)[0])


@pytest.mark.parametrize("m", [1, 2, 3, 7, 20, 300])
def test_the_charge_is_that_of_the_prior_by_integration(m):
    b = round(m**0.5)
    density = b / (1 - 2.0**-b)
    for k in {1, 2, m // 2, m} & set(range(1, m + 1)):
        probability, _ = quad(lambda p, k=k: density * p ** (k - 1) * (1 - p) ** (m - k + b - 1), 0, 0.5, epsabs=0)
        assert float(choice_cost(m, k)) == pytest.approx(-np.log(probability), rel=1e-6)


@pytest.mark.parametrize("m", [1, 2, 10, 1000, 100_000])
def test_the_charge_rises_with_every_cut(m):
    costs = choice_cost(m, np.arange(1, m + 1))
    assert np.isfinite(costs).all()
    assert (np.diff(costs) > 0).all()
    partitions = np.exp(-costs[:20]) * comb(m - 1, np.arange(min(m, 20)))
    assert partitions.sum() == pytest.approx(1.0) if m <= 20 else partitions.sum() < 1


def test_weights_are_repeated_rows():
    problem = random_variable(4, 90, n_parents=1, spouses=(1,), n_values=30, weighted=True)
    weights = problem.pop("weights")
    rows = np.repeat(np.arange(90), weights)
    repeated = {
        "values": problem["values"][rows],
        "parents": [codes[rows] for codes in problem["parents"]],
        "children": [(codes[rows], [s[rows] for s in spouses]) for codes, spouses in problem["children"]],
    }
    weighted = jaxbn.discretize_variable(**problem, weights=weights, method="evidence", shape="flat", max_bins=None)
    plain = jaxbn.discretize_variable(**repeated, method="evidence", shape="flat", max_bins=None)
    assert weighted.cost == close(plain.cost)


def test_shift_and_scale_move_the_cuts_along():
    problem = random_variable(7, 200, n_parents=1, spouses=(0,))
    binning = jaxbn.discretize_variable(**problem, method="evidence", shape="flat", max_bins=None, min_width=0.02)
    moved = problem | {"values": 8 * problem["values"] + 3}
    other = jaxbn.discretize_variable(**moved, method="evidence", shape="flat", max_bins=None, min_width=0.16)
    assert other.cost == close(binning.cost + 200 * np.log(8))  # the density is per unit
    np.testing.assert_allclose(other.cuts, 8 * binning.cuts + 3, rtol=1e-9)


# --- one variable, 500 rows


MANY: dict[str, tuple[dict[str, Any], float | None]] = {
    "gauss": (gauss(0), None),
    "gauss, limited": (gauss(1), 0.2),
    "no neighbours": ({"values": np.random.default_rng(2).gamma(2.0, size=500), "parents": [], "children": []}, None),
    "rounded": (gauss(3) | {"values": gauss(3)["values"].round(1)}, 0.1),
    "repeats": (random_variable(5, 500, n_parents=2, spouses=(1,), n_values=90), None),
    "weights": (random_variable(6, 500, n_parents=1, spouses=(1, 0), weighted=True), 0.01),
    "steep": (random_variable(9, 500, n_parents=2, spouses=(2,)), None),
}


@pytest.mark.parametrize("name", MANY)
def test_500_rows_equal_the_program_over_the_number_of_bins(name):
    problem, width = MANY[name]
    assert assert_exact(problem, width).n_bins > 1


def test_prices_and_pruning_with_few_slots_change_nothing():
    """Starts are appended in chunks, dropped at once or at a later row, compacted, and given more room."""
    with prices_and_few_slots() as calls:
        for problem, width in MANY.values():
            assert_exact(problem, width)
    for what in ("chunks", "doomed", "more"):
        assert any(call[what] for call in calls), what


@pytest.mark.parametrize("method", ["bayesian", "mdl"])
def test_the_other_methods_with_few_slots(method):
    with prices_and_few_slots() as calls:
        for problem, _ in (MANY[name] for name in MANY if name != "weights"):
            binning = jaxbn.discretize_variable(**problem, **method_options(method))
            assert binning.cost == close(reference_cost(problem, method, 4.0))
            assert binning.cost == close(cost_of_edges(problem, binning.cuts, method, 4.0))
    assert any(call["chunks"] for call in calls)


@pytest.mark.parametrize("way", ["pruned", "matrix"])
@pytest.mark.parametrize("n", [60, 130])
def test_random_variables_by_prices(n, way, monkeypatch):
    """Few positions too, by the pruned program or with the costs of all intervals worked out first."""
    monkeypatch.setattr(charged, "FEW_LAYERS", 0)
    with prices_and_few_slots() if way == "pruned" else nullcontext():
        for seed in range(40):
            shape = SHAPES[seed % len(SHAPES)]
            n_values, weighted = [None, 20, 45][seed % 3], seed // 2 % 2 > 0
            problem = random_variable(
                seed + n, n, n_parents=shape[0], spouses=shape[1], n_values=n_values, weighted=weighted
            )
            assert_exact(problem, some_width(problem, [0, 1, 2, 0][seed % 4]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gauss", "gauss, limited", "rounded", "steep"])
def test_pruned_equals_unpruned(name):
    problem, width = MANY[name]
    rows = rows_of(problem, width)
    log_range = rows.total * np.log(np.ptp(prepare(**problem).distinct))
    prices = [1.0, 6.0, 0.5, 2.0, 4.0, 9.0, 15.0, 30.0]
    with CostMatrix(GroupedRows(rows, rows.positions())) as matrix:
        unpruned = matrix.solve_at(prices)
    with prices_and_few_slots():
        together = solve.solve_at_prices(rows, prices)
        alone = [solve.solve_at_prices(rows, [price] * len(prices))[0] for price in prices]
    for price, full, found, single in zip(prices, unpruned, together, alone, strict=True):
        assert found.cost == close(full.cost)
        assert single.cost == close(full.cost)
        assert single.live <= full.live
        assert found.live <= full.live
        assert found.cost + log_range == close(priced_by_definition(problem, width, price))
