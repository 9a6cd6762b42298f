"""Lines inside bins: their evidence, the densities they give, and what they leave as it is."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_ndtr
from scipy.stats import kstest, norm

import jaxbn
from jaxbn.cuts.shapes.inside import InsideBins
from jaxbn.cuts.shapes.scores import Lean, Part, _log_mass
from jaxbn.cuts.shapes.shape import Shape
from jaxbn.formats.json_file import from_dict, to_dict
from jaxbn.inputs.columns import MISSING
from jaxbn.model.lines import fit_lines
from jaxbn.model.lines.line import Line
from jaxbn.model.lines.regression import WEAK, Family, Prior, Sums, fit_line, posterior
from jaxbn.model.lines.rows import lean, range_ratios, state_scores
from jaxbn.runtime.threads import THREADS
from tests.reference import lines as reference

GRAPH = {"b": ["a", "kind"], "c": ["a", "b"]}


def rows(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    kind = rng.integers(2, size=n)
    a = rng.gamma(4, 2, n)
    b = a + kind + rng.normal(0, 0.3, n)
    return pd.DataFrame(
        {"kind": np.where(kind == 1, "x", "y"), "a": a, "b": b, "c": np.round(a - 2 * b + rng.normal(0, 0.5, n), 1)}
    )


@pytest.fixture(scope="module")
def net() -> jaxbn.BayesNet:
    """With lines of normal scores, which states of children tell of as well."""
    data = rows(1500)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit_lines, "KINDS", ("bin", "column"))
        found = jaxbn.fit(data, GRAPH, jaxbn.discretize(data, GRAPH, max_bins=5).codings)
    assert {name: line.children for name, line in found.lines.items()} == {"a": ("b", "c"), "b": ("c",), "c": ()}
    return found


def without(net: jaxbn.BayesNet) -> jaxbn.BayesNet:
    return replace(net, lines={})


@pytest.mark.parametrize("seed", range(6))
def test_evidence_is_the_integral(seed):
    rng = np.random.default_rng(seed)
    n, size = int(rng.integers(1, 9)), int(rng.integers(1, 3))
    x, y = np.column_stack([np.ones(n), rng.normal(size=n)])[:, :size], rng.normal(size=n)
    squares = y**2 + rng.random(n) * (seed % 2)
    prior = Prior(
        rng.normal(size=size), float(rng.uniform(0.5, 5)), float(rng.uniform(1.5, 4)), float(rng.random() + 0.2)
    )
    found = posterior(Sums.of(x.T, y, squares, np.zeros(n, np.int64), 1), prior)
    assert found.log_evidence[0] == pytest.approx(reference.log_evidence(x, y, squares, *prior), abs=1e-9)


def test_moments_are_those_of_a_part_of_the_normal_distribution():
    rng = np.random.default_rng(0)
    ends = np.sort(rng.random((20, 2)), axis=1)
    part = Part.of(*ends.T)
    found = np.array([part.mean, part.squares()])
    expected = np.array([reference.moments(*each) for each in ends]).T
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_ends_and_means_of_small_parts_are_those_of_their_shares():
    """A series around the middle gives them; quantiles of both ends, which have fewer digits of the width, agree."""
    low = np.concatenate([np.linspace(0, 1, 2001)[:-1], 10.0 ** -np.arange(3.0, 9), 1 - 10.0 ** -np.arange(3.0, 6)])
    for share in (2.0**-20, 1e-5, 3e-4):
        high = np.minimum(low + share, 1.0)
        part = Part.of(low, high)
        np.testing.assert_allclose([part.begin, part.end], norm.ppf([low, high]), rtol=1e-12, atol=1e-12)
        places = low + (high - low) * (np.polynomial.legendre.leggauss(9)[0][:, None] + 1) / 2
        inner = part.begin > -3.5
        means = np.polynomial.legendre.leggauss(9)[1] @ norm.ppf(places) / 2
        np.testing.assert_allclose(part.mean[inner & (part.end < 3.5)], means[inner & (part.end < 3.5)], atol=1e-9)


def test_lines_of_columns_gain_what_they_say_of_places_given_bins():
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(2, 40))
    y = 0.8 * x + 0.6 * y
    low, cut = norm.cdf(y), 0.4
    part, above = Part.of(low, low + 1e-4), low > cut
    begin, end = np.where(above, cut, 0.0), np.where(above, 1.0, cut)
    ends = begin, end, (norm.ppf(begin), norm.ppf(end))
    gain, line = fit_line(Family("column", part, np.zeros(40, np.int64), ends), [x], ("x",))
    assert (line.column, len(line.cells)) == (True, 0)
    table, priors = np.column_stack([np.ones(40), x]), [(np.zeros(2), rows, 1 + rows, rows) for rows in WEAK]
    both = max(reference.log_evidence(table, part.mean, part.squares(), *prior) for prior in priors) - np.log(len(WEAK))
    none = -(40 * np.log(2 * np.pi) + part.squares().sum()) / 2
    mean, scale = table @ line.coefficients[0], line.scales[0]
    bins = np.diff(norm.cdf(norm.ppf([begin, end]), mean, scale), axis=0) / (end - begin)
    assert gain == pytest.approx(both - none - np.log(bins).sum(), abs=1e-8)


def test_ratios_of_all_parts_add_up_to_one():
    rng = np.random.default_rng(1)
    for _ in range(200):
        ends = np.concatenate([[0.0], np.sort(rng.random(40)), [1.0]])
        found = Lean(np.full(41, 3 * rng.normal()), np.full(41, rng.gamma(1) + 1e-3), 10 ** -rng.uniform(0.1, 4))
        total = (np.exp(found.log_ratio(Part.of(ends[:-1], ends[1:]))) * np.diff(ends)).sum()
        assert total == pytest.approx(1.0, abs=1e-9)
    share, found = rng.random(500), Lean(rng.normal(size=500), rng.uniform(0.05, 1.2, 500), 0.01)
    np.testing.assert_allclose(found.below(found.at(share)), share, atol=1e-9)


def test_narrow_parts_are_told_by_their_middle():
    """A part that is told by a series has the probability of the parts that it is cut into, told by the tails."""
    middle, width = np.linspace(-30, 30, 241), 2.0 ** np.arange(-20, 2)[:, None]
    begin, end = np.broadcast_arrays(middle - width / 2, middle + width / 2)
    found = _log_mass(begin.ravel(), end.ravel())
    turned = np.where(begin > 0, -end, begin), np.where(begin > 0, -begin, end)
    below, above = log_ndtr(turned[0]), log_ndtr(turned[1])
    np.testing.assert_allclose(found, (above + np.log(-np.expm1(below - above))).ravel(), rtol=0, atol=2e-7)
    coarse = (width * (1 + np.abs(middle)) > 1e-4).ravel()  # where differences of tails have digits left
    np.testing.assert_allclose(found[coarse], (above + np.log(-np.expm1(below - above))).ravel()[coarse], atol=1e-10)


def test_scores_of_the_column_are_cut_off_at_the_ends_of_the_bin():
    rng = np.random.default_rng(2)
    for _ in range(100):
        begin, end = np.sort(rng.random(2))
        mean, scale, off = 2 * rng.normal(), rng.uniform(0.05, 1.2), 10 ** -rng.uniform(0.1, 4)
        ends = np.concatenate([[0.0], np.sort(rng.random(40)), [1.0]])
        parts = (np.full(41, part) for part in (begin, end))
        found = Lean(np.full(41, mean), np.full(41, scale), off, *parts)
        places = begin + ends * (end - begin)
        ratio = np.exp(found.log_ratio(Part.of(places[:-1], places[1:])))
        assert (ratio * np.diff(ends)).sum() == pytest.approx(1.0, abs=1e-9)
        mass = norm.cdf(norm.ppf(begin + ends * (end - begin)), mean, scale)
        if mass[-1] - mass[0] > 1e-3:  # by the definition, where differences are exact enough
            expected = off + (1 - off) * np.diff(mass) / (mass[-1] - mass[0]) / np.diff(ends)
            np.testing.assert_allclose(ratio, expected, rtol=1e-7, atol=1e-7)
        share = rng.random(41)
        np.testing.assert_allclose(found.below(found.at(share)), share, atol=1e-9)
        np.testing.assert_allclose(found._replace(off=1e-300).below(found.line_at(share)), share, atol=1e-6)
    # a score that is standard normal on the whole column says nothing inside any bin
    none = Lean(np.full(3, 1e-300), np.ones(3), 0.3, np.array([0.1, 0.4, 0.9]), np.array([0.2, 0.9, 1.0]))
    np.testing.assert_allclose(
        none.log_ratio(Part.of(np.array([0.12, 0.5, 0.92]), np.array([0.15, 0.65, 0.95]))), 0.0, atol=1e-9
    )


def test_numbers_that_nearly_determine_each_other_follow_lines_across_bins():
    rng = np.random.default_rng(3)
    size = rng.lognormal(1.0, 0.3, 3000)
    data = pd.DataFrame({"a": size * np.exp(rng.normal(0, 0.01, 3000)), "b": size * np.exp(rng.normal(0, 0.01, 3000))})
    test, data = data[2000:], data[:2000]
    net = jaxbn.learn(data, max_bins=4, progress=False)
    (line,) = (each for each in net.lines.values() if each.parents)
    assert line.column
    few = net.log_likelihood(test).mean()
    many = jaxbn.learn(data, max_bins=None, lines=False, progress=False).log_likelihood(test).mean()
    assert few > many + 0.3
    assert net.sample(2000, seed=0).corr().iloc[0, 1] == pytest.approx(data.corr().iloc[0, 1], abs=0.01)


def test_bins_that_are_slivers_of_their_column_have_no_line_of_columns():
    rng = np.random.default_rng(5)
    x = rng.normal(size=400)
    heavy = np.sinh(12 * (x + rng.normal(0, 0.1, 400)))  # flat bins around zero have next to no share of the range
    data = pd.DataFrame({"x": x, "y": heavy})
    for cuts in ([-1.0, 1.0], [-1e-3, 1e-3], np.quantile(heavy, [0.2, 0.4, 0.6, 0.8]).tolist()):
        binnings = {"x": jaxbn.Binning(np.array([-0.5, 0.5])), "y": jaxbn.Binning(np.array(cuts))}
        flat = {n: replace(b, shape=Shape([data[n].min(), data[n].max()], [1.0])) for n, b in binnings.items()}
        net = jaxbn.fit(data, {"y": ["x"]}, flat)
        assert not any(line.column for line in net.lines.values())
        assert np.isfinite(net.log_likelihood(data)).all()


def test_shares_of_the_column_keep_to_it_whatever_is_rounded():
    rng = np.random.default_rng(6)
    for _ in range(300):
        inside = InsideBins(np.sort(rng.normal(scale=10.0 ** rng.integers(-3, 4), size=5)))
        share = inside.of_column(np.array([0.0, 0.3, 1.0]), np.array([0, 1, 3]))
        assert (share >= 0).all()
        assert (share <= 1).all()


def test_slopes_are_told_in_original_units():
    rng = np.random.default_rng(4)
    x = rng.normal(50, 10, 2000)
    data = pd.DataFrame({"x": x, "y": 3 * x + rng.normal(0, 2, 2000), "w": rng.normal(size=2000)})
    net = jaxbn.fit(data, {"y": ["x"]}, jaxbn.discretize(data, {"y": ["x"]}, max_bins=4).codings)
    assert net.lines["y"].slopes == pytest.approx((3.0,), rel=0.1)
    assert "for 1 more of x" in repr(net.lines["y"])
    assert from_dict(to_dict(net)).lines == net.lines
    skewed = data.assign(x=np.exp(x / 10))
    bent = jaxbn.fit(skewed, {"y": ["x"]}, jaxbn.discretize(skewed, {"y": ["x"]}, max_bins=4).codings)
    assert bent.lines["y"].slopes == ()


@pytest.mark.parametrize("name", ["b", "c"])
def test_densities_integrate_to_one_and_bins_keep_their_probabilities(net, name):
    given = rows(200, seed=1)
    inside, bins = net.inside(name), net.cardinalities[name]
    knots = inside.pieces()[0]
    if name == "c":  # the density changes at the ends of recorded cells
        cells = (np.arange(np.floor(knots[0] * 10), np.ceil(knots[-1] * 10) + 1) + 0.5) / 10
        knots = np.union1d(knots, cells[(cells > knots[0]) & (cells < knots[-1])])
    else:
        parts = [0]  # the density is constant in each of 2^20 parts of a bin: odd numbers of them, finer at the ends
        while parts[-1] < 2**19:
            parts.append(parts[-1] + 2 * int(0.004 * parts[-1]) + 1)
        shares = np.union1d(parts, 2**20 - np.array(parts)) / 2**20
        knots = np.unique([*knots, *inside.at(np.repeat(np.arange(bins), len(shares)), np.tile(shares, bins))])
    x, widths = (knots[1:] + knots[:-1]) / 2, np.diff(knots)
    table = given.loc[given.index.repeat(len(x))].assign(**{name: np.tile(x, len(given))})
    bin_of, atol = net.binnings[name](x), 1e-9 if name == "c" else 1e-4

    def chances(net: jaxbn.BayesNet, log_total: np.ndarray) -> np.ndarray:
        masses = np.exp(net.log_likelihood(table).reshape(len(given), -1) - log_total[:, None]) * widths
        return np.stack([np.bincount(bin_of, row, bins) for row in masses])

    # whatever other states are known, and tell of other places, a variable's own line moves nothing between bins
    before = replace(net, lines={n: line for n, line in net.lines.items() if name not in line.parents})
    total, others = before.log_likelihood(given), {n: line for n, line in before.lines.items() if n != name}
    mine, theirs = chances(before, total), chances(replace(net, lines=others), total)
    np.testing.assert_allclose(mine / theirs.sum(axis=1)[:, None], theirs / theirs.sum(axis=1)[:, None], atol=atol)
    # by its own line alone, and the entries before it, bins have the probabilities of the network
    absent = {child: np.nan for child in ("b", "c") if child >= name}
    if name == "b":
        table["c"] = np.nan
    own = replace(net, lines={name: net.lines[name]})
    found = chances(own, own.log_likelihood(given.assign(**absent)))
    np.testing.assert_allclose(found, net.predict_proba(given.assign(**absent), name).to_numpy(), atol=atol)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=atol)


def test_states_of_children_tell_of_places(net):
    new = rows(2000, seed=3)
    alone = replace(net, lines={name: line.without(line.children) for name, line in net.lines.items() if line.parents})
    assert net.log_likelihood(new).mean() > alone.log_likelihood(new).mean() + 0.1
    # what a missing child would tell is spread, as far as its table lets one expect
    line, codes = net.lines["b"], np.array([[0, 2, 2, MISSING]])
    (score,), chances = state_scores(net.tables["c"])[2:3, 2], net.tables["c"][2, 2]
    found, known = lean(net, "b", codes, {"a": np.array([7.0])}), line.without("c")
    alone = lean(replace(net, lines={"b": known}), "b", codes, {"a": np.array([7.0])})
    np.testing.assert_allclose(found.mean, alone.mean)
    slopes = np.sqrt(alone.scale[0, 2] ** 2 - found.scale[0, 2] ** 2) / np.sqrt(1 - (chances * score**2).sum())
    assert np.abs(line.coefficients[:, 2] ** 2 - slopes**2).min() < 1e-9
    set_to = net.sample(2000, 0, do={"c": -8.0}), net.sample(2000, 0)
    assert kstest(set_to[0]["a"], set_to[1]["a"]).pvalue > 1e-4  # what is set tells nothing of its causes


def test_scores_of_states_are_means_of_the_normal_distribution():
    rng = np.random.default_rng(7)
    table = rng.dirichlet(np.ones(4), (3, 2))
    found = state_scores(table)
    np.testing.assert_allclose((found * table).sum(axis=-1), 0.0, atol=1e-12)
    ends = np.append(0.0, np.cumsum(table[1, 1]))
    expected = [reference.moments(a, min(b, 1.0))[0] for a, b in pairwise(ends)]
    np.testing.assert_allclose(found[1, 1], expected, atol=1e-6)
    assert state_scores(np.array([0.0, 1.0])).tolist() == [0.0, 0.0]


def test_the_discrete_network_does_not_change(net):
    data, plain = rows(1500), without(net)
    fitted = jaxbn.fit(data, GRAPH, net.codings, lines=False)
    assert fitted == plain
    assert fitted.score == net.score
    for name in net.names:
        assert np.array_equal(net.tables[name], fitted.tables[name])
        given = {} if name == "a" else {"a": 7.0}
        pd.testing.assert_series_equal(net.query(name, given), plain.query(name, given))
        pd.testing.assert_frame_equal(net.predict_proba(data[:50], name), plain.predict_proba(data[:50], name))
    mine, other = to_dict(net), to_dict(plain)
    for variable in mine["variables"]:
        variable.pop("line", None)
    assert mine["variables"] == other["variables"]


def test_bif_does_not_change(net, tmp_path):
    found = []
    for each in (net, without(net)):
        each.to_bif(tmp_path / "net.bif")
        found.append([line for line in (tmp_path / "net.bif").read_text().splitlines() if not line.startswith("//")])
        assert jaxbn.read_bif(tmp_path / "net.bif") == each  # its own comment has the rest
    assert found[0] == found[1]


def test_lines_tell_more_of_new_rows(net):
    new = rows(1000, seed=2)
    assert net.log_likelihood(new).mean() > without(net).log_likelihood(new).mean() + 1.0
    for name in ("b", "c"):
        errors = [np.abs(each.predict(new, name, returns="mean") - new[name]).mean() for each in (net, without(net))]
        assert errors[0] < 0.7 * errors[1]
    inside = net.predict(new, "c", returns=[0.1, 0.9])
    assert ((new["c"] > inside[0.1]) & (new["c"] < inside[0.9])).mean() == pytest.approx(0.8, abs=0.07)


@pytest.mark.parametrize("seed", range(20))
def test_samples_agree_with_the_density(net, seed):
    given = rows(1, seed=100 + seed).drop(columns="c").iloc[0].to_dict()
    edges, heights = net.density("c", given)
    ends = np.append(0.0, np.cumsum(heights * np.diff(edges)))
    assert ends[-1] == pytest.approx(1.0)
    drawn = net.sample(400, seed, given=given)
    assert (drawn["a"] == given["a"]).all()
    value, count = np.unique(drawn["c"], return_counts=True)  # recorded numbers, each of which stands for its cell
    away = np.abs(np.cumsum(count) / 400 - np.interp(value + 0.05, edges, ends)).max()
    assert away < 2.3 / np.sqrt(400)  # by Kolmogorov and Smirnov the chance of more is below 1e-4
    drawn = net.sample(400, seed, given={"a": given["a"], "kind": given["kind"]})["b"]
    edges, heights = net.density("b", {"a": given["a"], "kind": given["kind"]})
    ends = np.append(0.0, np.cumsum(heights * np.diff(edges)))
    assert kstest(drawn, lambda x: np.interp(x, edges, ends)).pvalue > 1e-4


def test_draws_within_an_interval_follow_the_line(net):
    given = {"a": 8.0, "kind": "x", "b": (8.8, 9.4)}
    drawn = net.sample(4000, 3, given=given)["b"]
    assert drawn.between(8.8, 9.4).all()
    edges, heights = net.density("b", {"a": 8.0, "kind": "x"})
    ends = np.append(0.0, np.cumsum(heights * np.diff(edges)))
    low, high = np.interp([8.8, 9.4], edges, ends)
    codes = net.binnings["b"](np.array([8.8, 9.4]))
    if codes[0] == codes[1]:
        assert kstest(drawn, lambda x: (np.interp(x, edges, ends) - low) / (high - low)).pvalue > 1e-4


def test_whole_rows_are_drawn_with_lines(net):
    drawn = net.sample(3000, 1)
    spread = [(each["b"] - each["a"] - (each["kind"] == "x")).std() for each in (drawn, without(net).sample(3000, 1))]
    assert spread[0] < 0.75 * spread[1]
    pd.testing.assert_series_equal(without(net).sample(50, 4)["kind"], net.sample(50, 4)["kind"])


def test_a_missing_parent_means_no_line(net):
    data = rows(60, seed=5).assign(a=np.nan)
    plain = without(net)
    np.testing.assert_array_equal(net.log_likelihood(data), plain.log_likelihood(data))
    np.testing.assert_allclose(
        net.predict(data, "c", returns="mean"), plain.predict(data, "c", returns="mean"), rtol=1e-2
    )


def test_rows_with_holes_are_left_out_of_the_fit():
    data = rows(600)
    holes = pd.concat([data, rows(200, seed=9).assign(b=np.nan), rows(100, seed=8).assign(a=np.nan)], ignore_index=True)
    codings = jaxbn.discretize(data, GRAPH, max_bins=4).codings
    bounds = dict.fromkeys("abc", (-100.0, 100.0))
    whole, holed = (jaxbn.fit(each, GRAPH, codings, bounds=bounds) for each in (data, holes))
    assert whole.lines["c"] == holed.lines["c"]
    graph, codings = {"b": GRAPH["b"]}, {n: codings[n] for n in "ab"}
    whole, holed = (jaxbn.fit(each.drop(columns="c"), graph, codings, bounds=bounds) for each in (data, holes))
    assert whole.lines["b"] == holed.lines["b"]


def test_imputed_numbers_follow_lines(net):
    data = rows(800, seed=6)
    holes = data.assign(c=np.where(np.arange(800) % 2, np.nan, data["c"]))
    gone = holes["c"].isna()
    for how, share in (("mean", 0.7), ("draw", 0.85)):
        errors = [np.abs(each.impute(holes, how)["c"] - data["c"])[gone].mean() for each in (net, without(net))]
        assert errors[0] < share * errors[1]
        pd.testing.assert_frame_equal(net.impute(holes, how)[~gone], data[~gone])


def test_a_variable_that_is_set_has_no_line(net):
    drawn = net.sample(200, do={"b": 5.0})
    assert (drawn["b"] == 5.0).all()


def test_files_keep_lines(net, tmp_path):
    net.save(tmp_path / "net.json")
    again = jaxbn.load(tmp_path / "net.json")
    assert again == net
    assert again != without(net)
    document = to_dict(without(net))
    assert document["version"] == 2
    assert from_dict(document) == without(net)
    assert to_dict(net)["version"] == 5
    damaged = to_dict(net)
    next(v for v in damaged["variables"] if v["name"] == "c")["line"]["parents"] = ["c"]
    with pytest.raises(ValueError, match=r"line\.parents' must be parents"):
        from_dict(damaged)
    damaged = to_dict(net)
    next(v for v in damaged["variables"] if v["name"] == "b")["line"]["children"] = ["a"]
    with pytest.raises(ValueError, match=r"line\.children' must be children of 'b', got \['a'\]"):
        from_dict(damaged)


def test_lines_can_be_read(net):
    assert "slopes of normal scores a " in repr(net.lines["c"])
    assert "b -" in repr(net.lines["c"])


def test_noise_has_no_line():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        edges = np.linspace(0, 1, 101)
        cell = rng.integers(100, size=300)
        family = Family("bin", Part.of(edges[cell], edges[cell + 1]), rng.integers(12, size=300))
        assert fit_line(family, [rng.normal(size=300)], ("p",)) is None


def test_an_average_has_the_lines_of_its_networks(net):
    data = rows(100, seed=7)
    other = jaxbn.fit(rows(1500), {"b": ["a"], "c": ["b"]}, net.codings)
    both = jaxbn.AverageNet([net, other])
    logs = [each.log_likelihood(data) for each in (net, other)]
    np.testing.assert_allclose(both.log_likelihood(data), np.logaddexp(*logs) - np.log(2))
    errors = [np.abs(jaxbn.AverageNet(nets).predict(data, "c", returns="mean") - data["c"]).mean()
              for nets in ([net, other], [without(net), without(other)])]  # fmt: skip
    assert errors[0] < errors[1]


def test_what_lines_may_be(net):
    with pytest.raises(ValueError, match="lines must be 'auto' or False, got 'all'"):
        jaxbn.fit(rows(30), GRAPH, net.codings, lines="all")
    assert jaxbn.fit(rows(300), GRAPH, {n: p.cuts for n, p in net.binnings.items()}).lines == {}  # flat inside bins
    assert lean(without(net), "a", np.zeros((1, 4), int), {}) is None


@pytest.mark.parametrize("column", [False, True])
def test_a_range_inside_a_bin_tells_of_the_parents_bins_as_sampled_rows_do(column: bool) -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=4000)
    frame = pd.DataFrame({"a": a, "b": a + 0.3 * rng.normal(size=4000)})
    net = jaxbn.learn(frame, constraints=jaxbn.Constraints(required=[("a", "b")]), restarts=1, max_bins=3)
    line = net.lines["b"]
    if line.column != column:  # the other form of lines by hand: those of a column cut off at the ends of bins
        cells = np.arange(net.tables["b"].size // (net.cardinalities["b"] if column else 1))
        coefficients = np.tile([0.0, 0.9], (len(cells) + 1, 1))
        line = Line(("a",), cells, coefficients, np.full(len(cells) + 1, 0.4), 0.01, "column" if column else "bin")
        net = replace(net, lines={"b": line})
    cuts = net.binnings["b"].cuts
    low, high, middle = cuts[0], cuts[1], cuts[:2].mean()
    drawn = net.sample(40_000, seed=1, given={"b": (low, high)})
    for span in ((low, middle), (middle, high)):
        inside = drawn[drawn["b"].between(*span)]
        found = np.bincount(net.binnings["a"](inside["a"].to_numpy()), minlength=net.cardinalities["a"]) / len(inside)
        np.testing.assert_allclose(net.query("a", {"b": span}), found, atol=0.02)
        again = net.sample(40_000, seed=2, given={"b": span})["a"].to_numpy()
        again = np.bincount(net.binnings["a"](again), minlength=net.cardinalities["a"]) / 40_000
        np.testing.assert_allclose(net.query("a", {"b": span}), again, atol=0.02)
    np.testing.assert_allclose(net.query("a", {"b": (low, high)}), without(net).query("a", {"b": middle}), rtol=1e-9)
    # ranges that make up a bin, each as probable as it is, tell what the bin tells
    ratios = [range_ratios(net, "b", *span) for span in ((low, middle), (middle, high))]
    shares = [net.inside("b").shares(*span) for span in ((low, middle), (middle, high))]
    together = sum(share * ratio for share, ratio in zip(shares, ratios, strict=True))
    np.testing.assert_allclose(together[:, 1], 1.0, rtol=1e-9)


LAW = {"mass": [], "size": ["mass"], "ratio": ["mass"]}


def law(n: int, seed: int = 0, power: float = 2.0) -> pd.DataFrame:
    """The ratio is a product of powers of the other two: of the power 2 its parent alone tells nothing."""
    rng = np.random.default_rng(seed)
    mass = rng.lognormal(2.0, 0.4, n)
    size = mass**0.5 * np.exp(rng.normal(0, 0.2, n))
    return pd.DataFrame({"mass": mass, "size": size, "ratio": mass / size**power * np.exp(rng.normal(0, 0.005, n))})


def lawful_net(power: float) -> jaxbn.BayesNet:
    data = law(1500, power=power)
    return jaxbn.fit(data, LAW, jaxbn.discretize(data, LAW, max_bins=4).codings)


@pytest.fixture(scope="module")
def lawful() -> jaxbn.BayesNet:
    return lawful_net(2.0)


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_lines_follow_further_numbers_by_logarithms(power):
    net, new = lawful_net(power), law(2000, seed=1, power=power)
    line, others = net.lines["ratio"], {n: line for n, line in net.lines.items() if n != "ratio"}
    assert (line.ruler, line.further, line.children) == ("logarithm", ("size",), ())
    np.testing.assert_allclose(line.slopes, [1.0, -power], rtol=0.02)
    assert "as power of size; slopes of logarithms mass" in repr(line)
    assert (line.by_parents is not None) == (power == 1.0)
    alone = replace(net, lines=others if line.by_parents is None else {**others, "ratio": line.by_parents})
    assert net.log_likelihood(new).mean() > alone.log_likelihood(new).mean() + 0.5
    # where the further number is missing, the line is that by the parents
    some = new.assign(size=np.where(np.arange(2000) < 500, new["size"], np.nan))
    for asked in (new.assign(size=np.nan), some):
        gone = asked["size"].isna().to_numpy()
        found, expected = (each.log_likelihood(asked) for each in (net, alone))
        np.testing.assert_array_equal(found[gone], expected[gone])
        found, expected = (each.predict(asked, "ratio", returns="mean")[gone] for each in (net, alone))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_sampled_rows_obey_the_law(lawful):
    drawn = lawful.sample(4000, seed=2)
    off = np.log(drawn["ratio"] * drawn["size"] ** 2 / drawn["mass"])
    assert off.abs().quantile(0.9) < 0.02
    for name in LAW:
        assert (np.bincount(lawful.binnings[name](drawn[name].to_numpy()), minlength=lawful.cardinalities[name]) / 4000
                == pytest.approx(lawful.query(name).to_numpy(), abs=0.04))  # fmt: skip
    # what is set tells only of what it causes
    set_to, plain = (lawful.sample(4000, 3, do=do)["ratio"] for do in ({"size": 1.0}, {}))
    assert kstest(set_to, plain).pvalue > 1e-4


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_densities_by_numbers_integrate_to_one_and_agree_with_samples(power):
    net = lawful_net(power)
    lawful = replace(net, lines={"ratio": net.lines["ratio"]})  # lines of others depend on the bin of the ratio
    for seed in range(10):
        given = law(1, seed=10 + seed, power=power).iloc[0].drop("ratio").to_dict()
        edges, heights = lawful.density("ratio", given)
        ends = np.append(0.0, np.cumsum(heights * np.diff(edges)))
        assert ends[-1] == pytest.approx(1.0)
        drawn = lawful.sample(400, seed, given=given)["ratio"]
        assert kstest(drawn, lambda x, edges=edges, ends=ends: np.interp(x, edges, ends)).pvalue > 1e-4
        # the density of rows is the same, and integrates to the probability of each bin
        x = np.sort(np.concatenate([np.linspace(edges[0], edges[-1], 40_001), *(e + np.linspace(-1e-9, 1e-9, 2)
                                    for e in edges[:, None])], axis=None).clip(edges[0], edges[-1]))  # fmt: skip
        rows = pd.DataFrame({**given, "ratio": (x[1:] + x[:-1]) / 2})
        masses = np.exp(lawful.log_likelihood(rows) - lawful.log_likelihood(rows[:1].assign(ratio=np.nan))) * np.diff(x)
        bins = lawful.binnings["ratio"](rows["ratio"].to_numpy())
        found = np.bincount(bins, masses, lawful.cardinalities["ratio"])
        expected = lawful.predict_proba(rows[:1].drop(columns="ratio"), "ratio").to_numpy()[0]
        np.testing.assert_allclose(found, expected, atol=2e-3)


def test_scores_of_numbers_go_back_to_shares(lawful):
    share = np.linspace(0.001, 0.999, 50)
    for name in LAW:
        rulers = lawful.inside(name).rulers
        for kind in ("column", "number", "logarithm"):
            np.testing.assert_allclose(rulers[kind].share(rulers[kind].score(share)), share, atol=1e-9)
            mean, variance = rulers[kind].moments()
            assert (np.diff(mean) > 0).all()
            assert (variance > 0).all()


def test_files_keep_rulers_and_further_numbers(lawful):
    document = to_dict(lawful)
    assert document["version"] == 6
    assert from_dict(document) == lawful
    variable = next(v for v in document["variables"] if v["name"] == "ratio")
    variable["line"]["further"] = ["mass"]
    with pytest.raises(ValueError, match=r"line\.further' must be other continuous variables, got \['mass'\]"):
        from_dict(document)
    variable["line"] |= {"further": ["size"], "ruler": "inches"}
    with pytest.raises(ValueError, match="the ruler 'inches' is not known"):
        from_dict(document)


def test_a_value_beyond_all_others_leaves_no_line_of_numbers():
    """Beside 1e21 the other bins have no width as numbers: such a line seemed to gain infinitely and ended learn."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = np.sinh(x + rng.normal(0, 0.3, 400))
    y[7] = 1e21
    data = pd.DataFrame({"x": x, "y": y})
    graph = {"y": ["x"]}
    found = jaxbn.fit(data, graph, jaxbn.discretize(data, graph).codings)
    assert all(line.ruler in ("bin", "column") for line in found.lines.values())
    assert np.isfinite(found.log_likelihood(data)).all()


