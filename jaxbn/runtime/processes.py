"""Several processes that make the same call: each does its share, and all of them get the whole result.

They are those of ``jax.distributed.initialize``, which ends all of them when one has died. If one raises an error,
the others hear of it at their next exchange.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import jax
import numpy as np

SAYS, FAILED = b"+", b"-"
"""The first byte of a message: what a process has to say, or why it has failed."""


class LostProcessError(RuntimeError):
    """Another process of a call has failed."""


def several() -> bool:
    """Whether several processes make each call."""
    return jax.distributed.is_initialized() and jax.process_count() > 1


def gathered(message: bytes) -> list[bytes]:
    """The messages of all processes, by rank; one alone unless ``jax.distributed.initialize`` was called."""
    if not several():
        return [message]
    from jax.experimental.multihost_utils import process_allgather

    # arrays are gathered, and must have one shape: lengths first, then the messages, filled up with zeros
    lengths = np.asarray(process_allgather(np.array([len(message)], np.int32))).ravel()
    padded = np.zeros(int(lengths.max()), np.uint8)
    padded[: len(message)] = np.frombuffer(message, np.uint8)
    every = np.asarray(process_allgather(padded)).reshape(len(lengths), -1)
    return [row[:length].tobytes() for row, length in zip(every, lengths, strict=True)]


@dataclass(frozen=True)
class Team:
    """The processes of one call."""

    rank: int = 0
    size: int = 1

    def share(self, count: int) -> range:
        """The items that this process works on: every `size`-th."""
        return range(self.rank, count, self.size)

    def exchange(self, message: bytes) -> list[bytes]:
        """Send a message to all, and receive that of every process, by rank; an error if one has failed."""
        found = gathered(SAYS + message)
        for rank, other in enumerate(found):
            if other.startswith(FAILED):
                raise LostProcessError(f"process {rank} of {self.size} has failed: {other[1:].decode()}")
        return [other[1:] for other in found]


@contextmanager
def team(describe: Callable[[], str]) -> Iterator[Team]:
    """The processes that make this call together; one alone unless ``jax.distributed.initialize`` was called.

    `describe` describes the call, the same in every process: a difference is an error. One process alone is not asked:
    it would take the fingerprint of a whole table.
    """
    if not several():
        yield Team()
        return
    mates, call = Team(jax.process_index(), jax.process_count()), describe()
    for rank, other in enumerate(mates.exchange(call.encode())):
        if other != call.encode():
            raise ValueError(
                f"process {rank} makes a different call from process {mates.rank}: {other.decode()}, not {call}; "
                "give every process the same data and arguments"
            )
    try:
        yield mates
        mates.exchange(b"")  # so that one that fails is heard by those that have done their share
    except LostProcessError:
        raise
    except BaseException as error:
        gathered(FAILED + f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}".encode())
        raise
