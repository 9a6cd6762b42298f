"""The pruned dynamic program over the cuts of one variable (sections 1 to 3 of the design notes).

A problem is a list of rows sorted by value. The cost of an interval is a signed sum of tables,

    cost(interval) = sum_terms sign * sum_cells table[count of the cell in the interval]  (+ n ln width),

one term for the contexts (+) and one for the outcomes (-) of every factor, so that a row added to an interval
touches one cell of each term and nothing else. Rows come in blocks. For the starts before a block the counts are
`counts at the block's start + rank inside the block`: a tile `[rows, starts]` that does not depend on the block's own
optima. Only the triangle of starts inside the block is sequential.

Two rules, both exact, keep most starts out of the tiles. A start is dropped when a later one is proved to be better
for every end to come (`_without_useless`). And a chunk of neighbouring starts is passed over in a block in which a
lower bound of all their totals lies above the best total found (`chunks.least_rises`): a row adds
-ln((outcome + 1) / (context + K)) for each factor, and that ratio hardly differs between neighbouring starts.

Costs of intervals do not depend on what is charged for their number. So one pass finds the optimum at several prices:
they share everything but the sums of costs, and a start goes, or a chunk is passed over, where all of them agree.

Shapes: those of `starts`, and B rows of a block.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbn.kernels.arithmetic import running_sum
from jaxbn.kernels.pruned.block import (
    BLOCK,
    Block,
    Switches,
    block_rows,
    end_of_first_row,
    increments_of,
    just_before,
    lookup,
    number_of_blocks,
    rows_of,
    spread_of,
    triangle_of,
)
from jaxbn.kernels.pruned.bounds import chunks_below, leading_chunk, least_rises, measured
from jaxbn.kernels.pruned.state import (
    NO_START,
    TINY,
    Check,
    Chunks,
    Problem,
    Starts,
    State,
    alive,
    appended,
    compacted,
    log_width,
    n_live,
)
from jaxbn.kernels.sweep import rounding

CELL_GROUP = 8
"""Cells looked up together when starts are checked; the number of cells is padded to a multiple of it."""

FEW_CELLS = 128
"""Up to here the counts of a chunk are copied before they are looked up: side by side they stay in the cache."""

NEVER = 2**31 - 1
"""A row index behind all rows."""

PRICES_AT_ONCE = 2
"""Prices looked at together: what they share is small enough to stay in the cache meanwhile."""

LEGS = 8
"""How often new starts are settled behind the others before all are checked."""


class _Chunk(NamedTuple):
    """The starts of one chunk; their counts are looked up among those of all."""

    row: Array  # [W] int32
    cost: Array  # [P, W] float64
    inside: Array  # [W] float64
    mass: Array  # [W] int32
    begin: Array  # [W] float64
    doom: Array  # [P, W] float64
    before: Array  # [C, M] int32, or [C, W] where there are few cells
    first: Array  # [] int32, the first slot in it

    def before_in(self, cells: Array) -> Array:
        """Counts before each start in the cells of some rows, [B, W]."""
        return rows_of(self.before, cells, self.first, len(self.row))


def _chunk(starts: Starts, number: Array, width: int) -> _Chunk:
    first = (number * width).astype(jnp.int32)
    cut = partial(lax.dynamic_slice_in_dim, start_index=first, slice_size=width, axis=-1)
    few = {name: cut(getattr(starts, name)) for name in ("row", "cost", "inside", "mass", "begin", "doom")}
    if len(starts.before) > FEW_CELLS:
        return _Chunk(**few, before=starts.before, first=first)
    return _Chunk(**few, before=lax.dynamic_slice_in_dim(starts.before, first, width, axis=1), first=jnp.int32(0))


def _cell_sums(problem: Problem, counts: Array, begins: Array, starts: _Chunk) -> Array:
    """The sum over cells of sign * table[counts - before] [W]; `begins` [C] says where the cells' tables begin."""
    width = len(starts.row)

    def cells(group: Array, total: Array) -> Array:
        first = group * CELL_GROUP
        some = partial(lax.dynamic_slice_in_dim, start_index=first, slice_size=CELL_GROUP)
        before = lax.dynamic_slice(starts.before, (first, starts.first), (CELL_GROUP, width))
        index = (some(begins) + some(counts))[:, None] - before
        return total + (some(problem.cell_sign)[:, None] * lookup(problem.tables, index)).sum(axis=0)

    n_groups = (problem.n_cells + CELL_GROUP - 1) // CELL_GROUP
    return lax.fori_loop(0, n_groups, cells, jnp.zeros(width))


