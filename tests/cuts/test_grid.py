"""Cuts on a grid of positions: the optimum among these, and exact where there are no more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jaxbn.cuts import interval_costs
from jaxbn.cuts.discretize_variable import (
    Request,
    _bayesian_rows,
    _evidence_problems,
    best_binnings,
    variable_request,
)
from jaxbn.cuts.evidence import evidence_problem
from jaxbn.cuts.grouped_rows import GroupedRows
from jaxbn.cuts.interval_costs import CostMatrix, cost_matrices
from jaxbn.cuts.on_grid import FINE, FINE_GRID, Sweeps, beside, closer
from jaxbn.cuts.problem import ENTROPY, Rows, Solution, dirichlet_terms
from jaxbn.cuts.solve import cuts_back
from jaxbn.runtime.shapes import MatrixShape
from tests.helpers.compilations import compilations
from tests.helpers.programs import close, request_of, rows_of
from tests.helpers.random_variables import cost_of_edges, random_variable
from tests.reference import evidence

METHODS = ("bayesian", "mdl", "evidence")
BLANKETS: tuple[dict[str, Any], ...] = (
    {"n_parents": 1},
    {"n_parents": 2, "spouses": (1, 1)},
    {"n_parents": 0, "spouses": (2, 0)},
    {"n_parents": 3, "spouses": (0,), "weighted": True},
    {"n_parents": 1, "spouses": (1,), "n_values": 40, "weighted": True},
)


def cost_of(problem: dict[str, Any], edges: np.ndarray, method: str) -> float:
    """The objective of some cuts, from its definition."""
    if method == "evidence":
        return evidence.evidence_cost(**problem, cuts=edges)
    return cost_of_edges(problem, edges, method, 4.0)


def quantiles(problem: dict[str, Any], grid: int) -> np.ndarray:
    """The cuts on the first grid."""
    ordered = request_of(problem).ordered
    return ordered.edges(Rows(ordered.can_cut, [], None).positions(grid)[1:-1] - 1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("blanket", BLANKETS)
def test_the_cost_is_that_of_the_cuts(blanket, method):
    for seed in range(4):
        problem = random_variable(seed, 300, **blanket)
        (answer,) = best_binnings([request_of(problem)], method, grid=25)
        assert answer.cost == close(cost_of(problem, answer.cuts, method))


@pytest.mark.parametrize("method", METHODS)
def test_no_cuts_on_the_grid_are_better(method):
    """Against all subsets of few positions."""
    for seed in range(6):
        problem = random_variable(seed, 80, **BLANKETS[seed % len(BLANKETS)])
        edges = quantiles(problem, 8)
        subsets = [edges[[i for i in range(len(edges)) if s >> i & 1]] for s in range(2 ** len(edges))]
        (answer,) = best_binnings([request_of(problem)], method, grid=8)
        assert answer.cost <= min(cost_of(problem, some, method) for some in subsets) + 1e-9


def test_positions_around_the_cuts():
    positions = np.arange(101)
    some = positions[::10]
    assert closer(positions, some, np.array([30, 70]), 13).tolist() == [0, 20, 25, 30, 35, 40, 60, 65, 70, 75, 80, 100]
    assert closer(positions, some, np.array([], int), 12) is some
    assert len(closer(positions, some, np.arange(10, 100, 10), 11)) == 11


def test_positions_beside_the_cuts():
    """The next rows of every cut, fewer and fewer up to half way to the next one, and some over all rows."""
    positions, cuts = np.arange(10_001), np.array([3000, 7000])
    found = beside(positions, cuts, 200, 20)
    assert len(found) <= 200
    assert {0, 10_000, *range(2995, 3006), *range(6995, 7006)} <= set(found.tolist())
    assert {500, 5500, 4500, 9500} <= set(found.tolist())
    assert np.diff(found).max() < 600
    assert len(beside(positions, np.arange(100, 9900, 100), 110, 10)) <= 110


def moved(problem: dict[str, Any], method: str, cuts: list[int]) -> Solution:
    """Some cuts after sweeps."""
    request = request_of(problem)
    if method == "bayesian":
        task = _bayesian_rows(request)
        return Sweeps(task).best_rows(Solution(0.0, cuts, 0.0))
    charged = evidence_problem(request.ordered, request.factors, request.weights, 0.0)
    return Sweeps(charged.rows).best_rows(Solution(0.0, cuts, 0.0))


@pytest.mark.parametrize("method", ["bayesian", "evidence"])
@pytest.mark.parametrize("blanket", BLANKETS)
def test_sweeps_move_every_cut_to_its_best_row(blanket, method):
    """By the definition: what was gained, and that no other row between its neighbours is better for any cut."""
    for seed in range(3):
        problem = random_variable(seed, 150, **blanket)
        ordered = request_of(problem).ordered
        possible = np.flatnonzero(ordered.can_cut)
        rng = np.random.default_rng(seed)
        start = sorted(rng.choice(possible, min(5, len(possible)), replace=False).tolist())

        def cost(cuts: list[int], problem=problem, ordered=ordered) -> float:
            return cost_of(problem, ordered.edges(cuts), method)

        found = moved(problem, method, start)
        assert len(found.cuts) == len(start)
        assert -found.cost == pytest.approx(cost(start) - cost(found.cuts), abs=1e-6)
        bounds = [-1, *found.cuts, len(ordered.values) - 1]
        for i in range(1, len(bounds) - 1):
            others = [cut for cut in possible if bounds[i - 1] < cut < bounds[i + 1]]
            least = min(cost([*found.cuts[: i - 1], int(cut), *found.cuts[i:]]) for cut in others)
            assert cost(found.cuts) <= least + 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_cuts_to_the_last_row_are_nearly_the_best(method):
    """Each is a midpoint that no step to a neighbour improves, and the cost is within a few nats of the optimum."""
    behind = []
    for seed, blanket in enumerate(BLANKETS[:3]):
        request = request_of(random_variable(seed, 4000, **blanket))
        (fine,) = best_binnings([request], method, FINE_GRID, FINE)
        (best,) = best_binnings([request], method)
        behind.append(fine.cost - best.cost)
    assert min(behind) > -1e-6
    assert max(behind) < 2.5


def test_the_shape_is_chosen_before_cuts_are_placed_down_to_rows():
    """On a coarse grid, and it is the one with which the placed cuts cost least."""
    rng = np.random.default_rng(0)
    for values in (rng.lognormal(size=3000), rng.uniform(size=3000)):
        parent = (values + rng.normal(0, 0.3, 3000) > np.median(values)).astype(int)
        request = variable_request(values, [parent], [])
        assert len(request.shapes) == 2
        (found,) = best_binnings([request], "evidence", FINE_GRID, FINE)
        alone = [request._replace(shapes=(shape,)) for shape in request.shapes]
        each = best_binnings(alone, "evidence", FINE_GRID, FINE)
        best = min(each, key=lambda binning: binning.cost)
        assert (found.cost, found.shape) == (best.cost, best.shape)


@pytest.mark.parametrize("method", METHODS)
def test_no_more_positions_than_the_grid_has_is_exact(method):
    requests = [request_of(random_variable(seed, 120, **BLANKETS[seed % len(BLANKETS)])) for seed in range(10)]
    expected, found = best_binnings(requests, method), best_binnings(requests, method, grid=120)
    for a, b in zip(expected, found, strict=True):
        assert a.cost == close(b.cost)
        assert a.cuts.tolist() == b.cuts.tolist()


def test_a_grid_is_never_better_than_no_grid_and_gets_better_with_its_size():
    for method in METHODS:
        request = request_of(random_variable(3, 1500, n_parents=2, spouses=(1,)))
        costs = [best_binnings([request], method, grid)[0].cost for grid in (5, 50, 500, None)]
        assert costs[3] <= min(costs) + 1e-9
        assert costs[2] <= costs[0]


# --- the matrix of all intervals


def by_definition(rows: Rows, first: int, end: int) -> float:
    """Cost of the rows from `first` to before `end`."""
    weights = None if rows.weights is None else rows.weights[first:end]
    cost = 0.0
    for term in rows.terms:
        counts = np.bincount(term.cells[first:end], weights, term.n_cells)
        for name in term.tables:
            cost += term.sign * sum(table_entry(name, n) for n in counts)
    if rows.spread is not None:
        ends = rows.spread.positions
        total = end - first if weights is None else weights.sum()
        cost += float(total * np.log(ends[end] - ends[first]))
    return cost


def table_entry(name: int, n: float) -> float:
    if name == 0:
        return float(n * np.log(n)) if n else 0.0
    return float(sum(np.log(i + name) for i in range(int(n))))


@pytest.mark.parametrize("shape", [{}, {"counts": 256, "layers": 48}])
@pytest.mark.parametrize("kind", ["dirichlet", "entropy", "evidence"])
def test_costs_of_all_intervals(kind, shape):
    """In one call, or in several of few entries each."""
    several = 0
    for seed, blanket in enumerate(BLANKETS):
        problem = random_variable(seed, 70, **blanket)
        request = request_of(problem)
        terms = dirichlet_terms(request.factors, ENTROPY) if kind == "entropy" else dirichlet_terms(request.factors)
        rows = rows_of(problem, None) if kind == "evidence" else Rows(request.ordered.can_cut, terms, request.weights)
        groups = GroupedRows(rows, rows.positions(40))
        sizes = MatrixShape.of(groups.n, groups.total, groups.most_states)._replace(**shape)
        several += len(list(groups.chunks(sizes))) > 1
        matrix = CostMatrix(groups)
        matrix.shape = sizes
        with matrix:
            found = np.asarray(matrix.costs)
        for u in range(0, groups.n, 3):
            for v in range(u, groups.n, 2):
                expected = by_definition(rows, groups.positions[u], groups.positions[v + 1])
                assert found[v, u] == close(expected)
        assert groups.cost_of_one() == close(by_definition(rows, 0, rows.n))
    assert several >= 3 if shape else not several


@pytest.mark.parametrize("method", METHODS)
def test_few_programs_whatever_the_blanket(method):
    """At most three for all variables of a table, with a grid and without."""
    rng = np.random.default_rng(0)
    requests: list[Request] = []
    for seed in range(30):
        spouses = tuple(rng.integers(0, 4, int(rng.integers(0, 5))).tolist())
        blanket = {"n_parents": int(rng.integers(0, 4)), "spouses": spouses}
        requests.append(request_of(random_variable(seed, 700, **blanket, n_values=[None, 30, 300][seed % 3])))
    with compilations() as names:
        for request in requests:
            for grid in (128, None):
                best_binnings([request], method, grid)
    assert len(names) <= 3, names


def test_shapes_of_a_variable_share_the_costs_of_cells(monkeypatch):
    """To the last bit what each costs alone, and worked out in one call."""
    rng = np.random.default_rng(3)
    parent = rng.integers(0, 3, 400)
    request = variable_request(np.exp(rng.normal(size=400) + parent), [parent], ())
    problems = [problem.rows for problem in _evidence_problems(request, None)]
    assert len(problems) == 2
    grouped = [GroupedRows(rows, rows.positions(100)) for rows in problems]
    calls, kernel = [], interval_costs.interval_costs
    monkeypatch.setattr(interval_costs, "interval_costs", lambda *a, **k: calls.append(len(a[0])) or kernel(*a, **k))
    together = [np.tril(matrix.costs) for matrix in cost_matrices(grouped)]
    assert calls == [2]
    alone = []
    for rows in problems:
        with CostMatrix(GroupedRows(rows, rows.positions(100))) as matrix:
            alone.append(np.tril(matrix.costs))
    n = grouped[0].n
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one[:n, :n], other[:n, :n])
    assert (together[0] != together[1]).any()


def test_walking_back():
    assert cuts_back(np.array([0, 0, 0, 2, 3]), 4) == [2]
    assert cuts_back(np.array([0, 1, 0, 2, 3]), 4) == [2]
    assert cuts_back(np.array([0, 1, 2]), 2) == [0, 1]
    assert cuts_back(np.zeros(5, np.int32), 4) == []


def test_nothing_to_work_out():
    assert list(cost_matrices([])) == []
    assert best_binnings([], "evidence", grid=10) == []
