"""Options: the same everywhere, refused where they have no use, and by their old names for one version."""

from __future__ import annotations

import warnings
from dataclasses import fields
from inspect import signature
from typing import Any

import pytest

import jaxbn
from jaxbn.cuts.methods import METHODS
from jaxbn.learning.options import MOVED, STRUCTURE_OPTIONS, in_objects

DATA = {"a": [0.5, 1.5, 2.0, 4.0], "b": ["x", "y", "x", "y"]}
FUNCTIONS = (
    jaxbn.learn, jaxbn.discretize, jaxbn.cross_validate, jaxbn.bootstrap, jaxbn.sample_posterior, jaxbn.compare,
)  # fmt: skip


def test_learn_has_at_most_16_keywords() -> None:
    assert len(signature(jaxbn.learn).parameters) <= 17
    assert set(STRUCTURE_OPTIONS) <= set(signature(jaxbn.learn).parameters)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_option_has_one_default_everywhere(function: Any) -> None:
    ours, theirs = signature(jaxbn.learn).parameters, signature(function).parameters
    assert {name: theirs[name].default for name in theirs if name in ours} == {
        name: ours[name].default for name in theirs if name in ours
    }


@pytest.mark.parametrize("function", [jaxbn.cross_validate, jaxbn.bootstrap])
def test_other_functions_have_all_options_of_learn_or_hand_them_on(function: Any) -> None:
    own = {"checkpoint", "progress", "lines", "target", "start"}  # of one long run, and of one network
    assert set(signature(jaxbn.learn).parameters) <= {*signature(function).parameters, *STRUCTURE_OPTIONS, *own}


@pytest.mark.parametrize(
    ("method", "option"),
    [
        ("evidence", {"rate": "network"}),
        ("evidence", {"select": "density"}),
        ("mdl", {"rate": 2.0}),
        ("mdl", {"min_width": "gap"}),
        ("bayesian", {"min_width": 0.5}),
        ("bayesian", {"min_width": {"a": 0.5}}),
        ("bayesian", {"max_bins": 4}),
    ],
)
def test_an_option_that_the_method_does_not_use_is_refused(method: str, option: dict) -> None:
    (name,) = option
    message = f"^{name} is for method=.* with method '{method}'; leave it out$"
    if name == "max_bins":
        for call in (jaxbn.learn, jaxbn.cross_validate, jaxbn.bootstrap):
            with pytest.raises(ValueError, match=message):
                call(DATA, method=method, **option)
    else:
        with pytest.raises(ValueError, match=message):
            in_objects({"method": method, **option})


def test_what_is_said_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="max_bins is 4, but 5 in the method; leave one out"):
        jaxbn.learn(DATA, method=jaxbn.Evidence(max_bins=5), max_bins=4)


@pytest.mark.parametrize("call", [jaxbn.learn, jaxbn.cross_validate, jaxbn.bootstrap])
def test_options_of_one_search_are_refused_by_others(call: Any) -> None:
    folds = {"folds": 2} if call is jaxbn.cross_validate else {}
    with pytest.raises(ValueError, match=r"^initial is for search='k2', got 'width' with search='auto', .*; leave it"):
        call(DATA, method=jaxbn.Evidence(initial="width"), **folds)
    with pytest.raises(ValueError, match=r"^warm_start is for method='bayesian' or method='mdl', got True with method"):
        call(DATA, search=jaxbn.K2(warm_start=True), **folds)