class _Found(NamedTuple):
    """Best start before the block for each row of it, over the slots seen so far."""

    best: Array  # [P, B] float64
    row: Array  # [P, B] int32, first row of the interval that gives it


def _n_chunks(starts: Starts, width: int) -> Array:
    """Chunks that the slots in use fill."""
    return (starts.n_slots + width - 1) // width


def _best_starts(whole: Array, row: Array, cost: Array) -> _Found:
    """The least total of each row at some prices, and where the interval of it starts."""
    total = whole + cost[:, None, :]
    best = total.min(axis=2)
    # of equal costs, up to rounding, the earliest start wins, whatever the slot it sits in
    limit = (best + rounding(best))[:, :, None]
    return _Found(best, jnp.where(total <= limit, row, jnp.int32(NEVER)).min(axis=2))


def _few_prices_at_once(function: Callable[..., Any], *arrays: Array) -> Any:
    """The function of some prices, of all: in a loop, so that what they share is worked out before and only once."""
    n = len(arrays[0])
    if n == 1:
        return function(*arrays)
    at_once = PRICES_AT_ONCE if n % PRICES_AT_ONCE == 0 else 1
    groups = [array.reshape(-1, at_once, *array.shape[1:]) for array in arrays]
    found = lax.map(lambda some: function(*some), groups)
    return jax.tree.map(lambda array: array.reshape(-1, *array.shape[2:]), found)


def _compete(problem: Problem, rows: Block, starts: _Chunk, found: _Found, switches: Switches) -> tuple[_Found, Array]:
    """Let one chunk of starts compete for the rows of the block; also their interval costs at its end [W]."""
    shape = (BLOCK, switches.width)
    increments = increments_of(problem, rows, lambda j: starts.before_in(rows.cells[j]), shape, switches)
    interval = running_sum(increments) + starts.inside
    whole = interval + spread_of(problem, rows, starts.begin, starts.mass) if switches.spread else interval
    best, start = _few_prices_at_once(partial(_best_starts, whole, starts.row), starts.cost)
    near = rounding(found.best)
    better = (best < found.best - near) | ((best <= found.best + near) & (start < found.row))
    return _Found(jnp.minimum(best, found.best), jnp.where(better, start, found.row)), interval[-1]


def _all_recent(
    problem: Problem, rows: Block, recent: Starts, found: _Found, switches: Switches
) -> tuple[_Found, Starts]:
    """Let the recent starts compete; their interval costs move on to the block's end."""
    width = switches.width

    def chunk(number: Array, carry: tuple[_Found, Array]) -> tuple[_Found, Array]:
        found, inside = carry
        found, after = _compete(problem, rows, _chunk(recent, number, width), found, switches)
        return found, lax.dynamic_update_slice_in_dim(inside, after, number * width, 0)

    found, inside = lax.fori_loop(0, _n_chunks(recent, width), chunk, (found, recent.inside))
    return found, recent._replace(inside=inside)


class _Visits(NamedTuple):
    """Chunks looked at in one block."""

    found: _Found
    inside: Array  # [M] float64
    chunks: Chunks
    done: Array  # [G] bool
    todo: Array  # [G] bool
    leading: Array  # [] bool, whether `todo` are the chunks with the leaders, and the others are not known yet


