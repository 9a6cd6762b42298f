"""Cuts of one variable in many resamples: its rows are sorted once, and a resample is a vector of weights.

Rows of weight zero do not count: cardinalities, range and midpoints are those of the other rows. So a resample's
binning is that of ``discretize_variable`` on the rows written out as often as they were drawn.

Shapes: B resamples, n rows of the data, N rows of a problem (padded), M distinct values (padded), J terms, C cells.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.binning import Binning
from jaxbn.cuts.blanket import factors_of
from jaxbn.cuts.discretize_variable import Request, best_binnings
from jaxbn.cuts.resampled_arrays import Plan, Variable, Weights, distinct_values, resampled_batch, rows_drawn
from jaxbn.cuts.shapes.shape import Shape
from jaxbn.cuts.sorted_values import Ordered, midpoint
from jaxbn.kernels.resampled import solve_resamples
from jaxbn.kernels.sweep import Optima
from jaxbn.runtime.batches import in_batches

BATCHED_ROWS = 1024
"""Up to this many different rows a batch is quicker than pruning, one resample at a time (measured: up to 1,500)."""


def stream(seed: int, number: int) -> np.random.Generator:
    """The random numbers of a resample: those of the seed's child with this number."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))


def drawn_rows(rng: np.random.Generator, n_rows: int) -> NDArray[np.int64]:
    """The rows of a resample, ascending, with repetitions [rows]."""
    return np.sort(rng.integers(0, n_rows, n_rows))


class Limits(NamedTuple):
    """What the bins of ``"evidence"`` keep to, see ``Request``."""

    min_width: float = 0.0
    most_bins: int | None = None
    shapes: tuple[Shape, ...] = ()


NO_LIMITS = Limits()


def resampled_binnings(variable: Variable, weights: Weights, method: str, limits: Limits = NO_LIMITS) -> list[Binning]:
    """The exact optimum in every resample.

    Few rows are solved in batches of many resamples, many rows one after the other.

    Args:
        variable: the variable.
        weights: how often each row was drawn, in ascending order of the variable's values [B, n].
        method: as in ``discretize_variable``.
        limits: of the bins, for ``"evidence"``.
    """
    weights = weights.astype(np.int32)
    small = (weights > 0).sum(axis=1) <= BATCHED_ROWS if method == "bayesian" else np.zeros(len(weights), bool)
    others = np.flatnonzero(~small).tolist()
    requests = [_request(variable, weights[i])._replace(**limits._asdict()) for i in others]
    found = dict(zip(others, best_binnings(requests, method), strict=True))
    chosen = np.flatnonzero(small).tolist()
    found.update(zip(chosen, _solve_together(variable, weights[chosen]), strict=True))
    return [found[i] for i in range(len(weights))]


def _solve_together(variable: Variable, weights: Weights) -> list[Binning]:
    """All resamples of few rows, in batches."""
    if not len(weights):
        return []
    plan = Plan.of(variable, weights)
    binnings: list[Binning] = []
    make = partial(resampled_batch, plan, weights)
    for first, _, found in in_batches(len(weights), plan.shape.n_bytes, make, solve_resamples, one_size=True):
        binnings += _binnings(plan, weights[first : first + len(found.best)], found)
    return binnings


def _request(variable: Variable, weights: Weights) -> Request:
    """The rows of one resample alone, by their weights [n]."""
    kept = np.flatnonzero(weights)
    values = variable.ordered.values[kept]
    can_cut = np.append(values[1:] > values[:-1], False)
    factors = factors_of(
        [codes[kept] for codes in variable.parents],
        [(codes[kept], [spouse[kept] for spouse in spouses]) for codes, spouses in variable.children],
        len(kept),
    )
    return Request(
        Ordered(variable.ordered.order[kept], values, can_cut), factors, variable.rate, weights[kept].astype(np.int32)
    )


def _binnings(plan: Plan, weights: Weights, found: Optima) -> list[Binning]:
    """Walk back over the last intervals in all resamples at once, then name the cuts."""
    rows = rows_drawn(weights, plan.shape.rows)
    values = distinct_values(plan, rows)
    every = np.arange(len(weights))
    begins_at = np.zeros(rows.place.shape, bool)  # [B, N], whether an interval begins at a row
    start: NDArray[np.int32] = np.asarray(found.start)[every, rows.total - 1]
    while start.any():
        row = values.first_row[every, start]
        begins_at[every, row] = start > 0
        start = np.where(start > 0, np.asarray(found.start)[every, row - 1], 0)
    costs = found.best[every, rows.total - 1]
    binnings = []
    for b, n_rows in enumerate(rows.total):
        value = plan.variable.ordered.values[rows.place[b, :n_rows]]
        edges = [midpoint(value[row - 1], value[row]) for row in np.flatnonzero(begins_at[b])]
        binnings.append(Binning(np.array(edges), float(costs[b]), float(value[0]), float(value[-1]), "bayesian"))
    return binnings
