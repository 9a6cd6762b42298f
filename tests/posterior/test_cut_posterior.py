"""Sums over all cuts of one variable equal enumeration, and draws follow them."""

from __future__ import annotations

import numpy as np
import pytest

import jaxbn
from tests.helpers.random_variables import random_variable
from tests.reference.posterior import cuts_by_enumeration

CASES = [
    {"n": 6, "n_parents": 0},
    {"n": 30, "n_parents": 2, "n_values": 9},
    {"n": 40, "n_parents": 1, "spouses": (0, 2), "n_values": 10},
    {"n": 25, "n_parents": 0, "spouses": (1,), "n_values": 8, "weighted": True},
    {"n": 12, "n_parents": 1, "n_values": 1},
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", CASES, ids=str)
def test_sums_equal_enumeration(case: dict, seed: int) -> None:
    variable = random_variable(seed, **case)
    found, expected = jaxbn.cut_posterior(**variable, shape="flat"), cuts_by_enumeration(**variable)
    assert found.exact
    np.testing.assert_allclose(found.log_evidence, expected["log_evidence"], rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(found.cuts, expected["edges"])
    np.testing.assert_allclose(found.chances, expected["chances"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.bins, expected["bins"], rtol=0, atol=1e-9)


def test_narrow_bins_are_left_out() -> None:
    variable = random_variable(5, 30, n_parents=1, spouses=(0,), n_values=8)
    width = float(np.ptp(variable["values"])) / 9
    found = jaxbn.cut_posterior(**variable, shape="flat", min_width=width)
    expected = cuts_by_enumeration(**variable, min_width=width)
    np.testing.assert_allclose(found.log_evidence, expected["log_evidence"], rtol=1e-12)
    np.testing.assert_allclose(found.chances, expected["chances"], rtol=0, atol=1e-9)
    assert found.log_evidence < jaxbn.cut_posterior(**variable, shape="flat").log_evidence - 0.01


@pytest.mark.parametrize("bins", [1, 2, 6, 10])
def test_the_price_changes_nothing(bins: int) -> None:
    from jaxbn.cuts.discretize_variable import variable_request
    from jaxbn.posterior.cut_posterior import choice_of, sum_over_cuts

    variable = random_variable(1, 40, n_parents=1, spouses=(0, 2), n_values=10)
    (found,) = sum_over_cuts([choice_of(variable_request(**variable), None)], [bins])
    expected = cuts_by_enumeration(**variable)
    np.testing.assert_allclose(found.log_evidence, expected["log_evidence"], rtol=1e-12)
    np.testing.assert_allclose(found.cut_chances(), expected["chances"], rtol=0, atol=1e-9)


def test_draws_follow_the_posterior() -> None:
    variable = random_variable(2, 30, n_parents=2, n_values=9)
    found = jaxbn.cut_posterior(**variable, shape="flat")
    n = 4000
    drawn = found.sample(n, seed=3)
    cut = np.array([np.isin(found.cuts, binning.cuts) for binning in drawn])
    error = np.sqrt(found.chances * (1 - found.chances) / n)
    assert (np.abs(cut.mean(axis=0) - found.chances) <= 4 * error + 1e-12).all()
    bins = np.bincount([binning.n_bins for binning in drawn], minlength=len(found.bins) + 1)[1:] / n
    assert (np.abs(bins - found.bins) <= 4 * np.sqrt(found.bins * (1 - found.bins) / n) + 1e-12).all()
    together = (cut[:, 0] & cut[:, 1]).mean()  # cuts are not independent: their pairs are drawn rightly too
    pair = _pair_chance(variable, found.cuts[:2])
    assert abs(together - pair) <= 4 * np.sqrt(pair * (1 - pair) / n)


def _pair_chance(variable: dict, edges: np.ndarray) -> float:
    from tests.reference.evidence import evidence_cost
    from tests.reference.posterior import every_policy

    binnings = list(every_policy(np.unique(variable["values"])))
    logs = np.array([-evidence_cost(variable["values"], variable["parents"], (), cuts) for cuts in binnings])
    weights = np.exp(logs - logs.max())
    return float(weights[[np.isin(edges, cuts).all() for cuts in binnings]].sum() / weights.sum())


def test_draws_are_reproducible_and_many_bins_have_room() -> None:
    """A child that changes with every value: more bins than there is room for at first."""
    x = np.repeat(np.arange(100), 12)
    found = jaxbn.cut_posterior(x, children=[(x % 2, ())])
    assert found.expected_bins > 90
    assert abs(found.bins.sum() - 1) < 1e-9
    assert abs(found.chances.sum() + 1 - found.expected_bins) < 1e-6
    first, second = found.sample(2, seed=1), found.sample(2, seed=1)
    assert first == second


def test_a_grid_says_so() -> None:
    x = np.random.default_rng(0).normal(size=400)
    found = jaxbn.cut_posterior(x, parents=[(x > 0).astype(int)], grid=64)
    assert not found.exact
    assert "grid" in repr(found)
    assert len(found.cuts) == 63
    whole = jaxbn.cut_posterior(x, parents=[(x > 0).astype(int)])
    assert abs(found.expected_bins - whole.expected_bins) < 1


def test_the_grid_is_limited() -> None:
    with pytest.raises(ValueError, match="grid must be at most 2048, got 5000"):
        jaxbn.cut_posterior([0.0, 1.0], grid=5000)


@pytest.mark.parametrize("n", [20, 400, 3000])
def test_chances_of_cuts_add_up_to_the_expected_number(n: int) -> None:
    found = jaxbn.cut_posterior(np.random.default_rng(0).normal(size=n))
    assert found.chances.sum() == pytest.approx(found.expected_bins - 1, rel=1e-9)
    assert ((found.chances >= 0) & (found.chances <= 1)).all()


@pytest.mark.parametrize("most", [1, 2, 3])
def test_few_bins_are_summed_where_the_evidence_is_all_for_many(most: int) -> None:
    from jaxbn.cuts.discretize_variable import variable_request
    from jaxbn.posterior.cut_posterior import choice_of, sum_over_cuts
    from tests.reference.evidence import evidence_cost

    values = np.repeat(np.arange(300.0), 9)  # a parent that changes with every value: many bins say it all
    parent = np.repeat(np.arange(300) % 7, 9)
    request = variable_request(values, [parent], [], method="evidence")
    (found,) = sum_over_cuts([choice_of(request, None, most)])
    assert np.isneginf(found.log_bins[most:]).all()
    assert found.bin_chances.sum() == pytest.approx(1)
    assert found.log_bins[0] - found.choice.constant == pytest.approx(-evidence_cost(values, [parent], (), []))
    for ranks in found.draw(np.random.default_rng(0), 5):
        assert len(ranks) < most
