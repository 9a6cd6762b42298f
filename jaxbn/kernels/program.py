"""The pruned dynamic program over the cuts of one variable (sections 1 to 3 of the design notes).

A problem is a list of rows sorted by value. The cost of an interval is a signed sum of tables,

    cost(interval) = sum_terms sign * sum_cells table[count of the cell in the interval],

one term for the contexts (+) and one for the outcomes (-) of every factor, so that a row added to an interval
touches one cell of each term and nothing else. Rows come in blocks. For the starts before a block the counts are
`counts at the block's start + rank inside the block`: a tile `[rows, starts]` that does not depend on the block's own
optima. Only the triangle of starts inside the block is sequential.

Shapes:
    N rows (padded), B rows of a block, J terms (padded), C cells of all terms (padded), Q tables, Z table length,
    M slots for starts, W slots of one tile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

BLOCK = 32
"""Rows of a block: the cumulative sum down a tile is a product with a BLOCK x BLOCK triangle."""

CELL_GROUP = 8
"""Cells looked up together when starts are checked; the number of cells is padded to a multiple of it."""

NO_START = -1
"""`last` of a row that no interval may end at."""

NEVER = 2**31 - 1
"""A row index behind all rows."""


class Problem(NamedTuple):
    """One variable to cut, as arrays."""

    cells: Array  # [J, N] int32, the cell of row i in term j, unique over terms
    weights: Array  # [N] int32
    cut_cost: Array  # [N] float64, cost of a cut behind row i: +inf where there can be none, 0 behind the last row
    first_cost: Array  # [] float64, cost of the empty prefix
    tables: Array  # [Q * Z] float64, cumulative tables (step tables if weights are all one), one after the other
    term_table: Array  # [J] int32, where the table of term j begins
    term_sign: Array  # [J] float64
    entropy: Array  # [Z] float64, n ln n
    cell_sign: Array  # [C] float64, sign of the cell's term, 0 for padding
    n_rows: Array  # [] int32
    n_terms: Array  # [] int32
    n_cells: Array  # [] int32


class Starts(NamedTuple):
    """Live starts of the last interval, one in a slot."""

    row: Array  # [M] int32, first row of the interval
    cost: Array  # [M] float64, best cost of everything before it, +inf for an empty slot
    inside: Array  # [M] float64, cost of the interval from it to the current block
    before: Array  # [C, M] int32, counts of all rows before it
    n_slots: Array  # [] int32, slots in use


class State(NamedTuple):
    """Everything between two blocks.

    The starts are in two groups: `settled`, whose counts stay where they are between two compactions (so that no loop
    copies the large array), and `recent`, a small buffer that new starts are appended to.
    """

    block: Array  # [] int32, blocks done
    prefix: Array  # [C] int32, counts of all rows before the block
    settled: Starts
    recent: Starts
    best: Array  # [N] float64, best cost up to row i with a cut behind it
    last: Array  # [N] int32, first row of the last interval of that optimum
    visited: Array  # [] float64, sum over rows of the live starts looked at


def _no_starts(n_cells: int, capacity: int) -> Starts:
    return Starts(
        row=jnp.zeros(capacity, jnp.int32),
        cost=jnp.full(capacity, jnp.inf),
        inside=jnp.zeros(capacity),
        before=jnp.zeros((n_cells, capacity), jnp.int32),
        n_slots=jnp.int32(0),
    )


@partial(jax.jit, static_argnames=("settled", "recent"))
def initial_state(problem: Problem, settled: int, recent: int) -> State:
    """The state before the first row: one live start, at row 0; `settled` and `recent` are numbers of slots."""
    n_cells, n = problem.cell_sign.shape[0], problem.weights.shape[0]
    empty = _no_starts(n_cells, recent)
    return State(
        block=jnp.int32(0),
        prefix=jnp.zeros(n_cells, jnp.int32),
        settled=_no_starts(n_cells, settled),
        recent=empty._replace(cost=empty.cost.at[0].set(problem.first_cost), n_slots=jnp.int32(1)),
        best=jnp.full(n, jnp.inf),
        last=jnp.full(n, NO_START, jnp.int32),
        visited=jnp.float64(0),
    )


class _Block(NamedTuple):
    """The rows of one block."""

    first: Array  # [] int32, index of its first row
    cells: Array  # [J, B] int32
    weights: Array  # [B] int32
    cut_cost: Array  # [B] float64
    seen: Array  # [J, B] int32, earlier rows of all the data in row t's cell
    counts: Array  # [C, B] int32, rows up to and including row t in every cell


def _block_rows(problem: Problem, block: Array, prefix: Array) -> _Block:
    first = block * BLOCK
    cells = lax.dynamic_slice_in_dim(problem.cells, first, BLOCK, axis=1)
    weights = lax.dynamic_slice_in_dim(problem.weights, first, BLOCK)
    cut_cost = lax.dynamic_slice_in_dim(problem.cut_cost, first, BLOCK)
    earlier = jnp.triu(jnp.ones((BLOCK, BLOCK), jnp.int32), 1) * weights[:, None]
    rank = jnp.where(cells[:, :, None] == cells[:, None, :], earlier, 0).sum(axis=1, dtype=jnp.int32)
    local = (
        jnp.zeros((prefix.shape[0], BLOCK)).at[cells, jnp.arange(BLOCK)].add(weights.astype(jnp.float64), mode="drop")
    )
    counts = prefix[:, None] + _running_sum(local.T).T.astype(jnp.int32)
    return _Block(first, cells, weights, cut_cost, prefix[cells] + rank, counts)


def _lookup(table: Array, index: Array) -> Array:
    return table.at[index].get(mode="promise_in_bounds")


def _running_sum(rows: Array) -> Array:
    """Cumulative sum down the block, as a product with a triangle: `cumsum` is slow on CPUs."""
    return jnp.tril(jnp.ones((BLOCK, BLOCK))) @ rows


def _increments(
    problem: Problem, rows: _Block, before: Array, unit: bool, *, own: bool, entropy: bool = False
) -> Array:
    """What each row adds to the intervals of some starts, [B, W]; `before` [C, W] are the counts before the starts.

    The block's `own` starts lie behind some of its rows: those add nothing.
    """
    width = before.shape[1]
    outside = jnp.arange(BLOCK)[:, None] <= jnp.arange(width)  # own start number s lies behind row s

    def term(j: Array) -> Array:
        counts = rows.seen[j][:, None] - _lookup(before, rows.cells[j])
        counts = jnp.where(outside, 0, counts) if own else counts
        if entropy:
            change = _lookup(problem.entropy, counts + rows.weights[:, None]) - _lookup(problem.entropy, counts)
        elif unit:
            change = _lookup(problem.tables, problem.term_table[j] + counts)
        else:
            counts += problem.term_table[j]
            change = _lookup(problem.tables, counts + rows.weights[:, None]) - _lookup(problem.tables, counts)
        return problem.term_sign[j] * change

    total = lax.fori_loop(0, problem.n_terms, lambda j, total: total + term(j), jnp.zeros((BLOCK, width)))
    return jnp.where(outside, 0, total) if own else total


class _Tile(NamedTuple):
    """Best start before the block for each row of it, over the slots seen so far."""

    best: Array  # [B] float64
    row: Array  # [B] int32, first row of the interval that gives it
    inside: Array  # [M] float64


def _before_the_block(
    problem: Problem, starts: Starts, rows: _Block, found: _Tile, width: int, unit: bool, n_chunks: Array
) -> _Tile:
    """Let the `starts` compete for the rows of the block; their interval costs move on to the block's end."""

    def tile(chunk: Array, carry: _Tile) -> _Tile:
        first = chunk * width
        before = lax.dynamic_slice_in_dim(starts.before, first, width, axis=1)
        inside = lax.dynamic_slice_in_dim(carry.inside, first, width)
        cost = lax.dynamic_slice_in_dim(starts.cost, first, width)
        row = lax.dynamic_slice_in_dim(starts.row, first, width)
        interval = _running_sum(_increments(problem, rows, before, unit, own=False)) + inside
        total = interval + cost
        best = total.min(axis=1)
        # of equal costs, up to rounding, the earliest start wins, whatever the slot it sits in
        start = jnp.where(total <= (best + _rounding(best))[:, None], row, jnp.int32(NEVER)).min(axis=1)
        rounding = _rounding(carry.best)
        better = (best < carry.best - rounding) | ((best <= carry.best + rounding) & (start < carry.row))
        return _Tile(
            jnp.minimum(best, carry.best),
            jnp.where(better, start, carry.row),
            lax.dynamic_update_slice_in_dim(carry.inside, interval[-1], first, 0),
        )

    return lax.fori_loop(0, n_chunks, tile, found._replace(inside=starts.inside))


