"""Cuts from counts are those of the rows that were counted."""

from __future__ import annotations

import numpy as np
import pytest

from jaxbn.cuts import interval_costs
from jaxbn.cuts.discretize_variable import best_binnings, variable_request
from jaxbn.cuts.evidence import MANY_VALUES, _choice_costs
from jaxbn.cuts.from_counts import Counted, best_cuts, coupled


@pytest.mark.parametrize("tabled", [True, False], ids=["by tables", "by ln Γ"])
@pytest.mark.parametrize("seed", range(6))
def test_cuts_and_their_cost_are_those_of_the_rows(seed: int, tabled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, n = np.random.default_rng(seed), 300
    first, second, spouse = rng.integers(0, 3, n), rng.integers(0, 2, n), rng.integers(0, 3, n)
    x = np.round(rng.normal(first, 1.0), 1 if seed % 2 else 4)
    child = (x + spouse / 2 + rng.normal(size=n) > 1).astype(int)
    if seed >= 4:
        second, child = (np.where(rng.random(n) < 0.2, -1, codes) for codes in (second, child))
    width = 0.3 if seed == 3 else 0.0
    request = variable_request(
        x, [first, second], [(child, [spouse])], missing="infer", min_width=width or None, shape="flat"
    )
    (answer,) = best_binnings([request], "evidence")
    values = np.unique(x)

    def counts(*codes: np.ndarray) -> np.ndarray:
        table = np.zeros([len(values), *(each.max() + 2 for each in codes)], np.int64)
        np.add.at(table, (np.searchsorted(values, x), *(np.where(c < 0, c.max() + 1, c) for c in codes)), 1)
        return table

    if not tabled:
        monkeypatch.setattr(interval_costs, "MOST_TABLED", 0)
    counted = Counted(values, values, counts(first, second), [counts(spouse, child)], len(values))
    found = best_cuts(counted, [], width, 8, None)
    np.testing.assert_allclose([(values[g] + values[g + 1]) / 2 for g in found.after], answer.cuts)
    assert found.cost == pytest.approx(answer.cost, rel=1e-10)
    assert best_cuts(counted, found.after, width, 8, None).gain == pytest.approx(0.0, abs=1e-8)


def test_rows_have_the_counts_of_every_table() -> None:
    rng = np.random.default_rng(0)
    one = rng.integers(0, 5, (4, 3))
    other = np.array([rng.multinomial(total, [0.2] * 5) for total in one.sum(axis=1)])
    group, weights, cells = coupled([one, other])
    for table, cell in zip((one, other), cells, strict=True):
        again = np.zeros_like(table)
        np.add.at(again, (group, cell), weights)
        np.testing.assert_array_equal(again, table)


def test_what_few_bins_of_many_values_cost_needs_no_long_table() -> None:
    exact = _choice_costs.__wrapped__(MANY_VALUES, 64)
    np.testing.assert_allclose(_choice_costs.__wrapped__(MANY_VALUES + 1, 64), exact, atol=1e-3)
