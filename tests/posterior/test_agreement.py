"""Chains that stay apart are told, and the sentence about them names what they differ in."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from jaxbn.cuts.binning import Binning
from jaxbn.drawing.posterior import agreement
from jaxbn.inputs.table import as_table
from jaxbn.posterior.draws import Draw
from jaxbn.posterior.results import Posterior
from jaxbn.posterior.sample_posterior import _tell_disagreement


def apart(together: bool = False) -> Posterior:
    """Two chains, each with an arc of its own, or both with both in turn; F and the bins vary a little."""
    rng = np.random.default_rng(0)
    table = as_table({"x": rng.normal(size=30), "a": [*"uv"] * 15, "b": [*"uvw"] * 10})
    draws = []
    for chain in (0, 1):
        for sweep in range(40):
            arc = sweep % 2 if together else chain
            parents = {"x": (), "a": ("b",) if arc else (), "b": () if arc else ("a",)}
            cuts = Binning([0.0] if rng.random() < 0.5 else [])
            draws.append(Draw(chain, sweep, float(rng.normal()), parents, {"x": cuts}, {}))
    return Posterior(table, tuple(draws), 0)


def test_chains_that_stay_apart_are_told() -> None:
    with pytest.warns(
        UserWarning, match=r"do not agree on [ab] -> [ab], [ab] -> [ab] \(R-hat up to inf\).*higher draws"
    ):
        _tell_disagreement(apart(), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _tell_disagreement(apart(together=True), 2)
        _tell_disagreement(apart(), 1)


def test_the_largest_r_hat_is_that_of_the_arc_named() -> None:
    assert "Largest R-hat: inf (" in agreement(apart())
    named = agreement(apart()).partition("inf (")[2].partition(")")[0]
    assert np.isinf(apart().diagnostics["r_hat"][named])
