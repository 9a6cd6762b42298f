"""Best cuts, in batches: from factors to the kernels' arrays and back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from jaxbn.factors import Factor
from jaxbn.kernels import dense, program
from jaxbn.kernels.dense import DenseProblem, Extent, solve_dense
from jaxbn.kernels.shapes import BATCH_SIZES, DENSE_ROWS, DenseShape, PrunedShape, dense_shape, pruned_shape

BATCH_BYTES = 256 * 2**20
"""Memory a batch of small problems may take."""

ENTROPY = 0
"""Name of the table of n ln n; every other number K names that of ln Γ(n + K) - ln Γ(K)."""


@dataclass(frozen=True)
class Term:
    """One signed sum of table look-ups: contexts (+) or outcomes (-) of a factor."""

    cells: NDArray[np.int32]  # [n], in the order of the variable's values
    n_cells: int
    sign: float
    tables: tuple[int, ...]  # the names of the tables it is the sum of


@dataclass(frozen=True)
class Task:
    """One variable to cut: rows in ascending order of its values."""

    terms: Sequence[Term]
    cut_cost: NDArray[np.float64]  # [n], +inf where no cut can be, 0 behind the last row
    first_cost: float
    weights: NDArray[np.int32] | None = None  # [n], None: all one

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.cut_cost)


@dataclass(frozen=True)
class Solution:
    """The optimum of a task."""

    cost: float
    cuts: list[int]  # ranks that a cut falls behind, ascending
    live: float  # average number of live starts


def dirichlet_terms(factors: Iterable[Factor]) -> list[Term]:
    """The h of section 1: ln Γ(n_c + K) - ln Γ(K) for the contexts, - ln Γ(n_co + 1) for the outcomes."""
    return _terms(factors, lambda factor: factor.n_states, 1)


def entropy_terms(factors: Iterable[Factor]) -> list[Term]:
    """The E of section 3: n_c ln n_c for the contexts, - n_co ln n_co for the outcomes."""
    return _terms(factors, lambda factor: ENTROPY, ENTROPY)


def _terms(factors: Iterable[Factor], context_table: Callable[[Factor], int], cell_table: int) -> list[Term]:
    """Two terms for each factor that has a choice; contexts that never change share one."""
    factors = [factor for factor in factors if factor.n_states > 1]
    terms = [Term(factor.cell, factor.n_cells, -1.0, (cell_table,)) for factor in factors]
    terms += [Term(f.context, f.n_contexts, 1.0, (context_table(f),)) for f in factors if f.n_contexts > 1]
    constant = [factor for factor in factors if factor.n_contexts == 1]
    if constant:
        names = tuple(sorted(context_table(factor) for factor in constant))
        terms.append(Term(constant[0].context, 1, 1.0, names))
    return terms


def solve(tasks: Sequence[Task], *, prune: bool = True) -> list[Solution]:
    """Solve every task exactly: few rows by the dense program, in batches of one shape, many by the pruned one.

    `prune=False` keeps every start of the pruned program, for comparison.
    """
    solutions = {i: _solve_pruned(task, prune) for i, task in enumerate(tasks) if task.n_rows > DENSE_ROWS}
    groups: dict[DenseShape, list[int]] = defaultdict(list)
    for i, task in enumerate(tasks):
        if task.n_rows <= DENSE_ROWS:
            groups[_dense_shape(task)].append(i)
    for shape, members in groups.items():
        for batch in _batches(tasks, shape, members):
            solutions.update(zip(batch, _solve_batch([tasks[i] for i in batch], shape), strict=True))
    return [solutions[i] for i in range(len(tasks))]


def prefix_costs(task: Task) -> NDArray[np.float64]:
    """Least cost of the rows up to each one and of a cut behind it, by the pruned program [n]."""
    with jax.enable_x64(True):
        return np.asarray(_run_pruned(task, True).best)[: task.n_rows]


def _size(task: Task) -> dict[str, Any]:
    return {
        "n_terms": len(task.terms),
        "n_cells": sum(term.n_cells for term in task.terms),
        "total_weight": task.n_rows if task.weights is None else int(task.weights.sum()),
        "unit": task.weights is None,
    }


def _dense_shape(task: Task) -> DenseShape:
    return dense_shape(int(np.isfinite(task.cut_cost).sum()), **_size(task))


def _batches(tasks: Sequence[Task], shape: DenseShape, members: list[int]) -> list[list[int]]:
    """Problems of one shape in batches that fit in memory; each takes the time of its longest member."""
    members = sorted(members, key=lambda i: len(tasks[i].terms))
    most = max(size for size in BATCH_SIZES if size == 1 or size * shape.n_bytes <= BATCH_BYTES)
    return [members[first : first + most] for first in range(0, len(members), most)]


def _solve_batch(tasks: Sequence[Task], shape: DenseShape) -> list[Solution]:
    """One batch, padded to one of the batch sizes."""
    arrays = [_dense_arrays(task, shape) for task in tasks]
    arrays += [arrays[0]] * (min(size for size in BATCH_SIZES if size >= len(tasks)) - len(tasks))
    with jax.enable_x64(True):
        fields: dict[str, Any] = {field: np.stack([a[field] for a in arrays]) for field in arrays[0]}
        problem = DenseProblem(**fields)
        found = solve_dense(problem, _extent(tasks, shape), unit=shape.unit)
        best, start = np.asarray(found.best), np.asarray(found.start)
    return [_dense_solution(task, best[i], start[i]) for i, task in enumerate(tasks)]


def _extent(tasks: Sequence[Task], shape: DenseShape) -> Extent:
    """What a batch needs of the padded arrays."""
    ends = np.arange(dense.BLOCK, shape.rows + 1, dense.BLOCK)  # of the blocks of rows
    values = [1 + np.cumsum(np.isfinite(task.cut_cost)) for task in tasks]  # begun behind each row
    begun = np.max([v[np.minimum(ends, len(v)) - 1] for v in values], axis=0)
    extent: dict[str, Any] = {
        "n_values": np.int32(max(v[-1] - 1 for v in values)),
        "n_terms": np.int32(max(len(task.terms) for task in tasks)),
        "n_blocks": np.int32(max(-(-task.n_rows // dense.BLOCK) for task in tasks)),
        "n_chunks": np.minimum(-(-begun // dense.CHUNK), shape.values // dense.CHUNK).astype(np.int32),
    }
    return Extent(**extent)


def _dense_solution(task: Task, best: NDArray[np.float64], start: NDArray[np.int32]) -> Solution:
    """Walk back over the last intervals, which are counted in distinct values."""
    ends = np.flatnonzero(np.isfinite(task.cut_cost))
    cuts = []
    value = int(start[len(ends) - 1])
    while value > 0:
        cuts.append(int(ends[value - 1]))
        value = int(start[value - 1])
    return Solution(float(best[len(ends) - 1]), cuts[::-1], len(ends) / 2)


def _dense_arrays(task: Task, shape: DenseShape) -> dict[str, Any]:
    """The fields of `DenseProblem` as padded NumPy arrays."""
    n, n_terms = task.n_rows, len(task.terms)
    weights = np.ones(n, np.int64) if task.weights is None else task.weights.astype(np.int64)
    ends = np.flatnonzero(np.isfinite(task.cut_cost))
    m = len(ends)
    value = np.concatenate([[0], np.cumsum(np.isfinite(task.cut_cost[:-1]))])  # distinct value of each row
    cells = np.empty((n_terms, n), np.int64)
    n_cells = 0
    for j, term in enumerate(task.terms):
        np.add(term.cells, n_cells, out=cells[j])
        n_cells += term.n_cells
    at_value = np.bincount((cells * m + value).reshape(-1), np.tile(weights, n_terms), n_cells * m).reshape(-1, m)
    before = np.zeros((shape.cells, shape.values), np.int32)
    before[:n_cells, 1:m] = np.cumsum(at_value[:, :-1], axis=1)
    return {
        "cells": _padded(cells, (shape.terms, shape.rows)),
        "seen": _padded(_seen_before(cells, weights), (shape.terms, shape.rows)),
        "weights": _padded(weights, (shape.rows,)),
        "first_row": _padded(np.append(0, ends[:-1] + 1), (shape.values,), shape.rows),
        "last_row": _padded(ends, (shape.values,)),
        "before": before,
        "cut_cost": _padded(task.cut_cost[ends], (shape.values,), np.inf, np.float64),
        "first_cost": np.float64(task.first_cost),
        **_term_arrays(task, shape),
    }


def _seen_before(cells: NDArray[np.int64], weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Weight of the earlier rows in the same cell [J, n]."""
    flat = cells.reshape(-1)
    order = np.argsort(flat, kind="stable")
    added = np.tile(weights, len(cells))[order]
    running = np.cumsum(added) - added
    sorted_cells = flat[order]
    first = np.flatnonzero(np.append(True, sorted_cells[1:] != sorted_cells[:-1])[: len(flat)])
    running -= np.repeat(running[first], np.diff(np.append(first, len(flat))))
    seen = np.empty_like(flat)
    seen[order] = running
    return seen.reshape(cells.shape)


