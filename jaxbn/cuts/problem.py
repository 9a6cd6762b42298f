"""The cutting problem of a variable as arrays: signed sums of table look-ups, the costs of cuts, and the tables.

Shapes: n rows, in ascending order of the variable's values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from jaxbn.cuts.blanket import Factor

ENTROPY = 0.0
"""Name of the table of n ln n; every other number s names that of ln Γ(n + s) - ln Γ(s), where s is a multiple of ½.

Of a context with K states, s is the sum of their Dirichlet weights, and of an outcome it is its own weight.
"""

LONG_TABLE = 2**18  # longer tables are slices of a shared one where a constant does not matter
MANY_STATES = 10**6  # from this many states on a table is a running sum: differences of ln Γ would lose their digits
LARGEST_LOG = 690.0  # products below exp of this fit in a float, and so do their reciprocals
ALL = -1  # the place of an interval with all its rows among the contexts


@dataclass(frozen=True)
class Term:
    """One signed sum of table look-ups: contexts (+) or outcomes (-) of a factor."""

    cells: NDArray[np.int32]  # [n], in the order of the variable's values
    n_cells: int
    sign: float
    tables: tuple[float, ...]  # the names of the tables it is the sum of
    floor: tuple[float, ...]  # those of what it costs at least, whatever other rows join the interval
    given: int = ALL  # for outcomes, the term of their contexts; ALL where all rows are one context
    states: float = 0.0  # K weights: an outcome added costs at least ln((context + states) / (outcome + weight))
    lacking: bool = False  # whether the last cell is of rows that lack a member: there K is 1, so that they add nothing
    weight: float = 1.0  # Dirichlet weight of an outcome

    @property
    def names(self) -> NDArray[np.float64]:
        """The first of its tables, by cell [n_cells]."""
        found = np.full(self.n_cells, self.tables[0])
        if self.lacking and self.tables[0] != ENTROPY:
            found[-1] = self.weight
        return found


@dataclass(frozen=True)
class Spread:
    """Where intervals end, for objectives in which n values spread over a width cost n ln width."""

    n: int  # rows
    at: Callable[[NDArray[np.integer]], NDArray[np.float64]]  # where positions lie, from 0 to n; they are 1 apart
    latest: NDArray[np.int32] | None = None  # [n], the last row that an interval may begin with, by its end; None: any

    @cached_property
    def positions(self) -> NDArray[np.float64]:
        """Where the rows begin, and where each one ends [n + 1]."""
        return self.at(np.arange(self.n + 1))

    @property
    def mirrored(self) -> Spread:
        """The same for the rows in descending order; positions change their signs, so that they still ascend."""
        latest = self.latest
        if latest is not None:
            # the first row at which an interval may end, by its begin
            earliest = np.searchsorted(latest, np.arange(self.n))
            latest = (self.n - 1 - earliest[::-1]).astype(np.int32)
        return Spread(self.n, lambda positions: -self.at(self.n - positions), latest)


@dataclass(frozen=True)
class Solution:
    """The best partition of some rows."""

    cost: float
    cuts: list[int]  # ranks that a cut falls after, ascending
    live: float  # average number of live starts


@dataclass(frozen=True)
class Rows:
    """Rows in ascending order: where they may be cut, and what an interval of them costs."""

    can_cut: NDArray[np.bool_]  # [n]
    terms: Sequence[Term]
    weights: NDArray[np.int32] | None  # [n], None: all one
    spread: Spread | None = None
    cut_cost: NDArray[np.float64] | None = None  # [n], of a cut after each row, where it has a cost of its own
    first_cost: float = 0.0  # of the empty prefix, likewise
    every: NDArray[np.integer] | None = None  # all positions, where they are known already

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.can_cut)

    @property
    def total(self) -> int:
        """Sum of the weights."""
        return self.n if self.weights is None else int(self.weights.sum())

    def positions(self, most: int | None = None) -> NDArray[np.integer]:
        """Where an interval may begin or end, from 0 to n; quantiles of these if they make more than `most` groups."""
        found = self.every
        if found is None:
            found = np.concatenate([[0], np.flatnonzero(self.can_cut) + 1, [self.n]])
        if most is None or len(found) - 1 <= most:
            return found
        return found[np.linspace(0, len(found) - 1, most + 1).round().astype(np.intp)]

    def weight_before(self, positions: NDArray[np.integer]) -> NDArray[np.int64]:
        """The weight of the rows before each of some positions."""
        return positions.astype(np.int64) if self.weights is None else self._running_weight[positions]

    @cached_property
    def _running_weight(self) -> NDArray[np.int64]:
        return np.append(0, np.cumsum(np.asarray(self.weights), dtype=np.int64))

    @property
    def cut_costs(self) -> NDArray[np.float64]:
        """The cost of a cut after each row [n]: +inf where none can be, 0 after the last row."""
        if self.cut_cost is not None:
            return self.cut_cost
        return np.append(np.where(self.can_cut[:-1], 0.0, np.inf), 0.0)

    @property
    def mirrored(self) -> Rows:
        """The same rows in descending order."""
        return Rows(
            np.append(self.can_cut[-2::-1], False),
            [replace(term, cells=term.cells[::-1]) for term in self.terms],
            None if self.weights is None else self.weights[::-1],
            None if self.spread is None else self.spread.mirrored,
        )


def dirichlet_terms(factors: Iterable[Factor], weight: float = 1.0, first: int = 0) -> list[Term]:
    """The h of an interval: ln Γ(n_c + aK) - ln Γ(aK) for the contexts, -[ln Γ(n_co + a) - ln Γ(a)] for the outcomes.

    Its equation is in docs/maths.md, "The paper's objective". `weight` is a, and `first` the place of the first of them
    in the list of all terms. There are two terms for each factor of more than one outcome, outcomes first. With the
    weight `ENTROPY` it is the E of "Pruning": n_c ln n_c for the contexts, -n_co ln n_co for the outcomes.
    """
    factors = sorted((factor for factor in factors if factor.n_states > 1), key=lambda factor: factor.n_contexts == 1)
    varying = [factor for factor in factors if factor.n_contexts > 1]
    constant = factors[len(varying) :]
    entropy = (ENTROPY,)  # the cost at the maximum-likelihood parameters bounds that of any mixture ("Pruning")
    # Bounds of chunks need a weight a and a sum of weights aK. For n ln n, a = aK = 1 will do: a row then costs at
    # least ln((context + 1) / (outcome + 1)) (docs/maths.md, "Bounds of chunks").
    a = weight or 1.0
    terms = []
    for i, factor in enumerate(factors):
        given = first + len(factors) + min(i, len(varying))
        states = weight * factor.n_states or 1.0
        terms.append(Term(factor.cell, factor.n_cells, -1.0, (weight,), entropy, given, states, factor.lacking, a))
    for factor in varying:
        names = (weight * factor.n_states,)
        terms.append(Term(factor.context, factor.n_contexts, 1.0, names, entropy, lacking=factor.lacking, weight=a))
    # Factors whose context is always the same (children without spouses) count the same rows as their context: one term
    # with the sum of their tables serves all of them.
    if constant:
        tables = tuple(sorted(weight * factor.n_states for factor in constant))
        terms.append(Term(constant[0].context, 1, 1.0, tables, entropy * len(tables), weight=a))
    return terms


def ratios_fit(rows: Rows) -> bool:
    """Whether a row adds ln(Π (context + aK) / Π (outcome + a)) to an interval, and the products fit in a float."""
    names = [name for term in rows.terms for name in term.tables]
    # the products have no more factors than there are tables, each at most the rows and the largest sum of weights, and
    # at least ½
    largest = rows.n + max(names, default=0)
    return rows.weights is None and ENTROPY not in names and len(names) * np.log(largest) < LARGEST_LOG


def summed_tables(kinds: Sequence[tuple[float, ...]], n_tables: int, length: int) -> NDArray[np.float64]:
    """For each kind the sum of the tables it names, one after the other [n_tables * length]."""
    tables = np.zeros((n_tables, length))
    for row, names in zip(tables, kinds, strict=False):
        for name in names:
            row += table(name, length)
    return tables.reshape(-1)


def padded(array: NDArray[Any], shape: tuple[int, ...], fill: float = 0, dtype: Any = np.int32) -> NDArray[Any]:
    """The array in the corner of a larger one."""
    result = np.full(shape, fill, dtype)
    result[tuple(slice(size) for size in array.shape)] = array
    return result


def table(name: float, length: int, *, steps: bool = False) -> NDArray[np.float64]:
    """A cumulative table by name, or its differences, [length]."""
    counts = np.arange(length)
    if not steps:
        return table_at(name, counts, length)
    if name == ENTROPY:
        return np.diff(table_at(name, counts, length), append=0.0)
    return np.log(counts + name)


def table_at(name: float, counts: NDArray[np.integer], length: int) -> NDArray[np.float64]:
    """The entries of a table at some counts below `length`."""
    if name == ENTROPY:
        return counts * np.log(np.maximum(counts, 1))
    if name >= MANY_STATES:  # ln Γ at large K has lost the digits of the difference
        return np.append(0.0, np.cumsum(np.log(np.arange(length - 1) + name)))[counts]
    logs = _log_gammas(name, length)
    return logs[counts] - logs[0]


def up_to_a_constant(names: tuple[float, ...], length: int) -> NDArray[np.float64]:
    """The sum of some tables, up to a constant [length]; a single long one takes no memory of its own."""
    if len(names) == 1 and length > LONG_TABLE and ENTROPY < names[0] < MANY_STATES:
        return _log_gammas(names[0], length)
    return summed_tables([names], 1, length)


_longest: dict[float, NDArray[np.float64]] = {}


def _log_gammas(name: float, length: int) -> NDArray[np.float64]:
    """Ln Γ(n + s) for n = 0, 1, …: as all s are multiples of ½, it is part of one of two arrays, from s - base on."""
    base = 0.5 if name % 1 else 1.0
    first = int(name - base)
    # Threads share it without a lock: arrays are replaced and never changed, so at worst two threads compute the same.
    known = _longest.get(base, np.zeros(0))
    if len(known) < first + length:
        _longest[base] = known = np.asarray(gammaln(np.arange(first + length, dtype=np.float64) + base))
    return known[first : first + length]
