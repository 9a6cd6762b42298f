"""The density of the original values inside their bins, and the probability of levels inside their groups."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from jaxbn.groups.grouping import Grouping
from jaxbn.groups.levels import log_inside
from jaxbn.scores.coded_table import CodedTable, Coding


def density(data: CodedTable, policies: Mapping[str, Coding]) -> float:
    """Log density of the original values given their bins, ln p(D | Λ, D*): uniform over each bin's width.

    The outer bins end at the smallest and largest value; a constant variable has no density and adds nothing. Of a
    grouped variable it is the probability of the levels given their groups, the chances integrated out.
    """
    return math.fsum(column_density(data, name, policy) for name, policy in policies.items())


def column_density(data: CodedTable, name: str, policy: Coding) -> float:
    """The part of one variable in it."""
    if isinstance(policy, Grouping):
        return log_inside(policy, data.table.levels[name], data.known_codes(name))
    values = data.ordered[name].values
    if values[-1] == values[0]:
        return 0.0
    widths = np.diff([values[0], *policy.edges, values[-1]])
    counts = np.diff(np.searchsorted(values, policy.edges), prepend=0, append=len(values))
    occupied = (counts > 0) & (widths > 0)
    return -float((counts[occupied] * np.log(widths[occupied])).sum())
