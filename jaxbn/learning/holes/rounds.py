"""Rounds of completing and learning: structural EM on completed tables.

A round completes the rows under the current network, by expected values or by draws from the exact posterior, and
learns on the complete table, starting from that network. Expected values reveal arcs that the network lacks; draws
are as noisy as the rows. The best network of all rounds, by the evidence of what was observed, is finished with
its last cuts. What a round settles depends on its draws alone, so the same seed gives the same result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from jaxbn.inputs.graph import Parents
from jaxbn.learning.holes.completion import completed, expected, matched
from jaxbn.learning.learned import Learned
from jaxbn.learning.many_runs import ManyRuns
from jaxbn.learning.plan import Plan, Runs
from jaxbn.learning.solver import Solver
from jaxbn.model.inference.em import fit_by_em
from jaxbn.model.inference.network import Structure, positions
from jaxbn.scores.coded_table import CodedTable, Coding, same_coding
from jaxbn.scores.evidence import EvidenceCache
from jaxbn.scores.tables import k2_score

PLAIN_ROUNDS = (completed, completed)
"""How rows are completed after the first time, where networks are not compared; fewer if nothing changes."""

COMPARED_ROUNDS = (expected, expected, matched, matched)
"""The same where they are compared."""

MOST_ENTRIES = 10**6
"""Rows times columns of a table whose networks of all rounds are compared."""


TOLERANCE = 1e-4
"""EM ends when a round gains less than this for each row, in nats, where networks are compared."""


class Round(NamedTuple):
    """A completion of the table, and the search on it."""

    data: CodedTable
    runs: Runs
    solver: Solver

    @classmethod
    def of(cls, data: CodedTable, plan: Plan) -> Round:
        """The round on a complete table."""
        return cls(data, plan.runs(data), Solver.of(data, plan.options))


def settle(
    many: ManyRuns, first: Round, plan: Plan, holed: CodedTable, rng: np.random.Generator, keep: Callable[[Round], None]
) -> Learned:
    """The best run of the first round, learned again on further completions; the best of these, with its last cuts.

    Args:
        many: the runs of the first round, which are done.
        first: the first completion.
        plan: options of the search.
        holed: the table with its holes.
        rng: of the draws.
        keep: told every round as it begins, so that it is known if the search is interrupted.
    """
    learned, now = many.best, first
    kept = _Best(plan, holed, learned, now)
    kept.see(learned, now)
    for complete in COMPARED_ROUNDS if kept.compares else PLAIN_ROUNDS:
        table = complete(holed, learned.parents, learned.binnings, rng, now.data)
        now = Round.of(holed.like(table), plan)
        keep(now)
        before, learned = learned, many.finish(now.solver, now.runs.again, learned)
        kept.see(learned, now)
        if not kept.compares and same_network(before, learned):
            break
    keep(kept.round)
    return many.finish(kept.round.solver, kept.round.runs.finish, kept.learned)


@dataclass
class _Best:
    """The best network so far by the evidence of the observed entries; the last one where that is not computed."""

    plan: Plan
    holed: CodedTable
    learned: Learned
    round: Round
    value: float = -math.inf

    @property
    def compares(self) -> bool:
        """Whether networks are compared: in large tables all completions lead to the same one."""
        few = self.holed.table.n_rows * len(self.holed.names) <= MOST_ENTRIES
        return few and self.plan.options.name == "evidence"

    @cached_property
    def cache(self) -> EvidenceCache:
        return EvidenceCache(self.holed, self.plan.search != "k2", self.plan.rules.required, self.plan.rules.links)

    def see(self, learned: Learned, now: Round) -> None:
        """Look at a network and the round that found it."""
        if self.compares:
            value = observed_evidence(self.cache, self.holed, learned.parents, learned.binnings)
            if value <= self.value:
                return
            self.value = value
        self.learned, self.round = learned, now


def same_network(a: Learned, b: Learned) -> bool:
    """Whether two networks have the same arcs and codings."""
    same_arcs = {n: set(p) for n, p in a.parents.items()} == {n: set(p) for n, p in b.parents.items()}
    return same_arcs and all(same_coding(a.binnings[name], b.binnings[name]) for name in a.binnings)


def observed_evidence(cache: EvidenceCache, data: CodedTable, parents: Parents, codings: Mapping[str, Coding]) -> float:
    """F of a network with its cuts and groups, given the observed entries of each row.

    It is approximated as by Cheeseman and Stutz (1996), found the most accurate of the quick ways by Chickering and
    Heckerman (1997):

        ln P(observed) ~ ln P(completed) - ln P(completed | tables) + ln P(observed | tables)

    The completed table is one of expected counts, and its tables are those of EM. Where nothing is missing it is exact.

    Args:
        cache: of `data`.
        data: the table with its holes.
        parents: the structure.
        codings: cuts and groups.
    """
    names = list(data.names)
    columns = data.recoded(codings).columns
    codes = np.stack([columns[name].codes for name in names], axis=1)
    structure = Structure(positions({name: parents[name] for name in names}), tuple(columns[n].n_states for n in names))
    found = fit_by_em(structure, codes, tolerance=TOLERANCE)
    terms = [cache.without_families(parents, columns, codings), found.log_likelihood]
    for counts, logs in zip(found.counts, found.network.log_tables, strict=True):
        terms += [k2_score(counts), -float(counts.ravel() @ logs.ravel())]
    return math.fsum(terms)
