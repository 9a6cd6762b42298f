"""The counter that suits the device in use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from jaxbn.counts.codes import Column
from jaxbn.counts.counter import Counter
from jaxbn.counts.device import DeviceCounter
from jaxbn.counts.host import HostCounter
from jaxbn.runtime.placement import accelerators


def best_counter(columns: Sequence[Column], weights: NDArray[np.integer] | None = None) -> Counter:
    """Columns counted where it is quickest: on accelerators if there are any, else on the host."""
    return (DeviceCounter if accelerators() else HostCounter)(columns, weights)
