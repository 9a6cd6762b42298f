"""The prior over sets of parents: to arcs what the charge for the number of bins is to cuts.

See docs/maths.md, "The best structure".
"""

from __future__ import annotations

import math

RATIO = 2.0
"""Each further parent is this many times less probable a priori."""


def log_parent_prior(n_columns: int, n_parents: int) -> float:
    """Ln P(parents), up to a constant: -k ln 2 - ln C(N - 1, k), uniform over the sets of k among N - 1 columns.

    Without it all sets are equally probable, and among many candidates some win by luck.

    Example:
        >>> round(log_parent_prior(3, 1), 3)  # -ln 2 - ln 2
        -1.386
    """
    return -n_parents * math.log(RATIO) - math.log(math.comb(n_columns - 1, n_parents))
