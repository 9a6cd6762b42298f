"""Tiles `[rows of a block, starts]`: which earlier start is best for each row of a block.

The counts of an interval that starts before the block are those at the block's beginning plus the rank inside it, so a
tile does not depend on the block's own optima (docs/maths.md, "Increments"). Chunks of settled starts are passed over
where a lower bound of all their totals lies above the best total found ("Bounds of chunks").

Shapes: those of `state`, and B rows of a block.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbn.kernels.arithmetic import log_width, rounding, running_sum
from jaxbn.kernels.pruned.block import BLOCK, Block, Switches, increments_of, lookup, rows_of, spread_of
from jaxbn.kernels.pruned.bounds import chunks_to_visit, leading_chunk
from jaxbn.kernels.pruned.state import NEVER, Chunks, Problem, Starts, State, alive

CELL_GROUP = 8  # cells looked up together when starts are checked; the number of cells is padded to a multiple of it

FEW_CELLS = 128
"""Up to this many cells the counts of a chunk are copied before look-ups: side by side they stay in the cache."""

PRICES_AT_ONCE = 2  # prices looked at together: what they share is small enough to stay in the cache meanwhile


def slack(cost: Array) -> Array:
    """Rounding allowance: nothing is dropped by float error."""
    return 1e-9 + 1e-11 * jnp.abs(cost)


class Chunk(NamedTuple):
    """The starts of one chunk; their counts are looked up among those of all."""

    row: Array  # [W] int32
    cost: Array  # [P, W] float64
    inside: Array  # [W] float64
    mass: Array  # [W] int32
    begin: Array  # [W] float64
    beaten_from: Array  # [P, W] int32
    before: Array  # [C, M] int32, or [C, W] where there are few cells
    first: Array  # [] int32, the first slot in it

    def before_in(self, cells: Array) -> Array:
        """Counts before each start in the cells of some rows, [B, W]."""
        return rows_of(self.before, cells, self.first, len(self.row))


def chunk_of(starts: Starts, number: Array, width: int) -> Chunk:
    """The starts of one chunk, by its number."""
    first = (number * width).astype(jnp.int32)
    cut = partial(lax.dynamic_slice_in_dim, start_index=first, slice_size=width, axis=-1)
    few = {name: cut(getattr(starts, name)) for name in ("row", "cost", "inside", "mass", "begin", "beaten_from")}
    if len(starts.before) > FEW_CELLS:
        return Chunk(**few, before=starts.before, first=first)
    return Chunk(**few, before=lax.dynamic_slice_in_dim(starts.before, first, width, axis=1), first=jnp.int32(0))


def cell_sums(problem: Problem, counts: Array, begins: Array, starts: Chunk) -> Array:
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


class Found(NamedTuple):
    """Best start before the block for each row of it, over the slots seen so far."""

    best: Array  # [P, B] float64
    row: Array  # [P, B] int32, first row of the interval that gives it


def chunks_in_use(starts: Starts, width: int) -> Array:
    """Chunks that the slots in use fill."""
    return (starts.n_slots + width - 1) // width


def _best_starts(whole: Array, row: Array, cost: Array) -> Found:
    """The least total of each row at some prices, and where the interval of it starts."""
    total = whole + cost[:, None, :]
    best = total.min(axis=2)
    # of equal costs, up to rounding, the earliest start wins, whatever the slot it sits in
    limit = (best + rounding(best))[:, :, None]
    return Found(best, jnp.where(total <= limit, row, jnp.int32(NEVER)).min(axis=2))


def few_prices_at_once(function: Callable[..., Any], *arrays: Array) -> Any:
    """A function of some prices applied to all: in a loop, so that what they share is worked out once, before it."""
    n = len(arrays[0])
    if n == 1:
        return function(*arrays)
    at_once = PRICES_AT_ONCE if n % PRICES_AT_ONCE == 0 else 1
    groups = [array.reshape(-1, at_once, *array.shape[1:]) for array in arrays]
    found = lax.map(lambda some: function(*some), groups)
    return jax.tree.map(lambda array: array.reshape(-1, *array.shape[2:]), found)


def _compete(problem: Problem, rows: Block, starts: Chunk, found: Found, switches: Switches) -> tuple[Found, Array]:
    """Let one chunk of starts compete for the rows of the block; also their interval costs at its end [W]."""
    shape = (BLOCK, switches.width)
    increments = increments_of(problem, rows, lambda j: starts.before_in(rows.cells[j]), shape, switches)
    interval = running_sum(increments) + starts.inside
    whole = interval + spread_of(rows, starts.row, starts.begin, starts.mass) if switches.spread else interval
    best, start = few_prices_at_once(partial(_best_starts, whole, starts.row), starts.cost)
    near = rounding(found.best)
    better = (best < found.best - near) | ((best <= found.best + near) & (start < found.row))
    return Found(jnp.minimum(best, found.best), jnp.where(better, start, found.row)), interval[-1]


def all_recent(problem: Problem, rows: Block, recent: Starts, found: Found, switches: Switches) -> tuple[Found, Starts]:
    """Let the recent starts compete; their interval costs move on to the block's end."""
    width = switches.width

    def chunk(number: Array, carry: tuple[Found, Array]) -> tuple[Found, Array]:
        found, inside = carry
        found, after = _compete(problem, rows, chunk_of(recent, number, width), found, switches)
        return found, lax.dynamic_update_slice_in_dim(inside, after, number * width, 0)

    found, inside = lax.fori_loop(0, chunks_in_use(recent, width), chunk, (found, recent.inside))
    return found, recent._replace(inside=inside)


