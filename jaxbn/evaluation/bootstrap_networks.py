"""Structure and cuts learned in many resamples, side by side, each on its own rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext
from functools import cache
from typing import Any

from jaxbn.cuts.resampled import drawn_rows, stream
from jaxbn.inputs.table import Table
from jaxbn.learning.checkpoint import open_checkpoint
from jaxbn.learning.columns import Columns
from jaxbn.learning.holes.completion import completed
from jaxbn.learning.learn import learn
from jaxbn.learning.many_runs import ManyRuns, all_runs
from jaxbn.learning.passes import Learned, Watcher
from jaxbn.learning.plan import Plan
from jaxbn.learning.solver import Learner, Solver
from jaxbn.model.bayesnet import BayesNet
from jaxbn.runtime import limits
from jaxbn.runtime.files import PathLike
from jaxbn.runtime.processes import team
from jaxbn.runtime.progress import Progress

SIDE_BY_SIDE = 16
"""Resamples that run together: what they ask for at the same time is computed as one batch."""


def network_for_draws(table: Table, plan: Plan, options: Mapping[str, Any]) -> BayesNet | None:
    """The network that missing entries of the resamples are drawn from; none if there are no such entries.

    Args:
        table: all rows.
        plan: the search in each resample.
        options: those of ``learn`` for the structure that were given.
    """
    if not table.holes:
        return None
    columns = Columns(merge_levels=plan.merged, cuts=plan.given)
    own: Any = {"method": plan.options, "columns": columns, "seed": plan.seed, "progress": False, "restarts": 1}
    return learn(table, **{**options, **own})


def learn_resamples(
    table: Table,
    plan: Plan,
    count: int,
    checkpoint: PathLike | None,
    progress: bool,
    guess: BayesNet | None = None,
) -> list[Learned]:
    """The network of every resample, or of those that were finished when Ctrl-C or the time ended it.

    Several processes share them; process 0 keeps the checkpoint.

    Where entries are missing, every resample is completed by draws from the structure and cuts of `guess`.
    """
    order = None if plan.k2.order is None else list(plan.k2.order)

    @cache
    def about() -> dict[str, Any]:
        own = {"seed": plan.seed, "restarts": plan.restarts, "order": order}
        return {"kind": "bootstrap", **plan.described(table), **own}

    whole = plan.coded(table)

    def resample(number: int, watch: Watcher) -> tuple[Solver, Learner[Learned]]:
        """One resample: its rows written out, and the best network of its runs."""
        rng = stream(plan.seed, number)
        data = whole.like(table.take(drawn_rows(rng, table.n_rows)))
        if guess is not None:
            data = data.like(completed(data, guess.parents, guess.codings, rng))
        runs = plan.runs(data, rng)
        return runs.solver, all_runs(runs, watch)

    with team(lambda: f"{count} resamples of {json.dumps(about())}") as mates:
        with (
            nullcontext() if checkpoint is None or mates.rank else open_checkpoint(checkpoint, about()) as saved,
            Progress(progress and mates.rank == 0, count, len(table.names), "resamples") as bar,
            limits.ending_early() as ending,
        ):
            many = ManyRuns(mates, bar, saved, SIDE_BY_SIDE)
            many.resume(range(count))
            many.do(range(count), resample)
        if ending.early and (not many.found or mates.size > 1):
            ending.reraise()
    return [many.found[i] for i in sorted(many.found)]
