"""Pruning, batching and certificates are shortcuts: with and without them the optimum is the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxbn
from jaxbn.cuts import discretize_variable, solve
from jaxbn.cuts.by_number import charged
from jaxbn.cuts.grouped_rows import GroupedRows
from jaxbn.cuts.interval_costs import CostMatrix
from jaxbn.cuts.problem import ENTROPY, Rows, dirichlet_terms
from jaxbn.kernels.pruned.bounds import leading_chunk
from tests.helpers.programs import close, mixed_tasks, request_of, task_of
from tests.helpers.random_variables import (
    RATES,
    cost_of_edges,
    method_options,
    random_variable,
    reference_cost,
    variables,
)
from tests.reference import cuts as reference

many = settings(deadline=None, derandomize=True)


def assert_exact(problem: dict[str, Any], method: str, rate: float = 4.0) -> jaxbn.Binning:
    """The cost is the reference's optimum, and that of the returned edges."""
    binning = jaxbn.discretize_variable(**problem, **method_options(method, rate))
    assert binning.cost == close(reference_cost(problem, method, rate))
    assert binning.cost == close(cost_of_edges(problem, binning.cuts, method, rate))
    return binning


def class_of_table(name: str, n: int) -> dict[str, Any]:
    """The class is the pair of parents, four states, as in the timings."""
    frame = getattr(jaxbn.datasets, name)(n)
    pair = 2 * frame.P1.to_numpy() + frame.P2.to_numpy()
    return {"values": frame.X.to_numpy(), "parents": [pair], "children": []}


@contextmanager
def counted_calls(module: Any, name: str) -> Iterator[list[None]]:
    """A list that grows by one whenever the function is called."""
    calls: list[None] = []
    function = getattr(module, name)

    def spy(*args: Any, **kwargs: Any) -> Any:
        calls.append(None)
        return function(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, spy)
        yield calls


@contextmanager
def pruned_shapes(**sizes: int) -> Iterator[None]:
    """Some sizes of the pruned program other than its bucket's."""
    shape_of = solve.pruned_shape
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solve, "pruned_shape", lambda *args, **kwargs: shape_of(*args, **kwargs)._replace(**sizes))
        yield


