"""Tables read from files in pieces: what reading them at once gives."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.inputs.table import Table, as_table
from jaxbn.inputs.table_files import read_file
from jaxbn.learning.options import in_objects

ROWS = 60


def every_kind(seed: int = 0) -> pd.DataFrame:
    """A column of each kind that a Parquet file can hold."""
    rng = np.random.default_rng(seed)
    whole = rng.integers(0, 40, ROWS)
    words = rng.choice(["b", "a", "some words"], ROWS)
    return pd.DataFrame(
        {
            "float": rng.normal(size=ROWS),
            "short float": rng.normal(size=ROWS).astype(np.float32),
            "holed float": np.where(rng.random(ROWS) < 0.2, np.nan, rng.normal(size=ROWS)),
            "integer": whole,
            "short integer": (whole % 5).astype(np.int8),
            "holed integer": pd.array([None if i % 7 == 3 else i for i in whole], "Int64"),
            "bool": whole % 2 == 0,
            "holed bool": pd.array([None if i == 3 else i % 2 == 0 for i in range(ROWS)], "boolean"),
            "words": words,
            "holed words": np.where(rng.random(ROWS) < 0.2, None, words),
            "ranks": pd.Categorical(words, ["some words", "b", "never", "a"], ordered=True),
        }
    )


def assert_same(found: Table, expected: Table) -> None:
    assert (found.names, found.levels, found.n_rows) == (expected.names, expected.levels, expected.n_rows)
    assert found.inferred == expected.inferred
    for name in expected.names:
        some, other = (table.values if name in table.values else table.codes for table in (found, expected))
        np.testing.assert_array_equal(some[name], other[name], err_msg=name)
        assert some[name].dtype == other[name].dtype


@pytest.mark.parametrize("missing", ["infer", "drop", "state"])
def test_parquet_in_many_pieces_is_the_table_at_once(tmp_path: Path, missing: str) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "table.parquet"
    every_kind().to_parquet(path, row_group_size=7)
    assert_same(as_table(path, missing=missing), as_table(pd.read_parquet(path), missing=missing))
    assert_same(as_table(str(path), missing=missing), as_table(pd.read_parquet(path), missing=missing))


def test_a_folder_of_parquet_files_is_one_table(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = every_kind().drop(columns="ranks").assign(years=np.repeat([2023, 2024, 2025], 20))
    for year, rows in frame.groupby("years"):
        (tmp_path / f"year={year}").mkdir()
        rows.drop(columns="years").to_parquet(tmp_path / f"year={year}" / "part.parquet", row_group_size=9)
    found, expected = as_table(tmp_path, missing="infer"), as_table(frame, missing="infer")
    assert found.names == (*expected.names[:-1], "year")
    assert found.levels["year"] == (2023, 2024, 2025)
    for name in expected.names[:-1]:
        if name in expected.values:
            np.testing.assert_array_equal(found.values[name], expected.values[name])
        else:
            assert found.levels[name] == expected.levels[name]
            np.testing.assert_array_equal(found.codes[name], expected.codes[name])


def test_categories_that_differ_between_files(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for i, levels in enumerate((["b", "a"], ["c", "a"])):
        pd.DataFrame({"kind": pd.Categorical(levels * 3), "x": 0.5}).to_parquet(tmp_path / f"{i}.parquet")
    table = as_table(tmp_path, continuous=["x"])
    kinds = [table.levels["kind"][code] for code in table.codes["kind"]]
    assert kinds == ["b", "a"] * 3 + ["c", "a"] * 3


def test_the_index_of_pandas_is_left_out(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "table.parquet"
    pd.DataFrame({"x": [0.5, 1.5]}, index=pd.Index(["a", "b"], name="row")).to_parquet(path)
    assert list(read_file(path).columns) == ["x"]


def exact_csv(path: Path, mark: str) -> pd.DataFrame:
    """A text table as pandas reads it to the last digit, which versions before 3.1 do only when told."""
    old = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
    return pd.read_csv(path, sep=mark, **({"float_precision": "round_trip"} if old else {}))


@pytest.mark.parametrize(("ending", "mark"), [("csv", ","), ("tsv", "\t"), ("csv.gz", ",")])
def test_text_is_read_too(tmp_path: Path, ending: str, mark: str) -> None:
    path = tmp_path / f"table.{ending}"
    every_kind().to_csv(path, sep=mark, index=False)
    assert_same(as_table(path, missing="infer"), as_table(exact_csv(path, mark), missing="infer"))


def test_a_network_is_learned_from_a_file(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = every_kind()[["float", "words", "bool"]]
    frame.to_parquet(tmp_path / "table.parquet", row_group_size=11)
    options = {"max_parents": 1, "restarts": 1, "progress": False}
    assert jaxbn.learn(tmp_path / "table.parquet", **in_objects(options)) == jaxbn.learn(frame, **in_objects(options))


def test_what_is_not_a_table_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(FileNotFoundError, match=r"there is no file '.*none.parquet'"):
        as_table(tmp_path / "none.parquet")
    with pytest.raises(ValueError, match="is a folder without Parquet files"):
        as_table(tmp_path)
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and more")
    with pytest.raises(ValueError, match="is not a valid Parquet file"):
        as_table(tmp_path / "bad.parquet")
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n1,2,3\n")
    with pytest.raises(ValueError, match=r"bad.csv' line 3 has 3 cells but the header has 2; correct that line$"):
        as_table(tmp_path / "bad.csv")


@pytest.mark.parametrize("name", ["table.parquet", "table.csv"])
def test_what_does_not_fit_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    pytest.importorskip("pyarrow")
    frame = every_kind()[["float", "words"]]
    frame.to_parquet(tmp_path / name) if name.endswith("parquet") else frame.to_csv(tmp_path / name, index=False)
    monkeypatch.setenv("JAXBN_MAX_MEMORY", "1000")
    with pytest.raises(MemoryError, match=r"takes about [0-9.]+ kB of memory, but 1 kB are free: pass fewer rows"):
        as_table(tmp_path / name)


def test_empty_cells_and_question_marks_in_text_are_missing_entries(tmp_path: Path) -> None:
    """In Python as on the command line: a column of numbers does not become one of words."""
    path = tmp_path / "cars.csv"
    path.write_text("horsepower,kind,id\n70.5,a,1\n?,?,2\n80.5,,3\n, ?,4\n90,b,5\nNA,b,6\n")
    table = as_table(path, missing="infer")
    assert table.continuous == ("horsepower",)
    assert np.isnan(table.values["horsepower"]).tolist() == [False, True, False, True, False, True]
    assert table.codes["kind"].tolist() == [0, -1, -1, -1, 1, 1]
    assert table.levels["kind"] == ("a", "b")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\n1,2,3\n4,5,6\n", "line 2 has 3 cells but the header has 2"),
        ("a,b\n1,2\n4\n", "line 3 has 1 cell but the header has 2"),
        ("a,b,a\n1,2,3\n", "has the column name 'a' more than once"),
        ("\n \n", "is empty"),
        ("a,b\n", "has a header but no rows"),
    ],
)
def test_what_is_wrong_with_a_text_is_said(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(ValueError, match=f"bad.csv' {says}"):
        as_table(tmp_path / "bad.csv")


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_other_delimiters_and_decimal_commas_are_seen(
    tmp_path: Path, mark: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "table.csv").write_text("size;kind\n0,5;a\n1;b,c\n-2,25;a\n".replace(";", mark))
    table = as_table(tmp_path / "table.csv")
    assert table.values["size"].tolist() == [0.5, 1.0, -2.25]
    assert table.levels["kind"] == ("a", "b,c")
    assert "the cells are separated by" in caplog.text


def test_what_an_archive_holds_has_to_fit_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAXBN_MAX_MEMORY", "1000000")
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"a\n" + b"1\n" * 10_000_000))
    with pytest.raises(ValueError, match=r"bomb.csv.gz' is too large for the memory once it is expanded"):
        as_table(tmp_path / "bomb.csv.gz")


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, left out or put in, or the end cut off."""
    made = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5, 30])):
        at = rng.randrange(len(made) + 1)
        made[at : at + rng.randrange(9)] = rng.randbytes(rng.randrange(9))
    return bytes(made[: rng.randrange(len(made))] if rng.random() < 0.1 else made)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.bz2", "csv.xz", "csv.zip", "parquet"])
