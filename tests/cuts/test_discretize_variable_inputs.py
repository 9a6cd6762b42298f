"""What comes in is checked, and numbers at the ends of the floats are handled."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln

import jaxbn
from jaxbn.cuts.sorted_values import cut_costs, midpoints
from jaxbn.inputs.checks import MAX_TOTAL_WEIGHT
from tests.helpers.random_variables import method_options
from tests.reference import cuts as reference

METHODS = ("bayesian", "mdl")
X = np.array([0.5, 1.5, 2.5, 3.5])
CODES = np.array([0, 1, 0, 1])


def refused(error: type[Exception], message: str, *args: Any, **options: Any) -> None:
    """The call fails with a message that contains this text."""
    with pytest.raises(error, match=re.escape(message)):
        jaxbn.discretize_variable(*args, **method_options(options.get("method", "bayesian")) | options)


# --- refused, with the argument, the value and the remedy


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(value):
    message = f"values must be finite, got {value} in row 2 (1 such rows); drop or fill these rows"
    refused(ValueError, message, [1.0, 2.0, value, 3.0], [CODES])


def test_empty_input():
    refused(ValueError, "values is empty; pass at least one row", [])
    refused(ValueError, "values is empty; pass at least one row", np.zeros(0), [np.zeros(0, int)], weights=[])


@pytest.mark.parametrize("values", [3.0, np.ones((4, 1))])
def test_values_that_are_not_one_column(values):
    refused(ValueError, f"values must be one-dimensional, got shape {np.shape(values)}; pass one column", values)


def test_lengths_that_differ():
    each = "must have one entry for each of the 4 rows, got shape (3,)"
    short = CODES[:3]
    refused(ValueError, f"parents[1] {each}", X, [CODES, short])
    refused(ValueError, f"children[0] {each}", X, [], [(short, [])])
    refused(ValueError, f"children[1] spouse 0 {each}", X, [], [(CODES, []), (CODES, [short])])
    refused(ValueError, f"weights {each}", X, [CODES], weights=short)


@pytest.mark.parametrize("place", ["parents[0]", "children[0]", "children[0] spouse 0"])
@pytest.mark.parametrize(
    ("code", "what"),
    [(-1, "not be negative"), (0.5, "be whole numbers"), (np.nan, "be whole numbers"), (1e300, "be below 2^53")],
)
def test_codes_that_are_no_codes(place, code, what):
    bad = np.array([0, 1, code, 1])
    arguments = {
        "parents[0]": ([bad], []),
        "children[0]": ([], [(bad, [])]),
        "children[0] spouse 0": ([], [(CODES, [bad])]),
    }
    refused(ValueError, f"{place} must {what}, got {bad[2]} in row 2; code them as 0, 1, …", X, *arguments[place])


def test_codes_too_large_for_an_integer():
    refused(ValueError, "parents[0] must be below 2^53", X, [np.array([0, 2**64 - 1, 1, 2], np.uint64)])


@pytest.mark.parametrize(
    ("weight", "what"),
    [(-2, "not be negative"), (1.5, "be whole numbers"), (np.inf, "be whole numbers"), (2**62, "be below 2^53")],
)
def test_weights_that_are_no_counts(weight, what):
    weights = np.array([1, weight, 1, 1])
    message = f"weights must {what}, got {weights[1]} in row 1; give each row the whole number of times it counts"
    refused(ValueError, message, X, [CODES], weights=weights)


def test_weights_all_zero():
    refused(ValueError, "weights are all zero; at least one row must count", X, [CODES], weights=np.zeros(4))


def test_weights_that_ask_for_too_much_memory():
    message = f"weights sum to {2**30 + 3}, more than {MAX_TOTAL_WEIGHT}; divide them by a common factor"
    refused(ValueError, message, X, [CODES], weights=[1, 1, 2**30, 1])


@pytest.mark.parametrize("rate", [0, -1.0, np.nan, np.inf, 10**400])
def test_a_rate_that_is_not_above_zero_and_finite(rate):
    shown = np.inf if rate == 10**400 else float(rate)
    refused(ValueError, f"rate must be finite and above zero, got {shown}; for example 4.0", X, [CODES], rate=rate)
    for method in ("mdl", "evidence"):
        refused(ValueError, "rate is for method='bayesian', got", X, [CODES], rate=rate, method=method)


@pytest.mark.parametrize("rate", ["4", [4.0], True])
def test_a_rate_that_is_no_number(rate):
    refused(TypeError, f"rate must be a number, got {rate!r} of type {type(rate).__name__}", X, [CODES], rate=rate)


def test_a_rate_left_out():
    refused(ValueError, "rate is missing; the bayesian method needs L > 0", X, [CODES], rate=None)


def test_strings_where_numbers_belong():
    words = ["a", "b", "a", "b"]
    refused(TypeError, "values must be numbers, got np.str_('a') of type <U1; convert them first", words, [CODES])
    refused(TypeError, "values must be numbers, got 'a' of type object", np.array(words, object), [CODES])
    coded = "must be integers, got np.str_('a') of type <U1; code them as 0, 1, …"
    refused(TypeError, f"parents[0] {coded}", X, [words])
    refused(TypeError, f"children[0] {coded}", X, [], [(words, [])])
    refused(TypeError, f"children[0] spouse 0 {coded}", X, [], [(CODES, [words])])
    refused(TypeError, "weights must be integers, got np.str_('a')", X, [CODES], weights=words)


def test_a_child_without_its_pair():
    refused(ValueError, "children[0] must be a pair (codes, (spouse codes, ...)); write (codes, ())", X, [], [CODES])


def test_an_unknown_method():
    refused(
        ValueError, "method must be one of 'evidence', 'bayesian', 'mdl', got 'entropy'", X, [CODES], method="entropy"
    )


def test_more_configurations_than_a_float_can_hold():
    rng = np.random.default_rng(0)
    columns = [rng.permutation(30) for _ in range(210)]  # 30^210 is about 10^310
    values = rng.normal(size=30)
    remedy = "about 10^310 joint configurations, more than 10^300; pass fewer of them or merge their levels"
    for method in METHODS:
        refused(ValueError, f"parents have {remedy}", values, columns, method=method)
        children = [(columns[0], []), (columns[0], columns)]
        refused(ValueError, f"spouses of children[1] have {remedy}", values, [], children, method=method)


# --- unusual, with the right answer


@pytest.mark.parametrize("method", METHODS)
def test_one_row(method):
    binning = jaxbn.discretize_variable([7.0], [[3]], [([1], [[2]])], **method_options(method))
    assert (binning.n_bins, binning.cuts.tolist(), binning.cost) == (1, [], 0.0)
    assert (binning.lower, binning.upper) == (7.0, 7.0)


@pytest.mark.parametrize("n", [5, 3000])
def test_all_values_equal(n):
    """One bin, and h alone: with half the rows in each of two states, ln (n + 1)! - 2 ln (n/2)!."""
    codes = np.arange(n) % 2
    binning = jaxbn.discretize_variable(np.full(n, 2.5), [codes], rate=4.0, method="bayesian")
    counts = np.bincount(codes)
    assert binning.cuts.tolist() == []
    assert binning.cost == pytest.approx(gammaln(n + 2) - gammaln(counts + 1).sum(), rel=1e-12)
    assert jaxbn.discretize_variable(np.full(n, 2.5), [codes], method="mdl").cost == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_parent_with_one_level_is_as_good_as_none(method):
    with_parent = jaxbn.discretize_variable(X, [np.full(4, 9)], [(CODES, [])], **method_options(method))
    without = jaxbn.discretize_variable(X, [], [(CODES, [])], **method_options(method))
    assert (with_parent.cost, with_parent.cuts.tolist()) == (without.cost, without.cuts.tolist())


def test_an_empty_blanket_leaves_the_prior():
    assert jaxbn.discretize_variable(X, rate=4.0, method="bayesian").cost == pytest.approx(
        reference.algorithm_1(X, rate=4.0)[0]
    )
    assert jaxbn.discretize_variable(X, method="mdl").cost == pytest.approx(reference.mdl_program(X)[0], abs=1e-12)


@pytest.mark.parametrize("n", [300, 600])
def test_cardinality_product_past_two_to_the_31(n):
    """Four parents with n levels each: K = n^4 with few of the configurations seen."""
    rng = np.random.default_rng(n)
    values, parents = rng.normal(size=n), [rng.permutation(n) for _ in range(4)]
    binning = jaxbn.discretize_variable(values, parents, rate=float(n), method="bayesian")
    k = float(n) ** 4
    assert k > 2**31
    log_states = [np.log(k + np.arange(size)).sum() for size in np.bincount(binning(values))]
    is_cut = np.diff(binning(np.sort(values))) > 0
    cost = n + cut_costs(np.sort(values), n)[:-1][is_cut].sum() + sum(log_states)
    assert binning.cost == pytest.approx(cost, rel=1e-12)
    if n > 300:  # the reference takes its time
        return
    expected = reference.mdl_program(values, parents)[0]
    assert jaxbn.discretize_variable(values, parents, method="mdl").cost == pytest.approx(expected, rel=1e-9, abs=1e-6)


def test_whole_numbers_may_be_floats_or_booleans():
    plain = jaxbn.discretize_variable(X, [CODES], rate=4.0, weights=[1, 2, 1, 3], method="bayesian")
    same = jaxbn.discretize_variable(
        list(X), [CODES.astype(bool)], rate=4, weights=[1.0, 2.0, 1.0, 3.0], method="bayesian"
    )
    assert (plain.cost, plain.cuts.tolist()) == (same.cost, same.cuts.tolist())


def test_arguments_are_not_changed():
    values, codes, weights = np.array([3.0, 1.0, 2.0]), np.array([5, 0, 5]), np.array([1, 0, 2])
    jaxbn.discretize_variable(values, [codes], [(codes, [codes])], rate=1.0, weights=weights, method="bayesian")
    assert (values.tolist(), codes.tolist(), weights.tolist()) == ([3.0, 1.0, 2.0], [5, 0, 5], [1, 0, 2])


# --- numbers at the ends of the floats


HALVES = np.repeat([0, 1], 20)
TINY = np.nextafter(0.0, 1.0)
SPREAD = np.linspace(0.0, 1.0, 40)
EXTREMES = {
    "one ulp apart": np.repeat([1.0, np.nextafter(1.0, 2.0)], 20),
    "one ulp apart, odd": np.repeat([np.nextafter(1.0, 2.0), np.nextafter(np.nextafter(1.0, 2.0), 2.0)], 20),
    "runs of ulps": 1.0 + np.arange(40) * np.spacing(1.0),
    "smallest denormals": np.repeat([0.0, TINY], 20),
    "denormals": np.arange(40) * TINY,
    "denormals of both signs": (np.arange(40) - 20) * TINY,
    "range 1e-300": SPREAD * 1e-300,
    "range 1e300": SPREAD * 1e300,
    "range 1e308": (0.4 + SPREAD) * 1e308,
    "a range beyond the floats": (2 * SPREAD - 1) * 1.7e308,
    "a gap beyond the floats": np.repeat([-1.7e308, 1.7e308], 20),
    "large neighbours": np.repeat([1.6e308, 1.7e308], 20),
    "a gap that is no share of the range": np.concatenate([np.zeros(20), np.full(19, 1e-300), [1e300]]),
    "denormals in a range beyond the floats": np.concatenate([[-1.7e308], np.zeros(19), np.full(19, TINY), [1.7e308]]),
    "both zeros": np.concatenate([np.full(10, -0.0), np.zeros(10), np.ones(20)]),
}


def finite_binning(values: np.ndarray, codes: np.ndarray = HALVES, **options: Any) -> jaxbn.Binning:
    """A binning with a finite cost, found without a warning, whose codes keep the distinct values in order."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        binning = jaxbn.discretize_variable(values, [codes], **options)
        bins = binning(values)
    assert np.isfinite(binning.cost)
    assert np.isfinite(binning.cuts).all()
    assert np.unique(bins).tolist() == list(range(binning.n_bins))
    distinct = np.unique(values)
    assert np.diff(binning(distinct)).max(initial=0) <= 1
    for edge in binning.cuts:  # left < edge <= right, with nothing between but the edge
        assert (distinct < edge).any()
        assert (distinct >= edge).any()
    return binning


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_values(name, method):
    binning = finite_binning(EXTREMES[name], **method_options(method))
    if len(np.unique(EXTREMES[name])) == 2:
        assert binning(EXTREMES[name]).tolist() == HALVES.tolist()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", [name for name, values in EXTREMES.items() if len(np.unique(values)) == 40])
