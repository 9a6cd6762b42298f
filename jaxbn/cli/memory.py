"""Whether there is room for a file, asked before it is read."""

from __future__ import annotations

import os
from pathlib import Path

from jaxbn.cli.errors import CommandError, UsageError

LIMIT = "JAXBN_MAX_MEMORY"
"""Environment variable: bytes that may be used, instead of what the system says is free."""

BYTES_PER_BYTE = 8
"""Memory that each byte of a table takes while it is read: as text, decoded, as cells, as columns and as a copy."""


def check_room(size: int, name: str) -> None:
    """Refuse a file that would not fit."""
    free = available()
    if free is not None and size * BYTES_PER_BYTE > free:
        raise CommandError(
            f"{name} has {_in_words(size)}; reading it takes about {_in_words(size * BYTES_PER_BYTE)} of memory, but "
            f"{_in_words(free)} are free: pass fewer rows or columns, or set {LIMIT} (bytes) if you know better"
        )


def most_bytes() -> int | None:
    """The largest table that there is room for, None if that is not known."""
    free = available()
    return None if free is None else free // BYTES_PER_BYTE


def available() -> int | None:
    """Bytes free for use: what the environment says, else what the system or the container says, whichever is less."""
    told = os.environ.get(LIMIT)
    if told is not None:
        if not told.isdigit():
            raise UsageError(f"{LIMIT} must be a whole number of bytes, got {told!r}")
        return int(told)
    found = [free for free in (_system(), _container()) if free is not None]
    return min(found, default=None)


def _system() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return None
    except (OSError, ValueError):
        return _physical()


def _physical() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _container() -> int | None:
    """Room left under a limit of the control group."""
    folder = Path("/sys/fs/cgroup")
    try:
        limit, used = ((folder / f"memory.{word}").read_text(encoding="ascii").strip() for word in ("max", "current"))
        return None if limit == "max" else max(int(limit) - int(used), 0)
    except (OSError, ValueError):
        return None


def _in_words(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"
