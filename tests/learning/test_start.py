"""``learn(start=net)`` goes on from a network."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import jaxbn


def rows(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = x + 0.4 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": y, "z": y + 0.4 * rng.normal(size=n), "k": rng.integers(0, 2, n).astype(str)})


def test_the_evidence_ends_no_lower_than_that_of_the_start() -> None:
    data = rows(200, 0)
    net = jaxbn.learn(data, restarts=4, progress=False)
    again = jaxbn.learn(data, start=net, restarts=1, progress=False)
    assert net.search is not None
    assert again.search is not None
    assert again.search.criterion >= net.search.criterion - 1e-6
    assert again.arcs == net.arcs


def test_it_goes_on_with_more_rows_columns_and_other_rules(tmp_path) -> None:
    data = rows(300, 1)
    first = jaxbn.learn(data[["x", "y"]][:100], restarts=1, progress=False)
    net = jaxbn.learn(data, start=first, restarts=1, progress=False, checkpoint=tmp_path / "runs")
    assert net.names == ("x", "y", "z", "k")
    assert net.n_rows == 300
    rules = jaxbn.Constraints(forbidden=[("x", "y"), ("y", "x")])
    other = jaxbn.learn(data, start=net, constraints=rules, restarts=1, max_parents=1, progress=False)
    assert not {("x", "y"), ("y", "x")} & set(other.arcs)
    turned = jaxbn.Constraints(required=[arc[::-1] for arc in first.arcs])
    assert set(first.arcs).isdisjoint(
        jaxbn.learn(data, start=first, constraints=turned, restarts=1, progress=False).arcs
    )


def test_k2_has_no_start() -> None:
    net = jaxbn.learn(rows(60, 2), restarts=1, progress=False)
    with pytest.raises(ValueError, match="start has no use with search='k2'"):
        jaxbn.learn(rows(60, 2), start=net, search="k2", progress=False)
