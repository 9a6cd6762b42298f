"""Files written whole or not at all."""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows has no such lock
    fcntl: Any = None  # type: ignore[no-redef]

LOCKS = fcntl is not None

PathLike = str | os.PathLike[str]


@contextmanager
def replacing(path: PathLike) -> Iterator[Path]:
    """A draft beside a file, which takes its place in one step when the block ends; if the block fails it is removed.

    Example:
        >>> with replacing("a.txt") as draft:
        ...     _ = draft.write_text("whole")
        >>> [(file.name, file.read_text()) for file in Path().iterdir()]
        [('a.txt', 'whole')]
    """
    target = Path(path)
    if not target.parent.is_dir():  # else the error would name the draft
        raise FileNotFoundError(errno.ENOENT, "there is no such directory", str(target.parent))
    # beside the file, as a rename is one step only within a file system; with the process in its name, so that two that
    # write the same file do not share a draft
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        yield draft
        _flush(draft)
        draft.replace(target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def write_text(path: PathLike, text: str) -> None:
    """Replace a file by a text, in UTF-8 with line feeds, in one step."""
    write_bytes(path, text.encode())


def write_bytes(path: PathLike, content: bytes) -> None:
    """Replace a file in one step."""
    with replacing(path) as draft:
        draft.write_bytes(content)


def remove_drafts(path: PathLike) -> None:
    """Remove what a program that was killed while it wrote a file has left beside it."""
    target = Path(path)
    for draft in target.parent.glob(f".{glob.escape(target.name)}.*.tmp"):
        draft.unlink(missing_ok=True)


@contextmanager
def locked(path: PathLike) -> Iterator[None]:
    """A file to oneself, by a lock file beside it; the lock of a process that was killed is void.

    Raises:
        BlockingIOError: another process, or another part of this one, has it.
    """
    if not LOCKS:
        yield
        return
    target = Path(path)
    beside = target.with_name(f".{target.name}.lock")
    while True:
        with beside.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not beside.exists() or beside.stat().st_ino != os.fstat(file.fileno()).st_ino:
                continue  # who had it has just removed it
            try:
                yield
            finally:
                beside.unlink(missing_ok=True)
            return


def _flush(path: Path) -> None:
    """Wait until a file is on the disk: after a power cut a new name must not stand for an empty file."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())
