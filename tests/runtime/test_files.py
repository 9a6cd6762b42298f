"""Files are whole or not there at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxbn.runtime.files import remove_drafts, replacing, write_bytes, write_text


def test_a_text_is_written_as_utf_8_with_line_feeds(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "zwölf\nBoxkämpfer\n")
    assert (tmp_path / "a.txt").read_bytes() == "zwölf\nBoxkämpfer\n".encode()
    write_bytes(str(tmp_path / "a.txt"), b"\r\n\0")
    assert (tmp_path / "a.txt").read_bytes() == b"\r\n\0"
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: BaseException) -> None:
    def fail() -> None:
        with replacing(tmp_path / "a.txt") as draft:
            draft.write_text("half")
            raise error

    write_text(tmp_path / "a.txt", "old")
    with pytest.raises(type(error)):
        fail()
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("a.txt", "old")]


def test_a_failed_rename_leaves_no_draft(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):  # noqa: PT011
        write_text(tmp_path / "folder", "a directory cannot be replaced")
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


def test_drafts_of_killed_programs_are_removed_and_others_kept(tmp_path: Path) -> None:
    for name in (".a[1].txt.123.tmp", ".b.txt.123.tmp", "a[1].txt"):
        (tmp_path / name).write_text("x")
    remove_drafts(tmp_path / "a[1].txt")
    assert sorted(file.name for file in tmp_path.iterdir()) == [".b.txt.123.tmp", "a[1].txt"]


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no such directory: '.*absent'$"):
        write_text(tmp_path / "absent" / "a.txt", "")
