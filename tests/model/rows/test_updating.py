"""Updating a network: in parts as in one, with new levels and missing entries, and rows that look unlike the others."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.cuts.binning import Binning
from jaxbn.groups.grouping import Grouping

GRAPH = {"size": ["kind"], "town": ["kind", "size"]}


def rows(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    kind = rng.choice([*"abcd"], n, p=[0.4, 0.4, 0.15, 0.05])
    size = rng.normal(np.where(kind == "a", 0.0, 3.0), 1.0)
    return pd.DataFrame({"kind": kind, "size": size, "town": [f"t{i:02d}" for i in rng.integers(0, 30, n)]})


def codings(data: pd.DataFrame) -> dict[str, Binning | Grouping]:
    found = jaxbn.discretize(data, GRAPH, columns=jaxbn.Columns(merge_levels=["town"]))
    return {"town": found.groupings["town"], "size": found.binnings["size"]}


def test_ten_parts_are_as_one() -> None:
    data = rows(500)
    coded = codings(data)
    once = jaxbn.fit(data, GRAPH, coded)
    parts = np.array_split(np.arange(500), 10)
    net = jaxbn.fit(data.iloc[parts[0]], GRAPH, coded)
    for part in parts[1:]:
        net = net.update(data.iloc[part], tell=False)
    assert net == once  # tables, shares, bounds, shapes and score, to the last digit
    assert net.n_rows == 500


def test_levels_that_are_new_find_their_place() -> None:
    data = rows(300).drop(columns="town").sort_values("kind", ascending=False, ignore_index=True)
    graph, coded = {"size": ["kind"]}, {"size": [1.0]}
    first, rest = data[data["kind"] == "d"], data[data["kind"] != "d"]
    net = jaxbn.fit(first, graph, {"size": Binning([1.0], lower=-9.0, upper=9.0)})
    for _, part in rest.groupby("kind"):
        net = net.update(part, tell=False)
    once = jaxbn.fit(data, graph, coded, bounds={"size": (-9.0, 9.0)})
    assert net.levels == once.levels
    for name in net.names:
        np.testing.assert_array_equal(net.tables[name], once.tables[name])


def test_a_new_level_of_a_grouped_variable_joins_the_largest_group() -> None:
    data = rows(300)
    net = jaxbn.fit(data, GRAPH, codings(data))
    more = net.update(rows(20, 1).assign(town="t99"), tell=False)
    largest = max(net.groupings["town"].groups, key=len)
    assert (*largest, "t99") in more.groupings["town"].groups
    assert more.levels["town"][-1] == "t99"
    assert more.level_counts["town"][-1] == 20
    assert more.query("town").sum() == pytest.approx(1.0)


def test_missing_entries_count_as_expected() -> None:
    data = rows(300).drop(columns="town")
    net = jaxbn.fit(data, {"size": ["kind"]}, {"size": [1.0]})
    holed = pd.DataFrame({"kind": [None], "size": [0.0]})
    more = net.update(holed)
    expected = net.query("kind", {"size": 0.0}).to_numpy()
    np.testing.assert_allclose(more.counts["kind"] - net.counts["kind"], expected)
    assert more.n_rows == 301


def test_counts_are_saved(tmp_path: Path) -> None:
    data = rows(300)
    net = jaxbn.fit(data[:200], GRAPH, codings(data))
    net.save(tmp_path / "net.json")
    again = jaxbn.load(tmp_path / "net.json").update(data[200:], tell=False)
    assert again == net.update(data[200:], tell=False)


def test_counts_of_another_shape_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.json"
    jaxbn.fit({"x": ["a", "b"]}, {}, {}).save(path)
    text = "".join(path.read_text().split())
    assert '"counts":[1,1]' in text
    path.write_text(text.replace('"counts":[1,1]', '"counts":[1,1,1]'))
    with pytest.raises(ValueError, match="damaged: the counts of 'x' must be numbers from 0 on of shape"):
        jaxbn.load(path)


def test_a_network_without_counts_says_what_to_do() -> None:
    net = replace(jaxbn.fit({"x": ["a", "b"]}, {}, {}), counts={})
    with pytest.raises(ValueError, match=r"keeps no counts.*fit it again"):
        net.update({"x": ["a"]})


def test_rows_unlike_the_others_are_told() -> None:
    data = rows(600)
    net = jaxbn.fit(data[:300], GRAPH, codings(data))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net.update(data[300:])  # these are alike
    swapped = data[300:].assign(size=lambda found: found["size"] + 7)
    with pytest.warns(UserWarning, match=r"\d+ have a value of 'size' outside its range so far"):
        net.update(swapped)
    odd = data[300:].assign(size=np.where(data["kind"][300:] == "a", 5.0, -2.0))
    with pytest.warns(UserWarning, match=r"of the 300 new rows are less probable than 99 % .* mostly by 'size'"):
        net.update(odd)


def test_levels_of_another_type_are_refused() -> None:
    net = jaxbn.fit({"x": ["a", "b"]}, {}, {})
    with pytest.raises(ValueError, match="column 'x' holds 1, of another type"):
        net.update({"x": [1]}, tell=False)
