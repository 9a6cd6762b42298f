"""F, the evidence of a whole table in original units: one number for cuts, groups and arcs.

Its equation is in docs/maths.md, "The evidence in original units".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jaxbn.cuts.evidence import choice_cost
from jaxbn.groups.grouping import Grouping
from jaxbn.groups.levels import log_partitions
from jaxbn.inputs.graph import Parents
from jaxbn.scores.coded_table import CodedTable, Coding, Columns
from jaxbn.scores.density import column_density, shaped_density
from jaxbn.scores.families import Column, Family, family_score
from jaxbn.scores.parent_prior import log_parent_prior


@dataclass
class Ledger:
    """F of one table, kept piece by piece: a family or a policy that was seen before is not worked out again."""

    data: CodedTable
    parent_prior: bool = False  # whether structures have a prior
    _families: dict[tuple[int, ...], float] = field(default_factory=dict)
    _codings: dict[tuple[str, int], float] = field(default_factory=dict)

    def evidence(self, parents: Parents, columns: Columns, codings: Mapping[str, Coding]) -> float:
        """F of a network with its cuts and groups."""
        families = [self.family(columns[name], [columns[p] for p in parents[name]]) for name in columns]
        return math.fsum([*families, *(self._coding(name, columns[name], coding) for name, coding in codings.items())])

    def beside(self, parents: Parents, columns: Columns, codings: Mapping[str, Coding]) -> float:
        """F without the scores of the families: the prior of the arcs, and what each coding has by itself."""
        priors = [self._prior_of(columns[name], [columns[p] for p in parents[name]]) for name in columns]
        return math.fsum([*priors, *(self._coding(name, columns[name], coding) for name, coding in codings.items())])

    def family(self, child: Column, parents: Sequence[Column]) -> float:
        """The part of F that a family has, with the prior of its parents."""
        key = Family(child, tuple(parents)).key
        score = _remembered(self._families, key, lambda: family_score(child, parents))
        return score + self._prior_of(child, parents)

    def _prior_of(self, child: Column, parents: Sequence[Column]) -> float:
        return self._prior(sum(parent.n_states > 1 for parent in parents) if child.n_states > 1 else 0)

    def _prior(self, n_parents: int) -> float:
        return log_parent_prior(len(self.data.names), n_parents) if self.parent_prior else 0.0

    def _coding(self, name: str, column: Column, coding: Coding) -> float:
        return _remembered(
            self._codings, (name, column.key), lambda: coding_evidence(self.data, name, coding, column.n_states)
        )


def coding_evidence(data: CodedTable, name: str, coding: Coding, n_states: int) -> float:
    """The part of F that a coding has by itself: density inside bins or groups, less the charge for them."""
    inside = (
        column_density(data, name, coding) if isinstance(coding, Grouping) else shaped_density(data, name, coding)[0]
    )
    return inside - _price(data, name, coding, n_states)


def _price(data: CodedTable, name: str, coding: Coding, n_states: int) -> float:
    if isinstance(coding, Grouping):
        m = len(np.unique(data.known_codes(name)))
        return math.log(m) + float(log_partitions(m, n_states)[-1])
    return float(choice_cost(data.ordered[name].n_distinct, n_states))


def _remembered(known: dict[Any, float], key: Any, work_out: Callable[[], float]) -> float:
    if key not in known:
        known[key] = work_out()
    return known[key]
