"""Whether chains agree, and how many independent draws theirs are worth: R-hat and the effective sample size.

As in Gelman and others, *Bayesian Data Analysis* (third edition, section 11.4 and 11.5): chains are split in halves,
R-hat compares the variance between the halves with that within, and the effective sample size sums autocorrelations
over all halves up to the first negative pair (Geyer's rule).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def _halves(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each chain in two halves [2 · chains, draws // 2]; the middle draw of an odd number is left out."""
    half = values.shape[1] // 2
    return np.concatenate([values[:, :half], values[:, values.shape[1] - half :]])


def _variances(halves: NDArray[np.float64]) -> tuple[float, float]:
    """The mean variance within the halves, and the estimate of the variance of all."""
    n = halves.shape[1]
    within = float(halves.var(axis=1, ddof=1).mean())
    between = n * float(halves.mean(axis=1).var(ddof=1))
    return within, (n - 1) / n * within + between / n


def r_hat(values: NDArray[np.float64]) -> float:
    """Split R-hat of some chains [chains, draws]: near 1 where they agree; NaN where nothing varies, or draws are few.

    Example:
        >>> draws = np.random.default_rng(0).normal(size=(4, 100))
        >>> r_hat(draws) < 1.02, r_hat(draws + np.arange(4)[:, None]) > 1.2
        (True, True)
    """
    if values.shape[1] < 4:
        return float("nan")
    within, total = _variances(_halves(values))
    if within == 0:
        return float("nan") if total == 0 else float("inf")
    return float(np.sqrt(total / within))


def effective_size(values: NDArray[np.float64]) -> float:
    """How many independent draws the draws of some chains [chains, draws] are worth; NaN where nothing varies.

    Example:
        >>> steps = np.random.default_rng(0).normal(size=(4, 500))
        >>> bool(1500 < effective_size(steps) <= 2000), bool(effective_size(np.cumsum(steps, axis=1)) < 50)
        (True, True)
    """
    if values.shape[1] < 4:
        return float("nan")
    halves = _halves(values)
    m, n = halves.shape
    within, total = _variances(halves)
    if total == 0:
        return float("nan")
    centred = halves - halves.mean(axis=1, keepdims=True)
    # padded to twice the length, so that products of the two ends do not mix in
    size = 2 ** int(np.ceil(np.log2(2 * n)))
    power = np.abs(np.fft.rfft(centred, size, axis=1)) ** 2
    covariance = np.fft.irfft(power, size, axis=1)[:, :n].mean(axis=0) / n
    correlation = 1 - (within - covariance * n / (n - 1)) / total
    correlation[0] = 1.0
    pairs = correlation[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    # in a reversible chain these sums are positive and fall (Geyer): from the first negative one on it is noise
    negative = np.flatnonzero(pairs < 0)
    pairs = np.minimum.accumulate(pairs[: negative[0]] if len(negative) else pairs)
    return float(min(m * n / max(2 * pairs.sum() - 1, 1e-12), m * n))
