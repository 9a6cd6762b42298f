"""Numbers filled in by what bins cannot see: regressions beside the network's posterior mean.

Inside a bin all values are alike to a network. Where two columns are almost a line (area and perimeter), a straight
line tells more. So each continuous column is regressed (``mixture``) on the posterior mean that the network gives it,
on the other continuous columns, and on the chances of the discrete ones; what is missing among these is filled in by
the network first and by the regressions in later rounds. Where the network was fitted to the rows themselves, its
posterior means leave each row's own counts out of the tables: it would seem to know more of these rows than of those
whose entries are missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.model.contraction import MAX_MEMORY
from jaxbn.model.holes.answers import log_posterior, observed_places
from jaxbn.model.holes.expected_counts import expected_counts
from jaxbn.model.holes.network import network_of
from jaxbn.model.imputing.mixture import Mixture, fit_mixture

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet

Array = NDArray[np.float64]
ROUNDS = 10


@dataclass(frozen=True, eq=False)
class Regressions:
    """A mixture for each continuous column that had values to fit it to.

    Attributes:
        mixtures: by column.
    """

    mixtures: dict[str, Mixture]

    def predict(
        self,
        net: BayesNet,
        codes: NDArray[np.int32],
        values: Mapping[str, Array],
        max_memory: float = MAX_MEMORY,
    ) -> dict[str, Array]:
        """Numbers for the missing entries of every continuous column, [rows]; the others are as they are."""
        told = _told(net, codes, values, max_memory)
        filled = dict(told.start)
        for _ in range(ROUNDS):
            for name, mixture in self.mixtures.items():
                gone = told.gone[name]
                if gone.any():
                    filled[name] = filled[name].copy()
                    filled[name][gone] = mixture(_features(told, filled, name)[gone], _known(told, name)[gone])
        return filled


def fit_regressions(
    net: BayesNet, codes: NDArray[np.int32], values: Mapping[str, Array], max_memory: float = MAX_MEMORY
) -> Regressions:
    """Fit a mixture for each continuous column to the rows that have it.

    Args:
        net: the fitted network.
        codes: [rows, variables], -1 where missing.
        values: the continuous columns, [rows], NaN where missing.
        max_memory: bytes that one array may take.
    """
    told = _told(net, codes, values, max_memory, own_rows=net.n_rows == len(codes))
    filled, mixtures = dict(told.start), {}
    for _ in range(ROUNDS):
        for name in values:
            gone = told.gone[name]
            if (~gone).sum() < 2:
                continue
            features, known = _features(told, filled, name), _known(told, name)
            mixtures[name] = fit_mixture(features[~gone], known[~gone], values[name][~gone])
            filled[name] = filled[name].copy()
            filled[name][gone] = mixtures[name](features[gone], known[gone])
    return Regressions(mixtures)


class _Told(NamedTuple):
    """What the network says of rows."""

    means: dict[str, Array]  # of continuous columns, given the rest of the row, [rows]
    start: dict[str, Array]  # the numbers where they are, the means elsewhere
    chances: Array  # of the states of all discrete columns, one of them 1 where it is known, [rows, states]
    certain: NDArray[np.bool_]  # which of these chances are known, [rows, states]
    gone: dict[str, NDArray[np.bool_]]


def _told(
    net: BayesNet, codes: NDArray[np.int32], values: Mapping[str, Array], max_memory: float, *, own_rows: bool = False
) -> _Told:
    plain, means = network_of(net), {}
    chances, certain = [np.zeros((len(codes), 0))], [np.zeros((len(codes), 0), bool)]
    counts = expected_counts(plain, codes, max_memory=max_memory).counts if own_rows else []
    for i, name in enumerate(net.names):
        logs = log_posterior(plain, codes, i, max_memory=max_memory)
        if own_rows:
            _leave_own_row_out(net, codes, counts, i, logs)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        if name in net.policies:
            edges = net.edges(name)
            means[name] = weights @ ((edges[:-1] + edges[1:]) / 2)
        else:
            known = codes[:, i] >= 0
            weights[known] = np.eye(weights.shape[1])[codes[known, i]]
            chances.append(weights)
            certain.append(np.repeat(known[:, None], weights.shape[1], axis=1))
    gone = {name: np.isnan(column) for name, column in values.items()}
    start = {name: np.where(gone[name], means[name], column) for name, column in values.items()}
    return _Told(means, start, np.hstack(chances), np.hstack(certain), gone)


def _leave_own_row_out(
    net: BayesNet, codes: NDArray[np.int32], counts: list[Array], variable: int, logs: Array
) -> None:
    """Take each row's own count out of the tables that its posterior of a variable was made with, in place.

    Of the states of the variable only the row's own is touched: in the variable's family one cell loses a count (its
    context does too, which is the same for all states), in a child's family one cell and one context.
    """
    structure = network_of(net).structure
    for child, family in enumerate(structure.families):
        if variable not in family:
            continue
        rows, places = observed_places(structure, codes, child)
        rows = np.arange(len(codes)) if rows is None else rows
        name, n_states = net.names[child], structure.sizes[child]
        alpha = net.alphas.get(name, net.alpha)
        cell = counts[child].ravel()[places] + alpha
        change = np.log(np.maximum(cell - 1, 1e-9) / cell)
        if child != variable:
            context = counts[child].sum(axis=-1).ravel()[places // n_states] + n_states * alpha
            change -= np.log(np.maximum(context - 1, 1e-9) / context)
        logs[rows, codes[rows, variable]] += change


def _features(told: _Told, filled: Mapping[str, Array], name: str) -> Array:
    others = [column for other, column in filled.items() if other != name]
    return np.column_stack([told.means[name], *others, told.chances])


def _known(told: _Told, name: str) -> NDArray[np.bool_]:
    """Which of the features after the first are known and not filled in."""
    others = [~gone for other, gone in told.gone.items() if other != name]
    return np.column_stack([*others, told.certain])
