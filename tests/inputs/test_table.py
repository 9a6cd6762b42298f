"""Tables in: kinds, levels, and every kind of bad input."""

from __future__ import annotations

import logging
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.inputs.columns import encode
from jaxbn.inputs.table import Table, as_frame, as_table


def small_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "x": [0.5, 1.5, 2.5, 0.5],
            "few": [3, 1, 3, 2],
            "flag": [True, False, True, True],
            "word": ["b", "a", "b", "c"],
            "grade": pd.Categorical(["low", "high", "low", "low"], categories=["low", "mid", "high"]),
        }
    )


def test_kinds_levels_and_codes() -> None:
    table = as_table(small_frame())
    assert table.names == ("x", "few", "flag", "word", "grade")
    assert table.continuous == ("x",)
    assert table.discrete == ("few", "flag", "word", "grade")
    assert table.values["x"].dtype == np.float64
    assert table.codes["few"].dtype == np.int32
    assert table.levels == {
        "few": (1, 2, 3), "flag": (False, True), "word": ("a", "b", "c"), "grade": ("low", "mid", "high")
    }  # fmt: skip
    assert [type(level) for level in table.levels["few"] + table.levels["flag"]] == [int] * 3 + [bool] * 2
    assert table.codes["few"].tolist() == [2, 0, 2, 1]
    assert table.codes["grade"].tolist() == [0, 2, 0, 0]
    assert table.n_rows == 4
    assert "few" in table.describe()
    assert "declared" in repr(table)


def test_integers_are_discrete_up_to_twenty_distinct_values() -> None:
    table = as_table({"twenty": np.arange(42) % 20, "more": np.arange(42) % 21})
    assert table.continuous == ("more",)
    assert table.inferred["more"] == "more than 20 integers"


def test_continuous_and_discrete_name_only_the_exceptions() -> None:
    data = {"count": [1, 2, 3], "ratio": [0.5, 0.5, 1.5], "size": [0.5, 1.5, 2.5], "few": [1, 2, 2]}
    table = as_table(data, continuous=["count"], discrete=["ratio"])
    assert table.continuous == ("count", "size")
    assert table.levels == {"ratio": (0.5, 1.5), "few": (1, 2)}
    assert table.inferred["count"] == "named continuous"
    assert as_table(data, continuous=["count"]).continuous == ("count", "ratio", "size")
    assert as_table(data, discrete=["ratio"]).continuous == ("size",)
    assert as_table({"count": [1, 2]}, continuous="count").continuous == ("count",)
    assert as_table({"size": [0.5, 1.5]}, discrete="size").continuous == ()


def test_a_column_named_as_both_or_unknown_is_refused() -> None:
    data = {"weight": [0.5, 1.5], "word": ["a", "b"]}
    with pytest.raises(ValueError, match=r"discrete names 'weight', and so does `continuous`; leave it in one"):
        as_table(data, continuous=["weight"], discrete=["weight"])
    with pytest.raises(ValueError, match=r"discrete names 'wieght'.*did you mean 'weight'"):
        as_table(data, discrete=["wieght"])


@pytest.mark.parametrize("dtype", ["float32", "float64", "Float64"])
def test_floats_that_are_whole_numbers_are_the_integers_they_are(dtype: str) -> None:
    holes = pd.Series([3.0, None, 1.0, 3.0], dtype=dtype)
    table = as_table({"cylinders": holes, "word": list("abab")}, missing="drop")
    assert table.levels["cylinders"] == (1, 3)
    assert [type(level) for level in table.levels["cylinders"]] == [int, int]
    assert table.codes["cylinders"].tolist() == [1, 0, 1]
    many = as_table({"twenty": np.arange(42.0) % 20, "more": np.arange(42.0) % 21, "half": np.arange(42) % 3 / 2})
    assert many.continuous == ("more", "half")
    assert many.inferred["more"] == "more than 20 whole numbers"
    assert encode([1.0, 3, None], table.levels["cylinders"]).tolist() == [0, 1, -1]


def test_integers_with_a_missing_entry_are_integers() -> None:
    """pandas hands them over as floats."""
    holes = pd.DataFrame({"kids": [0, 2, None, 1, 2], "age": [31.0, 45.0, 28.0, None, 60.5]})
    table = as_table(holes, missing="drop")
    assert table.continuous == ("age",)
    assert table.levels["kids"] == (0, 2)
    assert encode(holes["kids"].dropna().head(2), table.levels["kids"]).tolist() == [0, 1]
    assert as_table({"more": [None, *range(21)]}, missing="drop").continuous == ("more",)


