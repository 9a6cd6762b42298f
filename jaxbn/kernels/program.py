"""The pruned dynamic program over the cuts of one variable (sections 1 to 3 of the design notes).

A problem is a list of rows sorted by value. The cost of an interval is a signed sum of tables,

    cost(interval) = sum_terms sign * sum_cells table[count of the cell in the interval]  (+ n ln width),

one term for the contexts (+) and one for the outcomes (-) of every factor, so that a row added to an interval
touches one cell of each term and nothing else. Rows come in blocks. For the starts before a block the counts are
`counts at the block's start + rank inside the block`: a tile `[rows, starts]` that does not depend on the block's own
optima. Only the triangle of starts inside the block is sequential.

Two rules, both exact, keep most starts out of the tiles. A start is dropped when a later one is proved to be better
for every end to come (`_without_useless`). And a chunk of neighbouring starts is passed over in a block in which a
lower bound of all their totals lies above the best total found (`_chunk_bounds`): a row adds
-ln((outcome + 1) / (context + K)) for each factor, and that ratio hardly differs between neighbouring starts.

Shapes: those of `starts`, and B rows of a block.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbn.kernels.arithmetic import log, running_sum
from jaxbn.kernels.optima import rounding
from jaxbn.kernels.starts import (
    NO_START,
    TINY,
    Check,
    Chunks,
    Problem,
    Starts,
    State,
    appended,
    compacted,
    log_width,
    n_live,
)

BLOCK = 32
"""Rows of a block."""

CELL_GROUP = 8
"""Cells looked up together when starts are checked; the number of cells is padded to a multiple of it."""

FEW_CELLS = 128
"""Up to here the counts of a chunk are copied before they are looked up: side by side they stay in the cache."""

CHUNK_GROUP = 16
"""Chunks bounded together."""

NEVER = 2**31 - 1
"""A row index behind all rows."""

LEGS = 8
"""How often new starts are settled behind the others before all are checked."""


class Switches(NamedTuple):
    """What is decided when the program is compiled."""

    width: int  # W, starts of a tile and of a chunk
    ratios: bool  # whether all weights are one and all tables ln Γ: then a row adds the logarithm of a ratio of counts
    spread: bool = False  # whether the width of an interval counts
    prune: bool = True  # False keeps and visits every start: the quadratic program, for comparison


class _Block(NamedTuple):
    """The rows of one block."""

    first: Array  # [] int32, index of its first row
    cells: Array  # [J, B] int32
    weights: Array  # [B] int32
    mass: Array  # [B] int32
    end: Array  # [B] float64
    cut_cost: Array  # [B] float64
    seen: Array  # [J, B] int32, earlier rows of all the data in row t's cell
    counts: Array  # [C, B] int32, rows up to and including row t in every cell
    mass_before: Array  # [] int32, of all rows before the block
    end_before: Array  # [] float64
    end_after: Array  # [] float64, end of the first row behind the block


def _block_rows(problem: Problem, block: Array, prefix: Array) -> _Block:
    first = block * BLOCK
    rows = partial(lax.dynamic_slice_in_dim, start_index=first, slice_size=BLOCK)
    cells, weights = rows(problem.cells, axis=1), rows(problem.weights)
    earlier = jnp.triu(jnp.ones((BLOCK, BLOCK), jnp.int32), 1) * weights[:, None]
    rank = jnp.where(cells[:, :, None] == cells[:, None, :], earlier, 0).sum(axis=1, dtype=jnp.int32)
    local = (
        jnp.zeros((prefix.shape[0], BLOCK)).at[cells, jnp.arange(BLOCK)].add(weights.astype(jnp.float64), mode="drop")
    )
    mass_before, end_before = _just_before(problem, block)
    return _Block(
        first=first,
        cells=cells,
        weights=weights,
        mass=rows(problem.mass),
        end=rows(problem.end),
        cut_cost=rows(problem.cut_cost),
        seen=prefix[cells] + rank,
        counts=prefix[:, None] + running_sum(local.T).T.astype(jnp.int32),
        mass_before=mass_before,
        end_before=end_before,
        end_after=_end_of_first_row(problem, block + 1),
    )


def _end_of_first_row(problem: Problem, block: Array) -> Array:
    return problem.end[jnp.minimum(block * BLOCK, problem.end.shape[0] - 1)]


def _just_before(problem: Problem, block: Array) -> tuple[Array, Array]:
    """Weight of all rows before a block, and where they end."""
    row = block * BLOCK - 1
    at = jnp.maximum(row, 0)
    return jnp.where(row < 0, 0, problem.mass[at]), jnp.where(row < 0, 0.0, problem.end[at])


def _lookup(table: Array, index: Array) -> Array:
    return table.at[index].get(mode="promise_in_bounds")


def _rows_of(array: Array, cells: Array, first: Array, width: int) -> Array:
    """The rows of some cells, from column `first` on, [B, width]."""
    return jax.vmap(lambda cell: lax.dynamic_slice(array, (cell, first), (1, width))[0])(cells)


def _increments(
    problem: Problem,
    rows: _Block,
    before: Callable[[Array], Array],
    shape: tuple[int, int],
    *,
    ratios: bool,
    outside: Array | None = None,
    floor: bool = False,
) -> Array:
    """What each row adds to the intervals of some starts, or to their floors, [B, W].

    `before(j)` [B, W] are the counts before the starts in the cells of term j; rows `outside` an interval add nothing.
    """

    def counts(j: Array) -> Array:
        found = rows.seen[j][:, None] - before(j)
        return found if outside is None else jnp.where(outside, 0, found)

    def context(i: Array) -> Array:
        return counts(problem.context_term[i]) + problem.context_states[i]

    def outcome(j: Array) -> Array:
        return counts(j) + 1.0

    def change(j: Array) -> Array:
        index = counts(j) + (problem.term_floor if floor else problem.term_table)[j]
        return problem.term_sign[j] * (
            _lookup(problem.tables, index + rows.weights[:, None]) - _lookup(problem.tables, index)
        )

    if ratios and not floor:
        product = partial(_product, shape=shape, at_once=_at_once(problem))
        total = log(product(problem.n_contexts, context) / product(problem.n_outcomes, outcome))
    else:
        total = lax.fori_loop(0, problem.n_terms, lambda j, total: total + change(j), jnp.zeros(shape))
    return total if outside is None else jnp.where(outside, 0, total)


def _product(n: Array, factor: Callable[[Array], Array], shape: tuple[int, int], at_once: int) -> Array:
    """The product of the first `n` factors; several at a time, as a turn of a loop takes longer than a factor."""

    def several(turn: Array, product: Array) -> Array:
        for i in range(at_once):
            number = turn * at_once + i
            product *= jnp.where(number < n, factor(jnp.minimum(number, n - 1)), 1.0)
        return product

    return lax.fori_loop(0, (n + at_once - 1) // at_once, several, jnp.ones(shape))


def _at_once(problem: Problem) -> int:
    return 1 if len(problem.term_sign) == 2 else 4


def _spread(problem: Problem, rows: _Block, begin: Array, mass: Array) -> Array:
    """The n ln width of the intervals from some starts to every row [B, W], +inf for those too narrow."""
    width = rows.end[:, None] - begin
    return jnp.where(width >= problem.min_width, log_width(rows.mass[:, None] - mass, width), jnp.inf)


class _Chunk(NamedTuple):
    """The starts of one chunk; their counts are looked up among those of all."""

    row: Array  # [W] int32
    cost: Array  # [W] float64
    inside: Array  # [W] float64
    mass: Array  # [W] int32
    begin: Array  # [W] float64
    doom: Array  # [W] float64
    before: Array  # [C, M] int32, or [C, W] where there are few cells
    first: Array  # [] int32, the first slot in it

    def before_in(self, cells: Array) -> Array:
        """Counts before each start in the cells of some rows, [B, W]."""
        return _rows_of(self.before, cells, self.first, len(self.row))


def _chunk(starts: Starts, number: Array, width: int) -> _Chunk:
    first = (number * width).astype(jnp.int32)
    cut = partial(lax.dynamic_slice_in_dim, start_index=first, slice_size=width)
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
        return total + (some(problem.cell_sign)[:, None] * _lookup(problem.tables, index)).sum(axis=0)

    n_groups = (problem.n_cells + CELL_GROUP - 1) // CELL_GROUP
    return lax.fori_loop(0, n_groups, cells, jnp.zeros(width))


class _Found(NamedTuple):
    """Best start before the block for each row of it, over the slots seen so far."""

    best: Array  # [B] float64
    row: Array  # [B] int32, first row of the interval that gives it


def _n_chunks(starts: Starts, width: int) -> Array:
    """Chunks that the slots in use fill."""
    return (starts.n_slots + width - 1) // width


def _compete(problem: Problem, rows: _Block, starts: _Chunk, found: _Found, switches: Switches) -> tuple[_Found, Array]:
    """Let one chunk of starts compete for the rows of the block; also their interval costs at its end [W]."""
    shape = (BLOCK, switches.width)
    increments = _increments(problem, rows, lambda j: starts.before_in(rows.cells[j]), shape, ratios=switches.ratios)
    interval = running_sum(increments) + starts.inside
    total = interval + starts.cost
    if switches.spread:
        total += _spread(problem, rows, starts.begin, starts.mass)
    best = total.min(axis=1)
    # of equal costs, up to rounding, the earliest start wins, whatever the slot it sits in
    start = jnp.where(total <= (best + rounding(best))[:, None], starts.row, jnp.int32(NEVER)).min(axis=1)
    near = rounding(found.best)
    better = (best < found.best - near) | ((best <= found.best + near) & (start < found.row))
    return _Found(jnp.minimum(best, found.best), jnp.where(better, start, found.row)), interval[-1]


def _all_recent(
    problem: Problem, rows: _Block, recent: Starts, found: _Found, switches: Switches
) -> tuple[_Found, Starts]:
    """Let the recent starts compete; their interval costs move on to the block's end."""
    width = switches.width

    def chunk(number: Array, carry: tuple[_Found, Array]) -> tuple[_Found, Array]:
        found, inside = carry
        found, after = _compete(problem, rows, _chunk(recent, number, width), found, switches)
        return found, lax.dynamic_update_slice_in_dim(inside, after, number * width, 0)

    found, inside = lax.fori_loop(0, _n_chunks(recent, width), chunk, (found, recent.inside))
    return found, recent._replace(inside=inside)


