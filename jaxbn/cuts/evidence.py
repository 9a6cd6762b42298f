"""The evidence of the data in original units, one objective for cuts and structure.

    F(G, Λ) = Σ_i ln P(X*_i | Pa*_i) + Σ_{continuous i} [ ln Z_i - Σ_bins n_b ln M_i(b) - charge of k_i of m_i ]

P is the evidence of the codes with Dirichlet weights of one half (`WEIGHT`), k_i the bins and m_i the distinct values
of a variable, M_i(b) the share of a bin in the base measure of the column and Z_i the evidence of the column alone
(`shape`); for a flat shape these are the length of the bin and 1, in the units of the column. With all the rest fixed,
minus F is a charge A(k) for the number of bins of one variable plus a sum over its intervals, the same form as the
minimum description length: the optimum is exact (docs/maths.md, "The evidence in original units").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from jaxbn.cuts.blanket import Factor
from jaxbn.cuts.by_number.charged import Charged
from jaxbn.cuts.problem import ALL, Rows, Spread, Term, dirichlet_terms
from jaxbn.cuts.shapes.shape import Shape
from jaxbn.cuts.sorted_values import Ordered

WEIGHT = 0.5
"""Dirichlet weight of every cell in the families of F, for cuts, groups and arcs alike: Jeffreys' prior.

