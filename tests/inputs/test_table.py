"""Tables in: kinds, levels, and every kind of bad input."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

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
    assert "21 distinct" in table.inferred["more"]


def test_integers_with_a_missing_entry_are_integers() -> None:
    """pandas hands them over as floats."""
    holes = pd.DataFrame({"kids": [0, 2, None, 1, 2], "age": [31.0, 45.0, 28.0, None, 60.5]})
    table = as_table(holes, missing="drop")
    assert table.continuous == ("age",)
    assert table.levels["kids"] == (0, 2)
    assert [type(level) for level in table.levels["kids"]] == [int, int]
    assert encode(holes["kids"].dropna().head(2), table.levels["kids"]).tolist() == [0, 1]
    assert as_table({"measured": [1.0, 2.0, 2.0]}).continuous == ("measured",)
    many = as_table({"more": [None, *range(21)]}, missing="drop")
    assert many.continuous == ("more",)


def test_decimals_are_numbers() -> None:
    table = as_table({"price": [Decimal("1.5"), Decimal("2.25")], "n": [Decimal(3), Decimal(4)]})
    assert table.values["price"].tolist() == [1.5, 2.25]
    assert table.values["n"].tolist() == [3.0, 4.0]
    coded = as_table({"n": [Decimal(3), Decimal(4)]}, continuous=[])
    assert coded.levels["n"] == (3, 4)
    assert encode([Decimal(4)], coded.levels["n"]).tolist() == [1]


def test_dropped_rows_are_said(caplog: pytest.LogCaptureFixture) -> None:
    as_table({"x": [0.5, None, 1.5]}, missing="drop")
    assert caplog.messages == ["1 of 3 rows with missing entries were dropped"]


def test_continuous_overrides_inference_both_ways() -> None:
    table = as_table({"count": [1, 2, 3], "ratio": [0.5, 0.5, 1.5]}, continuous=["count"])
    assert table.continuous == ("count",)
    assert table.levels["ratio"] == (0.5, 1.5)
    assert as_table({"count": [1, 2]}, continuous="count").continuous == ("count",)


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
    array = np.array([[0.5, 1.0], [1.5, 2.5]])
    table = as_table(array, names=["a", "b"])
    assert table.continuous == ("a", "b")
    assert as_table(table) is table
    assert as_table({"a": array[:, 0], "b": array[:, 1]}).values["b"].tolist() == [1.0, 2.5]
    with pytest.raises(ValueError, match=r"pandas.DataFrame\(data, columns=\["):
        as_table(array)
    with pytest.raises(ValueError, match="3 entries but the array has 2"):
        as_table(array, names=["a", "b", "c"])
    with pytest.raises(TypeError, match="2-D"):
        as_table([1.0, 2.0])
    with pytest.raises(ValueError, match="'a': 2, 'b': 1"):
        as_table({"a": [1, 2], "b": [1]})
    with pytest.raises(ValueError, match="original data"):
        as_table(table, continuous=["a"])


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
        as_table(frame)
    table = as_table(frame, missing="drop")
    assert table.n_rows == 1
    assert table.levels["word"] == ("a",)
    with pytest.raises(ValueError, match="every row"):
        as_table({"a": [np.nan, 1.0], "b": [1.0, np.nan]}, missing="drop")
    with pytest.raises(ValueError, match="one of 'error', 'drop'"):
        as_table(frame, missing="fill")  # type: ignore[arg-type]


@pytest.mark.parametrize("missing", ["error", "drop"])
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
    ({"x": pd.to_datetime(["2020-01-01", "2020-01-02"])}, "'x' holds dates.*Timedelta", TypeError),
    ({"x": pd.to_datetime(["2020-01-01", "2020-01-02"]).tz_localize("UTC")}, "'x' holds dates", TypeError),
    ({"x": pd.to_timedelta([1, 2], unit="D")}, "'x' holds dates or durations", TypeError),
    ({"x": [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]}, "'x' holds dates.*to_datetime", TypeError),
    ({"x": ["a", 1, "b"]}, "'x' mixes number and str.*1 and 'a'", TypeError),
    ({"x": pd.Series([True, 2], dtype=object)}, "'x' mixes bool and number", TypeError),
    ({"x": [(1, 2), (3, 4)]}, "'x' holds.*tuple", TypeError),
    (pd.Series([1.0, 2.0]), "to_frame", TypeError),
    ({"x": [[1, 2], [3]]}, "'x' holds a list in each entry.*columns of their own.*drop it", TypeError),
    ({"x": [{"a": 1}, {"a": 2}]}, "'x' holds a dict", TypeError),
    ({"x": np.ones((3, 2))}, "'x' has 2 dimensions", ValueError),
    (np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]), r"structured array.*pandas.DataFrame\(data\)", TypeError),
    ([{"a": 1}, {"a": 2}], r"list of rows.*pandas.DataFrame\(data\)", TypeError),
    ("cars.csv", "'cars.csv'; read the file first.*read_csv", TypeError),
    (pytest.importorskip("sklearn.datasets").load_iris(), r"Bunch.*as_frame=True.*\.frame", TypeError),
]


@pytest.mark.parametrize(("data", "message", "error"), BAD)
def test_bad_input_is_refused_by_name(data: object, message: str, error: type[Exception]) -> None:
    with pytest.raises(error, match=message):
        as_table(data)


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