def _largest_ratio(ratio: Array, outcomes: Array, contexts: Array, least: Array, most: Array) -> Array:
    """The largest (a + outcomes) / (b + contexts) where a <= ratio * b and b lies between `least` and `most`."""

    def at(b: Array) -> Array:
        return (ratio * b + outcomes) / jnp.maximum(b + contexts, TINY)

    return jnp.maximum(at(least), at(most))


def _contexts(problem: Problem, counts: Array, mass: Array) -> Array:
    """For every outcome's cell its context's count + K, of some intervals [C, W]."""
    of_context = jnp.where(problem.cell_given[:, None] < 0, mass, counts[problem.cell_given])
    return of_context + problem.cell_states[:, None]


def _least_spread(problem: Problem, rows: _Block, chunks: Chunks) -> Array:
    """A lower bound of what the rows up to each one of the block add to n ln width - ln Γ(n + K) [B, G].

    The n rows of an interval of width w get b more on a length of v. With the density d = n / w they add

        d w ln(1 + v / w) + b ln(1 + v / w) - sum_{i < b} ln(d + (K + i) / w),

    where the last sum is at most b ln(d + (K + (b - 1) / 2) / w). With the narrowest, the widest and the narrowest of
    the widths this is convex in d and least near the density b / v of the new rows themselves.
    """
    weight = (rows.mass_before - chunks.mass).astype(jnp.float64)
    length = rows.end_before - chunks.end
    thick = _largest_ratio(chunks.thick, weight, length, chunks.narrow, chunks.wide)
    thin = -_largest_ratio(-chunks.thin, -weight, length, chunks.narrow, chunks.wide)
    narrow, wide = chunks.narrow + length, chunks.wide + length
    more = (rows.mass - rows.mass_before).astype(jnp.float64)[:, None]
    further = (rows.end - rows.end_before)[:, None]
    growth = narrow * log(1 + further / narrow)
    offset = (problem.states_of_all + (more - 1) / 2) / narrow
    density = jnp.clip(more / jnp.maximum(growth, TINY) - offset, thin, thick)
    return density * growth + more * log((1 + further / wide) / (density + offset))