def _settled_where_needed(
    problem: Problem, rows: Block, state: State, found: _Found, switches: Switches
) -> tuple[_Found, Array, Chunks, Array]:
    """Let those chunks of settled starts compete that a bound does not rule out; counts the starts looked at."""
    settled, chunks, width = state.settled, state.chunks, switches.width
    n_chunks = _n_chunks(settled, width)
    rises, whole_rise = least_rises(problem, rows, chunks, n_chunks, switches)
    used = alive(chunks.bound)

    def visit(chunk: Array, carry: tuple[_Found, Array, Chunks]) -> tuple[_Found, Array, Chunks]:
        found, inside, after = carry
        starts = _chunk(settled._replace(inside=inside), chunk, width)
        starts = starts._replace(
            inside=lax.cond(
                chunks.fresh[chunk],
                lambda: starts.inside,
                lambda: _cell_sums(problem, state.prefix, problem.cell_table, starts),
            )
        )
        found, inside_now = _compete(problem, rows, starts, found, switches)
        total = starts.cost + inside_now
        if switches.spread:
            total += log_width(rows.mass[-1] - starts.mass, rows.end[-1] - starts.begin)
        bound = after.bound.at[:, chunk].set(total.min(axis=1))
        after = after._replace(bound=bound, fresh=after.fresh.at[chunk].set(True))
        return found, lax.dynamic_update_slice_in_dim(inside, inside_now, chunk * width, 0), after

    def go_on(carry: _Visits) -> _Visits:
        chunk = jnp.argmax(carry.todo)
        found, inside, after = visit(chunk, (carry.found, carry.inside, carry.chunks))
        done, todo = carry.done.at[chunk].set(True), carry.todo.at[chunk].set(False)
        leaders_done = carry.leading & ~todo.any()
        todo = lax.cond(leaders_done, lambda: needed(found) & ~done, lambda: todo)
        return _Visits(found, inside, after, done, todo, carry.leading & ~leaders_done)

    def needed(found: _Found) -> Array:
        if not switches.prune:
            return used
        return used & chunks_below(chunks.bound, rises, found.best + _slack(found.best), n_chunks)

    leading = jax.vmap(leading_chunk, (None, None, 0))(settled.row[::width], used, state.leader)
    after = chunks._replace(bound=chunks.bound + whole_rise, fresh=jnp.zeros_like(chunks.fresh))
    nobody = jnp.zeros_like(used)
    leaders = nobody.at[leading].set(used[leading])  # they set the limit for the others
    carry = _Visits(found, settled.inside, after, nobody, leaders, jnp.array(True))
    found, inside, after, done, *_ = lax.while_loop(lambda carry: carry.todo.any(), go_on, carry)
    return found, inside, after, jnp.where(done, chunks.size, 0).sum()


