"""An average of networks answers as the mixture of their densities does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

import jaxbn

RNG = np.random.default_rng(0)
SIZE = RNG.normal(size=80)
DATA = pd.DataFrame(
    {
        "size": SIZE,
        "age": SIZE**2 + RNG.random(80),
        "kind": np.where(SIZE + 0.3 * RNG.normal(size=80) > 0, "b", "a"),
    }
)
NETS = (
    jaxbn.fit(DATA, {"age": ["size"], "kind": ["size"]}, {"size": [-0.5, 0.4], "age": [1.0]}),
    jaxbn.fit(DATA, {"size": ["kind"], "age": ["kind", "size"]}, {"size": [0.0], "age": [0.7, 1.6]}),
    jaxbn.fit(DATA, {}, {"size": [], "age": [0.7]}),
)
AVERAGE = jaxbn.AverageNet(NETS)


def density(frame: pd.DataFrame) -> np.ndarray:
    return np.mean([np.exp(net.log_likelihood(frame)) for net in NETS], axis=0)


def test_the_likelihood_is_the_mean_density() -> None:
    np.testing.assert_allclose(np.exp(AVERAGE.log_likelihood(DATA)), density(DATA), rtol=1e-12)
    holes = DATA.assign(age=np.nan)
    np.testing.assert_allclose(np.exp(AVERAGE.log_likelihood(holes)), density(holes), rtol=1e-12)


def test_predictions_are_conditionals_of_the_mean_density() -> None:
    rows = DATA[:6]
    joint = np.stack([density(rows.assign(kind=level)) for level in ("a", "b")], axis=1)
    found = AVERAGE.predict_proba(rows, "kind")
    np.testing.assert_allclose(found, joint / joint.sum(axis=1, keepdims=True), rtol=1e-10)
    assert AVERAGE.predict(rows, "kind").tolist() == [["a", "b"][i] for i in joint.argmax(axis=1)]
    absent = AVERAGE.predict_proba(rows.drop(columns="age").assign(age=np.nan), "kind")
    np.testing.assert_allclose(absent.sum(axis=1), 1.0)


def test_probabilities_add_up_to_one_however_improbable_a_row_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Log-likelihoods of many columns have lost digits after the point, and scikit-learn refuses more than one."""
    monkeypatch.setattr(jaxbn.BayesNet, "log_likelihood", lambda net, rows, **_: np.full(len(rows), -98765.4321))
    found = AVERAGE.predict_proba(DATA, "kind").to_numpy()
    assert np.abs(found.sum(axis=1) - 1).max() < 1e-15
    assert found.max() <= 1


def test_a_continuous_target_has_the_cuts_of_all() -> None:
    rows = DATA[:4]
    found = AVERAGE.predict_proba(rows, "size")
    assert found.columns.right.tolist()[:-1] == [-0.5, 0.0, 0.4]
    edges = np.array([DATA["size"].min(), -0.5, 0.0, 0.4, DATA["size"].max()])
    middles = (edges[1:] + edges[:-1]) / 2
    joint = np.stack([density(rows.assign(size=m)) for m in middles], axis=1) * np.diff(edges)
    np.testing.assert_allclose(found, joint / joint.sum(axis=1, keepdims=True), rtol=1e-9)
    means = AVERAGE.predict(rows, "size", returns="mean")
    np.testing.assert_allclose(means, found.to_numpy() @ middles)
    highest = (found.to_numpy() / np.diff(edges)).argmax(axis=1)
    assert AVERAGE.predict(rows, "size").tolist() == [found.columns[i] for i in highest]


