"""``fit`` with missing entries: EM in the place of counting, and what else may be asked for."""

from __future__ import annotations

import logging

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.groups.grouping import Grouping
from jaxbn.inputs.table import as_table
from tests.reference import holes

GRAPH = {"size": ["kind"], "up": ["size", "kind"]}
CUTS = {"size": [-0.3, 0.5]}


def frame(n: int = 120, share: float = 0.25, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    kind = rng.choice(list("abc"), n)
    size = rng.normal(size=n) + (kind == "a")
    data = pd.DataFrame({"kind": kind, "size": size, "up": size + rng.normal(size=n) > 0}).astype({"up": object})
    for i, name in enumerate(data.columns):
        data.loc[rng.random(n) < share * (i != 0 or share < 1), name] = None
    return data.astype({"size": float})


def coded(data: pd.DataFrame) -> np.ndarray:
    """The codes by hand: levels in their order, cuts at -0.3 and 0.5, -1 where missing."""
    size = np.where(data["size"].isna(), -1, (data["size"] >= -0.3).astype(int) + (data["size"] >= 0.5))
    others = [[{"a": 0, "b": 1, "c": 2, False: 0, True: 1}.get(v, -1) for v in data[name]] for name in ("kind", "up")]
    return np.stack([others[0], size, others[1]], axis=1)


def test_tables_are_a_fixed_point_of_em_by_enumeration() -> None:
    data = frame()
    net = jaxbn.fit(data, GRAPH, CUTS)
    tables = [net.tables[name] for name in net.names]
    again, objective = holes.em_round([(), (0,), (1, 0)], tables, coded(data), 1.0)
    assert net.em_trace[-1] == pytest.approx(objective, abs=1e-9)
    assert (np.diff(net.em_trace) >= -1e-9).all()
    for table, after in zip(tables, again, strict=True):
        np.testing.assert_allclose(table, after, atol=1e-3)
    assert net.n_rows == 120 - int(data.isna().all(axis=1).sum())
    assert net.bounds["size"] == (data["size"].min(), data["size"].max())


def test_the_log_likelihood_is_that_of_em() -> None:
    data = frame()
    net = jaxbn.fit(data, GRAPH, CUTS)
    widths = np.diff(net.bin_edges("size"))
    codes = coded(data)[:, 1]
    density = np.log(widths)[codes[codes >= 0]].sum()
    prior = sum(np.log(table).sum() for table in net.tables.values())
    assert net.log_likelihood(data).sum() == pytest.approx(net.em_trace[-1] - prior - density, abs=1e-9)


def test_it_says_what_was_found_and_done(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        jaxbn.fit(frame(), GRAPH, CUTS)
    assert "they are inferred" in caplog.text


@pytest.mark.parametrize("missing", ["infer", "error", "drop", "state"])
def test_complete_data_give_the_same_network_whatever_is_asked(missing: str) -> None:
    data = frame(share=0.0)
    net = jaxbn.fit(data, GRAPH, CUTS, missing=missing)
    assert net == jaxbn.fit(data, GRAPH, CUTS)
    assert net.em_trace == ()
    table = jaxbn.fit(as_table(data, continuous=["size"]), GRAPH, CUTS, missing=missing)
    assert table == net


def test_dropping_is_fitting_to_the_complete_rows() -> None:
    data = frame()
    assert jaxbn.fit(data, GRAPH, CUTS, missing="drop") == jaxbn.fit(data.dropna(), GRAPH, CUTS)
    table = as_table(data, continuous=["size"], discrete=["kind", "up"], missing="infer")
    assert jaxbn.fit(table, GRAPH, CUTS, missing="drop") == jaxbn.fit(data.dropna(), GRAPH, CUTS)
    with pytest.raises(ValueError, match="missing values in"):
        jaxbn.fit(table, GRAPH, CUTS, missing="error")


def test_same_data_same_network() -> None:
    assert jaxbn.fit(frame(), GRAPH, CUTS) == jaxbn.fit(frame(), GRAPH, CUTS)


def test_groups_with_holes() -> None:
    data = frame()
    binnings = {**CUTS, "kind": Grouping([["a"], ["b", "c"]])}
    net = jaxbn.fit(data, GRAPH, binnings)
    counts = data["kind"].value_counts()
    np.testing.assert_allclose(net.shares["kind"][1], (counts["b"] + 1) / (counts["b"] + counts["c"] + 2))
    merged = data.assign(kind=data["kind"].replace({"c": "b"}))
    for name, table in jaxbn.fit(merged, GRAPH, CUTS).tables.items():
        np.testing.assert_allclose(net.tables[name], table, atol=1e-12)


def test_each_table_has_its_own_prior() -> None:
    data = frame()
    net = jaxbn.fit(data, GRAPH, CUTS, alpha={"up": 40.0})
    assert abs(net.tables["up"] - 0.5).max() < abs(jaxbn.fit(data, GRAPH, CUTS).tables["up"] - 0.5).max()
    prior = sum({"up": 40.0}.get(name, 1.0) * np.log(table).sum() for name, table in net.tables.items())
    codes = coded(data)[:, 1]
    density = np.log(np.diff(net.bin_edges("size")))[codes[codes >= 0]].sum()
    assert net.log_likelihood(data).sum() == pytest.approx(net.em_trace[-1] - prior - density, abs=1e-9)


def test_rows_whose_sums_are_too_large_are_left_out_of_the_tables_they_lack(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 200)
    frame = pd.DataFrame({"a": a, "b": (a + rng.integers(0, 2, 200)) % 3, "c": rng.integers(0, 2, 200)}, dtype=float)
    frame.loc[:9, ["a", "b"]] = np.nan  # a sum over nine cells
    frame.loc[10:19, "c"] = np.nan  # over two
    graph = {"b": ["a"], "c": ["b"]}
    monkeypatch.setattr("jaxbn.model.inference.em._budget", lambda _: 10)
    net = jaxbn.fit(frame, graph, discrete=list("abc"))
    assert "10 rows lack so many columns" in caplog.text
    whole = jaxbn.fit(frame[10:], graph, discrete=list("abc"))
    for name in "ab":
        np.testing.assert_allclose(net.tables[name], whole.tables[name], rtol=1e-9)
    trace = np.array(net.em_trace)
    assert (np.diff(trace) >= -1e-9 * np.abs(trace[1:])).all()
    caplog.clear()
    updated = whole.update(frame[:10], tell=False)
    assert "10 rows lack so many columns" in caplog.text
    np.testing.assert_array_equal(updated.tables["b"], whole.tables["b"])
