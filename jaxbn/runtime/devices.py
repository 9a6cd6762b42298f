"""Which devices there are, and how much a batch may take on each; `placement` says what goes where.

Processes (`jaxbn.runtime.processes`) share the work before it comes here: a batch uses only the devices of this one.
"""

from __future__ import annotations

import os
from typing import Any

import jax

from jaxbn.runtime.shapes import DENSE_ROWS

CPU_THREADS = "PJRT_NPROC"
"""The environment variable from which JAX's CPU client takes its number of threads."""

CPU_BYTES = 32 * 2**20
"""Memory that a batch may take on a CPU, where larger ones are slower: they do not fit in the caches."""

UNKNOWN_BYTES = 2**30
"""Memory that a batch may take on a device that does not say how much it has."""

MEMORY_SHARE = 0.5
"""The share of a device's memory that a batch may take."""

MOST_BYTES = 2**33
"""Memory that a batch may take on any device: the programs count places in 32 bits."""


def one_thread_for_many_rows(n_rows: int) -> None:
    """Let JAX's CPU client use one thread if the rows are too many for batches; to be called before it starts.

    The pruned program is a chain of operations of a few microseconds each. Handing halves of them to another thread
    takes longer than they do, and where threads share a core the one that waits slows the other down. Whoever owns the
    process decides: the command line does, and ``PJRT_NPROC`` in the environment overrules.
    """
    if n_rows > DENSE_ROWS:
        os.environ.setdefault(CPU_THREADS, "1")


def devices_in_use() -> tuple[jax.Device, ...]:
    """The device that JAX was told to use by default, else all devices of this process."""
    told: Any = jax.config.jax_default_device  # type: ignore[attr-defined]
    if told is None:
        return tuple(jax.local_devices())
    return (jax.local_devices(backend=told)[0] if isinstance(told, str) else told,)


def batch_bytes() -> int:
    """Memory a batch may take on each device; ``JAXBN_BATCH_BYTES`` overrules."""
    given = os.environ.get("JAXBN_BATCH_BYTES")
    if given is not None:
        if not given.isdecimal() or int(given) == 0:
            raise ValueError(f"JAXBN_BATCH_BYTES must be a whole number of bytes above zero, got {given!r}")
        return min(int(given), MOST_BYTES)
    device = jax.local_devices()[0]
    if device.platform == "cpu":
        return CPU_BYTES
    known = (device.memory_stats() or {}).get("bytes_limit")
    return UNKNOWN_BYTES if known is None else min(int(MEMORY_SHARE * known), MOST_BYTES)
