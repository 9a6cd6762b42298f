"""Exported networks give the same answers in pgmpy and pyAgrum."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxbn.formats.labels import variable_labels
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


@pytest.mark.parametrize("net", NETWORKS)
def test_state_labels_are_words(net: BayesNet) -> None:
    for name in net.names:
        labels = net.state_labels(name)
        assert len(set(labels)) == net.cardinalities[name]
        assert all(re.fullmatch(r"[A-Za-z0-9_]+", label) for label in labels)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(len(NETWORKS)))
def test_pgmpy_agrees(seed: int, tmp_path: Path) -> None:
    pytest.importorskip("pgmpy")
    from pgmpy.inference import VariableElimination
    from pgmpy.readwrite import BIFReader

    net = NETWORKS[seed]
    net.to_bif(tmp_path / "net.bif")
    label = variable_labels(net.names)
    engines = [
        (VariableElimination(net.to_pgmpy()), {name: name for name in net.names}),
        (VariableElimination(BIFReader(str(tmp_path / "net.bif")).get_model()), label),
    ]
    for target, evidence, codes in questions(net, seed):
        expected = net.query(target, evidence).to_numpy()
        for engine, rename in engines:
            states = {rename[name]: net.state_labels(name)[code] for name, code in codes.items()}
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
    models = [(net.to_pyagrum(), {name: name for name in net.names}, 1e-9)]
    if min(net.cardinalities.values()) > 1:  # pyAgrum's reader refuses variables of one state
        # ... and reads numbers in single precision
        models.append((pyagrum.loadBN(str(tmp_path / "net.bif")), variable_labels(net.names), 1e-6))
    for target, evidence, codes in questions(net, seed):
        expected = net.query(target, evidence).to_numpy()
        for model, rename, tolerance in models:
            engine = pyagrum.LazyPropagation(model)
            engine.setEvidence({rename[name]: net.state_labels(name)[code] for name, code in codes.items()})
            engine.makeInference()
            posterior = engine.posterior(rename[target])
            assert model.variable(rename[target]).labels() == net.state_labels(target)
            np.testing.assert_allclose(posterior.toarray().ravel(), expected, rtol=0, atol=tolerance)
