"""The prior over sets of parents: to arcs what the charge for the number of bins is to cuts.

See docs/maths.md, "The best structure".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

ARC_CHARGE = math.log(2)
"""Nats that each parent costs, whatever the rows: a further one is half as probable a priori."""


def arc_charge(n_rows: int, has_numbers: bool, arc_gain: float) -> float:
    """Nats that each parent costs: in a table with numbers, `arc_gain` for each row on top of the fixed charge.

    Where a acts on c through b alone, the bins of b lose some of what b says, so a still predicts c a little: a false
    link gains a little in every row, and with many rows that is more than any fixed charge.
    """
    return ARC_CHARGE + (arc_gain * n_rows if has_numbers else 0.0)


def log_parent_prior(n_columns: int, n_parents: int, arc_charge: float) -> float:
    """Ln P(parents), up to a constant: -k · charge - ln C(N - 1, k), uniform over the sets of k among N - 1 columns.

    Without it all sets are equally probable, and among many candidates some win by luck.
    """
    return -n_parents * arc_charge - math.log(math.comb(n_columns - 1, n_parents))


Links = Mapping[frozenset[str], float]
"""Log odds, ln p / (1 - p), of links between two columns, whichever way these point."""


def log_links(child: str, parents: Iterable[str], links: Links) -> float:
    """What the links of a family add to the log prior: the sum of their log odds."""
    return math.fsum(links.get(frozenset((child, parent)), 0.0) for parent in parents) if links else 0.0


def log_prior(child: str, parents: Sequence[str], n_columns: int, links: Links, arc_charge: float) -> float:
    """Log prior of a family: of its number of parents (none if `arc_charge` is 0) and of its links."""
    own = log_parent_prior(n_columns, len(parents), arc_charge) if arc_charge else 0.0
    return own + log_links(child, parents, links)
