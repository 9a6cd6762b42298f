"""K2 interleaved with discretization, for one order of the variables (design section 5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxbn.groups.grouping import Grouping
from jaxbn.groups.levels import log_inside
from jaxbn.learning.coded_table import CodedTable, Coding, Column, Columns, Start
from jaxbn.learning.passes import Rate, Settled, discretize_steps
from jaxbn.learning.workshop import Family, Learner
from jaxbn.scores.tables import family_counts, k2_score


class Constraints(NamedTuple):
    """What a structure must keep to."""

    max_parents: int
    required: Mapping[str, tuple[str, ...]]  # parents that a variable must have
    forbidden: frozenset[tuple[str, str]]  # arcs (parent, child) that may not be
    max_cells: int  # of a family's table


class Learned(NamedTuple):
    """A structure with its policies."""

    order: tuple[str, ...]
    parents: dict[str, tuple[str, ...]]  # in order of addition
    policies: dict[str, Coding]
    score: float  # ln P(D* | G)
    criterion: float  # what restarts are compared by
    trace: tuple[float, ...] = ()  # of the evidence, where that is the objective


Watcher = Callable[[int, dict[str, tuple[str, ...]], Settled], None]
"""Told after every variable and every arc: variables done, parents so far, the current discretization."""


def k2_steps(
    data: CodedTable,
    order: Sequence[str],
    start: Start,
    constraints: Constraints,
    *,
    rate: Rate,
    max_passes: float,
    warm_start: bool,
    select: str,
    watch: Watcher = lambda done, parents, settled: None,
) -> Learner[Learned]:
    """Give every variable the predecessors that raise its score most, re-discretizing after each accepted arc.

    The score to beat is that of the codes before the arc was accepted; it is not recomputed on the new ones, as in the
    authors' program.
    """
    parents = {name: constraints.required.get(name, ()) for name in data.names}
    settled = yield from discretize_steps(data, parents, order, start, rate, max_passes)
    for position, name in enumerate(order):
        own = tuple(settled.columns[p] for p in parents[name])
        (to_beat,) = yield [Family(settled.columns[name], own)]
        while len(parents[name]) < constraints.max_parents:
            candidates = candidate_parents(name, order[:position], parents[name], settled.columns, constraints)
            if not candidates:
                break
            columns = settled.columns
            own = tuple(columns[p] for p in parents[name])
            scores = yield [Family(columns[name], (*own, columns[candidate])) for candidate in candidates]
            best = first_best(scores)
            if not scores[best] > to_beat + tolerance(to_beat):
                break
            to_beat = scores[best]
            parents[name] = (*parents[name], candidates[best])
            again = settled.start if warm_start else start
            settled = yield from discretize_steps(data, parents, order, again, rate, max_passes)
            watch(position, parents, settled)
        watch(position + 1, parents, settled)
    score = math.fsum(
        family_score(settled.columns[name], [settled.columns[p] for p in parents[name]]) for name in data.names
    )
    criterion = score + (density(data, settled.policies) if select == "density" else 0.0)
    return Learned(tuple(order), parents, settled.policies, score, criterion)


def candidate_parents(
    name: str, predecessors: Sequence[str], chosen: Sequence[str], columns: Columns, constraints: Constraints
) -> list[str]:
    """Predecessors that may still become a parent, those excepted whose table would be too large."""
    cells = columns[name].n_states * math.prod(columns[p].n_states for p in chosen)
    return [
        other
        for other in predecessors
        if other not in chosen
        and (other, name) not in constraints.forbidden
        and cells * columns[other].n_states <= constraints.max_cells
    ]


def first_best(scores: Sequence[float]) -> int:
    """The highest score; of equal ones, up to rounding, the first."""
    top = max(scores)
    return next(i for i, score in enumerate(scores) if score >= top - tolerance(top))


def tolerance(score: float) -> float:
    """Rounding is no reason for an arc."""
    return 1e-11 * (1 + abs(score))


def family_score(child: Column, parents: Sequence[Column]) -> float:
    """The score of a family to the last bit: that of a batch is rounded otherwise in a batch of another size."""
    shape = [column.n_states for column in (*parents, child)]
    return k2_score(family_counts(child.codes, [parent.codes for parent in parents], shape))


def density(data: CodedTable, policies: Mapping[str, Coding]) -> float:
    """Log density of the original values given their bins, ln p(D | Λ, D*): uniform over each bin's width.

    The outer bins end at the smallest and largest value; a constant variable has no density and adds nothing. Of a
    grouped variable it is the probability of the levels given their groups, the chances integrated out.
    """
    return math.fsum(column_density(data, name, policy) for name, policy in policies.items())


def column_density(data: CodedTable, name: str, policy: Coding) -> float:
    """What one variable adds to it."""
    if isinstance(policy, Grouping):
        return log_inside(policy, data.table.levels[name], data.table.codes[name])
    values = data.ordered[name].values
    if values[-1] == values[0]:
        return 0.0
    widths = np.diff([values[0], *policy.edges, values[-1]])
    counts = np.diff(np.searchsorted(values, policy.edges), prepend=0, append=len(values))
    occupied = (counts > 0) & (widths > 0)
    return -float((counts[occupied] * np.log(widths[occupied])).sum())
