"""What the numbers of rows say beyond the bins they lie in, of the bins of missing ones.

To a network of bins a row is its codes c. Where in their bins its numbers x lie says more of an entry that is missing:

    P(state | x)  ~  P(state | c) P(x | c, state),   so   P(x | c, state)  ~  P(state | x) / P(state | c),

up to a factor that is the same for all states. P(state | c) is the posterior under the network, and P(state | x) the
shares of rows that a line, or likeness in all columns, chooses (``donors``). The quotient is evidence of each state, by
which tables can be fitted to what was observed, numbers included (``holes.em``). Of an entry's row, other missing
entries are filled in for this.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.columns import MISSING
from jaxbn.inputs.graph import Parents
from jaxbn.model.contraction import MAX_MEMORY
from jaxbn.model.holes.marginals import marginals
from jaxbn.model.holes.network import Network
from jaxbn.model.holes.work import Evidence
from jaxbn.model.imputing.donors import donors_of, predictors_of
from jaxbn.model.imputing.scale import Scale

Array = NDArray[np.float64]

MOST_ROWS = 20_000
"""Rows of a table whose numbers are looked at: with more of them bins are fine, and it would take long."""

SWEEPS = 2
"""Times that every missing number is told, given what was told of the others."""

MOST_STATES = 10
"""States of a discrete column that a line tells apart."""

LEAST = 1e-12
"""A chance below this counts as this much."""


def evidence_inside_bins(
    network: Network,
    parents: Parents,
    codes: NDArray[np.int32],
    values: Mapping[str, Array],
    *,
    max_memory: float = MAX_MEMORY,
) -> Evidence:
    """Ln P(numbers of the row | state) of missing entries of continuous columns, up to a constant of each entry.

    Args:
        network: fitted to the rows.
        parents: its structure by names, in the order of its variables.
        codes: [rows, variables], -1 where missing.
        values: the continuous columns, NaN where missing, [rows].
        max_memory: bytes that one array may take.
    """
    columns = {name: codes[:, i] for i, name in enumerate(parents)}
    chances = _chances(network, columns, codes, max_memory)
    told = {
        name: _numbers(values[name], columns[name], chances[name])
        if name in values
        else _signs(columns[name], chances[name])
        for name in parents
    }
    lacking = [name for name in values if (columns[name] == MISSING).any() and predictors_of(parents, name)]
    evidence: dict[str, Array] = {}
    for name in lacking * SWEEPS:
        gone = columns[name] == MISSING
        donors = donors_of(told[name][:, 0], *_features(parents, name, columns, told), columns[name])
        told[name][gone, 0] = donors.means(told[name][:, 0])
        said = donors.chances(columns[name], chances[name].shape[1])
        evidence[name] = np.zeros((len(codes), said.shape[1]))
        evidence[name][gone] = np.log(said / np.maximum(chances[name], LEAST))
    return {i: evidence[name] for i, name in enumerate(parents) if name in evidence}


def _features(
    parents: Parents, name: str, columns: Mapping[str, NDArray[np.int32]], told: Mapping[str, Array]
) -> tuple[Array, NDArray[np.bool_]]:
    """What a column is told from, and which of it is known, [n, features] each."""
    others = predictors_of(parents, name)
    known = [np.repeat(columns[other][:, None] != MISSING, told[other].shape[1], axis=1) for other in others]
    return np.hstack([told[other] for other in others]), np.hstack(known)


def _chances(
    network: Network, columns: Mapping[str, NDArray[np.int32]], codes: NDArray[np.int32], max_memory: float
) -> dict[str, Array]:
    """The network's posterior of the states of every column where it is missing, [holes, K] each."""
    names, sizes = list(columns), network.structure.sizes
    gone = {name: column == MISSING for name, column in columns.items()}
    place = {name: np.cumsum(absent) - 1 for name, absent in gone.items()}  # of a row among those that lack the column
    found = {name: np.zeros((int(gone[name].sum()), sizes[i])) for i, name in enumerate(names)}
    for variable, rows, where, posterior in marginals(network, codes, max_memory=max_memory):
        name = names[variable]
        found[name][place[name][rows]] = posterior[where]
    return found


def _numbers(values: Array, bins: NDArray[np.int32], chances: Array) -> Array:
    """A continuous column as lines see it, with the mean over its bins where it is missing, [n, 1]."""
    has = bins != MISSING
    seen = Scale.of(np.sort(values[has])).to(values)
    counts = np.bincount(bins[has], minlength=chances.shape[1])
    means = np.bincount(bins[has], seen[has], minlength=chances.shape[1]) / np.maximum(counts, 1)
    seen = seen.copy()
    seen[~has] = (chances * (counts > 0)) @ means / np.maximum(chances @ (counts > 0), LEAST)
    return seen[:, None]


def _signs(codes: NDArray[np.int32], chances: Array) -> Array:
    """Whether each row has each state of a discrete column but the first, or the chance of it, [n, states]."""
    states = np.arange(1, min(chances.shape[1], MOST_STATES))
    signs = (codes[:, None] == states).astype(np.float64)
    signs[codes == MISSING] = chances[:, states]
    return signs
