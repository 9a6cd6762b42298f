"""The minimum description length of Friedman and Goldszmidt (docs/maths.md, "Description length").

Its penalty depends on the number of intervals k alone and is not linear in it, so the cuts are those of the k with
the least `penalty(k) + B(k)`, B(k) being the least entropy of a partition into k intervals.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.blanket import Factor
from jaxbn.cuts.by_number.charged import Charged
from jaxbn.cuts.problem import Rows, entropy_terms
from jaxbn.cuts.sorted_values import Ordered


def penalty(factors: Sequence[Factor], total_weight: int, n_distinct: int) -> NDArray[np.float64]:
    """The terms of the equation that depend on the number of intervals alone, for k = 1..m [m].

    |Pa_X| is 1 where X has no parents; |Pa_Xj| is X's bins times the spouses' configurations.
    """
    k = np.arange(1, n_distinct + 1, dtype=np.float64)
    parameters = float(factors[0].n_states) * (k - 1)
    for child in factors[1:]:
        parameters = parameters + k * float(child.context_states) * (child.n_states - 1)
    gaps = n_distinct - 1
    share = (k - 1) / max(gaps, 1)
    return 0.5 * np.log(total_weight) * parameters + np.log(k) + gaps * _binary_entropy(share)


def description_length_problem(
    ordered: Ordered, factors: Sequence[Factor], weights: NDArray[np.int32] | None, most_bins: int | None = None
) -> Charged:
    """One variable to cut, into at most so many bins; the cost is the printed equation."""
    total = len(ordered.values) if weights is None else int(weights.sum())
    marginal = sum(_outcome_entropy(factor, weights) for factor in factors)
    rows = Rows(ordered.can_cut, entropy_terms(factors), weights)
    return Charged(rows, penalty(factors, total, ordered.n_distinct)[:most_bins], -marginal)


def _binary_entropy(p: NDArray[np.float64]) -> NDArray[np.float64]:
    q = 1 - p
    return -(p * np.log(np.where(p > 0, p, 1)) + q * np.log(np.where(q > 0, q, 1)))


def _outcome_entropy(factor: Factor, weights: NDArray[np.int32] | None) -> float:
    """The marginal n H(outcome): as n I = n H(outcome) - E, it turns E into the printed mutual information."""
    known = factor.outcome >= 0
    outcomes, weights = (
        (factor.outcome[known], None if weights is None else weights[known])
        if factor.lacking
        else (factor.outcome, weights)
    )
    counts = np.bincount(outcomes, weights=weights).astype(np.float64)
    counts = counts[counts > 0]
    return float(-(counts * np.log(counts / counts.sum())).sum())
