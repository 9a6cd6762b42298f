"""Queries, likelihoods and predictions against the joint distribution written out cell by cell."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest

from jaxbn.cuts.binning import Binning
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.fit import fit
from jaxbn.model.inference import elimination, questions
from jaxbn.model.inference.answers import log_likelihood
from jaxbn.runtime.memory import at_most
from tests.helpers.random_networks import full_joint, random_network, representative

SEEDS = range(40)


def posterior(net: BayesNet, targets: list[str], weights: dict[str, np.ndarray]) -> np.ndarray:
    joint = full_joint(net)
    for name, weight in weights.items():
        shape = [-1 if v == name else 1 for v in net.names]
        joint = joint * weight.reshape(shape)
    axes = [net.names.index(name) for name in targets]
    kept = joint.sum(axis=tuple(i for i in range(joint.ndim) if i not in axes))
    kept = np.transpose(kept, np.argsort(np.argsort(axes)))
    return kept / kept.sum()


@pytest.mark.parametrize("seed", SEEDS)
def test_query_equals_enumeration(seed: int) -> None:
    net = random_network(seed)
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(net.names).tolist()
    n_targets = int(rng.integers(1, min(3, len(shuffled)) + 1))
    targets, observed = shuffled[:n_targets], shuffled[n_targets:][: int(rng.integers(0, 4))]
    evidence, weights = {}, {}
    for name in observed:
        codes = rng.choice(net.cardinalities[name], int(rng.integers(1, net.cardinalities[name] + 1)), replace=False)
        weights[name] = np.zeros(net.cardinalities[name])
        values = [representative(net, name, int(code)) for code in codes]
        weights[name][codes] = 1 / np.diff(net.bin_edges(name))[codes] if name in net.binnings else 1.0
        evidence[name] = values[0] if len(values) == 1 else set(values)
    result = net.query(targets, evidence)
    expected = posterior(net, targets, weights)
    np.testing.assert_allclose(result.to_numpy(), expected.ravel(), atol=1e-12)
    assert result.sum() == pytest.approx(1.0, abs=1e-12)
    assert list(result.index.names) == targets


@pytest.mark.parametrize("seed", SEEDS)
def test_density_integrates_to_one_for_interval_evidence(seed: int) -> None:
    net = random_network(seed, names=list("abcd"))
    continuous = [name for name in net.binnings if net.cardinalities[name] > 0]
    if len(continuous) < 2:
        net = random_network(seed + 1000, names=list("abcdef"))
        continuous = list(net.binnings)
    if len(continuous) < 2:
        pytest.skip("fewer than two continuous variables")
    target, given = continuous[:2]
    edges = net.bin_edges(given)
    low, high = np.sort(np.random.default_rng(seed).uniform(edges[0], edges[-1], 2))
    grid, density = net.density(target, {given: (low, high)})
    assert density @ np.diff(grid) == pytest.approx(1.0, abs=1e-12)
    # splitting every bin of the evidence at the interval's ends and summing whole bins must give the same
    share = [max(0.0, min(high, b) - max(low, a)) / (b - a) for a, b in itertools.pairwise(edges)]
    np.testing.assert_allclose(density * np.diff(grid), posterior(net, [target], {given: np.array(share)}), atol=1e-12)
    interval = pd.Interval(low, high)
    pd.testing.assert_series_equal(net.query(target, {given: interval}), net.query(target, {given: (low, high)}))


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_with_missing_entries_equal_enumeration(seed: int) -> None:
    net = random_network(seed)
    rng = np.random.default_rng(seed)
    cards = [net.cardinalities[name] for name in net.names]
    codes = rng.integers(0, cards, size=(60, len(cards))).astype(np.int32)
    codes[rng.random(codes.shape) < 0.35] = -1
    joint = full_joint(net)
    expected = [joint[tuple(slice(None) if c < 0 else c for c in row)].sum() for row in codes]
    np.testing.assert_allclose(np.exp(log_likelihood(net.network, codes)), expected, rtol=1e-10)
    with at_most(5000):  # forces groups to be split
        one_by_one = log_likelihood(net.network, codes)
    np.testing.assert_allclose(np.exp(one_by_one), expected, rtol=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_predict_proba_equals_query(seed: int) -> None:
    net = random_network(seed)
    rng = np.random.default_rng(seed)
    target = str(rng.choice(net.names))
    frame = net.sample(20, seed).astype(object)
    frame = frame.mask(rng.random(frame.shape) < 0.3)
    frame.index = frame.index + 100
    result = net.predict_proba(frame, target)
    assert result.index.equals(frame.index)
    for label, row in frame.iterrows():
        evidence = {name: row[name] for name in net.names if name != target and not pd.isna(row[name])}
        np.testing.assert_allclose(result.loc[label].to_numpy(), net.query(target, evidence).to_numpy(), atol=1e-12)
    best = net.predict(frame.drop(columns=target), target)
    assert best.index.equals(frame.index)
    assert best.iloc[0] == result.columns[result.iloc[0].to_numpy().argmax()]


@pytest.mark.filterwarnings("ignore:the data lacks")
def test_absent_columns_are_summed_out() -> None:
    net = random_network(3, names=list("abcde"))
    prior = net.query("a")
    result = net.predict_proba(pd.DataFrame({"unrelated": [1, 2]}), "a")
    np.testing.assert_allclose(result.to_numpy(), np.tile(prior.to_numpy(), (2, 1)), atol=1e-12)


def chain(n: int, states: int) -> BayesNet:
    """All n variables are parents of one more: its table is small only because each has few states."""
    names = [f"c{i}" for i in range(n)]
    table = np.full((states, states), 1 / states)
    tables = {name: table if i else table[0] for i, name in enumerate(names)}
    parents = {name: (names[i - 1],) if i else () for i, name in enumerate(names)}
    return BayesNet(parents, {}, {name: tuple(range(states)) for name in names}, tables, {})


def test_memory_guard_refuses_with_the_size() -> None:
    net = chain(12, 10)
    assert len(net.query(["c0", "c1", "c11"])) == 1000
    with pytest.raises(MemoryError, match=r"1,000,000,000,000 numbers, 8 TB, more than max_memory = 2 GB"):
        net.query(list(net.names))
    with pytest.raises(MemoryError, match="800 kB"):
        net.query(["c0", "c2", "c4", "c6", "c8"], max_memory=100_000)


def grid(side: int) -> BayesNet:
    """A grid in which each cell hangs on the ones above and to the left; its treewidth is the side."""
    rng = np.random.default_rng(0)
    names = {(i, j): f"g{i}_{j}" for i in range(side) for j in range(side)}
    parents = {names[i, j]: tuple(names[p] for p in ((i - 1, j), (i, j - 1)) if p in names) for i, j in names}
    tables = {name: rng.dirichlet(np.ones(3), size=[3] * len(found)) for name, found in parents.items()}
    return BayesNet(parents, {}, dict.fromkeys(parents, (0, 1, 2)), tables, {})


def test_memory_guard_on_a_dense_network() -> None:
    small = grid(5)
    assert small.query("g0_0", {"g4_4": 1}).sum() == pytest.approx(1.0)
    with pytest.raises(MemoryError, match="more than max_memory = 2 GB"):
        grid(24).query("g0_0", {"g23_23": 1})


def test_long_chains_do_not_underflow() -> None:
    n = 600
    names = [f"h{i}" for i in range(n)] + [f"o{i}" for i in range(n)]
    parents = {name: (name.replace("o", "h"),) if name[0] == "o" else () for name in names}
    rare = np.array([[1e-4, 1 - 1e-4], [2e-4, 1 - 2e-4]])
    tables = {name: rare if name[0] == "o" else np.array([0.5, 0.5]) for name in names}
    net = BayesNet(parents, {}, dict.fromkeys(names, (0, 1)), tables, {})
    codes = np.array([[-1] * n + [0] * n], np.int32)
    assert log_likelihood(net.network, codes)[0] == pytest.approx(n * np.log(1.5e-4))
    posterior = net.query("h0", {f"o{i}": 0 for i in range(n)})
    assert posterior[1] == pytest.approx(2 / 3)


def test_tables_themselves_count_for_memory() -> None:
    net = chain(2, 100)
    with pytest.raises(MemoryError):
        net.query("c1", max_memory=5e4)
    net.query("c1")
    with pytest.raises(MemoryError):  # also where the way is known already
        net.query("c1", max_memory=5e4)


def test_the_way_to_an_answer_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    net, made = chain(6, 3), []
    plan = questions.plan
    monkeypatch.setattr(questions, "plan", lambda *args, **more: made.append(args) or plan(*args, **more))
    answers = [net.query("c2", {"c0": state, "c5": 1}).tolist() for state in (0, 1, 2)]
    assert len(made) == 1
    assert len(answers) == 3
    net.query("c2", {"c0": 1})
    net.query("c2", {"c0": {0, 1}})  # several states are another kind of question
    assert len(made) == 3
    monkeypatch.setattr(questions, "REMEMBERED", 2)
    net.query("c3", {"c0": 1})
    assert len(net.network.routes) == 1
    again = pickle.loads(pickle.dumps(net))
    assert again.query("c2", {"c0": 0, "c5": 1}).tolist() == answers[0]


def test_many_witnesses_for_and_against_do_not_underflow() -> None:
    """Plain numbers would lose one of the states, whichever the first witnesses speak against."""
    names = ["cause", *(f"w{i}" for i in range(1200))]
    told = np.array([[1e-3, 0.999], [0.999, 1e-3]])
    tables = dict.fromkeys(names, told) | {"cause": np.array([0.25, 0.75])}
    net = BayesNet({n: ("cause",) if n != "cause" else () for n in names}, {}, dict.fromkeys(names, (0, 1)), tables, {})
    given = {name: int(i >= 600) for i, name in enumerate(names[1:])}
    np.testing.assert_allclose(net.query("cause", given), [0.25, 0.75], rtol=1e-9)
    best = net.most_probable(given)
    assert best.states["cause"] == 1
    assert best.probability == pytest.approx(0.75)
    assert (net.sample(50, given=given)["cause"] == 1).mean() > 0.5


def test_what_is_impossible_is_refused_wherever_it_is() -> None:
    """Also in a part of the network that does not touch the target."""
    eye = np.eye(2)
    parents = {"a": (), "b": ("a",), "c": ("b",), "t": ()}
    tables = {"a": np.array([1.0, 0.0]), "b": eye, "c": eye, "t": np.array([0.5, 0.5])}
    net = BayesNet(parents, {}, dict.fromkeys(parents, (0, 1)), tables, {})
    for given in ({"c": 1}, {"a": 1}, {"b": 0, "c": 1}):
        with pytest.raises(ValueError, match="has probability 0"):
            net.query("t", given)
    assert net.query("t", {"c": 0}).tolist() == [0.5, 0.5]


def test_the_effort_for_a_chain_is_linear() -> None:
    for n in (100, 1000):
        structure = chain(n, 2).network.structure
        found = elimination.plan(structure, elimination.Component(tuple(range(n)), tuple(range(n))))
        assert found.largest == 4
        assert len(found.steps) == n
        assert found.cells == 4 * n - 2


def small() -> BayesNet:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"weight": rng.normal(size=50), "cut": rng.choice(list("abc"), 50), "year": rng.integers(70, 75, 50)}
    )
    return fit(frame, [("cut", "weight"), ("year", "cut")], {"weight": Binning([-0.5, 0.5])})


@pytest.mark.parametrize(
    ("targets", "evidence", "message", "error"),
    [
        ("wieght", {}, "'wieght' is not a variable.*did you mean 'weight'", ValueError),
        ("cut", {"wieght": 1.0}, "'wieght', which is not a variable.*did you mean 'weight'", ValueError),
        ([], {}, "targets is empty", ValueError),
        (["cut", "cut"], {}, "repeat", ValueError),
        ("cut", {"cut": "a"}, "both a target and given", ValueError),
        ("weight", {"cut": "z"}, "'cut' holds 1 unknown level.*'z'", ValueError),
        ("weight", {"cut": set()}, "empty", ValueError),
        ("weight", {"cut": None}, "missing", ValueError),
        ("weight", {"year": pd.Interval(1, 2)}, "no level lies in", ValueError),
        ("weight", {"year": (75, None)}, "no level lies in", ValueError),
        ("weight", {"year": (72, 70)}, "swapped", ValueError),
        ("cut", {"weight": "heavy"}, "must be a number", TypeError),
        ("cut", {"weight": True}, "must be a number", TypeError),
        ("cut", {"weight": float("nan")}, "leave the name out", ValueError),
        ("cut", {"weight": float("inf")}, "leave the name out", ValueError),
        ("cut", {"weight": (2, 1)}, "swapped", ValueError),
    ],
)
def test_bad_queries_are_refused_by_name(targets: object, evidence: dict, message: str, error: type[Exception]) -> None:
    with pytest.raises(error, match=message):
        small().query(targets, evidence)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:.*far outside the range")
def test_ways_to_write_evidence() -> None:
    net = small()
    assert net.query("cut", {"weight": 99.0}).equals(net.query("cut", {"weight": 0.6}))
    assert net.query("cut", {"weight": (50, 60)}).equals(net.query("cut", {"weight": 0.6}))
    assert net.query("cut", {"weight": (0.6, 0.6)}).equals(net.query("cut", {"weight": np.float32(0.6)}))
    np.testing.assert_allclose(net.query("cut", {"weight": (None, None)}), net.query("cut"))
    np.testing.assert_allclose(net.query("cut", {"year": pd.Interval(70, 72)}), net.query("cut", {"year": [71, 72]}))
    np.testing.assert_allclose(net.query("cut", {"year": np.array([71, 72])}), net.query("cut", {"year": (71.0, 72)}))
    np.testing.assert_allclose(net.query("cut", {"year": (71, 73)}), net.query("cut", {"year": {71, 72, 73}}))
    np.testing.assert_allclose(net.query("cut", {"year": (72.5, None)}), net.query("cut", {"year": [73, 74]}))
    with pytest.raises(ValueError, match="not a continuous variable"):
        net.density("cut")


def test_impossible_evidence_is_named() -> None:
    tables = {"a": np.array([1.0, 0.0])}
    net = BayesNet({"a": (), "b": ()}, {}, {"a": (0, 1), "b": (0,)}, {**tables, "b": np.ones(1)}, {})
    with pytest.raises(ValueError, match="'a' has probability 0"):
        net.query("b", {"a": 1})