def _chunk_bounds(problem: Problem, rows: _Block, chunks: Chunks, n_chunks: Array, switches: Switches) -> Array:
    """A lower bound of the totals of each chunk's starts at every row of the block [B, G]."""
    at_once = min(CHUNK_GROUP, chunks.bound.shape[0])
    extra = rows.weights - 1  # of a row of weight a, the last (n + a) / (m + a) is the largest

    def group(number: Array, lower: Array) -> Array:
        first = number * at_once
        some = partial(lax.dynamic_slice_in_dim, start_index=first, slice_size=at_once)

        at = partial(_rows_of, first=first, width=at_once)

        def since(j: Array) -> Array:
            """Rows in the cells of term j since the chunks were measured."""
            return (rows.seen[j] + extra)[:, None] - at(chunks.counts, rows.cells[j])

        all_since = (rows.mass - 1)[:, None] - some(chunks.mass)

        def ratio(j: Array) -> Array:
            given, cells = problem.term_given[j], rows.cells[j]
            contexts = jnp.where(given < 0, all_since, since(given))
            least, most = at(chunks.least, cells), at(chunks.most, cells)
            return _largest_ratio(at(chunks.ratio, cells), since(j), contexts, least, most)

        shape = (BLOCK, at_once)
        product = _product(problem.n_outcomes, ratio, shape, _at_once(problem))
        rise = running_sum(-rows.weights[:, None] * log(jnp.maximum(product, TINY)))
        if switches.spread:
            rise += _least_spread(problem, rows, jax.tree.map(lambda array: some(array, axis=-1), chunks))
        return lax.dynamic_update_slice_in_dim(lower, some(chunks.bound) + rise, first, 1)

    n_groups = (n_chunks + at_once - 1) // at_once
    return lax.fori_loop(0, n_groups, group, jnp.full((BLOCK, chunks.bound.shape[0]), jnp.inf))


