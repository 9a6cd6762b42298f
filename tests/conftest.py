"""What all tests share: compiled programs are kept on disk for the session, for the processes that tests start too."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator

import pytest

CACHE = "JAX_COMPILATION_CACHE_DIR"
OWN = None if CACHE in os.environ else tempfile.mkdtemp(prefix="jaxbn-tests-")
"""The folder of this session; none where there is one already, as in the workers of pytest-xdist."""

# JAX reads these when it is imported, which the conftest.py of a room may do before pytest is configured
os.environ.setdefault(CACHE, OWN or "")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Programs are not kept from one session to the next: a test must not pass with what another version compiled."""
    if OWN is not None:
        shutil.rmtree(OWN, ignore_errors=True)


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without workers, which know nothing of the functions that a test replaces; tests of workers set their own."""
    from jaxbn.runtime import workers

    monkeypatch.setattr(workers, "START_UP", 1e9)
    monkeypatch.setattr(workers, "_missed", workers._Missed())


@pytest.fixture(autouse=True)
def _interrupts_raise() -> Iterator[None]:
    """As in a terminal: a shell that starts the tests in the background has them ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
