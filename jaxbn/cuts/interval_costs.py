"""Rows cut at few positions: the costs of all intervals between them in a matrix, and the best partitions.

A price for each interval, or for each cut, needs the plain dynamic program; a charge for the number of intervals,
the layered one, which knows the best cost of every prefix in exactly k intervals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, repeat
from typing import Any

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

from jaxbn.cuts.grouped_rows import GroupedRows
from jaxbn.cuts.on_accelerator import MOST_STATES, shared_tables
from jaxbn.cuts.problem import ENTROPY, Solution, padded, table
from jaxbn.kernels.arithmetic import tolerance
from jaxbn.kernels.dense_partitions import CELLS, dense_costs
from jaxbn.kernels.interval_costs import Widths, further_layers, interval_costs, priced_intervals
from jaxbn.runtime import limits
from jaxbn.runtime.devices import double, on_host
from jaxbn.runtime.shapes import FEW_POSITIONS, PRICES, MatrixShape, bucket

MOST_TABLED = 2**22
"""Up to this total weight costs are looked up in tables; beyond, these would be long, and ln Γ is computed."""

_spare: dict[int, list[Array]] = defaultdict(list)
"""Unused matrices by number of groups, kept for reuse: fresh memory would have to be cleared."""


class CostMatrix:
    """The costs of all intervals of a problem, kept while the context lasts."""

    def __init__(self, problem: GroupedRows) -> None:
        self.problem = problem
        self._tabled = problem.total <= MOST_TABLED or ENTROPY in problem.bases or problem.largest_name > MOST_STATES
        # as large as the table's rows could ask for: all variables of a table then share one compiled program
        groups = max(problem.n, min(problem.total, FEW_POSITIONS)) if self._tabled else problem.n
        self.shape = MatrixShape.of(groups, problem.total, problem.most_states)
        self._n_groups: Any = np.int32(problem.n)
        self._before = [padded(np.zeros(1), (self.shape.groups + 1,), np.inf, np.float64)]  # of 0, 1, … intervals
        self.costs: Any = None  # of the interval from group u to group v at [v, u]; on the device, within the context

    def __enter__(self) -> CostMatrix:
        if self.costs is None:
            _fill([self])
        return self

    def __exit__(self, *_: object) -> None:
        if self._tabled:  # others are made anew each time
            _spare[self.shape.groups].append(self.costs)

    def widths(self) -> Widths:
        """What intervals cost by weight and width."""
        problem, groups = self.problem, self.shape.groups
        mass: Any = padded(problem.mass, (groups + 1,), problem.total)
        end: Any = padded(problem.end, (groups + 1,), problem.end[-1], np.float64)
        latest: Any = padded(problem.latest, (groups,), groups)
        return Widths(mass, end, _mass_table(problem.mass_names, self.shape.mass_length), latest, self._n_groups)

    def solve_at(self, prices: Sequence[float]) -> list[Solution]:
        """The optimum at each price for every interval."""
        made = padded(np.array(prices), (PRICES,), 0.0, np.float64)
        return self._priced(made[:, None].repeat(self.shape.groups, axis=1), 0.0)[: len(prices)]

    def solve_with_cuts(self, cut_cost: NDArray[np.float64], first_cost: float) -> Solution:
        """The optimum where a cut after each group has a cost of its own."""
        made = padded(cut_cost, (self.shape.groups,), np.inf, np.float64)
        return self._priced(made[None], first_cost)[0]

    def _priced(self, prices: NDArray[np.float64], first_cost: float) -> list[Solution]:
        n = self.problem.n
        with double(), on_host():
            before = np.asarray(priced_intervals(self.costs, prices, np.float64(first_cost), self._n_groups))
        return [Solution(float(each[n]), self._cuts(repeat(each)), n / 2) for each in before]

    def layers(self, n_layers: int) -> NDArray[np.float64]:
        """Cost of all rows in 1, 2, … intervals, up to at least `n_layers`."""
        with double(), on_host():
            while len(self._before) <= n_layers:
                limits.check()
                self._before += list(np.asarray(further_layers(self.costs, self._before[-1], self._n_groups)))
        return np.array([before[self.problem.n] for before in self._before[1:]])

    def layer_cuts(self, n_intervals: int) -> list[int]:
        """The cuts of the best partition into that many intervals; its layers must be known."""
        return self._cuts(self._before[n_intervals - 1 :: -1])

    def _cuts(self, before: Iterable[NDArray[np.float64]]) -> list[int]:
        """The way back from the end, where the costs of all that lies before each interval are given in turn."""
        costs, end, found = np.asarray(self.costs), self.problem.n, []
        for each in before:
            totals = costs[end - 1, :end] + each[:end]
            least = totals.min()
            end = int(np.argmax(totals <= least + tolerance(least)))  # the first of these
            if not end:
                break
            found.append(int(self.problem.positions[end]) - 1)
        return found[::-1]


def cost_matrices(problems: Sequence[GroupedRows]) -> Iterator[CostMatrix]:
    """The costs of all intervals of each problem; a matrix may be used until the next one is asked for.

    Neighbours that differ in their widths alone, shapes of one variable, are worked out together.
    """
    for _, alike in groupby(problems, lambda problem: problem.counted_as):
        limits.check()
        first, *others = map(CostMatrix, alike)
        for other in others:
            other.problem.count_as(first.problem)
        _fill([first, *others])
        for matrix in (first, *others):
            with matrix:
                yield matrix


def _fill(matrices: Sequence[CostMatrix]) -> None:
    """Work out the costs of problems that differ in their widths alone."""
    problem, shape = matrices[0].problem, matrices[0].shape
    groups, spread = shape.groups, problem.rows.spread is not None
    with double(), on_host():
        if not matrices[0]._tabled:
            for matrix in matrices:
                counted = matrix.problem.dense(groups, bucket(problem.n_cells, 8 * CELLS, 4), None)
                matrix.costs = dense_costs(counted, None, spread=spread)
            return
        costs = tuple(_room(groups) for _ in matrices)
        widths = tuple(matrix.widths() for matrix in matrices)
        tables = shared_tables(problem.bases, shape.length, (False, True))
        for i, entries in enumerate(problem.chunks(shape)):
            costs = interval_costs(widths, entries, tables, costs, np.bool_(i > 0), spread=spread)
    for matrix, found in zip(matrices, costs, strict=True):
        matrix.costs = found


def _room(groups: int) -> Array:
    """A matrix for `interval_costs`, which overwrites what it holds."""
    # Threads share the spare matrices: `pop` is one step, so none is handed out twice, and there is no test before it,
    # as another thread could take the last one in between.
    try:
        return _spare[groups].pop()
    except IndexError:
        return jax.device_put(np.zeros((groups, groups)))


@lru_cache(maxsize=32)
def _mass_table(names: tuple[tuple[float, float], ...], length: int) -> Array:
    """What a weight costs by the terms of one cell, on the device [length]."""
    return jax.device_put(sum((sign * table(name, length) for sign, name in names), np.zeros(length)))
