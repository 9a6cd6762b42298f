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

from jaxbn.inputs.graph import Parents, markov_blanket

Values = Mapping[str, NDArray[np.float64]]

SWEEPS = 2
"""Times that every column is matched; the first time, missing values of its neighbours come from their bins alone."""

RIDGE = 1e-3
"""Weight of the penalty of the regression, for each row."""

MOST_PREDICTORS = 30
"""Columns that a value is predicted from, at most."""


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
    predicted = _predicted(target, predictors, has)
    donors = np.flatnonzero(has)
    donors = donors[np.lexsort((predicted[donors], known[donors]))]
    ends = np.searchsorted(known[donors], np.arange(int(drawn.max()) + 2))  # where the donors of each bin begin
    holes = np.flatnonzero(~has)
    bins = drawn[holes]
    # one search for all bins: predictions are ranked, and the ranks of a bin follow those of the bin before
    ranks = np.empty(len(predicted))
    ranks[np.argsort(predicted, kind="stable")] = np.arange(len(predicted))
    n = len(predicted)
    place = np.searchsorted(
        known[donors].astype(np.float64) * n + ranks[donors], bins.astype(np.float64) * n + ranks[holes]
    )
    place = place - rng.integers(0, 2, len(holes))  # the next one above, or the next one below
    return np.asarray(donors[np.clip(place, ends[bins], ends[bins + 1] - 1)], np.intp)


def nearest_values(
    target: NDArray[np.float64], predictors: Sequence[NDArray[np.float64]], has: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """For each row that lacks the target, the observed value nearest to what a regression predicts, [holes].

    Example:
        >>> x = np.arange(6.0)
        >>> nearest_values(np.array([0, 2, 4, np.nan, 8, 10.0]), [x], x != 3).tolist()
        [4.0]
    """
    values = np.unique(target[has])
    wanted = _predicted(target, predictors, has)[~has]
    above = (
        np.clip(np.searchsorted(values, wanted), 1, len(values) - 1) if len(values) > 1 else np.zeros(len(wanted), int)
    )
    below = np.maximum(above - 1, 0)
    return np.asarray(np.where(wanted - values[below] <= values[above] - wanted, values[below], values[above]))


def _predicted(
    target: NDArray[np.float64], predictors: Sequence[NDArray[np.float64]], has: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """A linear prediction of the target in every row, from the rows that have it [n]."""
    columns = [np.ones(len(target))]
    for each in predictors:
        scale = each.std()
        if scale > 0:
            columns.append((each - each.mean()) / scale)
    design = np.stack(columns, axis=1)
    some, wanted = design[has], target[has]
    penalty = RIDGE * len(some) * np.diag(np.arange(len(columns)) > 0)
    weights = np.linalg.solve(some.T @ some + penalty + 1e-12 * np.eye(len(columns)), some.T @ wanted)
    return np.asarray(design @ weights, np.float64)


def predictors_of(parents: Parents, name: str) -> list[str]:
    """The columns that a value is predicted from: its Markov blanket and then the others, up to a number of them."""
    blanket = list(markov_blanket(parents, name))
    return [*blanket, *(other for other in parents if other != name and other not in blanket)][:MOST_PREDICTORS]
