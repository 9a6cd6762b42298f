"""The pruned dynamic program over the cuts of one variable.

A problem is a list of rows sorted by value. The cost of an interval is a signed sum of tables,

    cost(interval) = sum_terms sign * sum_cells table[count of the cell in the interval]  (+ n ln width),

one term for the contexts (+) and one for the outcomes (-) of every factor, so that a row added to an interval
touches one cell of each term and nothing else (docs/maths.md, "Increments"). Rows come in blocks. Starts before a block
compete in tiles that do not depend on the block's own optima (`tiles`); only the triangle of starts inside the block is
sequential.

Two rules, both exact, keep most starts out of the tiles. A start is dropped when a later one is proved to be better
for every end to come (`pruning`; "Pruning"). And a chunk of neighbouring starts is passed over in a block in which a
lower bound of all their totals lies above the best total found (`bounds`; "Bounds of chunks").

Costs of intervals do not depend on what is charged for their number. So one pass finds the optimum at several prices:
they share everything but the sums of costs, and a start goes, or a chunk is passed over, where all of them agree
("Several prices at once").

Shapes: those of `state`, and B rows of a block.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbn.kernels.arithmetic import rounding, settled
from jaxbn.kernels.pruned.block import BLOCK, Switches, block_rows, just_before, latest_of_first_row, triangle_of
from jaxbn.kernels.pruned.bounds import grouped_chunks
from jaxbn.kernels.pruned.pruning import check_row, dominated_inside, measured_chunks, with_own_starts, without_useless
from jaxbn.kernels.pruned.state import NEVER, NO_START, Chunks, Problem, State, appended, compacted, n_live
from jaxbn.kernels.pruned.tiles import Found, all_recent, few_prices_at_once, settled_where_needed

LEGS = 8  # how often new starts are settled after the others before all are checked …
IN_VAIN = 50  # … and twice as often each time after a check that dropped less than one in so many


def settle_block(tile_best: Array, triangle: Array, cut_cost: Array) -> tuple[Array, Array]:
    """Optimum of every row of the block [P, B], and what row its last interval starts after; -1: before it."""
    best = settled(tile_best, triangle, cut_cost)
    # As the triangle is +inf for t <= s, this is what row after row would have found; where each optimum begins is
    # looked up once, at the end. The tile's start is the earlier one and wins a tie.
    inside = best[:, None, :] + triangle  # [P, t, s]
    inner = inside.min(axis=2)
    after = jnp.where(inside <= inner[:, :, None], jnp.arange(BLOCK, dtype=jnp.int32), BLOCK).min(axis=2)
    return best, jnp.where(inner < tile_best - rounding(tile_best), after, -1)


def _step(problem: Problem, state: State, groups: Chunks, switches: Switches) -> State:
    """One block of rows; `groups` are of chunks."""
    rows = block_rows(problem, state.block, state.prefix)
    found = Found(jnp.full(rows.cut_cost.shape, jnp.inf), jnp.full(rows.cut_cost.shape, NEVER, jnp.int32))
    found, recent = all_recent(problem, rows, state.recent, found, switches)
    found, inside, chunks, visited = settled_where_needed(problem, rows, state, groups, found, switches)

    triangle, own_inside = triangle_of(problem, rows, switches)
    floor = triangle_of(problem, rows, switches, floor=True)[0]

    def optima(tile_best: Array, cut_cost: Array) -> tuple[Array, Array, Array]:
        best, after = settle_block(tile_best, triangle, cut_cost)
        keep = jnp.isfinite(best)
        return best, after, keep & ~dominated_inside(rows, best, floor)

    best, after, keep = few_prices_at_once(optima, found.best, rows.cut_cost)
    last = jnp.where(after >= 0, rows.first + after + 1, found.row)
    visited += n_live(recent)
    check = check_row(rows, best)
    recent = without_useless(problem, recent, check, rows.latest_after, switches)
    return State(
        block=state.block + 1,
        prefix=rows.counts[:, -1],
        check=check,
        leader=last[:, -1],
        settled=state.settled._replace(inside=inside),
        chunks=chunks,
        recent=with_own_starts(recent, rows, best, own_inside[-1], keep),
        best=lax.dynamic_update_slice_in_dim(state.best, best, rows.first, 1),
        last=lax.dynamic_update_slice_in_dim(state.last, jnp.where(jnp.isfinite(best), last, NO_START), rows.first, 1),
        visited=state.visited + BLOCK * visited.astype(jnp.float64),
    )


_MOVING = {"settled": ("inside",), "chunks": ("bound", "fresh")}
"""What changes from block to block in the parts of the state that are large."""


def _run_blocks(problem: Problem, state: State, unfinished: Callable[[State], Array], switches: Switches) -> State:
    """Blocks while `unfinished(state)`; what does not change is kept out of the loop's carry."""
    fixed = {
        part: {name: array for name, array in getattr(state, part)._asdict().items() if name not in moving}
        for part, moving in _MOVING.items()
    }

    def with_fixed(state: State, fixed: dict[str, dict[str, Array]]) -> State:
        return state._replace(**{part: getattr(state, part)._replace(**fields) for part, fields in fixed.items()})

    absent = jax.tree.map(lambda array: jnp.zeros(0), fixed)
    groups = grouped_chunks(problem, state.chunks, state.prefix, *just_before(problem, state.block))
    moving = lax.while_loop(
        unfinished,
        lambda moving: with_fixed(_step(problem, with_fixed(moving, fixed), groups, switches), absent),
        with_fixed(state, absent),
    )
    return with_fixed(moving, fixed)


