"""Lines through numbers, with the prior of their weights chosen by the evidence (MacKay 1992)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
DUST = 1e-12  # what rounding makes of numbers that are equal, relative to them
STEPS = 100  # of the evidence's fixed point, which needs about ten


class Line(NamedTuple):
    """A linear function of features that are centred and scaled first."""

    center: Array  # [features]
    scale: Array  # [features]
    weights: Array  # [features]
    constant: float
    low: float  # the smallest and largest number seen; answers stay between them
    high: float

    def __call__(self, features: Array) -> Array:
        """The function's values, [rows]."""
        found = (features - self.center) / self.scale @ self.weights + self.constant
        return np.clip(found, self.low, self.high)


def fit_line(features: Array, target: Array) -> tuple[Line, Array]:
    """Bayesian ridge regression: the prior's and the noise's precision by the fixed point of the evidence.

    Returns:
        The line, and for each row what the line of all other rows, with the same precisions, says of it.

    Example:
        >>> x = np.arange(50.0)[:, None]
        >>> line, left_out = fit_line(x, 2 * x[:, 0] + 1)
        >>> line(np.array([[10.0], [20.5]])).round(3).tolist(), left_out[7].round(3).item()
        ([21.0, 42.0], 15.0)
    """
    center, scale = features.mean(axis=0), features.std(axis=0)
    constant = float(target.mean())
    varies = scale > DUST * np.abs(features).max(axis=0, initial=0.0)  # equal numbers may differ from their mean
    scale = np.where(varies, scale, 1.0)
    x, y = np.where(varies, features - center, 0.0) / scale, target - constant
    y = y if y.std() > DUST * np.abs(target).max() else np.zeros(len(y))
    values, vectors = np.linalg.eigh(x.T @ x)
    values = np.maximum(values, 0.0)
    along = vectors.T @ (x.T @ y)
    total, n = float(y @ y), len(y)
    noise, prior, weights = n / (total or 1.0), 1.0, np.zeros(len(values))
    for _ in range(STEPS):
        before = weights
        weights = noise * along / (noise * values + prior)
        used = float((noise * values / (noise * values + prior)).sum())  # effective number of weights
        rest = max(total - 2 * float(weights @ along) + float(values @ weights**2), 1e-12 * (total or 1.0))
        prior = used / max(float(weights @ weights), 1e-300) if used > 0 else prior
        noise = max(n - used, 1e-3) / rest
        if np.abs(weights - before).sum() <= 1e-6 * np.abs(weights).sum():
            break
    line = Line(center, scale, vectors @ weights, constant, float(target.min()), float(target.max()))
    along = x @ vectors
    share = 1 / n + (noise * along**2 / (noise * values + prior)).sum(axis=1)  # of the row in what is said of it
    left_out = target - (y - along @ weights) / np.maximum(1 - share, 1e-6)
    return line, np.clip(left_out, line.low, line.high)
