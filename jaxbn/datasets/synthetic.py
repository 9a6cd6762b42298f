"""Synthetic data whose truth is known: the paper's two examples and two of our own.

The parents P1 and P2 (A in ``appendix_a``) are fair coins with the values 1 and 2; X (B) is continuous given them.
"""

from __future__ import annotations

from operator import index

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.later import pd

# Ends of the uniform distribution of X, [P1 - 1, P2 - 1] (the paper's table of distributions in section 5.5).
_TABLE6_LOW = np.array([[2.0, 1.0], [4.0, 4.5]])
_TABLE6_HIGH = np.array([[6.0, 3.0], [5.0, 7.5]])


def table6(n: int, seed: int = 0) -> pd.DataFrame:
    """X uniform on [2, 6], [1, 3], [4, 5], [4.5, 7.5] for (P1, P2) = (1, 1), (1, 2), (2, 1), (2, 2).

    The best cuts of X are 2, 3, 4, 4.5, 5 and 6. Columns: P1 and P2 (int64), X (float64).

    Args:
        n: number of rows.
        seed: of the random numbers.

    Example:
        >>> table6(800).shape
        (800, 3)
    """
    rng = np.random.default_rng(seed)
    p1, p2 = _coin(rng, n), _coin(rng, n)
    x = rng.uniform(_TABLE6_LOW[p1 - 1, p2 - 1], _TABLE6_HIGH[p1 - 1, p2 - 1])
    return pd.DataFrame({"P1": p1, "P2": p2, "X": x})


def gauss(n: int, seed: int = 0) -> pd.DataFrame:
    """X normal with mean 2·P1 + P2 and standard deviation 1: classes without a sharp border; columns as in ``table6``.

    Example:
        >>> gauss(50_000).groupby(["P1", "P2"])["X"].mean().round(1).tolist()
        [3.0, 4.0, 5.0, 6.0]
    """
    rng = np.random.default_rng(seed)
    p1, p2 = _coin(rng, n), _coin(rng, n)
    return pd.DataFrame({"P1": p1, "P2": p2, "X": rng.normal(2.0 * p1 + p2)})


def indep(n: int, seed: int = 0) -> pd.DataFrame:
    """X standard normal, independent of P1 and P2: there is nothing to find; columns as in ``table6``.

    Example:
        >>> list(indep(10))
        ['P1', 'P2', 'X']
    """
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"P1": _coin(rng, n), "P2": _coin(rng, n), "X": rng.normal(size=n)})


def appendix_a(n: int, seed: int = 0) -> pd.DataFrame:
    """B uniform on [0, 1] where A is 1 and on [1, 2] where A is 2: uniform on the whole, so only A shows the cut at 1.

    Example:
        >>> data = appendix_a(100)
        >>> bool(((data["B"] > 1) == (data["A"] == 2)).all())
        True
    """
    rng = np.random.default_rng(seed)
    a = _coin(rng, n)
    return pd.DataFrame({"A": a, "B": rng.uniform(a - 1.0, a)})


def _coin(rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    try:
        size = index(n)
    except TypeError:
        size = -1
    if size < 1:
        raise ValueError(f"n must be a positive whole number of rows, got {n!r}")
    return rng.integers(1, 3, size)
