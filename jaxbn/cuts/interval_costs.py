"""Rows cut at few positions: the costs of all intervals between them, and the programs over these.

A charge for the number of intervals asks for the layered program, which knows the best cost of every prefix in exactly
k intervals; a price for each interval for the plain one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.problem import Solution, Spread, Task, Term, summed_tables
from jaxbn.kernels.layered import interval_costs, interval_layers, priced_intervals
from jaxbn.kernels.pruned.block import BLOCK
from jaxbn.runtime.shapes import bucket

PRICES = 8
"""The program over all intervals is compiled for so many prices, or three, nine, … times as many."""


@dataclass(frozen=True)
class Rows:
    """Rows in ascending order: where they may be cut, and what an interval of them costs."""

    can_cut: NDArray[np.bool_]  # [n]
    terms: Sequence[Term]
    weights: NDArray[np.int32] | None
    spread: Spread | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.can_cut)

    @property
    def total(self) -> int:
        """Sum of the weights."""
        return self.n if self.weights is None else int(self.weights.sum())

    @property
    def task(self) -> Task:
        """The task in which cuts cost nothing."""
        cut_cost = np.where(self.can_cut, 0.0, np.inf)
        cut_cost[-1] = 0.0
        return Task(self.terms, cut_cost, 0.0, self.weights, self.spread)

    @property
    def mirrored(self) -> Rows:
        """The same rows in descending order."""
        spread = self.spread
        return Rows(
            np.append(self.can_cut[-2::-1], False),
            [replace(term, cells=term.cells[::-1]) for term in self.terms],
            None if self.weights is None else self.weights[::-1],
            None if spread is None else spread._replace(end=1 - np.append(0.0, spread.end[:-1])[::-1]),
        )


class Grid(NamedTuple):
    """The rows between some positions: what the cost of an interval from one to another is made of."""

    counts: NDArray[np.int32]  # [C, P] rows before each position in every cell
    sign: NDArray[np.float64]  # [C]
    tables: list[tuple[int, ...]]  # of each cell
    floor: list[tuple[int, ...]]
    mass: NDArray[np.int32]  # [P] weight before each position
    end: NDArray[np.float64]  # [P] where it lies, as a share of the range
    min_width: float
    spread: bool

    def cost_of(self, chosen: NDArray[np.intp], names: list[tuple[int, ...]]) -> float:
        """Cost of the partition at the chosen positions, with the tables of these names."""
        tables, begins = _table_rows(names, bucket(int(self.mass[-1]) + 1, BLOCK))
        steps = np.diff(self.counts[:, chosen], axis=1)
        cost = float((self.sign[:, None] * tables[begins[:, None] + steps]).sum())
        if self.spread:
            cost += float((np.diff(self.mass[chosen]) * np.log(np.diff(self.end[chosen]))).sum())
        return cost


def grid_of(rows: Rows, positions: NDArray[np.intp]) -> Grid:
    """The rows between the positions, which begin with 0 and end with the number of rows."""
    group = np.searchsorted(positions[1:], np.arange(rows.n), side="right")  # interval between positions, per row
    n_groups = len(positions) - 1
    parts = [np.bincount(group, rows.weights, n_groups)[None]]
    for term in rows.terms:
        flat = np.bincount(term.cells.astype(np.int64) * n_groups + group, rows.weights, term.n_cells * n_groups)
        parts.append(flat.reshape(term.n_cells, n_groups))
    counts = np.pad(np.cumsum(np.concatenate(parts), axis=1).astype(np.int32), ((0, 0), (1, 0)))
    of_cell = [term for term in rows.terms for _ in range(term.n_cells)]
    end = np.zeros(rows.n) if rows.spread is None else rows.spread.end
    return Grid(
        counts=counts[1:],
        sign=np.array([term.sign for term in of_cell]),
        tables=[term.tables for term in of_cell],
        floor=[term.floor for term in of_cell],
        mass=counts[0],
        end=np.append(0.0, end[positions[1:] - 1]),
        min_width=0.0 if rows.spread is None else rows.spread.min_width,
        spread=rows.spread is not None,
    )


def _table_rows(names: list[tuple[int, ...]], length: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """The distinct tables, one after the other, and where that of each cell begins."""
    kinds = sorted(set(names))
    begins = {kind: i * length for i, kind in enumerate(kinds)}
    return summed_tables(kinds, len(kinds), length), np.array([begins[kind] for kind in names], np.int32)


def whole_cost(rows: Rows) -> float:
    """Cost of all rows in one interval."""
    grid = grid_of(rows, np.array([0, rows.n]))
    return grid.cost_of(np.array([0, 1]), grid.tables)


class CostMatrix:
    """The costs of all intervals between some positions, kept on the device."""

    def __init__(self, rows: Rows, positions: NDArray[np.intp]) -> None:
        grid = grid_of(rows, positions)
        self.grid, self.positions = grid, positions
        n_cells, n = grid.counts.shape
        tables, begins = _table_rows(grid.tables, bucket(int(grid.mass[-1]) + 1, 1024))
        pad, behind = bucket(n_cells, 512, 8) - n_cells, bucket(n, 64) - n
        with jax.enable_x64(True):
            self.cost = interval_costs(
                np.pad(grid.counts, ((0, pad), (0, behind))),
                np.pad(grid.sign, (0, pad)),
                np.pad(begins, (0, pad)),
                tables,
                np.pad(grid.mass, (0, behind)),
                np.pad(grid.end, (0, behind)),
                np.float64(grid.min_width),
                np.int32(n_cells),
                spread=grid.spread,
            )

    def layers(self, n_layers: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Cost of all rows in 1, 2, … intervals, and where the last interval begins."""
        with jax.enable_x64(True):
            found = interval_layers(self.cost, np.int32(len(self.positions)), np.int32(n_layers))
            return np.asarray(found.whole), np.asarray(found.last)

    def solve_at(self, prices: Sequence[float]) -> list[Solution]:
        """The optimum at each price, where every interval costs so much more."""
        n = len(self.positions)
        padded_prices = np.zeros(bucket(len(prices), PRICES, 3))
        padded_prices[: len(prices)] = prices
        with jax.enable_x64(True):
            found = priced_intervals(self.cost, padded_prices, np.int32(n))
            best, last = np.asarray(found.best), np.asarray(found.last)
        return [Solution(float(best[n - 1, i]), self._cuts(last[:, i]), float(n) / 2) for i in range(len(prices))]

    def _cuts(self, last: NDArray[np.int32]) -> list[int]:
        cuts, p = [], int(last[len(self.positions) - 1])
        while p > 0:
            cuts.append(int(self.positions[p]) - 1)
            p = int(last[p])
        return cuts[::-1]