def test_decimals_become_floats() -> None:
    prices = [Decimal("1.50"), None, Decimal("0.25"), Decimal("2")]
    table = as_table({"price": prices, "stars": [Decimal(v % 2) for v in range(4)]}, missing="drop")
    assert table.values["price"].tolist() == [1.5, 0.25, 2.0]
    assert table.levels["stars"] == (0, 1)
    assert encode([Decimal(1)], table.levels["stars"]).tolist() == [1]


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "Float32", "float32", "int8", "uint16", "object"])
def test_number_dtypes_can_be_continuous(dtype: str) -> None:
    table = as_table({"x": pd.Series([1, 2, 4], dtype=dtype)}, continuous=["x"])
    assert table.values["x"].tolist() == [1.0, 2.0, 4.0]


@pytest.mark.parametrize("dtype", ["boolean", "string", "str", "category"])
def test_extension_dtypes_are_discrete(dtype: str) -> None:
    raw = [True, False, True] if dtype == "boolean" else ["u", "v", "u"]
    table = as_table({"x": pd.Series(raw, dtype=dtype)})
    assert table.continuous == ()
    assert len(table.levels["x"]) == 2


def test_dict_array_and_table_are_accepted() -> None:
    array = np.array([[0.5, 1.5], [1.5, 2.5]])
    table = as_table(array, names=["a", "b"])
    assert table.continuous == ("a", "b")
    assert as_table(table) is table
    assert as_table({"a": array[:, 0], "b": array[:, 1]}).values["b"].tolist() == [1.5, 2.5]
    with pytest.raises(ValueError, match=r"2 columns have no names; pass pandas.DataFrame\(data, columns=\[...\]\)"):
        as_table(array)
    with pytest.raises(ValueError, match="3 entries but the array has 2"):
        as_table(array, names=["a", "b", "c"])
    with pytest.raises(TypeError, match="2-D"):
        as_table([1.0, 2.0])
    with pytest.raises(ValueError, match="'a': 2, 'b': 1"):
        as_table({"a": [1, 2], "b": [1]})
    assert as_table(table, continuous=["a"]) is table
    with pytest.raises(ValueError, match=r"discrete names 'a'.*original data"):
        as_table(table, discrete=["a"])


def test_labels_become_strings_and_row_index_is_ignored() -> None:
    table = as_table(pd.DataFrame({0: [0.5, 1.5], 1: ["a", "b"]}, index=[7, 7]))
    assert table.names == ("0", "1")


def test_take_keeps_levels() -> None:
    part = as_table(small_frame()).take(np.array([0, 2]))
    assert isinstance(part, Table)
    assert part.n_rows == 2
    assert part.codes["word"].tolist() == [1, 1]
    assert part.levels["word"] == ("a", "b", "c")
    assert as_table(small_frame()).take(np.array([True, False, False, True])).n_rows == 2


