"""Work ends at its time limit and by Ctrl-C: what is inside is not torn apart, and all of it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jaxbn.runtime import limits
from jaxbn.runtime.deprecated import old_keywords

ROOT = Path(__file__).parents[2]


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_waits_for_a_check() -> None:
    steps = []

    @limits.within()
    def work() -> None:
        interrupt()
        steps.append("not torn apart")
        limits.check()
        steps.append("never reached")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["not torn apart"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_time_that_is_over_without_a_result_is_a_time_out_and_no_interrupt() -> None:
    with pytest.raises(TimeoutError, match="over before there was a result"), limits.within(0.0), limits.within():
        limits.check()


def test_one_that_meets_no_check_is_raised_at_the_end() -> None:
    def work() -> None:
        with limits.within():
            with limits.within():
                interrupt()
            steps.append("the outer block goes on")

    steps: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["the outer block goes on"]


def test_a_second_interrupt_is_raised_at_once_and_not_caught() -> None:
    steps = []

    def work() -> None:
        with limits.within(), limits.ending_early():
            interrupt()
            interrupt()
            steps.append("never reached")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == []


def test_an_inner_call_that_keeps_its_result_does_not_hide_it_from_the_outer_one() -> None:
    @limits.within()
    def inner() -> str:
        with limits.ending_early():
            interrupt()
            limits.check()
        limits.answered("the best so far")
        return "result"

    @old_keywords({}, {})  # as all public functions that answer are
    @limits.within()
    def outer() -> list[str]:
        found = []
        with limits.ending_early() as ending:
            for _ in range(3):
                found.append(inner())
                limits.check()
        assert ending.interrupted
        limits.answered("these are some")
        return found

    with pytest.warns(limits.InterruptedWarning, match="these are some") as caught:
        assert outer() == ["result"]
    assert [(str(warning.message), warning.filename) for warning in caught] == [
        ("interrupted: these are some", __file__)
    ]


def test_a_result_may_be_put_together_after_the_end() -> None:
    with limits.within(0.0):
        with limits.ending_early() as ending:
            limits.check()
        assert limits.over()
        with limits.grace():
            limits.check()
    assert (ending.early, ending.interrupted) == (True, False)


def test_an_inner_limit_ends_no_later_than_the_outer_one() -> None:
    with limits.within(0.0), limits.within(60.0):
        assert limits.over()
    with limits.within(60.0), limits.within(0.0):
        assert limits.over()
    assert not limits.over()


def test_an_error_is_not_hidden() -> None:
    with pytest.raises(ValueError, match="of its own"), limits.within(), limits.ending_early():
        raise ValueError("of its own")


def test_a_handler_of_the_program_stays() -> None:
    seen = []
    old = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with limits.within():
            interrupt()
            limits.check()
    finally:
        signal.signal(signal.SIGINT, old)
    assert seen == [signal.SIGINT]


def test_other_threads_are_left_alone() -> None:
    failures = []

    def work() -> None:
        try:
            with limits.within(60.0):
                limits.check()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert failures == []


SLOW_IMPORT = """
import os, signal, time
signal_now = lambda: os.kill(os.getpid(), signal.SIGINT)
signal_now()
time.sleep(0.2)
whole = True
"""


def test_an_import_is_not_torn_apart(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW_IMPORT)
    program = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from jaxbn.runtime import limits
with limits.listening():
    try:
        import slow
        time.sleep(10)
    except KeyboardInterrupt:
        print(sys.modules["slow"].whole)
"""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout == "True\n", done.stderr


AT_AN_IMPORT = """
import os, signal, sys

class Press:
    def find_spec(self, name, path=None, target=None):
        if name == "jaxlib._jax":
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Press())
import jaxbn
try:
    jaxbn.learn({"a": [0, 1] * 9, "b": [0, 1] * 9}, progress=False)
except KeyboardInterrupt:
    pass
print(jaxbn.learn({"a": [0, 1] * 9, "b": [0, 1] * 9}, progress=False).names)
"""


def test_the_first_use_of_a_name_is_not_torn_apart() -> None:
    """Ctrl-C in the middle of the import of JAX left half of it, which could not be imported again."""
    done = subprocess.run(
        [sys.executable, "-c", AT_AN_IMPORT], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout == "('a', 'b')\n", done.stderr
