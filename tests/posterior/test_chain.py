"""Every move leaves exp(F) invariant, and long chains visit networks as often as enumeration says."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy.special import logsumexp

from jaxbn.cuts.binning import Binning
from jaxbn.inputs.table import as_table
from jaxbn.posterior.arcs import differences, moved, slots
from jaxbn.posterior.chain import Chain
from jaxbn.scores.coded_table import CodedTable
from jaxbn.structure.constraints import Rules, ancestors, mask_of
from tests.helpers.coded_columns import numbered_rules
from tests.reference.posterior import every_policy, everything_by_enumeration, log_target
from tests.reference.structure import all_graphs

COLUMNS = [
    np.array([0, 1, 0, 1, 1, 0, 1, 0, 1, 1]),
    np.array([1.0, 2.0, 1.0, 4.0, 2.0, 1.0, 4.0, 1.0, 2.5, 4.0]),
    np.array([0.5, 0.5, 0.7, 0.9, 0.7, 0.5, 0.9, 0.5, 0.9, 0.9]),
]
"""A discrete and two continuous columns, of 4 and 3 distinct values."""


def rules(n: int = 3, max_parents: int = 2) -> Rules:
    return numbered_rules([2] * n, max_parents=max_parents)


def masks(graph) -> tuple[int, ...]:
    return tuple(mask_of(sorted(parents)) for parents in graph)


@pytest.mark.parametrize(("kind", "child"), [("toggle", 0), ("reverse", 0), ("swap", 0), ("swap", 2)])
def test_each_move_is_in_detailed_balance(kind: str, child: int) -> None:
    """All slots of all graphs of four columns, for random probabilities of graphs."""
    graphs = [masks(graph) for graph in all_graphs(4)]
    chance = dict(zip(graphs, np.random.default_rng(0).dirichlet(np.ones(len(graphs))), strict=True))
    flow: dict = Counter()
    for graph in graphs:
        found = slots(graph, kind, child)
        for slot in found:
            new = moved(graph, slot)
            if new != graph and rules(4, 3).allows(new, differences(graph, new), [2] * 4):
                flow[graph, new] += chance[graph] / len(found) * min(1.0, chance[new] / chance[graph])
    assert flow
    for (graph, new), there in flow.items():
        assert abs(there - flow[new, graph]) < 1e-15


def test_rules_find_cycles_and_limits() -> None:
    every = set(itertools.product(range(8), repeat=3))
    every = {graph for graph in every if not any(mask >> v & 1 for v, mask in enumerate(graph))}
    legal = {masks(graph) for graph in all_graphs(3)}
    assert {graph for graph in every if rules().allows(graph, range(3), [2, 2, 2])} == legal
    assert {graph for graph in every if not any(ancestors(graph, v) >> v & 1 for v in range(3))} == legal
    limited = numbered_rules([2] * 3, max_parents=1, required={1: [0]}, forbidden=[(2, 0)], max_cells=10)
    assert limited.allows((0, 0b1, 0b10), [1, 2], [3, 3, 3])
    assert not limited.allows((0, 0, 0), [1], [3, 3, 3])  # a required arc is missing
    assert not limited.allows((0b100, 0b1, 0), [0], [3, 3, 3])  # forbidden
    assert not limited.allows((0, 0b1, 0b11), [2], [3, 3, 3])  # too many parents
    assert not limited.allows((0, 0b1, 0b10), [2], [3, 4, 3])  # too many cells


def chain_of(columns, continuous, **options) -> Chain:
    frame = {f"c{i}": column for i, column in enumerate(columns)}
    table = as_table(frame, continuous=[f"c{i}" for i in continuous])
    return Chain(CodedTable(table), rules(len(columns)), options.pop("grid", 512), **options)


def key_of(chain: Chain, state) -> tuple:
    return state.graph, tuple(tuple(state.codings[name].cuts.tolist()) for name in chain.data.ordered)


def test_the_target_is_f() -> None:
    chain = chain_of(COLUMNS, [1, 2])
    codings = {"c1": [1.5], "c2": [0.6, 0.8]}
    state = chain.begin(
        {"c0": (), "c1": ("c0",), "c2": ("c0", "c1")}, {name: Binning(np.array(e)) for name, e in codings.items()}
    )
    cuts = {1: np.array([1.5]), 2: np.array([0.6, 0.8])}
    expected = log_target(COLUMNS, [1, 2], [frozenset(), frozenset({0}), frozenset({0, 1})], cuts)
    assert abs(chain.log_target(state) - expected) < 1e-9


@pytest.mark.parametrize(
    ("moves_arcs", "n"), [(True, 240), (False, 240), pytest.param(True, 3000, marks=pytest.mark.slow)]
)
def test_long_runs_agree_with_enumeration(moves_arcs: bool, n: int) -> None:
    """Frequencies of arcs, cuts, numbers of bins and pairs of these, within 4 standard errors of batch means."""
    chain = chain_of(COLUMNS, [1, 2], moves_arcs=moves_arcs)
    every = everything_by_enumeration(COLUMNS, [1, 2], 2)
    start = {"c0": (), "c1": ("c0",), "c2": ("c1",)}
    if not moves_arcs:
        fixed = (frozenset(), frozenset({0}), frozenset({1}))
        every = [each for each in every if each[0] == fixed]
        total = sum(p for *_, p in every)
        every = [(graph, cuts, p / total) for graph, cuts, p in every]
    expected = {(masks(g), tuple(tuple(c.tolist()) for c in cuts.values())): p for g, cuts, p in every}
    state = chain.begin(start, chain.data.start(2).binnings)
    rng = np.random.default_rng(1)
    seen = []
    for _ in range(n):
        (state,) = chain.sweep([state], [rng])
        seen.append(key_of(chain, state))
    statistics = {
        "arc": lambda s: s[0][2] >> 1 & 1,
        "other arc": lambda s: s[0][1] >> 0 & 1,
        "reverse": lambda s: s[0][0] >> 1 & 1,
        "cut": lambda s: s[1][0][:1] == (1.5,),
        "bins": lambda s: len(s[1][0]) + len(s[1][1]),
        "both": lambda s: (s[0][2] >> 1 & 1) * (len(s[1][1]) > 0),
        "empty": lambda s: s[0] == (0, 0, 0),
    }
    for name, statistic in statistics.items():
        exact = sum(p * statistic(key) for key, p in expected.items())
        values = np.array([float(statistic(each)) for each in seen])
        batches = values.reshape(20, -1).mean(axis=1)
        error = max(batches.std(ddof=1) / np.sqrt(20), 1e-9)
        assert abs(values.mean() - exact) <= 4 * error, (name, values.mean(), exact, error)


def summed_cuts(graph, column: int, cuts: dict[int, np.ndarray]) -> float:
    """Log of the sum of exp(F) over all cuts of one column, by enumeration."""
    binnings = every_policy(np.unique(COLUMNS[column]))
    return float(logsumexp([log_target(COLUMNS, [1, 2], graph, {**cuts, column: binning}) for binning in binnings]))


@pytest.mark.parametrize("likely", [{}, {"c1": Binning(np.array([2.25])), "c2": Binning(np.array([0.6, 0.8]))}])
@pytest.mark.parametrize("column", [1, 2])
def test_arcs_with_the_cuts_summed_out_are_in_detailed_balance(column: int, likely: dict[str, Binning]) -> None:
    """Graphs are proposed as probable as they seem by bins that do not depend on the cuts; the ratios that correct it.

    Of three columns all arcs are drawn together, so what flows is known for every pair of graphs.
    """
    chain = chain_of(COLUMNS, [1, 2], likely=likely)
    binnings = {"c1": Binning(np.array([1.5])), "c2": Binning(np.array([0.6, 0.8]))}
    other = {**binnings, f"c{column}": Binning(np.array([]))}
    cuts = {1: np.array([1.5]), 2: np.array([0.6, 0.8])}
    graphs = {masks(graph): graph for graph in all_graphs(3)}
    state, recut = (chain.begin({"c0": (), "c1": (), "c2": ()}, each) for each in (binnings, other))
    plain, again = chain._plain(state, column), chain._plain(recut, column)
    seems = {graph: sum(plain(v, parents) for v, parents in enumerate(graph)) for graph in graphs}
    assert seems == {graph: sum(again(v, parents) for v, parents in enumerate(graph)) for graph in graphs}
    logs = {graph: summed_cuts(parents, column, cuts) for graph, parents in graphs.items()}
    for graph, new in itertools.permutations(graphs, 2):
        both = [state._replace(graph=each) for each in (graph, new)]
        sums = chain._summed(both, column)
        changed = differences(graph, new)
        before, after = (s.log_evidence + chain._rest(b, column, changed) for b, s in zip(both, sums, strict=True))
        gain = after - before
        assert abs(gain - (logs[new] - logs[graph])) < 1e-9
        more = seems[new] - seems[graph]
        there = logs[graph] + seems[new] + min(0.0, gain - more)
        assert abs(there - (logs[new] + seems[graph] + min(0.0, more - gain))) < 1e-9


def test_graphs_are_proposed_as_often_as_they_seem_probable() -> None:
    chain = chain_of(COLUMNS, [1, 2])
    state = chain.begin({"c0": (), "c1": ("c0",), "c2": ("c1",)}, chain.data.start(2).binnings)
    plain, rng, n = chain._plain(state, 1), np.random.default_rng(2), 4_000
    drawn = [chain._proposed(state, 1, rng) for _ in range(n)]
    logs = {masks(graph): sum(plain(v, parents) for v, parents in enumerate(masks(graph))) for graph in all_graphs(3)}
    assert all(abs(more - (logs[new] - logs[state.graph])) < 1e-9 for new, more in drawn)
    seen, total = Counter(new for new, _ in drawn), logsumexp(list(logs.values()))
    for graph, log in logs.items():
        chance = np.exp(log - total)
        assert abs(seen[graph] / n - chance) <= 5 * np.sqrt(chance / n)


def test_arcs_move_by_the_scores_of_families_with_all_cuts_as_they_are() -> None:
    """The score that proposals of arcs, and draws of all parents, go by is F up to what does not change."""
    chain = chain_of(COLUMNS, [1, 2])
    binnings = {"c1": Binning(np.array([1.5])), "c2": Binning(np.array([0.6, 0.8]))}
    cuts = {1: np.array([1.5]), 2: np.array([0.6, 0.8])}
    state = chain.begin({"c0": (), "c1": (), "c2": ()}, binnings)
    for graph in all_graphs(3):
        found = chain.log_target(state._replace(graph=masks(graph)))
        assert abs(found - log_target(COLUMNS, [1, 2], graph, cuts)) < 1e-9


def test_chains_side_by_side_do_what_each_does_alone() -> None:
    chain = chain_of(COLUMNS, [1, 2])
    state = chain.begin({"c0": (), "c1": ("c0",), "c2": ("c1",)}, chain.data.start(2).binnings)

    def swept(numbers: list[int]) -> list[tuple]:
        states, rngs = [state] * len(numbers), [np.random.default_rng(n) for n in numbers]
        for _ in range(5):
            states = chain.sweep(states, rngs)
        return [key_of(chain, each) for each in states]

    alone = [swept([n])[0] for n in range(3)]
    assert swept([0, 1, 2]) == alone