@pytest.mark.parametrize(
    "given", [{}, {"size": 0.2}, {"size": (-0.2, 0.6)}, {"kind": "a", "age": 0.5}, {"size": [0.1, -1.0]}]
)
def test_queries_are_conditionals_of_the_mean_density(given: dict) -> None:
    """By sampling points: one row for each cell of a fine grid over all three variables."""
    cuts = {
        name: np.unique([*AVERAGE.density(name)[0], *(np.ravel(given.get(name, [])).astype(float))])
        for name in ("size", "age")
    }
    middles = {name: (c[1:] + c[:-1]) / 2 for name, c in cuts.items()}
    grid = pd.MultiIndex.from_product([middles["size"], middles["age"], ["a", "b"]], names=DATA.columns).to_frame()
    grid = grid.reset_index(drop=True)
    widths = {name: dict(zip(middles[name], np.diff(cuts[name]), strict=True)) for name in cuts}
    weight = density(grid)
    for name in cuts:
        own = grid[name].map(widths[name]).to_numpy()
        if name not in given:
            weight = weight * own
        elif isinstance(given[name], tuple):
            weight = weight * own * grid[name].between(*given[name])
        else:
            points = np.atleast_1d(given[name])
            near = [middles[name][np.searchsorted(cuts[name], p, side="right") - 1] for p in points]
            weight = weight * grid[name].isin(near)
    if "kind" in given:
        weight = weight * (grid["kind"] == given["kind"])
    target = "kind" if "kind" not in given else "size"
    found = AVERAGE.query(target, given)
    labels = found.index if target == "kind" else None
    if labels is not None:
        expected = [weight[grid["kind"] == level].sum() for level in labels]
    else:
        expected = [weight[[bool(x in interval) for x in grid["size"]]].sum() for interval in found.index]
    np.testing.assert_allclose(found, np.array(expected) / np.sum(expected), rtol=1e-9)


def test_an_interval_of_pandas_is_an_interval() -> None:
    """It once ended in a TypeError where it lay within one bin of a network."""
    expected = AVERAGE.query("kind", {"size": (0.1, 0.2)})
    np.testing.assert_allclose(AVERAGE.query("kind", {"size": pd.Interval(0.1, 0.2)}), expected)
    np.testing.assert_allclose(
        AVERAGE.query("kind", {"size": pd.Interval(0.1, 0.1, closed="both")}), AVERAGE.query("kind", {"size": 0.1})
    )


def test_networks_may_have_different_groups() -> None:
    """What is known of a grouped variable weighs by the probability of the level, not of its group."""
    town = np.array(["p", "q", "r", "s"])[RNG.integers(4, size=80)]
    data = DATA[["kind"]].assign(town=town)
    nets = tuple(
        jaxbn.fit(data, {"kind": ["town"]}, {"town": jaxbn.Grouping(groups)})
        for groups in ((("p", "q", "r"), ("s",)), (("p",), ("q", "r", "s")))
    )
    average = jaxbn.AverageNet(nets)
    pairs = pd.DataFrame([(k, t) for k in ("a", "b") for t in "pqrs"], columns=["kind", "town"])
    joint = np.mean([np.exp(net.log_likelihood(pairs)) for net in nets], axis=0).reshape(2, 4)
    np.testing.assert_allclose(average.query(["kind", "town"]).to_numpy().reshape(2, 4), joint, rtol=1e-12)
    np.testing.assert_allclose(average.query("kind", {"town": "q"}), joint[:, 1] / joint[:, 1].sum(), rtol=1e-12)
    np.testing.assert_allclose(average.query("town", {"kind": "b"}), joint[1] / joint[1].sum(), rtol=1e-12)
    found = average.predict_proba(pairs, "kind").to_numpy()[:4]
    np.testing.assert_allclose(found, (joint / joint.sum(axis=0)).T, rtol=1e-12)


def test_density_and_joint_query_agree() -> None:
    edges, heights = AVERAGE.density("age", {"kind": "a"})
    chances = AVERAGE.query("age", {"kind": "a"})
    np.testing.assert_allclose(heights * np.diff(edges), chances, rtol=1e-12)
    both = AVERAGE.query(["kind", "age"])
    np.testing.assert_allclose(both["a"] / both["a"].sum(), chances, rtol=1e-12)
    np.testing.assert_allclose(both.sum(), 1.0)


