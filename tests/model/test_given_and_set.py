"""Soft evidence, draws given something, interventions and tables, against the joint distribution cell by cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.inference.questions import draw_codes
from jaxbn.model.observations import observation_weights
from jaxbn.model.queries import states
from tests.helpers.random_networks import full_joint, random_network, representative


def weighed(net: BayesNet, joint: np.ndarray, weights: dict[str, np.ndarray]) -> np.ndarray:
    for name, weight in weights.items():
        joint = joint * weight.reshape([-1 if v == name else 1 for v in net.names])
    return joint / joint.sum()


def marginal(net: BayesNet, joint: np.ndarray, name: str) -> np.ndarray:
    return joint.sum(axis=tuple(i for i, v in enumerate(net.names) if v != name))


@pytest.mark.parametrize("seed", range(25))
def test_likelihoods_weigh_states(seed: int) -> None:
    net, rng = random_network(seed, most=6), np.random.default_rng(seed)
    target, *others = rng.permutation(net.names).tolist()
    likelihoods = {name: rng.random(net.cardinalities[name]) for name in others[:2]}
    series = {name: pd.Series(w, index=states(net, name)) for name, w in likelihoods.items()}
    joint = weighed(net, full_joint(net), likelihoods)
    np.testing.assert_allclose(net.query(target, series), marginal(net, joint, target), atol=1e-12)
    best = net.most_probable({name: dict(found) for name, found in series.items()})
    assert best.probability == pytest.approx(joint.max(), rel=1e-10)
    rows = net.sample(3, seed).drop(columns=list(likelihoods)).assign(unrelated=0)
    same = net.predict_proba(rows, target, soft=series)
    tables = {name: np.tile(w, (3, 1)) for name, w in likelihoods.items()}
    pd.testing.assert_frame_equal(same, net.predict_proba(rows, target, soft=tables))
    for i in range(3):
        given = {name: rows.loc[i, name] for name in net.names if name in rows and name != target}
        np.testing.assert_allclose(same.loc[i], net.query(target, given | series), atol=1e-12)


def test_likelihoods_of_levels_in_groups_and_of_intervals() -> None:
    data = {"town": ["a", "a", "b", "c"], "rain": [1, 1, 0, 0], "x": [0.0, 1.0, 2.0, 4.0]}
    net = jaxbn.fit(
        data, {"rain": ["town"], "x": ["rain"]}, {"town": jaxbn.Grouping([["a", "b"], ["c"]]), "x": [1.0, 3.0]}
    )
    joint = net.query(["town", "rain"]).unstack()
    weights = pd.Series({"a": 0.2, "b": 0.5, "c": 0.3})
    expected = joint.mul(weights, axis=0).sum() / joint.mul(weights, axis=0).to_numpy().sum()
    np.testing.assert_allclose(net.query("rain", {"town": dict(weights)}), expected, atol=1e-12)
    by_row = net.predict_proba({"x": [None]}, "rain", soft={"town": [weights.tolist()]})
    np.testing.assert_allclose(by_row.loc[0], expected, atol=1e-12)
    best = net.most_probable({"town": {"b": 1.0, "c": 0.1}}, k=20)
    assert sum(found.probability for found in best) == pytest.approx(1.0)
    assert {found.states["town"] for found in best} == {"b", "c"}
    found = observation_weights(net, {"x": {(0.0, 2.0): 0.4, (2.0, 4.0): 0.6, 2.5: 1.0}})["x"]
    np.testing.assert_allclose(found, [0.4, 0.4 * 0.5 + 0.6 * 0.5 + 1.0, 0.6])
    for wrong in ({"a": -1.0}, {"a": 0.0}, {"a": np.nan}):
        with pytest.raises(ValueError, match="likelihoods given for 'town'"):
            net.query("rain", {"town": wrong})
    with pytest.raises(ValueError, match=r"'town' in soft must be .* shape \(1, 3\), got \(1, 2\)"):
        net.predict_proba({"x": [1.0]}, "rain", soft={"town": [[1.0, 2.0]]})
    with pytest.raises(ValueError, match="both a target and given"):
        net.predict_proba({"x": [1.0], "town": ["a"]}, "rain", soft={"rain": [[1.0, 2.0]]})


@pytest.mark.parametrize("seed", range(25))
def test_the_k_most_probable_are_the_largest_cells(seed: int) -> None:
    net, rng = random_network(seed, most=6), np.random.default_rng(seed)
    name = str(rng.choice(net.names))
    given = {name: representative(net, name, int(rng.integers(net.cardinalities[name])))}
    joint = weighed(net, full_joint(net), observation_weights(net, given))
    best = net.most_probable(given, k=7)
    largest = np.sort(joint[joint > 0].ravel())[::-1][:7]
    np.testing.assert_allclose([found.probability for found in best], largest, rtol=1e-10)
    cells = [tuple(list(states(net, v)).index(found.states[v]) for v in net.names) for found in best]
    assert len(set(cells)) == len(cells)
    np.testing.assert_allclose([joint[cell] for cell in cells], largest, rtol=1e-10)
    assert best[0].states == net.most_probable(given).states
    with pytest.raises(ValueError, match="k"):
        net.most_probable(k=0)


@pytest.mark.parametrize("seed", range(8))
def test_draws_given_something_follow_the_posterior(seed: int) -> None:
    net, rng = random_network(seed, most=5), np.random.default_rng(seed)
    weights = {name: rng.random(net.cardinalities[name]) for name in rng.permutation(net.names).tolist()[:2]}
    joint = weighed(net, full_joint(net), weights)
    codes = draw_codes(net, 40_000, rng, weights)
    counts = np.zeros(joint.shape)
    np.add.at(counts, tuple(codes.T), 1)
    chi = ((counts - 40_000 * joint) ** 2 / np.maximum(40_000 * joint, 1e-300))[joint > 1e-4].sum()
    cells = int((joint > 1e-4).sum())
    assert chi < cells + 6 * np.sqrt(2 * cells)
    assert counts[joint == 0].sum() == 0


def small() -> BayesNet:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, 300)
    data = {"x": x, "y": x + rng.normal(size=300), "town": rng.choice(list("abcd"), 300)}
    codings = {"x": [3.0, 6.0], "y": [2.0, 5.0, 8.0], "town": jaxbn.Grouping([["a", "b"], ["c", "d"]])}
    return jaxbn.fit(data, {"y": ["x", "town"]}, codings)


def test_drawn_values_agree_with_what_is_known() -> None:
    net = small()
    rows = net.sample(500, given={"x": (2.0, 4.0), "town": {"a", "c"}})
    assert rows["x"].between(2.0, 4.0).all()
    assert rows["x"].max() > 3.9
    assert set(rows["town"]) == {"a", "c"}
    assert set(net.sample(200, given={"x": {1.0, 7.0}})["x"]) == {1.0, 7.0}
    assert (net.sample(5, given={"x": 4.5})["x"] == 4.5).all()
    soft = net.sample(4000, given={"x": {(0.0, 1.0): 1.0, (9.0, 9.5): 0.0, 5.0: 1.0}})["x"]
    assert (soft.between(0, 1) | (soft == 5.0)).all()
    expected = net.query("x", {"town": "a"})
    drawn = net.sample(20_000, 1, given={"town": "a"})["x"]
    share = np.bincount(net.binnings["x"](drawn), minlength=3) / 20_000
    np.testing.assert_allclose(share, expected, atol=0.02)
    assert len(net.sample(0, given={"x": 4.5})) == 0
    point = BayesNet({"a": (), "b": ("a",)}, {}, {"a": (0, 1), "b": (0, 1)}, {"a": [1.0, 0.0], "b": np.eye(2)}, {})
    with pytest.raises(ValueError, match="'b' has probability 0"):
        point.sample(3, given={"b": 1})


def test_completions_keep_what_is_there() -> None:
    net = small()
    rows = net.sample(50, 3)
    holed = rows.copy()
    holed.loc[::2, "x"] = np.nan
    found = net.complete(holed, 4)
    assert found.index.names[0] == "draw"
    assert len(found) == 200
    for draw in range(4):
        pd.testing.assert_frame_equal(found.loc[draw][["y", "town"]], rows[["y", "town"]], check_names=False)
        np.testing.assert_array_equal(found.loc[draw]["x"][1::2], rows["x"][1::2])
    assert found["x"].groupby(level=1).nunique().iloc[::2].max() > 1


@pytest.mark.parametrize("seed", range(25))
def test_what_is_set_is_the_truncated_product(seed: int) -> None:
    net, rng = random_network(seed, most=6), np.random.default_rng(seed)
    target, name, *others = rng.permutation(net.names).tolist()
    other = others[0] if others and seed % 2 else None
    state = int(rng.integers(net.cardinalities[name]))
    product: Any = 1.0
    for child, parents in net.parents.items():
        if child != name:
            axes = [net.names.index(v) for v in (*parents, child)]
            table = net.tables[child].transpose(np.argsort(axes))
            product = product * table.reshape(
                [net.cardinalities[v] if i in axes else 1 for i, v in enumerate(net.names)]
            )
    indicator = np.eye(net.cardinalities[name])[state]
    product = product * indicator.reshape([-1 if v == name else 1 for v in net.names])
    given = {other: representative(net, other, 0)} if other is not None else {}
    expected = marginal(net, weighed(net, product, observation_weights(net, given)), target)
    do = {name: representative(net, name, state)}
    np.testing.assert_allclose(net.query(target, given, do=do), expected, atol=1e-12)
    rows = net.sample(2000, seed, given=given, do=do)
    if target in net.binnings:
        codes = net.binnings[target](rows[target])
    else:
        codes = rows[target].map({level: i for i, level in enumerate(net.levels[target])}).to_numpy()
    share = np.bincount(codes, minlength=len(expected)) / 2000
    np.testing.assert_allclose(share, expected, atol=0.06)


def test_what_cannot_be_set_is_refused() -> None:
    net = small()
    with pytest.raises(ValueError, match="'x' is both set by do and given"):
        net.query("y", {"x": 1.0}, do={"x": 2.0})
    with pytest.raises(ValueError, match="'y' is both a target and given"):
        net.query("y", do={"y": 2.0})
    with pytest.raises(ValueError, match=r"do sets 'x' to .*set a single value"):
        net.query("y", do={"x": (0.0, 10.0)})
    with pytest.raises(ValueError, match="do sets 'town'"):
        net.sample(2, do={"town": ["a", "b"]})
    rows = net.sample(50, do={"town": "b", "x": 4.0})
    assert set(rows["town"]) == {"b"}
    assert set(rows["x"]) == {4.0}


def test_tables_have_labels() -> None:
    net = small()
    table = net.cpt("y")
    assert table.shape == (6, 4)
    assert table.index.names == ["x", "town"]
    assert table.columns.name == "y"
    np.testing.assert_array_equal(table.to_numpy().reshape(net.tables["y"].shape), net.tables["y"])
    assert list(net.cpt("town").columns) == ["a, b", "c, d"]
    np.testing.assert_allclose(table.loc[(4.0, "a, b")].to_numpy(), net.tables["y"][1, 0])
    with pytest.raises(ValueError, match="'z' is not a variable"):
        net.cpt("z")


def test_what_is_given_may_be_a_row_of_a_frame() -> None:
    rows = pd.DataFrame({"kind": ["a", "a", "b", "b"], "size": [1.0, 2.0, 7.0, 9.0]})
    net = jaxbn.fit(rows, {"size": ["kind"]}, {"size": [4.5]})
    assert net.query("kind", rows.iloc[2][["size"]]).equals(net.query("kind", {"size": 7.0}))
    assert net.most_probable(rows.iloc[2]).states == net.most_probable(dict(rows.iloc[2])).states


@pytest.mark.parametrize("argument", ["given", "do"])
def test_what_is_given_is_by_name(argument: str) -> None:
    net = jaxbn.fit({"kind": ["a", "b"]}, {}, {})
    with pytest.raises(TypeError, match=rf"^{argument} must be {{variable: value}}, got 'kind'$"):
        net.query("kind", **{argument: "kind"})  # type: ignore[arg-type]


def test_names_of_no_variable() -> None:
    net = jaxbn.fit({"kind": ["a", "b"]}, {}, {})
    for asked in (net.query, net.weight, net.state_labels, net.markov_blanket):
        with pytest.raises(ValueError, match="3 is not a variable of the network; known: 'kind'"):
            asked(3)  # type: ignore[operator]
