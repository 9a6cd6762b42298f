"""``fit(data, graph)`` without policies cuts first."""

from __future__ import annotations

import jaxbn


def test_fit_without_policies_cuts_first() -> None:
    iris = jaxbn.datasets.load("iris")
    graph = iris.structures["paper"]
    expected = jaxbn.fit(iris.frame, graph, jaxbn.discretize(iris.frame, graph).codings)
    assert jaxbn.fit(iris.frame, graph) == expected
    assert jaxbn.fit(jaxbn.as_table(iris.frame), graph) == expected


def test_dropped_rows_and_weights_go_along() -> None:
    data = {"kind": ["a", "a", "b", "b", None], "size": [1.0, 2.0, 7.0, 9.0, 3.0]}
    net = jaxbn.fit(data, {"size": ["kind"]}, alpha=0.5, missing="drop", bounds={"size": (0.0, 10.0)})
    assert (net.n_rows, net.alpha, net.bounds["size"]) == (4, 0.5, (0.0, 10.0))


def test_a_table_of_levels_alone_needs_no_policies() -> None:
    data = {"a": ["x", "y"], "b": ["u", "v"]}
    assert jaxbn.fit(data, {"b": ["a"]}) == jaxbn.fit(data, {"b": ["a"]}, {})