def leading_chunk(first_rows: Array, used: Array, leader: Array) -> Array:
    """The chunk in use that holds the row `leader`, or ended before it; the first in use if all begin behind it.

    Chunks in between may be out of use: all their starts were dropped since the last compaction.
    """
    begun = used & (first_rows <= leader)
    return jnp.where(begun.any(), len(begun) - 1 - jnp.argmax(begun[::-1]), jnp.argmax(used))


class _Visits(NamedTuple):
    """Chunks looked at in one block."""

    found: _Found
    inside: Array  # [M] float64
    chunks: Chunks
    done: Array  # [G] bool
    todo: Array  # [G] bool


def _settled_where_needed(
    problem: Problem, rows: _Block, state: State, found: _Found, switches: Switches
) -> tuple[_Found, Array, Chunks, Array]:
    """Let those chunks of settled starts compete that a bound does not rule out; counts the starts looked at."""
    settled, chunks, width = state.settled, state.chunks, switches.width
    lower = _chunk_bounds(problem, rows, chunks, _n_chunks(settled, width), switches)
    used = jnp.isfinite(chunks.bound)

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
        after = after._replace(bound=after.bound.at[chunk].set(total.min()), fresh=after.fresh.at[chunk].set(True))
        return found, lax.dynamic_update_slice_in_dim(inside, inside_now, chunk * width, 0), after

    def go_on(carry: _Visits) -> _Visits:
        chunk = jnp.argmax(carry.todo)
        found, inside, after = visit(chunk, (carry.found, carry.inside, carry.chunks))
        done = carry.done.at[chunk].set(True)
        limit = found.best + _slack(found.best)
        todo = jnp.any(lower <= limit[:, None], axis=0) if switches.prune else used
        return _Visits(found, inside, after, done, used & todo & ~done)

    leading = leading_chunk(settled.row[::width], used, state.leader)  # it sets the limit for the others
    after = chunks._replace(bound=lower[-1], fresh=jnp.zeros_like(chunks.fresh))
    nobody = jnp.zeros_like(used)
    carry = _Visits(found, settled.inside, after, nobody, nobody.at[leading].set(used[leading]))
    found, inside, after, done, _ = lax.while_loop(lambda carry: carry.todo.any(), go_on, carry)
    return found, inside, after, jnp.where(done, chunks.size, 0).sum()