def test_samples_come_from_all_networks() -> None:
    rows = AVERAGE.sample(3000, seed=1)
    assert list(rows.columns) == list(DATA.columns)
    share = AVERAGE.query("kind")["a"]
    assert abs((rows["kind"] == "a").mean() - share) < 4 * np.sqrt(share * (1 - share) / 3000)
    assert AVERAGE.sample(5, seed=2).equals(AVERAGE.sample(5, seed=2))
    assert len(AVERAGE.sample(0)) == 0


def test_it_is_saved_and_loaded(tmp_path) -> None:
    AVERAGE.save(tmp_path / "average.json")
    found = jaxbn.load(tmp_path / "average.json")
    assert found == AVERAGE
    text = (tmp_path / "average.json").read_text().replace('"networks": [', '"networks": [3, ')
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(ValueError, match=r"network 0 of .*bad\.json' is not a jaxbn network"):
        jaxbn.load(tmp_path / "bad.json")


def test_networks_must_go_together() -> None:
    with pytest.raises(ValueError, match="networks is empty"):
        jaxbn.AverageNet(())
    other = jaxbn.fit({"size": [0.0, 1.0]}, {}, {"size": [0.5]})
    with pytest.raises(ValueError, match="network 1 differs from the first"):
        jaxbn.AverageNet((NETS[0], other))


def test_effects_are_those_of_every_network_in_its_own_bin() -> None:
    means = []
    for net in NETS:
        one = net.effect("size", "age")["mean"].to_numpy()
        means.append([one[np.searchsorted(net.binnings["size"].cuts, at, side="right")] for at in (-9, -0.5, 0.0, 0.4)])
    found = AVERAGE.effect("size", "age", coverage=1.0)
    assert found.index.right.tolist()[:-1] == [-0.5, 0.0, 0.4]
    np.testing.assert_allclose(found["mean"], np.mean(means, axis=0), rtol=1e-12)
    narrow = AVERAGE.effect("size", "age", coverage=0.5)
    assert (narrow["low"] >= found["low"]).all()
    assert (narrow["high"] <= found["high"]).all()
    chances = AVERAGE.effect("size", "kind", level="b")
    by_do = np.mean([net.query("kind", do={"size": -2.0})["b"] for net in NETS])
    assert chances["mean"].iloc[0] == pytest.approx(by_do, abs=1e-12)


def test_the_range_of_an_effect_is_that_of_drawn_tables() -> None:
    """Of one network without other arcs, the chance of a level has a beta posterior."""
    data = {"kind": ["a"] * 30 + ["b"] * 10, "cured": ["yes"] * 20 + ["no"] * 10 + ["yes"] * 2 + ["no"] * 8}
    many = jaxbn.AverageNet((jaxbn.fit(data, {"cured": ["kind"]}, {}, alpha=1.0),) * 4000)
    found = many.effect("kind", "cured", level="yes", coverage=0.8)
    for kind, (yes, no) in {"a": (21, 11), "b": (3, 9)}.items():
        expected = beta(yes, no).ppf([0.1, 0.9])
        assert found.loc[kind, ["low", "high"]].tolist() == pytest.approx(expected, abs=0.02)
        assert found.loc[kind, "mean"] == pytest.approx(yes / (yes + no))


def test_effects_over_networks_refuse_what_they_cannot_answer() -> None:
    with pytest.raises(ValueError, match="coverage must be a share above 0, at most 1, not '0'"):
        AVERAGE.effect("size", "age", coverage="0")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="coverage must be a share above 0, at most 1, not 0"):
        AVERAGE.effect("size", "age", coverage=0)
    with pytest.raises(ValueError, match="name one of them"):
        AVERAGE.effect("size", "kind")


def test_a_range_without_ends_says_nothing() -> None:
    nets = [jaxbn.fit({"x": [0.0, 1.0, 4.0], "k": ["a", "b", "b"]}, {"k": ["x"]}, {"x": cuts}) for cuts in ([], [2.0])]
    average = jaxbn.AverageNet(nets)
    np.testing.assert_allclose(average.query("k", {"x": (None, None)}), average.query("k"))
