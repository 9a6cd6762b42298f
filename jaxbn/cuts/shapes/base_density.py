"""The base density of a column: the mean of all its histograms, each weighed by its evidence.

A histogram with k bins between some of the positions, of n values, n_b of them in bin b, has the evidence

    Γ(k) / Γ(k + n) · Π_b n_b! / length_b^n_b

times the prior of its cuts (`evidence.choice_cost`), with Dirichlet weights of 1. The sum over all of them is a sum
over paths, and the number of bins enters only at the end: bins are first given a price, which makes the paths
those of a Markov chain; its powers then tell the histograms with 1, 2, 3, … bins apart
(docs/maths.md, "The shape of a column").

Shapes: P cells between neighbouring positions, K numbers of bins.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from jaxbn.cuts.evidence import choice_cost, own_charge
from jaxbn.cuts.shapes.recording import FEWEST_ROWS, NEAR, Recording, finest_of, finest_step, recorded
from jaxbn.cuts.shapes.shape import Shape
from jaxbn.cuts.sorted_values import Ordered, midpoints

QUANTILES = 160  # positions at even shares of the rows. A value more frequent than that has a cell of its own
EVERY_VALUE = 256  # up to so many distinct values every gap is a position
NEGLIGIBLE = 1e-14  # share of the evidence below which further numbers of bins are not looked at
LEAST = 1e-200  # smallest density kept, as a share of the mean density
SHORTEST = 1e-300  # shortest cell, also as a share of the range: the density in shorter ones would be no float

TINY, HUGE = 1e-280, 1e250
"""Smaller chances are taken to be zero, as denormal floats are slow; larger sums are computed by logarithms."""

FAR = 600.0  # log weights are clipped here, against overflow: a number of bins so far from the best adds nothing


class ValueCounts(NamedTuple):
    """Distinct values and how often each occurs."""

    values: NDArray[np.float64]  # [m] ascending
    counts: NDArray[np.int64]  # [m]


def column_shapes(ordered: Ordered, weights: NDArray[np.integer] | None = None) -> tuple[Shape, ...]:
    """Two candidates, flat and averaged over histograms; each with or without digit weights, by the higher evidence.

    A constant column has none. The cost of the digit weights is taken off their evidence.
    """
    column = distinct(ordered, weights)
    if len(column.values) < 2 or not SHORTEST < column.values[-1] - column.values[0] < np.inf:
        return ()
    found = recorded(*column)
    tried = [(Recording(found.step), 0.0)]
    if found.has_digits:
        tried.append((found, 0.5 * (len(set(found.weights)) - 1) * float(np.log(column.counts.sum()))))
    flat = [flat_shape(column, *each) for each in tried]
    shaped = [histograms_mean(column, *each) for each in tried]
    step = found.step or finest_step(column.values)  # zeros and caps of a column without a grid stand alone too
    if stand_alone(column, step):
        shaped += [histograms_mean(column, replace(each, step=step), charge, atoms=True) for each, charge in tried]
    return tuple(max(shapes, key=lambda shape: shape.log_evidence) for shapes in (flat, shaped))


def distinct(ordered: Ordered, weights: NDArray[np.integer] | None = None) -> ValueCounts:
    """The distinct values of a column and their weights."""
    last = ordered.positions[1:] - 1
    running = np.arange(1, len(ordered.values) + 1) if weights is None else np.cumsum(weights, dtype=np.int64)
    return ValueCounts(ordered.values[last], np.diff(running[last], prepend=0).astype(np.int64))


def flat_shape(column: ValueCounts, recording: Recording, charge: float = 0.0) -> Shape:
    """One cell, from the smallest value to the largest; of recorded digits, from the start of a cell to an end."""
    low, high = column.values[0] - recording.half, column.values[-1] + recording.half
    length = float(np.diff(recording.length(np.array([low, high])))[0])
    evidence = (_log_weights(column, recording) - charge) / float(column.counts.sum()) - np.log(length)
    return Shape(np.array([low, high]), np.ones(1), recording, evidence)


def _log_weights(column: ValueCounts, recording: Recording) -> float:
    return float((column.counts * np.log(recording.weight(column.values))).sum()) if recording.has_digits else 0.0


def histograms_mean(column: ValueCounts, recording: Recording, charge: float = 0.0, atoms: bool = False) -> Shape:
    """The mean of the densities of all histograms between the positions, weighed by their evidence.

    `charge` is taken off the evidence. With `atoms` repeated values may have bins of their own.
    """
    log_weight = _log_weights(column, recording) - charge
    knots, counts = cells(column, recording)
    if atoms:
        knots, counts = with_atoms(knots, column, recording.step)
        m, a = len(column.values), int(repeated(column, recording.step).sum())
        log_weight -= float(gammaln(m + 1) - gammaln(a + 1) - gammaln(m - a + 1))  # which values they are
    ends = recording.length(knots)
    heights, evidence = mean_heights(counts, ends)
    return Shape(knots, heights * np.diff(ends), recording, (evidence + log_weight) / float(counts.sum()))


def cells(column: ValueCounts, recording: Recording) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Where histograms may be cut, ends included, and how many values lie between [P + 1], [P].

    Of many distinct values these are even quantiles of the rows, before and after every frequent value, and in the
    tails ever finer ones.
    """
    values, counts = column
    before = np.cumsum(counts)[:-1]  # rows up to each gap
    kept = np.arange(len(before))
    if len(values) > EVERY_VALUE:
        n = int(counts.sum())
        tails = 2 ** np.arange(int(np.log2(max(n // QUANTILES, 1))) + 1)
        wanted = np.unique(np.concatenate([np.arange(1, QUANTILES) * n / QUANTILES, tails, n - tails]))
        at = np.searchsorted(before, wanted)  # the first gap with as many rows before it
        kept = np.unique(np.clip(np.concatenate([at - 1, at]), 0, len(before) - 1))
    gaps = midpoints(values[kept], values[kept + 1])
    knots = np.concatenate([[values[0] - recording.half], gaps, [values[-1] + recording.half]])
    # neighbours may be so close that no number lies between them, or none on the ruler from 0 to 1, or that the density
    # there would be no float: rows at one knot belong to the cell that it begins
    ends = recording.length(knots)
    span = ends[-1] - ends[0]
    first = np.flatnonzero(np.diff(ends / span, prepend=-np.inf) > SHORTEST * max(1.0, 1.0 / span))
    first[-1] = len(knots) - 1
    knots = knots[first]
    running = np.concatenate([[0], before[kept], [counts.sum()]])[first]
    running[-1] = counts.sum()  # but nothing begins at the last one
    return knots, np.diff(running).astype(np.int64)


def repeated(column: ValueCounts, step: float) -> NDArray[np.bool_]:
    """Values that may have bins of their own: of many distinct ones those that would fill a quantile.

    A step that nobody would choose makes such bins so narrow that two equal values would look like a law.
    """
    fewest = column.counts.sum() / QUANTILES if len(column.values) > EVERY_VALUE else 2
    chosen = step >= finest_of(float(np.abs(column.values[[0, -1]]).max()))
    return column.counts >= max(fewest, 2 if chosen else FEWEST_ROWS)


def stand_alone(column: ValueCounts, step: float) -> bool:
    """Whether a repeated value on a grid has a neighbour that is further away than a step."""
    far = np.diff(column.values) > (1 + NEAR) * step
    return step > 0 and bool((repeated(column, step) & (np.append(far, False) | np.append(False, far))).any())


def with_atoms(
    knots: NDArray[np.float64], column: ValueCounts, step: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The same with the ends of the grid's cells of repeated values as well.

    Between midpoints alone a value that stands by itself is spread over the gaps on both of its sides.
    """
    values, counts = column
    often = values[repeated(column, step)]
    ends = np.concatenate([often - step / 2, often + step / 2])
    found = np.union1d(knots, ends[(ends > knots[0]) & (ends < knots[-1])])
    # of two that mean the same the first; the last is the end of the column
    found = np.append(found[:-1][np.diff(found) > NEAR * step], found[-1])
    before = np.append(0, np.cumsum(counts))[np.searchsorted(values, found)]
    return found, np.diff(np.append(before[:-1], counts.sum()))


def mean_heights(counts: NDArray[np.int64], ends: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """The mean density in every cell [P], and ln of the evidence of all histograms together.

    `ends` of the cells are on the ruler of their lengths [P + 1]; around zero they may lie very close together.
    """
    n, span = int(counts.sum()), float(ends[-1] - ends[0])
    rows, ends = np.append(0, np.cumsum(counts)), ends / span
    log_chance = _log_chances(rows, ends)
    charge = own_charge(np.array([n]), len(counts), 1.0) + choice_cost(len(counts), np.arange(1, len(counts) + 1))
    layers = _layers(log_chance, charge)
    # The mean of (n_b + 1) / (n + k) / length_b over all histograms, each by its evidence: what depends on k goes into
    # the weights of the layers, what depends on the bin is multiplied in below.
    k = len(layers.weight)
    weight = layers.weight / (n + np.arange(1, k + 1))
    bins = np.add.outer(np.arange(k), np.arange(k))  # before an interval and after it
    together = np.where(bins < k, weight[np.minimum(bins, k - 1)], 0.0)
    density = (layers.forward.T @ together @ layers.backward) * layers.chain.steps  # [P + 1, P + 1]
    at = np.triu_indices(len(counts) + 1, 1)
    density[at] *= (rows[at[1]] - rows[at[0]] + 1) / (ends[at[1]] - ends[at[0]])
    # intervals that have begun and not ended; sums without differences, as cells differ by many orders of magnitude
    ending_later = np.cumsum(density[:, ::-1], axis=1)[:, ::-1][:-1, 1:]
    covered = np.maximum(np.triu(ending_later).sum(axis=0), LEAST)
    return covered / float((covered * np.diff(ends)).sum()) / span, layers.log_total - n * np.log(span)


def _log_chances(rows: NDArray[np.int64], ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ln of n! / length^n of the interval between any two positions, -inf where it ends before it begins."""
    found = np.full((len(rows), len(rows)), -np.inf)
    begin, end = np.triu_indices(len(rows), 1)
    n = rows[end] - rows[begin]
    log_factorials = gammaln(np.arange(n.max() + 1) + 1.0) if n.max() < len(n) else None
    found[begin, end] = gammaln(n + 1.0) if log_factorials is None else log_factorials[n]
    found[begin, end] -= n * np.log(ends[end] - ends[begin])
    return found


class _Chain(NamedTuple):
    """Histograms at a price for each bin, as a Markov chain over the positions, from the end to the start."""

    steps: NDArray[np.float64]  # [P + 1, P + 1], from each position (second axis) to the one where its bin begins
    price: float
    n_bins: float  # expected
    log_total: float  # ln of the sum over all histograms at that price

    @classmethod
    def of(cls, steps: NDArray[np.float64], price: float, log_total: float) -> _Chain:
        bins = _along(_without_tiny(steps), np.append(0.0, np.ones(len(steps) - 1)))
        return cls(steps, price, float(bins[-1]), log_total)

    def at(self, price: float) -> _Chain | None:
        """The chain at another price; None if it is too far from this one for plain numbers."""
        ratio = float(np.exp(np.clip(self.price - price, -FAR, FAR)))
        # relative to the sums at the old price, those at the new one solve a triangular system: no logarithms are
        # needed
        total = _along(ratio * self.steps, np.eye(len(self.steps))[0])
        if not (total > 1 / HUGE).all() or not (total < HUGE).all():
            return None
        steps = self.steps * (ratio * total[:, None] / total)
        return _Chain.of(steps, price, self.log_total + float(np.log(total[-1])))


def _along(steps: NDArray[np.float64], first: NDArray[np.float64]) -> NDArray[np.float64]:
    """The x for which x[v] = first[v] + Σ_u x[u] steps[u, v]; steps lead from v to a smaller u."""
    return np.asarray(solve_triangular(-steps, first, trans="T", unit_diagonal=True))


def _chain(log_chance: NDArray[np.float64], price: float) -> _Chain:
    size = len(log_chance)
    log_sum, steps = np.zeros(size), np.zeros((size, size))
    columns = np.ascontiguousarray(log_chance.T)
    for v in range(1, size):
        terms = log_sum[:v] + columns[v, :v]
        top = terms.max()
        chances = np.exp(terms - top, out=steps[v, :v])
        total = chances.sum()
        chances /= total
        log_sum[v] = top + np.log(total) - price
    return _Chain.of(np.ascontiguousarray(steps.T), price, float(log_sum[-1]))


class _Layers(NamedTuple):
    """Histograms with 1, 2, … bins apart."""

    chain: _Chain
    forward: NDArray[np.float64]  # [K, P + 1], paths of 0, 1, … bins from each position to the first one
    backward: NDArray[np.float64]  # [K, P + 1], and from the last one to each
    weight: NDArray[np.float64]  # [K], by which paths of 1, 2, … bins count; the weighed paths sum to 1
    log_total: float  # ln of the evidence of all histograms


def _layers(log_chance: NDArray[np.float64], charge: NDArray[np.float64]) -> _Layers:
    """The layers of a chain whose number of bins is about the one that the charge chooses.

    A charge that grows ever slower may have two favourites, few bins and many: both are tried.
    """
    slopes = np.diff(charge, append=charge[-1])
    tried: dict[int, _Layers] = {}
    # The price decides which numbers of bins the chain can show without underflow, and nothing else. It is the charge's
    # slope at the number of bins that the chain itself expects, found by iteration.
    for first in (4, len(charge) // 2):
        k = min(first, len(charge))
        chain = _chain(log_chance, float(slopes[k - 1]))
        for _ in range(5):
            known, k = k, int(np.clip(round(chain.n_bins), 1, len(charge)))
            if abs(k - known) <= 1 + known // 8:
                break
            price = float(slopes[k - 1])
            chain = chain.at(price) or _chain(log_chance, price)
        if k not in tried:
            tried[k] = _powers(chain, charge)
    return max(tried.values(), key=lambda found: found.log_total)


def _powers(chain: _Chain, charge: NDArray[np.float64]) -> _Layers:
    size, near = len(chain.steps), int(np.clip(round(chain.n_bins), 1, len(charge)))
    log_weight = chain.price * np.arange(1, len(charge) + 1) - charge
    scale = float(log_weight[near - 1])
    weight = np.exp(np.minimum(log_weight - scale, FAR))
    forward, backward = [np.eye(size)[0]], [np.eye(size)[-1]]
    found: list[float] = []
    # forward[i]: chance of the walk from each position to the first one in i bins; backward[j]: from the last one to
    # each in j. A bin with i before it and j after it belongs to a histogram of i + j + 1
    # (docs/maths.md, "The shape of a column"). Terms are positive throughout, so nothing cancels.
    for k in range(len(charge)):
        forward.append(_without_tiny(forward[-1] @ chain.steps))
        found.append(float(weight[k] * forward[-1][-1]))
        if k > 2 * near and found[-1] <= NEGLIGIBLE * sum(found):
            break
        backward.append(_without_tiny(chain.steps @ backward[-1]))
    total, n = sum(found), len(found)
    log_total = chain.log_total + scale + float(np.log(total))
    return _Layers(chain, np.array(forward[:n]), np.array(backward[:n]), weight[:n] / total, log_total)


def _without_tiny(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    chances[chances < TINY] = 0.0
    return chances
