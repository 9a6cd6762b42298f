"""``net.impute``: the posterior against enumeration, types kept, and every way to fill."""

from __future__ import annotations

import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.groups.grouping import Grouping
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.imputing.impute import Strategy, read_rows
from jaxbn.model.imputing.regression import _predicted
from jaxbn.model.imputing.ridge import fit_line
from jaxbn.model.inference.answers import marginals
from jaxbn.runtime.memory import at_most
from tests.helpers.random_networks import random_network
from tests.reference import holes

HOWS = ("mean", "regression", "most_probable", "draw")


def toy(n: int = 80, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    kind = rng.choice(list("abc"), n)
    size = rng.normal(size=n) + 3 * (kind == "a")
    return pd.DataFrame({"kind": kind, "size": size, "count": rng.poisson(5 + (kind == "b") * 4.0, n)})


def net() -> BayesNet:
    return jaxbn.fit(toy(), {"size": ["kind"], "count": ["kind"]}, {"size": [0.5, 2.0], "count": [4.5, 7.5]})


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("max_memory", [2e9, 3e4])
def test_marginals_equal_enumeration(seed: int, max_memory: float) -> None:
    plain = random_network(seed, most=6).network
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, plain.structure.sizes, size=(30, len(plain.tables))).astype(np.int32)
    codes[rng.random(codes.shape) < 0.5] = -1
    seen = np.zeros(codes.shape, bool)
    with at_most(max_memory):
        answers = list(marginals(plain, codes))
    for variable, rows, where, chances in answers:
        assert not seen[rows, variable].any()
        seen[rows, variable] = True
        for row, chance in zip(rows, chances[where], strict=True):
            expected = np.zeros(len(chance))
            for full, p in holes.posterior(plain.structure.parents, plain.tables, codes[row])[0].items():
                expected[full[variable]] += p
            np.testing.assert_allclose(chance, expected, atol=1e-12)
    assert (seen == (codes == -1)).all()


@pytest.mark.parametrize("seed", range(6))
def test_means_and_levels_are_those_of_predict(seed: int) -> None:
    found = random_network(seed, most=5)
    frame = found.sample(25, seed).astype(object)
    frame = frame.mask(np.random.default_rng(seed).random(frame.shape) < 0.4)
    filled = found.impute(frame)
    for name in found.names:
        gone = frame[name].isna()
        if not gone.any():
            continue
        if name in found.binnings:
            expected = found.predict(frame, name, returns="mean")[gone].astype(float)
            np.testing.assert_allclose(filled[name][gone].astype(float), expected, atol=1e-12)
        else:
            assert filled[name][gone].tolist() == found.predict(frame, name)[gone].tolist()
        assert filled[name][~gone].equals(frame[name][~gone])


@pytest.mark.parametrize("seed", range(6))
def test_most_probable_is_that_of_the_network(seed: int) -> None:
    found = random_network(seed, most=5)
    frame = found.sample(8, seed).astype(object)
    frame = frame.mask(np.random.default_rng(seed).random(frame.shape) < 0.5)
    filled = found.impute(frame, "most_probable")
    for i in range(len(frame)):
        known = {name: frame.loc[i, name] for name in found.names if not pd.isna(frame.loc[i, name])}
        best = found.most_probable(known)
        if not best.tied:
            for name, state in best.states.items():
                assert filled.loc[i, name] in state if name in found.binnings else filled.loc[i, name] == state


def test_draws_have_the_posterior_and_lie_in_their_bins() -> None:
    found = net()
    frame = pd.DataFrame({"kind": ["a"] * 4000, "size": np.nan, "count": np.nan})
    drawn = found.impute(frame, "draw", seed=3)
    bins = found.binnings["size"](drawn["size"])
    np.testing.assert_allclose(np.bincount(bins) / 4000, found.query("size", {"kind": "a"}), atol=0.04)
    assert drawn["size"].between(*found.bounds["size"]).all()
    assert drawn["size"].nunique() > 3000
    pd.testing.assert_frame_equal(drawn, found.impute(frame, "draw", seed=3))
    assert not drawn.equals(found.impute(frame, "draw", seed=4))


@pytest.mark.parametrize("how", HOWS)
def test_what_is_there_stays_and_nothing_is_missing_after(how: str) -> None:
    data = toy()
    frame = data.mask(np.random.default_rng(1).random(data.shape) < 0.3)
    frame.index = frame.index[::-1] + 7
    frame["note"] = None
    filled = net().impute(frame, how)
    assert filled.index.equals(frame.index)
    assert list(filled.columns) == list(frame.columns)
    assert filled["note"].isna().all()
    for name in data:
        assert not filled[name].isna().any()
        assert filled[name].dtype == frame[name].dtype
        there = frame[name].notna()
        assert filled.loc[there, name].equals(frame.loc[there, name])
    assert (filled["count"] == filled["count"].round()).all()
    assert frame.isna().any().all()


