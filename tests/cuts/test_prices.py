"""Several prices in one pass, the bounds that keep it short, and what prices prove about the number of intervals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln, xlogy

import jaxbn
from jaxbn.cuts import solve
from jaxbn.cuts.by_number import charged
from jaxbn.cuts.by_number.prices import Hull, prices_that_cover
from jaxbn.cuts.grouped_rows import GroupedRows
from jaxbn.cuts.interval_costs import CostMatrix
from jaxbn.cuts.problem import ENTROPY, Rows, Solution, dirichlet_terms, ratios_fit
from jaxbn.kernels.pruned.block import BLOCK, Switches, block_rows
from jaxbn.kernels.pruned.bounds import grouped_chunks, least_rises
from jaxbn.kernels.pruned.pruning import measured
from jaxbn.kernels.pruned.state import Chunks, Problem
from jaxbn.kernels.pruned.tiles import Chunk
from tests.helpers.programs import close, gauss, priced_by_definition, request_of, rows_of
from tests.helpers.random_variables import random_variable
from tests.reference import evidence as reference
from tests.reference.cuts import prepare

PRICES = [0.5, 2.0, 30.0, 6.0, 6.5, 15.0, 4.0, 12.0]


@contextmanager
def small_chunks(settled: int = 256, width: int = 16) -> Iterator[None]:
    """Few slots, so that a few hundred rows fill many chunks."""
    shape_of = solve.pruned_shape
    with pytest.MonkeyPatch.context() as patch:
        sizes = {"width": width, "recent": 64, "settled": settled}
        patch.setattr(solve, "pruned_shape", lambda *args, **kwargs: shape_of(*args, **kwargs)._replace(**sizes))
        yield


def own_rows(seed: int, n: int) -> tuple[dict[str, Any], Rows]:
    """A variable with parents alone, the case with the sharpest bounds."""
    problem = gauss(seed, n) | {"children": []}
    return problem, rows_of(problem, None)


@pytest.mark.parametrize("seed", range(3))
def test_several_prices_in_one_pass_are_the_optimum_at_each(seed):
    problem, rows = own_rows(seed, 600)
    log_range = rows.total * np.log(np.ptp(prepare(**problem).distinct))
    with small_chunks():
        together = solve.solve_at_prices(rows, PRICES)
        alone = [solve.solve_at_prices(rows, [price] * len(PRICES))[0] for price in PRICES]  # one program
    for price, found, single in zip(PRICES, together, alone, strict=True):
        assert found.cost == close(single.cost)
        assert found.cuts == single.cuts
        assert found.cost + log_range == close(priced_by_definition(problem, None, price))


@pytest.mark.slow
def test_any_number_of_prices():
    _, rows = own_rows(0, 200)
    with small_chunks():
        few = solve.solve_at_prices(rows, PRICES[:3])
        many = solve.solve_at_prices(rows, PRICES)
    assert [s.cost for s in few] == close([s.cost for s in many[:3]])
    assert [s.cuts for s in few] == [s.cuts for s in many[:3]]


def test_starts_that_only_some_prices_need_are_kept():
    """On variables of every kind, and with a smallest width."""
    for seed in range(6):
        problem = random_variable(seed, 300, n_parents=seed % 3, spouses=(1,) * (1 + seed % 2), weighted=seed > 3)
        width = 0.01 if seed % 2 else None
        rows = rows_of(problem, width)
        with small_chunks():
            found = solve.solve_at_prices(rows, PRICES)
        log_range = rows.total * np.log(np.ptp(prepare(**problem).distinct))
        expected = [priced_by_definition(problem, width, price) - log_range for price in PRICES]
        assert [solution.cost for solution in found] == close(expected)


def test_values_over_many_orders_of_magnitude():
    """Most intervals are next to nothing beside the range."""
    prices = [5.0, 50.0, 500.0, 1500.0, 15.0, 150.0, 1000.0, 2000.0]
    for seed in (3, 4, 12, 18):
        rng = np.random.default_rng(seed)
        values = np.exp([20, 40, 30, 5][seed % 4] * rng.normal(size=500))
        stretch = values.argsort().argsort() * 9 // 500
        mostly = np.where(rng.random(500) < 0.1, rng.integers(0, 3, 500), stretch % 3)
        rows = rows_of({"values": values, "parents": [mostly], "children": [(stretch % 4, [])]}, None)
        assert rows.spread is not None
        assert (np.diff(rows.spread.positions) > 0).all()
        with small_chunks():
            found = solve.solve_at_prices(rows, prices)
        with CostMatrix(GroupedRows(rows, rows.positions())) as matrix:
            expected = matrix.solve_at(prices)
        assert [solution.cost for solution in found] == close([solution.cost for solution in expected])


@pytest.mark.parametrize("price", [60.0, 400.0])
def test_groups_of_chunks_that_are_passed_over_hold_no_optimum(price):
    """So high a price that more than a thousand starts stay: groups of chunks are bounded before the chunks."""
    _, rows = own_rows(1, 2000)
    with small_chunks(settled=4096, width=4):
        (pruned,) = solve.solve_at_prices(rows, [price])
    with CostMatrix(GroupedRows(rows, rows.positions())) as matrix:
        (every,) = matrix.solve_at([price])
    assert pruned.cost == close(every.cost)
    assert pruned.cuts == every.cuts
    assert pruned.live < every.live / 2


# --- bounds of chunks


def interval_cost(task: Rows, first: int, last: int) -> float:
    """Cost of the rows from `first` to before `last`, by the definition."""
    weights, cost = weights_of(task)[first:last], 0.0
    for term in task.terms:
        counts = np.bincount(term.cells[first:last], weights, term.n_cells)
        cost += term.sign * sum(float(cell_cost(counts, name).sum()) for name in term.tables)
    if task.spread is not None:
        end = task.spread.positions
        cost += float(weights.sum() * np.log(end[last] - end[first]))
    return cost


def cell_cost(counts: np.ndarray, name: float) -> np.ndarray:
    return xlogy(counts, counts) if name == ENTROPY else gammaln(counts + name) - gammaln(name)


def weights_of(task: Rows) -> np.ndarray:
    return np.ones(task.n, np.int32) if task.weights is None else task.weights


def bounded_and_actual(task: Rows, starts: np.ndarray, when: int, block: int) -> tuple[np.ndarray, np.ndarray]:
    """What `least_rises` says of some starts, measured at one block, in a later one; and what happens [B, W].

    The higher of two bounds: of one chunk, and of a group of two that were measured at different times.
    """
    shape = solve.pruned_shape(task.n, len(task.terms), sum(term.n_cells for term in task.terms), task.total)
    switches = Switches(len(starts), ratios=ratios_fit(task), contexts=True, spread=task.spread is not None)
    with jax.enable_x64(True):
        problem = Problem(**jax.tree.map(jax.numpy.asarray, solve._arrays(task, [1.0], shape)))
        counts = np.zeros((task.n + 1, shape.cells), np.int32)
        first_cell = 0
        for term in task.terms:
            counts[np.arange(1, task.n + 1), first_cell + term.cells] = weights_of(task)
            first_cell += term.n_cells
        counts = np.cumsum(counts, axis=0, dtype=np.int32)
        end = np.zeros(task.n + 1) if task.spread is None else task.spread.positions
        mass = np.append(0, np.cumsum(weights_of(task))).astype(np.int32)

        def measured_at(when: int, some: np.ndarray) -> dict[str, Any]:
            row, nothing = when * BLOCK, jax.numpy.zeros(len(some))
            of_starts = Chunk(
                row=jax.numpy.asarray(some, np.int32),
                cost=nothing[None],
                inside=nothing,
                mass=jax.numpy.asarray(mass[some]),
                begin=jax.numpy.asarray(end[some]),
                beaten_from=nothing[None],
                before=jax.numpy.asarray(counts[some].T),
                first=jax.numpy.int32(0),
            )
            weights, widths = mass[row] - of_starts.mass, end[row] - of_starts.begin
            common = measured(problem, of_starts, jax.numpy.asarray(counts[row]), weights, widths, switches)
            no_matter = {"size": np.int32(len(some)), "bound": np.zeros(1), "fresh": np.array(False)}
            return {"counts": counts[row], "mass": mass[row], "end": end[row], **common, **no_matter}

        def chunks(*found: dict[str, Any]) -> Chunks:
            return Chunks(**jax.tree.map(lambda *each: jax.numpy.stack(each, axis=-1), *found))

        began = block * BLOCK
        half = len(starts) // 2
        halves = chunks(measured_at(when, starts[:half]), measured_at(min(when + 1, block), starts[half:]))
        group = grouped_chunks(problem, halves, counts[began], mass[began], end[began])
        rows = block_rows(problem, jax.numpy.int32(block), jax.numpy.asarray(counts[began]))
        bound = jax.jit(least_rises, static_argnums=(4, 5))
        found = [
            bound(problem, rows, each, np.int32(0), 1, switches) for each in (chunks(measured_at(when, starts)), group)
        ]
        rises = np.maximum(*found)
    before = np.array([interval_cost(task, u, began) for u in starts])
    actual = [[interval_cost(task, u, began + t + 1) for u in starts] - before for t in range(BLOCK)]
    return rises[:, 0], np.array(actual)


@pytest.mark.parametrize("children", [False, True])
@pytest.mark.parametrize(("when", "block"), [(8, 8), (8, 9), (8, 15), (14, 15)])
def test_no_interval_rises_less_than_its_chunk_is_said_to(when, block, children):
    for seed in range(4):
        problem = gauss(seed, 512) if children else gauss(seed, 512) | {"children": []}
        task = rows_of(problem, None)
        for last in (when * BLOCK - 1, 100):
            starts = np.sort(np.random.default_rng(seed).choice(np.arange(last - 60, last), 16, replace=False))
            rises, actual = bounded_and_actual(task, starts, when, block)
            assert (rises <= actual.min(axis=1) + 1e-9).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("weight", [1.0, ENTROPY])
def test_bounds_hold_for_every_kind_of_table(weight, weighted):
    """The paper's objective and the description length, rows of any weight."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        request = request_of(gauss(seed, 512))
        weights = rng.integers(1, 5, 512).astype(np.int32) if weighted else None
        task = Rows(request.ordered.can_cut, dirichlet_terms(request.factors, weight), weights)
        for when, block, last in [(8, 8, 255), (8, 15, 100), (14, 15, 447)]:
            starts = np.sort(rng.choice(np.arange(last - 60, last), 16, replace=False))
            rises, actual = bounded_and_actual(task, starts, when, block)
            assert (rises <= actual.min(axis=1) + 1e-9).all()


