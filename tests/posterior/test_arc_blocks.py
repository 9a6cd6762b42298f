"""All arcs among some columns, drawn together: every graph with exactly its probability given the other arcs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import logsumexp

from jaxbn.posterior import arcs
from jaxbn.posterior.arcs import Families, Graph, blocks, draw_block
from jaxbn.structure.constraints import Rules, mask_of
from tests.helpers.coded_columns import numbered_rules
from tests.reference.structure import all_graphs

N = 4
GRAPHS = [tuple(mask_of(sorted(parents)) for parents in graph) for graph in all_graphs(N)]
FREE = numbered_rules([2] * N, max_parents=3)
LIMITED = numbered_rules([2] * N, max_parents=2, required={0: [1]}, forbidden=[(3, 1), (0, 3)], max_cells=11)
STATES = [2, 3, 2, 2]


def scores(scale: float) -> Callable[[int, int], float]:
    values = np.random.default_rng(3).normal(scale=scale, size=(N, 2**N))
    return lambda child, parents: float(values[child, parents])


def exact_chances(draw: Callable[[], Graph], monkeypatch: pytest.MonkeyPatch) -> dict[Graph, float]:
    """The probability of every result: all choices by chance are made in every way, one way after the other."""
    taken: list[tuple[int, np.ndarray]] = []  # the choice made at each turn, and the chances of all
    path: list[int] = []

    def chosen(logs: np.ndarray, rng: np.random.Generator) -> int:
        turn = len(taken)
        chances = np.exp(logs - logsumexp(logs))
        possible = np.flatnonzero(chances > 0)
        if turn == len(path):
            path.append(int(possible[0]))
        taken.append((path[turn], chances))
        return path[turn]

    monkeypatch.setattr(arcs, "_drawn", chosen)
    found: dict[Graph, float] = Counter()
    while True:
        taken.clear()
        graph = draw()
        found[graph] += float(np.prod([chances[i] for i, chances in taken]))
        while path:  # the next way: the last choice that has another
            i, chances = taken[len(path) - 1]
            further = np.flatnonzero(chances[i + 1 :] > 0)
            if len(further):
                path[-1] = i + 1 + int(further[0])
                break
            path.pop()
        if not path:
            return found


@pytest.mark.parametrize("scale", [1.0, 40.0])
@pytest.mark.parametrize("rules", [FREE, LIMITED])
@pytest.mark.parametrize(
    ("members", "graph"),
    [
        ([0, 1, 2, 3], (0b10, 0, 0, 0)),
        ([0, 3], (0b10, 0, 0b1, 0b100)),  # 1 -> 0 -> 2 -> 3: 0 must stay before 3
        ([2, 0, 1], (0b10, 0, 0, 0b10)),
        ([3, 1, 0], (0b10, 0, 0b1, 0b100)),  # with 0 -> 2 -> 3 outside
        ([2], (0b10, 0, 0b1, 0b10)),
    ],
)
def test_every_graph_has_its_exact_probability(
    scale: float, rules: Rules, members: list[int], graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_score, inside = scores(scale), mask_of(sorted(members))
    found = exact_chances(
        lambda: draw_block(graph, members, Families(rules, STATES, log_score), np.random.default_rng()), monkeypatch
    )
    outside = [~inside if v in members else ~0 for v in range(N)]  # parents that must stay
    possible = [g for g in GRAPHS if all((a ^ b) & kept == 0 for a, b, kept in zip(g, graph, outside, strict=True))]
    possible = [g for g in possible if rules.allows(g, members, STATES)]
    assert graph in possible
    logs = np.array([sum(log_score(v, g[v]) for v in range(N)) for g in possible])
    expected = dict(zip(possible, np.exp(logs - logsumexp(logs)), strict=True))
    assert set(found) <= set(expected)
    for g, chance in expected.items():
        assert abs(found.get(g, 0.0) - chance) < 1e-9


def test_draws_follow_these_probabilities() -> None:
    log_score, rng, n = scores(1.0), np.random.default_rng(0), 4000
    families = Families(FREE, STATES, log_score)
    drawn = Counter(draw_block(GRAPHS[0], range(N), families, rng) for _ in range(n))
    logs = np.array([sum(log_score(v, g[v]) for v in range(N)) for g in GRAPHS])
    chances = np.exp(logs - logsumexp(logs))
    statistic = sum((drawn[g] - n * p) ** 2 / (n * p) for g, p in zip(GRAPHS, chances, strict=True) if n * p > 5)
    classes = int((n * chances > 5).sum())
    assert classes > 30
    assert abs(statistic - classes) < 4 * np.sqrt(2 * classes)


def test_blocks_hold_every_column_once() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 5, 6, 7, 12, 13, 31):
        found = blocks(n, 6, rng)
        assert sorted(v for each in found for v in each) == list(range(n))
        assert max(map(len, found)) <= 6
    assert blocks(13, 6, rng) != blocks(13, 6, rng)
