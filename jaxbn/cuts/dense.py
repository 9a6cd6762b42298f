"""Many small problems at once: every interval is costed, in batches of one shape."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.problem import Solution, Task, interval_starts, ratios_fit
from jaxbn.kernels.dense import DenseProblem, solve_dense
from jaxbn.runtime.batches import Batch, in_batches
from jaxbn.runtime.devices import RATIO
from jaxbn.runtime.shapes import DENSE_ROWS, VALUES, DenseShape, bucket, dense_at_once, dense_shape


def solve_small(tasks: Sequence[Task]) -> list[Solution]:
    """Solve tasks of few rows by the dense program, those of one shape together."""
    groups: dict[tuple[DenseShape, int], list[int]] = defaultdict(list)
    for i, task in enumerate(tasks):
        groups[_dense_shape(task), task.n_rows].append(i)
    program = partial(solve_dense, at_once=dense_at_once())
    solutions: dict[int, Solution] = {}
    for (shape, _), members in groups.items():
        make = partial(_dense_batch, [tasks[i] for i in members], shape)
        count = -(-len(members) // RATIO) * RATIO  # empty problems take no time: fewer sizes are compiled with them
        for first, _, found in in_batches(count, shape.n_bytes, make, program):
            for i, best, start in zip(members[first:], found.best, found.start, strict=False):
                solutions[i] = _dense_solution(_steps(tasks[i], shape), best, start)
    return [solutions[i] for i in range(len(tasks))]


def fits_dense(task: Task) -> bool:
    """Whether the dense program is made for a task: rows of weight one, and tables of which products will do."""
    plain = all(not term.lacking and (term.sign > 0 or term.tables == (1,)) for term in task.terms)
    return plain and ratios_fit(task, DENSE_ROWS // VALUES)


def _dense_shape(task: Task) -> DenseShape:
    n_values = int(np.isfinite(task.cut_cost).sum())
    n_factors = max(sum(len(t.tables) for t in task.terms if t.sign == sign) for sign in (-1, 1))
    return dense_shape(n_values, n_factors, sum(term.n_cells for term in task.terms))


class _Steps(NamedTuple):
    """Rows in steps of a few rows of one distinct value."""

    value: NDArray[np.intp]  # [n], number of the distinct value of each row
    first_row: NDArray[np.intp]  # [m], of each distinct value
    last_row: NDArray[np.intp]  # [m]
    step: NDArray[np.intp]  # [n], of each row
    place: NDArray[np.intp]  # [n], of each row in its step
    end: NDArray[np.intp]  # [m], the last step of each distinct value
    value_of_step: NDArray[np.intp]  # [S], beyond the last step the last one


def _steps(task: Task, shape: DenseShape) -> _Steps:
    """The steps of a task; the tasks of one variable share them."""
    return _cached_steps(np.isfinite(task.cut_cost).tobytes(), shape.rows_at_once, shape.steps)


@lru_cache(maxsize=256)
def _cached_steps(ends: bytes, rows_at_once: int, n_steps: int) -> _Steps:
    """From whether a distinct value ends at each row."""
    is_last = np.frombuffer(ends, bool)
    last_row = np.flatnonzero(is_last)
    first_row = np.append(0, last_row[:-1] + 1)
    value = np.cumsum(is_last) - is_last
    place = (np.arange(len(value)) - first_row[value]) % rows_at_once
    step = np.cumsum(place == 0) - 1
    end = step[last_row]
    value_of_step = np.minimum(np.searchsorted(end, np.arange(n_steps)), len(end) - 1)
    return _Steps(value, first_row, last_row, step, place, end, value_of_step)


def _dense_solution(steps: _Steps, best: NDArray[np.float64], start: NDArray[np.int32]) -> Solution:
    """The cuts; intervals begin and end with distinct values."""
    values = interval_starts(start[steps.end], len(steps.end) - 1)
    cuts = [int(steps.last_row[value - 1]) for value in values]
    return Solution(float(best[steps.end[-1]]), cuts, len(steps.end) / 2)


def _dense_batch(tasks: Sequence[Task], shape: DenseShape, first: int, end: int) -> Batch[DenseProblem]:
    """Some of the tasks, all of as many rows, as padded NumPy arrays; after the last one, problems without steps."""
    chosen, count = tasks[first:end], end - first
    all_steps = [_steps(task, shape) for task in chosen]
    size = (count, shape.factors, 2, shape.rows_at_once, shape.steps)
    fields: dict[str, Any] = {
        "cells": np.zeros(size, np.int32),
        "seen": np.ones(size, np.int32),
        "value": np.zeros((count, shape.steps), np.int32),
        "opens": np.full((count, shape.values), -1, np.int32),
        "cut_cost": np.full((count, shape.steps), np.inf),
        "first_cost": np.zeros(count),
        "n_factors": np.zeros(count, np.int32),
        "n_steps": np.zeros(count, np.int32),
    }
    for b, (task, steps) in enumerate(zip(chosen, all_steps, strict=True)):
        fields["value"][b] = steps.value_of_step
        fields["opens"][b, 1 : len(steps.end)] = steps.end[:-1]
        fields["cut_cost"][b, steps.end] = task.cut_cost[steps.last_row]
        fields["first_cost"][b] = task.first_cost
        fields["n_steps"][b] = steps.end[-1] + 1
    before = _fill(fields, chosen, all_steps, shape)
    return Batch(DenseProblem(**fields), (before,))


class _Entry(NamedTuple):
    """One factor's contexts or outcomes in the arrays."""

    problem: int
    number: int  # of the factor and side, counted through the batch
    term: int  # counted through the batch
    more: int  # K - 1 for contexts


