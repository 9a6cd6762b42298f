"""Tables with holes: what is kept, what is said, and what each kind of missing entry becomes."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pandas as pd
import pytest

from jaxbn.inputs.table import as_table, encode

NAN = float("nan")


def test_a_table_carries_its_holes(caplog: pytest.LogCaptureFixture) -> None:
    data = {"x": [0.5, NAN, 1.5, 2.5], "word": ["a", None, None, "b"], "y": [1.5, 2.5, 3.5, 4.5]}
    with caplog.at_level(logging.WARNING, "jaxbn"):
        table = as_table(data, missing="infer")
    assert table.holes == {"x": 1, "word": 2}
    assert np.isnan(table.values["x"]).tolist() == [False, True, False, False]
    assert table.codes["word"].tolist() == [0, -1, -1, 1]
    assert table.holed_rows.tolist() == [False, True, True, False]
    assert [record.getMessage() for record in caplog.records] == [
        "missing: 3 of 12 entries (25 %), in 2 of 4 rows and 2 of 3 columns: 'x' (1), 'word' (2); they are inferred"
    ]
    assert "50 % missing" in table.describe()
    assert "0.5 to 2.5, 3 distinct, 25 % missing" in table.describe()


def test_without_holes_nothing_is_said_and_the_table_is_the_same(caplog: pytest.LogCaptureFixture) -> None:
    data = {"x": [0.5, 1.5], "word": ["a", "b"]}
    tables = [as_table(data, missing=choice) for choice in ("infer", "error", "drop", "state")]
    assert caplog.records == []
    assert {table.describe() for table in tables} == {as_table(data).describe()}
    assert all(table.holes == {} and not table.holed_rows.any() for table in tables)


def test_a_table_with_holes_can_be_used_again_in_every_way() -> None:
    table = as_table({"x": [0.5, NAN, 1.5], "word": ["a", "b", None]}, missing="infer")
    assert as_table(table, missing="infer") is table
    assert as_table(table, missing="drop").n_rows == 1
    assert as_table(table, missing="state").levels["word"] == ("a", "b", "(missing)")
    with pytest.raises(ValueError, match=r"2 of 3 rows, in columns 'x' \(1\), 'word' \(1\); infer.*missing='infer'"):
        as_table(table, missing="error")
    with pytest.raises(ValueError, match="every row has a missing value"):
        as_table(table.take(np.array([1, 2])), missing="drop")


@pytest.mark.parametrize(
    "column",
    [
        [1, 2, None, 3] * 2,
        pd.array([1, 2, None, 3] * 2, dtype="Int64"),
        pd.Series([1, 2, pd.NA, 3] * 2, dtype=object),
        pd.Series([1, 2, pd.NaT, 3] * 2, dtype=object),
        np.array([1.0, 2.0, NAN, 3.0] * 2),
        pd.Categorical([1, 2, None, 3] * 2),
    ],
)
def test_integers_with_holes_are_the_integers_they_would_be_without(column: Any) -> None:
    table = as_table({"stars": column}, missing="infer")
    assert table.levels["stars"] == (1, 2, 3)
    assert table.codes["stars"].tolist() == [0, 1, 2] * 2  # rows without any value are left out
    beside = as_table({"stars": column, "y": range(8)}, missing="infer")
    assert beside.codes["stars"].tolist() == [0, 1, -1, 2] * 2


@pytest.mark.parametrize("absent", [None, NAN, pd.NA])
def test_many_integers_with_a_hole_are_continuous_as_they_would_be_without(absent: Any) -> None:
    column = pd.Series([*range(30), absent], dtype=object)
    table = as_table({"year": column, "word": ["a"] * 31}, missing="infer")
    assert table.continuous == ("year",)
    assert table.values["year"][:3].tolist() == [0.0, 1.0, 2.0]
    assert np.isnan(table.values["year"][30])


@pytest.mark.parametrize(
    ("column", "levels"),
    [
        (pd.array([True, None, False], dtype="boolean"), (False, True)),
        ([True, None, False], (False, True)),
        (pd.array(["b", pd.NA, "a"], dtype="string"), ("a", "b")),
        (["b", pd.NaT, "a"], ("a", "b")),
        (pd.Categorical(["b", None, "a"], categories=["c", "b", "a"]), ("c", "b", "a")),
    ],
)
def test_every_kind_of_missing_entry_is_one(column: Any, levels: tuple[Any, ...]) -> None:
    table = as_table({"kind": column, "y": [1, 2, 3]}, missing="infer")
    assert table.levels["kind"] == levels
    assert (table.codes["kind"] == -1).tolist() == [False, True, False]


def test_rows_without_any_value_are_left_out_and_said(caplog: pytest.LogCaptureFixture) -> None:
    table = as_table({"x": [0.5, NAN, 1.5, NAN], "word": ["a", None, None, None]}, missing="infer")
    assert table.n_rows == 2
    assert caplog.records[0].getMessage().endswith("they are inferred, and 2 rows without any value left out")


def test_infinite_values_are_refused_with_a_remedy() -> None:
    with pytest.raises(ValueError, match=r"'x' holds 1 infinite value.*row 1.*replace the values by NaN"):
        as_table({"x": [0.5, np.inf, NAN]}, missing="infer")


def test_missing_as_a_state() -> None:
    data = {"x": [0.5, NAN, 1.5], "word": ["b", "a", None], "stars": [1, None, 2]}
    table = as_table(data, missing="state")
    assert table.names == ("x", "x (missing)", "word", "stars")
    assert table.levels["word"] == ("a", "b", "(missing)")
    assert table.levels["stars"] == (1, 2, "(missing)")
    assert table.codes["stars"].tolist() == [0, 2, 1]
    assert table.codes["x (missing)"].tolist() == [0, 1, 0]
    assert table.levels["x (missing)"] == (False, True)
    assert table.holes == {"x": 1}
    assert encode(["b", None, "(missing)"], table.levels["word"]).tolist() == [1, 2, 2]
    with pytest.raises(ValueError, match=r"column 'x \(missing\)' is a name that missing='state' needs"):
        as_table({**data, "x (missing)": [1, 2, 3]}, missing="state")


def test_a_column_with_holes_can_identify_rows() -> None:
    with pytest.raises(ValueError, match="different value in each of its 30 rows"):
        as_table({"id": [*map(str, range(30)), None, None], "y": [1.5] * 32}, missing="infer")
