"""What setting a variable does, over the members of the class, and what a prediction rests on."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.structure.equivalence import class_of, parent_sets

NAMES = tuple("abcde")


def random_parents(rng: np.random.Generator) -> dict[str, tuple[str, ...]]:
    order = [str(name) for name in rng.permutation(NAMES)]
    return {name: tuple(p for p in order[: order.index(name)] if rng.random() < 0.5) for name in NAMES}


def members(parents: dict[str, tuple[str, ...]]) -> list[dict[str, tuple[str, ...]]]:
    """Every acyclic graph with the same links and the same pairs of unlinked parents, by trying all directions."""
    links = [(p, c) for c, found in parents.items() for p in found]
    linked = {frozenset(link) for link in links}

    def colliders(of: dict[str, tuple[str, ...]]) -> set[tuple[frozenset[str], str]]:
        pairs = ((frozenset((p, q)), c) for c, found in of.items() for p in found for q in found if p < q)
        return {(pair, c) for pair, c in pairs if pair not in linked}

    result = []
    for turned in product((False, True), repeat=len(links)):
        arcs = [link[::-1] if turn else link for link, turn in zip(links, turned, strict=True)]
        graph = {name: tuple(p for p, c in arcs if c == name) for name in NAMES}
        if nx.is_directed_acyclic_graph(nx.DiGraph(arcs)) and colliders(graph) == colliders(parents):
            result.append(graph)
    return result


def joint_of(net: jaxbn.BayesNet) -> np.ndarray[Any, Any]:
    return net.query(list(NAMES)).to_numpy().reshape([net.cardinalities[name] for name in NAMES])


def member_means(joint: np.ndarray[Any, Any], parents: dict[str, tuple[str, ...]], cause: str, outcome: str) -> Any:
    """The mean of the outcome by the truncated product: each table from the joint, without that of the cause."""
    letters = "".join(NAMES)
    tables = {}
    for name in NAMES:
        family = "".join(sorted((*parents[name], name)))
        table = np.einsum(f"{letters}->{family}", joint)
        tables[family, name] = table / table.sum(axis=family.index(name), keepdims=True)
    own = [(family, table) for (family, name), table in tables.items() if name != cause]
    own.append((cause, np.ones(joint.shape[NAMES.index(cause)])))
    sums = np.einsum(",".join(family for family, _ in own) + f"->{cause}{outcome}", *(table for _, table in own))
    return (sums @ np.arange(sums.shape[1])) / sums.sum(axis=1)


def network(seed: int) -> jaxbn.BayesNet:
    rng = np.random.default_rng(seed)
    data = {name: rng.integers(0, 2 + i % 2, 40) for i, name in enumerate(NAMES)}
    return jaxbn.fit(data, random_parents(rng), {})


@pytest.mark.parametrize("seed", range(10))
def test_the_range_is_that_of_all_members(seed: int) -> None:
    net = network(seed)
    joint, graphs = joint_of(net), members(net.parents)
    for cause, outcome in [("a", "b"), ("c", "e"), ("d", "a")]:
        found = net.effect(cause, outcome)
        means = np.array([member_means(joint, graph, cause, outcome) for graph in graphs])
        np.testing.assert_allclose(found["low"], means.min(axis=0), atol=1e-12)
        np.testing.assert_allclose(found["high"], means.max(axis=0), atol=1e-12)
        for value, mean in found["mean"].items():
            expected = net.query(outcome, do={cause: value})
            assert mean == pytest.approx(float(expected.to_numpy() @ expected.index.to_numpy()), abs=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_parent_sets_are_those_of_all_members(seed: int) -> None:
    parents = random_parents(np.random.default_rng(seed))
    graphs = members(parents)
    for name in NAMES:
        found = parent_sets(class_of(parents), name)
        assert len(found) == len(set(found))
        assert set(found) == {frozenset(graph[name]) for graph in graphs}


@pytest.mark.parametrize("seed", range(60))
def test_parent_sets_within_constraints_are_those_of_members_that_keep_to_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parents = random_parents(rng)
    own = {(parent, child) for child, found in parents.items() for parent in found}
    pairs = [(a, b) for a in NAMES for b in NAMES if a != b and (a, b) not in own]
    never = {pair for pair in pairs if rng.random() < (0.1, 0.3)[seed % 2]}
    kept = [graph for graph in members(parents) if not any((p, c) in never for c in graph for p in graph[c])]
    for name in NAMES:
        found = parent_sets(class_of(parents), name, never)
        assert len(found) == len(set(found))
        assert set(found) == {frozenset(graph[name]) for graph in kept}


def test_ranges_keep_to_the_constraints_of_learn_also_from_a_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=200)
    data = {"x": x, "y": x + 0.5 * rng.normal(size=200)}
    free = jaxbn.learn(data, restarts=1, progress=False)
    assert free.search.never is None
    assert (free.effect("x", "y")["low"] < free.effect("x", "y")["high"]).any()
    for known in ({"tiers": ["x", "y"]}, {"required": [("x", "y")]}, {"roots": "x"}):
        net = jaxbn.learn(data, restarts=1, progress=False, constraints=known)
        assert net.search.never == (("y", "x"),)
        net.save(tmp_path / "net.json")
        for each in (net, jaxbn.load(tmp_path / "net.json")):
            found = each.effect("x", "y")
            assert (found["low"] == found["high"]).all()
    text = json.loads((tmp_path / "net.json").read_text())
    del text["search"]["never"]  # as in files of earlier versions
    (tmp_path / "old.json").write_text(json.dumps(text))
    assert jaxbn.load(tmp_path / "old.json").search.never is None
    text["search"]["never"] = [["y"]]
    (tmp_path / "old.json").write_text(json.dumps(text))
    with pytest.raises(ValueError, match=r"search\.never\[0\]' must be the two names of an arc"):
        jaxbn.load(tmp_path / "old.json")


def test_a_saved_average_keeps_the_constraints_of_its_posterior(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=200)
    data = {"x": x, "y": x + 0.5 * rng.normal(size=200)}
    ask: dict[str, Any] = {"draws": 4, "chains": 1, "burn_in": 1, "progress": False}
    known = jaxbn.Constraints(tiers=["x", "y"])
    for drawn in (jaxbn.sample_posterior(data, **ask), jaxbn.sample_posterior(data, **ask, constraints=known)):
        drawn.average.save(tmp_path / "average.json")
        loaded = jaxbn.load(tmp_path / "average.json")
        assert loaded.never == drawn.never
        pd.testing.assert_frame_equal(loaded.effect("x", "y"), drawn.effect("x", "y"))


def test_a_true_effect_lies_in_the_range() -> None:
    """Of z -> x -> y with z -> y the total effect of x is 1 a unit, which regression on x alone overstates."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=3000)
    x = z + rng.normal(size=3000)
    y = x + 2 * z + 0.5 * rng.normal(size=3000)
    net = jaxbn.learn(
        {"z": z, "x": x, "y": y}, restarts=1, progress=False, constraints=jaxbn.Constraints(tiers=["z", "x", "y"])
    )
    found = net.effect("x", "y")
    middle = found.iloc[1:-1]
    where = net.inside("x").means[1:-1]
    slope, naive = np.polyfit(where, middle["mean"], 1)[0], np.polyfit(x, y, 1)[0]
    assert naive == pytest.approx(2.0, abs=0.1)
    assert slope == pytest.approx(1.0, abs=0.35)
    lows, highs = np.polyfit(where, middle["low"], 1)[0], np.polyfit(where, middle["high"], 1)[0]
    assert min(lows, highs) - 0.35 <= 1.0 <= max(lows, highs) + 0.35


