"""Resamples of one variable as arrays of the batched program: rows that were drawn, cells, counts and tables.

Shapes: B resamples, n rows of the data, N rows of a problem (padded), M distinct values (padded), J terms, C cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.counts.codes import compact
from jaxbn.cuts.blanket import Factor, factors_of
from jaxbn.cuts.problem import table
from jaxbn.cuts.sorted_values import Ordered, gap_costs
from jaxbn.kernels.resampled import WIDTH, ResampledProblem, Tables
from jaxbn.runtime.batches import Batch
from jaxbn.runtime.shapes import ResampledShape, bucket, resampled_shape

Codes = NDArray[np.integer]
Weights = NDArray[np.integer]


@dataclass(frozen=True)
class Variable:
    """A variable with its Markov blanket, everything in ascending order of its values."""

    ordered: Ordered
    parents: Sequence[Codes]  # [n] each
    children: Sequence[tuple[Codes, Sequence[Codes]]]
    rate: float

    @cached_property
    def factors(self) -> list[Factor]:
        """Of all rows."""
        return factors_of(self.parents, self.children, len(self.ordered.values))


class _Term(NamedTuple):
    """The outcomes of a factor, or its contexts where they change: what h is the sum of, as in `dirichlet_terms`."""

    factor: int  # number
    of_contexts: bool
    cells: NDArray[np.int32]  # [n]
    n_cells: int

    def table(self, n_states: Sequence[int]) -> tuple[float, int]:
        """Sign and name of its table: ln Γ(n_c + K) - ln Γ(K) for the contexts, - ln Γ(n_co + 1) for the outcomes."""
        return (1.0, n_states[self.factor]) if self.of_contexts else (-1.0, 1)


def _terms(factors: Sequence[Factor]) -> list[_Term]:
    """The terms of factors that have a choice; contexts that never change are not among them."""
    chosen = [(i, factor) for i, factor in enumerate(factors) if factor.n_states > 1]
    terms = [_Term(i, False, factor.cell, factor.n_cells) for i, factor in chosen]
    return terms + [_Term(i, True, f.context, f.n_contexts) for i, f in chosen if f.n_contexts > 1]


class Plan(NamedTuple):
    """What all resamples of a variable share."""

    variable: Variable
    shape: ResampledShape
    terms: list[_Term]
    cells: NDArray[np.int64]  # [J, n], unique over terms
    by_cell: NDArray[np.intp]  # [J * n], entries of `cells` in the order of the cells
    cell_begins: NDArray[np.intp]  # [J * n], where in that order the cell of each entry begins
    value: NDArray[np.int64]  # [n], number of each row's distinct value

    @classmethod
    def of(cls, variable: Variable, weights: Weights) -> Plan:
        """For resamples of these weights [B, n]."""
        terms = _terms(variable.factors)
        n = len(variable.ordered.values)
        firsts = np.cumsum([0, *(term.n_cells for term in terms)])
        cells = np.array([term.cells + first for term, first in zip(terms, firsts, strict=False)], np.int64)
        flat = cells.reshape(-1)
        by_cell = np.argsort(flat, kind="stable")
        cell_begins = np.searchsorted(flat[by_cell], flat[by_cell])
        value = np.concatenate([[0], np.cumsum(variable.ordered.can_cut[:-1])])
        present = weights > 0
        begins = np.flatnonzero(np.diff(value, prepend=-1))
        shape = resampled_shape(
            n_rows=int(present.sum(axis=1).max()),
            n_values=int(np.logical_or.reduceat(present, begins, axis=1).sum(axis=1).max()),
            n_terms=len(terms),
            n_cells=int(firsts[-1]),
            total_weight=int(weights.sum(axis=1).max()),
            most_weight=int(weights.max()),
        )
        return cls(variable, shape, terms, cells.reshape(len(terms), n), by_cell, cell_begins, value)


def resampled_batch(plan: Plan, all_weights: Weights, first: int, end: int) -> Batch[ResampledProblem]:
    """Some resamples as arrays; the rows that were not drawn are squeezed out."""
    weights = all_weights[first:end]
    rows = rows_drawn(weights, plan.shape.rows)
    values = distinct_values(plan, rows)
    here = np.where(rows.drawn, np.take_along_axis(weights, rows.place, axis=1), 0).astype(np.int32)  # [B, N]
    cells = plan.cells[:, rows.place].swapaxes(0, 1)  # [B, J, N]
    seen = np.take_along_axis(_seen_before(plan, weights), rows.place[:, None, :], axis=2)
    mass = np.cumsum(here, axis=1, dtype=np.int32)
    fields: dict[str, Any] = {
        "cells": cells.astype(np.int32),
        "seen": seen.astype(np.int32),
        "before": _before(plan, cells, here, values.number),
        "mass": mass,
        "mass_before": np.take_along_axis(mass - here, values.first_row, axis=1),
        "weights": here,
        "value": values.number.astype(np.int32),
        **_costs(plan, rows, values),
    }
    chosen, tables = _tables(plan, weights)
    return Batch(ResampledProblem(**fields, **chosen), (tables, _row_ends(plan.shape, rows, values)))


class _Rows(NamedTuple):
    """The rows that each resample has."""

    place: NDArray[np.intp]  # [B, N], where in the data
    drawn: NDArray[np.bool_]  # [B, N], False for padding
    total: NDArray[np.int64]  # [B], how many


def rows_drawn(weights: Weights, n_padded: int) -> _Rows:
    """Which rows each resample has, by their weights [B, n]."""
    absent = weights == 0
    place = np.argsort(absent, axis=1, kind="stable")[:, :n_padded]
    place = np.pad(place, ((0, 0), (0, n_padded - place.shape[1])))
    total = (~absent).sum(axis=1)
    return _Rows(place, np.arange(n_padded) < total[:, None], total)


class _Values(NamedTuple):
    """The distinct values that each resample has."""

    number: NDArray[np.int64]  # [B, N], of the value of each row; that of the last row for padding
    first_row: NDArray[np.int64]  # [B, M], that of the last value for padding
    total: NDArray[np.int64]  # [B], how many


def distinct_values(plan: Plan, rows: _Rows) -> _Values:
    """The distinct values of the rows that each resample has."""
    new = rows.drawn & (np.diff(plan.value[rows.place], axis=1, prepend=-1) != 0)
    number = np.cumsum(new, axis=1) - 1
    total = new.sum(axis=1)
    first_row = np.zeros((len(new), plan.shape.values), np.int64)
    problem, row = np.nonzero(new)
    first_row[problem, number[problem, row]] = row
    return _Values(number, np.maximum.accumulate(first_row, axis=1), total)


def _row_ends(shape: ResampledShape, rows: _Rows, values: _Values) -> NDArray[np.int32]:
    """Up to which row each number of starts is enough in every resample [G]."""
    needed = (values.number + 2).max(axis=0)  # by row: its own value can be a start, and the next
    widths = np.arange(WIDTH, shape.values + 1, WIDTH)
    ends = np.searchsorted(needed, widths, side="right")
    ends[-1] = shape.rows
    return np.minimum(ends, rows.total.max()).astype(np.int32)


def _seen_before(plan: Plan, weights: Weights) -> NDArray[np.int64]:
    """Weight of the earlier rows in the same cell [B, J, n]."""
    n_terms, n = plan.cells.shape
    added = weights[:, plan.by_cell % n]
    running = np.cumsum(added, axis=1) - added
    running -= running[:, plan.cell_begins]
    seen = np.empty_like(running)
    seen[:, plan.by_cell] = running
    return seen.reshape(len(weights), n_terms, n)


def _before(
    plan: Plan, cells: NDArray[np.int64], weights: NDArray[np.int32], number: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Weight of the rows before each distinct value in each cell [B, C, M]."""
    n_problems, n_cells, n_values = len(cells), sum(term.n_cells for term in plan.terms), plan.shape.values
    place = (np.arange(n_problems)[:, None, None] * n_cells + cells) * n_values + number[:, None, :]
    counted = np.broadcast_to(weights[:, None, :], place.shape).reshape(-1)
    at_value = np.bincount(place.reshape(-1), counted, n_problems * n_cells * n_values)
    before = np.zeros((n_problems, plan.shape.cells, n_values), np.int32)
    before[:, :n_cells, 1:] = np.cumsum(at_value.reshape(n_problems, n_cells, n_values)[:, :, :-1], axis=2)
    return before


