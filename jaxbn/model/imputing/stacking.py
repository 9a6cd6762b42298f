"""Stacking: the network, ridge regressions and nearest neighbours together predict a missing entry.

To a network all values inside a bin are alike; a regression sees what lies inside, and neighbours see what no
regression does. The weights of these experts come from predictions of rows that they have not seen. For numbers they
are those of least squares on leave-one-out predictions, none negative, with a sum of 1 (stacking: Wolpert 1992, Breiman
1996). They must not be negative: the mean of all other rows is the lower, the higher the row that is left out, so that
a negative weight of it would give the row away.

For levels, the weights are half-way between those of the mixture with the highest leave-one-out likelihood, found by
EM, and equal weights of the network, regressions and neighbours. Half-way, because levels carry little information and
the network's cuts and arcs have seen every row.

A regression on the indicator of each level does not give calibrated probabilities: even where levels are perfectly
separated, it may predict 0.6 and 0.4. So predictions, less the frequencies of the levels, go through a softmax whose
sharpness makes the levels of the left-out rows most probable.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar, nnls
from scipy.special import softmax

from jaxbn.model.imputing.ridge import Array, Line, fit_line
from jaxbn.runtime import limits

MOST_COMPARED = 2000  # rows among which nearest neighbours are looked for
MOST_FITTED = 50_000  # rows that experts are fitted to: more of them would hardly change a regression
MOST_ROWS = 20_000  # rows up to which neighbours are used: with more, bins are fine, and the search takes long
MOST_LEVELS = 20  # levels up to which each has a regression of its own
SHARPNESS = (-4.0, 5.0)  # bounds of the logarithm of the softmax's sharpness
LEAST = 1e-300  # lower bound of probabilities in logarithms
STEPS = 200  # of EM for the weights

NEAREST = (4, 8, 16, 40)  # numbers of rows that means are taken over
SOFT = 0.1  # added to distances, in deviations of a feature: rows nearer than that are all alike
CELLS = 2**21  # distances worked out at a time


class Mixture(NamedTuple):
    """Experts on a number, and their weights."""

    line: Line  # regression on the other columns
    rest: Line  # regression of the residuals of the posterior mean
    neighbours: Neighbours | None
    targets: Array  # of possible neighbours: the number, and its residual from `line`, [rows, 2]
    weights: Array  # [experts]

    def __call__(self, mean: Array, others: Array, known: NDArray[np.bool_]) -> Array:
        """The weighted prediction, [rows, 1]; arguments as for ``fit_mixture``."""
        near = _near(self.neighbours, self.targets, known, others)
        said = _said_of_numbers(mean[:, 0], self.line(others), self.rest(others), near) @ self.weights
        return np.clip(said, self.line.low, self.line.high)[:, None]


def fit_mixture(mean: Array, others: Array, known: NDArray[np.bool_], target: Array) -> Mixture:
    """Fit the experts on a number [rows], and their weights by predictions of rows that they have not seen.

    `mean` is that of the posterior, by a network that has not seen the row, [rows, 1]; `others` are features of the
    rows, and `known` says which of these are observed, [rows, features].
    """
    n = len(target)
    fitted = np.random.default_rng(0).permutation(n)[:MOST_FITTED]  # ties between neighbours are broken by order
    mean, others, known, target = mean[fitted, 0], others[fitted], known[fitted], target[fitted]
    # all that the weights are fitted to leaves the row itself out, or the expert that follows single rows would win
    line, by_line = fit_line(others, target)
    rest, by_rest = fit_line(others, target - mean)
    some = slice(MOST_COMPARED)
    neighbours = Neighbours.of(others[some]) if NEAREST[0] < n <= MOST_ROWS and others.shape[1] else None
    targets = np.column_stack([target, target - by_line])[some]
    said = _said_of_numbers(mean[some], by_line[some], by_rest[some], _near(neighbours, targets, known[some]))
    return Mixture(line, rest, neighbours, targets, least_squares_weights(said, target[some]))


def _said_of_numbers(mean: Array, by_line: Array, by_rest: Array, near: Array) -> Array:
    """What each expert says, [rows, experts]."""
    # for each number of neighbours: their mean, and the regression with their mean residual
    return np.column_stack([mean, by_line, mean + by_rest, *near[..., 0].T, *(by_line[:, None] + near[..., 1]).T])


def least_squares_weights(said: Array, target: Array) -> Array:
    """The weights of least squares, none negative, with a sum of 1."""
    center = target.mean()
    scale = target.std() or 1.0
    heavy = 1e3 * np.sqrt(len(target))  # a row that makes the weights add up to 1
    rows = np.vstack([(said - center) / scale, np.full(said.shape[1], heavy)])
    found, _ = nnls(rows, np.append((target - center) / scale, heavy))
    return np.asarray(found / found.sum(), np.float64)


class Votes(NamedTuple):
    """Experts on a level, and their weights."""

    lines: list[Line]  # a regression on the other columns for each level; none where there are very many
    shares: Array  # frequencies of the levels, [levels]
    sharpness: float  # of the softmax
    neighbours: Neighbours | None
    signs: Array  # indicators of the levels of possible neighbours, [rows, levels]
    weights: Array  # [experts]

    def __call__(self, posterior: Array, others: Array, known: NDArray[np.bool_]) -> Array:
        """Probabilities of the levels, [rows, levels]; arguments as for ``fit_votes``."""
        by_lines = list[Array]()
        if self.lines:
            by_lines = [_chances(np.column_stack([line(others) for line in self.lines]), self.shares, self.sharpness)]
        near = _near(self.neighbours, self.signs, known, others)
        return np.einsum("e,erk->rk", self.weights, _said_of_levels(posterior, by_lines, near, len(self.signs)))


def fit_votes(posterior: Array, others: Array, known: NDArray[np.bool_], codes: NDArray[np.int32]) -> Votes:
    """Fit the experts on the level of each row, and their weights by predictions of rows that they have not seen.

    `posterior` is that of the levels, by a network that has not seen the row, [rows, levels]; others as in
    `fit_mixture`.
    """
    n_levels = posterior.shape[1]
    signs = np.eye(n_levels)[codes]
    fitted = np.random.default_rng(0).permutation(len(codes))[:MOST_FITTED]
    some = fitted[:MOST_COMPARED]
    lines, sharpness, by_lines = list[Line](), 1.0, list[Array]()
    shares = signs.mean(axis=0)
    if n_levels <= MOST_LEVELS and others.shape[1]:
        found = [fit_line(others[fitted], signs[fitted, level]) for level in range(n_levels)]
        lines, said = [line for line, _ in found], np.column_stack([left_out for _, left_out in found])[: len(some)]
        sharpness = _sharpness(said, shares, codes[some])
        by_lines = [_chances(said, shares, sharpness)]
    neighbours = Neighbours.of(others[some]) if NEAREST[0] < len(codes) <= MOST_ROWS and others.shape[1] else None
    near = _near(neighbours, signs[some], known[some])
    experts = _said_of_levels(posterior[some], by_lines, near, len(some))
    weights = likeliest_weights(experts[:, np.arange(len(some)), codes[some]])
    kinds = [n for n in (1, len(by_lines), near.shape[1]) if n]
    equal = np.concatenate([np.full(n, 1 / n / len(kinds)) for n in kinds])  # every kind of expert has the same sum
    return Votes(lines, shares, sharpness, neighbours, signs[some], (weights + equal) / 2)


def _said_of_levels(posterior: Array, by_lines: list[Array], near: Array, n_seen: int) -> Array:
    """What each expert says, [experts, rows, levels]; a share of one row is added, so that nothing is impossible."""
    chances = [np.clip(each, 0, 1) + 1 / (n_seen + 1) for each in (*by_lines, *near.swapaxes(0, 1))]
    return np.stack([posterior, *(each / each.sum(axis=1, keepdims=True) for each in chances)])


def _chances(said: Array, shares: Array, sharpness: float) -> Array:
    """Probabilities of levels from the regressions of each, [rows, levels]; 0 for a level that no row has."""
    with np.errstate(divide="ignore"):
        return np.asarray(softmax(np.log(shares) + sharpness * (said - shares), axis=1), np.float64)


def _sharpness(said: Array, shares: Array, codes: NDArray[np.int32]) -> float:
    """The sharpness of the softmax that makes the levels of the rows most probable."""

    def minus_log_likelihood(log_sharpness: float) -> float:
        chances = _chances(said, shares, math.exp(log_sharpness))[np.arange(len(codes)), codes]
        return -float(np.log(np.maximum(chances, LEAST)).sum())

    return math.exp(minimize_scalar(minus_log_likelihood, bounds=SHARPNESS, method="bounded").x)


def likeliest_weights(said: Array) -> Array:
    """The weights of the likeliest mixture, from the probability of each outcome by each expert, [experts, rows]."""
    weights = np.full(len(said), 1 / len(said))
    # EM: the share of each expert in each row, then their means. The log-likelihood is concave in the weights, so from
    # equal ones it climbs towards the global maximum.
    for _ in range(STEPS):
        parts = weights[:, None] * np.maximum(said, LEAST)
        weights = (parts / parts.sum(axis=0)).mean(axis=1)
    return weights


# --- what rows have that look alike: means over the nearest ones, weighed by how near they are


class Nearest(NamedTuple):
    """The nearest rows, and the weight of each."""

    rows: NDArray[np.intp]  # [asked, nearest]
    weights: Array  # [asked, nearest]


class Neighbours(NamedTuple):
    """Rows among which neighbours are looked for, each feature with mean 0 and standard deviation 1."""

    center: Array  # [features]
    scale: Array  # [features]
    rows: Array  # [rows, features]

    @classmethod
    def of(cls, features: Array) -> Neighbours:
        """From rows [rows, features]."""
        center, scale = features.mean(axis=0), features.std(axis=0)
        scale = np.where(scale > 0, scale, np.inf)  # what all rows have in common makes none of them near or far
        return cls(center, scale, (features - center) / scale)

    def means(self, targets: Array, known: NDArray[np.bool_], features: Array | None = None) -> Array:
        """Means of targets [rows, targets] over the nearest rows, for each number of them, [asked, numbers, targets].

        Only known features [asked, features] make rows near or far: what was filled in would only find again what
        filled it in. Without `features` of rows that are asked about, these are the rows themselves, each compared with
        all others.
        """
        found = np.empty((len(known), len(NEAREST), targets.shape[1]))
        for part, (rows, weights) in self.nearest(known, features):
            sums = np.cumsum(weights[..., None] * targets[rows], axis=1)
            ends = np.minimum(np.array(NEAREST), rows.shape[1]) - 1
            found[part] = sums[:, ends] / np.cumsum(weights, axis=1)[:, ends, None]
        found[~known.any(axis=1)] = targets.mean(axis=0)
        return found

    def nearest(self, known: NDArray[np.bool_], features: Array | None = None) -> Iterator[tuple[slice, Nearest]]:
        """The nearest rows to those that are asked about, the nearest first, part by part.

        The arguments are those of ``means``, but without features the first rows may be asked about alone.
        """
        asked = self.rows[: len(known)] if features is None else (features - self.center) / self.scale
        squares = (self.rows**2).T
        step = max(1, CELLS // len(self.rows))
        for first in range(0, max(len(asked), 1), step):
            limits.check()
            part = slice(first, min(first + step, len(asked)))
            has = known[part].astype(np.float64)
            seen = has * asked[part]
            # squared distances over the known features alone, |a|² + |b|² - 2ab, of all pairs by products of matrices
            apart = (seen**2).sum(axis=1)[:, None] + has @ squares - 2 * seen @ self.rows.T
            if features is None:
                apart[np.arange(len(seen)), np.arange(part.start, part.stop)] = np.inf
            most = min(NEAREST[-1], apart.shape[1] - 1)
            nearest = np.argpartition(apart.astype(np.float32), most - 1, axis=1)[:, :most]  # in half the time
            near = np.take_along_axis(apart, nearest, axis=1)
            order = np.argsort(near, axis=1, kind="stable")
            distances = np.sqrt(np.take_along_axis(near, order, axis=1).clip(0))
            yield part, Nearest(np.take_along_axis(nearest, order, axis=1), 1 / (distances + SOFT))


def _near(neighbours: Neighbours | None, targets: Array, known: NDArray[np.bool_], rows: Array | None = None) -> Array:
    """What neighbours have, see ``Neighbours.means``; without any, for no number of them."""
    if neighbours is None:
        return np.zeros((len(known), 0, targets.shape[1]))
    return neighbours.means(targets, known, rows)
