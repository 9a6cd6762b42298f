"""Shapes of columns take their time: they are interrupted too, and a network comes without them."""

from __future__ import annotations

import numpy as np
import pytest

import jaxbn
from jaxbn.inputs.table import as_table
from jaxbn.runtime import limits
from jaxbn.scores.coded_table import CodedTable


def rows() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {f"x{i}": rng.normal(size=80).cumsum() for i in range(3)}


def test_the_search_for_shapes_is_interrupted() -> None:
    with limits.within(0.0), pytest.raises(limits.TimeIsUpError):
        CodedTable(as_table(rows())).shapes_of("x0")


def test_a_limit_that_leaves_no_time_for_shapes_leaves_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_time(*_: object) -> None:
        raise limits.TimeIsUpError

    monkeypatch.setattr("jaxbn.scores.coded_table.column_shapes", no_time)
    net = jaxbn.learn(rows(), time_limit=0.01, progress=False)
    assert not net.search.finished
    assert np.isfinite(net.log_likelihood(rows())).all()
