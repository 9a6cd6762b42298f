"""Sorted columns: the order of equal values, and where intervals end."""

from __future__ import annotations

import numpy as np
import pytest

from jaxbn.cuts import sorted_values
from jaxbn.cuts.sorted_values import FIRST, sort_values
from jaxbn.runtime import devices


@pytest.mark.parametrize("device", [False, True])
@pytest.mark.parametrize("kind", ["distinct", "one tie", "tie of zeros", "digits", "holes", "short"])
def test_equal_values_stay_in_the_order_of_rows(kind: str, device: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if device:
        monkeypatch.setenv(devices.AS_ACCELERATOR, "1")
        monkeypatch.setattr(sorted_values, "FEWEST_ROWS", 64)
    values = np.random.default_rng(0).normal(size=4 * FIRST)
    if kind == "one tie":
        values[[2 * FIRST, 3 * FIRST]] = values[7]
    elif kind == "tie of zeros":
        values[[2 * FIRST, 3 * FIRST]] = 0.0, -0.0
    elif kind == "digits":
        values = values.round(1)
    elif kind == "holes":
        values[[5, 2 * FIRST]] = np.nan
    elif kind == "short":
        values = values[: FIRST - 1]
    order = np.argsort(values, kind="stable")[: (~np.isnan(values)).sum()]
    found = sort_values(values)
    assert found.order.tolist() == order.tolist()
    assert found.values.tolist() == values[order].tolist()
    assert found.n_distinct == len(np.unique(values[order]))


def test_intervals_end_halfway_to_the_next_larger_value() -> None:
    ordered = sort_values(np.array([3.0, 1.0, 3.0, 7.0, 3.0]))
    assert ordered.positions.tolist() == [0, 1, 4, 5]
    assert ordered.ends(np.arange(6)).tolist() == [1.0, 2.0, 5.0, 5.0, 5.0, 7.0]
    assert ordered.ends(ordered.positions).tolist() == [1.0, 2.0, 5.0, 7.0]


def test_a_constant_has_one_interval() -> None:
    ordered = sort_values(np.full(3, 2.5))
    assert (ordered.n_distinct, ordered.positions.tolist()) == (1, [0, 3])
    assert ordered.ends(ordered.positions).tolist() == [2.5, 2.5]