@partial(jax.jit, static_argnames=("switches",))
def advance(problem: Problem, state: State, until: Array, *, switches: Switches) -> State:
    """Run blocks until the rows end, or the blocks that were asked for, or the slots: then the host gives more."""
    # Four loops, from the inside out: blocks, until the buffer of recent starts is full; legs, after each of which
    # these are settled; checks of all settled starts, after `LEGS` legs or more; compactions, when a quarter of the
    # slots is empty. Only the host can give more slots: shapes are fixed here, so `advance` returns when the live
    # starts outgrow them.
    n_blocks = jnp.minimum((problem.n_rows + BLOCK - 1) // BLOCK, until)
    room = state.recent.row.shape[0] - BLOCK
    # what is appended takes whole chunks, and at most as many as there are recent starts
    capacity = state.settled.row.shape[0] - state.recent.row.shape[0] - switches.width

    def rows_left(state: State) -> Array:
        return state.block < n_blocks

    def leg(carry: tuple[Array, Array, State]) -> tuple[Array, Array, State]:
        left, measured, state = carry
        state, first = appended(state, switches.width)
        # What the last leg appended is measured again: when it was measured first, its intervals were so short that
        # ratios differed much from start to start, and the bounds were weak.
        state = measured_chunks(problem, state, measured, switches)
        state = _run_blocks(problem, state, lambda s: rows_left(s) & (s.recent.n_slots <= room), switches)
        return left - 1, first, state

    def can_append(carry: tuple[Array, Array, State]) -> Array:
        left, _, state = carry
        return rows_left(state) & (state.settled.n_slots <= capacity) & (left > 0)

    def legs_and_a_check(carry: tuple[Array, Array, State]) -> tuple[Array, Array, State]:
        legs = carry[0]
        _, measured, state = lax.while_loop(can_append, leg, carry)
        latest = latest_of_first_row(problem, state.block)
        settled = without_useless(problem, state.settled, state.check, latest, switches)
        in_vain = IN_VAIN * (n_live(state.settled) - n_live(settled)) < n_live(state.settled)
        return jnp.where(in_vain, 2 * legs, LEGS), measured, state._replace(settled=settled)

    def well_filled(carry: tuple[Array, Array, State]) -> Array:
        settled = carry[-1].settled
        return rows_left(carry[-1]) & (settled.n_slots <= capacity) & (4 * n_live(settled) >= 3 * settled.n_slots)

    def from_compaction(state: State) -> State:
        start = jnp.int32(LEGS), jnp.int32(0), compacted(state, switches.width)
        return lax.while_loop(well_filled, legs_and_a_check, start)[-1]

    def can_go_on(state: State) -> Array:
        return rows_left(state) & (n_live(state.settled) + n_live(state.recent) <= capacity)

    return lax.while_loop(can_go_on, from_compaction, state)
