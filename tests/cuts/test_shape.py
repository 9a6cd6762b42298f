"""The shape of a column alone: recorded digits, the mean of all histograms, and cuts on its ruler."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest

import jaxbn
from jaxbn.cuts.shapes.base_density import ValueCounts, cells, column_shapes, distinct, histograms_mean
from jaxbn.cuts.shapes.inside import InsideBins
from jaxbn.cuts.shapes.recording import Recording, _preferred, recorded, recording_step
from jaxbn.cuts.shapes.shape import Places, Shape
from jaxbn.cuts.sorted_values import sort_values
from tests.helpers.programs import close
from tests.helpers.random_variables import random_variable
from tests.reference import shape as reference
from tests.reference.cuts import prepare

DIGITS = Recording(0.5, (1.6, 0.4))


def column(seed: int, recording: Recording):
    rng = np.random.default_rng(seed)
    values = np.round(rng.gamma(1.5, 3, 60) * 2) / 2 if recording.step else rng.gamma(1.5, 3, 60)
    kept = rng.choice(np.unique(values), 9, replace=False)
    return distinct(sort_values(rng.choice(kept, 40)))


@pytest.mark.parametrize("atoms", [False, True])
@pytest.mark.parametrize("recording", [Recording(0.5), DIGITS], ids=["plain", "digits"])
def test_the_base_density_is_the_mean_of_all_histograms(recording, atoms):
    for seed in range(8):
        rows = column(seed, recording)
        rows = ValueCounts(rows.values[:6], rows.counts[:6]) if atoms else rows
        found = histograms_mean(rows, recording, 0.0, atoms)
        expected, log_evidence, ends = reference.base_density(*rows, recording.step, recording.weights, atoms)
        assert found.log_evidence * rows.counts.sum() == pytest.approx(log_evidence, abs=1e-9)
        np.testing.assert_allclose(found.knots, ends, atol=1e-12)
        lengths = [reference.length(a, b, recording.step, recording.weights) for a, b in pairwise(ends)]
        # the masses are kept to six digits
        np.testing.assert_allclose(found.masses, expected * lengths, rtol=1e-5)


def test_a_value_that_stands_by_itself_is_not_spread_over_the_gaps_around_it():
    values = np.concatenate([np.repeat([198.0, 225.0, 231.0, 250.0, 318.0], 15), np.arange(300.0, 310.0, 0.5)])
    shape = column_shapes(sort_values(values))[1]
    assert np.diff(shape.below([317.75, 318.25]))[0] == pytest.approx(15 / len(values), rel=0.15)
    # every distribution function of sampled rows keeps close to that of the rows
    below = np.array([np.mean(values <= v) for v in np.unique(values)])
    np.testing.assert_allclose(shape.below(np.unique(values) + 0.25), below, atol=0.02)


def test_zeros_and_caps_of_a_column_without_a_grid_stand_alone():
    rng = np.random.default_rng(0)
    values = np.concatenate([np.zeros(300), rng.lognormal(3, 1, 400).clip(max=np.e**4)])
    shape = column_shapes(sort_values(values))[1]
    drawn = shape.recording.rounded(shape.quantile(rng.random(4000)))
    assert np.mean(drawn == 0) == pytest.approx(300 / 700, abs=0.03)
    assert np.mean(np.isclose(drawn, np.e**4)) == pytest.approx(np.mean(values == np.e**4), abs=0.03)
    assert len(np.unique(drawn)) > 500
    by_chance = column_shapes(sort_values(np.append(values[300:], [1.5, 1.5])))[1]
    assert by_chance.density(1.5) < 10 * by_chance.density(1.6)


def test_the_mean_of_all_histograms_to_the_last_digits():
    from jaxbn.cuts.shapes.base_density import mean_heights

    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = column(seed, Recording())
        if seed % 2:
            rows = rows._replace(counts=rng.integers(1, 400, len(rows.values)))
        expected, log_evidence, ends = reference.base_density(*rows)
        heights, found = mean_heights(rows.counts, ends)
        np.testing.assert_allclose(heights, expected, rtol=1e-9)
        assert found == pytest.approx(log_evidence, abs=1e-9 * abs(log_evidence))


@pytest.mark.parametrize("end", [1.0, -1.0])
def test_values_that_no_number_lies_between_share_a_cell(end):
    """The middle of the last two values is rounded to the last one: the cell between them would have no length."""
    values = end * np.append(np.linspace(-1, 0.9, 400), [np.nextafter(1, 0), 1.0])
    column = distinct(sort_values(values))
    knots, counts = cells(column, Recording())
    assert (np.diff(knots) > 0).all()
    assert len(counts) == len(knots) - 1
    assert counts.sum() == len(values)
    assert np.isfinite(histograms_mean(column, Recording()).log_evidence)


def test_values_too_close_for_a_share_of_the_range_share_a_cell():
    """Values that saturate: neighbouring floats, one of which is lost when lengths are divided by the range."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        saturated = 1 - rng.integers(1, 40, 30) * 2.0**-53
        values = np.concatenate([[-0.95], rng.uniform(-0.9, 0.9, 40), saturated])
        for shape in column_shapes(sort_values(values)):
            assert np.isfinite(shape.log_evidence)
            assert (np.diff(shape.knots) > 0).all()