def _term_arrays(task: Task, shape: DenseShape | PrunedShape) -> dict[str, Any]:
    """Tables, and which of them each term uses with which sign."""
    kinds = sorted({term.tables for term in task.terms})
    tables = np.zeros((shape.tables, shape.length))
    for row, names in enumerate(kinds):
        for name in names:
            tables[row] += table(name, shape.length, shape.unit)
    begins = np.array([kinds.index(term.tables) * shape.length for term in task.terms])
    return {
        "tables": tables.reshape(-1),
        "term_table": _padded(begins, (shape.terms,)),
        "term_sign": _padded(np.array([term.sign for term in task.terms]), (shape.terms,), 0.0, np.float64),
        "n_terms": np.int32(len(task.terms)),
    }


def _padded(array: NDArray[Any], shape: tuple[int, ...], fill: float = 0, dtype: Any = np.int32) -> NDArray[Any]:
    """The array in the corner of a larger one."""
    result = np.full(shape, fill, dtype)
    result[tuple(slice(size) for size in array.shape)] = array
    return result


def _solve_pruned(task: Task, prune: bool) -> Solution:
    with jax.enable_x64(True):
        state = jax.tree.map(np.asarray, _run_pruned(task, prune))
    last = state.last
    cuts = []
    start = int(last[task.n_rows - 1])
    while start > 0:
        cuts.append(start - 1)
        start = int(last[start - 1])
    return Solution(float(np.asarray(state.best)[task.n_rows - 1]), cuts[::-1], float(state.visited) / task.n_rows)