def _triangle(problem: Problem, rows: _Block, unit: bool, *, entropy: bool = False) -> Array:
    """Cost, or entropy, up to row t of the interval that starts behind row s of the block: [t, s], +inf for t <= s."""
    increments = _increments(problem, rows, rows.counts, unit, own=True, entropy=entropy)
    return jnp.where(jnp.tri(BLOCK, k=-1, dtype=bool), _running_sum(increments), jnp.inf)


def _settle(tile_best: Array, triangle: Array, cut_cost: Array) -> tuple[Array, Array]:
    """Optimum of every row of the block, and the row that its last interval starts behind, -1 before the block."""

    def row(carry: Array, t: Array) -> tuple[Array, tuple[Array, Array]]:
        inside = carry + triangle[t]  # [s]
        inner = inside.min()
        best = jnp.minimum(inner, tile_best[t]) + cut_cost[t]
        behind = jnp.where(inner < tile_best[t] - _rounding(tile_best[t]), jnp.argmin(inside), -1).astype(jnp.int32)
        return carry.at[t].set(best), (best, behind)

    return lax.scan(row, jnp.full(BLOCK, jnp.inf), jnp.arange(BLOCK))[1]


def _rounding(cost: Array) -> Array:
    """Costs closer than this are equal."""
    return jnp.where(jnp.isfinite(cost), 1e-11 * (1 + jnp.abs(cost)), 0)


