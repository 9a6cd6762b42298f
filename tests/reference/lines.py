"""The regression of scores by its definition: integrals over coefficients and scale, on a grid.

- A row's score y is normal around x·b with variance σ²; of a score that is known in part there are its mean and its
  mean square, and the log-likelihood is the expected one.
- b is normal around the prior's mean with variance σ² / rows; σ² is inverse gamma.
"""

from __future__ import annotations

import itertools
import math

import numpy as np


def log_evidence(x, y, squares, mean, rows, shape, rate, points=41, reach=10.0) -> float:
    """ln ∫∫ p(y | b, σ) p(b | σ) p(σ²) db dσ², by the trapezoidal rule over ln σ² and, scaled by σ, over b."""
    n, size = x.shape
    stacked = np.vstack([x, math.sqrt(rows) * np.eye(size)])
    centre = np.linalg.lstsq(stacked, np.append(y, math.sqrt(rows) * mean), rcond=None)[0]
    turn = np.linalg.inv(np.linalg.qr(stacked)[1])
    axis = np.linspace(-reach, reach, points)
    steps = np.array(list(itertools.product(axis, repeat=size))) @ turn.T
    cell = (axis[1] - axis[0]) ** size * abs(np.linalg.det(turn))
    logs = []
    variances = np.linspace(-12, 40, 1200)
    for v in variances:
        b = centre + math.exp(v / 2) * steps
        fitted = b @ x.T
        errors = squares.sum() - 2 * fitted @ y + (fitted**2).sum(axis=1)
        away = rows * ((b - mean) ** 2).sum(axis=1)
        log = -0.5 * (errors + away) / math.exp(v) - 0.5 * n * (math.log(2 * math.pi) + v)
        log += size / 2 * (math.log(rows) - math.log(2 * math.pi) - v)
        top = log.max()
        inner = top + math.log(np.exp(log - top).sum() * cell) + size * v / 2
        prior = shape * math.log(rate) - math.lgamma(shape) - (shape + 1) * v - rate * math.exp(-v)
        logs.append(inner + prior + v)  # dσ² = σ² d ln σ²
    top = max(logs)
    return top + math.log(np.exp(np.array(logs) - top).sum() * (variances[1] - variances[0]))


def moments(low: float, high: float, points: int = 200_000) -> tuple[float, float]:
    """Mean and mean square of a standard normal number between two of its quantiles, by the middle of many parts."""
    from scipy.stats import norm

    z = norm.ppf(low + (high - low) * (np.arange(points) + 0.5) / points)
    return float(z.mean()), float((z**2).mean())
