"""Rounds of completing and learning: structural EM by simulation.

A round completes the rows by draws from the exact posterior of the network so far, and learns on the complete table,
from where the network stands. What a round settles depends on its draws alone, so the same seed gives the same result.
At the end the cuts are those of the rows that each factor has, without any draw.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxbn.learning.holes.completion import completed
from jaxbn.learning.learned import Learned
from jaxbn.learning.many_runs import ManyRuns
from jaxbn.learning.plan import Plan, Runs
from jaxbn.learning.workshop import Workshop
from jaxbn.scores.coded_table import CodedTable, same_coding

ROUNDS = 2
"""Completions after the first one, at most."""


class Round(NamedTuple):
    """A completion of the table, and the search on it."""

    data: CodedTable
    runs: Runs
    workshop: Workshop

    @classmethod
    def of(cls, data: CodedTable, plan: Plan) -> Round:
        """The round on a complete table."""
        return cls(data, plan.runs(data), Workshop.of(data, plan.options))


def settle(
    many: ManyRuns, first: Round, plan: Plan, holed: CodedTable, rng: np.random.Generator, keep: Callable[[Round], None]
) -> Learned:
    """The best run of the first round, learned again on further completions until it repeats; then exact cuts.

    Args:
        many: the runs of the first round, which are done.
        first: the first completion.
        plan: options of the search.
        holed: the table with its holes.
        rng: of the draws.
        keep: told every round as it begins, so that it is known if the search is interrupted.
    """
    learned, now = many.best, first
    for _ in range(ROUNDS):
        table = completed(holed, learned.parents, learned.policies, rng, now.data)
        now = Round.of(CodedTable(table, plan.grouped), plan)
        keep(now)
        before, learned = learned, many.finish(now.workshop, now.runs.again, learned)
        if same_network(before, learned):
            break
    return many.finish(now.workshop, now.runs.finish, learned)


def same_network(a: Learned, b: Learned) -> bool:
    """Whether two networks have the same arcs and codings."""
    same_arcs = {n: set(p) for n, p in a.parents.items()} == {n: set(p) for n, p in b.parents.items()}
    return same_arcs and all(same_coding(a.policies[name], b.policies[name]) for name in a.policies)