def layered(matrix: CostMatrix, charge: NDArray[np.float64], best: Solution | None = None) -> Solution:
    """The layered program, with more layers until no further one can win."""
    grid, positions = matrix.grid, matrix.positions
    finest = grid.cost_of(np.arange(len(positions)), grid.floor)  # no partition costs less
    least_charge = np.minimum.accumulate(charge[::-1])[::-1]  # over this and every larger k
    n_layers, possible = 8, min(len(charge), len(positions) - 1)
    while True:
        n_layers = min(n_layers, possible)
        whole, last = matrix.layers(n_layers)
        totals = charge[:n_layers] + whole[:n_layers]
        k = int(np.argmin(totals))
        cost = min(float(totals[k]), np.inf if best is None else best.cost)
        if n_layers == possible or least_charge[n_layers] + finest >= cost:
            break
        n_layers *= 4
    if best is not None and best.cost <= totals[k]:
        return best
    return Solution(float(totals[k]), _walk_back(last, positions, k), float(len(positions)))


def _walk_back(last: NDArray[np.int32], positions: NDArray[np.intp], k: int) -> list[int]:
    cuts: list[int] = []
    p = len(positions) - 1
    for layer in range(k, 0, -1):
        p = int(last[layer, p])
        cuts.append(int(positions[p]) - 1)
    return cuts[::-1]
