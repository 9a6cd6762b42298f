"""Lower bounds for chunks of neighbouring starts, so that most of them need not be looked at.

Proofs are in docs/maths.md, "Bounds of chunks".

A row adds -ln((outcome + a) / (context + aK)) for each factor, and that ratio hardly differs between neighbouring
starts. What the ratios were is measured for a chunk at some block; since then all its intervals have grown by the same
rows.

Shapes: those of `state`, and B rows of a block. a is the Dirichlet weight of an outcome, K its number of states.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbn.kernels.arithmetic import TINY, log, running_sum
from jaxbn.kernels.pruned.block import BLOCK, Block, Switches, product_of, rows_of
from jaxbn.kernels.pruned.state import Chunks, Problem, Range, alive

CHUNK_GROUP = 32  # chunks bounded together
FEW_GROUPS = 4  # up to so many groups of chunks are not bounded as a whole first

_Bounded = tuple[Array, Array]


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
    all_near = jnp.arange(n) < n_groups, jnp.zeros(n)
    near, group_rise = lax.cond(n_groups > FEW_GROUPS, all_groups, lambda: all_near)

    # most groups are far, so turns of the loop are those near alone
    def near_group(carry: tuple[Array, _Bounded]) -> tuple[Array, _Bounded]:
        near, found = carry
        number = jnp.argmax(near).astype(jnp.int32)
        first = number * at_once
        return near.at[number].set(False), put(found, bounded(chunks, chunks.bound, first, at_once), first)

    far = jnp.zeros_like(used), jnp.repeat(group_rise, at_once)
    _, (below, whole) = lax.while_loop(lambda carry: carry[0].any(), near_group, (near, far))
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
