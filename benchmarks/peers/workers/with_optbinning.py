"""optbinning: MulticlassOptimalBinning, a constraint program over the bins of a decision tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import Answer, serve, timed
from optbinning import MulticlassOptimalBinning


def cuts(request: dict[str, Any]) -> Answer:
    arrays = np.load(request["data"])
    values, codes = arrays["values"], arrays["codes"]

    def call() -> MulticlassOptimalBinning:
        return MulticlassOptimalBinning(name="x").fit(values, codes)

    made, seconds = timed(call)
    return {"edges": np.asarray(made.splits, float).tolist(), "note": f"solver: {made.status}", **seconds}


serve({"cuts": cuts})