@contextmanager
def pruning_of_few_rows() -> Iterator[None]:
    """The pruned program also where the dense one would run, with few slots of each kind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solve, "FEW_POSITIONS", 0)
        with pruned_shapes(width=16, recent=64, settled=256):
            yield


# --- the pruned program


@settings(many, max_examples=150)
@given(variables(st.integers(1, 300)), st.sampled_from(RATES))
def test_pruned_program_on_few_rows_equals_algorithm_1(problem, rate):
    with pruning_of_few_rows():
        assert_exact(problem, "bayesian", rate)


@pytest.mark.parametrize(
    ("n", "options"),
    [
        (600, {"n_parents": 1}),
        (900, {"n_parents": 3, "spouses": (1, 2, 0), "weighted": True}),
        (1024, {"n_parents": 2, "n_values": 400, "weighted": True}),
        (1025, {"n_parents": 0, "spouses": (2,), "n_values": 700}),
        (1800, {"n_parents": 2, "spouses": (0, 1)}),
        (3000, {"n_parents": 1}),
        pytest.param(  # products of counts do not fit in a float
            600, {"n_parents": 1, "spouses": (0,) * 60}, marks=pytest.mark.slow
        ),
    ],
)
def test_pruned_program_equals_algorithm_1(n, options, monkeypatch):
    monkeypatch.setattr(solve, "FEW_POSITIONS", 0)
    for seed, rate in enumerate((1.0, 30.0) if n < 1500 else (4.0,)):
        assert_exact(random_variable(seed, n, **options), "bayesian", rate)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["table6", "gauss", "indep"])
def test_pruned_equals_unpruned_on_4000_rows(name):
    problem = class_of_table(name, 4000)
    task = task_of(problem)
    pruned = solve.solve([task])[0]
    groups = GroupedRows(task, task.positions())
    with CostMatrix(groups) as matrix:
        unpruned = matrix.solve_with_cuts(task.cut_costs[groups.positions[1:] - 1], task.first_cost)
    assert pruned.cost == close(unpruned.cost)
    assert pruned.cuts == unpruned.cuts
    assert pruned.live < unpruned.live / 2
    binning = jaxbn.discretize_variable(**problem, **method_options("bayesian"))
    assert binning.cost == pruned.cost
    assert binning.cost == close(reference.policy_cost(**problem, edges=binning.cuts, rate=4.0))


@pytest.mark.parametrize(
    ("used", "leader", "expected"),
    [
        ([1, 1, 1, 1, 0], 25, 2),
        ([1, 1, 1, 1, 0], 99, 3),
        ([1, 1, 1, 0, 1], 45, 4),
        ([1, 1, 1, 0, 1], 35, 2),
        ([0, 1, 1, 1, 1], 5, 1),
        ([0, 0, 1, 0, 0], 0, 2),
    ],
)
def test_the_chunk_looked_at_first_is_in_use(used, leader, expected):
    """If it were not, no chunk would be looked at in that block: those between may have been emptied."""
    assert int(leading_chunk(np.arange(0, 50, 10), np.array(used, bool), leader)) == expected


@pytest.mark.slow
def test_slots_that_run_out_are_added():
    task = task_of(class_of_table("indep", 3000))
    expected = solve.solve([task])[0]
    with pruned_shapes(width=16, recent=64, settled=256), counted_calls(solve, "with_more_slots") as more:
        found = solve.solve([task])[0]
    assert more
    assert found.cost == close(expected.cost)
    assert found.cuts == expected.cuts


def test_prefix_costs_are_optima_of_the_prefixes():
    """Every prefix, not only the whole, is an optimum: the certificates of the number of intervals rest on it."""
    problem = random_variable(3, 600, n_parents=1)
    order = np.argsort(problem["values"])
    price = 3.0
    task = Rows(np.arange(600) < 599, dirichlet_terms(request_of(problem).factors, ENTROPY), None)
    (best,) = solve.prefix_costs(task, [price])
    matrix = reference.cost_matrix(reference.prepare(problem["values"][order], [problem["parents"][0][order]]), "mdl")
    expected = np.zeros(601)
    for t in range(600):
        expected[t + 1] = price + (expected[: t + 1] + matrix[: t + 1, t]).min()
    np.testing.assert_allclose(best, expected[1:], rtol=1e-9)


# --- rows that agree in everything are collapsed


@pytest.mark.parametrize("method", ["bayesian", "mdl"])
@pytest.mark.parametrize("weighted", [False, True])
def test_collapsed_rows_give_the_same_answer(method, weighted):
    problem = random_variable(5, 4000, n_parents=1, spouses=(1,), n_values=60, weighted=weighted)
    assert len(discretize_variable._without_repeats(request_of(problem)).ordered.values) < 2000
    binning = assert_exact(problem, method)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discretize_variable, "_without_repeats", lambda request: request)
        plain = jaxbn.discretize_variable(**problem, **method_options(method))
    assert binning.cost == close(plain.cost)
    assert binning.cuts.tolist() == plain.cuts.tolist()


def test_few_repeats_are_left_alone():
    request = request_of(random_variable(5, 3000, n_parents=1))
    assert discretize_variable._without_repeats(request) is request


# --- batches


@pytest.mark.parametrize("count", [1, 3, 8, 20])
def test_batches_give_what_single_tasks_give(count):
    tasks = mixed_tasks(count)
    for together, task in zip(solve.solve(tasks), tasks, strict=True):
        alone = solve.solve([task])[0]
        assert together.cost == close(alone.cost)
        assert together.cuts == alone.cuts


def test_many_tasks_of_one_shape_run_in_several_batches():
    tasks = [task_of(random_variable(i, 90 + i, n_parents=2)) for i in range(20)]
    alone = [solve.solve([task])[0] for task in tasks]
    together = solve.solve(tasks)
    assert [t.cuts for t in together] == [a.cuts for a in alone]
    np.testing.assert_allclose([t.cost for t in together], [a.cost for a in alone], rtol=1e-12)


def test_no_task_is_no_solution():
    assert solve.solve([]) == []


# --- charges by the number of intervals: prices instead of layers


@contextmanager
def prices_for_few_rows() -> Iterator[None]:
    """The layered program only where a doubt is left."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charged, "FEW_POSITIONS", 2)
        yield


