"""The evidence of the data in original units, one objective for cuts and structure (design section 3b).

    F(G, Λ) = Σ_i ln P(X*_i | Pa*_i) - Σ_{continuous i} [ Σ_bins n_b ln width_b + ln k_i + ln C(m_i - 1, k_i - 1) ]

P is the K2 evidence of the codes, k_i the bins and m_i the distinct values of a variable. With all the rest fixed,
minus F is a charge A(k) for the number of bins of one variable plus a sum over its intervals, the same shape as the
minimum description length: the optimum is exact.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from jaxbn.cuts.blanket import Factor
from jaxbn.cuts.by_count import Charged
from jaxbn.cuts.problem import ALL, Rows, Spread, Term, dirichlet_terms
from jaxbn.cuts.sorted_values import Ordered, midpoints

TOLERANCE = 1e-9
"""Share of `min_width` that rounding may take: on a regular grid a bin of one value is just one step wide."""


def choice_cost(n_distinct: int, n_bins: ArrayLike) -> NDArray[np.float64]:
    """The price of a policy, ln k + ln C(m - 1, k - 1)."""
    k = np.asarray(n_bins, np.float64)
    return np.log(k) + gammaln(n_distinct) - gammaln(k) - gammaln(n_distinct - k + 1)


def charge(configurations: NDArray[np.int64], n_distinct: int) -> NDArray[np.float64]:
    """A(k) = Σ_j [ ln Γ(k + N_j) - ln Γ(k) ] + ln k + ln C(m - 1, k - 1), for k = 1..m [m].

    Args:
        configurations: N_j, the weight of every parent configuration.
        n_distinct: m.
    """
    sizes, repeats = np.unique(configurations, return_counts=True)
    log_gamma = gammaln(np.arange(1, n_distinct + int(sizes[-1]) + 1))  # of 1, 2, …
    own = sum(r * (log_gamma[n : n + n_distinct] - log_gamma[:n_distinct]) for n, r in zip(sizes, repeats, strict=True))
    return own + choice_cost(n_distinct, np.arange(1, n_distinct + 1))


def most_bins(n_rows: int) -> int:
    """The largest number of bins that is considered: two rows a bin, or 32 bins.

    ln C(m - 1, k - 1) falls again beyond k = m / 2 and is 0 at k = m, where every value without repeats has a bin of
    its own and the widths follow the gaps of the sample: F would prefer that to one bin in 100,000 rows of noise.
    """
    return max(32, n_rows // 2)


def evidence_problem(
    ordered: Ordered, factors: Sequence[Factor], weights: NDArray[np.int32] | None, min_width: float
) -> Charged:
    """One variable to cut; the cost is minus the part of F that depends on its policy."""
    own = factors[0]
    configurations = np.bincount(own.cell, weights, own.n_cells).astype(np.int64)
    # within a factor of the parents the cost is superadditive as it stands, so it is its own floor
    terms = [Term(own.cell, own.n_cells, -1.0, (1,), (1,), ALL, own.n_cells), *dirichlet_terms(factors[1:], 1)]
    spread, log_range = _spread(ordered, min_width)
    rows = Rows(ordered.can_cut, terms, weights, spread)
    charges = charge(configurations, ordered.n_distinct)[: most_bins(rows.total)]
    return Charged(rows, charges, rows.total * log_range)


def smallest_gap(ordered: Ordered) -> float:
    """The smallest gap between distinct values, 0 for a constant."""
    gaps = np.diff(ordered.values)[ordered.can_cut[:-1]]
    return float(gaps.min()) if len(gaps) else 0.0


def _spread(ordered: Ordered, min_width: float) -> tuple[Spread | None, float]:
    """Where intervals end in units of the range, and the log of the range; a constant has no width.

    Ends are measured from zero, or from the value nearest to it: only there can values lie closer together than the
    rounding of their range, and measured from elsewhere their differences would be lost.
    """
    values = ordered.values
    low, high = float(values[0]), float(values[-1])
    if high == low:
        return None, 0.0
    scale = 1.0 if np.isfinite(high - low) else 0.25
    span = high * scale - low * scale
    cuts = np.flatnonzero(ordered.can_cut)
    edges = midpoints(values[cuts], values[cuts + 1])
    of_row = np.append(edges, high)[np.searchsorted(cuts, np.arange(len(values)))]
    allowed = min(min_width * scale / span, 1.0) * (1 - TOLERANCE)
    origin = min(max(low, 0.0), high) * scale
    begin, end = (low * scale - origin) / span, (of_row * scale - origin) / span
    return Spread(end, allowed, begin), float(np.log(span) - np.log(scale))
