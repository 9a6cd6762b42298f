"""How probable single rows are, what each variable has to do with it, and which rows are odd.

The share of a variable is its log density given its parents; all shares of a row sum to the log density of the row.
Where entries are missing, it is the log density given the entries that the row has of the variables before it, in an
order in which parents come first: of a complete row the two are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.shapes.scores import Floats
from jaxbn.inputs import checks
from jaxbn.inputs.columns import MISSING
from jaxbn.inputs.graph import topological_order
from jaxbn.inputs.later import pd
from jaxbn.model.inference import answers
from jaxbn.model.observations import Unknown, encode_frame, frame_of
from jaxbn.model.queries import log_inside_states

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet


@dataclass(frozen=True, eq=False)
class RowScores:
    """What a network says of each row.

    Attributes:
        shares: log density of each variable given its parents, in original units [rows, variables]; 0 where missing.
        p_values: share of the rows drawn by the network that are no more probable than the row, by the entries that it
            has.
        variable_p_values: share of them in which a variable is no more probable given its parents, [rows, variables];
            NaN where missing.
        parents: of each variable.

    Example:
        >>> import jaxbn
        >>> data = {"kind": ["a"] * 500 + ["b"] * 500, "size": [1.0, 2.0] * 250 + [7.0, 9.0] * 250}
        >>> net = jaxbn.fit(data, [("kind", "size")], {"size": [4.5]})
        >>> scores = net.score_samples({"kind": ["a", "b"], "size": [1.5, 1.5]})
        >>> scores.reasons().tolist()
        ['', 'size given kind']
        >>> scores.log_density.round(2).tolist()
        [-1.95, -8.16]
    """

    shares: pd.DataFrame
    p_values: pd.Series
    variable_p_values: pd.DataFrame
    parents: dict[str, tuple[str, ...]]

    @property
    def log_density(self) -> pd.Series:
        """Log density of each row, the sum of its shares."""
        return self.shares.sum(axis=1).rename("log_density")

    def reasons(self, below: float = 0.01) -> pd.Series:
        """What is odd about each row: the variables with p-values below some number, the oddest first; '' for nothing.

        Where only the row as a whole has such a p-value, it is the variable that is oddest.

        Args:
            below: p-values that are odd; the smallest are about one in the number of drawn rows.

        Example:
            >>> import jaxbn
            >>> cars = jaxbn.datasets.load("auto_mpg").frame
            >>> net = jaxbn.learn(cars, restarts=1, progress=False)
            >>> net.score_samples(cars[:20]).reasons().shape
            (20,)
        """
        odd = []
        for whole, (_, row) in zip(self.p_values, self.variable_p_values.iterrows(), strict=True):
            ordered = row.dropna().sort_values(kind="stable")
            odd.append(ordered[ordered < below].index if (row < below).any() else ordered.index[: int(whole < below)])
        texts = ["; ".join(map(self._words, names)) for names in odd]
        return pd.Series(texts, index=self.shares.index, name="reasons", dtype=object)

    def _words(self, name: str) -> str:
        found = self.parents[name]
        return f"{name} given {', '.join(found)}" if found else name


def score_samples(
    net: BayesNet, data: Any, simulations: int, seed: int | np.random.Generator, unknown: Unknown
) -> RowScores:
    """Scores of each row, see ``BayesNet.score_samples``."""
    checks.at_least("simulations", simulations, 1)
    shares, missing = shares_of(net, data, unknown)
    rows = net.sample(simulations, seed)
    drawn, _ = shares_of(net, rows, "error")
    by_variable = np.stack([_shares_below(drawn[:, i], shares[:, i]) for i in range(len(net.names))], axis=1)
    p_values, totals = np.empty(len(shares)), shares.sum(axis=1)
    patterns, pattern = np.unique(missing, axis=0, return_inverse=True)
    for i, absent in enumerate(patterns):  # what is missing is summed out of the drawn rows too
        alike = pattern.ravel() == i
        like = drawn.sum(axis=1)
        if absent.any():
            like = net.log_likelihood(rows.assign(**{net.names[v]: None for v in np.flatnonzero(absent)}))
        p_values[alike] = _shares_below(like, totals[alike])
    index = data.index if hasattr(data, "iloc") else None
    return RowScores(
        pd.DataFrame(shares, index, list(net.names)),
        pd.Series(p_values, index, name="p_value"),
        pd.DataFrame(np.where(missing, np.nan, by_variable), index, list(net.names)),
        dict(net.parents),
    )


def shares_of(net: BayesNet, data: Any, unknown: Unknown) -> tuple[Floats, NDArray[np.bool_]]:
    """The share of each variable in the log density of each row, and where entries are missing."""
    frame = frame_of(net, data)
    codes = encode_frame(net, frame, unknown)
    missing = codes == MISSING
    shares = np.empty(codes.shape)
    for child in range(len(net.names)):
        rows, places = answers.observed_places(net.network.structure, codes, child)
        shares[rows, child] = net.network.log_tables[child].take(places)
    holed = np.flatnonzero(missing.any(axis=1))
    if len(holed):
        shares[holed] = _chain(net, codes[holed])
    return shares + log_inside_states(net, frame, codes, unknown), missing


def _chain(net: BayesNet, codes: NDArray[np.int32]) -> Floats:
    """The shares of the states of rows with holes: what each further entry adds to the log-likelihood."""
    shares, known, before = np.empty(codes.shape), np.full_like(codes, MISSING), np.zeros(len(codes))
    for name in topological_order(net.parents):
        v = net.names.index(name)
        known[:, v] = codes[:, v]
        now = answers.log_likelihood(net.network, known)
        shares[:, v], before = now - before, now
    return shares


def misplacement(net: BayesNet, data: Any, unknown: Unknown) -> Floats:
    """By how much each row would be more probable if one of its entries, any, came from another row; a logarithm.

    ln 1/d Σ_v P(v) / P(v | the other entries), over the states of the d variables: the ratio of the likelihoods of a
    row in which an entry was exchanged for one drawn from its column, and of a row as it should be.
    """
    codes = encode_frame(net, frame_of(net, data), unknown)
    together = answers.log_likelihood(net.network, codes)
    ratios = np.empty(codes.shape)
    for v in range(codes.shape[1]):
        others, alone = codes.copy(), np.full_like(codes, MISSING)
        others[:, v], alone[:, v] = MISSING, codes[:, v]
        ratios[:, v] = answers.log_likelihood(net.network, others) - together
        ratios[:, v] += answers.log_likelihood(net.network, alone)
    highest = ratios.max(axis=1)
    return np.asarray(highest + np.log(np.exp(ratios - highest[:, None]).mean(axis=1)))


def _shares_below(drawn: Floats, values: Floats) -> Floats:
    """Share of draws that are at most a value; the value counts as a draw, so that none is 0."""
    slack = 1e-9 * (1 + np.abs(values))  # sums in another order differ in their last digits
    at_most = np.searchsorted(np.sort(drawn), values + slack, side="right")
    return np.asarray((1 + at_most) / (1 + len(drawn)))
