"""Ctrl-C while a program runs on a device."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from jaxbn.runtime.interrupts import uninterrupted


@pytest.fixture(autouse=True)
def _interrupts_raise() -> Iterator[None]:
    """As in a terminal: a shell that starts the tests in the background has them ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_waits_for_the_end_of_the_block() -> None:
    steps = []

    def work() -> None:
        with uninterrupted():
            interrupt()
            steps.append("computed to its end")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["computed to its end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_interrupt_is_let_through() -> None:
    steps = []

    def work() -> None:
        with uninterrupted():
            interrupt()
            interrupt()
            steps.append("never reached")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == []


def test_blocks_may_be_nested() -> None:
    steps = []

    def work() -> None:
        with uninterrupted():
            with uninterrupted():
                interrupt()
            steps.append("the outer block goes on")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["the outer block goes on"]


def test_without_an_interrupt_nothing_happens() -> None:
    with uninterrupted():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_is_not_hidden() -> None:
    with pytest.raises(ValueError, match="of its own"), uninterrupted():
        raise ValueError("of its own")


def test_a_handler_of_the_program_stays() -> None:
    seen = []
    old = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with uninterrupted():
            interrupt()
            assert seen == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, old)


def test_other_threads_are_left_alone() -> None:
    failures = []

    def work() -> None:
        try:
            with uninterrupted():
                pass
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert failures == []
