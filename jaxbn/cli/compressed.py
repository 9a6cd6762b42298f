"""Compressed files, known by their first bytes."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from io import BytesIO
from typing import Any
from zipfile import BadZipFile, ZipFile

from jaxbn.cli.errors import CommandError

ENDINGS = (".gz", ".bz2", ".xz", ".zip")
_OPEN: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
_ZIP = b"PK\x03\x04"


def expand(raw: bytes, name: str, most: int | None) -> bytes:
    """The content of a compressed file; any other as it is.

    Args:
        raw: the file.
        name: for messages.
        most: bytes that there is room for, None for no limit.

    Example:
        >>> expand(gzip.compress(b"a,b"), "'table.csv.gz'", None)
        b'a,b'
    """
    try:
        for mark, opened in _OPEN.items():
            if raw.startswith(mark):
                with opened(BytesIO(raw), "rb") as file:
                    return _limited(file.read(-1 if most is None else most + 1), name, most)
        return _from_zip(raw, name, most) if raw.startswith(_ZIP) else raw
    except (OSError, EOFError, lzma.LZMAError, zlib.error, BadZipFile) as error:
        raise CommandError(f"{name} cannot be expanded ({error}); is it complete?") from None


def _from_zip(raw: bytes, name: str, most: int | None) -> bytes:
    with ZipFile(BytesIO(raw)) as archive:
        files = [entry for entry in archive.infolist() if not entry.is_dir()]
        if any(entry.filename == "[Content_Types].xml" for entry in files):
            raise CommandError(f"{name} is a spreadsheet, not a text table; save it as CSV first")
        if len(files) != 1:
            raise CommandError(f"{name} holds {len(files)} files; a zip archive must hold one table")
        with archive.open(files[0]) as file:
            return _limited(file.read(-1 if most is None else most + 1), name, most)


def _limited(content: bytes, name: str, most: int | None) -> bytes:
    if most is not None and len(content) > most:
        raise CommandError(f"{name} is too large for the memory once it is expanded; pass fewer rows or columns")
    return content