def test_posterior_ranges_cover_directions_that_are_open() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=200)
    data = {"x": x, "y": x + 0.5 * rng.normal(size=200)}
    ask: dict[str, Any] = {"draws": 4, "chains": 1, "burn_in": 1, "progress": False}
    either = jaxbn.sample_posterior(data, **ask).effect("x", "y")
    tiers = jaxbn.sample_posterior(data, **ask, constraints=jaxbn.Constraints(tiers=["x", "y"])).effect("x", "y")
    given = jaxbn.sample_posterior(data, {"y": ["x"]}, **ask).effect("x", "y")
    margin = float(data["y"].mean())
    assert either["low"].iloc[-1] < margin + 0.3 < either["high"].iloc[-1]  # y may act on x, and x then does nothing
    for told in (tiers, given):
        assert told["low"].iloc[-1] > margin + 0.5
        assert told["high"].iloc[0] < margin - 0.5


def test_levels_dates_and_groups() -> None:
    rng = np.random.default_rng(1)
    kind = rng.choice(["a", "b", "c"], 200)
    cured = np.where(rng.random(200) < np.where(kind == "a", 0.8, 0.2), "yes", "no")
    groups = jaxbn.Grouping([["a"], ["b", "c"]])
    net = jaxbn.fit({"kind": kind, "cured": cured}, {"cured": ["kind"]}, {"kind": groups})
    found = net.effect("kind", "cured", level="yes")
    assert found.index.tolist() == ["a", "b", "c"]
    assert found["mean"].tolist() == pytest.approx([net.query("cured", {"kind": k})["yes"] for k in "abc"])
    share = net.query("kind")["b"]
    assert (
        net.effect("cured", "kind", level="b")["low"].min()
        < share
        < net.effect("cured", "kind", level="b")["high"].max()
    )