def _slack(cost: Array) -> Array:
    """Rounding allowance: nothing is dropped by float error."""
    return 1e-9 + 1e-11 * jnp.abs(cost)


def _dominated_inside(best: Array, entropy: Array) -> Array:
    """Whether the start behind row s of the block is dropped at a later row t of it, [B]."""
    return jnp.any((best + entropy >= (best + _slack(best))[:, None]) & jnp.isfinite(entropy), axis=0)


def _pruning_row(best: Array) -> Array:
    """The row of the block against which starts are checked: the one whose optimum lies lowest under the trend."""
    finite = jnp.isfinite(best)
    steps = jnp.arange(BLOCK)
    low = jnp.where(finite, best, jnp.inf)
    first, final = jnp.argmax(finite), BLOCK - 1 - jnp.argmax(finite[::-1])
    slope = (best[final] - best[first]) / jnp.maximum(final - first, 1)
    return jnp.argmin(jnp.where(finite, low - slope * steps, jnp.inf))


def _prune(problem: Problem, starts: Starts, counts: Array, threshold: Array, width: int) -> Starts:
    """Drop the starts that no later end can use.

    A start u is dropped at t when S_u + E(u, t) >= S_t, E being the cost of the interval at its maximum-likelihood
    parameters: h(u, T) >= E(u, t) + h(t, T) for every later T. `counts` [C] are those of all rows up to t, `threshold`
    is S_t.
    """

    def tile(chunk: Array, cost: Array) -> Array:
        first = chunk * width

        def cells(group: Array, total: Array) -> Array:
            c = group * CELL_GROUP
            before = lax.dynamic_slice(starts.before, (c, first), (CELL_GROUP, width))
            count = lax.dynamic_slice_in_dim(counts, c, CELL_GROUP)
            sign = lax.dynamic_slice_in_dim(problem.cell_sign, c, CELL_GROUP)
            return total + (sign[:, None] * _lookup(problem.entropy, count[:, None] - before)).sum(axis=0)

        n_groups = (problem.n_cells + CELL_GROUP - 1) // CELL_GROUP
        entropy = lax.fori_loop(0, n_groups, cells, jnp.zeros(width))
        here = lax.dynamic_slice_in_dim(cost, first, width)
        return lax.dynamic_update_slice_in_dim(cost, jnp.where(here + entropy >= threshold, jnp.inf, here), first, 0)

    n_chunks = (starts.n_slots + width - 1) // width
    return starts._replace(cost=lax.fori_loop(0, n_chunks, tile, starts.cost))


def _append(starts: Starts, rows: _Block, cost: Array, inside: Array, keep: Array) -> Starts:
    """Give the starts behind the block's rows a slot each: those that are kept come first, the rest is overwritten."""
    order = jnp.argsort(~keep, stable=True).astype(jnp.int32)
    place = partial(lax.dynamic_update_slice_in_dim, start_index=starts.n_slots)
    return Starts(
        row=place(starts.row, rows.first + 1 + order, axis=0),
        cost=place(starts.cost, jnp.where(keep, cost, jnp.inf)[order], axis=0),
        inside=place(starts.inside, inside[order], axis=0),
        before=place(starts.before, rows.counts[:, order], axis=1),
        n_slots=starts.n_slots + keep.sum(dtype=jnp.int32),
    )