def test_damaged_files_are_tables_or_one_error_that_names_them(
    tmp_path: Path, ending: str, caplog: pytest.LogCaptureFixture
) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"table.{ending}"
    frame = every_kind()[["float", "words", "holed integer"]]
    frame.to_parquet(path) if ending == "parquet" else frame.to_csv(path, index=False)
    whole, rng = path.read_bytes(), random.Random(0)
    refusals = []
    for _ in range(40):
        path.write_bytes(damaged(whole, rng))
        try:
            read_file(path)
        except ValueError as error:
            refusals.append(str(error))
    assert len(refusals) > 20
    assert all(str(path) in words for words in refusals)


@pytest.mark.parametrize(
    ("mark", "cells", "numbers"),
    [
        (",", ["1,660", "721", "12,280"], [1660, 721, 12280]),
        (",", ["$261.96", "-$1,731.94", "($4.50)"], [261.96, -1731.94, -4.5]),
        (",", ["23%", "", "100 %"], [23, np.nan, 100]),
        (",", ["1'234.5", "7", "0.5"], [1234.5, 7, 0.5]),
        (";", ["1.234,50 €", "12,00 €", "-0,99 €"], [1234.5, 12, -0.99]),
        (";", ["1,234,567", "8", "9"], [1234567, 8, 9]),
    ],
)
def test_numbers_with_signs_and_marks_between_thousands(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mark: str, cells: list[str], numbers: list[float]
) -> None:
    """They were text, and as text with many different values left out: prices, counts and shares."""
    path = tmp_path / "table.csv"
    pd.DataFrame({"kind": ["a", "b", "a"], "price": cells}).to_csv(path, sep=mark, index=False)
    np.testing.assert_array_equal(read_file(path)["price"], numbers)
    assert f"read as numbers: 'price' (such as {cells[0]!r})" in caplog.text


@pytest.mark.parametrize(
    "cells",
    [
        ["12%", "$7", "1"],
        ["0,123", "1,660", "5"],
        ["12-13", "1,66", "5"],
        ["1/2", "3", "4"],
        ["a1", "2", "b"],
    ],
)
def test_what_is_not_plainly_a_number_stays_text(tmp_path: Path, cells: list[str]) -> None:
    path = tmp_path / "table.csv"
    pd.DataFrame({"kind": ["a", "b", "a"], "price": cells}).to_csv(path, index=False)
    assert read_file(path)["price"].tolist() == cells


def test_postcodes_keep_their_zeros(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "shops.csv"
    file.write_text("zip,size,nr\n" + "01234,1,0\n98765,2.5,01\n,3,2\n" * 9)
    table = as_table(file, discrete=["nr"])
    assert table.levels["zip"] == ("01234", "98765")
    assert "kept as text, for its zeros in front: 'zip'" in caplog.text
    assert table.levels["nr"] == (0, 1, 2)  # of different lengths: a number
    net = jaxbn.fit(table, {"nr": ["zip"]})
    file.write_text("zip,size,nr\n98765,2,1\n")
    assert net.predict(file, "nr").tolist() == [1]
