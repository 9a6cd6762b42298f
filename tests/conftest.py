"""What all tests share: compiled programs are kept on disk for the session, for the processes that tests start too."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest

CACHE = "JAX_COMPILATION_CACHE_DIR"


def pytest_configure(config: pytest.Config) -> None:
    """Set before JAX is imported, and inherited by subprocesses and by the workers of pytest-xdist."""
    if CACHE not in os.environ:
        folder = os.environ[CACHE] = tempfile.mkdtemp(prefix="jaxbn-tests-")
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
