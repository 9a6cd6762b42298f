"""Ridge regression: with the prior of the weights chosen by the evidence (MacKay 1992), or with a fixed penalty.

The first predicts best, and has leave-one-out predictions. The second is fitted again and again while a table is
completed, at a cost proportional to the number of entries that change.

A regression on values with heavy tails follows the outliers. So such columns are replaced by their normal scores
(`Scale`), the quantiles of a normal distribution at the values' ranks: these keep the order and have no tails, and
monotone dependences look linear in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Array = NDArray[np.float64]
DUST = 1e-12  # relative rounding error of equal numbers
STEPS = 100  # of the evidence's fixed point, which needs about ten

RIDGE = 1e-3  # weight of a fixed penalty, for each row
TINY = 1e-9  # standard deviation of a predictor, relative to its first one, below which it is constant
MOST_ROWS = 10**5  # rows, about, that a regression of fixed penalty is fitted to: more would hardly change it
TAILS = 5.0  # excess kurtosis above which a column is replaced by its normal scores


class Line(NamedTuple):
    """A linear function of features that are centred and scaled first."""

    center: Array  # [features]
    scale: Array  # [features]
    weights: Array  # [features]
    constant: float
    low: float  # the smallest and largest number fitted to; predictions stay between them
    high: float

    def __call__(self, features: Array) -> Array:
        """The function's values, [rows]."""
        found = (features - self.center) / self.scale @ self.weights + self.constant
        return np.clip(found, self.low, self.high)


def fit_line(features: Array, target: Array) -> tuple[Line, Array]:
    """Bayesian ridge regression: the prior's and the noise's precision by the fixed point of the evidence.

    Also returns the leave-one-out prediction of each row, with the same precisions.
    """
    center, scale = features.mean(axis=0), features.std(axis=0)
    constant = float(target.mean())
    varies = scale > DUST * np.abs(features).max(axis=0, initial=0.0)  # equal numbers may differ from their mean
    scale = np.where(varies, scale, 1.0)
    x, y = np.where(varies, features - center, 0.0) / scale, target - constant
    y = y if y.std() > DUST * np.abs(target).max() else np.zeros(len(y))
    # along the eigenvectors weights do not interact: a step of the fixed point takes no further solve
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
    # the prediction without a row follows from its residual and its leverage, without another fit
    along = x @ vectors
    share = 1 / n + (noise * along**2 / (noise * values + prior)).sum(axis=1)  # leverage of the row
    left_out = target - (y - along @ weights) / np.maximum(1 - share, 1e-6)
    return line, np.clip(left_out, line.low, line.high)


class RidgeRegressions:
    """Regressions on the same columns, fitted again as entries of some rows change.

    What the other rows add to the normal equations is worked out once: the effort is in proportion to the changes.
    """

    def __init__(self, has: NDArray[np.bool_], changing: NDArray[np.bool_]) -> None:
        """`has`: the rows that have the targets; `changing`: those of which an entry may change."""
        some = np.flatnonzero(has)
        some = some[:: -(-len(some) // MOST_ROWS)]
        self.n = len(some)
        self._still, self._changing = some[~changing[some]], some[changing[some]]
        self._products: Array | None = None
        self._units: list[tuple[float, float]] = []

    def predict(self, targets: Array, predictors: Sequence[Array], rows: NDArray[np.intp]) -> Array:
        """Linear predictions of the targets [n, T] in some rows, [rows, T]; always the same columns in their order."""
        if self._products is None:
            every = np.concatenate([self._still, self._changing])
            self._units = [(float(each[every].mean()), float(each[every].std()) or 1.0) for each in predictors]
            self._products = self._sums(self._still, targets, predictors)
        products = self._products + self._sums(self._changing, targets, predictors)
        n, k = self.n, len(predictors) + 1
        means = products[0] / n
        around = products - n * means[:, None] * means
        scale = np.sqrt(np.maximum(np.diag(around)[1:k] / n, 0))
        used = np.flatnonzero(scale > TINY) + 1
        scale = scale[used - 1]
        normal = around[np.ix_(used, used)] / (scale[:, None] * scale) + (RIDGE * n + 1e-12) * np.eye(len(used))
        weights = np.linalg.solve(normal, around[used, k:] / scale[:, None]) / scale[:, None]
        return means[k:] + (self._in_units(rows, predictors)[:, used] - means[used]) @ weights

    def _sums(self, rows: NDArray[np.intp], targets: Array, predictors: Sequence[Array]) -> Array:
        """Sums over rows of the products of all pairs: of 1, the predictors and the targets."""
        table = np.concatenate([self._in_units(rows, predictors), targets[rows]], axis=1)
        return np.asarray(table.T @ table)

    def _in_units(self, rows: NDArray[np.intp], predictors: Sequence[Array]) -> Array:
        """1 and the predictors, roughly standardized, so that no digits are lost in differences of sums."""
        scaled = [(each[rows] - center) / scale for each, (center, scale) in zip(predictors, self._units, strict=True)]
        return np.stack([np.ones(len(rows)), *scaled], axis=1)


class Scale(NamedTuple):
    """Distinct observed values of a column and their normal scores, ascending; no scores if its tails are light."""

    values: Array
    scores: Array | None

    @classmethod
    def of(cls, ascending: Array) -> Scale:
        """The scale of a column, from its observed values in ascending order.

        Example:
            >>> Scale.of(np.array([1.0, 2.0, 3.0])).scores is None
            True
            >>> heavy = Scale.of(np.append(np.arange(40.0), 1e6))
            >>> heavy.nearest(heavy.to(np.array([3.0, 1e6]))).tolist()
            [3.0, 1000000.0]
        """
        n = len(ascending)
        last = np.flatnonzero(np.append(ascending[1:] > ascending[:-1], [True] * min(n, 1)))  # of equal ones
        values, counts = ascending[last], np.diff(last, prepend=-1)
        apart = values - (counts @ values) / n
        largest = np.abs(apart).max(initial=0.0)
        squares = np.square(apart / largest if largest > 0 else apart)  # or large numbers would overflow
        square = float(counts @ squares) / n
        heavy = square > 0 and float(counts @ np.square(squares)) / n > (3 + TAILS) * square**2
        return cls(values, ndtri((np.cumsum(counts) - counts / 2) / n) if heavy else None)

    def to(self, column: Array) -> Array:
        """Observed values on this scale; NaN stays."""
        if self.scores is None:
            return column
        place = np.minimum(places(self.values, column), len(self.values) - 1)
        return np.where(np.isnan(column), np.nan, self.scores[place])

    def nearest(self, column: Array) -> Array:
        """The observed values nearest to numbers on this scale.

        Example:
            >>> Scale.of(np.array([0.0, 2.0, 4.0])).nearest(np.array([1.5, 9.0])).tolist()
            [2.0, 4.0]
        """
        seen = self.values if self.scores is None else self.scores
        above = np.clip(places(seen, column), min(1, len(seen) - 1), len(seen) - 1)
        below = np.maximum(above - 1, 0)
        return self.values[np.where(column - seen[below] <= seen[above] - column, below, above)]


def places(ascending: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.intp]:
    """`np.searchsorted` for very many numbers: sorted first, so that they are found in memory that is near.

    Example:
        >>> places(np.array([1.0, 2.0, 4.0]), np.array([3.0, 0.5])).tolist()
        [2, 0]
    """
    order = np.argsort(wanted)
    found = np.empty(len(wanted), np.intp)
    found[order] = np.searchsorted(ascending, wanted[order])
    return found
