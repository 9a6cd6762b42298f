"""The evidence objective of the NumPy reference agrees with itself by independent means."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tests.helpers.random_tables import Drawn, random_table
from tests.helpers.random_variables import random_variable
from tests.reference import cuts, evidence, network

SHAPES = [(0, ()), (1, ()), (2, ()), (0, (0,)), (1, (1,)), (2, (0, 2))]  # parents, spouses of each child


def tiny(seed: int, shape: tuple[int, tuple[int, ...]]) -> dict:
    """A variable of few distinct values: with repeats and weights or without."""
    rng = np.random.default_rng(seed)
    repeats, weighted = bool(seed % 2), bool(seed // 2 % 2)
    n, n_values = (14, int(rng.integers(1, 8))) if repeats else (int(rng.integers(1, 8)), None)
    return random_variable(seed, n, n_parents=shape[0], spouses=shape[1], n_values=n_values, weighted=weighted)


def random_cuts(distinct: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return cuts.midpoints(distinct)[rng.random(len(distinct) - 1) < rng.random()]


def limits(variable: dict) -> list[float | None]:
    """No limit, the smallest gap, and some that forbid more and more."""
    distinct = cuts.prepare(**variable).distinct
    if len(distinct) == 1:
        return [None, 1.0]
    span = float(distinct[-1] - distinct[0])
    return [None, float(np.diff(distinct).min()), 0.2 * span, 0.4 * span, 2 * span]


def test_cost_worked_by_hand():
    """Values 0 1 2 4 cut at 1.5, a parent 0 0 1 1 that the cut follows, a child 0 1 1 1."""
    values, parent, child = [0.0, 1.0, 2.0, 4.0], np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    own = 2 * math.log(3 / 8)  # two rows of one parent value in one bin: 1/2 * 3/2 / (1 * 2)
    of_child = math.log(1 / 8) + math.log(3 / 8)  # bins {0, 1} and {1, 1}
    density = -2 * math.log(1.5) - 2 * math.log(2.5)
    choice = -math.log(13 / 120)  # the integral of 8/3 pi (1 - pi)^3 up to 1/2
    cost = evidence.evidence_cost(values, [parent], [(child, [])], [1.5])
    assert cost == pytest.approx(choice - own - of_child - density)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_layers_find_the_enumerated_minimum(seed, shape):
    variable = tiny(seed, shape)
    for min_width in limits(variable):
        cost, edges = evidence.layered_evidence(**variable, min_width=min_width)
        assert cost == pytest.approx(evidence.enumerate_evidence(**variable, min_width=min_width)[0], abs=1e-9)
        assert cost == pytest.approx(evidence.evidence_cost(**variable, cuts=edges), abs=1e-9)
        assert evidence.is_allowed(edges, cuts.prepare(**variable).distinct, min_width)


def test_layers_find_real_cuts():
    """X uniform on two far intervals: the density alone pays for a cut, no neighbour needed."""
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.uniform(0, 1, 60), rng.uniform(9, 10, 60)])
    cost, edges = evidence.layered_evidence(values)
    assert len(edges) >= 2
    assert cost < evidence.evidence_cost(values, (), (), [])
    assert evidence.layered_evidence(values, min_width=20.0)[1].size == 0


@pytest.mark.parametrize("seed", range(3))
def test_the_finest_partition_does_not_win_in_noise(seed):
    """Its widths follow the gaps of the sample, which pays; its choice costs more."""
    rng = np.random.default_rng(seed)
    values, parents = rng.normal(size=100), rng.integers(0, 2, (2, 100))
    cost, edges = evidence.layered_evidence(values, parents)
    assert len(edges) < 6
    assert cost == pytest.approx(evidence.evidence_cost(values, parents, [], edges), abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_weights_are_repeated_rows(seed):
    variable = random_variable(seed, 40, n_parents=1, spouses=(1,), n_values=[None, 12][seed % 2], weighted=True)
    weights = variable.pop("weights")
    rows = np.repeat(np.arange(len(weights)), weights)
    repeated = {
        "values": variable["values"][rows],
        "parents": [codes[rows] for codes in variable["parents"]],
        "children": [(codes[rows], [s[rows] for s in spouses]) for codes, spouses in variable["children"]],
    }
    cost = evidence.layered_evidence(**variable, weights=weights)[0]
    assert cost == pytest.approx(evidence.layered_evidence(**repeated)[0], abs=1e-9)


def test_a_constant_variable_has_one_bin_and_only_its_childrens_evidence():
    child = np.array([0, 1, 1])
    cost, edges = evidence.layered_evidence(np.full(3, 2.5), [np.array([0, 0, 1])], [(child, [])], min_width=1.0)
    assert edges.size == 0
    assert cost == pytest.approx(-network.k2_family_score(child, [], 0.5))


def test_a_regular_grid_allows_bins_of_one_step():
    """The least gap as the smallest width: 0.1 steps are not exact, but rounding must not forbid a bin."""
    distinct = np.arange(3, 9) / 10
    step = float(np.diff(distinct).max())
    assert evidence.is_allowed(cuts.midpoints(distinct)[1:-1], distinct, step)
    assert not evidence.is_allowed(cuts.midpoints(distinct)[:1], distinct, step)  # half a step


# --- the rules of docs/maths.md, "Pruning"


def intervals(seed: int) -> cuts.Problem:
    n_values = [None, 12][seed % 2]
    return cuts.prepare(
        **random_variable(
            seed, 30, n_parents=seed % 3, spouses=(0, 1)[: seed % 4], n_values=n_values, weighted=seed > 6
        )
    )


@pytest.mark.parametrize("seed", range(12))
def test_the_parent_part_is_superadditive(seed):
    c = evidence.parent_part(intervals(seed))
    for t in range(1, len(c)):  # [u, t - 1] beside [t, T] against [u, T]
        assert (c[:t, t - 1, None] + c[t, None, t:] <= c[:t, t:] + 1e-9).all()


def priced(c: np.ndarray, price: float) -> np.ndarray:
    """S_t: least cost of the first t distinct values, every interval costing ``price`` more [m + 1]."""
    best = np.zeros(len(c) + 1)
    for t in range(1, len(best)):
        best[t] = (best[:t] + c[:t, t - 1]).min() + price
    return best


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("price", [0.0, 2.0, 8.0])
def test_what_the_rule_drops_is_never_better(seed, price):
    """S_u + c_parent(u,t) + E_children(u,t) >= S_t: then t is at least as good a start as u, whatever the end."""
    problem = intervals(seed)
    c, bound = evidence.interval_costs(problem), evidence.parent_part(problem) + evidence.child_part(problem, "mdl")
    best = priced(c, price)
    for t in range(1, len(c)):
        dropped = np.flatnonzero(best[:t] + bound[:t, t - 1] >= best[t])
        assert (best[dropped, None] + c[dropped, t:] >= best[t] + c[t, t:] - 1e-9).all()


def priced_and_pruned(problem: cuts.Problem, price: float, min_width: float | None, *, wait: bool) -> tuple[float, int]:
    """The last S_t when starts are dropped by the rule, and how many were.

    With ``wait`` a start goes only for the ends at which the interval from t is wide enough to replace it.
    """
    c, width = evidence.interval_costs(problem, min_width), evidence.interval_widths(problem.distinct)
    bound = evidence.parent_part(problem) + evidence.child_part(problem, "mdl")
    m = len(c)
    best, serves_before = np.zeros(m + 1), np.full(m + 1, m)  # the ends that a start still serves
    for t in range(1, m + 1):
        live = np.flatnonzero(serves_before[:t] >= t)
        best[t] = (best[live] + c[live, t - 1]).min(initial=np.inf) + price
        replaced = live[best[live] + bound[live, t - 1] >= best[t] + 1e-9]
        too_near = int((~evidence.wide_enough(width[t : t + 1, t:], min_width)).sum()) if wait else 0
        serves_before[replaced] = np.minimum(serves_before[replaced], t + too_near)
    return float(best[-1]), int((serves_before[:-1] < m).sum())


def test_the_pruned_program_is_exact_with_a_smallest_width_too():
    dropped, lost = 0, 0
    for seed, price, share in itertools.product(range(12), (0.5, 4.0), (0.0, 0.02, 0.1, 0.3)):
        problem = intervals(seed)
        min_width = share * float(np.ptp(problem.distinct))
        exact = priced(evidence.interval_costs(problem, min_width), price)[-1]
        cost, n_dropped = priced_and_pruned(problem, price, min_width, wait=True)
        assert cost == pytest.approx(exact, abs=1e-9)
        dropped += n_dropped
        lost += priced_and_pruned(problem, price, min_width, wait=False)[0] > exact + 1e-6
    assert dropped > 100
    assert lost  # without waiting: the interval from t may be too narrow for an end that u could serve


# --- networks


def assert_rises(trace: list[float]) -> None:
    assert np.isfinite(trace).all()
    assert (np.diff(trace) >= -1e-9 * np.abs(trace[:-1])).all()


def small_table(seed: int) -> Drawn:
    return random_table(seed, n_rows=40 + 5 * (seed % 4), n_columns=4)


@pytest.mark.parametrize("seed", range(10))
def test_one_variables_cost_is_what_it_changes_in_the_total(seed):
    drawn = random_table(seed)
    rng = np.random.default_rng(seed)
    columns, continuous, parents = drawn.columns, drawn.continuous, drawn.parents
    binnings = {name: random_cuts(np.unique(columns[name]), rng) for name in continuous}
    codes = evidence.codes_of(columns, continuous, binnings)
    for name in continuous:
        own_parents, children = network.blanket(name, parents)
        neighbours = [codes[p] for p in own_parents], [(codes[c], [codes[s] for s in sp]) for c, sp in children]
        other = random_cuts(np.unique(columns[name]), rng)
        change = evidence.evidence_cost(columns[name], *neighbours, other) - evidence.evidence_cost(
            columns[name], *neighbours, binnings[name]
        )
        totals = [
            evidence.total_evidence(columns, continuous, parents, binnings | {name: p}) for p in (binnings[name], other)
        ]
        assert change == pytest.approx(totals[0] - totals[1], abs=1e-8)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("limited", [False, True])
def test_passes_never_lower_the_total_and_end_where_no_visit_helps(seed, limited):
    drawn = small_table(seed)
    columns, continuous = drawn.columns, drawn.continuous
    min_width = {name: 0.05 * float(np.ptp(columns[name])) for name in continuous} if limited else None
    found = evidence.evidence_passes(columns, continuous, drawn.parents, min_width=min_width, max_passes=30)
    assert_rises(found["trace"])
    assert found["converged"]
    total = evidence.total_evidence(columns, continuous, drawn.parents, found["edges"])
    assert found["trace"][-1] == pytest.approx(total)
    again = evidence.evidence_passes(columns, continuous, drawn.parents, min_width=min_width, start=found["edges"])
    assert again["passes"] == 1
    for name in min_width or {}:
        assert evidence.is_allowed(found["edges"][name], np.unique(columns[name]), min_width[name])


@pytest.mark.parametrize("seed", range(5))
def test_the_start_has_the_equal_width_codes(seed):
    values = random_table(seed, n_rows=60).frame.iloc[:, 0].to_numpy(float)
    codes = network.equal_width_codes(values, 5)
    bins = cuts.bins_of(values, evidence.starting_cuts(values, 5, None))
    assert bins.tolist() == np.unique(codes, return_inverse=True)[1].tolist()


@pytest.mark.parametrize("seed", range(8))
def test_k2_never_lowers_the_total(seed):
    drawn = small_table(seed + 20)
    columns, continuous = drawn.columns, drawn.continuous
    found = evidence.evidence_k2(columns, continuous, drawn.order, max_parents=2)
    assert_rises(found["trace"])
    total = evidence.total_evidence(columns, continuous, found["parents"], found["edges"])
    assert found["score"] == pytest.approx(total)
    assert all(drawn.order.index(p) < drawn.order.index(c) for c, own in found["parents"].items() for p in own)
    assert all(len(own) <= 2 for own in found["parents"].values())


def bimodal(n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, n)
    return {"kind": kind, "x": rng.normal(size=n) + 4 * kind}


def test_k2_finds_an_arc():
    assert evidence.evidence_k2(bimodal(300), ["x"], ["kind", "x"])["parents"] == {"kind": (), "x": ("kind",)}


def test_a_variable_without_neighbours_is_cut_too():
    found = evidence.evidence_passes(bimodal(300), ["x"], {}, initial_bins=1)
    assert len(found["edges"]["x"]) > 0
    assert found["trace"][-1] > found["trace"][0]