Cuts are exact with any weight from one half on (docs/maths.md, "Pruning"); the reasons are in docs/methods.md.
"""

FEW_BINS = 2048
"""Costs of at most this many bins are cached by themselves: of millions of values all costs would fill the memory."""

MANY_VALUES = 2**22  # with more distinct values the costs of few bins are computed without those of the others

TOLERANCE = 1e-9
"""Share of `min_width` that rounding may take: on a regular grid a bin of one value is just one step wide."""


def choice_cost(n_distinct: int, n_bins: ArrayLike) -> NDArray[np.float64]:
    """The charge for choosing k - 1 of m - 1 gaps: minus the log of their prior (docs/maths.md, "The prior over cuts").

    Each gap is a cut with probability π, of density proportional to (1 - π)^(b - 1) up to 1/2, b = √m in whole numbers.
    With the limit of 1/2 the charge rises with every cut, up to k = m; without, it would fall again beyond k = m / 2.
    """
    bins = np.asarray(n_bins)
    few = bins.size and bins.max() <= FEW_BINS
    return _choice_costs(n_distinct, FEW_BINS if few else n_distinct)[bins - 1]


@lru_cache(maxsize=256)
def _choice_costs(m: int, most: int) -> NDArray[np.float64]:
    """For k = 1, 2, … up to `most`: with N = m + b - 1, k C(N, k) 2^N / Σ_{j >= k} C(N, j) · (1 - 2^-b) / b."""
    b = round(m**0.5)
    without_tail = most <= FEW_BINS and m > MANY_VALUES
    k = np.arange(1, most + 1 if without_tail else m + b, dtype=np.float64)
    log_choose = gammaln(m + b) - gammaln(k + 1) - gammaln(m + b - k)
    if without_tail:  # it is next to all of the sum: the few terms that it lacks are below 1e-300
        costs = np.asarray(np.log(k) + log_choose - np.log(b))
    else:
        log_tail = np.logaddexp.accumulate(log_choose[::-1])[::-1]
        costs = np.log(k) + log_choose - log_tail + (m + b - 1) * np.log(2.0) + np.log1p(-(0.5**b)) - np.log(b)
        costs = costs[: min(m, most)].copy()  # a view would keep all of them
    costs.setflags(write=False)
    return costs


def own_charge(configurations: NDArray[np.int64], most_states: int, weight: float) -> NDArray[np.float64]:
    """Σ_j [ ln Γ(ak + N_j) - ln Γ(ak) ] of a variable of k states, bins or groups, for k = 1..most_states.

    `configurations` are N_j, the weight of each parent configuration, and `weight` is a; 1 / a must be a whole number.
    """
    sizes, repeats = np.unique(configurations, return_counts=True)
    # one table of ln Γ at multiples of a serves all N_j: a k + N_j is the multiple number k + N_j / a, hence the whole
    # 1 / a
    k, found = weight * np.arange(1, most_states + 1), np.zeros(most_states)
    log_gamma, every, steps = gammaln(k), None, round(1 / weight)
    if len(sizes) * most_states > sizes[-1]:
        every = gammaln(weight * np.arange(1, most_states + steps * int(sizes[-1]) + 1))
    for n, times in zip(sizes, repeats, strict=True):
        found += times * ((gammaln(k + n) if every is None else every[steps * n :][:most_states]) - log_gamma)
    return found


def evidence_problem(
    ordered: Ordered,
    factors: Sequence[Factor],
    weights: NDArray[np.int32] | None,
    min_width: float,
    most_bins: int | None = None,
    shape: Shape | None = None,
    n_distinct: int | None = None,
) -> Charged:
    """One variable to cut, into at most so many bins; the cost is minus the part of F that depends on its binning.

    The ruler of its intervals is the measure of a shape, or their length. `n_distinct` is that of the column, where
    these rows show fewer values.
    """
    own = factors[0]
    configurations = own.counts(weights)
    # the variable's own part of the cost, width included, is superadditive for weights from one half on, and so it is
    # its own floor (docs/maths.md, "Pruning", lemma 2); the factors of the children have the entropy
    each = (WEIGHT,)
    terms = [
        Term(own.cell, own.n_cells, -1.0, each, each, ALL, WEIGHT * own.n_cells, weight=WEIGHT),
        *dirichlet_terms(factors[1:], WEIGHT, 1),
    ]
    spread, per_value = _spread(ordered, min_width, shape)
    rows = Rows(ordered.can_cut, terms, weights, spread, every=ordered.positions)
    # A(k), what depends on the number of bins alone: of its own family and of the choice
    m = n_distinct or ordered.n_distinct
    most = m if most_bins is None else min(most_bins, m)
    charge = own_charge(configurations, most, WEIGHT) + choice_cost(m, np.arange(1, most + 1))
    return Charged(rows, charge, rows.total * per_value)


def _spread(ordered: Ordered, min_width: float, shape: Shape | None) -> tuple[Spread | None, float]:
    """Where intervals end in units of the whole, and the cost of a value in the whole; a constant has no width.

    Lengths are measured from zero, or from the value nearest to it: only there can values lie closer together than the
    rounding of their range, and measured from elsewhere their differences would be lost.
    """
    values = ordered.values
    low, high = float(values[0]), float(values[-1])
    if high == low:
        return None, 0.0
    scale = 1.0 if np.isfinite(high - low) else 0.25
    span = high * scale - low * scale
    origin, n = min(max(low, 0.0), high) * scale, len(values)
    lengths = Spread(n, lambda positions: (ordered.ends(positions) * scale - origin) / span)
    latest = _latest(lengths, min(min_width * scale / span, 1.0) * (1 - TOLERANCE)) if min_width else None
    if shape is None or shape.is_flat:
        return replace(lengths, latest=latest), float(np.log(span) - np.log(scale))

    def measure(positions: NDArray[np.integer]) -> NDArray[np.float64]:
        inside = (positions > 0) & (positions < n)
        return np.where(inside, shape.below(ordered.ends(positions)), positions > 0)

    return Spread(n, measure, latest), -shape.log_evidence


def _latest(lengths: Spread, least: float) -> NDArray[np.int32]:
    """The last row that an interval may begin with so that it is wide enough; a single interval always is."""
    begins, ends = lengths.positions[:-1], lengths.positions[1:]
    found = np.searchsorted(begins, ends - least, side="right") - 1
    # rounding: what the comparison of the difference says, not that of the sum
    found -= (found >= 0) & (ends - begins[np.maximum(found, 0)] < least)
    after = np.minimum(found + 1, len(begins) - 1)
    found += (after > found) & (ends - begins[after] >= least)
    found[-1] = max(found[-1], 0)
    return np.minimum(found, np.arange(len(begins))).astype(np.int32)