@settings(many, max_examples=150)
@given(variables(st.integers(2, 200)))
def test_priced_mdl_equals_the_program_over_the_number_of_bins(problem):
    with prices_for_few_rows():
        assert_exact(problem, "mdl")


def test_priced_mdl_on_many_rows():
    with counted_calls(charged, "_from_rows") as calls:
        assert_exact(random_variable(8, 2100, n_parents=1), "mdl")
    assert calls


def least_entropy_by_number_of_intervals(problem: dict[str, Any]) -> np.ndarray:
    """B(k) for k = 1..m from the definition's matrix."""
    matrix = reference.cost_matrix(reference.prepare(**problem), "mdl")
    layer, least = matrix[0], [matrix[0, -1]]
    for _ in range(len(matrix) - 1):
        layer = (layer[:-1, None] + matrix[1:]).min(axis=0)
        least.append(layer[-1])
    return np.array(least)


def random_charge(kind: str, m: int, rng: np.random.Generator) -> np.ndarray:
    """Charges that no price can stand for: convex, rough, or with a dent."""
    k = np.arange(1, m + 1)
    if kind == "convex":
        return 2 * rng.random() * k ** rng.uniform(1, 3)
    if kind == "rough":
        return np.cumsum(rng.exponential(2.0, m))
    if kind == "noise":
        return rng.normal(0, 5, m)
    return rng.uniform(0, 3) * np.abs(k - rng.integers(1, m + 1)) ** rng.uniform(0.5, 2)


@pytest.mark.parametrize("kind", ["convex", "rough", "noise", "dent"])
def test_doubts_that_prices_leave_are_settled(kind):
    """MDL's own charge is concave and leaves none; the certificate must hold for any."""
    with prices_for_few_rows(), counted_calls(charged, "_settle_doubt") as doubts:
        for seed in range(60):
            rng = np.random.default_rng(seed)
            problem = random_variable(
                seed,
                int(rng.integers(2, 80)),
                n_parents=1,
                spouses=(1,) * (seed % 2),
                n_values=[None, 25][seed // 2 % 2],
                weighted=seed % 3 == 0,
            )
            least = least_entropy_by_number_of_intervals(problem)
            charge = random_charge(kind, len(least), rng)
            request = request_of(problem)
            terms = dirichlet_terms(request.factors, ENTROPY)
            rows = Rows(request.ordered.can_cut, terms, request.weights)
            found = charged.solve_charged([charged.Charged(rows, charge)])[0]
            assert found.cost == close((charge + least).min())
            assert found.cost == close(charge[len(found.cuts)] + entropy_of(problem, found.cuts))
    assert len(doubts) > 5


def entropy_of(problem: dict[str, Any], ranks: list[int]) -> float:
    """Entropy of the intervals that end at the given ranks, from the definition."""
    prepared = reference.prepare(**problem)
    interval = np.searchsorted(np.array(ranks), np.arange(len(prepared.values)), side="left")
    return sum(reference.interval_entropy(prepared, interval == i) for i in range(len(ranks) + 1))


def test_prices_that_creep_by_rounding_end():
    """Between 24 and 40 intervals the entropy is 0 on both sides: the chord's slope is rounding, and never the same."""
    values = np.arange(40.0)
    parent = np.repeat(np.arange(20), 2) % 3
    rng = np.random.default_rng(40)
    request = request_of({"values": values, "parents": [parent], "children": []})
    with prices_for_few_rows():
        for _ in range(20):
            charge = rng.normal(0, 5, 40)
            rows = Rows(request.ordered.can_cut, dirichlet_terms(request.factors, ENTROPY), None)
            found = charged.solve_charged([charged.Charged(rows, charge)])[0]
            least = least_entropy_by_number_of_intervals({"values": values, "parents": [parent]})
            assert found.cost == close((charge + least).min())