def _settle(tile_best: Array, triangle: Array, cut_cost: Array) -> tuple[Array, Array]:
    """Optimum of every row of the block [P, B], and the row that its last interval starts behind, -1 before the block.

    Each turn of the loop allows one cut more inside the block; few are of use.
    """

    def with_one_more(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        best = carry[0]
        better = jnp.minimum(tile_best, (best[:, None, :] + triangle).min(axis=2)) + cut_cost
        return better, jnp.any(better < best)

    first = tile_best + cut_cost
    best, _ = lax.while_loop(lambda carry: carry[1], with_one_more, (first, jnp.array(True)))
    inside = best[:, None, :] + triangle  # [P, t, s]
    inner = inside.min(axis=2)
    behind = jnp.where(inside <= inner[:, :, None], jnp.arange(BLOCK, dtype=jnp.int32), BLOCK).min(axis=2)
    return best, jnp.where(inner < tile_best - rounding(tile_best), behind, -1)


def _slack(cost: Array) -> Array:
    """Rounding allowance: nothing is dropped by float error."""
    return 1e-9 + 1e-11 * jnp.abs(cost)


def _dominated_inside(problem: Problem, rows: Block, best: Array, floor: Array) -> Array:
    """Whether the start behind row s of the block is dropped at a later row t of it, [P, B]."""
    reached = rows.end_after - rows.end >= problem.min_width  # by every later end, from a start behind row t
    worse = (best[:, None, :] + floor >= (best + _slack(best))[:, :, None]) & jnp.isfinite(floor)
    return jnp.any(worse & reached[:, None], axis=1)


def _check_row(rows: Block, best: Array) -> Check:
    """The cut of the block against which starts are checked: the one whose optimum lies lowest under the trend."""
    mean = best.mean(axis=0)
    finite = jnp.isfinite(mean)
    first, final = jnp.argmax(finite), BLOCK - 1 - jnp.argmax(finite[::-1])
    slope = (mean[final] - mean[first]) / jnp.maximum(final - first, 1)
    t = jnp.argmin(jnp.where(finite, mean - slope * jnp.arange(BLOCK), jnp.inf))
    return Check(rows.counts[:, t], rows.mass[t], rows.end[t], best[:, t])


def _without_useless(problem: Problem, starts: Starts, check: Check, end_after: Array, switches: Switches) -> Starts:
    """Drop the starts that no later end can use; `end_after` is the end of the next row.

    A start u is dropped at t when S_u + floor(u, t) >= S_t, where cost(u, T) >= floor(u, t) + cost(t, T) for every
    later T: the floor is the cost at the maximum-likelihood parameters. It has to stay until every later end can be
    reached from t.
    """
    width = switches.width

    def chunk(number: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        some = _chunk(starts, number, width)
        floor = _cell_sums(problem, check.counts, problem.cell_floor, some)
        if switches.spread:
            floor += log_width(check.mass - some.mass, check.end - some.begin)
        doomed = some.cost + floor >= (check.cost + _slack(check.cost))[:, None]
        put = partial(lax.dynamic_update_slice_in_dim, start_index=number * width, axis=1)
        if not switches.spread:
            return put(carry[0], jnp.where(doomed, jnp.inf, some.cost)), carry[1]
        doom = jnp.where(doomed, jnp.minimum(some.doom, check.end), some.doom)
        cost = jnp.where(end_after - doom >= problem.min_width, jnp.inf, some.cost)
        return put(carry[0], cost), put(carry[1], doom)

    cost, doom = lax.fori_loop(0, _n_chunks(starts, width), chunk, (starts.cost, starts.doom))
    return starts._replace(cost=cost, doom=doom)


def _measure_chunks(problem: Problem, state: State, first: Array, switches: Switches) -> State:
    """From the chunk `first` on: interval costs of the settled starts at the current block, and what bounds them."""
    settled, prefix, width = state.settled, state.prefix, switches.width
    mass, end = just_before(problem, state.block)

    def chunk(number: Array, carry: tuple[Array, Chunks]) -> tuple[Array, Chunks]:
        starts = _chunk(settled, number, width)
        live = alive(starts.cost)
        inside = _cell_sums(problem, prefix, problem.cell_table, starts)
        weights, widths = mass - starts.mass, jnp.maximum(end - starts.begin, TINY)
        total = starts.cost + inside + (log_width(weights, widths) if switches.spread else 0.0)
        counts = prefix[:, None] - lax.dynamic_slice_in_dim(starts.before, starts.first, width, axis=1)
        after = Chunks(
            size=live.sum(dtype=jnp.int32),
            bound=total.min(axis=1),
            fresh=jnp.array(True),
            counts=prefix,
            mass=mass,
            end=end,
            **measured(problem, counts, weights, widths, live, switches),
        )
        chunks = jax.tree.map(lambda array, value: array.at[..., number].set(value), carry[1], after)
        return lax.dynamic_update_slice_in_dim(carry[0], inside, number * width, 0), chunks

    inside, chunks = lax.fori_loop(first, _n_chunks(settled, width), chunk, (settled.inside, state.chunks))
    return state._replace(settled=settled._replace(inside=inside), chunks=chunks)


def _append(starts: Starts, rows: Block, cost: Array, inside: Array, keep: Array) -> Starts:
    """Give the starts behind the block's rows a slot each: those that are kept come first, the rest is overwritten."""
    order = jnp.argsort(~keep.any(axis=0), stable=True).astype(jnp.int32)
    place = partial(lax.dynamic_update_slice_in_dim, start_index=starts.n_slots)
    return Starts(
        row=place(starts.row, rows.first + 1 + order, axis=0),
        cost=place(starts.cost, jnp.where(keep, cost, jnp.inf)[:, order], axis=1),
        inside=place(starts.inside, inside[order], axis=0),
        before=place(starts.before, rows.counts[:, order], axis=1),
        mass=place(starts.mass, rows.mass[order], axis=0),
        begin=place(starts.begin, rows.end[order], axis=0),
        doom=place(starts.doom, jnp.full(keep.shape, jnp.inf), axis=1),
        n_slots=starts.n_slots + keep.any(axis=0).sum(dtype=jnp.int32),
    )


def _step(problem: Problem, state: State, switches: Switches) -> State:
    """One block of rows."""
    rows = block_rows(problem, state.block, state.prefix)
    found = _Found(jnp.full(rows.cut_cost.shape, jnp.inf), jnp.full(rows.cut_cost.shape, NEVER, jnp.int32))
    found, recent = _all_recent(problem, rows, state.recent, found, switches)
    found, inside, chunks, visited = _settled_where_needed(problem, rows, state, found, switches)

    triangle, own_inside = triangle_of(problem, rows, switches)
    floor = triangle_of(problem, rows, switches, floor=True)[0]

    def settled(tile_best: Array, cut_cost: Array) -> tuple[Array, Array, Array]:
        best, behind = _settle(tile_best, triangle, cut_cost)
        keep = jnp.isfinite(best)
        return best, behind, keep & ~_dominated_inside(problem, rows, best, floor) if switches.prune else keep

    best, behind, keep = _few_prices_at_once(settled, found.best, rows.cut_cost)
    last = jnp.where(behind >= 0, rows.first + behind + 1, found.row)
    visited += n_live(recent)
    check = _check_row(rows, best)
    if switches.prune:
        recent = _without_useless(problem, recent, check, rows.end_after, switches)
    return State(
        block=state.block + 1,
        prefix=rows.counts[:, -1],
        check=check,
        leader=last[:, -1],
        settled=state.settled._replace(inside=inside),
        chunks=chunks,
        recent=_append(recent, rows, best, own_inside[-1], keep),
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
    moving = lax.while_loop(
        unfinished,
        lambda moving: with_fixed(_step(problem, with_fixed(moving, fixed), switches), absent),
        with_fixed(state, absent),
    )
    return with_fixed(moving, fixed)


@partial(jax.jit, static_argnames=("switches",))
def advance(problem: Problem, state: State, *, switches: Switches) -> State:
    """Run blocks until the rows end or the slots do: then rows are left, and the host gives more slots."""
    n_blocks = number_of_blocks(problem.n_rows)
    room = state.recent.row.shape[0] - BLOCK
    # what is appended takes whole chunks, and at most so many as the recent starts
    capacity = state.settled.row.shape[0] - state.recent.row.shape[0] - switches.width

    def rows_left(state: State) -> Array:
        return state.block < n_blocks

    def leg(carry: tuple[Array, Array, State]) -> tuple[Array, Array, State]:
        legs, measured, state = carry
        state, first = appended(state, switches.width)
        # what the last leg appended is measured again: its intervals were too short to be bounded well
        state = _measure_chunks(problem, state, measured, switches)
        state = _run_blocks(problem, state, lambda s: rows_left(s) & (s.recent.n_slots <= room), switches)
        return legs + 1, first, state

    def can_append(carry: tuple[Array, Array, State]) -> Array:
        legs, _, state = carry
        return rows_left(state) & (state.settled.n_slots <= capacity) & (legs < LEGS)

    def legs_and_a_check(carry: tuple[Array, State]) -> tuple[Array, State]:
        _, measured, state = lax.while_loop(can_append, leg, (jnp.int32(0), *carry))
        if switches.prune:
            end_after = end_of_first_row(problem, state.block)
            settled = _without_useless(problem, state.settled, state.check, end_after, switches)
            state = state._replace(settled=settled)
        return measured, state

    def well_filled(carry: tuple[Array, State]) -> Array:
        settled = carry[1].settled
        return rows_left(carry[1]) & (settled.n_slots <= capacity) & (4 * n_live(settled) >= 3 * settled.n_slots)

    def from_compaction(state: State) -> State:
        return lax.while_loop(well_filled, legs_and_a_check, (jnp.int32(0), compacted(state)))[1]

    def can_go_on(state: State) -> Array:
        return rows_left(state) & (n_live(state.settled) + n_live(state.recent) <= capacity)

    return lax.while_loop(can_go_on, from_compaction, state)
