"""Scores of rows: shares that sum to the log density, p-values that are calibrated, reasons that name the culprit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.model.rows.scores import misplacement


def rows(n: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    kind = rng.choice([*"abc"], n)
    size = rng.normal(np.where(kind == "a", 0.0, 5.0), 1.0)
    return pd.DataFrame({"size": size, "kind": kind, "big": size > 3})


def network() -> jaxbn.BayesNet:
    return jaxbn.fit(rows(), {"size": ["kind"], "big": ["size"]}, {"size": [1.0, 3.0, 5.0]})


def test_shares_are_log_densities_given_the_parents() -> None:
    net, data = network(), rows(50)
    scores = net.score_samples(data)
    np.testing.assert_allclose(scores.log_density, net.log_likelihood(data), atol=1e-12)
    chance = [net.query("big", {"size": size})[big] for size, big in zip(data["size"], data["big"], strict=True)]
    np.testing.assert_allclose(scores.shares["big"], np.log(chance), atol=1e-12)
    assert list(scores.shares.index) == list(data.index)


def test_rows_with_holes_sum_to_what_is_known_of_them() -> None:
    net = network()
    data = rows(40).astype(object).mask(np.random.default_rng(0).random((40, 3)) < 0.3)
    scores = net.score_samples(data, simulations=200)
    np.testing.assert_allclose(scores.log_density, net.log_likelihood(data), atol=1e-9)
    missing = data.isna().to_numpy()
    np.testing.assert_allclose(scores.shares.to_numpy()[missing], 0.0, atol=1e-12)
    np.testing.assert_array_equal(scores.variable_p_values.isna(), missing)
    assert scores.p_values.between(0, 1).all()
    empty = scores.p_values[missing.all(axis=1)]
    assert (empty == 1.0).all()  # nothing is known of them, so nothing is odd


def test_rows_of_the_network_itself_seldom_have_small_p_values() -> None:
    net = network()
    p_values = net.score_samples(net.sample(2000, 1), simulations=2000, seed=2).p_values
    for share in (0.01, 0.1, 0.5):
        assert (p_values <= share).mean() <= share + 0.02  # below it where many rows have the same density
    assert p_values.mean() == pytest.approx(0.55, abs=0.1)


def test_the_reason_names_the_variable_and_its_parents() -> None:
    odd = pd.DataFrame({"size": [6.0, 0.0], "kind": ["a", "a"], "big": [True, True]}, index=[7, 9])
    reasons = network().score_samples(odd).reasons()
    assert reasons[7].startswith("size given kind")
    assert reasons[9] == "big given size"


def test_a_row_that_is_odd_only_as_a_whole_has_a_reason_too() -> None:
    net = jaxbn.fit({name: ["a", "b"] * 30 + ["a"] * 400 for name in "uvwxyz"}, {}, {})
    rows = pd.DataFrame([["b"] * 6, ["a"] * 6, [None] * 6], columns=[*"uvwxyz"])
    scores = net.score_samples(rows)
    assert scores.p_values[0] < 0.01
    assert (scores.variable_p_values.loc[0] > 0.01).all()
    reasons = scores.reasons().tolist()
    assert reasons[0] in rows.columns  # one of them: their p-values differ by chance alone
    assert reasons[1:] == ["", ""]


def test_misplacement_is_a_ratio_of_likelihoods() -> None:
    net = jaxbn.fit({"a": [0, 0, 1, 1, 1], "b": [0, 1, 1, 1, 1]}, {"b": ["a"]}, {})
    joint = net.query(["a", "b"]).to_numpy().reshape(2, 2)
    first, second = joint.sum(axis=1), joint.sum(axis=0)
    expected = np.log(np.outer(first, second) / joint)  # both entries have the same ratio
    found = misplacement(net, {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, "error")
    np.testing.assert_allclose(found, expected.ravel(), atol=1e-12)
