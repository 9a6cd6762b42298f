"""The rows of one block, and what they add to the cost of intervals that reach into it: exactly, and at least.

Lower bounds are for chunks of neighbouring starts, so that most of them need not be looked at. A row adds
-ln((outcome + a) / (context + aK)) for each factor, and that ratio hardly differs between neighbouring starts. What the
ratios were is measured for a chunk at some block; since then all its intervals have grown by the same rows. Proofs are
in docs/maths.md, "Bounds of chunks".

Shapes: those of `state`, and B rows of a block. a is the Dirichlet weight of an outcome, K its number of states.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbn.kernels.arithmetic import TINY, log, log_width, running_sum
from jaxbn.kernels.pruned.state import Chunks, Problem, Range, alive

BLOCK = 32
"""Rows of a block."""

CHUNK_GROUP = 32
"""Chunks bounded together."""

FEW_GROUPS = 4
"""Up to so many groups of chunks are not bounded as a whole first."""

_Bounded = tuple[Array, Array]


class Switches(NamedTuple):
    """What is decided when the program is compiled."""

    width: int  # W, starts of a tile and of a chunk
    ratios: bool  # whether all weights are one and all tables ln Γ: then a row adds the logarithm of a ratio of counts
    contexts: bool = True  # False: no term is of contexts, and the ratio needs no division
    spread: bool = False  # whether the width of an interval counts


class Block(NamedTuple):
    """The rows of one block."""

    first: Array  # [] int32, index of its first row
    cells: Array  # [J, B] int32
    weights: Array  # [B] int32
    mass: Array  # [B] int32
    end: Array  # [B] float64
    cut_cost: Array  # [P, B] float64, price and all
    prefix: Array  # [C] int32, rows before the block in every cell
    seen: Array  # [J, B] int32, earlier rows of all the data in row t's cell
    counts: Array  # [C, B] int32, rows up to and including row t in every cell
    mass_before: Array  # [] int32, of all rows before the block
    end_before: Array  # [] float64
    latest: Array  # [B] int32
    latest_after: Array  # [] int32, that of the first row after the block


def block_rows(problem: Problem, block: Array, prefix: Array) -> Block:
    """The rows of a block; `prefix` [C] are the counts of all rows before it."""
    first = block * BLOCK
    rows = partial(lax.dynamic_slice_in_dim, start_index=first, slice_size=BLOCK)
    cells, weights = rows(problem.cells, axis=1), rows(problem.weights)
    # What follows is all that a tile needs of the block: the counts of an interval from an earlier start are `seen`
    # less the counts before the start, and neither depends on the block's own optima (docs/maths.md, "Increments").
    earlier = jnp.triu(jnp.ones((BLOCK, BLOCK), jnp.int32), 1) * weights[:, None]
    rank = jnp.where(cells[:, :, None] == cells[:, None, :], earlier, 0).sum(axis=1, dtype=jnp.int32)
    since = jnp.triu(jnp.ones((BLOCK, BLOCK), jnp.int32)) * weights[:, None]  # [s, t]: row s counts from row t = s on
    before = jnp.broadcast_to(prefix[:, None], (len(prefix), BLOCK))
    # Padded rows and terms have a cell that is out of bounds: scatters drop it. Gathers clamp it to the last cell,
    # which does no harm: padded terms are never asked for, and a cut after a padded row costs infinity.
    mass_before, end_before = just_before(problem, block)
    return Block(
        first=first,
        cells=cells,
        weights=weights,
        mass=rows(problem.mass),
        end=rows(problem.end),
        cut_cost=rows(problem.cut_cost) + problem.prices[:, None],
        prefix=prefix,
        seen=prefix[cells] + rank,
        counts=before.at[cells].add(jnp.broadcast_to(since, (len(cells), BLOCK, BLOCK)), mode="drop"),
        mass_before=mass_before,
        end_before=end_before,
        latest=rows(problem.latest),
        latest_after=latest_of_first_row(problem, block + 1),
    )


def latest_of_first_row(problem: Problem, block: Array) -> Array:
    """The last row that an interval may begin with if it ends at the block's first row."""
    return problem.latest[jnp.minimum(block * BLOCK, problem.latest.shape[0] - 1)]


