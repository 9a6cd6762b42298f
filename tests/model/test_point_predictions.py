"""Means and quantiles of a continuous target."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.cuts.shapes.inside import InsideBins
from jaxbn.model.queries import quantiles

DATA = {"kind": list("aabb") * 5, "size": [1.0, 2.0, 7.0, 9.0] * 5}


def net() -> jaxbn.BayesNet:
    return jaxbn.fit(DATA, [("kind", "size")], {"size": [1.5, 4.5]})


def test_mean_and_quantiles_are_those_of_the_density() -> None:
    rows = pd.DataFrame({"kind": ["a", "b", None]}, index=[7, 8, 9])
    answer = net().predict(rows, "size", returns="mean")
    spread = net().predict(rows, "size", returns=[0.05, 0.5, 0.95])
    assert answer.index.tolist() == spread.index.tolist() == [7, 8, 9]
    for label, given in zip([7, 8, 9], [{"kind": "a"}, {"kind": "b"}, {}], strict=True):
        edges, density = net().density("size", given)
        fine = np.linspace(edges[0], edges[-1], 400_001)
        heights = density[np.clip(np.searchsorted(edges, fine, side="right") - 1, 0, len(density) - 1)]
        step = fine[1] - fine[0]
        assert answer[label] == pytest.approx((fine * heights).sum() * step, abs=1e-3)
        below = np.cumsum(heights) * step
        for level in (0.05, 0.5, 0.95):
            assert spread.loc[label, level] == pytest.approx(fine[np.searchsorted(below, level)], abs=1e-3)


def test_median_is_the_quantile_of_a_half() -> None:
    rows = {"kind": ["a", "b"]}
    np.testing.assert_array_equal(
        net().predict(rows, "size", returns="median"), net().predict(rows, "size", returns=0.5)
    )


def test_the_old_names_of_arguments_warn() -> None:
    with pytest.warns(DeprecationWarning, match="predict.returns=..."):
        found = net().predict({"kind": ["a"]}, "size", give="mean")
    np.testing.assert_array_equal(found, net().predict({"kind": ["a"]}, "size", returns="mean"))
    with pytest.warns(DeprecationWarning, match="impute.strategy=..."):
        drawn = net().impute({"kind": ["a"], "size": [None]}, how="draw")
    assert drawn.equals(net().impute({"kind": ["a"], "size": [None]}, "draw"))


def test_quantiles_pass_over_bins_without_probability() -> None:
    found = quantiles(InsideBins(np.array([0.0, 1.0, 2.0, 3.0])), np.array([[0.5, 0.0, 0.5]]), [0.0, 0.5, 0.75, 1.0])
    np.testing.assert_allclose(found, [[0.0, 1.0, 2.5, 3.0]])


@pytest.mark.parametrize(
    ("give", "message"),
    [("middle", "'middle'"), (1.5, r"1\.5"), ([0.1, -1], "-1"), ([], "empty"), ("mean", "'kind' is discrete")],
)
def test_what_cannot_be_given_is_refused_by_name(give: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        net().predict({"size": [1.0]}, "kind", returns=give)  # type: ignore[arg-type]
