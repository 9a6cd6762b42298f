"""Exported networks give the same answers in pgmpy and pyAgrum."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxbn
from jaxbn.formats.record import variable_labels
from jaxbn.model.bayesnet import BayesNet
from tests.helpers.random_networks import random_network, representative

AWKWARD = ["a b", 'say "x"', "it's", "ünï", "2nd"]
NETWORKS = [random_network(seed, most=10) for seed in range(20)] + [random_network(7, names=AWKWARD)]


def questions(net: BayesNet, seed: int) -> Iterator[tuple[str, dict[str, Any], dict[str, int]]]:
    """A target and evidence, as values and as codes: three for each network."""
    rng = np.random.default_rng(seed)
    for _ in range(3):
        target, *rest = rng.permutation(net.names).tolist()
        codes = {name: int(rng.integers(net.cardinalities[name])) for name in rest[: int(rng.integers(0, 4))]}
        yield target, {name: representative(net, name, code) for name, code in codes.items()}, codes


def written(net: BayesNet) -> dict[str, str]:
    """Names in a BIF file, which has no variables of one state: pyAgrum refuses them."""
    return {name: label for name, label in variable_labels(net.names).items() if net.cardinalities[name] > 1}


def test_variables_of_one_state_are_left_out_of_a_bif_file_and_restored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = {"one": ["u", "u", "u"], "x": [1.0, 2.0, 4.0], "k": ["a", "b", "b"], "flat": [1.0, 2.0, 3.0]}
    net = jaxbn.fit(data, {"x": ["one", "k", "flat"], "one": ["k"], "k": ["flat"]}, {"x": [3.0], "flat": []})
    net.to_bif(tmp_path / "net.bif")
    text = (tmp_path / "net.bif").read_text()
    assert "variable one" not in text
    assert "probability ( x | k )" in text
    assert "// left out, as other programs refuse variables of one state: one, flat" in text
    assert "one, flat left out" in caplog.text
    assert jaxbn.read_bif(tmp_path / "net.bif") == net
    alone = jaxbn.fit({"one": ["u", "u"]}, {}, {})
    alone.to_bif(tmp_path / "alone.bif")
    assert jaxbn.read_bif(tmp_path / "alone.bif") == alone


@pytest.mark.parametrize("net", NETWORKS)
def test_state_labels_are_words(net: BayesNet) -> None:
    for name in net.names:
        labels = net.state_labels(name)
        assert len(set(labels)) == net.cardinalities[name]
        assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", label) for label in labels)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(len(NETWORKS)))
def test_pgmpy_agrees(seed: int, tmp_path: Path) -> None:
    pytest.importorskip("pgmpy")
    from pgmpy.inference import VariableElimination
    from pgmpy.readwrite import BIFReader

    net = NETWORKS[seed]
    net.to_bif(tmp_path / "net.bif")
    label = written(net)
    engines = [
        (VariableElimination(net.to_pgmpy()), {name: name for name in net.names}),
        (VariableElimination(BIFReader(str(tmp_path / "net.bif")).get_model()), label),
    ]
    for target, evidence, codes in questions(net, seed):
        expected = net.query(target, evidence).to_numpy()
        for engine, rename in engines:
            if target not in rename:
                continue
            states = {rename[name]: net.state_labels(name)[code] for name, code in codes.items() if name in rename}
            factor = engine.query([rename[target]], states, show_progress=False)
            values = [factor.get_value(**{rename[target]: s}) for s in net.state_labels(target)]
            np.testing.assert_allclose(values, expected, rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(len(NETWORKS)))
def test_pyagrum_agrees(seed: int, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pyagrum = pytest.importorskip("pyagrum")
    net = NETWORKS[seed]
    net.to_bif(tmp_path / "net.bif")
    models = [(net.to_pyagrum("labels"), {name: name for name in net.names}, 1e-9)]
    # pyAgrum reads numbers in single precision
    models.append((pyagrum.loadBN(str(tmp_path / "net.bif")), written(net), 1e-6))
    for target, evidence, codes in questions(net, seed):
        expected = net.query(target, evidence).to_numpy()
        for model, rename, tolerance in models:
            if target not in rename:
                continue
            engine = pyagrum.LazyPropagation(model)
            known = {rename[name]: net.state_labels(name)[code] for name, code in codes.items() if name in rename}
            engine.setEvidence(known)
            engine.makeInference()
            posterior = engine.posterior(rename[target])
            assert model.variable(rename[target]).labels() == net.state_labels(target)
            np.testing.assert_allclose(posterior.toarray().ravel(), expected, rtol=0, atol=tolerance)
