"""Whether there is room for a text table, asked before it is read."""

from __future__ import annotations

from jaxbn.cli.errors import CommandError
from jaxbn.runtime.memory import LIMIT, available, in_words

BYTES_PER_BYTE = 4
"""Memory that each byte of a table takes while it is read: as text, as a piece of it, as columns and as a copy."""


def check_room(size: int, name: str) -> None:
    """Refuse a file that would not fit."""
    free = available()
    if free is not None and size * BYTES_PER_BYTE > free:
        raise CommandError(
            f"{name} has {in_words(size)}; reading it takes about {in_words(size * BYTES_PER_BYTE)} of memory, but "
            f"{in_words(free)} are free: pass fewer rows or columns, or set {LIMIT} (bytes) if you know better"
        )


def most_bytes() -> int | None:
    """The largest table that there is room for, None if that is not known."""
    free = available()
    return None if free is None else free // BYTES_PER_BYTE