def test_what_has_no_mean_is_refused() -> None:
    net = jaxbn.fit({"kind": ["a", "b"], "x": [0.0, 1.0]}, {"x": ["kind"]}, {"x": [0.5]})
    with pytest.raises(ValueError, match="'kind' has levels that are no numbers; name one of them, as level='a'"):
        net.effect("x", "kind")
    with pytest.raises(ValueError, match="'x' is continuous and has no level 'a'"):
        net.effect("kind", "x", level="a")
    with pytest.raises(ValueError, match="'kind' has no level 'z'; it has 'a', 'b'"):
        net.effect("x", "kind", level="z")
    with pytest.raises(ValueError, match="'y' is not a variable of the network"):
        net.effect("x", "y")


def test_influence_by_definition() -> None:
    net = network(3)
    given = {"b": 1, "c": 0, "e": 0}
    found = net.influence("a", given)
    everything, nothing = net.query("a", given), net.query("a")
    state = found.attrs["state"]
    assert state == everything.idxmax()
    for name, value in given.items():
        alone = net.query("a", {name: value})
        without = net.query("a", {n: v for n, v in given.items() if n != name})
        row = found.loc[name]
        assert row["alone"] == pytest.approx(alone[state] - nothing[state])
        assert row["left_out"] == pytest.approx(everything[state] - without[state])
        assert row["alone_nats"] == pytest.approx(float((alone * np.log(alone / nothing)).sum()), abs=1e-12)
        assert row["left_out_nats"] == pytest.approx(
            float((everything * np.log(everything / without)).sum()), abs=1e-12
        )
    assert found["left_out_nats"].is_monotonic_decreasing


def test_mutual_information_by_definition() -> None:
    net = network(4)
    found = net.influence("a")["mutual_information"]
    assert sorted(found.index) == list("bcde")
    both = net.query(["a", "b"]).to_numpy().reshape(net.cardinalities["a"], -1)
    plain = both.sum(axis=1, keepdims=True) * both.sum(axis=0)
    assert found["b"] == pytest.approx(float((both * np.log(both / plain)).sum()), abs=1e-12)


@pytest.mark.parametrize("most", [2, 3, 5])
def test_means_move_inside_bins_too(most: int) -> None:
    """Of two normal numbers and a line between them, the outcome in few bins: its mean still follows the line."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=4000)
    y = 5 + 1.5 * x + rng.normal(size=4000)
    found = jaxbn.discretize({"x": x, "y": y}, {"y": ["x"]}, max_bins={"x": 5, "y": most})
    net = jaxbn.fit({"x": x, "y": y}, {"y": ["x"]}, found.binnings)
    assert net.binnings["y"].n_bins == most
    means = net.inside("x").means
    effect = net.effect("x", "y")["mean"].to_numpy()
    of_bins = np.array([net.query("y", {"x": each}).to_numpy() @ net.inside("y").means for each in means])
    assert np.polyfit(means, effect, 1)[0] == pytest.approx(1.5, rel=0.06)
    assert np.polyfit(means, of_bins, 1)[0] < 1.42
    assert np.median(abs(effect - 5 - 1.5 * means)) < 0.2
