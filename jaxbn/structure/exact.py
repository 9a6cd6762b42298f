"""The best structure, proved: every family within the constraints is scored, and every order is weighed.

Best families inside every set of columns come from one pass of maxima a column over the subsets; the best last column
of every set then follows from the sets with one column less (Silander and Myllymäki, UAI 2006;
docs/maths.md, "The best structure").

Ties. Of structures with equal scores one with the fewest arcs is returned; of those, the one whose last columns of
every set come last in column order, and whose parent sets come first in it. Scores are whole numbers (see
`jaxbn.scores.set_scores`), so this does not depend on batches or devices.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.checks import ArgumentError, Mention
from jaxbn.scores.set_scores import SetScores
from jaxbn.structure.arc_rules import ArcRules, bits
from jaxbn.structure.lattice import NOTHING, best_inside, best_sinks, without_bit
from jaxbn.structure.result import Structure

MOST_COLUMNS = 20
"""Columns up to which the search is meant to be used."""

COLUMNS_AT_ALL = 22
"""Columns up to which the numbers fit: 0.5 GB and twenty seconds."""

MOST_SETS = 2**18
"""Sets of columns that are counted at most: a minute and a few hundred megabytes."""

ARC = 2**8
"""Scores are multiplied by this and arcs subtracted: more arcs than 22 columns can have."""


def exact_structure(scores: SetScores, rules: ArcRules, *, most_columns: int = MOST_COLUMNS) -> Structure:
    """The structure with the highest score.

    Args:
        scores: of the columns at hand.
        rules: what the structure must keep to.
        most_columns: refuse more columns than this, at most 22; those of one state do not count.

    Returns:
        The structure; `proved` is true and the gap zero.

    Raises:
        ValueError: if there are too many columns.
    """
    live = _live(rules)
    most = min(most_columns, COLUMNS_AT_ALL)
    if len(live) > most:
        raise ArgumentError(
            "search",
            f"weighs all subsets of the columns and takes up to {most} of them, and {len(live)} have more than one "
            "state; use ",
            Mention("search", "orders"),
            " or leave out columns",
            subject="the exact search",
        )
    families = _all_families(scores, rules, live)
    best = np.full((len(live), 1 << max(len(live) - 1, 0)), NOTHING, np.int64)
    for place, (masks, values) in enumerate(families):
        best[place, without_bit(masks, place)] = values
        best_inside(best[place])
    value, order = best_sinks(best)
    parents: list[tuple[int, ...]] = [()] * scores.n_columns
    before = 0
    for place in order:
        parents[live[place]] = _first_best(*families[place], before, live)
        before |= 1 << place
    units = (value + sum(map(len, parents))) // ARC
    units += sum(scores.family(i, ()) for i in range(scores.n_columns) if i not in live)
    score = scores.nats(units)
    n_families = sum(len(masks) for masks, _ in families)
    return Structure(tuple(parents), score, bound=score, proved=True, families=n_families)


def is_feasible(rules: ArcRules) -> bool:
    """Whether the exact search takes these columns."""
    live = len(_live(rules))
    return live <= MOST_COLUMNS and _n_sets(rules, live) <= MOST_SETS


def _n_sets(rules: ArcRules, live: int) -> int:
    """Sets of columns that are counted."""
    return sum(math.comb(live, k) for k in range(max(min(rules.max_parents, live - 1), 0) + 1))


def _live(rules: ArcRules) -> list[int]:
    """Columns that can have arcs."""
    touched = 0
    for child, must in enumerate(rules.required):
        touched |= must | (1 << child if must else 0)
    return [i for i, states in enumerate(rules.n_states) if states > 1 or touched >> i & 1]


def _all_families(
    scores: SetScores, rules: ArcRules, live: list[int]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Masks over the live columns and values of all families of every live column."""
    most = max(min(rules.max_parents, len(live) - 1), 0)
    n_sets = _n_sets(rules, len(live))
    if n_sets > MOST_SETS:
        raise ArgumentError(
            "search",
            f"counts {n_sets:,} sets with max_parents {rules.max_parents} and {len(live)} columns, more than "
            f"{MOST_SETS:,}; lower ",
            Mention("max_parents"),
            " or use ",
            Mention("search", "orders"),
            subject="the exact search",
        )
    smaller = [base for k in range(most) for base in combinations(range(len(live)), k)]
    scores.count([tuple(live[i] for i in base) for base in smaller])
    scores.count([tuple(live[i] for i in base) for base in combinations(range(len(live)), most)], [1])
    return [_families(scores, rules, live, place, smaller) for place in range(len(live))]


def _families(
    scores: SetScores, rules: ArcRules, live: list[int], place: int, smaller: list[tuple[int, ...]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    child, columns = live[place], np.array(live)
    must = rules.required[child]
    known = {_inner(must, live): scores.family(child, tuple(bits(must))) * ARC - must.bit_count()}
    for base in smaller:
        if place in base:
            continue
        first = base[-1] + 1 if base else 0
        grown = scores.grown(child, [live[i] for i in base])[columns[first:]] * ARC - len(base) - 1
        outer = sum(1 << live[i] for i in base)
        inner = sum(1 << i for i in base)
        for i, value in enumerate(grown.tolist(), first):
            if i != place and rules.permits(child, outer | 1 << live[i]):
                known[inner | 1 << i] = value
    return np.array(list(known), np.int64), np.array(list(known.values()), np.int64)


def _inner(mask: int, live: list[int]) -> int:
    """A mask over all columns as one over the live ones."""
    return sum(1 << place for place, column in enumerate(live) if mask >> column & 1)


def _first_best(masks: NDArray[np.int64], values: NDArray[np.int64], before: int, live: list[int]) -> tuple[int, ...]:
    """The parents of highest value inside a set; of equal ones the first in column order."""
    inside = masks & ~before == 0
    best = values[inside].max()
    sets = masks[inside][values[inside] == best].tolist()
    return min(tuple(live[place] for place in bits(mask)) for mask in sets)
