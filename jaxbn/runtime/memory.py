"""How much memory is free, asked before much of it is used."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])

BYTES = 8  # of a float64
MAX_MEMORY = 2e9  # bytes that one array of an answer may take, unless told otherwise
LIMIT = "JAXBN_MAX_MEMORY"  # environment variable: bytes that may be used, instead of what the system says is free

_most = ContextVar("max_memory", default=MAX_MEMORY)


def max_memory() -> float:
    """Bytes that one array of an answer may take."""
    return _most.get()


@contextmanager
def at_most(size: float) -> Iterator[None]:
    """Let no array take more bytes than this."""
    before = _most.set(size)
    try:
        yield
    finally:
        _most.reset(before)


def within_memory(method: Method) -> Method:
    """A method whose keyword ``max_memory`` counts for everything that is worked out in it."""

    @wraps(method)
    def within(*args: Any, **options: Any) -> Any:
        if "max_memory" not in options:  # that of the call from which this one comes
            return method(*args, **options)
        with at_most(options["max_memory"]):
            return method(*args, **options)

    return within  # type: ignore[return-value]


def check_room(needed: int, what: str, remedy: str) -> None:
    """Refuse work, which begins a sentence, that would take more bytes than are free; a MemoryError has both numbers.

    Example:
        >>> check_room(10**18, "reading 'big.parquet'", "pass fewer columns")
        Traceback (most recent call last):
        MemoryError: reading 'big.parquet' takes about 1e+03 PB of memory, but ... are free: pass fewer columns, or set
        JAXBN_MAX_MEMORY (bytes) if you know better
    """
    free = available()
    if free is not None and needed > free:
        raise MemoryError(
            f"{what} takes about {in_words(needed)} of memory, but {in_words(free)} are free: {remedy}, or set {LIMIT} "
            "(bytes) if you know better"
        )


def available() -> int | None:
    """Bytes free for use: what the environment says, else what the system or the container says, whichever is less."""
    told = os.environ.get(LIMIT)
    if told is not None:
        if not told.isdecimal():
            raise ValueError(f"{LIMIT} must be a whole number of bytes, got {told!r}")
        return int(told)
    found = [free for free in (_system(), _container()) if free is not None]
    return min(found, default=None)


def in_words(size: float) -> str:
    """A number of bytes with its unit, such as 2.5 MB."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} PB"


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