def just_before(problem: Problem, block: Array) -> tuple[Array, Array]:
    """Weight of all rows before a block, and where they end."""
    row = block * BLOCK - 1
    at = jnp.maximum(row, 0)
    return jnp.where(row < 0, 0, problem.mass[at]), jnp.where(row < 0, problem.begin, problem.end[at])


def lookup(table: Array, index: Array) -> Array:
    """`table[index]`; the index must be in bounds."""
    return table.at[index].get(mode="promise_in_bounds")


def rows_of(array: Array, cells: Array, first: Array, width: int) -> Array:
    """The rows of some cells, from column `first` on, [B, width]."""
    return jax.vmap(lambda cell: lax.dynamic_slice(array, (cell, first), (1, width))[0])(cells)


def increments_of(
    problem: Problem,
    rows: Block,
    before: Callable[[Array], Array],
    shape: tuple[int, int],
    switches: Switches,
    *,
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
        term = problem.context_term[i]
        lacks = rows.cells[term] == problem.context_lacking[i]
        return counts(term) + jnp.where(lacks, problem.weight, problem.context_states[i])[:, None]

    def outcome(j: Array) -> Array:
        return counts(j) + problem.weight

    def change(j: Array) -> Array:
        begins = problem.term_floor[j] if floor else problem.cell_table[rows.cells[j]][:, None]
        index = counts(j) + begins
        return problem.term_sign[j] * (
            lookup(problem.tables, index + rows.weights[:, None]) - lookup(problem.tables, index)
        )

    if switches.ratios and not floor:
        # ln Γ(n + s + 1) - ln Γ(n + s) = ln(n + s): one logarithm of a quotient of products takes the place of two
        # look-ups for each term. `ratios_fit` has made sure that the products neither overflow nor vanish.
        product = partial(product_of, shape=shape)
        outcomes = product(problem.n_outcomes, outcome)
        total = log(product(problem.n_contexts, context) / outcomes) if switches.contexts else -log(outcomes)
    else:
        total = lax.fori_loop(0, problem.n_terms, lambda j, total: total + change(j), jnp.zeros(shape))
    return total if outside is None else jnp.where(outside, 0, total)


def product_of(n: Array, factor: Callable[[Array], Array], shape: tuple[int, int]) -> Array:
    """The product of the first `n` factors."""
    return lax.fori_loop(0, n, lambda i, product: product * factor(i), jnp.ones(shape))


def spread_of(rows: Block, first: Array, begin: Array, mass: Array) -> Array:
    """The n ln width of the intervals from some starts to every row [B, W], +inf for those too narrow."""
    width = rows.end[:, None] - begin
    return jnp.where(first <= rows.latest[:, None], log_width(rows.mass[:, None] - mass, width), jnp.inf)


def triangle_of(problem: Problem, rows: Block, switches: Switches, *, floor: bool = False) -> tuple[Array, Array]:
    """Cost, or floor, up to row t of the interval that starts after row s of the block: [t, s], +inf for t <= s.

    The second array leaves the width out.
    """
    outside = jnp.arange(BLOCK)[:, None] <= jnp.arange(BLOCK)

    def before(j: Array) -> Array:
        return lookup(rows.counts, rows.cells[j])

    steps = increments_of(problem, rows, before, (BLOCK, BLOCK), switches, outside=outside, floor=floor)
    inside = running_sum(steps)
    # the width of an interval does not add up row by row, so it is kept apart from `inside` and added for each end anew
    starts = rows.first + 1 + jnp.arange(BLOCK, dtype=jnp.int32)
    whole = inside + spread_of(rows, starts, rows.end, rows.mass) if switches.spread else inside
    return jnp.where(outside, jnp.inf, whole), inside


def _moved_on(known: Range, more: Array, divisors: Array) -> Range:
    """The most that quotients can be once so much was added to the dividends, and to the divisors, of all of them."""
    # (a + more) / (b + divisors) with a <= high * b is largest at the least or at the most b
    at = [(known.high * b + more) / jnp.maximum(b + divisors, TINY) for b in (known.least, known.most)]
    return Range(jnp.maximum(*at), known.least + divisors, known.most + divisors)


def _least_spread(problem: Problem, rows: Block, chunks: Chunks) -> Array:
    """A lower bound of what the rows up to each one of the block add to n ln width - ln Γ(n + aK) [B, G].

    The n rows of an interval of width w get b more on a length of v. With the density d = n / w they add

        d w ln(1 + v / w) + b ln(1 + v / w) - sum_{i < b} ln(d + (aK + i) / w),

    where the last sum is at most b ln(d + (aK + (b - 1) / 2) / w). The first and the last term are least at the
    narrowest width of the chunk, the second at the widest. What is left is convex in d, and least near the density
    b / v of the new rows themselves.
    """
    weight = (rows.mass_before - chunks.mass).astype(jnp.float64)
    length = rows.end_before - chunks.end
    thick, narrow, wide = _moved_on(chunks.density, weight, length)
    thin = -_moved_on(chunks.minus_density, -weight, length).high
    more = (rows.mass - rows.mass_before).astype(jnp.float64)[:, None]
    further = (rows.end - rows.end_before)[:, None]
    growth = narrow * log(1 + further / narrow)
    offset = (problem.states_of_all + (more - 1) / 2) / narrow
    least_at = jnp.clip(more / jnp.maximum(growth, TINY) - offset, thin, thick)
    density = jnp.where(growth > 0, least_at, thick)  # a length that vanishes beside the width
    return density * growth + more * log((1 + further / wide) / (density + offset))


def chunks_to_visit(
    problem: Problem, rows: Block, chunks: Chunks, groups: Chunks, limit: Array, n_chunks: Array, switches: Switches
) -> tuple[Array, Array]:
    """Whether totals of each chunk may lie below the limit [P, B] at some price and row [G], and its bound at the end.

    Most chunks are far from that. So groups of them are bounded first, and chunks only in groups that may hold one.
    """
    used = alive(chunks.bound)
    at_once, n = len(chunks.size) // len(groups.size), len(groups.size)
    n_groups = (n_chunks + at_once - 1) // at_once
    least = chunks.bound.reshape(-1, n, at_once).min(axis=2)

    def bounded(some: Chunks, bound: Array, first: Array, size: int) -> _Bounded:
        """Whether some bounds, with what rows add to them, lie below the limit anywhere, and what all rows add."""
        rise = least_rises(problem, rows, some, first, size, switches)
        own = lax.dynamic_slice_in_dim(bound, first, size, 1)
        return (own[:, None, :] + rise <= limit[:, :, None]).any(axis=(0, 1)), rise[-1]

    def put(carry: _Bounded, found: _Bounded, first: Array) -> _Bounded:
        below, rise = map(partial(lax.dynamic_update_slice_in_dim, start_index=first, axis=0), carry, found)
        return below, rise

    def some_groups(number: Array, carry: _Bounded) -> _Bounded:
        size = min(CHUNK_GROUP, n)
        return put(carry, bounded(groups, least, number * size, size), number * size)

    def all_groups() -> _Bounded:
        n_parts = (n_groups + CHUNK_GROUP - 1) // CHUNK_GROUP
        return lax.fori_loop(0, n_parts, some_groups, (jnp.zeros(n, bool), jnp.zeros(n)))

    # few groups are quicker bounded chunk by chunk
    nothing = jnp.ones(n, bool), jnp.zeros(n)
    near, group_rise = lax.cond(n_groups > FEW_GROUPS, all_groups, lambda: nothing)

    def group(number: Array, carry: _Bounded) -> _Bounded:
        first = number * at_once
        far = jnp.zeros(at_once, bool), jnp.full(at_once, group_rise[number])
        chunk_by_chunk = partial(bounded, chunks, chunks.bound, first, at_once)
        return put(carry, lax.cond(near[number], chunk_by_chunk, lambda: far), first)

    below, whole = lax.fori_loop(0, n_groups, group, (jnp.zeros_like(used), jnp.zeros(len(used))))
    return used & below, jnp.where(used, chunks.bound + whole, chunks.bound)


def least_rises(problem: Problem, rows: Block, chunks: Chunks, first: Array, width: int, switches: Switches) -> Array:
    """A lower bound of what the rows up to each one of the block add to the intervals of some chunks' starts [B, G]."""
    extra = rows.weights - 1  # of a row of weight a, the last (n + a) / (m + a) is the largest
    at = partial(rows_of, first=first, width=width)
    all_since = (rows.mass - 1)[:, None] - lax.dynamic_slice_in_dim(chunks.mass, first, width)

    def since(term: Array) -> Array:
        """Rows in the cells of a term since the chunks were measured."""
        return (rows.seen[term] + extra)[:, None] - at(chunks.counts, rows.cells[term])

    def largest_ratios(j: Array) -> Array:
        """The most that (outcome + a) / (context + aK) of term j is at every row."""
        given = problem.term_given[j]
        known = Range(*(at(array, rows.cells[j]) for array in chunks.ratio))
        return _moved_on(known, since(j), jnp.where(given < 0, all_since, since(given))).high

    ratios = product_of(problem.n_outcomes, largest_ratios, (BLOCK, width))
    rise = running_sum(-rows.weights[:, None] * log(jnp.maximum(ratios, TINY)))
    if switches.spread:
        few = jax.tree.map(partial(lax.dynamic_slice_in_dim, start_index=first, slice_size=width, axis=-1), chunks)
        rise += _least_spread(problem, rows, few)
    return rise


def grouped_chunks(problem: Problem, chunks: Chunks, prefix: Array, mass: Array, end: Array) -> Chunks:
    """What is known of `CHUNK_GROUP` neighbouring chunks together, as if it were measured now.

    `prefix` [C], `mass` and `end` are of all rows so far. Chunks were measured at different times: their ranges move on
    by the rows since then, by the rule of the largest ratio, and the widest range of a group holds for all its starts.
    """
    used = alive(chunks.bound)
    since, all_since = prefix[:, None] - chunks.counts, mass - chunks.mass
    given = problem.cell_given[:, None]
    contexts = jnp.where(given < 0, all_since, since[jnp.maximum(problem.cell_given, 0)])
    at_once = min(CHUNK_GROUP, len(used))

    def least(values: Array) -> Array:
        return jnp.where(used, values, jnp.inf).reshape(*values.shape[:-1], -1, at_once).min(axis=-1)

    def together(known: Range, more: Array, divisors: Array) -> Range:
        now = _moved_on(known, more, divisors)
        return Range(-least(-now.high), least(now.least), -least(-now.most))

    n, weight, length = len(used) // at_once, all_since.astype(jnp.float64), end - chunks.end
    return Chunks(
        size=jnp.zeros(n, jnp.int32),
        bound=jnp.zeros((len(chunks.bound), n)),
        fresh=jnp.zeros(n, bool),
        counts=jnp.broadcast_to(prefix[:, None], (len(prefix), n)),
        mass=jnp.full(n, mass),
        end=jnp.full(n, end),
        ratio=together(chunks.ratio, since, contexts),
        density=together(chunks.density, weight, length),
        minus_density=together(chunks.minus_density, -weight, length),
    )


def leading_chunk(first_rows: Array, used: Array, leader: Array) -> Array:
    """The chunk in use that holds the row `leader`, or ended before it; the first in use if all begin after it.

    Chunks in between may be out of use: all their starts were dropped since the last compaction.
    """
    begun = used & (first_rows <= leader)
    return jnp.where(begun.any(), len(begun) - 1 - jnp.argmax(begun[::-1]), jnp.argmax(used))