@pytest.mark.parametrize("how", HOWS)
def test_no_holes_and_no_rows(how: str) -> None:
    data = toy()
    pd.testing.assert_frame_equal(net().impute(data, how), data)
    assert net().impute(data[:0], how).shape == (0, 3)


@pytest.mark.parametrize("how", HOWS)
def test_kinds_of_columns_are_kept(how: str) -> None:
    rng = np.random.default_rng(0)
    full = pd.DataFrame(
        {
            "flag": rng.random(60) < 0.5,
            "size": rng.normal(size=60).astype(np.float32),
            "count": rng.integers(0, 90, 60),
            "grade": pd.Categorical(rng.choice(["lo", "hi"], 60), ["lo", "mid", "hi"], ordered=True),
            "level": rng.integers(0, 3, 60),
            "word": rng.choice(["x", "y"], 60),
        }
    )
    found = jaxbn.fit(full, {"flag": ["size"], "level": ["grade"]}, {"size": [0.0], "count": [40.0]})
    frame = full.astype({"flag": "boolean", "count": "Int64", "level": "Int8", "word": "string"})
    frame.loc[:9, :] = pd.NA
    filled = found.impute(frame, how)
    assert filled.dtypes.equals(frame.dtypes)
    assert not filled.isna().any().any()
    plain = full.astype({"flag": object}).copy()
    plain.loc[:5, "flag"] = None
    assert {type(v) for v in found.impute(plain, how)["flag"]} == {bool}


def test_levels_are_spelled_as_in_the_data() -> None:
    price = [Decimal("1.5"), Decimal("2.5")] * 20
    found = jaxbn.fit({"price": [float(p) for p in price], "x": ["a", "b"] * 20}, {"x": ["price"]}, {})
    filled = found.impute({"price": [None, Decimal("2.5")], "x": ["a", None]})
    assert filled["price"].tolist() == [1.5, 2.5]
    assert filled["x"].tolist() == ["a", "b"]
    bins = pd.cut([1.0, 2.0, 3.0, 9.0] * 5, [0, 2.5, 10])
    with_bins = jaxbn.fit(pd.DataFrame({"bin": bins, "x": ["a", "a", "b", "b"] * 5}), {"x": ["bin"]}, {})
    frame = pd.DataFrame({"bin": pd.Categorical([None, bins[2]], categories=bins.categories), "x": ["a", "b"]})
    assert with_bins.impute(frame)["bin"].tolist() == [bins[0], bins[2]]


def test_a_category_that_the_data_does_not_have_is_added() -> None:
    found = net()
    frame = pd.DataFrame({"kind": pd.Categorical([None, "b"], ["b"]), "size": [4.5, 0.0], "count": [5, 9]})
    assert found.impute(frame)["kind"].tolist() == ["a", "b"]


@pytest.mark.parametrize("how", HOWS)
def test_grouped_levels(how: str) -> None:
    data = toy(300)
    found = jaxbn.fit(data, {"size": ["kind"]}, {"size": [2.0], "count": [5.0], "kind": Grouping([["a"], ["b", "c"]])})
    frame = pd.DataFrame({"kind": [None] * 200, "size": [-1.0] * 200, "count": [5.0] * 200})
    filled = found.impute(frame, how)["kind"]
    expected = found.predict_proba(frame, "kind").iloc[0]
    if how == "draw":
        np.testing.assert_allclose([(filled == k).mean() for k in "abc"], expected, atol=0.12)
    else:
        assert set(filled) == {expected.idxmax()}


def test_unknown_levels_stay() -> None:
    frame = pd.DataFrame({"kind": ["z", None], "size": [np.nan, 4.0], "count": [5.0, 5.0]})
    with pytest.raises(ValueError, match="unknown level"):
        net().impute(frame)
    assert net().impute(frame, unknown="missing")["kind"].tolist() == ["z", "a"]


@pytest.mark.filterwarnings("ignore:the data lacks")
def test_absent_columns_are_summed_out_and_stay_absent() -> None:
    filled = net().impute({"size": [4.0, None]})
    assert list(filled.columns) == ["size"]
    assert filled["size"].notna().all()


def test_impossible_rows_and_unknown_ways_are_refused() -> None:
    tables = {"a": np.array([0.5, 0.5]), "b": np.array([[1.0, 0.0], [1.0, 0.0]])}
    found = BayesNet({"a": (), "b": ("a",)}, {}, {"a": (0, 1), "b": (0, 1)}, tables, {})
    with pytest.raises(ValueError, match="row 1 has probability 0"):
        found.impute({"a": [None, None], "b": [0, 1]})
    with pytest.raises(ValueError, match="strategy must be one of"):
        found.impute({"a": [None], "b": [0]}, "median")


