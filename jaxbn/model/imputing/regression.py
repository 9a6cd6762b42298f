"""Missing entries filled in by regressions and nearest neighbours together with the network's posterior.

Inside a bin all values are alike to a network. Where two columns lie almost on a line (area and perimeter), a straight
line says more. So each continuous column is predicted (``Mixture``) from the network's posterior mean, the other
continuous columns and the probabilities of the discrete ones, and so are the levels of a discrete column (``Votes``).
Predictors that are missing themselves are filled in by the network first, and by the predictions in later rounds.
Where the network was fitted to these very rows, each row's own counts are left out of its posterior: else it would
seem to know more of these rows than of those whose entries are missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.model.imputing.stacking import Mixture, Votes, fit_mixture, fit_votes
from jaxbn.model.inference.answers import log_posterior, observed_places
from jaxbn.model.inference.em import expected_counts
from jaxbn.runtime import limits
from jaxbn.runtime.memory import MAX_MEMORY

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet

Array = NDArray[np.float64]
ROUNDS = 10
"""Rounds at most."""

SETTLED = 1e-3
"""Rounds end when entries change by less than this on average, in deviations of their column."""


@dataclass(frozen=True, eq=False)
class Regressions:
    """Experts for each column that had entries to fit them to.

    Attributes:
        numbers: of continuous columns.
        levels: of discrete ones.
    """

    numbers: dict[str, Mixture]
    levels: dict[str, Votes]

    def predict(
        self,
        net: BayesNet,
        codes: NDArray[np.int32],
        values: Mapping[str, Array],
        max_memory: float = MAX_MEMORY,
    ) -> dict[str, Array]:
        """Every column with its missing entries filled in: numbers [rows], or chances of states [rows, states]."""
        predicted = _predicted(net, codes, values, max_memory)
        filled = dict(predicted.start)
        for _ in range(ROUNDS):
            if max([self._fill(predicted, filled, name) for name in predicted.gone], default=0.0) < SETTLED:
                break
        return {name: column[:, 0] if name in values else column for name, column in filled.items()}

    def _fill(self, predicted: _Predicted, filled: dict[str, Array], name: str) -> float:
        """Fill in what is missing of a column, given the others; returns by how much it changed, in deviations."""
        limits.check()
        gone = predicted.gone[name]
        if not gone.any() or not (name in self.numbers or name in self.levels):
            return 0.0
        said, others, known = predicted.said[name][gone], _others(filled, name, gone), _known(predicted, name, gone)
        before, filled[name] = filled[name], filled[name].copy()
        if name in self.numbers:
            filled[name][gone, 0] = self.numbers[name](np.hstack([said, others]), known)
        else:
            filled[name][gone] = self.levels[name](said, others, known)
        change = np.abs(filled[name][gone] - before[gone]).mean()
        return float(change / (before.std() or 1.0)) if change else 0.0


def fit_regressions(
    net: BayesNet, codes: NDArray[np.int32], values: Mapping[str, Array], max_memory: float = MAX_MEMORY
) -> Regressions:
    """Fit experts for each column to the rows that have it.

    Args:
        net: the fitted network.
        codes: [rows, variables], -1 where missing.
        values: the continuous columns, [rows], NaN where missing.
        max_memory: bytes that one array may take.
    """
    predicted = _predicted(net, codes, values, max_memory, own_rows=net.n_rows == len(codes))
    filled, found = dict(predicted.start), Regressions({}, {})
    for _ in range(ROUNDS):
        change = 0.0
        for i, name in enumerate(net.names):
            limits.check()
            has = ~predicted.gone[name]
            if has.sum() < 2:
                continue
            said, others, known = predicted.said[name][has], _others(filled, name, has), _known(predicted, name, has)
            if name in values:
                found.numbers[name] = fit_mixture(np.hstack([said, others]), known, values[name][has])
            else:
                found.levels[name] = fit_votes(said, others, known, codes[has, i])
            change = max(change, found._fill(predicted, filled, name))
        if change < SETTLED:
            break
    return found


class _Predicted(NamedTuple):
    """What the network says of rows, for each column."""

    said: dict[str, Array]  # the mean [rows, 1] or the posterior [rows, states] given the rest of the row
    start: dict[str, Array]  # the number, or 1 at the state, where it is known, and what the network says elsewhere
    gone: dict[str, NDArray[np.bool_]]  # [rows]


def _predicted(
    net: BayesNet, codes: NDArray[np.int32], values: Mapping[str, Array], max_memory: float, *, own_rows: bool = False
) -> _Predicted:
    plain, predicted = net.network, _Predicted({}, {}, {})
    counts = expected_counts(plain, codes, max_memory=max_memory).counts if own_rows else []
    for i, name in enumerate(net.names):
        logs = log_posterior(plain, codes, i, max_memory=max_memory)
        if own_rows:
            _leave_own_row_out(net, codes, counts, i, logs)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        if name in net.binnings:
            predicted.said[name] = (weights @ net.inside(name).means)[:, None]
            predicted.gone[name], seen = np.isnan(values[name]), values[name][:, None]
        else:
            predicted.said[name] = weights
            predicted.gone[name], seen = codes[:, i] < 0, np.eye(weights.shape[1])[codes[:, i]]
        predicted.start[name] = np.where(predicted.gone[name][:, None], predicted.said[name], seen)
    return predicted


def _leave_own_row_out(
    net: BayesNet, codes: NDArray[np.int32], counts: list[Array], variable: int, logs: Array
) -> None:
    """Take each row's own count out of the tables that its posterior of a variable was made with, in place.

    Of the states of the variable only the row's own is touched: in the variable's family one cell loses a count (its
    context does too, which is the same for all states), in a child's family one cell and one context.
    """
    structure = net.network.structure
    for child, family in enumerate(structure.families):
        if variable not in family:
            continue
        rows, places = observed_places(structure, codes, child)
        rows = np.arange(len(codes)) if rows is None else rows
        name, n_states = net.names[child], structure.sizes[child]
        context = counts[child].sum(axis=-1).ravel()[places // n_states] + n_states * net.weight(name)
        cell = net.tables[name].ravel()[places] * context  # count and weight, whatever the weights of the others
        change = np.log(np.maximum(cell - 1, 1e-9) / cell)
        if child != variable:
            change -= np.log(np.maximum(context - 1, 1e-9) / context)
        logs[rows, codes[rows, variable]] += change


def _others(filled: Mapping[str, Array], name: str, rows: NDArray[np.bool_]) -> Array:
    """The other columns of some rows, [rows, features]."""
    return np.hstack([np.zeros((int(rows.sum()), 0)), *(c[rows] for other, c in filled.items() if other != name)])


def _known(predicted: _Predicted, name: str, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which of these are known and not filled in."""
    there = [
        np.repeat(~predicted.gone[other][rows, None], column.shape[1], axis=1)
        for other, column in predicted.start.items()
        if other != name
    ]
    return np.hstack([np.zeros((int(rows.sum()), 0), bool), *there])
