"""The best cuts where each cut has its own cost: all intervals for few positions, the pruned program for many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.grouped_rows import GroupedRows
from jaxbn.cuts.interval_costs import CostMatrix, cost_matrices
from jaxbn.cuts.on_accelerator import CutCosts, best_partitions, goes_there
from jaxbn.cuts.on_grid import solve_on_grid
from jaxbn.cuts.problem import ALL, Rows, Solution, Spread, Term, padded, ratios_fit, summed_tables
from jaxbn.kernels.pruned.block import BLOCK, Switches
from jaxbn.kernels.pruned.program import advance
from jaxbn.kernels.pruned.state import Problem, State, initial_state, with_more_slots
from jaxbn.runtime import limits
from jaxbn.runtime.devices import double, on_host
from jaxbn.runtime.shapes import FEW_POSITIONS, SHARED_ROWS, PrunedShape, pruned_shape
from jaxbn.runtime.threads import in_threads

ROWS_AT_ONCE = 2**16  # rows that the pruned program settles before it may be stopped: a second or less


def solve(problems: Sequence[Rows], *, grid: int | None = None, refinements: int = 1) -> list[Solution]:
    """Solve every problem exactly, or on a grid of that many groups of rows, refined around its cuts.

    Few positions go to the program over all intervals, and the others to the pruned one.
    """

    def at_positions(_: Sequence[int], grouped: Sequence[GroupedRows]) -> list[Solution]:
        known = [solve_at_prices(g.rows, [0.0])[0] if g.n > FEW_POSITIONS else None for g in grouped]
        costs = [CutCosts(g.rows.cut_costs[g.positions[1:] - 1], g.rows.first_cost) for g in grouped]
        return over_positions(grouped, known, costs, lambda cost, matrix: matrix.solve_with_cuts(*cost))

    return solve_on_grid(at_positions, problems, grid, refinements)


def over_positions(
    grouped: Sequence[GroupedRows],
    known: Sequence[Solution | None],
    charges: Sequence[Any],
    from_matrix: Callable[[Any, CostMatrix], Solution],
) -> list[Solution]:
    """The best partition of each problem over its positions, given those that are known.

    The others go to an accelerator together, or in threads to the costs of all their intervals.
    """
    there = [i for i, one in enumerate(known) if one is None and goes_there(grouped[i], charges[i])]
    found = best_partitions([grouped[i] for i in there], [charges[i] for i in there])
    solutions = dict(enumerate(known)) | dict(zip(there, found, strict=True))
    here = [i for i, one in solutions.items() if one is None]

    def work_out(alike: Sequence[int]) -> None:
        for i, matrix in zip(alike, cost_matrices([grouped[i] for i in alike]), strict=True):
            solutions[i] = from_matrix(charges[i], matrix)

    together = [list(alike) for _, alike in groupby(here, lambda i: grouped[i].counted_as)]
    in_threads(work_out, together, rows=max((grouped[i].rows.n for i in here), default=0))
    return list(solutions.values())  # type: ignore[arg-type]


def prefix_costs(rows: Rows, prices: Sequence[float]) -> NDArray[np.float64]:
    """Least cost of the rows up to each one and of a cut after it at every price, by the pruned program [P, n]."""
    with double(), on_host():
        return np.asarray(_run_pruned(rows, prices).best)[:, : rows.n]


def solve_at_prices(rows: Rows, prices: Sequence[float]) -> list[Solution]:
    """The optimum at each price, where every interval costs that much more: one pass of the pruned program for all."""
    with double(), on_host():
        state = _run_pruned(rows, prices)
        best, last, visited = np.asarray(state.best)[:, rows.n - 1], np.asarray(state.last), float(state.visited)
    found = zip(best.tolist(), last, strict=True)
    return [Solution(cost, cuts_back(starts, rows.n - 1), visited / rows.n) for cost, starts in found]


def cuts_back(last: NDArray[np.int32], end: int) -> list[int]:
    """Walk back over an optimum from the row `end`: the rows that its cuts fall after, ascending.

    `last` [n] is the start of the last interval of the best partition up to each row.
    """
    cuts = []
    while (start := int(last[end])) > 0:
        end = start - 1
        cuts.append(end)
    return cuts[::-1]


def _run_pruned(rows: Rows, prices: Sequence[float]) -> State:
    """One problem, resumed with more room whenever the live starts outgrow it."""
    shape = pruned_shape(rows.n, len(rows.terms), sum(term.n_cells for term in rows.terms), rows.total)
    # `contexts` is off only for long columns without children, where the division would cost more than another
    # compilation; shorter ones share the program of all blankets
    switches = Switches(
        width=shape.width,
        ratios=ratios_fit(rows),
        contexts=rows.n <= SHARED_ROWS or rows.spread is None or any(term.sign > 0 for term in rows.terms),
        spread=rows.spread is not None,
    )
    problem = jax.device_put(Problem(**_arrays(rows, prices, shape)))
    state = initial_state(problem, shape.settled, shape.recent, shape.width)
    until = 0
    while int(state.block) * BLOCK < rows.n:
        limits.check()
        # `advance` stops at `until`, where Ctrl-C and time limits are looked at, or before it if slots have run out.
        # Then all that was found stays, and the program goes on from there with twice the slots.
        if int(state.block) < until:
            state = with_more_slots(state)
        else:
            until += ROWS_AT_ONCE // BLOCK
        state = advance(problem, state, np.int32(until), switches=switches)
    return state


def _arrays(rows: Rows, prices: Sequence[float], shape: PrunedShape) -> dict[str, Any]:
    """The fields of `Problem` as padded NumPy arrays."""
    n = rows.n
    weights = np.ones(n, np.int32) if rows.weights is None else rows.weights
    cells = np.full((shape.terms, shape.rows), shape.cells, np.int32)  # no cell: what is counted there is dropped
    first = 0
    for j, term in enumerate(rows.terms):
        np.add(term.cells, first, out=cells[j, :n])
        first += term.n_cells
    spread = rows.spread or Spread(n, lambda positions: np.zeros(len(positions)))
    latest = np.arange(n, dtype=np.int32) if spread.latest is None else spread.latest
    # Padding is neutral: a row after the last has no weight, and a cut after it costs infinity, so no optimum ends
    # there; it lies where the last one does, so that widths stay what they are.
    return {
        "cells": cells,
        "weights": padded(weights, (shape.rows,)),
        "mass": padded(np.cumsum(weights), (shape.rows,), int(weights.sum())),
        "end": padded(spread.positions[1:], (shape.rows,), spread.positions[-1], np.float64),
        "begin": np.float64(spread.positions[0]),
        "latest": padded(latest, (shape.rows,), shape.rows),
        "cut_cost": padded(rows.cut_costs, (shape.rows,), np.inf, np.float64),
        "first_cost": np.float64(rows.first_cost),
        "prices": np.array(prices, np.float64),
        "n_rows": np.int32(n),
        "n_terms": np.int32(len(rows.terms)),
        "n_cells": np.int32(first),
        **_table_arrays(rows.terms, shape),
    }


def _table_arrays(terms: Sequence[Term], shape: PrunedShape) -> dict[str, Any]:
    """Tables, and which of them the terms and their cells use with which sign."""
    kinds = sorted({names for term in terms for names in (term.tables, term.floor)})
    place = {names: i * shape.length for i, names in enumerate(kinds)}
    sizes = [term.n_cells for term in terms]
    sign, floor = np.array([term.sign for term in terms]), np.array([place[term.floor] for term in terms], np.int32)
    lacking = np.where([term.lacking for term in terms], np.cumsum(sizes) - 1, -1).astype(np.int32)
    cell_table = np.repeat(np.array([place[term.tables] for term in terms], np.int32), sizes)
    cell_states = np.repeat(np.array([term.states for term in terms], np.float64), sizes)
    # Rows that lack a member of a factor: one state, so that the table of their context is that of their outcome, and
    # the two cancel (docs/maths.md, "Missing entries").
    for term, cell in zip(terms, lacking, strict=True):
        if term.lacking:
            cell_table[cell], cell_states[cell] = place[(term.names[-1],)], term.weight
    contexts = [(j, name) for j, term in enumerate(terms) if term.sign > 0 for name in term.tables]
    return {
        "context_term": padded(np.array([j for j, _ in contexts]), (shape.terms,)),
        "context_states": padded(np.array([name for _, name in contexts]), (shape.terms,), 1.0, np.float64),
        "context_lacking": padded(np.array([lacking[j] for j, _ in contexts], np.int32), (shape.terms,), -1),
        "n_contexts": np.int32(len(contexts)),
        "term_given": padded(np.array([term.given for term in terms]), (shape.terms,)),
        "states_of_all": np.float64(max((term.states for term in terms if term.given == ALL), default=1.0)),
        "weight": np.float64(terms[0].weight if terms else 1.0),
        "cell_given": padded(_cells_given(terms), (shape.cells,)),
        "cell_states": padded(cell_states, (shape.cells,), 1.0, np.float64),
        "n_outcomes": np.int32(sum(term.sign < 0 for term in terms)),
        "tables": summed_tables(kinds, shape.tables, shape.length),
        "term_floor": padded(floor, (shape.terms,)),
        "term_sign": padded(sign, (shape.terms,), 0.0, np.float64),
        "cell_table": padded(cell_table, (shape.cells,)),
        "cell_floor": padded(np.repeat(floor, sizes), (shape.cells,)),
        "cell_sign": padded(np.repeat(sign, sizes), (shape.cells,), 0.0, np.float64),
    }


def _cells_given(terms: Sequence[Term]) -> NDArray[np.int32]:
    """The cell of the context that each outcome's cell belongs to, ALL where that is all rows; 0 for contexts."""
    first = np.cumsum([0, *(term.n_cells for term in terms)])
    found = np.zeros(first[-1], np.int32)
    for j, term in enumerate(terms):
        if term.sign < 0:
            context = ALL if term.given == ALL else first[term.given] + terms[term.given].cells
            found[first[j] + term.cells] = context
    return found
