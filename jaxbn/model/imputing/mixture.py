"""A number said by several experts together: the network's posterior mean, lines, and rows alike.

Inside a bin all values are alike to a network; a line sees what lies inside, and rows that look alike see what no line
does. How much each of them counts is told by what it says of rows that it has not seen: the weights, none below 0 and
1 together, are those of least squares on leave-one-out predictions (stacking: Wolpert 1992, Breiman 1996). None below
0, because a mean without the row itself lies the lower the higher the row is: with a weight below 0 it would seem to
know the row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from jaxbn.model.imputing.lines import Line, fit_line
from jaxbn.model.imputing.neighbours import NEAREST, Neighbours

Array = NDArray[np.float64]

MOST_COMPARED = 2000
"""Rows that others are compared with."""

MOST_FITTED = 50_000
"""Rows that experts are fitted to: more of them would not change a line."""

MOST_ROWS = 20_000
"""Rows up to which rows are compared: with more of them bins are fine, and to compare takes long."""


class Mixture(NamedTuple):
    """Experts and their weights."""

    line: Line  # of the other columns
    rest: Line  # of the other columns: what the posterior mean leaves
    neighbours: Neighbours | None
    targets: Array  # of the rows that are compared with: the number, and what `line` leaves of it, [rows, 2]
    weights: Array  # [experts]

    def __call__(self, features: Array, known: NDArray[np.bool_]) -> Array:
        """What the experts say together of rows, [rows]; the same arguments as for ``fit_mixture``."""
        mean, others = features[:, 0], features[:, 1:]
        by_line = self.line(others)
        near = None if self.neighbours is None else self.neighbours.means(self.targets, known, others)
        return np.clip(_said(mean, by_line, self.rest(others), near) @ self.weights, self.line.low, self.line.high)


def fit_mixture(features: Array, known: NDArray[np.bool_], target: Array) -> Mixture:
    """Fit the experts to rows, and their weights to what each says of the rows that it has not seen.

    Args:
        features: [rows, 1 + features]; the first is the posterior mean by a network that has not seen the row.
        known: which of the others are known and not filled in, [rows, features].
        target: [rows].

    Example:
        >>> x = np.linspace(-1, 1, 200)
        >>> found = fit_mixture(np.column_stack([0 * x, x]), np.ones((200, 1), bool), x**2)
        >>> found(np.array([[0.0, 0.5], [0.0, -0.5]]), np.ones((2, 1), bool)).round(2).tolist()
        [0.25, 0.25]
    """
    n = len(target)
    fitted = np.random.default_rng(0).permutation(n)[:MOST_FITTED]  # or rows that are equally near would be in order
    features, known, target = features[fitted], known[fitted], target[fitted]
    mean, others = features[:, 0], features[:, 1:]
    line, by_line = fit_line(others, target)
    rest, by_rest = fit_line(others, target - mean)
    some = slice(MOST_COMPARED)
    neighbours, targets, near = None, np.zeros((0, 2)), None
    if NEAREST[0] < n <= MOST_ROWS and others.shape[1]:
        neighbours = Neighbours.of(others[some])
        targets = np.column_stack([target, target - by_line])[some]
        near = neighbours.means(targets, known[some])
    said = _said(mean[some], by_line[some], by_rest[some], near)
    return Mixture(line, rest, neighbours, targets, _weights(said, target[some]))


def _said(mean: Array, by_line: Array, by_rest: Array, near: Array | None) -> Array:
    """What each expert says, [rows, experts]."""
    said = [mean, by_line, mean + by_rest]
    if near is not None:  # of each number of neighbours: their mean, and the line with what it leaves of them
        said += [*near[..., 0].T, *(by_line[:, None] + near[..., 1]).T]
    return np.column_stack(said)


def _weights(said: Array, target: Array) -> Array:
    """The weights of least squares, none below 0 and 1 together."""
    center = target.mean()
    scale = target.std() or 1.0
    heavy = 1e3 * np.sqrt(len(target))  # the row that says that weights add up to 1
    rows = np.vstack([(said - center) / scale, np.full(said.shape[1], heavy)])
    found, _ = nnls(rows, np.append((target - center) / scale, heavy))
    return np.asarray(found / found.sum(), np.float64)
