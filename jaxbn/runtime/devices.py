"""Which devices there are, how much a batch may take on each, and how a batch is spread over them.

Processes (`jaxbn.runtime.processes`) share the work before it comes here: a batch uses only the devices of this one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

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

RATIO = 8
"""Batches grow by this factor, so that few sizes are compiled."""


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


def batch_plan(
    count: int, bytes_each: int, n_devices: int | None = None, *, one_size: bool = False
) -> list[tuple[int, int]]:
    """Batches for a number of problems: how many are in each, and the size it is padded to.

    A batch fits in memory and has 1 or devices · 8^k places. It is never more than half padding; where all are to have
    one size, this holds for all of them together.

    Args:
        count: number of problems.
        bytes_each: memory of each.
        n_devices: devices that a batch is spread over; by default all of this process.
        one_size: whether one compiled program is worth more than a little padding.

    Example:
        >>> batch_plan(3, 2**60)  # one at a time where no more fit
        [(1, 1), (1, 1), (1, 1)]
    """
    budget = batch_bytes()
    n_devices = len(jax.local_devices()) if n_devices is None else n_devices
    sizes = [1]
    per_device = 1 if n_devices > 1 else RATIO
    while per_device * bytes_each <= budget and sizes[-1] < count:
        sizes.append(per_device * n_devices)
        per_device *= RATIO
    if one_size:
        size = max((size for size in sizes if size < 2 * count), default=1)
        return [(min(size, count - first), size) for first in range(0, count, size)]
    plan = []
    while count > 0:
        enough = next((size for size in sizes if size >= count), None)
        size = enough if enough is not None and 2 * count > enough else max(s for s in sizes if s <= count)
        plan.append((min(size, count), size))
        count -= min(size, count)
    return plan


def run_batch(program: Callable[..., Any], fields: Any, *shared: Any) -> Any:
    """Run a program on a batch whose size comes from `batch_plan`, spread over the devices.

    Args:
        program: takes and returns named tuples of arrays with a leading batch axis.
        fields: the batch.
        *shared: further arguments of the program, without a batch axis.

    Returns:
        The program's result; it may still be being computed.
    """
    devices = tuple(jax.local_devices())
    if len(devices) == 1 or len(fields[0]) == 1:
        return program(fields, *shared)
    spread, sharded = _sharded(devices, program, len(shared))
    return sharded(jax.device_put(fields, spread), *shared)


@lru_cache(maxsize=16)
def _sharded(
    devices: tuple[Any, ...], program: Callable[..., Any], n_shared: int
) -> tuple[NamedSharding, Callable[..., Any]]:
    """How a batch is spread over the devices, and the program in which each device solves its part."""
    mesh = Mesh(np.array(devices), ("batch",))
    whole, part = PartitionSpec(), PartitionSpec("batch")  # type: ignore[no-untyped-call]
    own_part = jax.shard_map(program, mesh=mesh, in_specs=(part, *[whole] * n_shared), out_specs=part, check_vma=False)
    return NamedSharding(mesh, part), jax.jit(own_part)