def test_of_many_rows_few_choose_the_ruler_and_some_are_fitted(net, monkeypatch):
    frame, seen, own = net.sample(3000, seed=1), [], fit_lines.Rows.best_line

    def coefficients(shared: bool) -> dict:
        def spied(given: fit_lines.Rows) -> Line | None:
            seen.append(len(given.codes))
            return own(given if shared else given._replace(few_parts={}))

        monkeypatch.setattr(fit_lines.Rows, "best_line", spied)
        lines = jaxbn.fit(frame, net.graph, net.binnings).lines
        return {name: (line.ruler, line.coefficients.tolist()) for name, line in lines.items()}

    monkeypatch.setattr(fit_lines, "COMPARED", 500)
    found = coefficients(shared=True)
    assert found
    assert found == coefficients(shared=False)  # of the rows that are compared all variables share the parts
    assert set(seen) == {3000}
    monkeypatch.setattr(fit_lines, "MOST_ROWS", 1400)
    assert coefficients(shared=True).keys() == found.keys()
    assert set(seen) == {3000, 1000}  # every third


def test_lines_are_the_same_in_any_number_of_threads_and_few_when_time_is_over(net, monkeypatch, caplog):
    frame = net.sample(9000, seed=1)

    def found() -> dict:
        lines = jaxbn.fit(frame, net.graph, net.binnings).lines
        return {name: (line.ruler, line.coefficients.tolist(), line.slopes) for name, line in lines.items()}

    monkeypatch.setenv(THREADS, "1")
    alone = found()
    monkeypatch.setenv(THREADS, "4")
    assert found() == alone
    monkeypatch.setattr(fit_lines, "GRACE", 0.0)
    monkeypatch.setattr(fit_lines.limits, "over", lambda: True)
    assert found() == {}
    assert "no time for the lines of more than 0 variables" in caplog.text