@pytest.mark.parametrize("function", [jaxbn.cross_validate, jaxbn.bootstrap])
def test_unknown_options_are_refused_with_the_nearest(function: Any) -> None:
    with pytest.raises(TypeError, match=f"{function.__name__} has no option 'max_parent'; did you mean 'max_parents'"):
        function(DATA, max_parent=2)
    with pytest.raises(TypeError, match="did you mean 'columns'"):
        function(DATA, colums=["a"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: jaxbn.Evidence(max_passes=0), "max_passes must be at least 1, got 0"),
        (lambda: jaxbn.Evidence(grid=1), "grid must be at least 2, got 1"),
        (lambda: jaxbn.Evidence(shape="round"), "shape must be one of 'auto', 'flat', got 'round'"),
        (lambda: jaxbn.Evidence(max_bins={"a": 0}), r"max_bins\['a'\] must be at least 1, got 0"),
        (lambda: jaxbn.MDL(initial="even"), "initial must be one of 'width', 'frequency', got 'even'"),
        (lambda: jaxbn.MDL(select="best"), "select must be one of 'density', 'k2', got 'best'"),
        (lambda: jaxbn.Bayesian(rate="all"), "rate must be 'network', 'blanket' or a number above zero, got 'all'"),
        (lambda: jaxbn.Orders(starts=0), "starts must be at least 1, got 0"),
        (lambda: jaxbn.learn(DATA, columns={"a": "number"}), r"columns\['a'\] must be one of 'continuous', 'discrete'"),
        (lambda: jaxbn.sample_posterior(DATA, method="mdl"), "method must be 'evidence', got 'mdl'"),
        (lambda: jaxbn.learn(DATA, target="a"), "target names 'a', which is not a discrete column"),
        (lambda: jaxbn.learn(DATA, target="b", search="k2"), "search has no use with .target."),
    ],
)
def test_objects_are_checked_where_they_are_made(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


# --- names of the version before


def test_every_old_keyword_has_become_an_option_of_an_object() -> None:
    for old, new in MOVED.items():
        if new:
            name, option = new.partition("=")[2][:-1].split("(")
            assert option in {field.name for field in fields(getattr(jaxbn, name))}, old
    assert all(field.name in MOVED for each in METHODS.values() for field in fields(each) if field.name != "max_bins")


def test_old_keywords_work_and_say_what_they_have_become() -> None:
    old = {"method": "bayesian", "rate": 2.0, "max_passes": 3, "order": ["b", "a"], "required": [("b", "a")]}
    old |= {"continuous": ["a"], "group": (), "side_by_side": 2}
    with pytest.warns(DeprecationWarning, match="has become") as told:
        net = jaxbn.learn(DATA, progress=False, **old)
    said = "\n".join(str(each.message) for each in told)
    assert "learn(rate=...) has become learn(method=jaxbn.Bayesian(rate=...)); the old name goes in jaxbn 1.1" in said
    assert "learn(group=...) has become learn(columns=jaxbn.Columns(merge_levels=...))" in said
    assert "learn(side_by_side=...) has become of no effect" in said
    assert all(each.filename == __file__ for each in told)
    new = jaxbn.learn(
        DATA,
        method=jaxbn.Bayesian(rate=2.0, max_passes=3),
        search=jaxbn.K2(order=["b", "a"]),
        constraints=jaxbn.Constraints(required=[("b", "a")]),
        columns=jaxbn.Columns(continuous=["a"], merge_levels=()),
        progress=False,
    )
    assert net == new


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_takes_old_keywords(function: Any) -> None:
    graph = () if function is jaxbn.learn else ({"a": ["b"]},)
    few = {"cross_validate": {"folds": 2}, "compare": {"folds": 2}, "bootstrap": {"resamples": 2}}
    few |= {"sample_posterior": {"draws": 2, "chains": 1, "burn_in": 1}, "learn": {"progress": False}}
    with pytest.warns(DeprecationWarning, match=rf"{function.__name__}\(continuous=...\) has become"):
        function(DATA, *graph, continuous=["a"], **few.get(function.__name__, {}))


def test_old_attributes_and_classes() -> None:
    net = jaxbn.fit(DATA, {"a": ["b"]}, {"a": [1.0]})
    with pytest.warns(DeprecationWarning, match=r"Fitted.policies has become .binnings"):
        assert net.policies is net.binnings
    with pytest.warns(DeprecationWarning, match=r"Fitted.edges has become .bin_edges"):
        assert net.edges("a").tolist() == net.bin_edges("a").tolist()
    with pytest.warns(DeprecationWarning, match=r"Binning.edges has become .cuts"):
        assert net.binnings["a"].edges is net.binnings["a"].cuts
    with pytest.warns(DeprecationWarning, match="jaxbn.Policy has become jaxbn.Binning"):
        assert jaxbn.Policy is jaxbn.Binning
    with pytest.warns(DeprecationWarning, match=r"fit\(policies=...\) has become fit\(binnings=...\)"):
        assert jaxbn.fit(DATA, {"a": ["b"]}, policies={"a": [1.0]}) == net


def test_new_names_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jaxbn.learn(DATA, columns={"a": "continuous"}, progress=False)


def test_a_network_for_a_target() -> None:
    iris = jaxbn.datasets.load("iris").frame
    net = jaxbn.learn(iris, target="class", progress=False)
    assert net.parents["class"] == ()
    assert net.search.search == "target"
    assert (net.predict(iris, "class").to_numpy() == iris["class"].to_numpy()).mean() > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": {"a": ["b"]}}, r"start must be a network, got \{'a': \['b'\]\}; of a known graph pass jaxbn.fit"),
        ({"columns": "a"}, r"columns must be jaxbn.Columns\(...\) or \{column: kind\}, got 'a'"),
        ({"target": ["b"]}, r"target names \['b'\], which is not a discrete column; known: 'b'"),
    ],
)
def test_options_of_another_type_name_the_argument(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        jaxbn.learn(DATA, progress=False, **options)


def test_the_start_of_a_posterior_is_a_network() -> None:
    with pytest.raises(TypeError, match="start must be a network, got 'x'"):
        jaxbn.sample_posterior(DATA, start="x", progress=False)  # type: ignore[arg-type]


def test_what_is_known_of_columns_is_named() -> None:
    for options in ({"merge_levels": True}, {"cuts": 3}, {"labels": ["low", "high"]}):
        with pytest.raises(TypeError, match=f"^{next(iter(options))} must be "):
            jaxbn.Columns(**options)  # type: ignore[arg-type]
