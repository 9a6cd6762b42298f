"""Many small problems at once: batches of one shape, and the dense program run in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import numpy as np
from numpy.typing import NDArray

from jaxbn.devices import batch_plan, run_batch
from jaxbn.kernels import dense
from jaxbn.kernels.dense import DenseProblem, DenseResult, Extent, solve_dense
from jaxbn.kernels.shapes import DenseShape, dense_shape
from jaxbn.tasks import Solution, Task, padded, size, term_arrays

Fields = TypeVar("Fields", bound=tuple[Any, ...])
Found = TypeVar("Found", bound=tuple[Any, ...])


class Batch(NamedTuple, Generic[Fields]):
    """Problems of one shape."""

    fields: Fields  # a named tuple of arrays with a leading batch axis [B, ...]
    shared: tuple[Any, ...]  # what the program needs besides


class Answers(NamedTuple, Generic[Fields, Found]):
    """The answers to a batch."""

    first: int  # number of the first problem
    fields: Fields
    found: Found  # a named tuple of arrays with a leading batch axis


def in_batches(
    count: int,
    bytes_each: int,
    make: Callable[[int, int], Batch[Fields]],
    program: Callable[..., Found],
    *,
    one_size: bool = False,
) -> Iterator[Answers[Fields, Found]]:
    """The one way to a batched program: any number of problems of one shape, in batches that fit in memory.

    The batches are spread over the devices; while one is computed the arrays of the next are made.

    Args:
        count: number of problems.
        bytes_each: memory of each at work.
        make: the problems from a number up to, not including, another.
        program: what solves a batch, compiled.
        one_size: whether all batches have one size, so that the program is compiled once.
    """
    first, pending = 0, None
    for n_problems, batch_size in batch_plan(count, bytes_each, one_size=one_size):
        fields, shared = make(first, first + n_problems)
        with jax.enable_x64(True):
            filled = jax.tree.map(partial(_filled, batch_size=batch_size), fields)
            running = run_batch(program, filled, *shared)
        if pending is not None:
            yield _fetched(*pending)
        first, pending = first + n_problems, (first, n_problems, fields, running)
    if pending is not None:
        yield _fetched(*pending)


def _filled(array: NDArray[Any], batch_size: int) -> NDArray[Any]:
    """The array with its first problem repeated up to the size of the batch."""
    missing = batch_size - len(array)
    return np.concatenate([array, np.repeat(array[:1], missing, axis=0)]) if missing else array


def _fetched(first: int, count: int, fields: Fields, running: Found) -> Answers[Fields, Found]:
    with jax.enable_x64(True):
        return Answers(first, fields, jax.tree.map(lambda array: np.asarray(array)[:count], running))


def solve_small(tasks: Sequence[Task]) -> list[Solution]:
    """Solve tasks of few rows by the dense program, those of one shape together."""
    groups: dict[DenseShape, list[int]] = defaultdict(list)
    for i in sorted(range(len(tasks)), key=lambda i: len(tasks[i].terms)):  # a batch takes as long as its longest
        groups[_dense_shape(tasks[i])].append(i)
    solutions: dict[int, Solution] = {}
    for shape, members in groups.items():
        make = partial(_dense_batch, [tasks[i] for i in members], shape)
        for first, _, found in in_batches(len(members), shape.n_bytes, make, _dense_program(shape.unit)):
            for i, best, start in zip(members[first:], found.best, found.start, strict=False):
                solutions[i] = _dense_solution(tasks[i], best, start)
    return [solutions[i] for i in range(len(tasks))]


@lru_cache(maxsize=2)
def _dense_program(unit: bool) -> Callable[..., DenseResult]:
    return partial(solve_dense, unit=unit)


def _dense_shape(task: Task) -> DenseShape:
    return dense_shape(int(np.isfinite(task.cut_cost).sum()), **size(task))


def _dense_batch(tasks: Sequence[Task], shape: DenseShape, first: int, end: int) -> Batch[DenseProblem]:
    """Some of the tasks, one above the other."""
    arrays = [_dense_arrays(task, shape) for task in tasks[first:end]]
    fields: dict[str, Any] = {name: np.stack([each[name] for each in arrays]) for name in arrays[0]}
    return Batch(DenseProblem(**fields), (_extent(tasks[first:end], shape),))


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
        "cells": padded(cells, (shape.terms, shape.rows)),
        "seen": padded(_seen_before(cells, weights), (shape.terms, shape.rows)),
        "weights": padded(weights, (shape.rows,)),
        "first_row": padded(np.append(0, ends[:-1] + 1), (shape.values,), shape.rows),
        "last_row": padded(ends, (shape.values,)),
        "before": before,
        "cut_cost": padded(task.cut_cost[ends], (shape.values,), np.inf, np.float64),
        "first_cost": np.float64(task.first_cost),
        **term_arrays(task.terms, shape),
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
