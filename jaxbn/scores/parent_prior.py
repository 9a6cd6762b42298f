"""The prior over sets of parents: to arcs what the charge for the number of bins is to cuts.

See docs/maths.md, "The best structure".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

RATIO = 2.0
"""Each further parent is this many times less probable a priori."""


def log_parent_prior(n_columns: int, n_parents: int) -> float:
    """Ln P(parents), up to a constant: -k ln 2 - ln C(N - 1, k), uniform over the sets of k among N - 1 columns.

    Without it all sets are equally probable, and among many candidates some win by luck.
    """
    return -n_parents * math.log(RATIO) - math.log(math.comb(n_columns - 1, n_parents))


Links = Mapping[frozenset[str], float]
"""Log odds, ln p / (1 - p), of links between two columns, whichever way these point."""


def log_links(child: str, parents: Iterable[str], links: Links) -> float:
    """What the links of a family add to the log prior: the log odds of each that is there."""
    return math.fsum(links.get(frozenset((child, parent)), 0.0) for parent in parents) if links else 0.0


def log_prior(child: str, parents: Sequence[str], n_columns: int, links: Links, parent_prior: bool) -> float:
    """Ln of the prior of a family: that of the number of its parents, where there is one, and that of its links."""
    return (log_parent_prior(n_columns, len(parents)) if parent_prior else 0.0) + log_links(child, parents, links)
