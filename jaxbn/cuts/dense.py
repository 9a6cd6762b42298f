"""Many small problems at once: every interval is costed, in batches of one shape."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.problem import Solution, Task, interval_starts, size, table
from jaxbn.kernels import dense
from jaxbn.kernels.dense import DenseProblem, Extent, solve_dense
from jaxbn.runtime.batches import Batch, in_batches
from jaxbn.runtime.shapes import DenseShape, bucket, dense_shape


def solve_small(tasks: Sequence[Task]) -> list[Solution]:
    """Solve tasks of few rows by the dense program, those of one shape together."""
    groups: dict[DenseShape, list[int]] = defaultdict(list)
    for i in sorted(range(len(tasks)), key=lambda i: len(tasks[i].terms)):  # a batch takes as long as its longest
        groups[_dense_shape(tasks[i])].append(i)
    solutions: dict[int, Solution] = {}
    for shape, members in groups.items():
        make = partial(_dense_batch, [tasks[i] for i in members], shape)
        for first, _, found in in_batches(len(members), shape.n_bytes, make, solve_dense):
            for i, best, start in zip(members[first:], found.best, found.start, strict=False):
                solutions[i] = _dense_solution(_steps(tasks[i], shape.rows_at_once), best, start)
    return [solutions[i] for i in range(len(tasks))]


def _dense_shape(task: Task) -> DenseShape:
    n_values = int(np.isfinite(task.cut_cost).sum())
    return dense_shape(n_values, **size(task), unit=task.weights is None)


class _Steps(NamedTuple):
    """Rows in steps of a few rows of one distinct value."""

    value: NDArray[np.intp]  # [n], number of the distinct value of each row
    first_row: NDArray[np.intp]  # [m], of each distinct value
    last_row: NDArray[np.intp]  # [m]
    step: NDArray[np.intp]  # [n], of each row
    place: NDArray[np.intp]  # [n], of each row in its step
    end: NDArray[np.intp]  # [m], the last step of each distinct value


def _steps(task: Task, rows_at_once: int) -> _Steps:
    """The steps of a task; the tasks of one variable share them."""
    return _cached_steps(np.isfinite(task.cut_cost).tobytes(), rows_at_once)


@lru_cache(maxsize=256)
def _cached_steps(ends: bytes, rows_at_once: int) -> _Steps:
    """From whether a distinct value ends at each row."""
    is_last = np.frombuffer(ends, bool)
    last_row = np.flatnonzero(is_last)
    first_row = np.append(0, last_row[:-1] + 1)
    value = np.cumsum(is_last) - is_last
    place = (np.arange(len(value)) - first_row[value]) % rows_at_once
    step = np.cumsum(place == 0) - 1
    return _Steps(value, first_row, last_row, step, place, step[last_row])


def _dense_solution(steps: _Steps, best: NDArray[np.float64], start: NDArray[np.int32]) -> Solution:
    """The cuts; intervals begin and end with distinct values."""
    values = interval_starts(start[steps.end], len(steps.end) - 1)
    cuts = [int(steps.last_row[value - 1]) for value in values]
    return Solution(float(best[steps.end[-1]]), cuts, len(steps.end) / 2)


def _dense_batch(tasks: Sequence[Task], shape: DenseShape, first: int, end: int) -> Batch[DenseProblem]:
    """Some of the tasks as padded NumPy arrays."""
    chosen = tasks[first:end]
    all_steps = [_steps(task, shape.rows_at_once) for task in chosen]
    n_terms = max(len(task.terms) for task in chosen)
    kinds = sorted({(term.sign, term.tables) for task in chosen for term in task.terms})
    begins = {kind: i * shape.length for i, kind in enumerate(kinds)}
    per_entry = (len(chosen), shape.entries, shape.steps)
    fields: dict[str, Any] = {
        "cells": np.zeros(per_entry, np.int32),
        "seen": np.full(per_entry, dense.NEVER, np.int32),
        "weights": np.zeros((len(chosen), 0, 0) if shape.unit else per_entry, np.int32),
        "tables": np.zeros(per_entry[:2], np.int32),
        "before": np.zeros((len(chosen), shape.cells, shape.values), np.int32),
        "cut_cost": np.full((len(chosen), shape.steps), np.inf),
        "opens": np.full((len(chosen), shape.steps), shape.values, np.int32),
        "first_cost": np.array([task.first_cost for task in chosen], np.float64),
    }
    for b, (task, steps) in enumerate(zip(chosen, all_steps, strict=True)):
        _fill({name: array[b] for name, array in fields.items()}, task, steps, n_terms)
        of_term = np.zeros(n_terms, np.int32)
        of_term[: len(task.terms)] = [begins[term.sign, term.tables] for term in task.terms]
        fields["tables"][b, : shape.rows_at_once * n_terms] = np.tile(of_term, shape.rows_at_once)
    rows_at_once = 1 + max(int(steps.place.max()) for steps in all_steps)
    return Batch(
        DenseProblem(**fields), (_dense_tables(kinds, shape), _extent(all_steps, rows_at_once * n_terms, shape))
    )


def _fill(fields: dict[str, NDArray[Any]], task: Task, steps: _Steps, n_terms: int) -> None:
    """Write one task into its part of the arrays; the entry of a row and term is place in the step · n_terms + term."""
    n = task.n_rows
    n_cells = [term.n_cells for term in task.terms]
    cells = np.array([term.cells for term in task.terms], np.int32).reshape(-1, n)
    cells += np.cumsum([0, *n_cells], dtype=np.int32)[:-1, None]
    weights = 1 if task.weights is None else task.weights
    counts = np.zeros((sum(n_cells), n + 1), np.int32)  # weight of the rows before each row in each cell
    own = cells * (n + 1) + np.arange(1, n + 1)  # places are counted through all axes: that is quicker than by axis
    counts.reshape(-1)[own] = weights
    np.cumsum(counts, axis=1, out=counts)
    entry = (steps.place * n_terms + np.arange(len(cells))[:, None]) * fields["cells"].shape[1] + steps.step
    fields["cells"].reshape(-1)[entry] = cells
    fields["seen"].reshape(-1)[entry] = counts.take(own)
    if task.weights is not None:
        fields["weights"].reshape(-1)[entry] = weights
    fields["before"][: len(counts), : len(steps.first_row)] = counts.take(steps.first_row, axis=1)
    fields["cut_cost"][steps.end] = task.cut_cost[steps.last_row]
    fields["opens"][steps.end[:-1]] = np.arange(1, len(steps.end))


def _dense_tables(kinds: Sequence[tuple[float, tuple[int, ...]]], shape: DenseShape) -> NDArray[np.float64]:
    """Tables by sign and names, one after the other; nothing comes before the first row of a cell."""
    n_tables = bucket(len(kinds), 32 if shape.unit else 8, 4)
    tables = np.zeros((n_tables, shape.length))
    first = 1 if shape.unit else 0
    for row, (sign, names) in zip(tables, kinds, strict=False):
        for name in names:
            row[first:] += sign * table(name, shape.length, steps=shape.unit)[: shape.length - first]
    return tables.reshape(-1)


def _extent(all_steps: Sequence[_Steps], n_entries: int, shape: DenseShape) -> Extent:
    """What a batch needs of the padded arrays."""
    n_blocks = -(-max(int(steps.end[-1]) + 1 for steps in all_steps) // dense.STEPS)
    width = shape.values // dense.N_WIDTHS
    openings = [  # the block in which the first distinct value beyond each width begins
        [int(steps.end[k * width - 1]) // dense.STEPS for steps in all_steps if len(steps.end) > k * width]
        for k in range(1, dense.N_WIDTHS)
    ]
    extent: dict[str, Any] = {
        "n_groups": np.int32(-(-n_entries // dense.GROUP)),
        "ends": np.array([*(min(found, default=n_blocks) for found in openings), n_blocks], np.int32),
    }
    return Extent(**extent)
