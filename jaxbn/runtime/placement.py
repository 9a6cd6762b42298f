"""Which device does what: the one place that decides.

Dense work on counts goes to the accelerators; chains of short steps, loops whose length depends on the data and single
small problems go to a CPU, also where arrays land on an accelerator by default. A device that the user chose
(``jax.default_device``, ``JAX_PLATFORMS``) is obeyed.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxbn.runtime.devices import devices_in_use

AS_ACCELERATOR = "JAXBN_CPU_AS_ACCELERATOR"
"""Environment variable: if set, CPU devices are given the work of accelerators, as tests and models of GPUs want."""


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
