"""Chances that pages show: exact, or from drawn rows where a network is too large to be summed over."""

from __future__ import annotations

import numpy as np
import pytest

import jaxbn
from jaxbn.drawing import report as report_of_networks
from jaxbn.drawing.missing import dependences
from jaxbn.drawing.report import strongest
from jaxbn.model.inference import questions as chances


def lattice(side: int, rows: int = 300) -> jaxbn.BayesNet:
    """A grid of variables, each with the ones above and to the left as parents: sums grow exponentially with it."""
    rng = np.random.default_rng(0)
    parents = {
        f"v{i}_{k}": [f"v{a}_{b}" for a, b in ((i - 1, k), (i, k - 1)) if a >= 0 and b >= 0]
        for i in range(side)
        for k in range(side)
    }
    return jaxbn.fit({name: rng.choice(list("abcd"), rows) for name in parents}, parents, {})


def test_drawn_rows_come_near_the_exact_chances(monkeypatch: pytest.MonkeyPatch) -> None:
    net = lattice(3)
    exact, links = chances.chances_of(net), strongest(net, chances.chances_of(net))
    monkeypatch.setattr(chances, "MOST_SUMMED", 1)
    drawn = chances.chances_of(net)
    for names in (["v1_1"], ["v0_0", "v2_2"], ["v2_2", "v0_1"]):
        np.testing.assert_allclose(drawn(names), exact(names), atol=0.02)
    assert {link.child for link in strongest(net, drawn)} == {link.child for link in links}


def test_the_page_of_a_network_too_large_for_sums_takes_no_time() -> None:
    """Caravan (86 columns of many levels): questions fitted into memory, and a hundred of them took minutes."""
    net = lattice(11)
    assert chances.n_summed(net) > 10**7
    page = jaxbn.report(net)
    assert "Approximate, from rows drawn from the network" in page
    assert "Approximate, from rows" not in jaxbn.report(lattice(2))


def test_what_missing_entries_depend_on_is_told_of_large_networks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    data = {"sex": ["f", "m"] * 20, "age": [30.5, None] * 20}
    net = jaxbn.fit(data, {"age (missing)": ["sex"]}, {"age": []}, missing="state")
    exact = dependences(net)
    monkeypatch.setattr(chances, "MOST_SUMMED", 1)
    (found,) = dependences(net)
    assert found.most == pytest.approx(exact[0].most, abs=0.02)


def test_of_many_arcs_those_that_are_worth_most_are_described(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 400))
    weak, strong = np.where(rng.random(400) < 0.65, a, 1 - a), np.where(rng.random(400) < 0.95, b, 1 - b)
    net = jaxbn.fit({"a": a, "b": b, "weak": weak, "strong": strong}, {"weak": ["a"], "strong": ["b"]}, {})
    monkeypatch.setattr(report_of_networks, "MOST_ARCS", 1)
    assert [link.child for link in strongest(net, chances.chances_of(net))] == ["strong"]