def test_extreme_values_cost_what_ordinary_ones_do(name, method):
    """Evenly spaced values, whatever the unit: the same cuts at the same cost."""
    plain = finite_binning(np.arange(40.0), **method_options(method))
    extreme = finite_binning(EXTREMES[name], **method_options(method))
    assert extreme.cost == pytest.approx(plain.cost, rel=1e-9)
    assert extreme(EXTREMES[name]).tolist() == plain(np.arange(40.0)).tolist()


@pytest.mark.parametrize("rate", [TINY, 1e-300, 1e-12, 1e-6, 1e6, 1e12, 1e300, 1.7e308])
@pytest.mark.parametrize("name", ["range 1e-300", "range 1e300", "denormals", "a gap that is no share of the range"])
def test_extreme_rates(name, rate):
    finite_binning(EXTREMES[name], **method_options("bayesian", rate))


@pytest.mark.parametrize("rate", [1e-12, 1e-6, 1e3, 1e6])
def test_unusual_rates_are_exact(rate):
    values = SPREAD**2
    binning = finite_binning(values, **method_options("bayesian", rate))
    assert binning.cost == pytest.approx(reference.algorithm_1(values, [HALVES], rate=rate)[0], rel=1e-9)


def test_a_cut_in_a_gap_too_small_for_a_share_is_made_where_it_pays():
    """L g is 4e-600, no float, but w = 1380.2 is: 4,000 rows that a cut tells apart are worth it."""
    values = np.concatenate([np.zeros(2000), np.full(2000, 1e-300), [1e300]])
    codes = np.append(np.repeat([0, 1], 2000), 0)
    binning = finite_binning(values, codes, **method_options("bayesian"))
    assert binning(values).tolist() == np.append(np.repeat([0, 1], 2000), 2).tolist()
    w = [600 * np.log(10) - np.log(4), -4 - np.log1p(-np.exp(-4))]
    assert binning.cost == pytest.approx(4 + sum(w) + 2 * np.log(2001) + np.log(2), rel=1e-12)


@pytest.mark.parametrize("rate", [1e-300, 1e-12, 1.0, 700.0, 1e6, 1e300])
def test_cut_costs_neither_overflow_nor_underflow(rate):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        costs = cut_costs(np.array([0.0, 1e-300, 1e-300, 1.0, 1e300]), rate)
    assert costs[1] == np.inf
    assert costs[-1] == 0
    assert np.isfinite(np.delete(costs, 1)).all()
    if rate <= 1e-12:  # w = -ln x for a small x = L g
        np.testing.assert_allclose(costs[[0, 2, 3]], -np.log(rate) + np.array([600, 300, 0]) * np.log(10), rtol=1e-12)
    if rate >= 700:  # w = -x for a large one
        assert costs[3] == pytest.approx(-rate)


@pytest.mark.parametrize(
    ("left", "right"),
    [(1.0, np.nextafter(1.0, 2.0)), (0.0, TINY), (-TINY, 0.0), (1.6e308, 1.7e308), (-1.7e308, 1.7e308), (2.0, 3.0)],
)
def test_a_midpoint_keeps_its_neighbours_apart(left, right):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (middle,) = midpoints(np.array([left]), np.array([right]))
    assert left < middle <= right
