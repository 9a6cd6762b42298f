"""The best structure, proved: dynamic programming over all subsets of the columns, with every permitted family scored.

The best family of each column within every set of candidates comes from one pass of maxima over the subsets; the best
sink (last column) of every set then follows from the sets with one column fewer (Silander and Myllymäki, UAI 2006;
docs/maths.md, "The best structure").

Ties. Of structures with equal scores one with the fewest arcs is returned. Among these, of equal sinks the last in
column order is taken, and of equal parent sets the first. Scores are whole numbers (see
`jaxbn.scores.set_scores`), so this does not depend on batches or devices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.checks import ArgumentError, Mention
from jaxbn.runtime import limits
from jaxbn.scores.set_scores import SetScores
from jaxbn.structure.constraints import Rules, bits, mask_of, union_of

MOST_COLUMNS = 20  # up to which the search is meant to be used: with two more it takes 0.5 GB and twenty seconds
MOST_SETS = 2**18  # sets of columns that are counted at most: a minute and a few hundred megabytes
ARC = 2**8  # a value is a score times this, minus its arcs, so that ties go to fewer arcs; 20 columns have at most 190
NOTHING = -(2**62)  # the value of what is impossible; the sum of two still fits in an int64
FEW_COLUMNS = 10  # up to so many columns the list of all sets is kept
SETS_AT_ONCE = 2**12  # so many sets are handled at once, to fit in a processor cache
ORDERS = Mention("search", "orders")


@dataclass(frozen=True)
class Structure:
    """A structure over columns 0 to N - 1, and what is known about it."""

    parents: tuple[tuple[int, ...], ...]  # of every column, ascending
    score: float  # ln P(codes | structure), with the prior over parent sets where it was asked for
    bound: float  # no structure of the families in question scores more
    proved: bool  # whether no structure within the constraints scores more
    families: int  # scored families that the bound speaks of
    finished: bool = True  # whether the search ended by itself


def exact_structure(scores: SetScores, rules: Rules) -> Structure:
    """The structure with the highest score, proved; a ValueError if more than 20 columns have several states."""
    live = _live(rules)
    if len(live) > MOST_COLUMNS:
        many = f"takes up to {MOST_COLUMNS} of them, and {len(live)} have more than one state"
        raise _refused(f"weighs all subsets of the columns and {many}; use ", ORDERS, " or leave out columns")
    families = _all_families(scores, rules, live)
    best = np.full((len(live), 1 << max(len(live) - 1, 0)), NOTHING, np.int64)
    for place, (masks, values) in enumerate(families):
        limits.check()
        # a column is never its own parent, so its bit is dropped: half the memory
        best[place, without_bit(masks, place)] = values
        inside(np.maximum, best[place])
    value, order = best_order(best)
    parents: list[tuple[int, ...]] = [()] * scores.n_columns
    before = 0
    # only values were kept in the program; the parents are looked up again, for the best order alone
    for place in order:
        parents[live[place]] = _first_best(*families[place], before, live)
        before |= 1 << place
    # value = ARC · score - arcs, so nothing remains of this division
    units = (value + sum(map(len, parents))) // ARC
    units += sum(scores.family(i, ()) for i in range(scores.n_columns) if i not in live)
    score = scores.nats(units)
    n_families = sum(len(masks) for masks, _ in families)
    return Structure(tuple(parents), score, bound=score, proved=True, families=n_families)


def _refused(*why: str | Mention) -> ArgumentError:
    return ArgumentError("search", *why, subject="the exact search")


def is_feasible(rules: Rules, most_sets: int = MOST_SETS) -> bool:
    """Whether the exact search takes these columns, counting no more sets than this."""
    live = len(_live(rules))
    return live <= MOST_COLUMNS and _n_sets(rules, live) <= min(MOST_SETS, most_sets)


def _n_sets(rules: Rules, live: int) -> int:
    """Sets of columns that are counted."""
    return sum(math.comb(live, k) for k in range(max(min(rules.max_parents, live - 1), 0) + 1))


def _live(rules: Rules) -> list[int]:
    """Columns that can have arcs."""
    needed = union_of(rules.must, (1 << len(rules.must)) - 1)
    return [i for i, states in enumerate(rules.n_states) if states > 1 or rules.must[i] or needed >> i & 1]


def _all_families(
    scores: SetScores, rules: Rules, live: list[int]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Masks over the live columns, and values, of all families of every live column; required parents alone first."""
    most = max(min(rules.max_parents, len(live) - 1), 0)
    n_sets = _n_sets(rules, len(live))
    if n_sets > MOST_SETS:
        many = f"with max_parents {rules.max_parents} and {len(live)} columns, more than {MOST_SETS:,}"
        raise _refused(f"counts {n_sets:,} sets {many}; lower ", Mention("max_parents"), " or use ", ORDERS)
    for size in range(1, most + 1):
        scores.count_sets(live, size)
    # a set of this size is a child with all its parents, never parents alone, so only its sum with r = 1 is asked for
    # (docs/maths.md, "Family scores by sets")
    scores.count_sets(live, most + 1, [1])
    # All sets of parents but the empty one [S], each as a base and a further column after it, so that each is met once:
    # `grown` scores a base with every further column in one array.
    bases = [base for size in range(most) for base in combinations(range(len(live)), size)]
    pairs = [(b, i) for b, base in enumerate(bases) for i in range(base[-1] + 1 if base else 0, len(live))]
    base, column = np.array(pairs, np.int64).reshape(-1, 2).T
    sets = np.array([mask_of(each) for each in bases], np.int64)[base] | 1 << column
    states = np.array([rules.sizes[i] for i in live], np.float64)
    cells = np.array([states[list(each)].prod() for each in bases])[base] * states[column]

    def families_of(place: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        child = live[place]
        must, allowed = _inner(rules.must[child], live), _inner(rules.allowed[child], live)
        kept = (sets & ~(must | allowed) == 0) & (sets & must == must) & (sets != must)
        kept &= cells * rules.sizes[child] <= rules.max_cells
        known = scores.family(child, tuple(bits(rules.must[child]))) * ARC - must.bit_count()
        used, row = np.unique(base[kept], return_inverse=True)
        if not len(used):
            return np.array([must], np.int64), np.array([known], np.int64)
        grown = np.stack([scores.grown(child, [live[i] for i in bases[b]]) for b in used.tolist()])
        values = grown[row, np.array(live)[column[kept]]] * ARC - np.bitwise_count(sets[kept])
        return np.append(must, sets[kept]), np.append(known, values)

    return [families_of(place) for place in range(len(live))]


def _inner(mask: int, live: list[int]) -> int:
    """A mask over all columns as one over the live ones."""
    return sum(1 << place for place, column in enumerate(live) if mask >> column & 1)


def _first_best(masks: NDArray[np.int64], values: NDArray[np.int64], before: int, live: list[int]) -> tuple[int, ...]:
    """The parents of highest value inside a set; of equal ones the first in column order."""
    inside = masks & ~before == 0
    best = values[inside].max()
    sets = masks[inside][values[inside] == best].tolist()
    return min(tuple(live[place] for place in bits(mask)) for mask in sets)


# --- programs over all subsets of some columns: a subset is the number whose bits are its members


def without_bit(sets: NDArray[np.integer], bit: int | NDArray[np.integer]) -> NDArray[np.integer]:
    """Subsets that lack a column, numbered by the other columns alone: its bit is taken out."""
    low = (1 << bit) - 1
    return (sets & low) | ((sets >> 1) & ~low)


def inside(joined: np.ufunc, values: NDArray[Any]) -> None:
    """Replace the value of every subset [..., 2^M] by those of all its own subsets joined, in place."""
    # after bit b, a set has the values of its subsets that differ from it in bits 0 to b alone
    for bit in range(values.shape[-1].bit_length() - 1):
        halves = values.reshape(-1, 2, 1 << bit)  # sets without the bit, and the same sets with it
        joined(halves[:, 1], halves[:, 0], out=halves[:, 1])


def best_order(best: NDArray[np.int64]) -> tuple[int, list[int]]:
    """The largest Σ best[v][columns before v] over all orders, and such an order.

    `best` [N, 2^(N-1)] is the value of every column with its parents inside a set of others, see `without_bit`. Among
    equal values the last column in column order comes last.
    """
    n = len(best)
    total = np.zeros(1 << n, np.int64)
    sink = np.zeros(1 << n, np.int8)
    # smaller sets come first, so the best order of what is left without its last column is always known
    for sets, column, rest, inner in _few_sinks(n) if n <= FEW_COLUMNS else _sinks(n):
        values = total[rest] + best[column, inner]
        # the first of equal ones: members descend, so that is the last in column order
        at = values.argmax(axis=1)
        rows = np.arange(len(at))
        # not below NOTHING, or sums of what is not possible would overflow at the next sizes
        total[sets], sink[sets] = np.maximum(values[rows, at], NOTHING), column[rows, at]
    order, left = list[int](), (1 << n) - 1
    while left:
        order.append(int(sink[left]))
        left ^= 1 << order[-1]
    return int(total[-1]), order[::-1]


def _sinks(n: int) -> Iterator[tuple[NDArray[np.integer], ...]]:
    """All sets of n columns but the empty one, smaller ones first, each with every member as the last column.

    They come in arrays of sets of one size: the sets [S], their members in descending order [S, members], the set
    without that member, and the same numbered by the other columns alone.
    """
    numbers, columns = np.arange(1 << n, dtype=np.int32), np.arange(n - 1, -1, -1, dtype=np.int32)
    sizes = np.bitwise_count(numbers)
    for size in range(1, n + 1):
        of_size = numbers[sizes == size]
        for first in range(0, len(of_size), SETS_AT_ONCE):
            sets = of_size[first : first + SETS_AT_ONCE]
            column = columns[np.nonzero(sets[:, None] >> columns & 1)[1]].reshape(-1, size)
            rest = sets[:, None] ^ (1 << column)
            yield sets, column, rest, without_bit(rest, column)


@lru_cache(maxsize=FEW_COLUMNS + 1)
def _few_sinks(n: int) -> tuple[tuple[NDArray[np.integer], ...], ...]:
    return tuple(_sinks(n))
