"""Which programs are compiled."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import jax


class _Counter(logging.Handler):
    """Names of the programs that were compiled."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if message.startswith("Finished XLA compilation of "):
            self.names.append(message.split()[4])


@contextmanager
def compilations() -> Iterator[list[str]]:
    """What is compiled meanwhile, starting with nothing compiled."""
    jax.clear_caches()
    logger, counter = logging.getLogger("jax"), _Counter()
    logger.addHandler(counter)
    try:
        with jax.log_compiles():
            yield counter.names
    finally:
        logger.removeHandler(counter)
