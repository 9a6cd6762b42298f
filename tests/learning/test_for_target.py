"""Arcs for a target, against leaving every row out in turn."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray

from jaxbn.counts.codes import Column
from jaxbn.learning.for_target import NONE, TargetArcs


def columns(rng: np.random.Generator, n: int, states: list[int]) -> list[Column]:
    found = []
    for i, size in enumerate(states):
        codes = rng.integers(0, size, n)
        codes[:size] = np.arange(size)
        found.append(Column(i, codes.astype(np.int32), size))
    return found


def told(target: Column, features: list[Column], chosen: dict[int, int], alpha: float) -> float:
    """Σ ln P(target | features) with the tables of all other rows, row by row."""
    n, total = len(target.codes), 0.0
    for row in range(n):
        rest = np.delete(np.arange(n), row)
        logs = np.array([np.log((target.codes[rest] == c).sum() + alpha) for c in range(target.n_states)])
        for i, other in chosen.items():
            logs += [_log_chance(target, features, i, other, row, rest, c, alpha) for c in range(target.n_states)]
        total += logs[target.codes[row]] - np.log(np.exp(logs).sum())
    return total


def _log_chance(
    target: Column, features: list[Column], i: int, other: int, row: int, rest: NDArray, c: int, alpha: float
) -> float:
    feature = features[i]
    same = target.codes[rest] == c
    if other != NONE:
        same &= features[other].codes[rest] == features[other].codes[row]
    hits = same & (feature.codes[rest] == feature.codes[row])
    return np.log((hits.sum() + alpha) / (same.sum() + alpha * feature.n_states))


@pytest.mark.parametrize("seed", range(8))
def test_score_is_that_of_leaving_each_row_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    target, *features = columns(rng, 40, [3, 2, 4, 3, 1])
    features[0] = Column(9, ((target.codes + (rng.random(40) < 0.2)) % 2).astype(np.int32), 2)
    alpha = [1.0, 0.5][seed % 2]
    arcs = TargetArcs(target, features, alpha).search()
    assert arcs.score == pytest.approx(told(target, features, arcs.chosen, alpha), abs=1e-9)
    assert arcs.score >= TargetArcs(target, features, alpha).score


@pytest.mark.parametrize("seed", range(5))
def test_arcs_have_no_cycle_and_columns_of_one_state_none(seed: int) -> None:
    rng = np.random.default_rng(seed)
    target = Column(0, rng.integers(0, 2, 300).astype(np.int32), 2)
    chain = [target.codes]
    for _ in range(6):
        chain.append(np.where(rng.random(300) < 0.15, rng.integers(0, 2, 300), chain[-1] ^ target.codes))
    features = [Column(i + 1, codes.astype(np.int32), 2) for i, codes in enumerate(chain[1:])]
    features.append(Column(99, np.zeros(300, np.int32), 1))
    chosen = TargetArcs(target, features).search().chosen
    graph = nx.DiGraph([(other, i) for i, other in chosen.items() if other != NONE])
    assert nx.is_directed_acyclic_graph(graph)
    assert len(features) - 1 not in {*chosen, *chosen.values()}


def test_a_feature_that_helps_only_beside_another_is_found() -> None:
    rng = np.random.default_rng(0)
    target, key = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    lock = np.where(rng.random(400) < 0.05, rng.integers(0, 2, 400), target ^ key)
    noise = rng.integers(0, 3, 400)
    features = [Column(i, codes.astype(np.int32), 3) for i, codes in enumerate((noise, key, lock))]
    chosen = TargetArcs(Column(9, target.astype(np.int32), 2), features).search().chosen
    assert chosen in ({2: 1}, {1: 2})


def test_most_noise_is_left_out() -> None:
    """A feature costs little, so one of ten may come in by luck; a second parent may not."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(20):
        target, *features = columns(rng, 200, [2, *[3] * 10])
        found.append(TargetArcs(target, features).search().chosen)
    assert sum(map(len, found)) <= 30
    assert sum(other != NONE for chosen in found for other in chosen.values()) <= 1