def _step(problem: Problem, state: State, width: int, unit: bool, prune: bool) -> State:
    """One block of rows."""

    def n_chunks(starts: Starts) -> Array:
        return (starts.n_slots + width - 1) // width

    rows = _block_rows(problem, state.block, state.prefix)
    settled, recent = state.settled, state.recent
    found = _Tile(jnp.full(BLOCK, jnp.inf), jnp.full(BLOCK, NEVER, jnp.int32), jnp.zeros(0))
    found = _before_the_block(problem, settled, rows, found, width, unit, n_chunks(settled))
    settled = settled._replace(inside=found.inside)
    found = _before_the_block(problem, recent, rows, found, width, unit, n_chunks(recent))
    recent = recent._replace(inside=found.inside)

    triangle = _triangle(problem, rows, unit)
    best, behind = _settle(found.best, triangle, rows.cut_cost)
    last = jnp.where(behind >= 0, rows.first + behind + 1, found.row)
    visited = _live(settled) + _live(recent)
    keep = jnp.isfinite(best)
    if prune:
        keep &= ~_dominated_inside(best, _triangle(problem, rows, unit, entropy=True))
        t = _pruning_row(best)
        threshold = best[t] + _slack(best[t])
        settled = _prune(problem, settled, rows.counts[:, t], threshold, width)
        recent = _prune(problem, recent, rows.counts[:, t], threshold, width)
    inside = triangle[-1].at[-1].set(0.0)
    return State(
        block=state.block + 1,
        prefix=rows.counts[:, -1],
        settled=settled,
        recent=_append(recent, rows, best, inside, keep),
        best=lax.dynamic_update_slice_in_dim(state.best, best, rows.first, 0),
        last=lax.dynamic_update_slice_in_dim(state.last, jnp.where(jnp.isfinite(best), last, NO_START), rows.first, 0),
        visited=state.visited + BLOCK * visited.astype(jnp.float64),
    )


def _live(starts: Starts) -> Array:
    return jnp.isfinite(starts.cost).sum(dtype=jnp.int32)


def _compact(state: State) -> State:
    """Settle the recent starts and close the gaps that pruned ones left; `fits` says whether there is room."""
    old, new = state.settled, state.recent
    capacity = old.row.shape[0]
    cost = jnp.concatenate([old.cost, new.cost])
    live = jnp.isfinite(cost)
    (order,) = jnp.nonzero(live, size=capacity, fill_value=0)
    n_live = live.sum(dtype=jnp.int32)
    return state._replace(
        settled=Starts(
            row=jnp.concatenate([old.row, new.row])[order],
            cost=jnp.where(jnp.arange(capacity) < n_live, cost[order], jnp.inf),
            inside=jnp.concatenate([old.inside, new.inside])[order],
            before=jnp.concatenate([old.before, new.before], axis=1)[:, order],
            n_slots=n_live,
        ),
        recent=new._replace(cost=jnp.full_like(new.cost, jnp.inf), n_slots=jnp.int32(0)),
    )


def _run_blocks(
    problem: Problem, state: State, unfinished: Callable[[State], Array], width: int, unit: bool, prune: bool
) -> State:
    """Blocks while `unfinished(state)`; what does not change is kept out of the loop's carry."""
    fixed = {"row": state.settled.row, "before": state.settled.before, "n_slots": state.settled.n_slots}
    absent = dict.fromkeys(fixed, jnp.zeros(0))

    def step(moving: State) -> State:
        whole = moving._replace(settled=moving.settled._replace(**fixed))
        after = _step(problem, whole, width, unit, prune)
        return after._replace(settled=after.settled._replace(**absent))

    moving = lax.while_loop(unfinished, step, state._replace(settled=state.settled._replace(**absent)))
    return moving._replace(settled=moving.settled._replace(**fixed))


@partial(jax.jit, static_argnames=("width", "unit", "prune"))
def advance(problem: Problem, state: State, *, width: int, unit: bool, prune: bool = True) -> State:
    """Run blocks until the rows end or the slots do: then rows are left, and the host gives more slots.

    `prune=False` keeps every start: the quadratic program, for comparison.
    """
    n_blocks = number_of_blocks(problem.n_rows)
    room = state.recent.row.shape[0] - BLOCK
    capacity = state.settled.row.shape[0]

    def unfinished(state: State) -> Array:
        return (state.block < n_blocks) & (state.recent.n_slots <= room)

    def can_go_on(state: State) -> Array:
        return (state.block < n_blocks) & (_live(state.settled) + _live(state.recent) <= capacity)

    run = partial(_run_blocks, problem, unfinished=unfinished, width=width, unit=unit, prune=prune)
    return lax.while_loop(can_go_on, lambda state: run(_compact(state)), run(state))


def number_of_blocks(n_rows: Array) -> Array:
    """Blocks that hold `n_rows` rows."""
    return (n_rows + BLOCK - 1) // BLOCK


@jax.jit
def with_more_slots(state: State) -> State:
    """The same state with twice the slots for settled starts."""
    old = state.settled
    empty = _no_starts(old.before.shape[0], old.row.shape[0])
    join = partial(jnp.concatenate, axis=-1)
    return state._replace(
        settled=Starts(
            row=join([old.row, empty.row]),
            cost=join([old.cost, empty.cost]),
            inside=join([old.inside, empty.inside]),
            before=join([old.before, empty.before]),
            n_slots=old.n_slots,
        )
    )
