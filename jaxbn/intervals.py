"""Cuts under a charge that depends on the number of intervals: the least of `charge(k) + B(k)`.

B(k), the least cost of a partition into exactly k intervals, comes from the layered program while that is small. For
many rows it is bounded from below by its convex hull: a program with a fixed price for each interval finds the hull's
vertices, and the number of intervals is settled where no other k can be cheaper than the best vertex. Where a doubt is
left the layered program runs on the positions that the two-sided bound admits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax
import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts import Solution, Task, Term, prefix_costs, solve, table
from jaxbn.kernels.layers import interval_layers
from jaxbn.kernels.program import BLOCK
from jaxbn.kernels.shapes import bucket

LAYERED_POSITIONS = 1024
"""Up to here the layered program is quicker than pricing."""


@dataclass(frozen=True)
class Rows:
    """Rows in ascending order: where they may be cut, and what an interval of them costs."""

    can_cut: NDArray[np.bool_]  # [n]
    terms: Sequence[Term]
    weights: NDArray[np.int32] | None

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
        return Task(self.terms, cut_cost, price, self.weights)


def best_number_of_intervals(
    can_cut: NDArray[np.bool_],
    terms: Sequence[Term],
    weights: NDArray[np.int32] | None,
    charge: NDArray[np.float64],
) -> Solution:
    """The exact minimum of `charge[k - 1] + B(k)` over all partitions; `charge` has one entry for each possible k."""
    rows = Rows(can_cut, terms, weights)
    positions = np.concatenate([[0], np.flatnonzero(can_cut) + 1, [rows.n]])
    if not terms:
        return Solution(float(charge.min()), _finest_cuts(positions, int(charge.argmin()) + 1), 0.0)
    if len(positions) <= LAYERED_POSITIONS:
        return _layered(rows, positions, charge)
    return _priced(rows, positions, charge)


def _finest_cuts(positions: NDArray[np.intp], k: int) -> list[int]:
    """Any k intervals: the first k - 1 cuts."""
    return [int(p) - 1 for p in positions[1:k]]


def _layered(
    rows: Rows, positions: NDArray[np.intp], charge: NDArray[np.float64], best: Solution | None = None
) -> Solution:
    """The layered program, with more layers until no further one can win."""
    counts, sign, names = _counts_before(rows, positions)
    finest = _cost_of(counts, sign, names, rows.total, np.arange(len(positions)))
    least_charge = np.minimum.accumulate(charge[::-1])[::-1]  # over this and every larger k
    n_layers, possible = 8, min(len(charge), len(positions) - 1)
    while True:
        n_layers = min(n_layers, possible)
        whole, last = _run_layers(counts, sign, names, rows.total, n_layers)
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


def _counts_before(
    rows: Rows, positions: NDArray[np.intp]
) -> tuple[NDArray[np.int32], NDArray[np.float64], list[tuple[int, ...]]]:
    """Counts of the rows before each position in every cell [C, P]; the sign and the tables of each cell."""
    group = np.searchsorted(positions[1:], np.arange(rows.n), side="right")  # interval between positions, per row
    n_groups = len(positions) - 1
    parts, signs, names = [], [], []
    for term in rows.terms:
        flat = np.bincount(term.cells.astype(np.int64) * n_groups + group, rows.weights, term.n_cells * n_groups)
        parts.append(np.cumsum(flat.reshape(term.n_cells, n_groups), axis=1))
        signs += [term.sign] * term.n_cells
        names += [term.tables] * term.n_cells
    counts = np.concatenate(parts).astype(np.int32)
    return np.pad(counts, ((0, 0), (1, 0))), np.array(signs), names


def _table_rows(names: list[tuple[int, ...]], length: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """The distinct tables, one after the other, and where that of each cell begins."""
    kinds = sorted(set(names))
    tables = [sum((table(name, length, False) for name in kind), np.zeros(length)) for kind in kinds]
    begins = {kind: i * length for i, kind in enumerate(kinds)}
    return np.concatenate(tables), np.array([begins[kind] for kind in names], np.int32)


def _cost_of(
    counts: NDArray[np.int32],
    sign: NDArray[np.float64],
    names: list[tuple[int, ...]],
    total: int,
    chosen: NDArray[np.intp],
) -> float:
    """Cost of the partition at the chosen positions."""
    tables, begins = _table_rows(names, bucket(total + 1, BLOCK))
    steps = np.diff(counts[:, chosen], axis=1)
    return float((sign[:, None] * tables[begins[:, None] + steps]).sum())


def _run_layers(
    counts: NDArray[np.int32], sign: NDArray[np.float64], names: list[tuple[int, ...]], total: int, n_layers: int
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    n_cells, n_positions = counts.shape
    padded_cells, padded_positions = bucket(n_cells, 512, 8), bucket(n_positions, 64)
    tables, begins = _table_rows(names, bucket(total + 1, 1024))
    pad = padded_cells - n_cells
    with jax.enable_x64(True):
        layers = interval_layers(
            np.pad(counts, ((0, pad), (0, padded_positions - n_positions))),
            np.pad(sign, (0, pad)),
            np.pad(begins, (0, pad)),
            tables,
            np.int32(n_positions),
            np.int32(n_cells),
            np.int32(n_layers),
        )
        return np.asarray(layers.whole), np.asarray(layers.last)


def _priced(rows: Rows, positions: NDArray[np.intp], charge: NDArray[np.float64]) -> Solution:
    """Vertices of the hull until every other number of intervals is ruled out.

    The next price is the slope of the hull's chord over a number of intervals still in doubt, or the charge's own slope
    where no vertex lies to the right of it.
    """
    k = np.arange(1, len(charge) + 1)
    counts, sign, names = _counts_before(rows, positions[[0, -1]])
    hull: dict[int, tuple[float, list[int]]] = {1: (_cost_of(counts, sign, names, rows.total, np.array([0, 1])), [])}
    bound = np.full(len(charge), -np.inf)
    prices: set[float] = set()
    asked: set[tuple[int, int]] = set()
    live = 0.0
    price = float(charge[min(9, len(charge) - 1)] - charge[0]) / min(9, len(charge) - 1)
    while True:
        found = solve([rows.priced(price)])[0]
        prices.add(price)
        live = max(live, found.live)
        n_found = len(found.cuts) + 1
        hull.setdefault(n_found, (found.cost - price * n_found, found.cuts))
        bound = np.maximum(bound, found.cost - price * k)
        totals = {n: charge[n - 1] + cost for n, (cost, _) in hull.items()}
        best_k = min(totals, key=lambda n: totals[n])
        best = Solution(float(totals[best_k]), hull[best_k][1], live)
        slack = 1e-9 * abs(best.cost) + 1e-9
        doubtful = [int(n) for n in k[charge + bound < best.cost - slack] if n not in hull]
        if not doubtful:
            return best
        n = min(doubtful, key=lambda n: charge[n - 1] + bound[n - 1])
        left, right = max(v for v in hull if v < n), min((v for v in hull if v > n), default=None)
        question = (left, -n if right is None else right)
        if question in asked:  # the prices of one chord differ by rounding, so they are no sign of a new question
            return _settle_doubt(rows, positions, charge, best, doubtful, prices)
        asked.add(question)
        if right is None:
            price = float(charge[n - 1] - charge[n - 2])
        else:
            price = (hull[left][0] - hull[right][0]) / (right - left)


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
    return _layered(rows, positions[admitted], charge[: max(doubtful)], best)


def _through(rows: Rows, positions: NDArray[np.intp], price: float) -> NDArray[np.float64]:
    """Least cost of a priced partition with a boundary at each position."""
    mirrored = Rows(
        np.append(rows.can_cut[-2::-1], False),
        [replace(term, cells=term.cells[::-1]) for term in rows.terms],
        None if rows.weights is None else rows.weights[::-1],
    )
    inner = positions[1:-1]
    forward = prefix_costs(rows.priced(price))[inner - 1]
    backward = prefix_costs(mirrored.priced(price))[rows.n - inner - 1]
    return np.concatenate([[0.0], forward + backward - 2 * price, [0.0]])  # both sides paid for a further interval
