"""When work has to end: a time limit, or Ctrl-C.

Work that may take long runs inside `within`, and its loops call `check`. There the first Ctrl-C is noted and nothing
is torn apart: no import, no program on a device, no callback of JAX. The next check raises, as it does when the time
is up, and whoever has something to return catches that with `ending_early`. What is noted stays noted until the
outermost block ends, so that all of it ends and not only an inner search. A second Ctrl-C is raised at once.
"""

from __future__ import annotations

import _thread
import atexit
import math
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

GRACE = 2.0  # seconds in which a result is put together after the end of its time, or after Ctrl-C
AGAIN = 0.02  # seconds after which a Ctrl-C that came in the middle of an import comes again


class TimeIsUpError(KeyboardInterrupt):
    """The time limit was reached. It ends work just as Ctrl-C does."""


class InterruptedWarning(UserWarning):
    """A call was interrupted by Ctrl-C: what it returns is the best so far.

    Example:
        To stop instead of going on with such a network:

        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", jaxbn.InterruptedWarning)
        ...     net = jaxbn.learn({"a": [0, 1, 0, 1], "b": [0, 1, 0, 1]}, progress=False)
        >>> net.search.finished
        True
    """


@dataclass
class Limit:
    """What ends a block of work."""

    deadline: float = math.inf  # by time.monotonic()
    presses: float = 0  # of Ctrl-C that it knows of
    outermost: bool = True

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return _presses > self.presses

    @property
    def over(self) -> bool:
        """Whether the work has to end."""
        return self.interrupted or time.monotonic() > self.deadline


@dataclass
class Ending(AbstractContextManager["Ending"]):
    """How a block of work ended; see `ending_early`."""

    early: bool = False
    interrupted: bool = False  # by Ctrl-C, not by the clock

    def __exit__(self, kind: object, stop: BaseException | None, trace: object) -> bool:
        global _presses, _answered
        if not isinstance(stop, KeyboardInterrupt) or _presses > 1:
            return False
        self.early, self.interrupted = True, not isinstance(stop, TimeIsUpError)
        if self.interrupted:
            _presses = _answered = 1  # also where the program has a handler of its own
        return True

    def reraise(self) -> NoReturn:
        """Raise what ended the block, where there is nothing to return."""
        raise KeyboardInterrupt if self.interrupted else TimeIsUpError


OUTSIDE = Limit(presses=math.inf)  # no block at all: nothing ends it

_limit: ContextVar[Limit] = ContextVar("limit", default=OUTSIDE)
_presses = 0  # of Ctrl-C since the outermost block began
_answered = 0  # of these, by a result


@contextmanager
def within(seconds: float | None = None) -> Iterator[Limit]:
    """A block of work that ends after `seconds`, with its enclosing block, or on Ctrl-C.

    A Ctrl-C that no one has answered with a result is raised at the end of the outermost block.

    Raises:
        TimeoutError: from the outermost block, where the time was over before there was anything to return.
    """
    global _presses, _answered
    outer = _limit.get()
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    if outer is not OUTSIDE:
        with _set(Limit(min(deadline, outer.deadline), outer.presses, outermost=False)) as limit:
            yield limit
        return
    # Python runs signal handlers in the main thread alone: a block of another thread must not forget what was pressed
    if threading.current_thread() is threading.main_thread():
        _presses = _answered = 0
    try:
        with listening(), _set(Limit(deadline, _presses)) as limit:
            yield limit
    except TimeIsUpError:  # a KeyboardInterrupt, which would end a caller's program
        raise TimeoutError("the time limit was over before there was a result; allow more time") from None
    if limit.interrupted and _presses > _answered:
        raise KeyboardInterrupt


def ending_early() -> Ending:
    """Catches the end of the time and a first Ctrl-C; a second one goes on its way.

    Example:
        >>> with within(0.0), ending_early() as ending:
        ...     while True:
        ...         check()
        >>> ending.early, ending.interrupted
        (True, False)
    """
    return Ending()


@contextmanager
def grace(seconds: float = GRACE) -> Iterator[None]:
    """A little more time to put a result together."""
    with _set(Limit(time.monotonic() + seconds, _presses, _limit.get().outermost)):
        yield


def answered(words: str) -> None:
    """Say what a call returns in answer to Ctrl-C; to be called by the public function itself.

    If another jaxbn function called this one, that function warns instead.
    """
    global _answered
    _answered = _presses
    if _limit.get().outermost:
        warnings.warn(f"interrupted: {words}", InterruptedWarning, stacklevel=5)  # who called the decorated function


def check() -> None:
    """Raise if the work has to end: TimeIsUpError at the end of the time, KeyboardInterrupt after Ctrl-C."""
    limit = _limit.get()
    if limit.over:
        raise KeyboardInterrupt if limit.interrupted else TimeIsUpError


def over() -> bool:
    """Whether the work has to end."""
    return _limit.get().over


def seconds_left() -> float:
    """Seconds until the work has to end."""
    return _limit.get().deadline - time.monotonic()


def interrupted() -> bool:
    """Whether Ctrl-C was pressed during this call."""
    return _limit.get().interrupted


@contextmanager
def _set(limit: Limit) -> Iterator[Limit]:
    before = _limit.set(limit)
    try:
        yield limit
    finally:
        _limit.reset(before)


# --- the one handler


@contextmanager
def listening(*, last: bool = False) -> Iterator[None]:
    """Have Ctrl-C come here, unless this is not the main thread or the program has a handler of its own.

    With `last`, ignore Ctrl-C while the process exits.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _on_interrupt)
    if last:
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _on_interrupt(number: int, frame: FrameType | None) -> None:
    """Note a Ctrl-C inside a block; raise the second one, and any outside, but never in the middle of an import."""
    global _presses
    raised = _limit.get() is OUTSIDE or _presses > 0
    if raised and _importing(frame):
        come_again()
        return
    _presses += 1
    if raised:
        raise KeyboardInterrupt


def come_again() -> None:
    """Have a Ctrl-C that came at a wrong moment come again a moment later."""
    timer = threading.Timer(AGAIN, _thread.interrupt_main)
    timer.daemon = True
    timer.start()


def pressed_twice() -> bool:
    """Whether Ctrl-C was pressed again before it was answered."""
    return _presses > 1


def _importing(frame: FrameType | None) -> bool:
    """Whether a module is being loaded: torn apart, one written in C may take the process with it."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
