"""Unsupervised cuts, from a variable's own values alone: baselines for comparison."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.binning import Binning
from jaxbn.cuts.sorted_values import Ordered, sort_values
from jaxbn.inputs.checks import ArgumentError

MARGINAL_METHODS = ("equal_width", "equal_frequency", "bayesian_blocks")
WITH_BINS = ("equal_width", "equal_frequency")
"""Methods that take the number of bins as an option."""


def marginal_binning(values: NDArray[np.float64], method: str, n_bins: int) -> Binning:
    """Cut a variable without regard to the others, by one of ``MARGINAL_METHODS``.

    Repeated values may leave fewer bins than wanted, and ``"bayesian_blocks"`` finds its own number.
    """
    if method == "equal_width":
        return equal_width_binning(values, n_bins)
    if method == "equal_frequency":
        return equal_frequency_binning(sort_values(values), n_bins)
    lower, upper = float(values.min()), float(values.max())
    return Binning(_bayesian_blocks(values), lower=lower, upper=upper, method="bayesian blocks")


def check_installed(method: str) -> None:
    """Refuse Bayesian Blocks where astropy is not installed, before anything is computed."""
    if method == "bayesian_blocks":
        try:
            import astropy.stats  # noqa: F401
        except ImportError:
            raise ArgumentError(
                "method",
                "'bayesian_blocks' is computed by astropy, which is not installed; install it with "
                "`pip install astropy`, or choose another method",
            ) from None


def equal_frequency_binning(ordered: Ordered, n_bins: int) -> Binning:
    """Cuts after the values at the ranks n/k, 2n/k, …, halfway to the next larger value as for the other methods."""
    values = ordered.values
    n = len(values)
    ranks = -(-np.arange(1, n_bins) * n // n_bins) - 1  # ceil(i n / k) - 1
    last_of_value = np.flatnonzero(ordered.can_cut)
    found = np.searchsorted(last_of_value, np.maximum(ranks, 0))
    rows = last_of_value[np.unique(found[found < len(last_of_value)])]
    return Binning(ordered.edges(rows), lower=float(values[0]), upper=float(values[-1]), method="equal frequency")


def _bayesian_blocks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Interior edges of astropy's Bayesian Blocks (Scargle et al. 2013), with its default prior."""
    from astropy.stats import bayesian_blocks

    if values.min() == values.max():
        return np.empty(0)
    edges = np.unique(np.asarray(bayesian_blocks(values), np.float64)[1:-1])
    return edges[(edges > values.min()) & (edges <= values.max())]


def equal_width_codes(values: NDArray[np.float64], k: int) -> NDArray[np.int32]:
    """Code min(floor((x - min) / ((max - min) / k)), k - 1), in exactly this arithmetic: rounded edges differ."""
    low, high = values.min(), values.max()
    with np.errstate(over="ignore"):
        width = (high - low) / k
    if not np.isfinite(width):
        return equal_width_codes(values / 4, k)
    if width == 0:
        return np.zeros(len(values), np.int32)
    return np.minimum(np.floor((values - low) / width), k - 1).astype(np.int32)


def equal_width_binning(values: NDArray[np.float64], k: int) -> Binning:
    """Edges min + (max - min) / k · i; fewer where floats run out between them."""
    low, high = float(values.min()), float(values.max())
    edges = _edges(low, high, k) if math.isfinite(high - low) else 4 * _edges(low / 4, high / 4, k)
    edges = np.unique(edges[(edges > low) & (edges <= high)])
    return Binning(edges, lower=low, upper=high, method="equal width")


def _edges(low: float, high: float, k: int) -> NDArray[np.float64]:
    return np.asarray(low + (high - low) / k * np.arange(1, k), np.float64)