def _run_pruned(task: Task, prune: bool) -> program.State:
    """One problem, in as many legs as the live starts need more room."""
    shape = pruned_shape(task.n_rows, **_size(task))
    problem = jax.device_put(program.Problem(**_arrays(task, shape)))
    state = program.initial_state(problem, shape.settled, shape.recent)
    while True:
        state = program.advance(problem, state, width=shape.width, unit=shape.unit, prune=prune)
        if int(state.block) * program.BLOCK >= task.n_rows:
            return state
        state = program.with_more_slots(state)


def _arrays(task: Task, shape: PrunedShape) -> dict[str, Any]:
    """The fields of `program.Problem` as padded NumPy arrays."""
    n = task.n_rows
    cells = np.full((shape.terms, shape.rows), shape.cells, np.int32)  # no cell: what is counted there is dropped
    cell_sign = np.zeros(shape.cells)
    first = 0
    for j, term in enumerate(task.terms):
        np.add(term.cells, first, out=cells[j, :n])
        cell_sign[first : first + term.n_cells] = term.sign
        first += term.n_cells
    return {
        "cells": cells,
        "weights": _padded(np.ones(n) if task.weights is None else task.weights, (shape.rows,)),
        "cut_cost": _padded(task.cut_cost, (shape.rows,), np.inf, np.float64),
        "first_cost": np.float64(task.first_cost),
        "entropy": table(ENTROPY, shape.length, False),
        "cell_sign": cell_sign,
        "n_rows": np.int32(n),
        "n_cells": np.int32(first),
        **_term_arrays(task, shape),
    }


@lru_cache(maxsize=64)
def table(name: int, length: int, steps: bool) -> NDArray[np.float64]:
    """A cumulative table by name, or its differences, [length]."""
    counts = np.arange(length, dtype=np.float64)
    if name == ENTROPY:
        values = counts * np.log(np.maximum(counts, 1))
        return np.diff(values, append=0.0) if steps else values
    logs = np.log(counts + name)
    if steps:
        return logs
    if name < 1e6:
        return gammaln(counts + name) - gammaln(name)
    return np.concatenate([[0.0], np.cumsum(logs)[:-1]])  # ln Γ at large K has lost the digits of the difference