def _costs(plan: Plan, rows: _Rows, values: _Values) -> dict[str, Any]:
    """What a cut after each row costs, and the empty prefix."""
    found = plan.variable.ordered.values[rows.place]  # [B, N]
    last = np.take_along_axis(found, rows.total[:, None] - 1, axis=1)  # [B, 1]
    found = np.where(rows.drawn, found, last)
    with np.errstate(over="ignore"):
        scale = 1.0 if np.isfinite(last - found[:, :1]).all() else 0.25  # a range too large for a float
    span = scale * last - scale * found[:, :1]
    costs = np.full(found.shape, np.inf)
    costs[:, :-1] = gap_costs(np.diff(scale * found, axis=1), span, plan.variable.rate)
    np.put_along_axis(costs, rows.total[:, None] - 1, 0.0, axis=1)
    return {"cut_cost": costs, "first_cost": np.where(values.total > 1, plan.variable.rate, 0.0)}


def _tables(plan: Plan, weights: Weights) -> tuple[dict[str, Any], Tables]:
    """Which tables each resample uses: its cardinalities are those of its rows. Few combinations of them occur."""
    present = weights > 0
    variable = plan.variable
    columns = [*variable.parents, *(codes for codes, _ in variable.children)]
    observed = np.array([_cardinalities(codes, present) for codes in columns], np.int64)
    kinds, kind = np.unique(observed.reshape(len(columns), len(weights)).T, axis=0, return_inverse=True)
    n_parents = len(variable.parents)
    steps, masses = _Shelf(), _Shelf()
    chosen = []
    for cardinalities in kinds.tolist():
        states = [math.prod(cardinalities[:n_parents]), *cardinalities[n_parents:]]
        constant = [k for f, k in zip(variable.factors, states, strict=True) if f.n_contexts == 1 and f.n_states > 1]
        pieces = [steps.place(term.table(states)) for term in plan.terms]
        chosen.append((pieces, masses.place((1.0, *sorted(constant)))))
    stride = 2 * plan.shape.length
    n_weights = plan.shape.n_weights
    term_table = np.array([pieces for pieces, _ in chosen], np.int64).reshape(len(kinds), -1) * (n_weights * stride)
    mass_table = np.array([mass for _, mass in chosen], np.int64) * stride
    fields = {"term_table": term_table, "mass_table": mass_table}
    shared: dict[str, Any] = {
        "steps": steps.filled(plan.shape, n_weights),
        "masses": masses.filled(plan.shape, None),
        "stride": np.int32(stride),
    }
    return {name: array[kind.reshape(-1)].astype(np.int32) for name, array in fields.items()}, Tables(**shared)


class _Shelf:
    """Tables by their names, each a sign and what it is the sum of."""

    def __init__(self) -> None:
        self._places: dict[tuple[Any, ...], int] = {}

    def place(self, name: tuple[Any, ...]) -> int:
        """The position of a table."""
        return self._places.setdefault(name, len(self._places))

    def filled(self, shape: ResampledShape, n_weights: int | None) -> NDArray[np.float64]:
        """All tables with zeros before n = 0: T(n), or T(n + w) - T(n) for each weight w below `n_weights`."""
        length = shape.length
        made = np.zeros((bucket(len(self._places), 4, 4), n_weights or 1, 2 * length))
        for (sign, *names), place in self._places.items():
            values = sum((table(name, 2 * length) for name in names), np.zeros(2 * length))
            for w in range(n_weights or 1):
                row = values[w : w + length] - values[:length] if n_weights else values[:length]
                made[place, w, length:] = sign * row
        return made.reshape(-1)


def _cardinalities(codes: Codes, present: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many distinct codes each resample has [B]."""
    dense, n_codes = compact(codes)
    member = (dense[:, None] == np.arange(n_codes)).astype(np.float32)
    return ((present.astype(np.float32) @ member) > 0).sum(axis=1)
