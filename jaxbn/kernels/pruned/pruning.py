"""Which starts are no longer of use (docs/maths.md, "Pruning"), and where the others are kept.

Shapes: those of `state`, and B rows of a block.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbn.kernels.arithmetic import TINY, log_width
from jaxbn.kernels.pruned.block import BLOCK, Block, Switches, just_before
from jaxbn.kernels.pruned.state import NEVER, Check, Chunks, Problem, Range, Starts, State, alive
from jaxbn.kernels.pruned.tiles import CELL_GROUP, Chunk, cell_sums, chunk_of, chunks_in_use, slack


def dominated_inside(rows: Block, best: Array, floor: Array) -> Array:
    """Whether the start after row s of the block is dropped at a later row t of it, [P, B]."""
    # Where there is a smallest width, t may take the place of s only if every later end can be reached from t. The
    # first row after the block is the hardest to reach.
    starts = rows.first + 1 + jnp.arange(BLOCK, dtype=jnp.int32)
    reached = starts <= rows.latest_after  # by every later end, from a start after row t
    worse = (best[:, None, :] + floor >= (best + slack(best))[:, :, None]) & jnp.isfinite(floor)
    return jnp.any(worse & reached[:, None], axis=1)


def check_row(rows: Block, best: Array) -> Check:
    """The cut of the block against which starts are checked: the one whose optimum lies lowest under the trend."""
    # Any cut would be valid. Costs rise by about the same amount from row to row; the further an optimum lies below
    # that line, the more starts it beats. One check serves all prices.
    mean = best.mean(axis=0)
    finite = jnp.isfinite(mean)
    first, final = jnp.argmax(finite), BLOCK - 1 - jnp.argmax(finite[::-1])
    slope = (mean[final] - mean[first]) / jnp.maximum(final - first, 1)
    t = jnp.argmin(jnp.where(finite, mean - slope * jnp.arange(BLOCK), jnp.inf))
    return Check(rows.counts[:, t], rows.mass[t], rows.end[t], rows.first + 1 + t.astype(jnp.int32), best[:, t])


def without_useless(problem: Problem, starts: Starts, check: Check, latest: Array, switches: Switches) -> Starts:
    """Drop the starts that no later end can use; `latest` is the last start from which the next row can be reached.

    A start u is dropped at t when S_u + floor(u, t) >= S_t, where cost(u, T) >= floor(u, t) + cost(t, T) for every
    later T. The floor of a factor is its cost at the maximum-likelihood parameters; where the width counts, the
    variable's own part of the cost is its own floor. With a smallest width, u has to stay until every later end can be
    reached from t.
    """
    width = switches.width

    def chunk(number: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        some = chunk_of(starts, number, width)
        floor = cell_sums(problem, check.counts, problem.cell_floor, some)
        if switches.spread:
            floor += log_width(check.mass - some.mass, check.end - some.begin)
        beaten = some.cost + floor >= (check.cost + slack(check.cost))[:, None]
        put = partial(lax.dynamic_update_slice_in_dim, start_index=number * width, axis=1)
        if not switches.spread:
            return put(carry[0], jnp.where(beaten, jnp.inf, some.cost)), carry[1]
        beaten_from = jnp.where(beaten, jnp.minimum(some.beaten_from, check.start), some.beaten_from)
        cost = jnp.where(beaten_from <= latest, jnp.inf, some.cost)
        return put(carry[0], cost), put(carry[1], beaten_from)

    cost, beaten_from = lax.fori_loop(0, chunks_in_use(starts, width), chunk, (starts.cost, starts.beaten_from))
    return starts._replace(cost=cost, beaten_from=beaten_from)


def measured_chunks(problem: Problem, state: State, first: Array, switches: Switches) -> State:
    """From the chunk `first` on: interval costs of the settled starts at the current block, and what bounds them."""
    settled, prefix, width = state.settled, state.prefix, switches.width
    mass, end = just_before(problem, state.block)

    def chunk(number: Array, carry: tuple[Array, Chunks]) -> tuple[Array, Chunks]:
        starts = chunk_of(settled, number, width)
        inside = cell_sums(problem, prefix, problem.cell_table, starts)
        weights, widths = mass - starts.mass, jnp.maximum(end - starts.begin, TINY)
        total = starts.cost + inside + (log_width(weights, widths) if switches.spread else 0.0)
        after = Chunks(
            size=alive(starts.cost).sum(dtype=jnp.int32),
            bound=total.min(axis=1),
            fresh=jnp.array(True),
            counts=prefix,
            mass=mass,
            end=end,
            **measured(problem, starts, prefix, weights, widths, switches),
        )
        chunks = jax.tree.map(lambda array, value: array.at[..., number].set(value), carry[1], after)
        return lax.dynamic_update_slice_in_dim(carry[0], inside, number * width, 0), chunks

    inside, chunks = lax.fori_loop(first, chunks_in_use(settled, width), chunk, (settled.inside, state.chunks))
    return state._replace(settled=settled._replace(inside=inside), chunks=chunks)


def measured(
    problem: Problem, starts: Chunk, prefix: Array, weights: Array, widths: Array, switches: Switches
) -> dict[str, Range]:
    """The fields `ratio`, `density` and `minus_density` of `Chunks`, of the intervals of W starts.

    `prefix` [C] are the counts of all rows up to where the intervals end, `weights` and `widths` [W] those of the
    intervals, none of which is longer than the first. Without a width that counts some of it is of no use.
    """
    # Starts are in order and counts fall with the start: contexts and widths are largest at the first start of the
    # chunk (whether it is live or not, which only widens the range) and least at the last live one.
    live = alive(starts.cost)
    shortest = len(live) - 1 - jnp.argmax(live[::-1])

    def counts(cells: Array) -> Array:
        return prefix[cells][:, None] - starts.before_in(cells)

    def some_cells(group: Array, found: Range) -> Range:
        first = group * CELL_GROUP
        cells = first + jnp.arange(CELL_GROUP, dtype=jnp.int32)
        given = problem.cell_given[cells]
        of_context = jnp.where(given[:, None] < 0, weights, counts(jnp.maximum(given, 0)))
        contexts = of_context + problem.cell_states[cells][:, None]
        ratios = (counts(cells) + problem.weight) / contexts
        values = Range(jnp.where(live, ratios, 0.0).max(axis=1), contexts[:, shortest], contexts[:, 0])
        return Range(*map(partial(lax.dynamic_update_slice_in_dim, start_index=first, axis=0), found, values))

    n_groups = (problem.n_cells + CELL_GROUP - 1) // CELL_GROUP
    ratio = lax.fori_loop(0, n_groups, some_cells, Range(*[jnp.zeros(len(problem.cell_given))] * 3))
    if not switches.spread:
        nothing = Range(*[jnp.float64(0)] * 3)
        return {"ratio": ratio, "density": nothing, "minus_density": nothing}
    densities = weights / widths
    thin, thick = jnp.where(live, densities, jnp.inf).min(), jnp.where(live, densities, 0.0).max()
    density = Range(thick, widths[shortest], widths[0])
    return {"ratio": ratio, "density": density, "minus_density": density._replace(high=-thin)}


def with_own_starts(starts: Starts, rows: Block, cost: Array, inside: Array, keep: Array) -> Starts:
    """Give the starts after the block's rows a slot each: those that are kept come first, the rest is overwritten."""
    # all BLOCK slots are written, as shapes are fixed, but `n_slots` moves on by those kept: the next block writes over
    # the others
    order = jnp.argsort(~keep.any(axis=0), stable=True).astype(jnp.int32)
    place = partial(lax.dynamic_update_slice_in_dim, start_index=starts.n_slots)
    return Starts(
        row=place(starts.row, rows.first + 1 + order, axis=0),
        cost=place(starts.cost, jnp.where(keep, cost, jnp.inf)[:, order], axis=1),
        inside=place(starts.inside, inside[order], axis=0),
        before=place(starts.before, rows.counts[:, order], axis=1),
        mass=place(starts.mass, rows.mass[order], axis=0),
        begin=place(starts.begin, rows.end[order], axis=0),
        beaten_from=place(starts.beaten_from, jnp.full(keep.shape, NEVER, jnp.int32), axis=1),
        n_slots=starts.n_slots + keep.any(axis=0).sum(dtype=jnp.int32),
    )
