"""Groups of levels drawn from their posterior: level after level, each joins a group or begins one of its own.

A level is taken out of its group, and put where the evidence of the partition says, by chance: a Gibbs step. All
partitions can be reached so, and each step leaves their posterior invariant (docs/maths.md, "Draws of cuts and arcs").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.blanket import Factor
from jaxbn.cuts.evidence import WEIGHT
from jaxbn.groups.grouping import Grouping, as_groups
from jaxbn.groups.levels import every_level
from jaxbn.groups.merging import Groups, Problem, renumber, rows_of
from jaxbn.inputs.columns import MISSING, Level


def draw_groups(
    levels: Sequence[Level],
    codes: NDArray[np.int32],
    factors: Sequence[Factor],
    now: Grouping,
    most: int,
    rng: np.random.Generator,
) -> Grouping:
    """Every observed level visited once, in an order by chance; levels without a row stay where they cost least.

    The code of a row is the position of its level; `factors` are the families of the variable, for these rows, and
    `most` the groups that are allowed.
    """
    observed, unit = np.unique(codes, return_inverse=True)
    problem = every_level(unit, factors, most, WEIGHT)
    _, where = np.unique(now(levels)[observed], return_inverse=True)
    where = redraw(problem, where.astype(np.int64), rng)
    group_of = np.full(len(levels), MISSING)
    group_of[observed] = where
    rows = np.bincount(where, problem.units.totals)
    group_of[group_of == MISSING] = int(np.argmin(rows / np.bincount(where, problem.units.sizes)))
    return Grouping(as_groups(levels, group_of), method="draw")


def redraw(problem: Problem, where: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """The group of each unit after one visit to all of them, numbered without gaps."""
    where = where.copy()
    groups = Groups(problem, where, int(where.max()) + 2)
    groups.n += 1  # the last group is always empty: room for a unit that begins a group
    for unit in rng.permutation(len(where)).tolist():
        rows = at, counts, size, total = rows_of(problem.units, unit)
        home = int(where[unit])
        groups.add(home, at, -counts, -size, -total)
        logs = _log_weights(problem, groups, home, groups.gains(*rows))
        chances = np.exp(logs - logs.max())
        chosen = int(rng.choice(len(chances), p=chances / chances.sum()))
        groups.add(chosen, *rows)
        if chosen != home:
            where[unit] = chosen
            renumber(groups, where, home)
    return where


def _log_weights(problem: Problem, groups: Groups, home: int, gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log of what each place of a unit weighs, the unit taken out; of two empty groups, its old one counts."""
    # Each partition must have one place: a unit that was alone leaves a second empty group, and either of the two would
    # make the same partition.
    empty, alone = groups.n - 1, groups.sizes[home] == 0
    occupied = empty - alone
    new = home if alone else empty
    logs = gains + problem.whole[occupied]
    logs[empty] = -np.inf
    logs[new] = gains[new] + problem.whole[occupied + 1] if occupied + 1 < len(problem.whole) else -np.inf
    return logs
