"""Rounds of completing and learning: structural EM on completed tables.

A round completes the rows under the current network, by expected values or by draws from the exact posterior, and
learns on the complete table, starting from that network. Expected values reveal arcs that the network lacks; draws
are as noisy as the rows. The best network of all rounds, by the evidence of what was observed, is finished with
its last cuts. What a round settles depends on its draws alone, so the same seed gives the same result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from jaxbn.cuts.evidence import WEIGHT
from jaxbn.inputs.graph import Parents
from jaxbn.learning.holes.completion import completed, expected, matched
from jaxbn.learning.many_runs import ManyRuns
from jaxbn.learning.passes import Learned
from jaxbn.learning.plan import Plan
from jaxbn.model.inference.em import Counter, fit_by_em
from jaxbn.model.inference.network import Structure, positions
from jaxbn.scores.coded_table import CodedTable, Coding, same_coding
from jaxbn.scores.evidence import EvidenceCache
from jaxbn.scores.tables import k2_score

PLAIN_ROUNDS = (completed, completed)  # how rows are completed after the first time; fewer if nothing changes
COMPARED_ROUNDS = (expected, expected, matched, matched)  # the same where networks are compared
MOST_ENTRIES = 10**6  # rows times columns of a table whose networks of all rounds are compared
TOLERANCE = 1e-4  # EM ends when a round gains less than this for each row, in nats, where networks are compared


def settle(many: ManyRuns, plan: Plan, holed: CodedTable, rng: np.random.Generator) -> Learned:
    """The best run on the first completion, learned again on further ones; the best of these, with its last cuts.

    `many` has done the runs on the first completion. It is told of every further one as it begins, so that it is known
    if the search is interrupted.
    """
    # in large tables all completions lead to the same network
    compares = plan.options.name == "evidence" and holed.table.n_rows * len(holed.names) <= MOST_ENTRIES
    cache = EvidenceCache(holed, plan.arc_charge(holed.table), plan.rules.required, plan.rules.links)

    def value(learned: Learned) -> float:
        return observed_evidence(cache, holed, learned.parents, learned.binnings) if compares else math.inf

    learned = many.best
    best = learned, many.runs, value(learned)
    compares = compares and best[2] > -math.inf
    for complete in COMPARED_ROUNDS if compares else PLAIN_ROUNDS:
        # tables are counted in the last completion, where every row has all of every family
        table = complete(holed, learned.parents, learned.binnings, rng, many.runs.data)
        many.begin(plan.runs(holed.like(table)))
        before, learned = learned, many.finish(many.runs.again, learned)
        found = learned, many.runs, value(learned)
        if not compares or found[2] > best[2]:
            best = found
        if not compares and same_network(before, learned):
            break
    # on the completion that it was learned from: its F is that of this table, and can only rise there
    many.begin(best[1])
    return many.finish(many.runs.finish, best[0])


def same_network(a: Learned, b: Learned) -> bool:
    """Whether two networks have the same arcs and codings."""
    same_arcs = {n: set(p) for n, p in a.parents.items()} == {n: set(p) for n, p in b.parents.items()}
    return same_arcs and all(same_coding(a.binnings[name], b.binnings[name]) for name in a.binnings)


def observed_evidence(cache: EvidenceCache, data: CodedTable, parents: Parents, codings: Mapping[str, Coding]) -> float:
    """F of a network with its cuts and groups, given the observed entries of each row of a table with holes.

    It is approximated as by Cheeseman and Stutz (1996), found the most accurate of the quick ways by Chickering and
    Heckerman (1997):

        ln P(observed) ~ ln P(completed) - ln P(completed | tables) + ln P(observed | tables)

    The completed table is one of expected counts, and its tables are those of EM. Where nothing is missing it is exact.
    Minus infinity, where some rows would take too long to sum over: their number depends on the network.
    """
    names = list(data.names)
    columns = data.recoded(codings).columns
    codes = np.stack([columns[name].codes for name in names], axis=1)
    structure = Structure(positions({name: parents[name] for name in names}), tuple(columns[n].n_states for n in names))
    counter = Counter(structure, codes)
    if counter.left_out:
        return -math.inf
    found = fit_by_em(structure, codes, tolerance=TOLERANCE, counter=counter)
    terms = [cache.without_families(parents, columns, codings), found.log_likelihood]
    for counts, logs in zip(found.counts, found.network.log_tables, strict=True):
        terms += [k2_score(counts, WEIGHT), -float(counts.ravel() @ logs.ravel())]
    return math.fsum(terms)
