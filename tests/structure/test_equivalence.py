"""Classes of graphs against Chickering's algorithm, and comparisons by hand."""

from __future__ import annotations

from functools import partial

import networkx as nx
import numpy as np
import pytest

import jaxbn
from jaxbn.drawing.svg import network_svg
from jaxbn.structure.equivalence import class_of, compare_graphs
from tests.reference.equivalence import label_arcs
from tests.reference.structure import k2_score


def random_graph(seed: int) -> dict[str, tuple[str, ...]]:
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in rng.permutation(int(rng.integers(1, 11)))]
    density = rng.uniform(0.05, 0.9)
    return {name: tuple(other for other in names[:i] if rng.random() < density) for i, name in enumerate(names)}


def test_compelled_arcs_are_those_of_chickerings_algorithm() -> None:
    compelled = 0
    for seed in range(500):
        parents = random_graph(seed)
        labels = label_arcs(parents)
        found = class_of(parents)
        assert found.directed == {arc for arc, fixed in labels.items() if fixed}
        assert found.undirected == {frozenset(arc) for arc, fixed in labels.items() if not fixed}
        compelled += len(found.directed)
    assert compelled > 1000


def test_a_network_knows_its_class() -> None:
    data = {name: [0, 1] for name in "abcd"}
    net = jaxbn.fit(data, {"c": ["a", "b"], "d": ["a"]}, {})
    assert net.compelled == (("a", "c"), ("b", "c"))
    assert net.nodes == net.names
    graph = net.cpdag().to_networkx()
    assert set(graph.edges) == {("a", "c"), ("b", "c"), ("a", "d"), ("d", "a")}
    assert list(graph.nodes) == list(net.names)


def test_what_it_takes_from_one_graph_to_another() -> None:
    net = jaxbn.fit({name: [0, 1] for name in "abcd"}, {"b": ["a"], "c": ["b"], "d": ["b"]}, {})
    found = net.compare([("b", "a"), ("b", "c"), ("c", "d")])
    assert found[:5] == ((("c", "d"),), (("b", "d"),), (("a", "b"),), 3, 2)
    assert found.same == (("b", "c"),)
    assert net.compare(net).distance == net.compare(nx.DiGraph(net.arcs)).class_distance == 0
    other = jaxbn.fit({"a": [0, 1], "e": [0, 1]}, {}, {})
    with pytest.raises(ValueError, match=r"different variables .b, c, d, e in one"):
        net.compare(other)
    with pytest.raises(ValueError, match="'q'"):
        net.compare([("q", "a")])


def test_distance_is_symmetric() -> None:
    for seed in range(50):
        rng, one = np.random.default_rng(seed), random_graph(seed)
        names = list(one)
        other = {name: tuple(p for p in names[:i] if rng.random() < 0.4) for i, name in enumerate(names)}
        there, back = compare_graphs(one, other), compare_graphs(other, one)
        assert (there.added, there.removed) == (back.removed, back.added)
        assert {arc[::-1] for arc in there.turned} == set(back.turned)
        assert (there.distance, there.class_distance) == (back.distance, back.class_distance)


def test_what_an_arc_is_worth_by_definition() -> None:
    """The evidence of a family with all its parents, less that without one of them; nothing for other networks."""
    rng = np.random.default_rng(5)
    columns = [rng.integers(0, k, 60) for k in (2, 3, 2)]
    data = dict(zip("abc", columns, strict=True))
    net = jaxbn.fit(data, {"c": ["a", "b"], "b": ["a"]}, {})
    score = partial(k2_score, columns, a=0.5)
    expected = {("a", "b"): score(1, [0]) - score(1, [])}
    expected |= {("a", "c"): score(2, [0, 1]) - score(2, [1]), ("b", "c"): score(2, [0, 1]) - score(2, [0])}
    assert net.arc_gains == pytest.approx(expected, abs=1e-9)
    assert "worth" in network_svg(net)
    levels = {"a": (0, 1), "b": (0, 1)}
    unfitted = jaxbn.BayesNet({"a": (), "b": ("a",)}, {}, levels, {"a": [0.5, 0.5], "b": np.eye(2)}, {})
    assert not unfitted.arc_gains
    assert "worth" not in network_svg(unfitted)


def test_a_comparison_is_drawn_and_told() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    this = {"a": (), "b": ("a",), "c": ("b",), "d": ()}
    found = compare_graphs(this, {"a": ("b",), "b": (), "c": ("d",), "d": ("a",)})
    assert str(found).startswith("4 arcs differ")
    ax = found.plot()
    assert {text.get_text() for text in ax.texts} == set("abcd")
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["added", "removed", "turned"]
    assert str(compare_graphs(this, this)) == "0 arcs differ (0 of the equivalence classes)"
    compare_graphs(this, {"a": ("c",), "b": ("a",), "c": (), "d": ()}).plot()  # which would close a cycle