def test_regression_tells_values_inside_a_bin_apart() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, 300)
    data = pd.DataFrame({"x": x, "y": 2 * x + rng.normal(size=300) * 0.05})
    found = jaxbn.fit(data, {"y": ["x"]}, {"x": [5.0], "y": [10.0]})
    frame = data.copy()
    frame.loc[:49, "y"] = np.nan
    frame.loc[50:99, "x"] = np.nan
    by_line, by_mean = found.impute(frame, "regression"), found.impute(frame)
    assert np.abs(by_line - data).max().max() < 0.3
    assert np.abs(by_mean - data).max().max() > 2


def test_means_for_the_lines_leave_each_row_out() -> None:
    data = toy(30).astype({"kind": "category"})
    graph, cuts = {"size": ["kind"], "count": ["size", "kind"]}, {"size": [0.5, 2.0], "count": [4.5, 7.5]}
    found = jaxbn.fit(data, graph, cuts, alpha=0.7)
    said = _predicted(found, *read_rows(found, data, "error"), own_rows=True).said
    for row in range(0, 30, 4):
        others = jaxbn.fit(data.drop(index=row), graph, cuts, alpha=0.7, bounds=found.bounds)
        for name in cuts:
            assert said[name][row, 0] == pytest.approx(
                others.predict(data[row : row + 1], name, returns="mean").iloc[0]
            )


def test_a_line_is_that_of_least_squares_where_data_abound() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5000, 3)) * [1, 10, 100]
    y = x @ [1.0, 0.2, -0.01] + 3 + rng.normal(size=5000)
    ours = fit_line(x, y)[0](x)
    design = np.column_stack([np.ones(5000), x])
    theirs = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(ours, np.clip(theirs, y.min(), y.max()), atol=5e-3)


def test_a_line_through_nothing_is_the_mean() -> None:
    assert fit_line(np.zeros((4, 2)), np.array([1.0, 2.0, 3.0, 6.0]))[0](np.ones((1, 2))).tolist() == [3.0]
    assert fit_line(np.zeros((2, 0)), np.array([1.0, 3.0]))[0](np.ones((1, 0))).tolist() == [2.0]
    assert fit_line(np.arange(3.0)[:, None], np.full(3, 7.0))[0](np.array([[9.0]])).tolist() == [7.0]


@pytest.mark.parametrize("how", ["mean", "regression", "most_probable", "draw"])
@pytest.mark.parametrize("grouped", [False, True])
def test_where_being_missing_is_a_level_entries_are_filled_with_what_they_would_be(
    how: Strategy, grouped: bool
) -> None:
    """It was the first level, whatever the row had."""
    kind = np.repeat(["a", "b", "c"], 40)
    size = np.where(kind == "a", 1.0, 5.0) + np.tile([0.1, 0.2], 60)
    frame = pd.DataFrame({"kind": kind, "size": size})
    frame.loc[::5, "kind"] = None
    frame.loc[::7, "size"] = None
    codings: dict[str, Any] = {"size": [3.0]}
    if grouped:
        codings["kind"] = Grouping([["a"], ["b", "c", "(missing)"]])
    net = jaxbn.fit(frame, {"size": ["kind"], "size (missing)": ["kind"]}, codings, missing="state")
    assert "(missing)" in net.levels["kind"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the column that says what is missing is not said to be absent
        filled = net.impute(frame, how)
        net.predict_proba(frame, "size")
    assert set(filled["kind"]) == {"a", "b", "c"}
    assert list(filled.columns) == ["kind", "size"]
    sure = frame["kind"].isna() & frame["size"].notna()
    assert ((filled["kind"] == "a") == (size < 3))[sure].mean() > 0.9


def test_the_text_of_a_missing_level_is_a_missing_entry() -> None:
    """Samples of a network whose missing entries are a state have it, and so may any table."""
    data = {"kind": ["(missing)", "a", "b", None] * 10, "side": ["u", "v"] * 20}
    net = jaxbn.fit(data, {"kind": ["side"]}, {})
    assert net.levels["kind"] == ("a", "b")
    assert set(net.impute(data)["kind"]) == {"a", "b"}
    assert jaxbn.fit(data, {"kind": ["side"]}, {}, missing="state").levels["kind"] == ("a", "b", "(missing)")
    with pytest.raises(ValueError, match="column 'kind' has no value in any of the 4 rows"):
        jaxbn.fit({"kind": ["(missing)"] * 4, "side": ["u", "v"] * 2}, {"kind": ["side"]}, {})
