"""Many variables cut at few positions in one call, where there is an accelerator: counts go in, and only cuts come out.

The problems of a batch have nothing to do with each other: variables none of which is in another's blanket, shapes of
one variable, runs, resamples. Sizes are rounded up, so that few programs are compiled.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

from jaxbn.counts.device import Deferred, counts_at
from jaxbn.cuts.grouped_rows import GroupedRows, Pairs
from jaxbn.cuts.problem import Rows, Solution, table
from jaxbn.kernels.counting import with_counts
from jaxbn.kernels.dense_partitions import CELLS, Counted, best_by_number, best_with_cuts
from jaxbn.runtime import limits
from jaxbn.runtime.devices import accelerators, batch_bytes, double, spread_over
from jaxbn.runtime.shapes import bucket

MOST_LAYERS = 64  # most intervals that the layered program counts there; for more, the host searches over prices
MOST_STATES = 2**16  # states of a factor that the shared table has room for


class _Shape(NamedTuple):
    """What the problems of a batch have in common."""

    groups: int
    cells: int
    layers: int  # 0 where cuts have a cost of their own
    length: int
    spread: bool
    bases: tuple[float, ...]  # of the shared tables
    rows: int  # that are counted on the device; 0 where the host does


class CutCosts(NamedTuple):
    """What a cut after each group costs, and the empty prefix."""

    of_cuts: NDArray[np.float64]
    first: float


def goes_there(problem: GroupedRows, charge: NDArray[np.float64] | CutCosts) -> bool:
    """Whether there is an accelerator and the problem suits it."""
    if not accelerators():
        return False
    return problem.largest_name <= MOST_STATES and (isinstance(charge, CutCosts) or len(charge) <= MOST_LAYERS)


def best_partitions(
    problems: Sequence[GroupedRows], charges: Sequence[NDArray[np.float64] | CutCosts]
) -> list[Solution]:
    """The cheapest partition of each problem under its charge, see `kernels.dense_partitions`."""
    alike: dict[_Shape, list[int]] = defaultdict(list)
    problems = [_Uncounted(each.rows, each.positions) if _deferred(each.rows) else each for each in problems]
    for i, (problem, charge) in enumerate(zip(problems, charges, strict=True)):
        alike[_shape(problem, charge)].append(i)
    found: dict[int, Solution] = {}
    devices = accelerators()
    for shape, numbers in alike.items():
        # a problem takes about two matrices of float64, one with the costs and one with what is being added to them,
        # and counts; problems are rounded up to four times as many
        most = max(batch_bytes() // (16 * shape.groups * (shape.groups + shape.cells)), 1) * len(devices)
        for first in range(0, len(numbers), most):
            limits.check()
            some = numbers[first : first + most]
            answers = _solved([problems[i] for i in some], [charges[i] for i in some], shape, devices)
            found.update(zip(some, answers, strict=True))
    return [found[i] for i in range(len(problems))]


def _shape(problem: GroupedRows, charge: NDArray[np.float64] | CutCosts) -> _Shape:
    deferred = isinstance(problem, _Uncounted)
    return _Shape(
        # fewer positions than the rows allow are those near some cuts: not worth a program of their own
        groups=bucket(problem.n, min(512, bucket(problem.rows.n, 128)) if deferred else 128),
        cells=bucket(problem.n_cells, 8 * CELLS, 4),
        layers=0 if isinstance(charge, CutCosts) else bucket(len(charge), 8),
        length=bucket(problem.total + max(2048, math.ceil(problem.largest_name)), 4096),
        spread=problem.rows.spread is not None,
        bases=problem.bases,
        rows=deferred * problem.rows.n,
    )


def _deferred(rows: Rows) -> list[Deferred]:
    """Terms of more than one cell, if a device counts them."""
    found = [term.cells for term in rows.terms if term.n_cells > 1 and rows.weights is None]
    return found if all(isinstance(each, Deferred) for each in found) else []  # type: ignore[return-value]


def weights_before(rows: Rows, bounds: NDArray[np.integer]) -> list[NDArray[np.int64]] | None:
    """Rows of each cell of every term before some bounds, [bounds, cells], where a device counts them; else None."""
    deferred = _deferred(rows)
    if not deferred:
        return None
    ends = np.cumsum([len(cells.counts) for cells in deferred])
    counts = counts_at([(bounds, deferred)], bucket(ends[-1], 8 * CELLS, 4), bucket(len(bounds) - 1, 128))
    between = np.asarray(counts)[0, : ends[-1], : len(bounds) - 1].T.astype(np.int64)
    before = np.concatenate([np.zeros((1, ends[-1]), np.int64), between.cumsum(axis=0)])
    found = iter(np.split(before, ends[:-1], axis=1))
    return [next(found) if term.n_cells > 1 else bounds[:, None].astype(np.int64) for term in rows.terms]


class _Uncounted(GroupedRows):
    """The same with empty cells, which a device counts: the host sees no row."""

    @cached_property
    def pairs(self) -> Pairs:
        terms, none = self._of_cells, np.zeros(0, np.int32)
        sign = np.repeat([term.sign for term in terms], [term.n_cells for term in terms])
        return Pairs(none, none, none, none, sign, np.concatenate([term.names for term in terms]))


def _solved(
    problems: Sequence[GroupedRows],
    charges: Sequence[NDArray[np.float64] | CutCosts],
    shape: _Shape,
    devices: tuple[Any, ...],
) -> list[Solution]:
    """One call of the program; the first problem is repeated up to the size of the batch."""
    size = bucket(len(problems), len(devices), 4)
    dense = [problem.dense(shape.groups, shape.cells, shape.length) for problem in problems]
    # shapes of one variable have the same counts
    asked = {problem.counted_as: (problem.positions, _deferred(problem.rows)) for problem in problems}
    source = np.array([list(asked).index(problem.counted_as) for problem in problems])
    counted: Any = [np.stack(field) for field in zip(*dense, strict=True)]
    first, of_cuts = np.zeros(len(charges)), np.full((len(charges), shape.layers or shape.groups), np.inf)
    for b, charge in enumerate(charges):
        own, first[b] = charge if isinstance(charge, CutCosts) else (charge, 0.0)
        of_cuts[b, : len(own)] = own
    with double():
        every = *counted, source, of_cuts, first
        filled = [np.append(a, a[:1].repeat(size - len(a), axis=0), axis=0) for a in every]
        *arrays, number, costs, empty = jax.device_put(filled, spread_over(devices, "problems"))
        if shape.rows:
            arrays[0] = with_counts(arrays[0], counts_at(list(asked.values()), shape.cells, shape.groups), number)
        shared = shared_tables(shape.bases, shape.length, devices=devices)
        if shape.layers:
            answer = best_by_number(Counted(*arrays), shared, costs, spread=shape.spread)
        else:
            answer = best_with_cuts(Counted(*arrays), shared, costs, empty, spread=shape.spread)
        cost, begins = jax.device_get(answer)
    found = []
    for b, problem in enumerate(problems):
        starts = np.flatnonzero(begins[b, : problem.n])
        cuts = (problem.positions[starts[starts > 0]] - 1).tolist()
        found.append(Solution(float(cost[b]), cuts, problem.n / 2))
    return found


@lru_cache(maxsize=16)
def shared_tables(
    bases: tuple[float, ...], length: int, steps: tuple[bool, ...] = (False,), devices: tuple[Any, ...] = ()
) -> Array:
    """The tables that all cells share (`GroupedRows.places`), or their steps, or both, on each of some devices."""
    tables = [table(base, length, steps=each) for each in steps for base in bases]
    return jax.device_put(np.concatenate(tables), spread_over(devices) if devices else None)