@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_where_the_width_counts_and_rows_have_weights(seed):
    rng = np.random.default_rng(seed)
    task = replace(rows_of(gauss(seed, 512), None), weights=rng.integers(1, 5, 512).astype(np.int32))
    for when, block, last in [(8, 8, 255), (8, 15, 100), (14, 15, 447)]:
        starts = np.sort(rng.choice(np.arange(last - 60, last), 16, replace=False))
        rises, actual = bounded_and_actual(task, starts, when, block)
        assert (rises <= actual.min(axis=1) + 1e-9).all()


@pytest.mark.usefixtures("buckets_of_users")
def test_bounds_of_long_intervals_are_close():
    """Neighbouring starts far back: a block hardly tells their intervals apart, and the bound loses little."""
    rng = np.random.default_rng(0)
    problem = {"values": rng.random(4000), "parents": [rng.integers(0, 4, 4000)], "children": []}
    rises, actual = bounded_and_actual(rows_of(problem, None), np.arange(100, 132), 100, 110)
    assert actual[-1].min() - rises[-1] < 0.3


# --- what prices prove


def convex_costs(draw: Any, n: int) -> np.ndarray:
    """B(1), …, B(n): falling less and less, with steps that need not be strict."""
    steps = draw(st.lists(st.floats(0, 20), min_size=n - 1, max_size=n - 1))
    return np.cumsum([0.0, *sorted(-step for step in steps)])


