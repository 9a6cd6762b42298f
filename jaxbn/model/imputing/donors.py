"""Rows that a missing number may be taken from: those of which a line says nearly the same, and those that look alike.

A line over all other columns tells which rows have nearly the same number (predictive mean matching, Little 1988), and
rows that look alike tell it where no line does. How many rows of either kind count, and how much, is told by what they
say of rows that they have not seen: the weights are those that make the bins of the rows that have the number most
probable, each row being left out of what is said of it (stacking: Wolpert 1992). The network is none of these experts:
its cuts and arcs have seen every row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.columns import MISSING
from jaxbn.inputs.graph import Parents, markov_blanket
from jaxbn.model.imputing.lines import fit_line
from jaxbn.model.imputing.mixture import MOST_ROWS
from jaxbn.model.imputing.neighbours import NEAREST, Nearest, Neighbours
from jaxbn.model.imputing.scale import places
from jaxbn.model.imputing.votes import likeliest_weights

Array = NDArray[np.float64]

NEAREST_BY_LINE = (4, 10, 30)
"""Numbers of rows of which a line says nearly the same."""

MOST_COMPARED = 1000
"""Rows that others are compared with."""

MOST_JUDGED = 500
"""Rows of which experts have to tell the bin, for their weights."""

MOST_PREDICTORS = 30
"""Columns that a number is told from, at most."""


class Donors(NamedTuple):
    """Rows that missing entries of a column may be taken from.

    Attributes:
        rows: for each entry, [holes, donors].
        shares: how much each of them counts, those of an entry 1 together, [holes, donors].
        n_rows: rows that have the column.
    """

    rows: NDArray[np.intp]
    shares: Array
    n_rows: int

    def draw(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """One donor of each entry, by their shares, [holes]."""
        ends = np.cumsum(self.shares, axis=1)
        drawn = (ends < (rng.random(len(ends)) * ends[:, -1])[:, None]).sum(axis=1)
        return np.take_along_axis(self.rows, drawn[:, None], axis=1)[:, 0]

    def means(self, values: Array) -> Array:
        """Means of values [rows] over the donors of each entry, [holes]."""
        return np.asarray((self.shares * values[self.rows]).sum(axis=1), np.float64)

    def chances(self, codes: NDArray[np.int32], n_states: int) -> Array:
        """The donors' shares of the states of some codes [rows], none of them 0, [holes, states]."""
        found = np.zeros((len(self.rows), n_states))
        np.add.at(found, (np.arange(len(found))[:, None], codes[self.rows]), self.shares)
        return _never_zero(found, n_states, self.n_rows)


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
        >>> found.means(2 * x).round().tolist(), found.chances(bins, 2).round(2).tolist()
        ([100.0], [[1.0, 0.0]])
    """
    has, holes = np.flatnonzero(bins != MISSING), np.flatnonzero(bins == MISSING)
    some = np.random.default_rng(0).permutation(len(has))[:MOST_COMPARED]
    judged = some[:MOST_JUDGED]
    line, left_out = fit_line(features[has], target[has])
    by_line = _Sorted.of(left_out)
    kinds: list[tuple[tuple[int, ...], Nearest, Nearest]] = [
        (NEAREST_BY_LINE, by_line.nearest(left_out[judged], judged), by_line.nearest(line(features[holes])))
    ]
    if NEAREST[0] < len(has) <= MOST_ROWS and features.shape[1]:
        alike = Neighbours.of(features[has[some]])
        own, asked = alike.nearest(known[has[judged]]), alike.nearest(known[holes], features[holes])
        kinds.append((NEAREST, _all_parts(own, some), _all_parts(asked, some)))
    seen, n_bins = bins[has], int(bins.max()) + 1
    right = [_right(seen, judged, numbers, told) for numbers, told, _ in kinds]
    weights = likeliest_weights(_never_zero(np.concatenate(right), n_bins, len(has)))
    rows, shares, first = [], [], 0
    for numbers, _, nearest in kinds:
        rows.append(has[nearest.rows])
        counted = _parts(numbers, nearest.weights)
        shares.append(np.einsum("e,ehd->hd", weights[first : first + len(numbers)], counted))
        first += len(numbers)
    return Donors(np.hstack(rows), np.hstack(shares), len(has))


def predictors_of(parents: Parents, name: str) -> list[str]:
    """The columns that a value is predicted from: its Markov blanket and then the others, up to a number of them."""
    blanket = list(markov_blanket(parents, name))
    return [*blanket, *(other for other in parents if other != name and other not in blanket)][:MOST_PREDICTORS]


class _Sorted(NamedTuple):
    """What a line says of the rows that have a column, each by the line of all others."""

    order: NDArray[np.intp]
    ascending: Array

    @classmethod
    def of(cls, said: Array) -> _Sorted:
        order = np.argsort(said, kind="stable")
        return cls(order, said[order])

    def nearest(self, said: Array, own: NDArray[np.intp] | None = None) -> Nearest:
        """The rows of which nearly the same is said, the nearest first and all of one weight.

        Args:
            said: of the rows that are asked about, [asked].
            own: which rows these are, [asked]; none of them is among its own nearest.
        """
        n = len(self.order)
        most = max(1, min(NEAREST_BY_LINE[-1], n - (own is not None)))
        place = places(self.ascending, said)[:, None] + np.arange(-most, most + 1)
        inside = np.clip(place, 0, n - 1)
        apart = np.where(place == inside, np.abs(self.ascending[inside] - said[:, None]), np.inf)
        if own is not None:
            apart[self.order[inside] == own[:, None]] = np.inf
        nearest = np.argsort(apart, axis=1, kind="stable")[:, :most]
        rows = self.order[np.take_along_axis(inside, nearest, axis=1)]
        return Nearest(rows, np.ones(rows.shape))


def _all_parts(parts: Iterable[tuple[slice, Nearest]], rows: NDArray[np.intp]) -> Nearest:
    """What was found part by part, in one, and of some rows in place of positions among them."""
    found = [nearest for _, nearest in parts]
    if not found:
        return Nearest(np.zeros((0, 1), np.intp), np.ones((0, 1)))
    return Nearest(
        rows[np.concatenate([each.rows for each in found])], np.concatenate([each.weights for each in found])
    )


def _parts(numbers: tuple[int, ...], weights: Array) -> Array:
    """Shares of donors if only the nearest so many count, for each of the numbers, [numbers, asked, donors]."""
    first = np.arange(weights.shape[1]) < np.array(numbers)[:, None]
    counted = first[:, None] * weights
    return np.asarray(counted / counted.sum(axis=2, keepdims=True), np.float64)


def _right(bins: NDArray[np.int32], some: NDArray[np.intp], numbers: tuple[int, ...], told: Nearest) -> Array:
    """The chance that donors give to the right bin of rows, for each number of them, [numbers, rows]."""
    right = bins[told.rows] == bins[some][:, None]
    return np.asarray((_parts(numbers, told.weights) * right).sum(axis=2), np.float64)


def _never_zero(chances: Array, n_states: int, n_rows: int) -> Array:
    """Chances of states, with a little for what no donor has: as if one more row were in any state."""
    floor = 1 / (n_rows + 1)
    return (chances + floor) / (1 + floor * n_states)
