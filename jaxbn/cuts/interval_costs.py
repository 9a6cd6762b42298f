"""Rows cut at few positions: the costs of all intervals between them on the device, and the best partitions.

A price for each interval, or for each cut, needs the plain dynamic program; a charge for the number of intervals,
the layered one, which knows the best cost of every prefix in exactly k intervals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from types import TracebackType
from typing import Any

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

from jaxbn.cuts.grouped_rows import GroupedRows, no_entries, shared_tables
from jaxbn.cuts.problem import ENTROPY, Solution, interval_starts, padded
from jaxbn.kernels.interval_costs import Entries, Widths, interval_costs
from jaxbn.kernels.layered import further_layers, priced_intervals
from jaxbn.runtime import limits
from jaxbn.runtime.shapes import FEW_POSITIONS, PRICES, MatrixShape, matrices_at_once

_spare: dict[tuple[int, int], list[Array]] = defaultdict(list)
"""Matrices out of use, by batch and groups: room for the next ones, so that no memory has to be cleared."""


class CostMatrices:
    """The costs of all intervals of some problems of one kind, kept on the device while the context lasts."""

    def __init__(self, problems: Sequence[GroupedRows], shape: MatrixShape) -> None:
        self.problems, self.shape = problems, shape
        self._n_groups = np.array([problem.n for problem in problems], np.int32)
        self._layers: list[tuple[NDArray[np.float64], NDArray[np.int32]]] = []
        self._before: Array | NDArray[np.float64] = np.full((len(problems), shape.groups + 1), np.inf)
        self._before[:, 0] = 0.0

    def __enter__(self) -> CostMatrices:
        size = len(self.problems), self.shape.groups
        entropy = any(ENTROPY in term.tables for problem in self.problems for term in problem.rows.terms)
        spread = self.problems[0].rows.spread is not None
        on_host: Any = _stacked([_widths(problem, self.shape) for problem in self.problems])
        entries_of = [problem.chunks(self.shape) for problem in self.problems]
        with jax.enable_x64(True):
            try:
                costs = _spare[size].pop()
            except IndexError:
                costs = jax.device_put(np.zeros((size[0], size[1], size[1])))
            widths = jax.device_put(Widths(*on_host))  # once: of many rows it is large
            tables = _device_tables(entropy, self.shape.length)
            for i, some in enumerate(zip_longest(*entries_of, fillvalue=no_entries(self.shape))):
                entries: Any = _stacked(some)
                costs = interval_costs(widths, Entries(*entries), tables, costs, np.bool_(i > 0), spread=spread)
        self._costs = costs
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _spare[len(self.problems), self.shape.groups].append(self._costs)

    @property
    def costs(self) -> Array:
        """Of the interval from group u to group v at [v, u], [A, G, G]; on the device, and only within the context."""
        return self._costs

    @property
    def n_groups(self) -> NDArray[np.int32]:
        """Groups of each problem [A]."""
        return self._n_groups

    def solve_at(self, prices: Mapping[int, Sequence[float]]) -> dict[int, list[Solution]]:
        """The optimum at each price for every interval, of some of the problems."""
        made = np.zeros((len(self.problems), self.shape.groups, PRICES))
        for b, some in prices.items():
            made[b, :, : len(some)] = some
        found = self._priced(made, np.zeros(len(self.problems)))
        return {b: [found(b, i) for i in range(len(some))] for b, some in prices.items()}

    def solve_with_cuts(self, cut_costs: Sequence[NDArray[np.float64]], first_cost: Sequence[float]) -> list[Solution]:
        """The optimum where a cut after each group has a cost of its own."""
        made = np.stack([padded(costs, (self.shape.groups,), np.inf, np.float64) for costs in cut_costs])
        found = self._priced(made[:, :, None], np.array(first_cost, np.float64))
        return [found(b, 0) for b in range(len(self.problems))]

    def _priced(self, prices: NDArray[np.float64], first_cost: NDArray[np.float64]) -> Any:
        with jax.enable_x64(True):
            priced = priced_intervals(self._costs, prices, first_cost, self._n_groups)
            before, last = np.asarray(priced.before), np.asarray(priced.last)

        def solution(b: int, i: int) -> Solution:
            n = self.problems[b].n
            return Solution(float(before[b, n, i]), self._cuts(b, last[b, :, i]), n / 2)

        return solution

    def layers(self, b: int, n_layers: int) -> NDArray[np.float64]:
        """Cost of all rows of a problem in 1, 2, … intervals, up to at least `n_layers`."""
        with jax.enable_x64(True):
            while sum(len(whole[b]) for whole, _ in self._layers) < n_layers:
                limits.check()
                found = further_layers(self._costs, self._before, self._n_groups)
                self._before = found.before
                self._layers.append((np.asarray(found.whole), np.asarray(found.last)))
        return np.concatenate([whole[b] for whole, _ in self._layers])

    def layer_cuts(self, b: int, n_intervals: int) -> list[int]:
        """The cuts of the best partition of a problem into that many intervals; its layers must be known."""
        last = np.concatenate([last[b] for _, last in self._layers])
        return self._cuts(b, last[:n_intervals])

    def _cuts(self, b: int, last: NDArray[np.int32]) -> list[int]:
        problem = self.problems[b]
        return [int(problem.positions[start]) - 1 for start in interval_starts(last, problem.n - 1)]


def in_matrices(problems: Sequence[GroupedRows]) -> Iterator[tuple[int, CostMatrices]]:
    """The costs of all intervals of some problems, batch after batch, with the number of the first problem of each.

    A CPU is busy with one problem, and a batch would take as long as its longest; other devices want several.
    """
    at_once = matrices_at_once()
    for first in range(0, len(problems), at_once):
        limits.check()
        some = problems[first : first + at_once]
        shape = MatrixShape.of(
            max(max(problem.n for problem in some), min(max(problem.total for problem in some), FEW_POSITIONS)),
            max(problem.total for problem in some),
            max(problem.most_states for problem in some),
        )
        with CostMatrices(some, shape) as matrices:
            yield first, matrices


def _stacked(parts: Sequence[tuple[Any, ...]]) -> list[NDArray[Any]]:
    """Field by field, with a leading axis for the problems."""
    return [fields[0][None] if len(fields) == 1 else np.stack(fields) for fields in zip(*parts, strict=True)]


def _widths(problem: GroupedRows, shape: MatrixShape) -> tuple[Any, ...]:
    positions = (shape.groups + 1,)
    return (
        padded(problem.mass, positions, int(problem.mass[-1])),
        padded(problem.end, positions, problem.end[-1], np.float64),
        problem.mass_table(shape.mass_length),
        padded(problem.latest, (shape.groups,), shape.groups),
        np.int32(problem.n),
    )


@lru_cache(maxsize=8)
def _device_tables(entropy: bool, length: int) -> Array:
    return jax.device_put(shared_tables(entropy, length))
