"""``fit(data, graph)`` without binnings cuts first."""

from __future__ import annotations

import pytest

import jaxbn


def test_fit_without_binnings_cuts_first() -> None:
    iris = jaxbn.datasets.load("iris")
    graph = iris.structures["paper"]
    expected = jaxbn.fit(iris.frame, graph, jaxbn.discretize(iris.frame, graph).codings)
    assert jaxbn.fit(iris.frame, graph) == expected
    assert jaxbn.fit(jaxbn.as_table(iris.frame), graph) == expected


def test_dropped_rows_and_weights_go_along() -> None:
    data = {"kind": ["a", "a", "b", "b", None], "size": [1.5, 2.5, 7.5, 9.5, 3.5]}
    net = jaxbn.fit(data, {"size": ["kind"]}, alpha=0.5, missing="drop", bounds={"size": (0.0, 10.0)})
    assert (net.n_rows, net.alpha, net.bounds["size"]) == (4, 0.5, (0.0, 10.0))


def test_kinds_are_named_where_there_are_no_binnings() -> None:
    data = {"kind": ["a", "a", "b", "b"], "size": [1, 2, 7, 9], "dose": [0.5, 0.5, 1.5, 1.5]}
    net = jaxbn.fit(data, {}, continuous=["size"], discrete=["dose"])
    assert (list(net.binnings), list(net.levels)) == (["size"], ["kind", "dose"])
    with pytest.raises(ValueError, match="discrete has no use with binnings"):
        jaxbn.fit(data, {}, {"size": [4.5]}, discrete=["dose"])


def test_a_table_of_levels_alone_needs_no_binnings() -> None:
    data = {"a": ["x", "y"], "b": ["u", "v"]}
    assert jaxbn.fit(data, {"b": ["a"]}) == jaxbn.fit(data, {"b": ["a"]}, {})


def test_binnings_and_bounds_that_are_none() -> None:
    data = {"size": [1.5, 2.5, 7.5, 9.5]}
    with pytest.raises(TypeError, match=r"binnings must be \{column: cuts\}, such as jaxbn.discretize\(...\).codings"):
        jaxbn.fit(data, {}, jaxbn.discretize(data, {}))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"bounds must be \{column: \(low, high\)\}, got 3"):
        jaxbn.fit(data, {}, {"size": [4.5]}, bounds=3)  # type: ignore[arg-type]
