"""Values for drawn bins: those of rows in the same bin whose other columns look alike.

A network says in which bin a missing value lies, and nothing about where in it. Two variables that depend on each other
do so within their bins as well; values that were drawn from a bin at random would blur that, and the next round would
find fewer bins and arcs. So the value is that of a row in the drawn bin for which a regression on the other columns
predicts nearly the same (predictive mean matching, Little 1988).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from jaxbn.model.imputing.scale import places
from jaxbn.runtime import limits

Values = Mapping[str, NDArray[np.float64]]

SWEEPS = 2
"""Times that every column is matched; the first time, missing values of its neighbours come from their bins alone."""

RIDGE = 1e-3
"""Weight of the penalty of the regression, for each row."""

MOST_ROWS = 10**5
"""Rows that a regression is fitted to, about: more of them would not change it."""


def matched_donors(
    target: NDArray[np.float64],
    predictors: Sequence[NDArray[np.float64]],
    known: NDArray[np.int32],
    drawn: NDArray[np.int32],
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """For each row that lacks the target, a row in the drawn bin for which nearly the same value is predicted.

    Args:
        target: [n], NaN where missing.
        predictors: [n] each, complete.
        known: [n], the bin of the target, -1 where missing.
        drawn: [n], the same, with drawn bins.
        rng: which of the nearest two is taken.

    Returns:
        Rows [holes].
    """
    has = known >= 0
    guess = predicted(target, predictors, has, np.arange(len(target)))
    everyone, holes = np.flatnonzero(has), np.flatnonzero(~has)
    everyone = everyone[np.argsort(guess[everyone], kind="stable")]
    # one search for all bins: donors have ranks by prediction, and the ranks of a bin follow those of the bin before
    order = np.argsort(known[everyone].astype(np.int16 if drawn.max() < 2**15 else np.int32), kind="stable")
    donors = everyone[order]
    bins = drawn[holes]
    ends = np.searchsorted(known[donors], np.arange(int(drawn.max()) + 2))  # where the donors of each bin begin
    rank = places(guess[everyone], guess[holes])
    place = places(known[donors] * np.int64(len(known)) + order, bins * np.int64(len(known)) + rank)
    place = place - rng.integers(0, 2, len(holes))  # the next one above, or the next one below
    return np.asarray(donors[np.clip(place, ends[bins], ends[bins + 1] - 1)], np.intp)


def nearest_values(values: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of some values, which are distinct and ascending, the nearest to each wanted one.

    Example:
        >>> nearest_values(np.array([0.0, 2.0, 4.0]), np.array([1.5, 9.0])).tolist()
        [2.0, 4.0]
    """
    above = np.clip(places(values, wanted), min(1, len(values) - 1), len(values) - 1)
    below = np.maximum(above - 1, 0)
    return np.asarray(np.where(wanted - values[below] <= values[above] - wanted, values[below], values[above]))


def predicted(
    target: NDArray[np.float64],
    predictors: Sequence[NDArray[np.float64]],
    has: NDArray[np.bool_],
    rows: NDArray[np.intp],
) -> NDArray[np.float64]:
    """A linear prediction of the target in some rows, from those that have it: of very many of them, from a part.

    Example:
        >>> x = np.arange(6.0)
        >>> predicted(2 * x, [x], x != 3, np.array([3])).round(1).tolist()
        [6.0]
    """
    limits.check()
    some = np.flatnonzero(has)
    some = some[:: -(-len(some) // MOST_ROWS)]
    design, used = [np.ones(len(some))], []
    for each in predictors:
        sample = each[some]
        center, scale = sample.mean(), sample.std()
        if scale > 0:
            design.append((sample - center) / scale)
            used.append((each, center, scale))
    matrix = np.stack(design, axis=1)
    penalty = RIDGE * len(some) * np.diag(np.arange(len(design)) > 0)
    weights = np.linalg.solve(matrix.T @ matrix + penalty + 1e-12 * np.eye(len(design)), matrix.T @ target[some])
    found = np.full(len(rows), weights[0])
    for weight, (each, center, scale) in zip(weights[1:], used, strict=True):
        found += weight / scale * (each[rows] - center)
    return found
