"""Several processes that make the same call: each does its share, and all of them get the whole result.

They are those of ``jax.distributed.initialize``. What they exchange goes through its key-value store, as bytes: there
is little of it, and a process that has died is noticed by the others in bounded time.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import jax
import numpy as np

JOIN_SECONDS = 300.0
"""How long the others may take to make the same call; ``JAXBN_JOIN_SECONDS`` overrules."""

LOST_SECONDS = 30.0
"""A process that has given no sign of life for so long has died; ``JAXBN_LOST_SECONDS`` overrules."""

PART_BYTES = 2**20
"""Longer messages go in parts."""

_calls = count()


class LostProcessError(RuntimeError):
    """Another process of a call has died, failed, or never made the call."""


@dataclass
class Team:
    """The processes of one call."""

    rank: int = 0
    size: int = 1
    _client: Any = None
    _name: str = ""
    _beats: dict[int, tuple[str, float]] = field(default_factory=dict)  # last sign of life, and when it was seen
    _round: int = 0

    def share(self, count: int) -> range:
        """The items that this process works on: every `size`-th."""
        return range(self.rank, count, self.size)

    def exchange(self, message: bytes) -> list[bytes]:
        """Send a message to all, and receive that of every process, by rank.

        Raises:
            LostProcessError: another process has died or failed.
        """
        if self.size == 1:
            return [message]
        parts = [message[i : i + PART_BYTES] for i in range(0, len(message), PART_BYTES)]
        for i, part in enumerate(parts):
            self._client.key_value_set_bytes(self._key(self.rank, f"part{i}"), part)
        self._client.key_value_set(self._key(self.rank, "parts"), str(len(parts)))
        received = [message if rank == self.rank else self._receive(rank) for rank in range(self.size)]
        self._round += 1
        if self._round > 1:  # all have read the round before, or they would not have sent this one
            self._client.key_value_delete(f"{self._name}/{self._round - 2}/{self.rank}")
        return received

    def _key(self, rank: int, what: str) -> str:
        return f"{self._name}/{self._round}/{rank}/{what}"

    def _receive(self, rank: int) -> bytes:
        n_parts = int(self._wait(rank, self._key(rank, "parts")))
        parts = [self._client.blocking_key_value_get_bytes(self._key(rank, f"part{i}"), 60_000) for i in range(n_parts)]
        return b"".join(parts)

    def _wait(self, rank: int, key: str) -> str:
        """The value of a key of another process, as long as that one is alive."""
        while True:
            try:
                return str(self._client.blocking_key_value_get(key, 500))
            except jax.errors.JaxRuntimeError as error:
                if "DEADLINE_EXCEEDED" not in str(error):
                    raise LostProcessError(
                        f"process {self.rank} has lost the others of {self.size}: {_first_line(error)}; "
                        "start all of them again"
                    ) from None
            self._check_alive(rank)

    def _check_alive(self, rank: int) -> None:
        failure = self._look_up(f"{self._name}/failed/{rank}")
        if failure is not None:
            raise LostProcessError(f"process {rank} of {self.size} has failed: {failure}")
        beat, now = self._look_up(f"{self._name}/beat/{rank}") or "", time.monotonic()
        known, seen = self._beats.setdefault(rank, ("", now))
        if beat != known:
            self._beats[rank] = (beat, now)
        elif not beat and now - seen > _seconds("JAXBN_JOIN_SECONDS", JOIN_SECONDS):
            raise LostProcessError(
                f"process {rank} of {self.size} has not made this call within {now - seen:.0f} s; under "
                "jax.distributed every process must make the same calls in the same order"
            )
        elif beat and now - seen > _seconds("JAXBN_LOST_SECONDS", LOST_SECONDS):
            raise LostProcessError(
                f"process {rank} of {self.size} has died: no sign of life for {now - seen:.0f} s; start all processes "
                "again (with a checkpoint, what was finished is kept)"
            )

    def _look_up(self, key: str) -> str | None:
        try:
            return str(self._client.key_value_try_get(key))
        except jax.errors.JaxRuntimeError:
            return None


def gathered(message: bytes) -> list[bytes]:
    """The messages of all processes, by rank; one alone unless ``jax.distributed.initialize`` was called."""
    if not jax.distributed.is_initialized() or jax.process_count() == 1:
        return [message]
    from jax.experimental.multihost_utils import process_allgather

    lengths = np.asarray(process_allgather(np.array([len(message)]))).ravel()
    padded = np.zeros(int(lengths.max()), np.uint8)
    padded[: len(message)] = np.frombuffer(message, np.uint8)
    every = np.asarray(process_allgather(padded)).reshape(len(lengths), -1)
    return [row[:length].tobytes() for row, length in zip(every, lengths, strict=True)]


@contextmanager
def team(call: str) -> Iterator[Team]:
    """The processes that make this call together; one alone unless ``jax.distributed.initialize`` was called.

    Args:
        call: a description of the call, the same in every process: a difference is an error.
    """
    if not jax.distributed.is_initialized() or jax.process_count() == 1:
        yield Team()
        return
    from jax._src.distributed import global_state  # the store has no public name

    mates = Team(jax.process_index(), jax.process_count(), global_state.client, f"jaxbn/{next(_calls)}")
    stop = threading.Event()
    pulse = threading.Thread(target=_beat, args=(mates, stop), daemon=True)
    pulse.start()
    try:
        calls = mates.exchange(call.encode())
        for rank, other in enumerate(calls):
            if other != call.encode():
                raise ValueError(
                    f"process {rank} makes a different call from process {mates.rank}: {other.decode()}, not {call}; "
                    "give every process the same data and arguments"
                )
        yield mates
    except BaseException as error:
        _tell_failure(mates, error)
        raise
    finally:
        stop.set()
        pulse.join()


def _beat(mates: Team, stop: threading.Event) -> None:
    """Give signs of life until told to stop."""
    for number in count(1):
        try:
            mates._client.key_value_set(f"{mates._name}/beat/{mates.rank}", str(number), allow_overwrite=True)
        except jax.errors.JaxRuntimeError:
            return
        if stop.wait(1.0):
            return


def _tell_failure(mates: Team, error: BaseException) -> None:
    text = f"{type(error).__name__}: {_first_line(error)}"
    try:
        mates._client.key_value_set(f"{mates._name}/failed/{mates.rank}", text, allow_overwrite=True)
    except jax.errors.JaxRuntimeError:  # the store is gone, and with it the others
        return


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0]


def _seconds(variable: str, default: float) -> float:
    return float(os.environ.get(variable, default))
