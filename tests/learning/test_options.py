"""One list of options: the same everywhere, and refused where they have no use."""

from __future__ import annotations

from inspect import signature

import pytest

import jaxbn
from jaxbn.learning.options import STRUCTURE_OPTIONS, USED_BY, Options, check_options

DATA = {"a": [0.5, 1.5, 2.0, 4.0], "b": ["x", "y", "x", "y"]}


def test_learn_has_every_option_of_the_list() -> None:
    known = signature(jaxbn.learn).parameters
    assert {*STRUCTURE_OPTIONS, *USED_BY} <= set(known)


@pytest.mark.parametrize("function", [jaxbn.cross_validate, jaxbn.bootstrap])
def test_other_functions_have_all_options_of_learn_or_hand_them_on(function) -> None:
    # of one long run, and of one network; others keep all columns
    own = {"checkpoint", "progress", "side_by_side", "keep", "cuts", "labels", "lines"}
    assert set(signature(jaxbn.learn).parameters) <= {*signature(function).parameters, *STRUCTURE_OPTIONS, *own}


@pytest.mark.parametrize("option", USED_BY)
def test_defaults_say_that_an_option_was_not_given(option: str) -> None:
    assert signature(jaxbn.learn).parameters[option].default in (None, "auto")


@pytest.mark.parametrize(
    ("method", "option"),
    [
        ("evidence", {"rate": "network"}),
        ("evidence", {"warm_start": False}),
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
    for call in (jaxbn.learn, jaxbn.cross_validate, jaxbn.bootstrap):
        with pytest.raises(ValueError, match=message):
            call(DATA, method=method, **option)
    if name not in STRUCTURE_OPTIONS:
        with pytest.raises(ValueError, match=message):
            jaxbn.discretize(DATA, {}, method=method, **option)


def test_a_kind_of_start_is_for_searches_that_have_one() -> None:
    message = r"^initial is for search='k2', got 'width' with search='auto', .*; leave it out$"
    for call in (jaxbn.learn, jaxbn.cross_validate, jaxbn.bootstrap):
        with pytest.raises(ValueError, match=message):
            call(DATA, initial="width", **({"folds": 2} if call is jaxbn.cross_validate else {}))
    with pytest.raises(ValueError, match=r"initial is for method='evidence' or .* with method 'equal_width'"):
        jaxbn.cross_validate(DATA, {"a": ["b"]}, method="equal_width", initial="frequency")


def test_what_was_not_given_has_its_default() -> None:
    assert check_options(method="evidence") == Options("evidence", "network", 10, None, False, "density", max_bins=8)
    assert check_options(method="mdl", warm_start=True, select="k2") == Options("mdl", "network", 10, None, True, "k2")


@pytest.mark.parametrize("function", [jaxbn.cross_validate, jaxbn.bootstrap])
def test_unknown_options_are_refused_with_the_nearest(function) -> None:
    with pytest.raises(TypeError, match=f"{function.__name__} has no option 'max_parent'; did you mean 'max_parents'"):
        function(DATA, max_parent=2)
    with pytest.raises(TypeError, match="did you mean 'continuous'"):
        function(DATA, continous=["a"])
