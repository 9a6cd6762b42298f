"""Cuts under a charge that depends on the number of intervals: the least of `charge(k) + B(k)`.

B(k), the least cost of a partition into exactly k intervals, comes from the layered program while that is small. Else
it is bounded from below by its convex hull: a program with a fixed price for each interval finds the hull's
vertices, and the number of intervals is settled where no other k can be cheaper than the best vertex. Where a doubt is
left the layered program runs on the positions that the two-sided bound admits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts import prefix_costs, solve
from jaxbn.kernels.layers import interval_costs, interval_layers, priced_intervals
from jaxbn.kernels.program import BLOCK
from jaxbn.kernels.shapes import bucket
from jaxbn.tasks import Solution, Spread, Task, Term, summed_tables

FEW_POSITIONS = 1024
"""Up to here the costs of all intervals are worked out first."""

LAYERED_SPREAD = 128
"""Up to here layers are quicker than prices where the width counts: there many intervals are hard to rule out."""


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

    def priced(self, price: float) -> Task:
        """The task in which every interval costs `price` more."""
        cut_cost = np.where(self.can_cut, price, np.inf)
        cut_cost[-1] = 0.0
        return Task(self.terms, cut_cost, price, self.weights, self.spread)

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


def best_number_of_intervals(rows: Rows, charge: NDArray[np.float64]) -> Solution:
    """The exact minimum of `charge[k - 1] + B(k)` over all partitions; `charge` has one entry for each possible k."""
    positions = np.concatenate([[0], np.flatnonzero(rows.can_cut) + 1, [rows.n]])
    if not rows.terms:
        return Solution(float(charge.min()), _finest_cuts(positions, int(charge.argmin()) + 1), 0.0)
    if len(positions) > FEW_POSITIONS:
        settle = partial(_settle_doubt, rows, positions, charge)
        return _priced(rows, charge, lambda price: solve([rows.priced(price)])[0], settle)
    matrix = CostMatrix(_grid(rows, positions), positions)
    if rows.spread is None or len(positions) <= LAYERED_SPREAD:
        return _layered(matrix, charge)
    return _priced(rows, charge, matrix.priced, lambda best, doubtful, prices: _layered(matrix, charge, best))


def _finest_cuts(positions: NDArray[np.intp], k: int) -> list[int]:
    """Any k intervals: the first k - 1 cuts."""
    return [int(p) - 1 for p in positions[1:k]]


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


class CostMatrix:
    """The costs of all intervals between some positions, kept on the device."""

    def __init__(self, grid: Grid, positions: NDArray[np.intp]) -> None:
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

    def priced(self, price: float) -> Solution:
        """The optimum where every interval costs `price` more."""
        n = len(self.positions)
        with jax.enable_x64(True):
            found = priced_intervals(self.cost, np.float64(price), np.int32(n))
            best, last = np.asarray(found.best), np.asarray(found.last)
        cuts, p = [], int(last[n - 1])
        while p > 0:
            cuts.append(int(self.positions[p]) - 1)
            p = int(last[p])
        return Solution(float(best[n - 1]), cuts[::-1], float(n) / 2)


def _layered(matrix: CostMatrix, charge: NDArray[np.float64], best: Solution | None = None) -> Solution:
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


def _grid(rows: Rows, positions: NDArray[np.intp]) -> Grid:
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


def _priced(
    rows: Rows,
    charge: NDArray[np.float64],
    solve_at: Callable[[float], Solution],
    settle: Callable[[Solution, Sequence[int], set[float]], Solution],
) -> Solution:
    """Vertices of the hull until every other number of intervals is ruled out.

    `solve_at(price)` finds one; `settle(best, doubtful, prices)` decides where a doubt is left.
    """
    k = np.arange(1, len(charge) + 1)
    whole = _grid(rows, np.array([0, rows.n]))
    hull: dict[int, tuple[float, list[int]]] = {1: (whole.cost_of(np.array([0, 1]), whole.tables), [])}
    bound = np.full(len(charge), -np.inf)
    prices: set[float] = set()
    asked: set[tuple[int, int, str]] = set()
    live = 0.0
    price = float(charge[1] - charge[0])  # a concave charge's steepest slope: fewer intervals are ruled out at once
    while True:
        found = solve_at(price)
        prices.add(price)
        live = max(live, found.live)
        n_found = len(found.cuts) + 1
        if n_found <= len(charge):
            hull.setdefault(n_found, (found.cost - price * n_found, found.cuts))
        bound = np.maximum(bound, found.cost - price * k)
        totals = {n: charge[n - 1] + cost for n, (cost, _) in hull.items()}
        best_k = min(totals, key=lambda n: totals[n])
        best = Solution(float(totals[best_k]), hull[best_k][1], live)
        slack = 1e-9 * abs(best.cost) + 1e-9
        doubtful = [int(n) for n in k[charge + bound < best.cost - slack] if n not in hull]
        if not doubtful:
            return best
        worst = min(doubtful, key=lambda n: charge[n - 1] + bound[n - 1])
        chords = _chords(doubtful, worst, best_k, {n: cost for n, (cost, _) in hull.items()}, charge)
        question, price = next(((q, p) for q, p in chords if q not in asked), (None, price))
        if question is None:
            return settle(best, doubtful, prices)
        asked.add(question)


def _chords(
    doubtful: Sequence[int], worst: int, best_k: int, hull: Mapping[int, float], charge: NDArray[np.float64]
) -> Iterator[tuple[tuple[int, int, str], float]]:
    """Prices worth asking for, best first, each with what it is the chord of.

    Beyond all vertices the charge's own slope there. Then the charge's chord from the best number of intervals to the
    doubtful one farthest on either side: if the best number is optimal at that price too, everything in between is
    ruled out where the charge is concave. Then the hull's chord over the number that could be best.
    """
    last = doubtful[-1]
    if last > max(hull):
        yield (last - 1, last, "charge"), float(charge[last - 1] - charge[last - 2])
    right, left = [n for n in doubtful[-1:] if n > best_k], [n for n in doubtful[:1] if n < best_k]
    for far in right + left:
        yield (best_k, far, "charge"), float(charge[far - 1] - charge[best_k - 1]) / (far - best_k)
    before, behind = max(n for n in hull if n < worst), min((n for n in hull if n > worst), default=None)
    if behind is not None:
        yield (before, behind, "hull"), (hull[before] - hull[behind]) / (behind - before)


def _settle_doubt(
    rows: Rows,
    positions: NDArray[np.intp],
    charge: NDArray[np.float64],
    best: Solution,
    doubtful: Sequence[int],
    prices: set[float],
) -> Solution:
    """The layered program over the positions that a better partition into a doubtful number of intervals could use.

    The cheapest priced partition through a position is the forward plus the backward optimum there. Whatever the
    price, k intervals through it cost at least that minus k times the price.
    """
    through = {price: _through(rows, positions, price) for price in prices}
    limit = best.cost + 1e-9 * abs(best.cost) + 1e-9
    admitted = np.zeros(len(positions), bool)
    for k in doubtful:
        admitted |= np.all([cost - price * k + charge[k - 1] <= limit for price, cost in through.items()], axis=0)
    admitted[[0, -1]] = True
    positions = positions[admitted]
    return _layered(CostMatrix(_grid(rows, positions), positions), charge[: max(doubtful)], best)


def _through(rows: Rows, positions: NDArray[np.intp], price: float) -> NDArray[np.float64]:
    """Least cost of a priced partition with a boundary at each position."""
    inner = positions[1:-1]
    forward = prefix_costs(rows.priced(price))[inner - 1]
    backward = prefix_costs(rows.mirrored.priced(price))[rows.n - inner - 1]
    return np.concatenate([[0.0], forward + backward - 2 * price, [0.0]])  # both sides paid for a further interval
