"""Output files: checked before the work starts, written in one step, and replaced only if asked to."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxbn.cli.errors import CommandError, tell
from jaxbn.runtime import files

if TYPE_CHECKING:
    import pandas as pd

written: list[str] = []
"""Files that this command has written."""


def check_free(paths: Iterable[Path | None], force: bool) -> None:
    """Refuse, before anything is computed, outputs that exist or cannot be written."""
    written.clear()
    seen: set[Path] = set()
    for path in paths:
        if path is None:
            continue
        if path in seen:
            raise CommandError(f"{str(path)!r} is named for two outputs; give each its own file")
        seen.add(path)
        if path.is_dir():
            raise CommandError(f"cannot write {str(path)!r}: it is a directory; name a file in it")
        if path.exists() and not force:
            raise CommandError(f"{str(path)!r} exists and is kept; pass --force to replace it, or name another file")
        _check_folder(path)


def write(path: Path, writer: Callable[[Path], Any]) -> None:
    """Write a file with a function of the library; these replace a file in one step."""
    try:
        writer(path)
    except OSError as error:
        raise CommandError(f"cannot write {str(path)!r}: {error.strerror or error}") from None
    written.append(str(path))
    tell(f"wrote {path}")


def write_text(path: Path, text: str) -> None:
    """Write a text file."""
    write(path, lambda target: files.write_text(target, text))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a binary file."""
    write(path, lambda target: files.write_bytes(target, content))


def put_csv(frame: pd.DataFrame, out: Path | None) -> None:
    """Write rows as CSV, by default to standard output."""
    put_text(frame.to_csv(index=False), out)


def put_text(text: str, out: Path | None = None) -> None:
    """Write a text file, or print the text."""
    if out is not None:
        write_text(out, text)
    else:
        sys.stdout.write(text)
        sys.stdout.flush()


def json_text(document: Any) -> str:
    """A result as JSON."""
    return json.dumps(_plain(document), indent=1, allow_nan=False) + "\n"


def put_json(document: Any) -> None:
    """Print a result as JSON."""
    put_text(json_text(document))


def _check_folder(path: Path) -> None:
    folder = path.parent
    if not folder.is_dir():
        raise CommandError(f"cannot write {str(path)!r}: there is no directory {str(folder)!r}; make it first")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise CommandError(
            f"cannot write {str(path)!r}: {error.strerror or error} in {str(folder)!r}; choose another directory"
        ) from None


def _plain(value: Any) -> Any:
    """The value as JSON can hold it: NumPy scalars as plain ones, NaN and infinities as null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and value - value != 0:  # nan or infinite
        return None
    return str(value) if isinstance(value, Path) else value