def _fill(
    fields: dict[str, NDArray[Any]], tasks: Sequence[Task], all_steps: Sequence[_Steps], shape: DenseShape
) -> NDArray[np.int32]:
    """Write the cells of the rows and their numbers; returns the counts before each value. Cell 0 is always empty."""
    terms = [term for task in tasks for term in task.terms]
    n = tasks[0].n_rows if tasks else 0
    begins = np.cumsum([1, *(term.n_cells for term in terms)])
    cells = np.array([term.cells for term in terms], np.int32).reshape(-1, n) + begins[:-1, None].astype(np.int32)
    counts = np.zeros((begins[-1], n + 1), np.int16)  # rows before each row in each cell
    own = cells * (n + 1) + np.arange(1, n + 1, dtype=np.int32)  # counted through both axes: quicker than by axis
    counts.reshape(-1)[own] = 1
    np.cumsum(counts, axis=1, dtype=counts.dtype, out=counts)
    before = np.zeros((bucket(int(begins[-1]), 256, 4), shape.values), np.int32)
    last = 0
    for task, steps in zip(tasks, all_steps, strict=True):
        rows = slice(begins[last], begins[last + len(task.terms)])
        before[rows, : len(steps.first_row)] = counts[rows].take(steps.first_row, axis=1)
        last += len(task.terms)
    entries = _entries(tasks, fields["n_factors"], shape.factors)
    if entries:
        problem, number, term, more = np.array(entries).T
        place = np.array([steps.place * shape.steps + steps.step for steps in all_steps])
        at = place[problem] + (number * (shape.rows_at_once * shape.steps))[:, None]
        fields["cells"].reshape(-1)[at] = cells[term]
        fields["seen"].reshape(-1)[at] = counts.take(own[term]) + more[:, None]
    return before


def _entries(tasks: Sequence[Task], n_factors: NDArray[np.int32], most: int) -> list[_Entry]:
    """What is to be written for the terms, one entry for each of their tables; also counts the factors."""
    found, first = [], 0
    for b, task in enumerate(tasks):
        numbers = [0, 0]  # of contexts and outcomes so far
        for j, term in enumerate(task.terms, first):
            side = int(term.sign < 0)
            for name in term.tables:
                found.append(_Entry(b, (b * most + numbers[side]) * 2 + side, j, name - 1))
                numbers[side] += 1
        n_factors[b] = max(numbers)
        first += len(task.terms)
    return found
