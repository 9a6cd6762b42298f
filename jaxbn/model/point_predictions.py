"""Numbers for a continuous target instead of its interval: the mean, the median or quantiles of its posterior."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.shapes.inside import InsideBins
from jaxbn.cuts.shapes.lean import Lean
from jaxbn.inputs.checks import ArgumentError
from jaxbn.inputs.units import NUMBER, Unit, from_numbers

if TYPE_CHECKING:
    import pandas as pd

Returns = str | float | Sequence[float]
"""What ``predict`` returns: "state", "mean", "median", a quantile or several."""


def points(
    inside: InsideBins | None, chances: pd.DataFrame, target: str, returns: Returns, unit: Unit = NUMBER,
    lean: Lean | None = None,
) -> pd.Series | pd.DataFrame:  # fmt: skip
    """Means or quantiles of a continuous target, from what lies inside its bins and their chances [rows, bins]."""
    import pandas as pd

    if inside is None:
        raise ArgumentError(
            "returns",
            f"is {returns!r}, but {target!r} is discrete and has no mean or quantiles; leave it out",
            value=returns,
        )
    if isinstance(returns, str) and returns == "mean":
        found = means(inside, chances.to_numpy(), lean)
        return pd.Series(from_numbers(found, unit), index=chances.index, name=target)
    levels = [0.5] if isinstance(returns, str) else _quantile_levels(returns)
    found = from_numbers(quantiles(inside, chances.to_numpy(), levels, lean), unit)
    if isinstance(returns, str | numbers.Real):
        return pd.Series(found[:, 0], index=chances.index, name=target)
    return pd.DataFrame(found, index=chances.index, columns=pd.Index(levels, name=target))


def check_returns(returns: Returns) -> None:
    """Refuse what ``predict`` cannot return."""
    if isinstance(returns, str):
        if returns not in ("state", "mean", "median"):
            raise ArgumentError(
                "returns", f"must be 'state', 'mean', 'median', a quantile or several, got {returns!r}", value=returns
            )
    else:
        _quantile_levels(returns)


def means(inside: InsideBins, chances: NDArray[np.float64], lean: Lean | None = None) -> NDArray[np.float64]:
    """Means of a continuous variable [rows], from the chances of its bins and how values lean in them."""
    if lean is None:
        return np.asarray(chances @ inside.means)
    return np.asarray((chances * inside.means_by(lean)).sum(axis=1))


def quantiles(
    inside: InsideBins, chances: NDArray[np.float64], levels: Sequence[float], lean: Lean | None = None
) -> NDArray[np.float64]:
    """Quantiles of a continuous variable, [rows, levels].

    Args:
        inside: its bins.
        chances: probability of each bin, [rows, bins].
        levels: shares of the probability that lie below, between 0 and 1.
        lean: how values lean in the bins, [rows, bins].

    Example:
        >>> bins = InsideBins(np.array([0.0, 1.0, 3.0]))
        >>> quantiles(bins, np.array([[0.5, 0.5], [0.2, 0.8]]), [0.1, 0.5, 0.75]).tolist()
        [[0.2, 1.0, 2.0], [0.5, 1.75, 2.375]]
    """
    ends = np.cumsum(chances, axis=1)
    found = np.empty((len(chances), len(levels)))
    for k, level in enumerate(levels):
        wanted = level * ends[:, -1:]
        place = np.minimum((ends < wanted).sum(axis=1), chances.shape[1] - 1)[:, None]
        own = np.take_along_axis(chances, place, 1)
        below = np.take_along_axis(ends, place, 1) - own
        share = np.divide(wanted - below, own, out=np.zeros_like(below), where=own > 0)
        share = np.clip(share, 0.0, 1.0)
        if lean is not None:
            share = lean.take(np.arange(len(place))[:, None], place).at(share)
        found[:, k] = inside.at(place[:, 0], share[:, 0])
    return found


def _quantile_levels(returns: Any) -> list[float]:
    levels = [returns] if isinstance(returns, numbers.Real) else list(returns)
    for level in levels:
        if isinstance(level, bool) or not isinstance(level, numbers.Real) or not 0 <= float(level) <= 1:
            raise ArgumentError("returns", f"has the quantile {level!r}, which is not between 0 and 1", value=returns)
    if not levels:
        raise ArgumentError("returns", "is empty; name at least one quantile between 0 and 1", value=returns)
    return [float(level) for level in levels]
