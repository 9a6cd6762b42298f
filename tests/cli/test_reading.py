"""Tables as people have them: compressed, with an index, with words among numbers, without a header."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from jaxbn.cli.reading import read
from jaxbn.inputs.table_files import Format

FRAME = pd.DataFrame({"size": [0.5, 1.25, -3.0], "kind": ["a", "b", "a"]})
TEXT = FRAME.to_csv(index=False).encode()


def zipped(*contents: bytes, name: str = "table.csv") -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for i, content in enumerate(contents):
            archive.writestr(f"{i}{name}", content)
    return packed.getvalue()


def encrypted() -> bytes:
    """An archive whose entry says, in both places, that it is encrypted."""
    packed = bytearray(zipped(TEXT))
    packed[6] |= 1
    packed[packed.index(b"PK\x01\x02") + 8] |= 1
    return bytes(packed)


@pytest.mark.parametrize(
    ("ending", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress), ("zip", zipped)]
)
def test_compressed_files_are_read(tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / f"cars.csv.{ending}"
    path.write_bytes(pack(TEXT))
    source = read(str(path), Format())
    pd.testing.assert_frame_equal(source.frame, FRAME)
    assert source.name == "cars"
    tabs = tmp_path / f"cars.tsv.{ending}"
    tabs.write_bytes(pack(TEXT.replace(b",", b"\t")))
    pd.testing.assert_frame_equal(read(str(tabs), Format()).frame, FRAME)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (gzip.compress(TEXT)[:-9], "cannot be expanded"),
        (zipped(TEXT, TEXT), "holds 2 files; a zip archive must hold one table"),
        (zipped(), "holds 0 files; a zip archive must hold one table"),
        (encrypted(), "is encrypted; expand it first"),
    ],
    ids=[
        "cut off",
        "two files",
        "no file",
        "encrypted",
    ],  # an archive has the time in it: as a name it would differ by process
)
def test_archives_that_cannot_be_read(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "cars.csv.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=says):
        read(str(path), Format())


def test_a_spreadsheet_is_named(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
    (tmp_path / "cars.xlsx").write_bytes(packed.getvalue())
    with pytest.raises(ValueError, match="is a spreadsheet, not a text table; save it as CSV first"):
        read(str(tmp_path / "cars.xlsx"), Format())


def test_a_bomb_is_refused_before_it_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAXBN_MAX_MEMORY", "1000000")
    path = tmp_path / "cars.csv.gz"
    path.write_bytes(gzip.compress(b"a\n" + b"1\n" * 10_000_000))
    with pytest.raises(ValueError, match="too large for the memory once it is expanded"):
        read(str(path), Format())


def test_the_index_of_pandas_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    FRAME.to_csv(tmp_path / "cars.csv")
    pd.testing.assert_frame_equal(read(str(tmp_path / "cars.csv"), Format()).frame, FRAME)
    assert "left out: the first column of" in caplog.text
    pd.read_csv(tmp_path / "cars.csv").to_csv(tmp_path / "again.csv", index=False)
    pd.testing.assert_frame_equal(read(str(tmp_path / "again.csv"), Format()).frame, FRAME)


def test_a_header_that_looks_like_data_is_pointed_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "iris.csv").write_text("5.1,3.5\n4.9,3.0\n")
    read(str(tmp_path / "iris.csv"), Format())
    assert "looks like data (5.1, 3.5)" in caplog.text
    caplog.clear()
    (tmp_path / "classes.csv").write_text("5.1,3.5,setosa\n4.9,3.0,setosa\n")
    read(str(tmp_path / "classes.csv"), Format())
    assert "looks like data (5.1, 3.5, setosa)" in caplog.text
    caplog.clear()
    (tmp_path / "years.csv").write_text("country,2019,2020\nFrance,1.5,2.5\n")
    read(str(tmp_path / "years.csv"), Format())
    assert caplog.text == ""


@pytest.mark.parametrize("word", ["-", "none given"])
def test_words_in_a_column_of_numbers_are_pointed_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, word: str
) -> None:
    path = tmp_path / "cars.csv"
    path.write_text(f"horsepower,kind\n70,a\n{word},b\n80.5,a\n90,b\n")
    assert read(str(path), Format()).frame["horsepower"].dtype.kind != "f"
    expected = (
        f"column 'horsepower' holds numbers except for {word!r} (1 of 4 rows), so it is discrete; replace it by NaN"
    )
    assert expected in caplog.text
    caplog.clear()
    found = read(str(path), Format(na_values=(word,))).frame["horsepower"]
    np.testing.assert_array_equal(found, [70, np.nan, 80.5, 90])
    assert caplog.text == ""


def test_question_marks_and_empty_cells_are_missing_entries(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "cars.csv"
    path.write_text("horsepower,kind\n70,a\n?, ?\n80.5,\n,b\n")
    found = read(str(path), Format()).frame
    np.testing.assert_array_equal(found["horsepower"], [70, np.nan, 80.5, np.nan])
    assert found["kind"].isna().tolist() == [False, True, True, False]
    assert caplog.text == ""


def test_columns_of_words_are_not_pointed_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "t.csv").write_text("grade,answer\nA,yes\nB,no\n1,yes\n")
    read(str(tmp_path / "t.csv"), Format())
    assert caplog.text == ""
