"""A variable that was not cut is shown so everywhere, and never with the bins in which the search began."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.cli import output
from jaxbn.model.words import count_states, cuts_in_words, state_texts


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 60)
    return pd.DataFrame({"lone": rng.exponential(size=60), "x": kind + rng.normal(size=60) / 9, "c": kind})


@pytest.fixture(scope="module")
def net(frame: pd.DataFrame) -> jaxbn.BayesNet:
    found = jaxbn.discretize(frame, {"x": ["c"]}, method="bayesian")
    assert found.binnings["lone"].n_bins == 3  # those of its start
    return jaxbn.fit(frame, {"x": ["c"]}, found.binnings)


def test_a_variable_without_neighbours_is_not_cut(net: jaxbn.BayesNet, frame: pd.DataFrame) -> None:
    start = f"{net.binnings['lone'].cuts[0]:.3g}"
    shown = [
        repr(net), repr(jaxbn.discretize(frame, {"x": ["c"]}, method="bayesian")), net._repr_html_(),
        net.binnings["lone"]._repr_html_(), jaxbn.discretize(frame, {"x": ["c"]}, method="bayesian")._repr_html_(),
        jaxbn.report(net, frame),
    ]  # fmt: skip
    for text in shown:
        assert "not cut" in text
        assert start not in re.sub(r"<script.*?</script>|[a-z-]+=\"[^\"]*\"", "", text, flags=re.DOTALL)
    assert count_states(net, "x") == "3 bins"


def test_the_command_line_says_not_cut(
    net: jaxbn.BayesNet, frame: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    for say in (
        lambda: output.network(net),
        lambda: output.discretization(jaxbn.discretize(frame, {"x": ["c"]}, method="bayesian")),
    ):
        say()
        line = next(line for line in capsys.readouterr().out.splitlines() if line.strip().startswith("lone"))
        assert line.split() == ["lone", "not", "cut"]


def test_one_bin_is_not_cut_whatever_its_neighbours() -> None:
    net = jaxbn.fit({"x": [1.0, 2.0], "k": ["a", "b"]}, {"x": ["k"]}, {"x": []})
    assert count_states(net, "x") == cuts_in_words(net, "x") == "not cut"
    assert state_texts(net, "x") == ["all"]


def test_cuts_that_someone_gave_are_shown(frame: pd.DataFrame) -> None:
    net = jaxbn.fit(frame, {}, {"lone": [0.5], "x": [1.0]})
    assert cuts_in_words(net, "lone") == "0.5"


def test_intervals_of_an_answer_are_short_and_lead_back_to_the_bin() -> None:
    data = {"x": [2.0, 2.45, 2.5, 4.0], "k": ["a", "a", "b", "b"]}
    cut = (2.45 + 2.4999999999999991) / 2
    net = jaxbn.fit(data, {"x": ["k"]}, {"x": [cut]})
    answer = net.query("x")
    assert [str(interval) for interval in answer.index] == ["[-inf, 2.475)", "[2.475, inf)"]
    for interval, value in zip(answer.index, (2.0, 3.0), strict=True):
        assert net.query("k", {"x": interval}).tolist() == net.query("k", {"x": value}).tolist()
