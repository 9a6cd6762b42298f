"""Where entries are missing, and what that depends on, by a network in which it is a state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.binning import date_forms
from jaxbn.inputs.graph import children_of
from jaxbn.inputs.later import pd
from jaxbn.inputs.missing import MISSING_LEVEL, share_words
from jaxbn.inputs.states import as_states, signed_name, with_signs
from jaxbn.inputs.table import Table, as_table
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.inference.questions import Chances, chances_of


def rows_of(net: BayesNet, frame: pd.DataFrame) -> Table:
    """Rows with the kinds that their columns have in a network, and with the same states for what is missing."""
    frame = with_signs(frame, [name for name in net.names if signed_name(name) is None])  # parts of dates
    frame = frame[[name for name in net.names if name in frame.columns]]
    discrete = [name for name in frame.columns if name in net.levels]
    continuous = [name for name in frame.columns if name in net.binnings]
    dates = date_forms({name: net.binnings[name] for name in continuous})
    table = as_table(frame, continuous=continuous, discrete=discrete, missing="infer", dates=dates)
    signs = [name for name in net.names if name not in frame.columns and signed_name(name) in table.values]
    levels = [name for name in discrete if MISSING_LEVEL in net.levels[name]]
    return as_states(table, [*(str(signed_name(sign)) for sign in signs), *levels]) if signs or levels else table


def missing_in(table: Table) -> dict[str, NDArray[np.bool_]]:
    """Where entries of each column that lacks some are missing, also where that is a state, [rows] each.

    Example:
        >>> from jaxbn.inputs.table import as_table
        >>> table = as_table({"age": [30.5, None], "kind": ["a", None]}, missing="state")
        >>> {name: where.tolist() for name, where in missing_in(table).items()}
        {'age': [False, True], 'kind': [False, True]}
    """
    found = {}
    for name in table.names:
        where = table.absent(name)
        if MISSING_LEVEL in table.levels.get(name, ()):
            where = where | (table.codes[name] == table.levels[name].index(MISSING_LEVEL))
        if where.any():
            found[name] = where
    return found


class Dependence(NamedTuple):
    """How often a column is missing, by the states of a neighbour in the network."""

    column: str
    share: float  # of rows that lack it
    neighbour: str | None  # None if being missing depends on nothing
    least: float
    most: float

    @property
    def words(self) -> str:
        """In words."""
        often = f"{self.column!r} is missing in {share_words(self.share)} of the rows"
        if self.neighbour is None:
            return f"{often}, whatever the other columns are"
        return f"{often}, by {self.neighbour!r} in {share_words(self.least)} to {share_words(self.most)}"


def dependences(net: BayesNet) -> list[Dependence]:
    """For every column whose being missing is a state, what it depends on; empty for other networks."""
    found: list[Dependence] = []
    chances: Chances | None = None
    children = children_of(net.parents)
    for name in net.names:
        of = signed_name(name)
        signed = of in net.binnings
        if not signed and MISSING_LEVEL not in net.levels.get(name, ()):
            continue
        place = net.levels[name].index(True if signed else MISSING_LEVEL)
        column = str(of) if signed else name
        chances = chances or chances_of(net)
        share = float(chances([name])[place])
        others = [*net.parents[name], *children[name]]
        for other in others:
            joint = chances([name, other])
            with np.errstate(invalid="ignore"):
                shares = joint[place] / joint.sum(axis=0)
            found.append(Dependence(column, share, other, float(np.nanmin(shares)), float(np.nanmax(shares))))
        found += [] if others else [Dependence(column, share, None, share, share)]
    return found
