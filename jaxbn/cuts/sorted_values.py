"""One continuous variable in ascending order: where it may be cut, and what the prior charges for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from jaxbn.kernels.arithmetic import stable_order
from jaxbn.runtime.devices import accelerators, double
from jaxbn.runtime.shapes import bucket

MANY_ROWS = 2**20  # the order of more rows takes 32 bits each, to save memory; fewer are quicker with 64
FEWEST_ROWS = 2**16  # fewer are sorted by the host, also where there is an accelerator
FIRST = 1000  # if as many values differ, the others probably do, too


@dataclass(frozen=True, eq=False)
class Ordered:
    """The values of a variable, sorted; made once, used for every discretization of it."""

    order: NDArray[np.integer]  # [n] row of the data at each rank
    values: NDArray[np.float64]  # [n] ascending
    can_cut: NDArray[np.bool_]  # [n] whether the next value is larger; the last is False

    @property
    def n_distinct(self) -> int:
        """Number of distinct values."""
        return len(self.positions) - 1

    @cached_property
    def positions(self) -> NDArray[np.integer]:
        """Where an interval may begin or end, from 0 to n: numbers of smaller rows [distinct + 1]."""
        n = len(self.values)
        found = np.concatenate([[0], np.flatnonzero(self.can_cut) + 1, [n]])
        return found.astype(np.int32) if n > MANY_ROWS else found

    def at(self, ranks: NDArray[np.intp]) -> Ordered:
        """The same for some of the ranks, ascending."""
        return in_order(self.order[ranks], self.values[ranks])

    def edges(self, ranks: Sequence[int] | NDArray[np.integer]) -> NDArray[np.float64]:
        """The cuts after some ranks: the midpoints to the next values."""
        rows = np.asarray(ranks, np.intp)
        return midpoints(self.values[rows], self.values[rows + 1])

    def ends(self, positions: NDArray[np.integer]) -> NDArray[np.float64]:
        """Where the intervals end that some positions end; a position between equal values counts as the next one.

        The first position lies at the smallest value and the last at the largest.
        """
        if self.n_distinct < len(self.values):
            positions = self.positions[np.searchsorted(self.positions, positions)]
        last = len(self.values) - 1
        return midpoints(self.values[np.maximum(positions - 1, 0)], self.values[np.minimum(positions, last)])


def sort_values(values: NDArray[np.float64]) -> Ordered:
    """Sort the values of a variable, stably; missing ones, NaN, are left out."""
    order = _order(values)  # with NaN at the end
    if len(values) > MANY_ROWS:
        order = order.astype(np.int32, copy=False)
    ascending = values[order]
    if len(values) and np.isnan(ascending[-1]):
        n = int(np.searchsorted(ascending, np.nan))
        order, ascending = order[:n], ascending[:n]
    return in_order(order, ascending)


def _order(values: NDArray[np.float64]) -> NDArray[np.integer]:
    n = len(values)
    if n >= FEWEST_ROWS and accelerators():
        room = np.full(bucket(n, FEWEST_ROWS), np.nan)
        room[:n] = values
        with double():
            return np.asarray(stable_order(room))[:n].astype(np.intp)
    # where no two are equal any sort is stable, and the usual one takes two thirds of the time
    if len(np.unique(values[:FIRST])) == FIRST:
        order = np.argsort(values)
        ascending = values[order]
        if (ascending[1:] > ascending[:-1]).all():
            return order
    return np.argsort(values, kind="stable")


def in_order(order: NDArray[np.integer], ascending: NDArray[np.float64]) -> Ordered:
    """Sorted values with their rows, and where they may be cut."""
    return Ordered(order, ascending, np.append(ascending[1:] > ascending[:-1], False))


def midpoints(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """The cuts between pairs of neighbours, `left < cut <= right`, so that left-closed bins keep them apart.

    Where no number lies between two the cut is the right one.
    """
    with np.errstate(over="ignore"):
        middle = left + right
    middle /= 2
    if not np.isfinite(middle).all():
        middle = np.where(np.isfinite(middle), middle, left / 2 + right / 2)
    between = (left < middle) & (middle <= right)
    return middle if between.all() else np.where(between, middle, right)


def cut_costs(values: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    """The prior's charge for a cut, w_t = -ln(exp(L g_t) - 1): +inf where there is no gap, 0 after the last [n].

    g_t is the gap's share of the range. In JAX: kernels/gradient.best_rate.
    """
    with np.errstate(over="ignore"):
        span = values[-1] - values[0]
    if not np.isfinite(span):  # too large for a float; shares stay the same
        return cut_costs(values / 4, rate)
    steps = np.diff(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        # -ln(e^x - 1) = -x - ln(1 - e^-x), which does not overflow; for an x that has underflowed it is -ln x, from the
        # logarithms of its factors
        x = rate * (steps / span)
        log_x = np.log(rate) + np.log(steps) - np.log(span)
        costs = np.where(x > 1e-300, -x - np.log(-np.expm1(-x)), -log_x)
    return np.append(np.where(steps > 0, costs, np.inf), 0.0)
