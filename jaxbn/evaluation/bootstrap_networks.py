"""Structure and cuts learned in many resamples, side by side, each on its own rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from jaxbn.cuts.resampled import drawn_rows, stream
from jaxbn.inputs.graph import check_table_sizes
from jaxbn.inputs.table import Table
from jaxbn.learning.checkpoint import Checkpoint, exchanged, fingerprint, open_checkpoint
from jaxbn.learning.discretize import starting_bins
from jaxbn.learning.learn import check_restarts, given_order, random_orders, structure_steps
from jaxbn.learning.learned import Learned, Watcher
from jaxbn.learning.options import Options
from jaxbn.learning.questions import Learner
from jaxbn.learning.workshop import Workshop, run_each
from jaxbn.runtime.files import PathLike
from jaxbn.runtime.processes import Team, team
from jaxbn.runtime.progress import Progress
from jaxbn.scores.coded_table import CodedTable
from jaxbn.structure.constraints import Constraints, as_constraints

SIDE_BY_SIDE = 16
"""Resamples that run together; what they ask for at the same time is computed as one batch."""


class Plan(NamedTuple):
    """Checked arguments of a bootstrap of the structure."""

    table: Table
    options: Options
    initial_bins: int | None
    grouped: tuple[str, ...]
    seed: int
    constraints: Constraints
    order: tuple[str, ...] | None  # the same in every resample; None: random ones
    restarts: int

    @classmethod
    def checked(
        cls,
        table: Table,
        options: Options,
        initial_bins: int | None,
        grouped: tuple[str, ...],
        seed: int,
        learning: Mapping[str, Any],
    ) -> Plan:
        """The plan of some options of ``learn``."""
        limits = ("max_parents", "required", "forbidden", "max_cells")
        constraints = as_constraints(table, **{key: learning[key] for key in limits if key in learning})
        order = learning.get("order")
        return cls(
            table,
            options,
            initial_bins,
            grouped,
            seed,
            constraints,
            None if order is None else given_order(order, table, constraints),
            check_restarts(learning.get("restarts", 1), order),
        )

    def described(self) -> dict[str, Any]:
        """What the resamples depend on, as JSON can hold it."""
        return {
            "kind": "bootstrap",
            "columns": list(self.table.names),
            "continuous": list(self.table.continuous),
            "rows": self.table.n_rows,
            "data": fingerprint(self.table),
            "seed": self.seed,
            "order": None if self.order is None else list(self.order),
            "restarts": self.restarts,
            "max_parents": self.constraints.max_parents,
            "required": {n: list(p) for n, p in self.constraints.required.items()},
            "forbidden": sorted(map(list, self.constraints.forbidden)),
            "max_cells": self.constraints.max_cells,
            "initial_bins": self.initial_bins,
            "group": list(self.grouped),
            **self.options.described(),
        }


def learn_resamples(
    plan: Plan, count: int, checkpoint: PathLike | None, side_by_side: int, progress: bool
) -> list[Learned]:
    """The network of every resample. Several processes share them; process 0 keeps the checkpoint."""
    with team(f"{count} resamples of {json.dumps(plan.described())}, {side_by_side} side by side") as mates:
        saved = None
        if checkpoint is not None and mates.rank == 0:
            saved = open_checkpoint(checkpoint, plan.described(), ())
        known = exchanged({} if saved is None else saved.finished, mates)
        found = {i: each for i, each in known.items() if i < count}
        todo = [i for i in range(count) if i not in found]
        step = side_by_side * mates.size if mates.size > 1 else max(len(todo), 1)
        with Progress(progress and mates.rank == 0, count, len(plan.table.names), "resamples") as bar:
            for i in found:
                bar.finished(i)
            for first in range(0, len(todo), step):
                found.update(_round(plan, todo[first : first + step], side_by_side, saved, mates, bar))
    return [found[i] for i in range(count)]


def _round(
    plan: Plan, numbers: Sequence[int], side_by_side: int, saved: Checkpoint | None, mates: Team, bar: Progress
) -> dict[int, Learned]:
    """Some resamples; each process computes its share of them and gets all."""
    mine = [numbers[k] for k in mates.share(len(numbers))]

    def make(i: int) -> tuple[Workshop, Learner[Learned]]:
        def watch(done: int, parents: dict[str, tuple[str, ...]], _: Any) -> None:
            bar.watch(i, done, sum(map(len, parents.values())))

        return _learner(plan, i, watch)

    found: dict[int, Learned] = {}
    for k, learned in run_each([partial(make, i) for i in mine], side_by_side):
        found[mine[k]] = learned
        bar.finished(mine[k])
        if saved is not None:
            saved.add(mine[k], learned)
    for i, learned in exchanged(found, mates).items():
        found[i] = learned
        if saved is not None and i not in saved.finished:
            saved.add(i, learned)
    return found


def _learner(plan: Plan, number: int, watch: Watcher) -> tuple[Workshop, Learner[Learned]]:
    """One resample: its rows, its orders, and the best network of these."""
    rng = stream(plan.seed, number)
    table = plan.table.take(drawn_rows(rng, plan.table.n_rows))
    orders = random_orders(table, plan.constraints, plan.restarts, rng) if plan.order is None else [plan.order]
    data = CodedTable(table, plan.grouped)
    start = data.start(starting_bins(table, plan.initial_bins, plan.grouped))
    sizes = {name: column.n_states for name, column in start.columns.items()}
    check_table_sizes(plan.constraints.required, sizes, plan.constraints.max_cells)

    learn_order = structure_steps(data, start, plan.constraints, plan.options)

    def steps() -> Learner[Learned]:
        best = None
        for order in orders:
            learned = yield from learn_order(order=order, watch=watch)
            if best is None or learned.criterion > best.criterion:
                best = learned
        assert best is not None
        return best

    return Workshop.of(data, plan.options), steps()
