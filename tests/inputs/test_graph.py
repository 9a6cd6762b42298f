"""Graphs in: three spellings, one answer; bad graphs refused by name."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from jaxbn.inputs.graph import (
    as_parents,
    check_table_sizes,
    children_of,
    markov_blanket,
    to_networkx,
    topological_order,
)

NAMES = ["a", "b", "c", "d"]


def test_three_spellings_agree() -> None:
    arcs = [("b", "c"), ("a", "c"), ("c", "d")]
    expected = {"a": (), "b": (), "c": ("b", "a"), "d": ("c",)}
    assert as_parents(arcs, NAMES) == expected
    assert as_parents({"d": ["c"], "c": ("b", "a")}, NAMES) == expected
    assert as_parents(nx.DiGraph(arcs), NAMES) == expected
    assert list(as_parents({"d": ["c"], "a": []}, NAMES)) == NAMES
    assert as_parents(iter(arcs * 2), NAMES) == expected
    assert as_parents({}, NAMES) == dict.fromkeys(NAMES, ())


def test_labels_that_are_no_strings_match_their_text() -> None:
    assert as_parents([(0, 1)], ["0", "1"]) == {"0": (), "1": ("0",)}
    assert as_parents([np.array(["a", "b"]).tolist()], NAMES)["b"] == ("a",)


@pytest.mark.parametrize(
    ("graph", "message", "error"),
    [
        ([("a", "weigth")], "'weigth', which is not a column.*did you mean 'weight'", ValueError),
        ({"nobody": []}, "'nobody'.*known: 'a', 'weight'", ValueError),
        (nx.DiGraph([("zz", "a")]), "'zz'", ValueError),
        ([("a", "a")], "from 'a' to itself", ValueError),
        ([("a", "b"), ("b", "weight"), ("weight", "a")], "cycle: .*remove", ValueError),
        (nx.Graph([("a", "b")]), "undirected", TypeError),
        ({"a": "b"}, r"parents of 'a' as a list.*write \['b'\]", TypeError),
        ("ab", "graph must be", TypeError),
        (None, "graph must be", TypeError),
        (["ab"], "must hold .parent, child. pairs, got 'ab'", TypeError),
        ([("a", "b", "weight")], "pair", TypeError),
    ],
)
def test_bad_graphs_are_refused_by_name(graph: object, message: str, error: type[Exception]) -> None:
    with pytest.raises(error, match=message):
        as_parents(graph, ["a", "weight", "b"])


def test_named_cycle_is_a_cycle() -> None:
    arcs = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "b")]
    with pytest.raises(ValueError, match="cycle") as caught:
        as_parents(arcs, NAMES)
    trail = str(caught.value).split("cycle: ")[1].split(";")[0].replace("'", "").split(" -> ")
    assert trail[0] == trail[-1]
    assert len(trail) == 4
    assert all(arc in arcs for arc in itertools.pairwise(trail))


@pytest.mark.parametrize("seed", range(20))
def test_order_children_and_blanket_on_random_graphs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    hidden = rng.permutation(n)
    arcs = [(f"v{hidden[i]}", f"v{hidden[j]}") for j in range(n) for i in range(j) if rng.random() < 0.3]
    parents = as_parents(arcs, [f"v{i}" for i in range(n)])
    order = topological_order(parents)
    assert sorted(order) == sorted(parents)
    assert all(order.index(p) < order.index(c) for p, c in arcs)
    graph = to_networkx(parents)
    assert set(graph.edges) == set(arcs)
    assert list(graph.nodes) == list(parents)
    assert {(p, c) for p, found in children_of(parents).items() for c in found} == set(arcs)
    moral = nx.moral_graph(graph)
    assert all(set(markov_blanket(parents, name)) == set(moral[name]) for name in parents)


def test_order_prefers_columns() -> None:
    assert topological_order(as_parents([("d", "a")], NAMES)) == ("b", "c", "d", "a")


def test_table_size_guard_names_family_and_size() -> None:
    parents = as_parents([("a", "c"), ("b", "c")], ["a", "b", "c"])
    cards = {"a": 100, "b": 100, "c": 1000}
    check_table_sizes(parents, cards)
    with pytest.raises(ValueError, match=r"'c' given 'a', 'b' would have 10,000,000 cells.*9,999,999"):
        check_table_sizes(parents, cards, limit=9_999_999)
    with pytest.raises(ValueError, match="table of 'a' would"):
        check_table_sizes(parents, cards, limit=10)
