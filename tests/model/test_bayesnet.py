"""Fitting, likelihood in original units, sampling."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from jaxbn import datasets
from jaxbn.cuts.binning import Binning
from jaxbn.inputs.table import as_table
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.fit import fit
from tests.helpers.random_networks import random_network
from tests.reference import network as reference


def toy(n: int = 300, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    kind = rng.choice(["ash", "elm", "oak"], n)
    height = rng.normal(np.select([kind == "ash", kind == "elm"], [5.0, 8.0], 12.0), 2.0)
    return pd.DataFrame(
        {"kind": kind, "height": height, "tall": height > 8.5, "girth": height / 5 + rng.normal(size=n)}
    )


GRAPH = {"height": ["kind"], "tall": ["height"], "girth": ["height", "kind"]}
CUTS = {"height": [6.0, 9.5], "girth": [1.0, 2.0]}


def test_tables_are_posterior_means_by_definition() -> None:
    data, alpha = toy(), 0.5
    net = fit(data, GRAPH, CUTS, alpha=alpha)
    assert net.parents == {"kind": (), "height": ("kind",), "tall": ("height",), "girth": ("height", "kind")}
    assert net.names == tuple(data.columns)
    height, girth = np.digitize(data.height, CUTS["height"]), np.digitize(data.girth, CUTS["girth"])
    for h, (k, kind) in itertools.product(range(3), enumerate(["ash", "elm", "oak"])):
        rows = (height == h) & (data.kind == kind)
        expected = [(alpha + (girth[rows] == g).sum()) / (3 * alpha + rows.sum()) for g in range(3)]
        np.testing.assert_allclose(net.tables["girth"][h, k], expected, rtol=1e-14)
    assert not net.tables["girth"].flags.writeable
    assert list(net.graph.edges) == [(p, c) for p in net.names for c in net.names if p in net.parents[c]]


def k2_by_definition(child: np.ndarray, parents: list[np.ndarray]) -> float:
    r, score = len(np.unique(child)), 0.0
    for configuration in set(zip(*parents, strict=True)) if parents else [()]:
        rows = np.all([p == c for p, c in zip(parents, configuration, strict=True)], axis=0) if parents else slice(None)
        score += math.lgamma(r) - math.lgamma(r + len(child[rows]))
        score += sum(math.lgamma(1 + n) for n in np.unique(child[rows], return_counts=True)[1])
    return score


def test_score_counts_observed_states_only() -> None:
    data = toy()
    data["kind"] = pd.Categorical(data.kind, categories=["ash", "elm", "fir", "oak", "yew"])
    cuts = {"height": [-50.0, 6.0, 9.5, 70.0], "girth": [1.0, 2.0]}
    net = fit(data, GRAPH, cuts, bounds={"height": (-99.0, 99.0)})
    assert net.tables["girth"].shape == (5, 5, 3)
    codes = {"kind": data.kind.cat.codes.to_numpy(), "tall": data.tall.to_numpy()}
    codes |= {name: np.digitize(data[name], cuts[name]) for name in cuts}
    expected = sum(k2_by_definition(codes[v], [codes[p] for p in found]) for v, found in net.parents.items())
    assert net.score == pytest.approx(expected, rel=1e-13)


@pytest.mark.filterwarnings("ignore:.*far outside the range")
def test_log_likelihood_is_a_density_in_original_units() -> None:
    data = toy()
    net = fit(data, GRAPH, CUTS)
    row = {"kind": ["elm"], "height": [7.0], "tall": [False], "girth": [99.0]}
    expected = (
        math.log(net.tables["kind"][1]) + math.log(net.tables["height"][1, 1]) - math.log(3.5)
        + math.log(net.tables["tall"][1, 0]) + math.log(net.tables["girth"][1, 1, 2]) - math.log(data.girth.max() - 2.0)
    )  # fmt: skip
    assert net.log_likelihood(row)[0] == pytest.approx(expected, rel=1e-12)
    assert np.isfinite(net.log_likelihood(toy(1000, seed=1))).all()
    # rescaling a column by c lowers its density by c
    scaled = fit(data.assign(height=data.height * 10), GRAPH, {"height": [60.0, 95.0], "girth": CUTS["girth"]})
    shift = net.log_likelihood(data) - scaled.log_likelihood(data.assign(height=data.height * 10))
    np.testing.assert_allclose(shift, math.log(10), rtol=1e-12)


def test_missing_entries_are_integrated_out() -> None:
    net = fit(toy(), GRAPH, CUTS)
    frame = pd.DataFrame(
        {"kind": ["oak", None], "height": [np.nan, np.nan], "tall": [None, True], "girth": [np.nan, 1.5]}
    )
    kind = net.query("kind")
    joint = net.query(["tall", "girth"])
    width = 1.0
    expected = [math.log(kind["oak"]), math.log(joint[True].iloc[1] / width)]
    np.testing.assert_allclose(net.log_likelihood(frame), expected, rtol=1e-12)
    empty = pd.DataFrame({name: [None] for name in net.names})
    assert net.log_likelihood(empty).tolist() == [0.0]


@pytest.mark.filterwarnings("ignore:the data lacks")
def test_unseen_levels_and_absent_columns() -> None:
    net = fit(toy(), GRAPH, CUTS)
    frame = toy(5).assign(kind="palm")
    with pytest.raises(ValueError, match=r"'kind' holds 1 unknown level.*'palm'"):
        net.log_likelihood(frame)
    expected = net.log_likelihood(frame.assign(kind=None))
    np.testing.assert_array_equal(net.log_likelihood(frame, unknown="missing"), expected)
    np.testing.assert_allclose(
        net.predict_proba(frame, "tall", unknown="missing"), net.predict_proba(frame.drop(columns="kind"), "tall")
    )
    with pytest.raises(ValueError, match=r"lacks column.*'kind'"):
        net.log_likelihood(frame.drop(columns="kind"))
    assert net.log_likelihood(frame[:0].assign(kind=[])).shape == (0,)


def test_constant_column_contributes_nothing() -> None:
    data = toy().assign(one=3.0)
    net = fit(data, GRAPH, {**CUTS, "one": []})
    np.testing.assert_allclose(net.log_likelihood(data), fit(toy(), GRAPH, CUTS).log_likelihood(toy()))
    assert (net.sample(10)["one"] == 3.0).all()
    assert net.query("one").tolist() == [1.0]
    with pytest.raises(ValueError, match="'one' is constant"):
        net.density("one")


def test_a_cut_at_the_largest_value_makes_an_atom() -> None:
    data = {"x": [0.0, 2.0, 5.0, 10.0, 10.0]}
    net = fit(data, {}, {"x": [4.0, 10.0]})
    np.testing.assert_allclose(np.exp(net.log_likelihood({"x": [1.0, 10.0]})), [3 / 8 / 4, 3 / 8])
    assert (net.sample(100).x == 10.0).any()
    with pytest.raises(ValueError, match="cut at its largest value 10"):
        net.density("x")
    other = fit({**data, "k": list("aabbb")}, {"k": ["x"]}, {"x": [4.0, 10.0]})
    assert other.query("k", {"x": (7.0, None)})["b"] == pytest.approx((0.5 * 2 * 2 / 3 + 3 * 3 / 4) / (0.5 * 2 + 3))
    assert other.query("k", {"x": [1.0, 10.0]}).equals(other.query("k", {"x": 10.0}))


def test_bounds_default_to_the_union_of_data_and_binning_and_can_be_given() -> None:
    data = toy()
    low, high = data.height.min(), data.height.max()
    assert fit(data, GRAPH, CUTS).bounds["height"] == (low, high)
    wide = {**CUTS, "height": Binning([6.0], lower=-5.0, upper=7.0)}
    assert fit(data, GRAPH, wide).bounds["height"] == (-5.0, high)
    assert fit(data, GRAPH, CUTS, bounds={"height": (0, 40)}).bounds["height"] == (0.0, 40.0)


def test_bad_input_is_refused_by_name() -> None:
    data = toy()
    with pytest.raises(ValueError, match="'height' has 300 distinct numbers but no binning"):
        fit(data, GRAPH, {"girth": [1.0]})
    with pytest.raises(ValueError, match=r"binnings name 'hieght'.*did you mean 'height'"):
        fit(data, GRAPH, {**CUTS, "hieght": [1.0]})
    with pytest.raises(ValueError, match=r"cuts of 'height' run from 6 to 99.*bounds=\{'height': \(low, high\)\}"):
        fit(data, GRAPH, {**CUTS, "height": [6.0, 99.0]})
    with pytest.raises(ValueError, match="bounds of 'height'"):
        fit(data, GRAPH, CUTS, bounds={"height": (9.0, 1.0)})
    with pytest.raises(ValueError, match="alpha must be a positive number, got 0"):
        fit(data, GRAPH, CUTS, alpha=0)
    with pytest.raises(ValueError, match="exactly the continuous columns"):
        fit(as_table(data), GRAPH, {"height": [6.0]})
    many = pd.DataFrame({name: [f"{i}" for i in range(400)] * 2 for name in "abc"})
    with pytest.raises(ValueError, match="'c' given 'a', 'b' would have 64,000,000 cells"):
        fit(many, {"c": ["a", "b"]}, {})
    with pytest.raises(ValueError, match="probabilities of shape"):
        BayesNet({"a": ()}, {}, {"a": (0, 1)}, {"a": np.array([0.5, 0.6])}, {})


def test_missing_rows_can_be_dropped_when_fitting() -> None:
    data = toy()
    data.loc[:9, "height"] = np.nan
    assert fit(data, GRAPH, CUTS, missing="drop").n_rows == 290
    with pytest.raises(ValueError, match="missing values in 10 of 300 rows"):
        fit(data, GRAPH, CUTS, missing="error")


def test_sample_keeps_columns_levels_and_dtypes() -> None:
    data = toy().assign(grade=lambda d: np.where(d.tall, 2, 1))
    net = fit(data, GRAPH, CUTS)
    drawn = net.sample(100, seed=3)
    assert list(drawn) == list(data)
    assert drawn.dtypes.tolist() == data.dtypes.tolist()
    assert drawn.equals(net.sample(100, seed=3))
    assert not drawn.equals(net.sample(100, seed=4))
    assert net.sample(0).shape == (0, 5)
    assert drawn.height.between(*net.bounds["height"]).all()
    with pytest.raises(ValueError, match="n must be at least 0, got -1"):
        net.sample(-1)


@pytest.mark.parametrize("seed", range(5))
def test_samples_reproduce_single_and_pair_marginals(seed: int) -> None:
    net, n = random_network(seed, names=list("abcde")), 200_000
    drawn = net.sample(n, seed)
    codes = {name: net.binnings[name](drawn[name]) for name in net.binnings}
    codes |= {name: pd.Categorical(drawn[name], list(net.levels[name])).codes for name in net.levels}
    for pair in itertools.combinations(net.names, 2):
        expected = net.query(list(pair)).to_numpy()
        cell = np.ravel_multi_index([codes[v] for v in pair], [net.cardinalities[v] for v in pair])
        observed = np.bincount(cell, minlength=len(expected)) / n
        # five standard errors: a false alarm in some 1,000 cells is very unlikely
        assert (np.abs(observed - expected) <= 5 * np.sqrt(expected * (1 - expected) / n) + 1e-12).all()
    for name in net.binnings:  # uniform inside the bins
        edges = net.bin_edges(name)
        inside = (drawn[name] - edges[codes[name]]) / np.diff(edges)[codes[name]]
        assert abs(inside.mean() - 0.5) < 5 * math.sqrt(1 / 12 / n)


def test_auto_mpg_against_the_reference() -> None:
    case = json.loads((Path(__file__).parents[1] / "golden" / "auto_mpg_fixed.json").read_text())
    frame = (
        datasets.load("auto_mpg").frame.iloc[:, list(case["columns"].values())].set_axis(list(case["columns"]), axis=1)
    )
    edges = {name: np.array(cuts) for name, cuts in case["expected"]["bayesian"]["edges"].items()}
    table = as_table(frame, continuous=list(edges))
    held_out = np.arange(len(frame)) % 10 == 3
    bounds = {name: (frame[name].min(), frame[name].max()) for name in edges}
    net = fit(table.take(~held_out), case["structure"], edges, bounds=bounds)
    codes = {
        name: np.digitize(frame[name], edges[name]) if name in edges else table.codes[name] for name in table.names
    }
    train = {name: column[~held_out] for name, column in codes.items()}
    assert net.score == pytest.approx(reference.k2_score(train, net.parents), rel=1e-12)
    expected = reference.log_likelihood(
        train,
        {name: frame[name].to_numpy()[held_out] for name in table.names},
        {name: codes[name][held_out] for name in table.discrete},
        net.parents,
        edges,
        bounds,
        {name: len(levels) for name, levels in table.levels.items()},
    )
    np.testing.assert_allclose(net.log_likelihood(frame[held_out]), expected, rtol=1e-12)


def test_importing_stays_light() -> None:
    code = (
        "import sys, jaxbn.model.fit, jaxbn.formats.bif; print([m for m in ('pandas', 'networkx') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_repr_is_readable() -> None:
    text = repr(fit(toy(), GRAPH, CUTS))
    assert "4 variables (2 continuous), 4 arcs, fitted to 300 rows" in text
    assert "girth <- height, kind" in text


def test_one_row() -> None:
    net = fit({"x": [1.0], "k": ["a"]}, {"x": ["k"]}, {"x": []})
    assert net.log_likelihood({"x": [1.0], "k": ["a"]}).tolist() == [0.0]
    assert net.score == 0.0


def test_rows_with_the_column_of_the_target_alone() -> None:
    net = fit({"kind": ["a", "a", "b"], "size": [1.0, 2.0, 7.0]}, {"size": ["kind"]}, {"size": [4.5]})
    with pytest.warns(UserWarning, match="the data lacks 'size'"):
        found = net.predict_proba({"kind": ["a", "never seen"]}, "kind")
    np.testing.assert_allclose(found.to_numpy(), np.tile(net.query("kind").to_numpy(), (2, 1)))
