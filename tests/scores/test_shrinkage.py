"""Dirichlet weights that follow from the counts."""

from __future__ import annotations

import numpy as np
import pytest

import jaxbn
from jaxbn.scores.tables import shrunken_weights
from tests.reference import shrinkage as reference


@pytest.mark.parametrize("seed", range(12))
def test_weights_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 5, size=1 + seed % 4))
    counts = rng.poisson(rng.gamma(0.5, 4.0, size=shape))
    np.testing.assert_allclose(shrunken_weights(counts), reference.shrunken_weights(counts), rtol=1e-9)


def test_contexts_without_rows_are_like_the_others():
    counts = np.zeros((20, 20, 4), int)
    counts[:3, :3] = [90, 5, 5, 0]
    net_weights = shrunken_weights(counts)
    empty = net_weights[10, 10] / net_weights[10, 10].sum()
    assert empty[0] > 0.5  # a quarter of the weights is the same for all states, in every step
    assert np.allclose(net_weights.sum(axis=-1), net_weights[0, 0].sum())


def test_fitted_tables_keep_their_weights_in_files(tmp_path):
    rng = np.random.default_rng(0)
    data = {"a": rng.integers(0, 3, 80), "b": rng.integers(0, 4, 80)}
    data["c"] = (data["a"] + data["b"] + rng.integers(0, 2, 80)) % 3
    net = jaxbn.fit(data, {"c": ["a", "b"]}, {}, alpha="auto")
    assert (net.alpha, net.weight("a")) == ("auto", 1.0)
    assert net.weight("c") >= 0.5
    net.save(tmp_path / "net.json")
    assert jaxbn.load(tmp_path / "net.json") == net
    assert jaxbn.fit(data, {"c": ["a", "b"]}, {}).alpha == 1.0


def test_missing_entries_never_lower_the_objective():
    rng = np.random.default_rng(1)
    data = {"a": rng.integers(0, 3, 200).astype(object), "b": rng.integers(0, 4, 200).astype(object)}
    data["c"] = np.array([(a + b) % 3 for a, b in zip(data["a"], data["b"], strict=True)], object)
    for column in data.values():
        column[rng.random(200) < 0.15] = None
    net = jaxbn.fit(data, {"c": ["a", "b"], "b": ["a"]}, {}, alpha="auto")
    assert len(net.em_trace) > 2
    assert np.all(np.diff(net.em_trace) >= -1e-9)


def test_only_the_evidence_asks_for_such_weights():
    data = jaxbn.datasets.load("iris").frame
    assert jaxbn.learn(data, restarts=1, progress=False).alpha == "auto"
    assert jaxbn.learn(data, method="bayesian", search="k2", progress=False).alpha == 1.0


def test_other_words_are_refused():
    with pytest.raises(ValueError, match=r"alpha must be a positive number, got 'best'.*alpha='auto'"):
        jaxbn.fit({"a": [0, 1]}, {}, {}, alpha="best")
