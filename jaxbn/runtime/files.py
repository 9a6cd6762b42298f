"""Files written whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

PathLike = str | os.PathLike[str]


def write_text(path: PathLike, text: str) -> None:
    """Replace a file in one step: write beside it, flush to disk, rename."""
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