def test_heavy_tails_have_a_density_everywhere():
    rng = np.random.default_rng(0)
    for scale in (1, 5, 20):
        values = np.sinh(scale * rng.standard_normal(2000))
        for shape in column_shapes(sort_values(values)):
            assert (shape.density(values) > 0).all()
            assert (np.diff(shape.below(shape.knots)) >= 0).all()


@pytest.mark.parametrize("seed", range(6))
def test_shapes_are_densities(seed):
    rng = np.random.default_rng(seed)
    values = [
        rng.normal(size=300),
        np.round(rng.gamma(2, 20, 500), 1),
        np.where(rng.random(400) < 0.4, 0.0, rng.gamma(1, 3, 400)),
        np.repeat(np.arange(40.0), rng.integers(1, 9, 40)),
        np.where(rng.random(900) < 0.8, np.round(rng.normal(50, 12, 900) / 5) * 5, np.round(rng.normal(50, 12, 900))),
        rng.normal(size=5000),
    ][seed]
    for shape in column_shapes(sort_values(values)):
        knots, step = shape.knots, shape.recording.step
        if shape.recording.has_digits:  # the density changes between the cells of the grid too
            cells = (np.arange(np.floor(knots[0] / step), np.ceil(knots[-1] / step) + 1) + 0.5) * step
            knots = np.union1d(knots, cells[(cells > knots[0]) & (cells < knots[-1])])
        total = (shape.density((knots[1:] + knots[:-1]) / 2) * np.diff(knots)).sum()
        assert total == pytest.approx(1.0, abs=1e-9)
        assert shape.below(shape.knots[[0, -1]]).tolist() == [0.0, 1.0]
        share = rng.random(50)
        np.testing.assert_allclose(shape.below(shape.quantile(share)), share, atol=1e-9)


def test_the_length_of_recorded_digits_is_that_of_the_cells():
    rng = np.random.default_rng(0)
    recording = Recording(0.1, (3.0, 0.5, 0.25, 0.25))
    ends = np.sort(rng.uniform(-3, 4, 40))
    lengths = recording.length(ends)
    for a, b, found in zip(ends[:-1], ends[1:], np.diff(lengths), strict=True):
        assert found == pytest.approx(reference.length(a, b, 0.1, recording.weights), abs=1e-12)
    np.testing.assert_allclose(recording.number(lengths), ends, atol=1e-12)


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([1.0, 2.0, 7.0], 1.0), ([0.1, 0.3, 0.7], 0.1), ([0.5, 2.0, 9.5], 0.5), ([0.25, 1.0, 2.5], 0.25),
        ([100.0, 350.0, 900.0], 50.0), ([0.01, 9.899999, 3.3], 0.01), ([np.pi, np.e, 1.0], 0.0), ([-3.0, 4.0], 1.0),
        ([1.0, 2.0, 5.0, 99999.0], 1.0), ([60.0, 180.0, 360.0, 999999.375], 0.0),
        ([1577836800.0, 1577854800.0, 1577872800.0, 1577898000.0], 3600.0),  # whole hours: drawn were times as 6:13:20
        ([1577836860.0, 1577854920.0, 1577872800.0], 60.0), ([60011.0, 78207985.0, 1318683096.0], 1.0),  # people
    ],
)  # fmt: skip
def test_the_recording_step_is_the_coarsest(values, step):
    assert recording_step(np.sort(values)) == pytest.approx(step)


