"""Networks in which being missing is a level: what an entry would be, were it there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.columns import MISSING
from jaxbn.inputs.missing import MISSING_LEVEL

if TYPE_CHECKING:
    import pandas as pd

    from jaxbn.model.bayesnet import BayesNet


def as_if_there(net: BayesNet) -> BayesNet:
    """The network without the chance of its missing levels.

    The levels stay where they are, with probability 0, and what is left of each distribution adds up to 1 again. That
    an entry is missing says nothing else then: it counts as missing at random.

    Example:
        >>> import jaxbn
        >>> net = jaxbn.fit({"kind": ["a", "b", None]}, {}, missing="state")
        >>> as_if_there(net).tables["kind"].tolist()
        [0.5, 0.5, 0.0]
    """
    tables, shares = dict(net.tables), dict(net.shares)
    for name in stateful(net):
        rest = np.array([level != MISSING_LEVEL for level in net.levels[name]], np.float64)
        if name in net.groupings:
            group_of = net.group_codes[name]
            by_level = rest * net.shares[name]
            rest = np.asarray(np.bincount(group_of, by_level), np.float64)  # what is left of each group
            shares[name] = by_level / np.where(rest > 0, rest, 1.0)[group_of]
        weights = net.tables[name] * rest
        total = weights.sum(axis=-1, keepdims=True)
        tables[name] = np.where(total > 0, weights, rest) / np.where(total > 0, total, rest.sum())
    return replace(net, tables=tables, shares=shares)


def stateful(net: BayesNet) -> list[str]:
    """The variables that have a missing level."""
    return [name for name, levels in net.levels.items() if MISSING_LEVEL in levels]


def to_be_filled(net: BayesNet, frame: pd.DataFrame, codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """The rows' codes, with -1 in the place of missing levels."""
    codes = codes.copy()
    for name in stateful(net):
        if name in frame.columns:
            codes[frame[name].isna().to_numpy(), net.names.index(name)] = MISSING
    return codes
