"""A CPU device of our own that works with one thread.

Our programs are chains of short operations. XLA halves each of them between the threads of its CPU client, and handing
over costs more than it saves. The number of threads belongs to a client, and the usual one is the user's too; so ours
run on a second client, and the rest of the process keeps its threads.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import jax

THREADS = "PJRT_NPROC"
"""The setting that a client reads when it is made; where the user has set it, there is no second client."""


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Run what is inside on our own device, where there is one."""
    device = own_device()
    if device is None:
        yield
        return
    with jax.default_device(device):
        yield


def own_device() -> Any:
    """The device with one thread; None on GPUs, on several devices, or where threads or a device were chosen.

    Example:
        >>> own_device() in jax.devices()
        False
    """
    settings: Any = jax.config
    chosen = settings.jax_default_device is not None and settings.jax_default_device is not _made()
    return None if chosen else _made()


@cache
def _made() -> Any:
    if os.environ.get(THREADS) or jax.default_backend() != "cpu" or jax.device_count() > 1:
        return None
    try:
        from jaxlib.xla_client import make_cpu_client

        os.environ[THREADS] = "1"
        client: Any = make_cpu_client()
        return client.devices()[0]
    except Exception:  # jaxlib does not promise this function: without it, both share their threads
        return None
    finally:
        os.environ.pop(THREADS, None)