def _triangle(problem: Problem, rows: _Block, switches: Switches, *, floor: bool = False) -> tuple[Array, Array]:
    """Cost, or floor, up to row t of the interval that starts behind row s of the block: [t, s], +inf for t <= s.

    The second array leaves the width out.
    """
    outside = jnp.arange(BLOCK)[:, None] <= jnp.arange(BLOCK)

    def before(j: Array) -> Array:
        return _lookup(rows.counts, rows.cells[j])

    steps = _increments(problem, rows, before, (BLOCK, BLOCK), ratios=switches.ratios, outside=outside, floor=floor)
    inside = running_sum(steps)
    whole = inside + _spread(problem, rows, rows.end, rows.mass) if switches.spread else inside
    return jnp.where(outside, jnp.inf, whole), inside


def _settle(tile_best: Array, triangle: Array, cut_cost: Array) -> tuple[Array, Array]:
    """Optimum of every row of the block, and the row that its last interval starts behind, -1 before the block.

    Each turn of the loop allows one cut more inside the block; few are of use.
    """

    def with_one_more(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        best = carry[0]
        better = jnp.minimum(tile_best, (best + triangle).min(axis=1)) + cut_cost
        return better, jnp.any(better < best)

    first = tile_best + cut_cost
    best, _ = lax.while_loop(lambda carry: carry[1], with_one_more, (first, jnp.array(True)))
    inside = best + triangle  # [t, s]
    inner = inside.min(axis=1)
    return best, jnp.where(inner < tile_best - rounding(tile_best), jnp.argmin(inside, axis=1), -1).astype(jnp.int32)


def _slack(cost: Array) -> Array:
    """Rounding allowance: nothing is dropped by float error."""
    return 1e-9 + 1e-11 * jnp.abs(cost)


def _dominated_inside(problem: Problem, rows: _Block, best: Array, floor: Array) -> Array:
    """Whether the start behind row s of the block is dropped at a later row t of it, [B]."""
    reached = rows.end_after - rows.end >= problem.min_width  # by every later end, from a start behind row t
    worse = (best + floor >= (best + _slack(best))[:, None]) & jnp.isfinite(floor)
    return jnp.any(worse & reached[:, None], axis=0)


def _check_row(rows: _Block, best: Array) -> Check:
    """The cut of the block against which starts are checked: the one whose optimum lies lowest under the trend."""
    finite = jnp.isfinite(best)
    low = jnp.where(finite, best, jnp.inf)
    first, final = jnp.argmax(finite), BLOCK - 1 - jnp.argmax(finite[::-1])
    slope = (best[final] - best[first]) / jnp.maximum(final - first, 1)
    t = jnp.argmin(jnp.where(finite, low - slope * jnp.arange(BLOCK), jnp.inf))
    return Check(rows.counts[:, t], rows.mass[t], rows.end[t], best[t])


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
        doomed = some.cost + floor >= check.cost + _slack(check.cost)
        doom = jnp.where(doomed, jnp.minimum(some.doom, check.end), some.doom)
        cost = jnp.where(end_after - doom >= problem.min_width, jnp.inf, some.cost)
        put = partial(lax.dynamic_update_slice_in_dim, start_index=number * width, axis=0)
        return put(carry[0], cost), put(carry[1], doom)

    cost, doom = lax.fori_loop(0, _n_chunks(starts, width), chunk, (starts.cost, starts.doom))
    return starts._replace(cost=cost, doom=doom)


def _measure_chunks(problem: Problem, state: State, first: Array, switches: Switches) -> State:
    """From the chunk `first` on: interval costs of the settled starts at the current block, and what bounds them."""
    settled, prefix, width = state.settled, state.prefix, switches.width
    mass, end = _just_before(problem, state.block)

    def chunk(number: Array, carry: tuple[Array, Chunks]) -> tuple[Array, Chunks]:
        starts = _chunk(settled, number, width)
        live = jnp.isfinite(starts.cost)
        inside = _cell_sums(problem, prefix, problem.cell_table, starts)
        weights, widths = mass - starts.mass, jnp.maximum(end - starts.begin, TINY)
        total = starts.cost + inside + (log_width(weights, widths) if switches.spread else 0.0)
        counts = prefix[:, None] - lax.dynamic_slice_in_dim(starts.before, starts.first, width, axis=1)
        contexts = _contexts(problem, counts, weights)
        last = width - 1 - jnp.argmax(live[::-1])
        after = Chunks(
            size=live.sum(dtype=jnp.int32),
            bound=total.min(),
            fresh=jnp.array(True),
            counts=prefix,
            mass=mass,
            end=end,
            ratio=jnp.where(live, (counts + 1) / contexts, 0.0).max(axis=1),
            least=contexts[:, last],
            most=contexts[:, 0],
            thin=jnp.where(live, weights / widths, jnp.inf).min(),
            thick=jnp.where(live, weights / widths, 0.0).max(),
            narrow=widths[last],
            wide=widths[0],
        )
        chunks = jax.tree.map(lambda array, value: array.at[..., number].set(value), carry[1], after)
        return lax.dynamic_update_slice_in_dim(carry[0], inside, number * width, 0), chunks

    inside, chunks = lax.fori_loop(first, _n_chunks(settled, width), chunk, (settled.inside, state.chunks))
    return state._replace(settled=settled._replace(inside=inside), chunks=chunks)


def _append(starts: Starts, rows: _Block, cost: Array, inside: Array, keep: Array) -> Starts:
    """Give the starts behind the block's rows a slot each: those that are kept come first, the rest is overwritten."""
    order = jnp.argsort(~keep, stable=True).astype(jnp.int32)
    place = partial(lax.dynamic_update_slice_in_dim, start_index=starts.n_slots)
    return Starts(
        row=place(starts.row, rows.first + 1 + order, axis=0),
        cost=place(starts.cost, jnp.where(keep, cost, jnp.inf)[order], axis=0),
        inside=place(starts.inside, inside[order], axis=0),
        before=place(starts.before, rows.counts[:, order], axis=1),
        mass=place(starts.mass, rows.mass[order], axis=0),
        begin=place(starts.begin, rows.end[order], axis=0),
        doom=place(starts.doom, jnp.full(BLOCK, jnp.inf), axis=0),
        n_slots=starts.n_slots + keep.sum(dtype=jnp.int32),
    )


def _step(problem: Problem, state: State, switches: Switches) -> State:
    """One block of rows."""
    rows = _block_rows(problem, state.block, state.prefix)
    found = _Found(jnp.full(BLOCK, jnp.inf), jnp.full(BLOCK, NEVER, jnp.int32))
    found, recent = _all_recent(problem, rows, state.recent, found, switches)
    found, inside, chunks, visited = _settled_where_needed(problem, rows, state, found, switches)

    triangle, own_inside = _triangle(problem, rows, switches)
    best, behind = _settle(found.best, triangle, rows.cut_cost)
    last = jnp.where(behind >= 0, rows.first + behind + 1, found.row)
    visited += n_live(recent)
    keep = jnp.isfinite(best)
    check = _check_row(rows, best)
    if switches.prune:
        keep &= ~_dominated_inside(problem, rows, best, _triangle(problem, rows, switches, floor=True)[0])
        recent = _without_useless(problem, recent, check, rows.end_after, switches)
    return State(
        block=state.block + 1,
        prefix=rows.counts[:, -1],
        check=check,
        leader=last[-1],
        settled=state.settled._replace(inside=inside),
        chunks=chunks,
        recent=_append(recent, rows, best, own_inside[-1], keep),
        best=lax.dynamic_update_slice_in_dim(state.best, best, rows.first, 0),
        last=lax.dynamic_update_slice_in_dim(state.last, jnp.where(jnp.isfinite(best), last, NO_START), rows.first, 0),
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
            end_after = _end_of_first_row(problem, state.block)
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


def number_of_blocks(n_rows: Array) -> Array:
    """Blocks that hold `n_rows` rows."""
    return (n_rows + BLOCK - 1) // BLOCK
