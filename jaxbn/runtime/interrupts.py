"""Ctrl-C waits while a program runs on a device.

A process that ends while one of JAX's programs still runs crashes, and an interrupt can fall between the start of a
program and the wait for its result. So what is computed is computed to its end, and the interrupt follows at once.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold a Ctrl-C back until the end of the block; a second one is let through.

    Outside the main thread, or where the program has a handler of its own, nothing changes.

    Example:
        >>> with uninterrupted():
        ...     total = sum(range(10))
    """
    usual = signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not usual:
        yield
        return
    held: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        if held:
            usual(number, frame)
        held.append(number)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if held:
        raise KeyboardInterrupt
