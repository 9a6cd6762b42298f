"""The counter that suits the device in use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from jaxbn.counts.codes import Column
from jaxbn.counts.counter import Counter
from jaxbn.counts.device import DeviceCounter
from jaxbn.counts.host import HostCounter
from jaxbn.runtime.devices import devices_in_use


def best_counter(columns: Sequence[Column], weights: NDArray[np.integer] | None = None) -> Counter:
    """Columns counted where it is quickest: on the host if JAX uses a CPU, else on its devices."""
    kind = HostCounter if devices_in_use()[0].platform == "cpu" else DeviceCounter
    return kind(columns, weights)
