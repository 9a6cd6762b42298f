"""ruptures: KernelCPD (pruned, exact for its cost) on the class as indicator columns, in the order of the values.

Its cost is the sum of squared deviations of the indicators, its charge for a cut ln n: what the Bayesian information
criterion asks for four parameters of a variance of a quarter each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import ruptures
from common import Answer, serve, timed


def cuts(request: dict[str, Any]) -> Answer:
    arrays = np.load(request["data"])
    values, codes = arrays["values"], arrays["codes"]

    def call() -> list[float]:
        order = np.argsort(values, kind="stable")
        signal = np.eye(codes.max() + 1)[codes[order]]
        search = ruptures.KernelCPD(kernel="linear", min_size=1).fit(signal)
        ends = np.array(search.predict(pen=np.log(len(values)))[:-1], int)
        ordered = values[order]
        return ((ordered[ends - 1] + ordered[ends]) / 2).tolist()

    edges, seconds = timed(call)
    return {"edges": edges, **seconds}


serve({"cuts": cuts})
