"""Gradient ascent with optax: of held-out log density in cuts and Dirichlet weights, of the cuts' prior in its rate.

The density is smooth in where the cuts lie and in the weights.

Shape legend: K folds, E edges of all variables in a row (the outer ones included), S values of held-out rows that lie
inside the gap of a cut, T cells of tables that held-out rows look up, U those whose look-up depends on a value inside a
gap, P variables of the largest family, F families.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

SOFTNESS = 0.1  # spread of the smoothed membership of a bin, as a share of the gap

ALPHA_RANGE = (0.01, 100.0)
"""Bounds of the Dirichlet weights: those of flat tables, and of tables of zeros and ones, would never stop moving."""

RATE_RANGE = (0.01, 1000.0)  # bounds of the rate: without any cut the best rate is zero
RATE_STEPS = 300  # steps of Adam to the best rate


class Cells(NamedTuple):
    """Cells of conditional tables that held-out rows look up; T stands for T or U. NumPy arrays outside jit."""

    cell: Any  # [K, T] float64, N_jk: rows of the other folds in the cell
    total: Any  # [K, T] float64, N_j: those in all cells of the same configuration of the parents
    states: Any  # [K, T] float64, r: states of the child; 0 is padding
    family: Any  # [K, T] int32, whose table it is
    times: Any  # [K, T] float64, held-out rows that look it up


class Folds(NamedTuple):
    """What is held out in each fold, and what the other folds' rows say of it; NumPy arrays outside jit."""

    low: Any  # [K, E] float64, where an edge lies at share 0: the nearest value below it in the other folds
    high: Any  # [K, E] float64, where it lies at share 1; equal to `low` for an edge that stays
    rows: Any  # [K, E] float64, held-out rows that are in the bin after an edge wherever its ends lie
    value: Any  # [K, S] float64, held-out values inside a gap
    edge: Any  # [K, S] int32, the edge that lies in the gap
    weight: Any  # [K, S] float64, 1, or 0 for padding
    settled: Cells  # [K, T]
    open: Cells  # [K, U]
    inside: Any  # [K, U, P] int32, the values inside a gap on whose bins the look-up depends; -1 for none
    right: Any  # [K, U, P] bool, whether it takes place when that value is right of its edge


class Point(NamedTuple):
    """What is learned."""

    shares: Any  # [E] float64, where in its gap each edge lies
    log_alpha: Any  # [F] float64, of each family


class Limits(NamedTuple):
    """What may be learned."""

    free: Any  # [E] bool, edges that may move
    margin: Any  # [E] float64, the smallest share on either side
    families: Any  # [F] bool, families whose weight may change
    together: Any  # bool, whether these share one weight


class Found(NamedTuple):
    """The end of a climb; log densities are those of all held-out rows, exact."""

    point: Point
    before: Array
    after: Array


def held_out(shares: Array, log_alpha: Array, folds: Folds, *, smooth: bool) -> Array:
    """Log density of all held-out rows at a `Point`, a float64 scalar.

    If it is smooth, a value inside a gap belongs to both neighbouring bins by degrees. Else it belongs to the one it is
    in, and the result is the exact log density.
    """

    def of_one(fold: Folds) -> Array:
        positions = fold.low + shares * (fold.high - fold.low)  # [E]
        # of the bin after each edge [E]; 0 for an atom, and for what lies between two variables
        widths = jnp.append(jnp.diff(positions), 0.0)
        log_width = jnp.where(widths > 0, jnp.log(jnp.where(widths > 0, widths, 1.0)), 0.0)
        # how much each value inside a gap belongs to the bin right of its edge [S]
        offset, gap = fold.value - positions[fold.edge], (fold.high - fold.low)[fold.edge]
        by_degrees = jax.nn.sigmoid(offset / (SOFTNESS * jnp.where(gap > 0, gap, 1.0)))
        on_right = by_degrees if smooth else (offset >= 0).astype(offset.dtype)
        width_inside = (1.0 - on_right) * log_width[fold.edge - 1] + on_right * log_width[fold.edge]
        log_volume = (fold.rows * log_width).sum() + (fold.weight * width_inside).sum()
        # to what degree each open look-up takes place: all its values must be on the right side [U]
        degrees = jnp.where(fold.right, on_right[fold.inside], 1.0 - on_right[fold.inside])  # [U, P]
        degree = jnp.where(fold.inside < 0, 1.0, degrees).prod(axis=-1)
        log_table = (fold.settled.times * _log_tables(log_alpha, fold.settled)).sum()
        log_table += (fold.open.times * degree * _log_tables(log_alpha, fold.open)).sum()
        return log_table - log_volume

    return jax.vmap(of_one)(folds).sum()


def _log_tables(log_alpha: Array, cells: Cells) -> Array:
    """Log posterior means, ln (N_jk + α) - ln (N_j + r α) [T]."""
    alpha = jnp.exp(log_alpha)[cells.family]
    return jnp.log(cells.cell + alpha) - jnp.log(cells.total + jnp.maximum(cells.states, 1.0) * alpha)