@pytest.mark.parametrize("power", [0, 3, 30])
def test_numbers_are_looked_up_as_a_search_would(power):
    """Columns with tails so long that most cells share a bucket, too; measures are those of straight lines."""
    rng = np.random.default_rng(power)
    knots = np.unique(np.sinh(power * rng.normal(size=300)) if power else rng.normal(size=300))
    x = np.concatenate([rng.choice(knots, 3000), rng.choice(knots, 3000) * rng.normal(1, 0.1, 3000), knots * 2, knots])
    expected = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
    np.testing.assert_array_equal(Places(knots)(x), expected)
    for recording in (Recording(), DIGITS):
        shape = Shape(knots, rng.dirichlet(np.ones(len(knots) - 1)) + 1e-9, recording)
        before = np.append(0.0, np.cumsum(shape.masses))
        straight = np.interp(recording.length(x), recording.length(knots), before / before[-1])
        np.testing.assert_array_equal(shape.below(x), straight)


def test_digits_are_not_found_on_a_continuous_scale():
    rng = np.random.default_rng(5)
    for _ in range(100):
        values = rng.choice([rng.normal, rng.random, rng.standard_exponential])(size=int(rng.integers(20, 400)))
        assert not any(shape.recording.has_digits for shape in column_shapes(sort_values(values)))


def test_preferred_digits_are_found_and_told():
    rng = np.random.default_rng(1)
    whole = rng.random(600) < 0.7
    values = np.where(whole, np.round(rng.normal(20, 6, 600)), np.round(rng.normal(20, 6, 600), 1))
    shape = column_shapes(sort_values(values))[1]
    assert shape.recording.step == pytest.approx(0.1)
    assert shape.recording.has_digits
    assert "multiples of 1 " in str(shape.recording)
    rounded_evenly = np.round(rng.normal(20, 6, 600), 1)
    assert not recorded(*distinct(sort_values(rounded_evenly))).has_digits


def test_preferred_digits_are_found_on_a_grid_of_millions_of_cells():
    """Numbers written with six digits: those above 100 have three decimals, the others four."""
    values = np.array([float(f"{x:.6g}") for x in np.random.default_rng(2).uniform(1, 900, 2000)])
    found = recorded(*distinct(sort_values(np.round(values, 4))))
    assert found.step == 0.0001
    assert "multiples of 0.001 " in str(found)


