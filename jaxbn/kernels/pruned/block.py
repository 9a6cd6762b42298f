"""The rows of one block, and what they add to the cost of intervals that reach into it.

Shapes: those of `state`, and B rows of a block.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbn.kernels.arithmetic import log, log_width, running_sum
from jaxbn.kernels.pruned.state import Problem

BLOCK = 32  # rows of a block


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
