"""Learn a network: K2 and discretization from several orders, the best one kept."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from jaxbn.groups.grouping import columns_to_group
from jaxbn.inputs import checks
from jaxbn.inputs.checks import ArgumentError, Mention
from jaxbn.inputs.graph import MAX_TABLE_CELLS, check_table_sizes, topological_order
from jaxbn.inputs.table import DataLike, Table, as_table
from jaxbn.learning.ascent import climb
from jaxbn.learning.checkpoint import Checkpoint, exchanged, fingerprint, open_checkpoint
from jaxbn.learning.discretize import starting_bins
from jaxbn.learning.k2 import k2_steps
from jaxbn.learning.learned import Learned
from jaxbn.learning.options import MinWidth, Options, Rate, Select, check_options
from jaxbn.learning.passes import Settled
from jaxbn.learning.questions import Learner
from jaxbn.learning.workshop import Workshop, run_together
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.fit import fit
from jaxbn.runtime.files import PathLike
from jaxbn.runtime.processes import Team, team
from jaxbn.runtime.progress import Progress
from jaxbn.scores.coded_table import CodedTable, Start
from jaxbn.scores.density import density
from jaxbn.structure.constraints import Constraints, as_constraints

SIDE_BY_SIDE = 64
"""Restarts that run together: what they ask for at the same time is computed as one batch."""


class InterruptedWarning(UserWarning):
    """``learn`` was interrupted by Ctrl-C: its network is the best so far."""


def learn(
    data: DataLike,
    *,
    continuous: Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    max_parents: int = 3,
    max_passes: int | None = 10,
    restarts: int = 1,
    seed: int = 0,
    rate: Rate | None = None,
    method: str = "bayesian",
    warm_start: bool | None = None,
    select: Select | None = None,
    required: Iterable[tuple[str, str]] = (),
    forbidden: Iterable[tuple[str, str]] = (),
    initial_bins: int | None = None,
    missing: Literal["error", "drop"] = "error",
    checkpoint: PathLike | None = None,
    side_by_side: int = SIDE_BY_SIDE,
    max_cells: int = MAX_TABLE_CELLS,
    progress: bool = True,
    group: Iterable[str] | None = None,
    min_width: MinWidth = None,
) -> BayesNet:
    """Learn structure and cuts together: K2, with every continuous variable cut again after each accepted arc.

    Args:
        data: a DataFrame, or a dict of columns.
        continuous: the continuous columns; inferred if not given (see ``jaxbn.as_table``).
        order: one run with this order of the variables; parents come before their children in it.
        max_parents: most parents of a variable.
        max_passes: most passes of a discretization.
        restarts: without an order, how many random orders to try; the best network is kept.
        seed: of the random orders.
        rate: with ``"bayesian"``, L of the prior: ``"network"`` (the default), ``"blanket"`` or a number, see
            ``jaxbn.discretize``.
        method: ``"bayesian"``, ``"mdl"`` or ``"evidence"``. With the last, cuts, arcs and the choice among restarts all
            raise one number, the evidence of the data in original units (``net.trace``).
        warm_start: with ``"bayesian"`` and ``"mdl"``, after an arc go on from the current cuts instead of from bins of
            equal width: faster.
        select: with ``"bayesian"`` and ``"mdl"``, restarts are compared by ``"density"``, that of the data in original
            units (the default), or by ``"k2"``, the paper's score.
        required: arcs ``(parent, child)`` the network must have.
        forbidden: arcs it must not have.
        initial_bins: bins of the equal-width start; by default the largest cardinality of the discrete variables.
        missing: ``"error"`` or ``"drop"``.
        checkpoint: a file that keeps every finished restart; the same call started again goes on from it, also with
            more restarts.
        side_by_side: restarts that run together; the result does not depend on it.
        max_cells: a family whose table would have more cells is not considered.
        progress: show a bar where someone watches.
        group: discrete columns whose levels are merged by evidence, again in each pass; by default those with more than
            50 levels, and ``()`` for none.
        min_width: with ``"evidence"``, the smallest width of a bin, see ``jaxbn.discretize``.

    Returns:
        The fitted network. Interrupted by Ctrl-C it is the best so far, with a warning.

    Example:
        >>> import jaxbn
        >>> iris = jaxbn.datasets.load("iris")
        >>> net = jaxbn.learn(iris.frame, order=["class", *iris.continuous], max_parents=1)
        >>> net.parents["petal_width"]
        ('class',)
    """
    table = as_table(data, continuous=continuous, missing=missing)
    options = check_options(
        method=method,
        rate=rate,
        max_passes=max_passes,
        min_width=min_width,
        warm_start=warm_start,
        select=select,
        continuous=table.continuous,
    )
    checks.at_least("side_by_side", side_by_side, 1)
    constraints = as_constraints(table, max_parents, required, forbidden, max_cells)
    grouped = columns_to_group(table, group)
    bins = starting_bins(table, initial_bins, grouped)
    restarts = check_restarts(restarts, order)
    orders = (
        [given_order(order, table, constraints)]
        if order is not None
        else random_orders(table, constraints, restarts, seed)
    )
    run = {
        "columns": list(table.names),
        "continuous": list(table.continuous),
        "rows": table.n_rows,
        "data": fingerprint(table),
        "max_parents": constraints.max_parents,
        "required": {n: list(p) for n, p in constraints.required.items()},
        "forbidden": sorted(constraints.forbidden),
        "max_cells": constraints.max_cells,
        "initial_bins": bins,
        **({"group": list(grouped)} if grouped else {}),
        **options.described(),
    }
    coded = CodedTable(table, grouped)
    start = coded.start(bins)
    check_table_sizes(constraints.required, {n: c.n_states for n, c in start.columns.items()}, constraints.max_cells)
    steps = structure_steps(coded, start, constraints, options)
    with team(f"learn from {len(orders)} orders beginning with {orders[0]}: {json.dumps(run)}") as mates:
        saved = None
        if checkpoint is not None and mates.rank == 0:
            saved = open_checkpoint(checkpoint, run, orders)
        workshop = Workshop.of(coded, options)
        best = _best_restart(steps, orders, coded, workshop, saved, side_by_side, progress, mates)
    return as_network(table, best)


def structure_steps(
    data: CodedTable, start: Start, constraints: Constraints, options: Options
) -> Callable[..., Learner[Learned]]:
    """What learns a structure from a given `order`, told to `watch`, by the method that the options name."""
    if options.method == "evidence":
        return partial(climb, data, start=start, constraints=constraints, options=options)
    return partial(
        k2_steps,
        data,
        start=start,
        constraints=constraints,
        rate=options.rate,
        max_passes=options.limit,
        warm_start=options.warm_start,
        select=options.select,
    )


def as_network(table: Table, learned: Learned) -> BayesNet:
    """The fitted network of a learned structure; its score is that of the codes it was learned with."""
    parents = {name: list(learned.parents[name]) for name in table.names}
    return replace(fit(table, parents, learned.policies), score=learned.score, trace=learned.trace)


def _best_restart(
    steps: Any,
    orders: Sequence[tuple[str, ...]],
    data: CodedTable,
    workshop: Workshop,
    saved: Checkpoint | None,
    side_by_side: int,
    progress: bool,
    mates: Team,
) -> Learned:
    """The restart with the highest criterion; of equal ones the first. Several processes share the restarts."""
    known = exchanged(saved.finished if saved else {}, mates)
    found = {i: learned for i, learned in known.items() if i < len(orders)}
    left = [i for i in range(len(orders)) if i not in found]
    todo = [left[k] for k in mates.share(len(left))]
    partial_runs: dict[int, tuple[dict[str, tuple[str, ...]], Settled]] = {}
    with Progress(progress and mates.rank == 0, len(orders), len(data.names)) as bar:
        for i, learned in found.items():
            bar.finished(i, learned.criterion)

        def make(i: int) -> Learner[Learned]:
            def watch(done: int, parents: dict[str, tuple[str, ...]], settled: Settled) -> None:
                partial_runs[i] = (dict(parents), settled)
                bar.watch(i, done, sum(map(len, parents.values())))

            return steps(order=orders[i], watch=watch)

        try:
            for k, learned in run_together([partial(make, i) for i in todo], workshop, side_by_side):
                found[todo[k]] = learned
                bar.finished(todo[k], learned.criterion)
                if saved:
                    saved.add(todo[k], learned)
        except KeyboardInterrupt:
            if mates.size > 1 or (not found and not partial_runs):
                raise
            warnings.warn(
                f"interrupted: this is the best of {len(found)} finished restarts out of {len(orders)}"
                if found
                else "interrupted before a restart was finished: this is an unfinished network",
                InterruptedWarning,
                stacklevel=3,
            )
            if not found:
                found = _unfinished(partial_runs, orders, data)
    for i, learned in exchanged({i: found[i] for i in todo if i in found}, mates).items():
        found[i] = learned
        if saved and i not in saved.finished:
            saved.add(i, learned)
    return max(sorted(found.items()), key=lambda item: item[1].criterion)[1]


def _unfinished(
    runs: Mapping[int, tuple[dict[str, tuple[str, ...]], Settled]], orders: Sequence[tuple[str, ...]], data: CodedTable
) -> dict[int, Learned]:
    """The restart with the most arcs, as far as it came."""
    i, (parents, settled) = max(runs.items(), key=lambda run: sum(map(len, run[1][0].values())))
    fitted = fit(data.table, {n: list(p) for n, p in parents.items()}, settled.policies)
    return {i: Learned(orders[i], parents, settled.policies, fitted.score, density(data, settled.policies))}


def check_restarts(restarts: int, order: Sequence[str] | None) -> int:
    """How many orders to try: more than one only if none is given."""
    if checks.at_least("restarts", restarts, 1) > 1 and order is not None:
        raise ArgumentError(
            "restarts", f"is {restarts}, but with ", Mention("order"), " there is one run; leave one of them out"
        )
    return int(restarts)


def given_order(order: Sequence[str], table: Table, constraints: Constraints) -> tuple[str, ...]:
    """An order that names every column once, with the parents of required arcs first."""
    names = [str(name) for name in order]
    for name in names:
        checks.known_name("order", name, table.names)
        if names.count(name) > 1:
            raise ArgumentError("order", f"names {name!r} {names.count(name)} times; name every column once")
    missing = [name for name in table.names if name not in names]
    if missing:
        raise ArgumentError("order", f"leaves out {', '.join(map(repr, missing))}; name every column once")
    for child, found in constraints.required.items():
        for parent in found:
            if names.index(parent) > names.index(child):
                raise ArgumentError(
                    "order",
                    f"has {child!r} before {parent!r}, but the arc {parent!r} -> {child!r} is required; exchange them",
                )
    return tuple(names)


def random_orders(
    table: Table, constraints: Constraints, restarts: int, seed: int | np.random.Generator
) -> list[tuple[str, ...]]:
    """Random orders, the first of them the same whatever their number; required arcs point forward in each."""
    rng = np.random.default_rng(seed)
    orders = []
    for _ in range(restarts):
        shuffled = [table.names[i] for i in rng.permutation(len(table.names))]
        orders.append(topological_order({name: constraints.required.get(name, ()) for name in shuffled}))
    return orders
