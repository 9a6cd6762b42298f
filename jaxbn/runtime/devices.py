"""Which devices there are, how much a batch may take on each, and which of them does what.

Dense work on counts goes to the accelerators; chains of short steps, loops whose length depends on the data and single
small problems go to a CPU, also where arrays land on an accelerator by default. A device that the user chose
(``jax.default_device``, ``JAX_PLATFORMS``) is obeyed.

Processes (`jaxbn.runtime.processes`) share the work before it comes here: a batch uses only the devices of this one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

AS_ACCELERATOR = "JAXBN_CPU_AS_ACCELERATOR"
"""Environment variable: if set, CPU devices are given the work of accelerators, as tests and models of GPUs want."""

CPU_BYTES = 32 * 2**20
"""Memory that a batch may take on a CPU, where larger ones are slower: they do not fit in the caches."""

UNKNOWN_BYTES = 2**30  # memory that a batch may take on a device that does not say how much it has
MEMORY_SHARE = 0.5  # the share of a device's memory that a batch may take
MOST_BYTES = 2**33  # memory that a batch may take on any device: the programs count places in 32 bits


def devices_in_use() -> tuple[jax.Device, ...]:
    """The device that JAX was told to use by default, else all devices of this process."""
    told: Any = jax.config.jax_default_device  # type: ignore[attr-defined]
    if told is None:
        return tuple(jax.local_devices())
    return (jax.local_devices(backend=told)[0] if isinstance(told, str) else told,)


def accelerators() -> tuple[Any, ...]:
    """The devices that dense work goes to; none if those in use are CPUs."""
    devices = devices_in_use()
    return devices if devices[0].platform != "cpu" or os.environ.get(AS_ACCELERATOR) else ()


def spread_over(devices: tuple[Any, ...], *axes: str) -> NamedSharding:
    """How an array lies on some devices: spread by its first axis where that is named, else whole on each."""
    return NamedSharding(Mesh(np.array(devices), ("problems",)), PartitionSpec(*axes))  # type: ignore[no-untyped-call]


def on_host() -> AbstractContextManager[Any]:
    """Inside, arrays land on a CPU device."""
    if devices_in_use()[0].platform == "cpu":
        return nullcontext()
    return jax.default_device(jax.local_devices(backend="cpu")[0])


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


@contextmanager
def double() -> Iterator[None]:
    """Costs in float64, and JAX otherwise as it is by default, whatever a program has switched on for its own arrays.

    Padding is infinite, counts meet floats, and programs are compiled: checks of infinities, strict promotion, a guard
    of transfers or the absence of ``jit`` would end them.
    """
    # entered around jitted calls, never inside of them, and restored on the way out: the caller's settings are the
    # caller's
    promotion = (jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"))
    checks = (jax.debug_infs(False), jax.debug_nans(False), jax.disable_jit(False))
    with ExitStack() as stack:
        for setting in (jax.enable_x64(True), jax.transfer_guard("allow"), *promotion, *checks):
            stack.enter_context(setting)
        yield
