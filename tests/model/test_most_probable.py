"""``net.most_probable``, ``net.markov_blanket`` and ``net == other``, by their definitions."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxbn
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.observations import observation_weights
from jaxbn.model.queries import states
from tests.helpers.random_networks import full_joint, random_network, representative


def code_of(net: BayesNet, name: str, state: Any) -> int:
    return list(states(net, name)).index(state)


@pytest.mark.parametrize("seed", range(40))
def test_no_other_assignment_is_more_probable(seed: int) -> None:
    net, rng = random_network(seed, most=6), np.random.default_rng(seed)
    given: dict[str, Any] = {}
    for name in rng.permutation(net.names).tolist()[: int(rng.integers(0, 3))]:
        code = int(rng.integers(net.cardinalities[name]))
        given[name] = representative(net, name, code)
        if name in net.binnings and rng.random() < 0.5:
            low, high = net.bounds[name]
            given[name] = tuple(np.sort(rng.uniform(low, high, 2)).tolist())
    joint = full_joint(net)
    for name, weights in observation_weights(net, given).items():
        joint = joint * weights.reshape([-1 if v == name else 1 for v in net.names])
    found = net.most_probable(given)
    assert list(found.states) == list(net.names)
    cell = tuple(code_of(net, name, found.states[name]) for name in net.names)
    assert joint[cell] == pytest.approx(joint.max(), rel=1e-12)
    assert found.probability == pytest.approx(joint.max() / joint.sum(), rel=1e-12)
    assert found.tied == tied_in(net, joint)


def tied_in(net: BayesNet, joint: np.ndarray) -> tuple[str, ...]:
    """Variables that differ among the most probable cells."""
    best = np.argwhere(joint >= joint.max() * (1 - 1e-10))
    return tuple(name for i, name in enumerate(net.names) if len(np.unique(best[:, i])) > 1)


@pytest.mark.parametrize("seed", range(30))
def test_all_ties_are_named(seed: int) -> None:
    """Tables of few different numbers, and zeros, have many."""
    drawn, rng = random_network(seed, most=6), np.random.default_rng(seed)
    tables = {}
    for name in drawn.names:
        weights = rng.integers(0, 3, drawn.tables[name].shape) + 0.0
        weights[..., 0] += weights.sum(axis=-1) == 0
        tables[name] = weights / weights.sum(axis=-1, keepdims=True)
    net = dataclasses.replace(drawn, tables=tables)
    joint, found = full_joint(net), net.most_probable()
    assert found.tied == tied_in(net, joint)
    assert joint[tuple(code_of(net, name, found.states[name]) for name in net.names)] == pytest.approx(joint.max())


def test_ties_are_stated() -> None:
    net = jaxbn.fit({"a": ["x", "y"], "b": ["p", "q"], "c": ["u", "u"]}, {}, {})
    found = net.most_probable()
    assert found.states == {"a": "x", "b": "p", "c": "u"}
    assert (found.tied, found.probability) == (("a", "b"), pytest.approx(0.25))
    assert net.most_probable({"a": "y"}).tied == ("b",)


def test_states_are_plain_numbers() -> None:
    """They were printed as np.int64(0)."""
    found = jaxbn.fit({"a": [0, 0, 1], "b": [True, True, False]}, {}, {}).most_probable()
    assert {name: type(state) for name, state in found.states.items()} == {"a": int, "b": bool}


def test_a_grouped_variable_is_given_a_level() -> None:
    data = {"town": ["a", "a", "b", "c"], "rain": [1, 1, 0, 0]}
    net = jaxbn.fit(data, {"rain": ["town"]}, {"town": jaxbn.Grouping([["a", "b"], ["c"]])})
    levels = net.levels["town"]
    joint = net.query(["town", "rain"])
    for given in ({}, {"rain": 0}, {"town": ["b", "c"]}, {"town": "b"}):
        allowed = set(given.get("town", levels)) if isinstance(given.get("town", levels), list | tuple) else {"b"}
        best = {
            cell: p for cell, p in joint.items() if cell[0] in allowed and given.get("rain", cell[1]) == cell[1]
        }  # fmt: skip
        found = net.most_probable(given)
        cell = (found.states["town"], found.states["rain"])
        assert best[cell] == pytest.approx(max(best.values()))
        assert found.probability == pytest.approx(best[cell] / sum(best.values()))


def test_what_cannot_happen_or_does_not_fit_is_refused() -> None:
    net = BayesNet({"a": (), "b": ("a",)}, {}, {"a": (0, 1), "b": (0, 1)}, {"a": [1.0, 0.0], "b": np.eye(2)}, {})
    with pytest.raises(ValueError, match="'b' has probability 0"):
        net.most_probable({"b": 1})
    with pytest.raises(MemoryError, match="raise max_memory"):
        net.most_probable(max_memory=8)
    with pytest.raises(ValueError, match="'c', which is"):
        net.most_probable({"c": 1})


@pytest.mark.parametrize("seed", range(10))
def test_the_blanket_separates_a_variable_from_all_others(seed: int) -> None:
    net, rng = random_network(seed, most=6), np.random.default_rng(seed)
    for name in net.names:
        blanket = net.markov_blanket(name)
        assert list(blanket) == [other for other in net.names if other in blanket]
        codes = {other: int(rng.integers(net.cardinalities[other])) for other in net.names if other != name}
        given = {other: representative(net, other, code) for other, code in codes.items()}
        inside = {other: given[other] for other in blanket}
        np.testing.assert_allclose(net.query(name, inside), net.query(name, given), rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="'v' is not a variable of the network; did you mean 'v"):
        net.markov_blanket("v")


def test_networks_are_equal_when_their_contents_are(tmp_path: Path) -> None:
    net = random_network(3)
    net.save(tmp_path / "net.json")
    again = jaxbn.load(tmp_path / "net.json")
    assert net == again
    assert hash(net) == hash(again)
    assert net == dataclasses.replace(net, trace=(1.0,))  # which is not saved
    assert net != random_network(4)
    assert net != "a network"
    for changed in ({"n_rows": 7}, {"score": -1.0}, {"alpha": 2.0}, {"alphas": {net.names[0]: 2.0}}):
        assert net != dataclasses.replace(net, **changed)
    name = next(name for name in net.names if net.cardinalities[name] > 1)
    tables = {**net.tables, name: np.roll(net.tables[name], 1, axis=-1)}
    assert net != dataclasses.replace(net, tables=tables)
    grouped = jaxbn.fit({"t": ["a", "b", "c"]}, {}, {"t": jaxbn.Grouping([["a", "b"], ["c"]])})
    assert grouped == jaxbn.fit({"t": ["a", "b", "c"]}, {}, {"t": jaxbn.Grouping([["a", "b"], ["c"]])})
    assert grouped != jaxbn.fit({"t": ["a", "b", "c"]}, {}, {"t": jaxbn.Grouping([["a"], ["b", "c"]])})
    assert jaxbn.Binning([1.0]) == jaxbn.Binning([1.0]) != jaxbn.Binning([2.0])
