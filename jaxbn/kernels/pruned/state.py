"""What the pruned program works on: the problem, the live starts of the last interval, and the state between blocks.

Shapes:
    N rows (padded), J terms (padded), C cells of all terms (padded), Q tables, Z table length,
    P prices, M slots for starts, W slots of a chunk, G = M / W chunks of the settled starts.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

NEVER = 2**31 - 1  # a row that is not there, after all others
NO_START = -1  # `last` of a row that no interval may end at


class Problem(NamedTuple):
    """One variable to cut, as arrays."""

    cells: Array  # [J, N] int32, the cell of row i in term j, unique over terms
    weights: Array  # [N] int32
    mass: Array  # [N] int32, weight of the rows up to and including row i
    end: Array  # [N] float64, where an interval that ends at row i ends, in units of the range
    begin: Array  # [] float64, where an interval that begins at row 0 begins
    latest: Array  # [N] int32, the last row that an interval may begin with if it ends at row i
    cut_cost: Array  # [N] float64, cost of a cut after row i: +inf where there can be none, 0 after the last row
    first_cost: Array  # [] float64, cost of the empty prefix
    prices: Array  # [P] float64, what every interval costs more: one optimum for each
    tables: Array  # [Q * Z] float64, cumulative tables, one after the other
    term_floor: Array  # [J] int32, where the table of its floor begins
    term_sign: Array  # [J] float64
    cell_table: Array  # [C] int32, where the table of the cell's term begins
    cell_floor: Array  # [C] int32
    cell_sign: Array  # [C] float64, sign of the cell's term, 0 for padding
    term_given: Array  # [J] int32, of outcomes: the term of their contexts, negative where all rows are one context
    cell_given: Array  # [C] int32, the cell of an outcome's context, negative likewise
    weight: Array  # [] float64, a: the Dirichlet weight of an outcome
    cell_states: Array  # [C] float64, aK: a row added costs at least ln((context + aK) / (outcome + a))
    states_of_all: Array  # [] float64, aK where all rows are one context
    context_term: Array  # [J] int32, terms of contexts, each as often as it has a table
    context_states: Array  # [J] float64, aK of that table
    context_lacking: Array  # [J] int32, the cell of that term in which K is 1 instead, negative for none
    n_outcomes: Array  # [] int32, terms of outcomes; they come first
    n_contexts: Array  # [] int32, entries of `context_term` in use
    n_rows: Array  # [] int32
    n_terms: Array  # [] int32
    n_cells: Array  # [] int32


class Starts(NamedTuple):
    """Live starts of the last interval, one in a slot, in ascending order of rows."""

    row: Array  # [M] int32, first row of the interval
    cost: Array  # [P, M] float64, best cost of everything before it, +inf where it is of no use
    inside: Array  # [M] float64, cost of the interval from it to the current block's beginning, without its width
    before: Array  # [C, M] int32, counts of all rows before it
    mass: Array  # [M] int32, weight of all rows before it
    begin: Array  # [M] float64, where the interval begins, in units of the range
    beaten_from: Array  # [P, M] int32, the row of a better start for every later end that can be reached from there
    n_slots: Array  # [] int32, slots in use


class Range(NamedTuple):
    """What a quotient was at most in the intervals of some starts, and what it was divided by."""

    high: Array  # the most that it was
    least: Array  # the least divisor
    most: Array  # the most


class Chunks(NamedTuple):
    """What is known of W neighbouring settled starts together, so that most of them need not be looked at.

    They were measured together at the beginning of some block. What came since is the same for all their intervals.
    """

    size: Array  # [G] int32, how many they are
    bound: Array  # [P, G] float64, none of their totals at the current block lies below it
    fresh: Array  # [G] bool, whether `inside` is that at the current block
    counts: Array  # [C, G] int32, of all rows when they were measured
    mass: Array  # [G] int32, of all rows then
    end: Array  # [G] float64, of all rows then
    ratio: Range  # [C, G] float64, of (outcome + a) / (context + aK) then
    density: Range  # [G] float64, of weight / width then
    minus_density: Range  # [G] float64, of minus that, for the least density


class Check(NamedTuple):
    """A cut of the last block against which starts are checked."""

    counts: Array  # [C] int32, of all rows up to it
    mass: Array  # [] int32
    end: Array  # [] float64
    start: Array  # [] int32, the row after it
    cost: Array  # [P] float64, the best up to it


class State(NamedTuple):
    """Everything between two blocks.

    The starts are in two groups: `settled`, which stay where they are between two compactions (so that no loop copies
    the large arrays), and `recent`, a small buffer that new starts are appended to.
    """

    block: Array  # [] int32, blocks done
    prefix: Array  # [C] int32, counts of all rows before the block
    check: Check
    leader: Array  # [P] int32, first row of the best interval that ends at the last row
    settled: Starts
    chunks: Chunks
    recent: Starts
    best: Array  # [P, N] float64, best cost up to row i with a cut after it
    last: Array  # [P, N] int32, first row of the last interval of that optimum
    visited: Array  # [] float64, sum over rows of the starts looked at


def no_starts(n_cells: int, n_prices: int, capacity: int) -> Starts:
    """Empty slots."""
    return Starts(
        row=jnp.zeros(capacity, jnp.int32),
        cost=jnp.full((n_prices, capacity), jnp.inf),
        inside=jnp.zeros(capacity),
        before=jnp.zeros((n_cells, capacity), jnp.int32),
        mass=jnp.zeros(capacity, jnp.int32),
        begin=jnp.zeros(capacity),
        beaten_from=jnp.full((n_prices, capacity), NEVER, jnp.int32),
        n_slots=jnp.int32(0),
    )


def n_live(starts: Starts) -> Array:
    """Slots that hold a start which may still be used."""
    return alive(starts.cost).sum(dtype=jnp.int32)


def alive(cost: Array) -> Array:
    """Whether a start may still be used at some price, by its costs [P, M]."""
    return jnp.isfinite(cost).any(axis=0)


@partial(jax.jit, static_argnames=("settled", "recent", "width"))
def initial_state(problem: Problem, settled: int, recent: int, width: int) -> State:
    """The state before the first row: one live start, at row 0; `settled` and `recent` are numbers of slots."""
    n_cells, n, n_prices, n_chunks = len(problem.cell_sign), len(problem.weights), len(problem.prices), settled // width
    empty, nobody = no_starts(n_cells, n_prices, recent), no_starts(n_cells, n_prices, settled)
    first = {"cost": empty.cost.at[:, 0].set(problem.first_cost), "begin": empty.begin.at[0].set(problem.begin)}
    no_counts, of_cells, of_chunks = jnp.zeros(n_cells, jnp.int32), jnp.zeros((n_cells, n_chunks)), jnp.zeros(n_chunks)
    chunks = Chunks(
        size=of_chunks.astype(jnp.int32),
        bound=jnp.full((n_prices, n_chunks), jnp.inf),
        fresh=of_chunks.astype(bool),
        counts=of_cells.astype(jnp.int32),
        mass=of_chunks.astype(jnp.int32),
        end=of_chunks,
        ratio=Range(*[of_cells] * 3),
        density=Range(*[of_chunks] * 3),
        minus_density=Range(*[of_chunks] * 3),
    )
    return State(
        block=jnp.int32(0),
        prefix=no_counts,
        check=Check(no_counts, jnp.int32(0), jnp.float64(0), jnp.int32(0), jnp.full(n_prices, jnp.inf)),
        leader=jnp.zeros(n_prices, jnp.int32),
        settled=nobody,
        chunks=chunks,
        recent=empty._replace(**first, n_slots=jnp.int32(1)),
        best=jnp.full((n_prices, n), jnp.inf),
        last=jnp.full((n_prices, n), NO_START, jnp.int32),
        visited=jnp.float64(0),
    )


def compacted(state: State, width: int) -> State:
    """Close the gaps that dropped starts left among the settled ones.

    A chunk is written where it belongs and read from there or further on, so all is done in place: the work follows the
    slots in use, not the room for them.
    """
    old = state.settled
    capacity = len(old.row)
    # order[i] >= i: slots that are still to be read are never overwritten. Beyond `kept` it repeats slot 0, whose
    # copies are made void below by an infinite cost.
    (order,) = jnp.nonzero(alive(old.cost), size=capacity, fill_value=0)
    kept = n_live(old)

    def moved(chunk: Array, fields: dict[str, Array]) -> dict[str, Array]:
        first = chunk * width
        slots = lax.dynamic_slice_in_dim(order, first, width)
        put = partial(lax.dynamic_update_slice_in_dim, start_index=first, axis=-1)
        return {name: put(array, array[..., slots]) for name, array in fields.items()}

    fields = {name: getattr(old, name) for name in _MOVED}
    fields = lax.fori_loop(0, (kept + width - 1) // width, moved, fields)
    fields["cost"] = jnp.where(jnp.arange(capacity) < kept, fields["cost"], jnp.inf)
    # starts have changed their chunks, so nothing that was measured holds: chunks of an infinite bound are out of use
    # until they are measured again
    chunks = state.chunks._replace(bound=jnp.full_like(state.chunks.bound, jnp.inf))
    return state._replace(settled=Starts(**fields, n_slots=kept), chunks=chunks)


def appended(state: State, width: int) -> tuple[State, Array]:
    """Settle the recent starts in new chunks after the others; also the number of the first new chunk.

    Quicker than a compaction: what is settled stays where it is. There must be room.
    """
    old, new = state.settled, state.recent
    (order,) = jnp.nonzero(alive(new.cost), size=len(new.row), fill_value=0)
    kept = n_live(new)
    # A new chunk: those before are measured already, and must not get starts that were not. Slots left between the two
    # are free, of infinite cost, until the next compaction.
    chunk = (old.n_slots + width - 1) // width
    fields = {name: getattr(new, name)[..., order] for name in _MOVED}
    fields["cost"] = jnp.where(jnp.arange(len(order)) < kept, fields["cost"], jnp.inf)
    place = partial(lax.dynamic_update_slice_in_dim, start_index=chunk * width, axis=-1)
    fields = {name: place(getattr(old, name), field) for name, field in fields.items()}
    settled = Starts(**fields, n_slots=chunk * width + kept)
    recent = new._replace(cost=jnp.full_like(new.cost, jnp.inf), n_slots=jnp.int32(0))
    return state._replace(settled=settled, recent=recent), chunk


_MOVED = Starts._fields[:-1]


@jax.jit
def with_more_slots(state: State) -> State:
    """The same state with twice the slots for settled starts; a compaction has to follow."""
    old = state.settled
    empty = no_starts(len(old.before), *old.cost.shape)
    fields = {name: jnp.append(getattr(old, name), getattr(empty, name), axis=-1) for name in _MOVED}
    chunks = jax.tree.map(lambda array: jnp.append(array, array, axis=-1), state.chunks)
    return state._replace(settled=old._replace(**fields), chunks=chunks)