class _Visits(NamedTuple):
    """Chunks looked at in one block."""

    found: Found
    inside: Array  # [M] float64
    chunks: Chunks
    done: Array  # [G] bool
    todo: Array  # [G] bool
    leading: Array  # [] bool, whether `todo` are the chunks with the leaders, and the others are not known yet


def settled_where_needed(
    problem: Problem, rows: Block, state: State, groups: Chunks, found: Found, switches: Switches
) -> tuple[Found, Array, Chunks, Array]:
    """Let those chunks of settled starts compete that a bound does not rule out; counts the starts looked at."""
    settled, chunks, width = state.settled, state.chunks, switches.width
    n_chunks = chunks_in_use(settled, width)
    used = alive(chunks.bound)

    def go_on(carry: _Visits) -> _Visits:
        chunk = jnp.argmax(carry.todo)
        starts = chunk_of(settled._replace(inside=carry.inside), chunk, width)
        # `inside` stays behind while a chunk is passed over: at the next visit it is summed up over the cells, instead
        # of being kept up to date in all the blocks without one
        sums = partial(cell_sums, problem, state.prefix, problem.cell_table, starts)
        starts = starts._replace(inside=lax.cond(chunks.fresh[chunk], lambda: starts.inside, sums))
        found, inside_now = _compete(problem, rows, starts, carry.found, switches)
        inside = lax.dynamic_update_slice_in_dim(carry.inside, inside_now, chunk * width, 0)
        total = starts.cost + inside_now
        if switches.spread:
            total += log_width(rows.mass[-1] - starts.mass, rows.end[-1] - starts.begin)
        bound = carry.chunks.bound.at[:, chunk].set(total.min(axis=1))
        after = carry.chunks._replace(bound=bound, fresh=carry.chunks.fresh.at[chunk].set(True))
        done, todo = carry.done.at[chunk].set(True), carry.todo.at[chunk].set(False)
        leaders_done = carry.leading & ~todo.any()
        todo, bound = lax.cond(leaders_done, lambda: others(found, done, after), lambda: (todo, after.bound))
        return _Visits(found, inside, after._replace(bound=bound), done, todo, carry.leading & ~leaders_done)

    def others(found: Found, done: Array, after: Chunks) -> tuple[Array, Array]:
        """The chunks that are needed beside the leaders', and all bounds at the end of the block."""
        limit = found.best + slack(found.best)
        needed, bound = chunks_to_visit(problem, rows, chunks, groups, limit, n_chunks, switches)
        return needed & ~done, jnp.where(done, after.bound, bound)

    # The start that was best at the last row is likely to be best, or nearly so, at these. Its chunk is looked at
    # first: the lower the totals found, the more of the other chunks their bounds rule out. Every chunk that is not
    # looked at has its bound raised by the least that the block adds; the others get their exact least total.
    leading = jax.vmap(leading_chunk, (None, None, 0))(settled.row[::width], used, state.leader)
    after = chunks._replace(fresh=jnp.zeros_like(chunks.fresh))
    nobody = jnp.zeros_like(used)
    leaders = nobody.at[leading].set(used[leading])
    carry = _Visits(found, settled.inside, after, nobody, leaders, jnp.array(True))
    found, inside, after, done, *_ = lax.while_loop(lambda carry: carry.todo.any(), go_on, carry)
    return found, inside, after, jnp.where(done, chunks.size, 0).sum()