def concave_charge(draw: Any, n: int) -> np.ndarray:
    steps = draw(st.lists(st.floats(0, 20), min_size=n - 1, max_size=n - 1))
    return np.cumsum([0.0, *sorted(steps, reverse=True)])


@st.composite
def hulls(draw: Any) -> tuple[np.ndarray, np.ndarray]:
    n = draw(st.integers(2, 30))
    return concave_charge(draw, n), convex_costs(draw, n)


def answer(costs: np.ndarray, price: float) -> Solution:
    """The optimum at a price, of the fewest intervals; which cuts these are is of no matter."""
    totals = costs + price * np.arange(1, len(costs) + 1)
    return Solution(float(totals.min()), list(range(int(totals.argmin()))), 1.0)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(hulls())
def test_questions_end_with_the_least_total(problem):
    charge, costs = problem
    hull = Hull(charge, float(costs[0]))
    prices = [hull.slope(1)]
    while prices:
        for price in prices:
            hull.learn(price, answer(costs, price))
        doubtful = hull.doubtful()
        prices = hull.questions(doubtful, 3) if doubtful else []
        assert len(prices) <= 3
        assert not set(prices) & set(hull.answers)
    least = (charge + costs).min()
    left = [charge[n - 1] + costs[n - 1] for n in doubtful]
    assert min([hull.best.cost, *left]) == close(least)
    assert hull.best.cost == close(charge[hull.best_number - 1] + costs[hull.best_number - 1])


