"""Best cuts, in batches: from factors to the kernels' arrays and back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from jaxbn.factors import Factor
from jaxbn.kernels import program
from jaxbn.kernels.shapes import Shape, shape_for

BATCH_BYTES = 256 * 2**20
"""Memory a batch of small problems may take."""

BATCH_SIZES = (1, 8, 64)
"""Batches are padded to one of these, so that few programs are compiled."""

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
    """Solve every task exactly; small ones of one shape run as one batch."""
    groups: dict[Shape, list[int]] = defaultdict(list)
    for i, task in enumerate(tasks):
        groups[_shape(task, prune)].append(i)
    solutions: dict[int, Solution] = {}
    with jax.enable_x64(True):
        for shape, members in groups.items():
            if shape.prune:
                found: Iterable[Solution] = (_solve_large(tasks[i], shape) for i in members)
            else:
                found = _solve_small([tasks[i] for i in members], shape)
            solutions.update(zip(members, found, strict=True))
    return [solutions[i] for i in range(len(tasks))]


def _shape(task: Task, prune: bool) -> Shape:
    total = task.n_rows if task.weights is None else int(task.weights.sum())
    n_cells = sum(term.n_cells for term in task.terms)
    return shape_for(task.n_rows, len(task.terms), n_cells, total, unit=task.weights is None, prune=prune)


def prefix_costs(task: Task) -> NDArray[np.float64]:
    """Least cost of the rows up to each one and of a cut behind it [n]."""
    with jax.enable_x64(True):
        shape = _shape(task, True)
        state = _run_pruned(task, shape) if shape.prune else _run_batch([task], shape)
        return np.asarray(state.best).reshape(-1)[: task.n_rows]


def _run_pruned(task: Task, shape: Shape) -> program.State:
    """One problem, in as many legs as the live starts need more room."""
    problem = program.Problem(**{field: jnp.asarray(array) for field, array in _arrays(task, shape).items()})
    state = program.initial_state(problem, shape.settled, shape.recent)
    while True:
        state = program.advance(problem, state, width=shape.width, unit=shape.unit)
        if int(state.block) * program.BLOCK >= task.n_rows:
            return state
        state = program.with_more_slots(state)


def _solve_large(task: Task, shape: Shape) -> Solution:
    state = _run_pruned(task, shape)
    return _solution(task, np.asarray(state.best), np.asarray(state.last), float(state.visited))


def _run_batch(tasks: Sequence[Task], shape: Shape) -> program.State:
    """Small problems of one shape at once, padded to one of the batch sizes."""
    size = min(size for size in BATCH_SIZES if size >= len(tasks))
    arrays = [_arrays(task, shape) for task in tasks]
    arrays += [arrays[0]] * (size - len(tasks))
    problem = program.Problem(**{field: jnp.asarray(np.stack([a[field] for a in arrays])) for field in arrays[0]})
    n_blocks = np.int32(max(-(-task.n_rows // program.BLOCK) for task in tasks))
    return program.run_unpruned(problem, n_blocks, slots=shape.recent, width=shape.width, unit=shape.unit)


def _solve_small(tasks: Sequence[Task], shape: Shape) -> list[Solution]:
    most = max(size for size in BATCH_SIZES if size == 1 or size * shape.n_bytes <= BATCH_BYTES)
    solutions: list[Solution] = []
    for first in range(0, len(tasks), most):
        chunk = tasks[first : first + most]
        state = _run_batch(chunk, shape)
        best, last, visited = np.asarray(state.best), np.asarray(state.last), np.asarray(state.visited)
        solutions += [_solution(task, best[i], last[i], float(visited[i])) for i, task in enumerate(chunk)]
    return solutions


def _solution(task: Task, best: NDArray[np.float64], last: NDArray[np.int32], visited: float) -> Solution:
    """Walk back over the last intervals."""
    cuts = []
    start = int(last[task.n_rows - 1])
    while start > 0:
        cuts.append(start - 1)
        start = int(last[start - 1])
    return Solution(float(best[task.n_rows - 1]), cuts[::-1], visited / task.n_rows)


def _arrays(task: Task, shape: Shape) -> dict[str, Any]:
    """The fields of `program.Problem` as padded NumPy arrays."""
    n, n_terms = task.n_rows, len(task.terms)
    cells = np.full((shape.terms, shape.rows), shape.cells, np.int32)  # no cell: what is counted there is dropped
    cell_sign = np.zeros(shape.cells)
    first = 0
    for j, term in enumerate(task.terms):
        cells[j, :n] = term.cells
        cells[j, :n] += first
        cell_sign[first : first + term.n_cells] = term.sign
        first += term.n_cells
    kinds = sorted({term.tables for term in task.terms})
    tables = np.zeros((shape.tables, shape.length))
    for row, names in enumerate(kinds):
        for name in names:
            tables[row] += table(name, shape.length, shape.unit)
    weights = np.zeros(shape.rows, np.int32)
    weights[:n] = 1 if task.weights is None else task.weights
    cut_cost = np.full(shape.rows, np.inf)
    cut_cost[:n] = task.cut_cost
    term_table = np.zeros(shape.terms, np.int32)
    term_table[:n_terms] = [kinds.index(term.tables) * shape.length for term in task.terms]
    term_sign = np.zeros(shape.terms)
    term_sign[:n_terms] = [term.sign for term in task.terms]
    return {
        "cells": cells,
        "weights": weights,
        "cut_cost": cut_cost,
        "first_cost": np.float64(task.first_cost),
        "tables": tables.reshape(-1),
        "term_table": term_table,
        "term_sign": term_sign,
        "entropy": table(ENTROPY, shape.length, False),
        "cell_sign": cell_sign,
        "n_rows": np.int32(n),
        "n_terms": np.int32(n_terms),
        "n_cells": np.int32(first),
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
