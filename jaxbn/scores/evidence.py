"""F, the evidence of a whole table in original units: one number for cuts, groups and arcs.

Its equation is in docs/maths.md, "The evidence in original units". Families have their scores (`families`) and the
prior of their parents, which is to arcs what the charge for the number of bins is to cuts; codings have the density of
values inside bins, or the probability of levels inside groups, less that charge.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.binning import Binning
from jaxbn.cuts.evidence import WEIGHT, choice_cost
from jaxbn.cuts.shapes.shape import Shape
from jaxbn.groups.grouping import Grouping
from jaxbn.groups.levels import log_inside, log_partitions
from jaxbn.inputs.graph import Parents
from jaxbn.scores.coded_table import CodedTable, Coding, Columns
from jaxbn.scores.families import Family, score_families

ARC_CHARGE = math.log(2)  # nats that each parent costs, whatever the rows: a further one is half as probable a priori

Links = Mapping[frozenset[str], float]
"""Log odds, ln p / (1 - p), of links between two columns, whichever way these point."""


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
        return math.fsum([*families, *self._codings_of(columns, codings)])

    def without_families(self, parents: Parents, columns: Columns, codings: Mapping[str, Coding]) -> float:
        """F without the scores of the families: the prior of the arcs, and what each coding has by itself."""
        priors = [self._prior(name, parents[name], columns) for name in columns]
        return math.fsum([*priors, *self._codings_of(columns, codings)])

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

    def _codings_of(self, columns: Columns, codings: Mapping[str, Coding]) -> Iterator[float]:
        for name, coding in codings.items():
            key = name, columns[name].key
            if key not in self._codings:
                self._codings[key] = coding_evidence(self.data, name, coding, columns[name].n_states)
            yield self._codings[key]


# --- the prior over sets of parents, see docs/maths.md, "The best structure"


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


def log_links(child: str, parents: Iterable[str], links: Links) -> float:
    """What the links of a family add to the log prior: the sum of their log odds."""
    return math.fsum(links.get(frozenset((child, parent)), 0.0) for parent in parents) if links else 0.0


def log_prior(child: str, parents: Sequence[str], n_columns: int, links: Links, arc_charge: float) -> float:
    """Log prior of a family: of its number of parents (none if `arc_charge` is 0) and of its links."""
    own = log_parent_prior(n_columns, len(parents), arc_charge) if arc_charge else 0.0
    return own + log_links(child, parents, links)


def effective_parents(
    child: str, parents: Sequence[str], columns: Columns, required: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """The parents of a variable without idle ones: an arc from or to one state says nothing, unless it is required.

    A network never keeps an idle arc, so F does not charge for it; a required one stays whatever the cuts, and counts.
    """
    must, busy = required.get(child, ()), columns[child].n_states > 1
    return tuple(p for p in parents if p in must or (busy and columns[p].n_states > 1))


# --- codings


def coding_evidence(data: CodedTable, name: str, coding: Coding, n_states: int) -> float:
    """The part of F that a coding has by itself: density inside bins or groups, less the charge for them."""
    if isinstance(coding, Grouping):
        inside, m = column_density(data, name, coding), len(np.unique(data.known_codes(name)))
    else:
        inside, m = shaped_density(data, name, coding)[0], data.ordered[name].n_distinct
    return inside - coding_price(coding, m, n_states)


def coding_price(coding: Coding, m: int, k: int) -> float:
    """The charge for bins or groups: that of k among those of m distinct values."""
    if isinstance(coding, Grouping):
        return math.log(m) + float(log_partitions(m, k)[-1])
    return float(choice_cost(m, k))


def density(data: CodedTable, binnings: Mapping[str, Coding]) -> float:
    """Log density of the original values given their bins, ln p(D | Λ, D*): uniform over each bin's width.

    The outer bins end at the smallest and largest value; a constant variable has no density and adds nothing. Of a
    grouped variable it is the probability of the levels given their groups, the chances integrated out.
    """
    return math.fsum(column_density(data, name, binning) for name, binning in binnings.items())


def column_density(data: CodedTable, name: str, binning: Coding, shape: Shape | None = None) -> float:
    """The part of one variable in it, or, by the shape of a column, its log evidence given its bins."""
    if isinstance(binning, Grouping):
        levels = data.table.levels[name]
        return log_inside(binning, levels, np.bincount(data.known_codes(name), minlength=len(levels)))
    values = data.ordered[name].values
    if values[-1] == values[0] and (shape is None or shape.is_flat):
        return 0.0
    counts = np.diff(np.searchsorted(values, binning.cuts), prepend=0, append=len(values))
    return log_density(counts, binning.cuts, (values[0], values[-1]), shape)


def log_density(
    counts: NDArray[np.integer], cuts: NDArray[np.float64], ends: tuple[float, float], shape: Shape | None
) -> float:
    """Log density of values by how many are in each bin: ln Z - Σ n_b ln M(b), or -Σ n_b ln width_b without a shape."""
    # ln Z, and not Σ ln m(x): the base was found from the same rows, and has to pay for that
    # (docs/maths.md, "The shape of a column")
    if shape is None or shape.is_flat:
        measures, log_evidence = np.diff([ends[0], *cuts, ends[1]]), 0.0
    else:
        measures, log_evidence = np.diff([0.0, *shape.below(cuts), 1.0]), shape.log_evidence
    held = (counts > 0) & (measures > 0)
    return float(counts.sum() * log_evidence) - float((counts[held] * np.log(measures[held])).sum())


def shaped_density(data: CodedTable, name: str, binning: Binning) -> tuple[float, Shape | None]:
    """The log evidence of a column given its bins, by the shape for which it is highest."""
    found = [(column_density(data, name, binning, shape), shape) for shape in data.shapes_of(name)]
    best = max(found, key=lambda each: each[0], default=(-math.inf, None))
    return best if math.isfinite(best[0]) else (column_density(data, name, binning), None)


def shaped(data: CodedTable, codings: Mapping[str, Coding]) -> dict[str, Coding]:
    """Each binning with the shape that suits it best."""
    cut = {} if data.flat else {name: coding for name, coding in codings.items() if isinstance(coding, Binning)}
    return {**codings, **{n: replace(binning, shape=shaped_density(data, n, binning)[1]) for n, binning in cut.items()}}