@settings(deadline=None, derandomize=True, max_examples=200)
@given(hulls(), st.lists(st.floats(0, 20), min_size=1, max_size=8))
def test_the_prices_that_cover_rule_out_as_much_as_all(problem, prices):
    charge, costs = problem
    everything, chosen = Hull(charge, float(costs[0])), Hull(charge, float(costs[0]))
    for price in prices:
        everything.learn(price, answer(costs, price))
    covering = prices_that_cover(everything, len(charge))
    assert set(covering) <= set(prices)
    for price in covering:
        chosen.learn(price, answer(costs, price))
    limit = everything.best.cost + 1e-6
    numbers = np.arange(1, len(charge) + 1) != everything.best_number
    assert not (numbers & (charge + everything.bound > limit) & (charge + chosen.bound < limit - 2e-6)).any()


def test_more_intervals_than_allowed_still_say_where_to_ask():
    """Vertices beyond the limit are no answer, but a chord leads from them to those below it."""
    charge, costs = np.array([0.0, 20.0, 38.0, 54.0]), np.cumsum([0.0, -30.0, -12.0, -11.0, -10.0, -9.0])
    hull = Hull(charge, 0.0)
    for price in (1.0, 25.0):
        hull.learn(price, answer(costs, price))
    assert hull.best_number == 2
    prices = []
    while doubtful := hull.doubtful():
        prices = hull.questions(doubtful, 2)
        assert prices
        for price in prices:
            hull.learn(price, answer(costs, price))
    assert hull.best.cost == close((charge + costs[:4]).min())


def test_a_bad_guess_costs_time_alone(monkeypatch):
    problem, _ = own_rows(1, 400)
    expected = jaxbn.discretize_variable(**problem, method="evidence", shape="flat", max_bins=None)
    monkeypatch.setattr(charged, "FEW_POSITIONS", 2)
    for prices in ([1000.0], [0.001], [3.0, 3.0, 3.0]):
        monkeypatch.setattr(charged, "guessed_prices", lambda *_, given=prices: given)
        found = jaxbn.discretize_variable(**problem, method="evidence", shape="flat", max_bins=None)
        assert found.cost == close(expected.cost)
        assert found.cost == close(reference.evidence_cost(**problem, cuts=found.cuts))


@pytest.mark.parametrize("method", ["evidence", "mdl"])
def test_a_guess_is_mostly_right(method):
    """The number of bins of nearly all of these is settled with the first eight prices, whose number is the work."""
    asked = []
    solve_at = charged.solve_at_prices

    def counted(task: Any, prices: Any) -> Any:
        asked[-1] += len(prices)
        return solve_at(task, prices)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charged, "solve_at_prices", counted)
        for name in ("table6", "gauss", "indep"):
            frame = getattr(jaxbn.datasets, name)(3000)
            asked.append(0)
            pair = 2 * frame.P1.to_numpy() + frame.P2.to_numpy()
            jaxbn.discretize_variable(frame.X.to_numpy(), [pair], method=method)
    assert sum(asked) <= 4 * 8


def test_cuts_that_no_price_settles_are_those_of_a_grid_with_a_bound(caplog, monkeypatch):
    """Waves of a child ask for dozens of bins and few are allowed: all positions stay in doubt, and fill the memory."""
    rng = np.random.default_rng(3)
    values = 40 * rng.random(2500)
    child = (np.sin(3 * values) + rng.normal(size=2500) / 2 > 0).astype(int)
    variable = {"values": values, "children": [(child, [])], "shape": "flat"}
    exact = jaxbn.discretize_variable(**variable)
    assert not caplog.records
    monkeypatch.setattr(charged, "MOST_POSITIONS", 500)
    found = jaxbn.discretize_variable(**variable)
    (record,) = caplog.records
    n_cuts, n_rows, bound = record.args
    assert (n_cuts, n_rows) == (len(found.cuts), 2500)
    assert exact.cost - 1e-6 <= found.cost <= exact.cost + bound + 1e-6


@pytest.mark.parametrize(("name", "n_prices"), [("gauss", 1), ("table6", 2), ("indep", 1)])
def test_one_pass_is_enough_where_few_bins_are_allowed(name: str, n_prices: int) -> None:
    """The best number is the limit, one in between, or one bin: a price for what is on either side of it."""
    frame = getattr(jaxbn.datasets, name)(10_000)
    variable = {"values": frame.X.to_numpy(), "parents": [2 * frame.P1.to_numpy() + frame.P2.to_numpy()]}
    asked = []
    solve_at = charged.solve_at_prices

    def counted(task: Any, prices: Any) -> Any:
        asked.append(len(prices))
        return solve_at(task, prices)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charged, "solve_at_prices", counted)
        found = jaxbn.discretize_variable(**variable)
        assert asked == [n_prices]
        patch.setattr(charged, "guessed_prices", lambda *_: [0.1, 1.0, 10.0, 100.0])
        expected = jaxbn.discretize_variable(**variable)
    assert found.cost == close(expected.cost)
    assert found.cuts.tolist() == expected.cuts.tolist()
