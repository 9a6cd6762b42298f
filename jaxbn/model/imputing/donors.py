"""Rows that a missing number may be taken from: those of which a line says nearly the same, and those that look alike.

A line over all other columns tells which rows have nearly the same number (predictive mean matching, Little 1988), and
rows that look alike tell it where no line does. How many rows of either kind count, and how much, is told by what they
say of rows that they have not seen: the weights are those that make the bins of the rows that have the number most
probable, each row being left out of what is said of it (stacking: Wolpert 1992). The network is none of these experts:
its cuts and arcs have seen every row.

Where a network has said in which bin a number lies, the donor is a row of that bin (`matched_donors`). Two variables
that depend on each other do so within their bins as well; values drawn from a bin at random would blur that, and the
next round of learning would find fewer bins and arcs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.columns import MISSING
from jaxbn.inputs.graph import Parents, markov_blanket
from jaxbn.model.imputing.neighbours import CELLS, NEAREST, Nearest, Neighbours
from jaxbn.model.imputing.ridge import RidgeRegressions, fit_line, places
from jaxbn.model.imputing.stacking import MOST_ROWS, likeliest_weights
from jaxbn.runtime import limits

Array = NDArray[np.float64]

NEAREST_BY_LINE = (4, 10, 30, 100)
"""Numbers of rows of which a line says nearly the same."""

FOLDS = 5
"""Lines by which rows are judged that they have not seen."""

BLUR = 1e-6
"""What is added to what a line says, in deviations of it: of rows that are equal, others are taken each time."""

MOST_COMPARED = 1000
"""Rows that others are compared with."""

MOST_JUDGED = 500
"""Rows of which experts have to tell the bin, for their weights."""

MOST_PREDICTORS = 30
"""Columns that a number is told from, at most."""

MOST_STATES = 10
"""States of a discrete column that are told apart."""


class Donors(NamedTuple):
    """Rows that missing entries of a column may be taken from."""

    rows: NDArray[np.intp]  # [holes, donors]
    shares: Array  # how much each of them counts, those of an entry 1 together, [holes, donors]

    def draw(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """One donor of each entry, by their shares, [holes]."""
        ends = np.cumsum(self.shares, axis=1)
        drawn = (ends < (rng.random(len(ends)) * ends[:, -1])[:, None]).sum(axis=1)
        return np.take_along_axis(self.rows, drawn[:, None], axis=1)[:, 0]

    def chances(self, codes: NDArray[np.int32], otherwise: Array) -> Array:
        """The donors' shares of the states of codes [rows], [holes, states].

        `otherwise` has the same by other means and counts as one more donor: donors are few, and a state that none of
        them has is not impossible.
        """
        found = np.zeros(otherwise.shape)
        np.add.at(found, (np.arange(len(found))[:, None], codes[self.rows]), self.shares)
        number = 1 / np.square(self.shares).sum(axis=1, keepdims=True)  # as many equal ones would be as unsure
        return (number * found + otherwise) / (number + 1)


def donors_of(target: Array, features: Array, known: NDArray[np.bool_], bins: NDArray[np.int32]) -> Donors:
    """The donors of a column's missing entries.

    Args:
        target: the column, [n]; whatever it has where it is missing is not looked at.
        features: the other columns, complete, [n, features].
        known: which of these are known and not filled in, [n, features].
        bins: of the column, -1 where it is missing, [n].

    Example:
        >>> x = np.arange(200.0)
        >>> bins = np.where(x == 50, -1, x >= 100).astype(np.int32)
        >>> found = donors_of(2 * x, x[:, None], np.ones((200, 1), bool), bins)
        >>> found.chances(bins, np.array([[1.0, 0.0]])).round(6).tolist()
        [[1.0, 0.0]]
    """
    has, holes = np.flatnonzero(bins != MISSING), np.flatnonzero(bins == MISSING)
    rng = np.random.default_rng(0)
    some = rng.permutation(len(has))[:MOST_COMPARED]
    judged = some[:MOST_JUDGED]
    # of each kind how many of the nearest count, one expert for each number; the donors of rows that have the column,
    # each left out itself, and of those that lack it
    own, asked = features[has], features[holes]
    kinds = [(NEAREST_BY_LINE, _by_lines(own, target[has], judged, rng), _by_line(own, target[has], asked, rng))]
    if NEAREST[0] < len(has) <= MOST_ROWS and features.shape[1]:
        alike = Neighbours.of(features[has[some]])
        own_near, near = alike.nearest(known[has[judged]]), alike.nearest(known[holes], asked)
        kinds.append((NEAREST, _all_parts(own_near, some), _all_parts(near, some)))
    right = []  # the chance that each expert gives to the right bin of the rows that are judged
    for numbers, theirs, _ in kinds:
        hit = bins[has][theirs.rows] == bins[has][judged][:, None]
        right += [(shares * hit).sum(axis=1) for shares in _parts(numbers, theirs.weights)]
    floor = 1 / (len(has) + 1)  # as if one more row were in each bin
    weights = iter(likeliest_weights((np.stack(right) + floor) / (1 + floor * (bins.max() + 1))).tolist())
    found = [
        sum(next(weights) * shares for shares in _parts(numbers, nearest.weights)) for numbers, _, nearest in kinds
    ]
    return Donors(np.hstack([has[nearest.rows] for _, _, nearest in kinds]), np.hstack(found))


def predictors_of(parents: Parents, name: str) -> list[str]:
    """The columns that a value is predicted from: its Markov blanket and then the others, up to a number of them."""
    blanket = list(markov_blanket(parents, name))
    return [*blanket, *(other for other in parents if other != name and other not in blanket)][:MOST_PREDICTORS]


def signs_of(codes: NDArray[np.integer[Any]], n_states: int) -> Array:
    """Whether each row has each of the most frequent states of a discrete column, without the first, [n, states].

    Example:
        >>> signs_of(np.array([2, 1, 2, 2, 0], np.int32), 3).tolist()
        [[0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0], [1.0, 0.0]]
    """
    shown = np.argsort(-np.bincount(codes, minlength=n_states), kind="stable")[1:MOST_STATES]
    return (codes[:, None] == shown).astype(np.float64)


def features_of(
    columns: Mapping[str, Array], known: Mapping[str, NDArray[np.bool_]], names: Sequence[str]
) -> tuple[Array, NDArray[np.bool_]]:
    """Some columns [n, K] beside each other, and where they are known and not filled in, [n, features] both."""
    nothing = np.zeros((len(next(iter(known.values()))), 0))
    shown = [np.repeat(known[name][:, None], columns[name].shape[1], axis=1) for name in names]
    return np.hstack([nothing, *(columns[name] for name in names)]), np.hstack([nothing.astype(bool), *shown])


def matched_donors(
    target: Array, features: Array, known: NDArray[np.int32], drawn: NDArray[np.int32], rng: np.random.Generator
) -> NDArray[np.intp]:
    """For each row that lacks the target, a row in the drawn bin for which nearly the same value is predicted.

    Args:
        target: [n], NaN where missing.
        features: the other columns, complete, [n, features].
        known: [n], the bin of the target, -1 where missing.
        drawn: [n], the same, with drawn bins.
        rng: which of the nearest two is taken.

    Returns:
        Rows [holes].
    """
    has = known >= 0
    guess = RidgeRegressions(has, has).told(target[:, None], list(features.T), np.arange(len(target)))[:, 0]
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


def nearest_values(values: Array, wanted: Array) -> Array:
    """Of some values, which are distinct and ascending, the nearest to each wanted one.

    Example:
        >>> nearest_values(np.array([0.0, 2.0, 4.0]), np.array([1.5, 9.0])).tolist()
        [2.0, 4.0]
    """
    above = np.clip(places(values, wanted), min(1, len(values) - 1), len(values) - 1)
    below = np.maximum(above - 1, 0)
    return np.asarray(np.where(wanted - values[below] <= values[above] - wanted, values[below], values[above]))


def _by_line(features: Array, target: Array, asked: Array, rng: np.random.Generator) -> Nearest:
    """The rows of which a line says nearly the same as of those that are asked about.

    Of rows of which exactly the same is said, as of levels, others are taken each time.
    """
    limits.check()
    line, _ = fit_line(features, target, leave_out=False)
    said, wanted = line(features), line(asked)
    blur = BLUR * (said.std() or 1.0)
    said, wanted = said + blur * rng.random(len(said)), wanted + blur * rng.random(len(wanted))
    order = np.argsort(said)
    step = CELLS // NEAREST_BY_LINE[-1]
    parts = [_nearest(said[order], wanted[first : first + step]) for first in range(0, len(wanted), step)]
    rows = order[np.concatenate([np.zeros((0, min(NEAREST_BY_LINE[-1], len(order))), np.intp), *parts])]
    return Nearest(rows, np.ones(rows.shape))


def _nearest(ascending: Array, wanted: Array) -> NDArray[np.intp]:
    """Places of the numbers nearest to each wanted one, the nearest first, [wanted, most]."""
    most = min(NEAREST_BY_LINE[-1], len(ascending))
    place = places(ascending, wanted)[:, None] + np.arange(-most, most)
    inside = np.clip(place, 0, len(ascending) - 1)
    apart = np.where(place == inside, np.abs(ascending[inside] - wanted[:, None]), np.inf)
    return np.take_along_axis(inside, np.argsort(apart, axis=1, kind="stable")[:, :most], axis=1)


def _by_lines(features: Array, target: Array, judged: NDArray[np.intp], rng: np.random.Generator) -> Nearest:
    """The same for rows among these, by lines that have not seen them, a fold of them at a time."""
    most = len(target) - -(-len(judged) // FOLDS)  # rows left to each line
    most = max(1, min(NEAREST_BY_LINE[-1], most))
    rows = np.zeros((len(judged), most), np.intp)
    for fold in range(min(FOLDS, len(judged))):
        told = judged[fold::FOLDS]
        others = np.setdiff1d(np.arange(len(target)), told) if len(told) < len(target) else told
        rows[fold::FOLDS] = others[_by_line(features[others], target[others], features[told], rng).rows[:, :most]]
    return Nearest(rows, np.ones(rows.shape))


def _all_parts(parts: Iterable[tuple[slice, Nearest]], rows: NDArray[np.intp]) -> Nearest:
    """What was found part by part, in one, and of some rows in place of positions among them."""
    found = [nearest for _, nearest in parts]
    if not found:
        return Nearest(np.zeros((0, 1), np.intp), np.ones((0, 1)))
    nearest, weights = (np.concatenate(each) for each in zip(*found, strict=True))
    return Nearest(rows[nearest], weights)


def _parts(numbers: Sequence[int], weights: Array) -> Iterator[Array]:
    """Shares of donors if only the nearest so many count, for each of the numbers, [asked, donors]."""
    for number in numbers:
        counted = np.where(np.arange(weights.shape[1]) < number, weights, 0.0)
        yield counted / counted.sum(axis=1, keepdims=True)
