"""Cuts where entries are missing: the optimum over all binnings, every factor on the rows that have all of it."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import jaxbn
from jaxbn.cuts.by_number import charged
from jaxbn.cuts.discretize_variable import best_binnings, variable_request
from tests.helpers.programs import close, prices_and_few_slots
from tests.helpers.random_variables import random_variable
from tests.reference import holed_cuts

SHAPES = [(0, ()), (1, ()), (2, (0,)), (1, (1,)), (0, (0, 2)), (2, (1, 0, 1))]
METHODS = ["evidence", "bayesian", "mdl"]


def holed_variable(seed: int, n: int, share: float = 0.2, **options: Any) -> dict[str, Any]:
    """A variable of the helpers with entries of all its columns removed."""
    variable = random_variable(seed, n, **options)
    rng = np.random.default_rng(seed)

    def holed(codes: np.ndarray) -> np.ndarray:
        return np.where(rng.random(n) < share, -1, codes)

    values = np.where(rng.random(n) < share, np.nan, variable["values"])
    if np.isnan(values).all():
        values[0] = 0.5
    parents = [holed(codes) for codes in variable["parents"]]
    children = [(holed(codes), [holed(s) for s in spouses]) for codes, spouses in variable["children"]]
    kept = {name: variable[name] for name in ("weights",) if name in variable}
    if kept:
        kept["weights"][np.flatnonzero(~np.isnan(values))[0]] = 1
    return {"values": values, "parents": parents, "children": children, **kept}


def options_of(method: str) -> dict[str, Any]:
    own = {"bayesian": {"rate": 4.0}, "evidence": {"shape": "flat", "max_bins": None}}
    return {"method": method, "missing": "infer", **own.get(method, {})}


@pytest.mark.parametrize("method", METHODS)
def test_all_binnings_by_enumeration(method: str) -> None:
    for seed in range(24):
        n_parents, spouses = SHAPES[seed % len(SHAPES)]
        variable = holed_variable(
            seed,
            14,
            [0.1, 0.3, 0.6][seed % 3],
            n_parents=n_parents,
            spouses=spouses,
            n_values=7,
            weighted=seed % 4 == 3,
        )
        binning = jaxbn.discretize_variable(**variable, **options_of(method))
        assert binning.cost == close(holed_cuts.enumerated(**variable, method=method)), seed
        assert binning.cost == close(holed_cuts.cost(**variable, cuts=binning.cuts, method=method))


@pytest.mark.parametrize("method", METHODS)
def test_the_programs_agree(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pruned program, with its bounds, finds what the program over the costs of all intervals finds."""
    monkeypatch.setattr(charged, "FEW_LAYERS", 0)
    found: list[list[float]] = []
    for way in (prices_and_few_slots, nullcontext):
        with way():
            found.append([])
            for seed in range(12):
                n_parents, spouses = SHAPES[seed % len(SHAPES)]
                variable = holed_variable(seed, 130, n_parents=n_parents, spouses=spouses, weighted=seed // 6 > 0)
                binning = jaxbn.discretize_variable(**variable, **options_of(method))
                assert binning.cost == close(holed_cuts.cost(**variable, cuts=binning.cuts, method=method))
                found[-1].append(binning.cost)
    assert found[0] == [close(cost) for cost in found[1]]


def test_a_factor_that_no_row_has_changes_nothing() -> None:
    variable = random_variable(3, 40, n_parents=1, spouses=(0,))
    nothing = np.full(40, -1)
    more = variable | {"children": [*variable["children"], (nothing, ()), (variable["parents"][0], (nothing,))]}
    for method in METHODS[:2]:
        plain = jaxbn.discretize_variable(**variable, **options_of(method))
        assert jaxbn.discretize_variable(**more, **options_of(method)).cost == close(plain.cost)


def test_holes_are_refused_unless_they_are_allowed() -> None:
    with pytest.raises(ValueError, match="values must be finite"):
        jaxbn.discretize_variable([0.5, np.nan])
    with pytest.raises(ValueError, match="must not be negative"):
        jaxbn.discretize_variable([0.5, 1.5], parents=[[0, -1]])
    with pytest.raises(ValueError, match="missing must be one of 'infer', 'error'"):
        jaxbn.discretize_variable([0.5, 1.5], missing="drop")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="values has no entry that is not missing"):
        jaxbn.discretize_variable([np.nan, np.nan], missing="infer")
    with pytest.raises(ValueError, match="values must be finite"):
        jaxbn.discretize_variable([np.nan, np.inf], missing="infer")
    found = jaxbn.discretize_variable([0.5, 1.5, 1.0], parents=[[0, np.nan, 1]], missing="infer")
    assert found.n_bins >= 1


@pytest.mark.parametrize("method", METHODS)
def test_cuts_moved_to_the_last_row_cost_what_they_say(method: str) -> None:
    """Rows that lack a member add nothing wherever a cut lies, also while it moves."""
    for seed in range(4):
        variable = holed_variable(seed, 300, n_parents=seed % 2, spouses=(1, 0))
        high = np.nan_to_num(variable["values"]) > np.nanmean(variable["values"])
        variable["children"] = [(np.where(codes > 0, high, codes), others) for codes, others in variable["children"]]
        request = variable_request(**variable, **options_of(method))
        (binning,) = best_binnings([request], method, grid=24, refinements=4)
        assert binning.n_bins > 1
        assert binning.cost == close(holed_cuts.cost(**variable, cuts=binning.cuts, method=method))
