"""Evidence about the bins of missing numbers from where the observed numbers lie inside theirs.

A network of bins sees the codes c of a row. Where its numbers lie inside their bins says more about a missing entry:
with x for the row's numbers and levels,

    P(state | x)  ~  P(state | c) P(x | c, state),   so   P(x | c, state)  ~  P(state | x) / P(state | c),

up to a factor that is the same for all states. P(state | x) is estimated from donors (``donors``), and P(state | c) is
the posterior under the network. Their ratio is the likelihood of each state, with which EM fits tables to all that was
observed, numbers included. Tables change the posterior, and the missing numbers of a row depend on each other; so
evidence and tables are updated in turns, until the posterior with the evidence agrees with the donors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.columns import MISSING
from jaxbn.inputs.graph import Parents
from jaxbn.model.imputing.donors import donors_of, features_of, indicators, predictors_of
from jaxbn.model.imputing.ridge import Scale
from jaxbn.model.inference.answers import draw_completions, posteriors
from jaxbn.model.inference.em import Counter, Weight, means
from jaxbn.model.inference.network import Network
from jaxbn.model.inference.tasks import Evidence
from jaxbn.runtime import limits

Array = NDArray[np.float64]
Codes = NDArray[np.int32]

MOST_ROWS, MOST_ENTRIES = 20_000, 10**6  # of tables whose numbers are used: in larger ones bins are fine
FEW_ENTRIES, TIMES = 50_000, 3  # up to so many entries donors are looked for so many times, with other draws
ROUNDS = 10  # of evidence and tables in turns
LEAST = 1e-12  # lower bound of probabilities in logarithms


def evidence_inside_bins(
    network: Network, parents: Parents, codes: Codes, values: Mapping[str, Array], alphas: Sequence[Weight]
) -> Evidence:
    """The log-likelihood of a row's numbers given each state of a missing one, up to a constant of each entry.

    The network is fitted to the codes [rows, variables], with Dirichlet weights `alphas`, and `parents` is its
    structure by names; values are the continuous columns, NaN where missing.
    """
    if len(parents) < 2 or len(codes) > MOST_ROWS or codes.size > MOST_ENTRIES:
        return {}
    sizes, absent = network.structure.sizes, codes == MISSING
    told = [i for i, name in enumerate(parents) if name in values and sizes[i] > 1]
    evidence = {i: np.zeros((len(codes), sizes[i])) for i in told if 0 < absent[:, i].sum() < len(codes)}
    if not evidence:
        return {}
    counter = Counter(network.structure, codes, evidence=evidence)

    def posterior() -> dict[int, Array]:
        return posteriors(network, codes, evidence, tasks=counter.tasks)

    said = _said(network, parents, codes, values, posterior())
    together = absent[:, list(evidence)].sum(axis=1, keepdims=True)
    for _ in range(ROUNDS):
        for i, chances in posterior().items():
            wanting = np.log(np.maximum(said[i], LEAST) / np.maximum(chances, LEAST))
            evidence[i][absent[:, i]] += wanting / together[absent[:, i]]  # the missing numbers of a row move together
        network = means(network.structure, counter.expected(network).counts, alphas)
    return evidence


def _said(
    network: Network, parents: Parents, codes: Codes, values: Mapping[str, Array], posterior: Mapping[int, Array]
) -> dict[int, Array]:
    """Probabilities of the states of missing numbers by their donors, for each column of `posterior`, [holes, K].

    Other missing entries of a row are filled in by draws, several times, so that their uncertainty counts.
    """
    names = list(parents)
    known = {name: codes[:, i] != MISSING for i, name in enumerate(names)}
    seen = {name: Scale.of(np.sort(column[~np.isnan(column)])).to(column) for name, column in values.items()}
    found = {i: np.zeros(chances.shape) for i, chances in posterior.items()}
    rng = np.random.default_rng(0)
    times = TIMES if codes.size <= FEW_ENTRIES else 1
    for _ in range(times):
        drawn = draw_completions(network, codes, rng)
        columns = {
            name: _numbers(seen[name], codes[:, i], drawn[:, i], rng)
            if name in values
            else indicators(drawn[:, i], network.structure.sizes[i])
            for i, name in enumerate(names)
        }
        for i, chances in posterior.items():
            limits.check()
            own = columns[names[i]]
            features, shown = features_of(columns, known, predictors_of(parents, names[i]))
            donors = donors_of(own[:, 0], features, shown, codes[:, i])
            found[i] += donors.chances(codes[:, i], chances) / times
            own[~known[names[i]]] = own[donors.draw(rng)]
    return found


def _numbers(seen: Array, bins: Codes, drawn: NDArray[np.integer[Any]], rng: np.random.Generator) -> Array:
    """A continuous column, with the number of any row in the drawn bin where it is missing, [n, 1]."""
    has, gone = rng.permutation(np.flatnonzero(bins != MISSING)), bins == MISSING
    has = has[np.argsort(bins[has], kind="stable")]
    begin, end = (np.searchsorted(bins[has], drawn[gone], side=side) for side in ("left", "right"))
    empty = begin == end  # no row is in this bin: any row
    rows = has[rng.integers(np.where(empty, 0, begin), np.where(empty, len(has), end))]
    found = seen.copy()
    found[gone] = seen[rows]
    return found[:, None]
