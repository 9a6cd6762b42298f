"""Values far outside the fitted range, and absent columns, are told, and told once."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import jaxbn


def a_network() -> jaxbn.BayesNet:
    data = {"kind": ["a", "a", "b", "b"], "size": [1.0, 2.0, 7.0, 9.0], "flat": [3.0] * 4}
    return jaxbn.fit(data, {"size": ["kind"]}, {"size": [4.5], "flat": []})


def test_values_far_outside_the_fitted_range_are_told_once() -> None:
    net = a_network()
    rows = {"kind": ["a", "b"], "size": [1.5, 250.0], "flat": [3.0, 4.0]}
    says = "a value of 'size' lies far outside the range the network was fitted to, 1 to 9: 250"
    with pytest.warns(UserWarning, match=says) as told:
        net.log_likelihood(rows)
    assert len(told) == 1
    assert Path(told[0].filename).name == Path(__file__).name  # the line that asked, not one of the package
    net.log_likelihood(rows)  # warnings are errors here: it is said once
    net.query("kind", {"size": 1000.0})
    with pytest.warns(UserWarning, match="2 values of 'size' lie far outside"):
        a_network().predict_proba({"size": [500.0, -500.0], "flat": [3.0, 3.0]}, "kind")


@pytest.mark.parametrize("known", [100.0, (100.0, None), (None, -100.0), [2.0, 100.0]])
def test_observations_far_outside_are_told(known: object) -> None:
    with pytest.warns(UserWarning, match="far outside the range"):
        a_network().query("kind", {"size": known})


@pytest.mark.parametrize("known", [0.0, 12.0, (5.0, None), (None, 3.0), (8.0, 1000.0), (-1000.0, 1000.0)])
def test_what_is_near_or_overlaps_the_range_is_not(known: object) -> None:
    a_network().query("kind", {"size": known})


def test_absent_columns_are_told_once() -> None:
    net = a_network()
    with pytest.warns(UserWarning, match="the data lacks 'size', 'flat' of the network") as told:
        net.predict({"other": [1, 2]}, "kind")
    assert len(told) == 1
    assert Path(told[0].filename).name == Path(__file__).name
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net.predict({"other": [1, 2]}, "kind")
    with pytest.warns(UserWarning, match="lacks 'flat' of"):  # which is another thing
        net.predict({"size": [1.0]}, "kind")
