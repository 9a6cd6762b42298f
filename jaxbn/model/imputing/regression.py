"""Missing entries filled in by regressions and nearest neighbours together with the network's posterior.

Each continuous column is predicted (``Mixture``) from the network's posterior mean, the other continuous columns and
the probabilities of the discrete ones, and so are the levels of discrete columns (``Votes``). Missing predictors are
filled in by the network first, and by the predictions in later rounds. Where the network was fitted to these very rows,
each row's own counts are left out of its posterior; otherwise the network would seem to know more than it does about
entries that are missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from jaxbn.model.fitted import Fitted
from jaxbn.model.imputing.donors import features_of
from jaxbn.model.imputing.ridge import Array
from jaxbn.model.imputing.stacking import Mixture, Votes, fit_mixture, fit_votes
from jaxbn.model.inference.answers import log_posterior, observed_places
from jaxbn.model.inference.em import Counter
from jaxbn.runtime import limits

ROUNDS = 10  # rounds at most
SETTLED = 1e-3  # rounds end when entries change by less than this on average, in deviations of their column


Experts = dict[str, Mixture | Votes]  # of each column


def filled_by(experts: Experts, net: Fitted, codes: NDArray[np.int32], values: Mapping[str, Array]) -> dict[str, Array]:
    """Every column with its missing entries filled in: numbers [rows], or chances of states [rows, states]."""
    rows = _predicted(net, codes, values)
    for _ in range(ROUNDS):
        if max([rows.fill(name, experts.get(name)) for name in net.names], default=0.0) < SETTLED:
            break
    return {name: column[:, 0] if name in values else column for name, column in rows.filled.items()}


def fit_regressions(net: Fitted, codes: NDArray[np.int32], values: Mapping[str, Array]) -> Experts:
    """Fit experts for each column to the rows that have it: codes [rows, variables], and numbers, NaN where missing."""
    rows = _predicted(net, codes, values, own_rows=net.n_rows == len(codes))
    experts: Experts = {}
    for _ in range(ROUNDS):
        change = 0.0
        for i, name in enumerate(net.names):
            limits.check()
            has = ~rows.gone[name]
            if has.sum() < 2:
                continue
            told = rows.told(name, has)
            experts[name] = fit_mixture(*told, values[name][has]) if name in values else fit_votes(*told, codes[has, i])
            change = max(change, rows.fill(name, experts[name]))
        if change < SETTLED:
            break
    return experts


class _Predicted(NamedTuple):
    """Rows, and what the network says of them, for each column."""

    said: dict[str, Array]  # the mean [rows, 1] or the posterior [rows, states] given the rest of the row
    filled: dict[str, Array]  # the number, or 1 at the state, where it is known, and what was last said elsewhere
    gone: dict[str, NDArray[np.bool_]]  # [rows]

    def told(self, name: str, rows: NDArray[np.bool_]) -> tuple[Array, Array, NDArray[np.bool_]]:
        """For some rows: the network's prediction of a column, the other columns, and which of these are observed."""
        filled = {other: column[rows] for other, column in self.filled.items()}
        known = {other: ~gone[rows] for other, gone in self.gone.items()}
        return self.said[name][rows], *features_of(filled, known, [other for other in filled if other != name])

    def fill(self, name: str, expert: Mixture | Votes | None) -> float:
        """Fill in a column's missing entries given the others; returns the mean change, in standard deviations."""
        limits.check()
        gone = self.gone[name]
        if expert is None or not gone.any():
            return 0.0
        before, after = self.filled[name], self.filled[name].copy()
        after[gone] = expert(*self.told(name, gone))
        self.filled[name] = after
        change = np.abs(after[gone] - before[gone]).mean()
        return float(change / (before.std() or 1.0)) if change else 0.0


def _predicted(
    net: Fitted, codes: NDArray[np.int32], values: Mapping[str, Array], *, own_rows: bool = False
) -> _Predicted:
    found = _Predicted({}, {}, {})
    counts = Counter(net.network.structure, codes).expected(net.network).counts if own_rows else []
    for i, name in enumerate(net.names):
        logs = log_posterior(net.network, codes, i)
        if own_rows:
            _leave_own_row_out(net, codes, counts, i, logs)
        said = np.asarray(softmax(logs, axis=1))
        gone, seen = codes[:, i] < 0, np.eye(said.shape[1])[codes[:, i]]
        if name in net.binnings:
            said = (said @ net.inside(name).means)[:, None]
            gone, seen = np.isnan(values[name]), values[name][:, None]
        found.said[name], found.gone[name] = said, gone
        found.filled[name] = np.where(gone[:, None], said, seen)
    return found


def _leave_own_row_out(net: Fitted, codes: NDArray[np.int32], counts: list[Array], variable: int, logs: Array) -> None:
    """Take each row's own count out of the tables behind its log posterior of a variable, in place.

    Of the states of the variable only the row's own is touched: in the variable's family one cell loses a count (its
    context does too, which is the same for all states), in a child's family one cell and one context.
    """
    structure = net.network.structure
    for child, family in enumerate(structure.families):
        if variable not in family:
            continue
        rows, places = observed_places(structure, codes, child)
        rows = np.arange(len(codes))[rows]
        name, n_states = net.names[child], structure.sizes[child]
        context = counts[child].sum(axis=-1).ravel()[places // n_states] + n_states * net.weight(name)
        cell = net.tables[name].ravel()[places] * context  # count and weight, whatever the weights of the others
        change = np.log(np.maximum(cell - 1, 1e-9) / cell)
        if child != variable:
            change -= np.log(np.maximum(context - 1, 1e-9) / context)
        logs[rows, codes[rows, variable]] += change
