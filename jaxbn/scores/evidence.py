"""F, the evidence of a whole table in original units: one number for cuts, groups and arcs.

Its equation is in docs/maths.md, "The evidence in original units".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from jaxbn.counts.codes import Column
from jaxbn.cuts.evidence import WEIGHT, choice_cost
from jaxbn.groups.grouping import Grouping
from jaxbn.groups.levels import log_partitions
from jaxbn.inputs.graph import Parents
from jaxbn.scores.coded_table import CodedTable, Coding, Columns
from jaxbn.scores.density import column_density, shaped_density
from jaxbn.scores.families import Family, score_families
from jaxbn.scores.parent_prior import Links, log_prior


@dataclass
class EvidenceCache:
    """F of one table, kept piece by piece: a family or a binning that was seen before is not worked out again."""

    data: CodedTable
    arc_charge: float = 0.0  # of the prior over structures; 0 for none
    required: Mapping[str, Sequence[str]] = field(default_factory=dict)  # parents that a variable must have
    links: Links = field(default_factory=dict)  # what is known of links, which counts with any prior
    _families: dict[tuple[int, ...], float] = field(default_factory=dict)
    _codings: dict[tuple[str, int], float] = field(default_factory=dict)

    def evidence(self, parents: Parents, columns: Columns, codings: Mapping[str, Coding]) -> float:
        """F of a network with its cuts and groups."""
        scores = self._scores([Family(columns[name], tuple(columns[p] for p in parents[name])) for name in columns])
        families = [
            score + self._prior(name, parents[name], columns) for score, name in zip(scores, columns, strict=True)
        ]
        return math.fsum([*families, *(self._coding(name, columns[name], coding) for name, coding in codings.items())])

    def without_families(self, parents: Parents, columns: Columns, codings: Mapping[str, Coding]) -> float:
        """F without the scores of the families: the prior of the arcs, and what each coding has by itself."""
        priors = [self._prior(name, parents[name], columns) for name in columns]
        return math.fsum([*priors, *(self._coding(name, columns[name], coding) for name, coding in codings.items())])

    def family(self, child: str, parents: Sequence[str], columns: Columns) -> float:
        """The part of F that a family has, with the prior of its parents."""
        (score,) = self._scores([Family(columns[child], tuple(columns[p] for p in parents))])
        return score + self._prior(child, parents, columns)

    def _scores(self, families: Sequence[Family]) -> list[float]:
        """The scores of some families, those that are not known all at once."""
        keys = [family.key for family in families]
        unknown = {key: family for key, family in zip(keys, families, strict=True) if key not in self._families}
        if unknown:
            found = score_families([(family, WEIGHT) for family in unknown.values()])
            self._families.update(zip(unknown, found, strict=True))
        return [self._families[key] for key in keys]

    def _prior(self, child: str, parents: Sequence[str], columns: Columns) -> float:
        if not (self.arc_charge or self.links):
            return 0.0
        kept = effective_parents(child, parents, columns, self.required)
        return log_prior(child, kept, len(self.data.names), self.links, self.arc_charge)

    def _coding(self, name: str, column: Column, coding: Coding) -> float:
        key = name, column.key
        if key not in self._codings:
            self._codings[key] = coding_evidence(self.data, name, coding, column.n_states)
        return self._codings[key]


def effective_parents(
    child: str, parents: Sequence[str], columns: Columns, required: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """The parents of a variable without idle ones: an arc from or to one state says nothing, unless it is required.

    A network never keeps an idle arc, so F does not charge for it; a required one stays whatever the cuts, and counts.
    """
    must, busy = required.get(child, ()), columns[child].n_states > 1
    return tuple(p for p in parents if p in must or (busy and columns[p].n_states > 1))


def coding_evidence(data: CodedTable, name: str, coding: Coding, n_states: int) -> float:
    """The part of F that a coding has by itself: density inside bins or groups, less the charge for them."""
    inside = (
        column_density(data, name, coding) if isinstance(coding, Grouping) else shaped_density(data, name, coding)[0]
    )
    grouped = isinstance(coding, Grouping)
    m = len(np.unique(data.known_codes(name))) if grouped else data.ordered[name].n_distinct
    return inside - coding_price(coding, m, n_states)


def coding_price(coding: Coding, m: int, k: int) -> float:
    """The charge for bins or groups: that of k among those of m distinct values."""
    if isinstance(coding, Grouping):
        return math.log(m) + float(log_partitions(m, k)[-1])
    return float(choice_cost(m, k))