def test_missing_entries_are_refused_with_counts_or_dropped() -> None:
    frame = pd.DataFrame({"x": [0.5, np.nan, 1.5], "word": ["a", None, None], "y": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match=r"2 of 3 rows, in columns 'x' \(1\), 'word' \(2\).*missing='drop'"):
        as_table(frame, missing="error")
    table = as_table(frame, missing="drop")
    assert table.n_rows == 1
    assert table.levels["word"] == ("a",)
    with pytest.raises(ValueError, match="every row"):
        as_table({"a": [np.nan, 1.0], "b": [1.0, np.nan]}, missing="drop")
    with pytest.raises(ValueError, match="one of 'infer', 'error', 'drop', 'state'"):
        as_table(frame, missing="fill")  # type: ignore[arg-type]


@pytest.mark.parametrize("missing", ["infer", "error", "drop", "state"])
@pytest.mark.parametrize("empty", [[np.nan, np.nan], [None, None]])
def test_column_without_values_is_named(missing: str, empty: list) -> None:
    with pytest.raises(ValueError, match=r"'void' has no value.*drop it"):
        as_table({"x": [0.5, 1.5], "void": empty}, missing=missing)  # type: ignore[arg-type]


def test_one_value_and_one_row_are_fine() -> None:
    table = as_table({"x": [2.5, 2.5], "word": ["a", "a"]})
    assert table.levels["word"] == ("a",)
    assert table.values["x"].tolist() == [2.5, 2.5]
    assert as_table({"x": [2.5], "word": ["a"]}).n_rows == 1


def test_identifiers_are_refused() -> None:
    names = [f"person {i}" for i in range(21)]
    with pytest.raises(ValueError, match=r"'who' has a different value in each of its 21 rows.*drop it"):
        as_table({"who": names})
    assert len(as_table({"who": names[:20]}).levels["who"]) == 20


BAD = [
    (pd.DataFrame({"a": []}), "no rows", ValueError),
    (pd.DataFrame(), "no columns", ValueError),
    ({}, "no columns", ValueError),
    (pd.DataFrame([[1, 2]], columns=["a", "a"]), "duplicate column.*'a'", ValueError),
    (pd.DataFrame([[1, 2]], columns=[1, "1"]), "duplicate column.*'1'", ValueError),
    ({"x": [0.5, np.inf]}, "'x' holds 1 infinite.*row 1", ValueError),
    ({"x": [0.5 + 1j, 1.0]}, "'x' is complex", TypeError),
    ({"x": ["a", 1, "b"]}, "'x' mixes number and str.*1 and 'a'", TypeError),
    ({"x": pd.Series([True, 2], dtype=object)}, "'x' mixes bool and number", TypeError),
    ({"x": [(1, 2), (3, 4)]}, "'x' holds a tuple in row 0", TypeError),
    (
        {"x": [None, [1, 2]]},
        r"'x' holds a list in row 1 \(\[1, 2\]\).*pandas.DataFrame\(data\['x'\].tolist\(\)\)",
        TypeError,
    ),
    ({"x": [{"u": 1}, {"u": 2}]}, "'x' holds a dict in row 0", TypeError),
    ({"x": [np.arange(2), np.arange(3)]}, "'x' holds an array in row 0", TypeError),
    ({"x": np.ones((3, 2))}, r"'x' has 2 dimensions, shape \(3, 2\).*pandas.DataFrame\(data\['x'\]\)", TypeError),
    (np.zeros(3, [("u", float), ("v", int)]), r"structured array.*'u', 'v'; pass pandas.DataFrame\(data\)", TypeError),
    (pd.Series([1.0, 2.0]), "to_frame", TypeError),
    ([{"a": 1}, {"a": 2}], r"list of rows.*pandas.DataFrame\(data\)", TypeError),
    ("cars.csv", "there is no file 'cars.csv' to read a table from", FileNotFoundError),
]


@pytest.mark.parametrize(("data", "message", "error"), BAD)
def test_bad_input_is_refused_by_name(data: object, message: str, error: type[Exception]) -> None:
    with pytest.raises(error, match=message):
        as_table(data)


@pytest.mark.parametrize("as_frame", [True, False])
def test_a_bunch_is_refused_with_a_remedy(as_frame: bool) -> None:
    load = pytest.importorskip("sklearn.datasets").load_iris
    with pytest.raises(TypeError, match=r"data is scikit-learn's Bunch.*pass data.frame"):
        as_table(load(as_frame=as_frame))
    assert as_table(load(as_frame=True).frame).n_rows == 150


def test_dropped_rows_are_said_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    data = {"x": [0.5, np.nan, 1.5, 2.5], "word": ["a", None, None, "b"]}
    with caplog.at_level(logging.WARNING, "jaxbn"):
        as_table(data, missing="drop")
    assert [record.getMessage() for record in caplog.records] == [
        "2 of 4 rows were dropped for missing entries, in columns 'x' (1), 'word' (2)"
    ]
    caplog.clear()
    as_table({"x": [0.5, 1.5]}, missing="drop")
    assert caplog.records == []


def test_bad_continuous_names_and_columns() -> None:
    frame = pd.DataFrame({"weight": [1.0, 2.0], "word": ["a", "b"], "flag": [True, False]})
    with pytest.raises(ValueError, match=r"'wieght'.*did you mean 'weight'"):
        as_table(frame, continuous=["wieght"])
    with pytest.raises(TypeError, match="'word' cannot be continuous: it holds 'a'"):
        as_table(frame, continuous=["word"])
    with pytest.raises(TypeError, match="'flag' is bool"):
        as_table(frame, continuous=["flag"])


def test_intervals_of_cut_become_text() -> None:
    table = as_table({"x": pd.cut([1.0, 2.0, 3.0], [0, 1.5, 4])})
    assert table.levels["x"] == ("(0.0, 1.5]", "(1.5, 4.0]")
    assert encode(pd.cut([3.0], [0, 1.5, 4]), table.levels["x"]).tolist() == [1]


def test_encode_against_fitted_levels() -> None:
    assert encode(pd.Series([1.0, np.nan, 3.0]), (1, 2, 3)).tolist() == [0, -1, 2]
    assert encode(pd.Categorical(["b", None, "a"]), ("a", "b")).tolist() == [1, -1, 0]
    assert encode(["z", "a"], ("a",), unknown="missing").tolist() == [-1, 0]
    assert encode([], ("a",)).tolist() == []
    with pytest.raises(ValueError, match=r"'pet' holds 1 unknown level.*'dgo'; did you mean 'dog'"):
        encode(["dgo", "cat"], ("cat", "dog"), name="pet")
    with pytest.raises(ValueError, match="one of 'error', 'missing'"):
        encode(["a"], ("a",), unknown="drop")  # type: ignore[arg-type]


def test_as_frame_accepts_to_pandas() -> None:
    class Foreign:
        def to_pandas(self) -> pd.DataFrame:
            return small_frame()

    assert list(as_frame(Foreign())) == list(small_frame())


def test_whole_numbers_that_floats_cannot_tell_apart_are_refused() -> None:
    with pytest.raises(ValueError, match=r"column 'x' holds whole numbers beyond 2\^53 that floats cannot tell apart"):
        as_table({"x": np.arange(2**60, 2**60 + 50)})
    assert as_table({"x": np.arange(50) * 2**55}).continuous == ("x",)


def test_types_of_arrow_that_pandas_hands_out_entry_by_entry() -> None:
    pa = pytest.importorskip("pyarrow")
    columns = {"x": [[1, 2], [3]], "y": [{"u": 1}, {"u": 2}]}
    for name, kind in (("x", "an array"), ("y", "a dict")):
        for mapper in (None, pd.ArrowDtype):
            frame = pa.table({name: columns[name]}).to_pandas(types_mapper=mapper)
            with pytest.raises(TypeError, match=f"column {name!r} holds {kind} in row 0"):
                as_table(frame)
    days = pa.table({"day": pd.date_range("2020-01-01", periods=3).date}).to_pandas(types_mapper=pd.ArrowDtype)
    assert as_table(days).content("day") == "2020-01-01 to 2020-01-03, 3 distinct"


def test_descriptions_keep_to_a_width() -> None:
    levels = [f"a very long name of level {i}" for i in range(30)]
    table = as_table({"kind": levels, "size": np.arange(30) / 7, "one": ["a"] * 30}, keep=["kind", "one"])
    assert "1 level: 'a'" in table.describe()
    assert max(map(len, table.describe(60).splitlines())) <= 60
    assert [line.split("  ")[-1].strip() for line in table.describe(70).splitlines()[1:]] == [  # it said "string col…"
        "string column", "float column", "string column"
    ]  # fmt: skip
    assert len(table.content("kind")) < 80


def test_a_description_reads_well() -> None:
    described = as_table({"people": [*range(2_385_400, 2_385_430)]}).describe()
    assert described.splitlines() == [
        "30 rows, 1 column: 1 continuous, 0 discrete",
        "  people  continuous  2385400 to 2385429, 30 distinct   more than 20 integers",
    ]


def test_integers_that_are_all_missing_say_nothing() -> None:
    net = jaxbn.fit({"x": [1, 2, 3], "k": ["a", "b", "a"]}, {}, {"x": [1.5]})
    rows = pd.DataFrame({"x": pd.array([None, None], dtype="Int64"), "k": ["a", "b"]})
    assert net.predict_proba(rows, "k").shape == (2, 2)  # warnings are errors here


def test_the_form_of_dates_is_of_a_column_of_text() -> None:
    with pytest.raises(ValueError, match="dates names 'when', which is not a column of the data"):
        as_table({"day": ["20200131", "20200201"]}, dates={"when": "%Y%m%d"})
    known = jaxbn.Columns(dates={"day": "%Y%m%d"})
    assert known.table({"day": ["20200131", "20200201"]}).units["day"].kind == "date"
    with pytest.raises(ValueError, match=r"dates has a form for 'day', which holds numbers, no text; .*astype"):
        known.table({"day": [20200131, 20200201]})