@pytest.mark.parametrize("seed", range(20))
def test_endings_are_compared_with_the_mean_over_a_period(seed):
    rng = np.random.default_rng(seed)
    cell, counts = np.unique(rng.integers(-60, rng.integers(20, 400), 80) // 3 * 3, return_counts=True)
    every = np.bincount(np.repeat(cell - cell[0], counts))
    for divisors in ((2,), (5,), (10, 5, 2)):
        period = divisors[0]
        first = np.clip(np.arange(len(every)) - period // 2, 0, len(every) - period)
        smooth = np.array([every[begin : begin + period].mean() for begin in first])
        places = cell[0] + np.arange(len(every))
        kind = np.array([next((d for d in divisors if place % d == 0), 1) for place in places])
        ratio = {k: (every[kind == k].sum() + 0.5) / (smooth[kind == k].sum() + 0.5) for k in np.unique(kind)}
        expected = np.array([ratio[kind[(t - cell[0]) % period]] for t in range(period)])
        np.testing.assert_allclose(_preferred(cell, counts, divisors)[0], expected / expected.mean(), rtol=1e-12)


@pytest.mark.parametrize("seed", range(50))
def test_cuts_on_the_ruler_of_a_shape_are_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    problem = random_variable(
        seed, 14, n_parents=seed % 3, spouses=((), (0,), (1, 0))[seed // 3 % 3], n_values=8, weighted=seed % 2 > 0
    )
    if seed % 4 == 3:
        problem["values"] = np.round(problem["values"] * 2) / 2
    own = prepare(**problem)
    if len(own.distinct) < 2:
        return
    span = float(np.ptp(own.distinct))
    limits = {"max_bins": [None, 2, 3, 5][seed % 4], "min_width": [None, 0.1 * span, None, 0.3 * span][seed // 4 % 4]}
    inner = np.sort(rng.uniform(own.distinct[0], own.distinct[-1], 4))
    recording = DIGITS if seed % 4 == 3 else Recording()
    ends = own.distinct[0] - recording.half, own.distinct[-1] + recording.half
    shape = Shape([ends[0], *inner, ends[1]], rng.dirichlet(np.ones(5)), recording, -1.5)

    from jaxbn.cuts.discretize_variable import best_binnings, variable_request

    request = variable_request(**problem, method="evidence", **limits)._replace(shapes=(shape,))
    (binning,) = best_binnings([request], "evidence")
    n = float(own.weights.sum())
    expected = reference.enumerate_shaped(problem, lambda x: float(shape.below(x)), -1.5 * n, **limits)
    assert binning.cost == close(expected)
    assert binning.n_bins <= (limits["max_bins"] or 99)


def test_a_shape_is_sent_without_its_tables():
    """Answers that worker processes share have a shape each, and its tables are ten times as long as its fields."""
    shape = column_shapes(sort_values(np.random.default_rng(0).normal(size=400)))[-1]
    sent = pickle.dumps(shape)
    below = shape.below(np.linspace(-1, 1, 5000))
    assert pickle.dumps(shape) == sent
    again = pickle.loads(sent)
    assert again == shape
    assert again.log_evidence == shape.log_evidence
    assert np.array_equal(again.below(np.linspace(-1, 1, 5000)), below)


def test_the_better_of_two_shapes_is_taken():
    rng = np.random.default_rng(3)
    values = np.exp(rng.normal(size=400))
    alone = jaxbn.discretize_variable(values)
    assert alone.n_bins == 1
    assert len(alone.shape.masses) > 1
    flat = jaxbn.discretize_variable(values, shape="flat")
    assert flat.n_bins > 1
    assert flat.shape is None
    assert alone.cost < flat.cost


def test_a_limit_of_bins_holds_for_many_rows():
    rng = np.random.default_rng(2)
    x = rng.normal(size=6000)
    child = np.digitize(x + 0.01 * rng.normal(size=6000), np.linspace(-2, 2, 20))
    costs = []
    for most in (2, 3, 5, None):
        binning = jaxbn.discretize_variable(x, children=[(child, ())], max_bins=most)
        assert binning.n_bins <= (most or 10**9)
        costs.append(binning.cost)
    assert costs == sorted(costs, reverse=True)


def test_inside_bins_with_a_shape():
    shape = Shape([0.0, 1.0, 4.0], [0.75, 0.25])
    bins = InsideBins(np.array([0.0, 2.0, 4.0]), shape)
    x, codes = np.array([0.5, 1.5, 3.0]), np.array([0, 0, 1])
    np.testing.assert_allclose(np.exp(bins.log_density(x, codes)), shape.density(x) / bins.measures[codes])
    np.testing.assert_allclose(bins.shares(0.0, 1.0), [0.75 / bins.measures[0], 0.0])
    drawn = bins.draw(np.zeros(20_000, np.int64), np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(bins.means[0], abs=0.01)
    edges, of, share = bins.pieces()
    assert edges.tolist() == [0.0, 1.0, 2.0, 4.0]
    assert of.tolist() == [0, 0, 1]
    np.testing.assert_allclose(share, [0.9, 0.1, 1.0])


@pytest.mark.parametrize(
    "values",
    [
        np.repeat([0.0, 8034.0], [59, 1]),  # days: one of them 9999-12-31 in place of what is not known
        np.repeat([18263.0, 2932896.0], [59, 1]),
        10.0 ** -np.linspace(0, 323, 60),  # p-values
        np.append(10.0 ** -np.linspace(250, 323, 60), 0.0),
        np.append(np.linspace(-1, 1, 60), 1.7976931348623157e308),
        1e-307 * np.arange(60) ** 1.1,
        1e-320 * np.arange(60),
    ],
)
def test_shapes_of_numbers_near_the_ends_of_the_floats(values: np.ndarray) -> None:
    for shape in column_shapes(sort_values(values)):  # warnings are errors here
        assert np.isfinite([shape.log_evidence, shape.recording.step, *shape.masses]).all()
        assert shape.masses.sum() == pytest.approx(1)