@partial(jax.jit, static_argnames="steps")
def climb(original: Point, limits: Limits, folds: Folds, learning_rate: Array, *, steps: int) -> Found:
    """The best point on Adam's way up the smoothed log density and the prior of the shares.

    Best is the highest sum of the *exact* log density and the prior among the points whose log density is not below the
    original's, which is one of them.
    """

    def settled(point: Point) -> Point:
        inner = limits.margin + (1.0 - 2.0 * limits.margin) * jax.nn.sigmoid(point.shares)
        return Point(jnp.where(limits.free, inner, original.shares), point.log_alpha)

    def loss(point: Point) -> Array:
        there = settled(point)
        return -held_out(*there, folds, smooth=True) - _log_prior(there.shares, limits.free)

    def slope(point: Point) -> Point:
        shares, log_alpha = jax.grad(loss)(point)
        log_alpha = jnp.where(limits.families, log_alpha, 0.0)
        return Point(shares, jnp.where(limits.together & limits.families, log_alpha.sum(), log_alpha))

    def step(state: _State, _: None) -> tuple[_State, None]:
        updates, memory = optimizer.update(slope(state.point), state.memory)
        point = optax.apply_updates(state.point, updates)
        point = point._replace(log_alpha=_clipped(point.log_alpha, ALPHA_RANGE, limits.families))
        there = settled(point)
        value = held_out(*there, folds, smooth=False)
        merit = value + _log_prior(there.shares, limits.free)
        better = (merit > state.merit) & (value >= before)
        kept = (there, value, merit), (state.best, state.value, state.merit)
        return _State(point, memory, *jax.tree.map(partial(jnp.where, better), *kept)), None

    optimizer = optax.adam(optax.cosine_decay_schedule(learning_rate, steps))
    start = _start(original, limits)
    before = held_out(*original, folds, smooth=False)
    merit = before + _log_prior(original.shares, limits.free)
    first = _State(start, optimizer.init(start), original, before, merit)
    last, _ = jax.lax.scan(step, first, None, length=steps)
    return Found(last.best, before, last.value)


class _State(NamedTuple):
    """Where the climb is, and the best it has seen."""

    point: Point  # shares as the numbers whose sigmoid is taken
    memory: Any
    best: Point
    value: Array  # log density of the best
    merit: Array  # that and the prior


def _start(original: Point, limits: Limits) -> Point:
    """The original, moved inside the limits; a shared weight starts at the mean."""
    inner = (original.shares - limits.margin) / jnp.where(limits.free, 1.0 - 2.0 * limits.margin, 1.0)
    shares = jnp.where(limits.free, jax.scipy.special.logit(jnp.clip(inner, 0.001, 0.999)), 0.0)
    mean = (original.log_alpha * limits.families).sum() / jnp.maximum(limits.families.sum(), 1)
    log_alpha = jnp.where(limits.together & limits.families, mean, original.log_alpha)
    return Point(shares, _clipped(log_alpha, ALPHA_RANGE, limits.families))


def _log_prior(shares: Array, free: Array) -> Array:
    """Σ ln 4 s (1 - s) over the edges that may move: Beta(2, 2), which is 0 at the middle of the gaps."""
    inner = jnp.where(free, shares, 0.5)
    # a cut that was given may lie at the very end of its gap
    return jnp.log(jnp.maximum(4.0 * inner * (1.0 - inner), 1e-300)).sum()


def _clipped(values: Array, limits: tuple[float, float], where: Array) -> Array:
    low, high = map(math.log, limits)
    return jnp.where(where, jnp.clip(values, low, high), values)


@jax.jit
def best_rate(rate: Array, gaps: Array, n_variables: Array) -> Array:
    """The rate L that makes the cuts of some variables most probable.

    The prior's charge for all of them is Σ_variables L + Σ_cuts w(L), w = -ln(exp(L g) - 1), which is convex in L. It
    starts at `rate`; `gaps` [C] are g, the gap of each cut as a share of its variable's range, and 0 for padding.
    """

    def cost(log_rate: Array) -> Array:  # w as in cuts/sorted_values.cut_costs, which is NumPy
        x = jnp.exp(log_rate) * jnp.where(gaps > 0, gaps, 1.0)
        charge = -x - jnp.log(-jnp.expm1(-x))
        return n_variables * jnp.exp(log_rate) + jnp.where(gaps > 0, charge, 0.0).sum()

    def step(state: tuple[Array, Any], _: None) -> tuple[tuple[Array, Any], None]:
        log_rate, memory = state
        updates, memory = optimizer.update(jax.grad(cost)(log_rate), memory)
        log_rate = optax.apply_updates(log_rate, updates)
        return (_clipped(log_rate, RATE_RANGE, jnp.array(True)), memory), None

    optimizer = optax.adam(optax.cosine_decay_schedule(0.1, RATE_STEPS))
    start = jnp.log(rate)
    (log_rate, _), _ = jax.lax.scan(step, (start, optimizer.init(start)), None, length=RATE_STEPS)
    return jnp.exp(log_rate)
