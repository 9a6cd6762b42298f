"""Cuts by the evidence in original units: exact for one variable, and one number that never falls for a network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.cuts import by_count as intervals
from jaxbn.cuts import evidence as original_units
from jaxbn.cuts import interval_costs as positions
from jaxbn.cuts import problem as tasks
from jaxbn.cuts import solve as cuts
from jaxbn.cuts.evidence import most_bins
from jaxbn.inputs.graph import as_parents
from tests.random_tables import Drawn, random_table
from tests.random_variables import cost_of_edges, random_variable, reference_cost
from tests.reference import evidence as reference
from tests.reference import groups as reference_groups
from tests.reference import network
from tests.reference.cuts import prepare
from tests.test_cli import Command, as_csv
from tests.test_cli import frame as small_frame

SHAPES = [(0, ()), (1, ()), (2, ()), (0, (0,)), (1, (1,)), (2, (0, 2))]  # parents, spouses of each child


def close(value: float) -> Any:
    """Equal to 1e-9 relative."""
    return pytest.approx(value, rel=1e-9, abs=1e-9)


def total_weight(problem: dict[str, Any]) -> int:
    return int(np.sum(problem.get("weights", np.ones(len(problem["values"]), int))))


def assert_exact(problem: dict[str, Any], min_width: float | None = None) -> jaxbn.Policy:
    """The cost is the reference's optimum under the same rules, and that of the returned edges."""
    policy = jaxbn.discretize_variable(**problem, method="evidence", min_width=min_width)
    limit = most_bins(total_weight(problem))
    expected, _ = reference.layered_evidence(**problem, min_width=min_width, max_bins=limit)
    assert policy.cost == close(expected)
    assert policy.cost == close(reference.evidence_cost(**problem, cuts=policy.edges))
    assert reference.is_allowed(policy.edges, prepare(**problem).distinct, min_width)
    return policy


# --- one variable, every partition


def tiny(seed: int, shape: tuple[int, tuple[int, ...]]) -> dict[str, Any]:
    """At most eight distinct values: with repeats and weights or without."""
    rng = np.random.default_rng(seed)
    n_values = int(rng.integers(1, 9)) if seed % 2 else None
    n = 14 if n_values else int(rng.integers(1, 9))
    return random_variable(seed, n, n_parents=shape[0], spouses=shape[1], n_values=n_values, weighted=seed // 2 % 2 > 0)


def some_width(problem: dict[str, Any], kind: int) -> float | None:
    """No limit, the smallest gap, or a share of the range that forbids much or all."""
    distinct = prepare(**problem).distinct
    if kind == 0 or len(distinct) == 1:
        return [None, 1.0][kind > 0]
    span = float(np.ptp(distinct))
    return [None, float(np.diff(distinct).min()), 0.1 * span, 0.3 * span, 2 * span][kind]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_cost_is_the_least_of_all_partitions(shape):
    for seed in range(60):
        problem = tiny(seed, shape)
        width = some_width(problem, seed // 4 % 5)
        policy = jaxbn.discretize_variable(**problem, method="evidence", min_width=width)
        assert policy.cost == close(reference.enumerate_evidence(**problem, min_width=width)[0])
        assert policy.cost == close(reference.evidence_cost(**problem, cuts=policy.edges))
        assert reference.is_allowed(policy.edges, prepare(**problem).distinct, width)
        assert policy.method == "evidence"


def test_a_constant_and_a_single_row_have_one_bin():
    child = np.array([0, 1, 1])
    for values, own in ([2.5, 2.5, 2.5], child), ([7.0], child[:1]):
        policy = jaxbn.discretize_variable(values, children=[(own, ())], method="evidence", min_width=1.0)
        assert policy.n_bins == 1
        assert policy.cost == close(-network.k2_family_score(own, []))


def test_values_that_span_all_floats():
    policy = jaxbn.discretize_variable([-1.5e308, 0.0, 1.5e308], [[0, 1, 1]], method="evidence")
    assert np.isfinite(policy.cost)


def test_noise_is_not_cut_at_every_value():
    """Beyond half as many bins as rows the price of the choice falls again: such policies are not considered."""
    rng = np.random.default_rng(0)
    problem = {"values": rng.normal(size=100), "parents": list(rng.integers(0, 2, (2, 100))), "children": []}
    assert len(reference.layered_evidence(**problem)[1]) > 90
    policy = assert_exact(problem)
    assert policy.n_bins <= most_bins(100) == 50


def test_few_rows_may_have_a_bin_each():
    assert most_bins(5) == 32
    assert most_bins(64) == 32
    assert most_bins(67) == 33


def test_weights_are_repeated_rows():
    problem = random_variable(4, 90, n_parents=1, spouses=(1,), n_values=30, weighted=True)
    weights = problem.pop("weights")
    rows = np.repeat(np.arange(90), weights)
    repeated = {
        "values": problem["values"][rows],
        "parents": [codes[rows] for codes in problem["parents"]],
        "children": [(codes[rows], [s[rows] for s in spouses]) for codes, spouses in problem["children"]],
    }
    weighted = jaxbn.discretize_variable(**problem, weights=weights, method="evidence")
    plain = jaxbn.discretize_variable(**repeated, method="evidence")
    assert weighted.cost == close(plain.cost)


def test_shift_and_scale_move_the_cuts_along():
    problem = random_variable(7, 200, n_parents=1, spouses=(0,))
    policy = jaxbn.discretize_variable(**problem, method="evidence", min_width=0.02)
    moved = problem | {"values": 8 * problem["values"] + 3}
    other = jaxbn.discretize_variable(**moved, method="evidence", min_width=0.16)
    assert other.cost == close(policy.cost + 200 * np.log(8))  # the density is per unit
    np.testing.assert_allclose(other.edges, 8 * policy.edges + 3, rtol=1e-9)


# --- one variable, 500 rows


def gauss(seed: int, n: int = 500) -> dict[str, Any]:
    """Normal, with the mean of its class; a child that says where it is above zero."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 4, n)
    values = rng.normal(size=n) + group
    child = np.where(rng.random(n) < 0.9, values > 0, rng.random(n) < 0.5).astype(int)
    return {"values": values, "parents": [group], "children": [(child, [rng.integers(0, 3, n)])]}


MANY: dict[str, tuple[dict[str, Any], float | None]] = {
    "gauss": (gauss(0), None),
    "gauss, limited": (gauss(1), 0.2),
    "no neighbours": ({"values": np.random.default_rng(2).gamma(2.0, size=500), "parents": [], "children": []}, None),
    "rounded": (gauss(3) | {"values": gauss(3)["values"].round(1)}, 0.1),
    "repeats": (random_variable(5, 500, n_parents=2, spouses=(1,), n_values=90), None),
    "weights": (random_variable(6, 500, n_parents=1, spouses=(1, 0), weighted=True), 0.01),
    "steep": (random_variable(9, 500, n_parents=2, spouses=(2,)), None),
}


@contextmanager
def prices_and_few_slots(settled: int = 256) -> Iterator[list[dict[str, bool]]]:
    """The priced, pruned program also where all intervals are costed; what became of the slots in each call."""
    shape_of, advance, more_slots = cuts.pruned_shape, cuts.advance, cuts.with_more_slots
    seen: list[dict[str, bool]] = []

    def small_shape(*args: Any, **kwargs: Any) -> Any:
        sizes = {"terms": 16, "tables": 11, "cells": 512, "width": 32, "recent": 64, "settled": settled}
        return shape_of(*args, **kwargs)._replace(**sizes)

    def spied_advance(problem: Any, state: Any, **kwargs: Any) -> Any:
        state = advance(problem, state, **kwargs)
        slots = int(state.settled.n_slots)
        doomed = np.isfinite(np.asarray(state.settled.doom)[:, :slots]).any()
        seen.append({"chunks": slots > 32, "doomed": bool(doomed), "more": False})
        return state

    def spied_more_slots(state: Any) -> Any:
        seen.append({"chunks": False, "doomed": False, "more": True})
        return more_slots(state)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "FEW_POSITIONS", 2)
        patch.setattr(cuts, "DENSE_ROWS", 0)
        patch.setattr(cuts, "pruned_shape", small_shape)
        patch.setattr(cuts, "advance", spied_advance)
        patch.setattr(cuts, "with_more_slots", spied_more_slots)
        yield seen


@pytest.mark.parametrize("name", MANY)
def test_500_rows_equal_the_program_over_the_number_of_bins(name):
    problem, width = MANY[name]
    assert assert_exact(problem, width).n_bins > 1


def test_prices_and_pruning_with_few_slots_change_nothing():
    """Starts are appended in chunks, dropped at once or where their doom comes, compacted, and given more room."""
    with prices_and_few_slots() as calls:
        for problem, width in MANY.values():
            assert_exact(problem, width)
    for what in ("chunks", "doomed", "more"):
        assert any(call[what] for call in calls), what


@pytest.mark.parametrize("method", ["bayesian", "mdl"])
def test_the_other_methods_with_few_slots(method):
    with prices_and_few_slots() as calls:
        for problem, _ in (MANY[name] for name in MANY if name != "weights"):
            policy = jaxbn.discretize_variable(**problem, method=method, rate=4.0)
            assert policy.cost == close(reference_cost(problem, method, 4.0))
            assert policy.cost == close(cost_of_edges(problem, policy.edges, method, 4.0))
    assert any(call["chunks"] for call in calls)


@pytest.mark.parametrize("way", ["pruned", "matrix"])
@pytest.mark.parametrize("n", [60, 130])
def test_random_variables_by_prices(n, way, monkeypatch):
    """Few positions too, by the pruned program or with the costs of all intervals worked out first."""
    monkeypatch.setattr(intervals, "LAYERED_SPREAD", 2)
    with prices_and_few_slots() if way == "pruned" else nullcontext():
        for seed in range(40):
            shape = SHAPES[seed % len(SHAPES)]
            n_values, weighted = [None, 20, 45][seed % 3], seed // 2 % 2 > 0
            problem = random_variable(
                seed + n, n, n_parents=shape[0], spouses=shape[1], n_values=n_values, weighted=weighted
            )
            assert_exact(problem, some_width(problem, [0, 1, 2, 0][seed % 4]))


def rows_of(problem: dict[str, Any], width: float | None) -> positions.Rows:
    """The rows as the program of one variable is given them."""
    found: list[positions.Rows] = []

    def spy(rows: positions.Rows, charge: Any) -> tasks.Solution:
        found.append(rows)
        return tasks.Solution(0.0, [], 0.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(original_units, "best_number_of_intervals", spy)
        jaxbn.discretize_variable(**problem, method="evidence", min_width=width)
    return found[0]


def priced_by_definition(problem: dict[str, Any], width: float | None, price: float) -> float:
    costs = reference.interval_costs(prepare(**problem), width)
    best = np.zeros(len(costs) + 1)
    for t in range(1, len(best)):
        best[t] = (best[:t] + costs[:t, t - 1]).min() + price
    return float(best[-1])


@pytest.mark.parametrize("name", ["gauss", "gauss, limited", "rounded", "steep"])
def test_pruned_equals_unpruned(name):
    problem, width = MANY[name]
    rows = rows_of(problem, width)
    log_range = rows.total * np.log(np.ptp(prepare(**problem).distinct))
    for price in (1.0, 6.0):
        with prices_and_few_slots(settled=1024):
            unpruned = cuts.solve_at_prices(rows.task, [price], prune=False)[0]
        with prices_and_few_slots():
            pruned = cuts.solve_at_prices(rows.task, [price])[0]
        assert pruned.cost == close(unpruned.cost)
        assert pruned.live <= unpruned.live
        assert pruned.cost + log_range == close(priced_by_definition(problem, width, price))


# --- networks


DATASETS = ("iris", "seeds", "wine", "auto_mpg", "glass")
QUICK = (*DATASETS, "heart", "liver_disorders")
SLOW = ("housing", "banknote", "ilpd")


def assert_rises(trace: tuple[float, ...]) -> None:
    assert np.isfinite(trace).all()
    assert (np.diff(trace) >= -1e-9 * np.abs(trace[:-1])).all()


def reference_total(frame: pd.DataFrame, parents: dict[str, Any], policies: dict[str, jaxbn.Policy]) -> float:
    columns = {name: frame[name].to_numpy() for name in frame}
    return reference.total_evidence(columns, list(policies), parents, {n: p.edges for n, p in policies.items()})


def loaded(name: str) -> Any:
    try:
        return jaxbn.datasets.load(name)
    except OSError as error:
        pytest.skip(str(error))


def assert_discretizes(name: str) -> None:
    data = loaded(name)
    graph = data.structures["paper"]
    found = jaxbn.discretize(data.frame, graph, continuous=data.continuous, method="evidence", max_passes=None)
    assert found.converged
    assert len(found.trace) > 1
    assert_rises(found.trace)
    assert found.trace[-1] == close(reference_total(data.frame, as_parents(graph, list(data.frame)), found.policies))


@pytest.mark.parametrize("name", QUICK)
def test_passes_raise_the_evidence_until_nothing_changes(name):
    assert_discretizes(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_passes_raise_the_evidence_of_larger_tables(name):
    assert_discretizes(name)


@pytest.mark.parametrize("name", DATASETS)
def test_learning_raises_the_evidence(name):
    data = loaded(name)
    order = [*(n for n in data.frame if n not in data.continuous), *data.continuous]
    net = jaxbn.learn(
        data.frame, continuous=data.continuous, order=order, max_parents=2, method="evidence", progress=False
    )
    assert_rises(net.trace)
    assert any(net.parents.values())
    assert net.trace[-1] == close(reference_total(data.frame, net.parents, net.policies))


def found_by_both(drawn: Drawn, **options: Any) -> tuple[jaxbn.Discretization, dict[str, Any]]:
    limit = most_bins(len(drawn.frame))
    found = jaxbn.discretize(
        drawn.frame, drawn.parents, continuous=drawn.continuous, method="evidence", max_passes=None, **options
    )
    expected = reference.evidence_passes(
        drawn.columns, drawn.continuous, drawn.parents, max_bins=limit, max_passes=50, **options
    )
    return found, expected


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("limited", [False, True], ids=["free", "limited"])
def test_passes_equal_those_of_the_reference(seed, limited):
    drawn = random_table(seed, n_rows=40 + 10 * (seed % 4), n_columns=4)
    widths = {n: w for n in drawn.continuous if (w := 0.05 * float(np.ptp(drawn.frame[n]))) > 0}
    found, expected = found_by_both(drawn, **({"min_width": widths} if limited else {}))
    assert found.converged
    assert_rises(found.trace)
    assert found.trace[0] == close(expected["trace"][0])
    assert found.trace[-1] == close(expected["trace"][-1])
    assert found.trace[-1] == close(reference_total(drawn.frame, drawn.parents, found.policies))
    for name in widths if limited else ():
        assert reference.is_allowed(found.policies[name].edges, np.unique(drawn.frame[name]), widths[name])


def test_the_smallest_gap_as_the_smallest_width():
    drawn = random_table(3, n_rows=80, n_columns=4)
    gaps = {n: float(np.diff(np.unique(drawn.frame[n])).min(initial=np.inf)) for n in drawn.continuous}
    named = {n: gap for n, gap in gaps.items() if np.isfinite(gap)}
    options = {"continuous": drawn.continuous, "method": "evidence"}
    by_word = jaxbn.discretize(drawn.frame, drawn.parents, **options, min_width="gap")
    by_number = jaxbn.discretize(drawn.frame, drawn.parents, **options, min_width=named)
    assert by_word.trace == by_number.trace
    for name, gap in named.items():
        assert reference.is_allowed(by_word.policies[name].edges, np.unique(drawn.frame[name]), gap)


def edges_of(net: jaxbn.BayesNet) -> dict[str, list[float]]:
    return {name: policy.edges.tolist() for name, policy in net.policies.items()}


def test_restarts_are_chosen_by_the_evidence_and_kept_in_a_checkpoint(tmp_path: Path):
    drawn = random_table(2, n_rows=70, n_columns=5)
    options = {"continuous": drawn.continuous, "method": "evidence", "max_parents": 2, "progress": False}
    file = tmp_path / "run.json"
    net = jaxbn.learn(drawn.frame, restarts=5, checkpoint=file, **options)
    finished = json.loads(file.read_text())["finished"].values()
    assert len(finished) == 5
    assert len({run["trace"][-1] for run in finished}) > 1
    assert net.trace[-1] == max(run["trace"][-1] for run in finished)
    assert net.trace[-1] == close(reference_total(drawn.frame, net.parents, net.policies))

    again = jaxbn.learn(drawn.frame, restarts=5, checkpoint=file, **options)
    assert again.trace == net.trace
    assert again.parents == net.parents
    for side_by_side in (1, 2):
        other = jaxbn.learn(drawn.frame, restarts=5, side_by_side=side_by_side, **options)
        assert (other.parents, edges_of(other), other.trace) == (net.parents, edges_of(net), net.trace)
    for run in finished:
        alone = jaxbn.learn(drawn.frame, order=run["order"], **options)
        assert alone.trace == tuple(run["trace"])
        assert_rises(alone.trace)


def bimodal(n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, n)
    return {"kind": kind, "x": rng.normal(size=n) + 4 * kind}


def test_a_variable_without_neighbours_is_cut():
    table = bimodal(250)
    alone = jaxbn.discretize_variable(table["x"], method="evidence")
    assert alone.n_bins > 1
    found = jaxbn.discretize(table, {}, continuous=["x"], method="evidence", initial_bins=1)
    net = jaxbn.learn(table, continuous=["x"], order=["kind", "x"], max_parents=0, method="evidence", progress=False)
    for policy in found.policies["x"], net.policies["x"]:
        assert policy.edges.tolist() == alone.edges.tolist()
    assert found.trace[-1] > found.trace[0]


def test_an_arc_is_found():
    net = jaxbn.learn(bimodal(250), continuous=["x"], order=["kind", "x"], method="evidence", progress=False)
    assert net.parents == {"kind": (), "x": ("kind",)}


# --- a column of many levels


def many_levels(n: int = 240) -> pd.DataFrame:
    """60 towns in three regions that decide what x is."""
    rng = np.random.default_rng(1)
    town = np.concatenate([np.arange(60), rng.integers(0, 60, n - 60)])
    region = town % 3
    x = rng.normal(size=n) + 5 * region
    noise = rng.normal(size=n)
    return pd.DataFrame({"town": [f"t{i:02d}" for i in town], "x": x, "noise": noise})


def total_with_groups(frame: pd.DataFrame, parents: dict[str, Any], found: Any) -> float:
    """F by definition, where the levels of `town` are grouped."""
    continuous = list(found.policies)
    grouping = found.groupings["town"]
    towns = frame["town"].to_numpy()
    groups = np.asarray(grouping(towns.tolist()))
    columns = {n: frame[n].to_numpy() for n in frame} | {"town": groups}
    edges = {n: p.edges for n, p in found.policies.items()}
    inside = reference_groups.level_evidence(towns, groups, np.ones(len(towns), int))
    price = reference_groups.partition_cost(len(np.unique(towns)), len(np.unique(groups)))
    return reference.total_evidence(columns, continuous, parents, edges) + inside - price


@pytest.mark.parametrize("graph", [{"x": ["town"]}, {"town": ["x"]}, {"noise": ["x", "town"]}], ids=str)
def test_groups_of_levels_are_part_of_the_evidence(graph):
    frame = many_levels()
    found = jaxbn.discretize(frame, graph, method="evidence", max_passes=None)
    assert found.converged
    assert_rises(found.trace)
    parents = {name: tuple(graph.get(name, ())) for name in frame}
    assert found.trace[-1] == close(total_with_groups(frame, parents, found))


def test_learning_with_groups_of_levels():
    frame = many_levels()
    net = jaxbn.learn(frame, order=["town", "x", "noise"], method="evidence", progress=False)
    assert_rises(net.trace)
    assert net.parents["x"] == ("town",)
    assert net.groupings["town"].n_groups == 3
    assert net.trace[-1] == close(total_with_groups(frame, net.parents, net))


# --- held-out rows


def test_cross_validation_by_the_evidence():
    iris = jaxbn.datasets.load("iris")
    graph = iris.structures["paper"]
    scores = jaxbn.cross_validate(iris.frame, graph, folds=3, method="evidence")
    assert np.isfinite(scores.log_likelihood).all()
    training = iris.frame[scores.folds != 0]
    by_hand = jaxbn.discretize(training, graph, continuous=iris.continuous, method="evidence")
    assert {n: int(k[0]) for n, k in scores.bins.items()} == {n: p.n_bins for n, p in by_hand.policies.items()}
    limited = jaxbn.cross_validate(iris.frame, graph, folds=3, method="evidence", min_width=0.5)
    assert sum(k.sum() for k in limited.bins.values()) < sum(k.sum() for k in scores.bins.values())


# --- what is refused


def refused(says: str, error: type[Exception] = ValueError, **options: Any) -> None:
    table = bimodal(30)
    with pytest.raises(error, match=says):
        jaxbn.discretize(table, {"x": ["kind"]}, continuous=["x"], **options)
    with pytest.raises(error, match=says):
        jaxbn.learn(table, continuous=["x"], progress=False, **options)
    with pytest.raises(error, match=says):
        jaxbn.cross_validate(table, {"x": ["kind"]}, folds=2, continuous=["x"], **options)


@pytest.mark.parametrize("method", ["bayesian", "mdl"])
@pytest.mark.parametrize("width", [0.5, "gap"])
def test_other_methods_know_no_smallest_width(method, width):
    refused(r"min_width belongs to method='evidence'", method=method, min_width=width)
    with pytest.raises(ValueError, match=r"min_width belongs to method='evidence'"):
        jaxbn.discretize_variable([1.0, 2.0], rate=1.0, method=method, min_width=0.5)


@pytest.mark.parametrize("width", [-1.0, float("nan"), float("inf")])
def test_a_smallest_width_is_a_number_above_zero(width):
    refused("min_width", method="evidence", min_width=width)
    refused(r"min_width\['x'\]", method="evidence", min_width={"x": width})
    with pytest.raises(ValueError, match="min_width"):
        jaxbn.discretize_variable([1.0, 2.0], method="evidence", min_width=width)


def test_words_other_than_gap_are_refused():
    refused(r"min_width must be a number, 'gap' or \{column: number\}, got 'step'", method="evidence", min_width="step")


def test_a_column_that_is_not_there_is_refused():
    refused("min_width.*'z'", method="evidence", min_width={"z": 0.5})


def test_a_word_in_the_mapping_is_refused_by_name():
    refused(r"min_width\['x'\]", TypeError, method="evidence", min_width={"x": "gap"})


def test_zero_and_nothing_are_no_limit():
    table = bimodal(60)
    options = {"continuous": ["x"], "method": "evidence"}
    traces = [jaxbn.discretize(table, {}, **options, min_width=w).trace for w in (None, 0.0, {}, {"x": 0.0})]
    assert len(set(traces)) == 1


# --- the command line


@pytest.fixture
def command(tmp_path: Path) -> Command:
    folder = tmp_path / "here"
    folder.mkdir()
    return Command(folder, tmp_path / "cache")


def test_the_command_line_offers_the_evidence(command: Command):
    for name in ("learn", "discretize"):
        shown = command(name, "--help").stdout
        assert "bayesian, mdl or evidence" in shown
        assert "--min-width" in shown


def test_learning_by_the_evidence_from_the_command_line(command: Command):
    """The others are held out against too, and know no smallest width."""
    data = command.has("table.csv", as_csv(small_frame()))
    options = ["--method", "evidence", "--min-width", "0.5", "--max-parents", "1", "--folds", "2", "--json"]
    done = command("learn", data, "--order", "kind,size,age", *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found["held_out"]) == ["evidence", "equal_width", "equal_frequency"]
    assert found["options"]["min_width"] == 0.5
    net = jaxbn.learn(
        small_frame(), order=["kind", "size", "age"], max_parents=1, method="evidence", min_width=0.5, progress=False
    )
    assert found["cuts"] == edges_of(net)


def test_cutting_by_the_evidence_from_the_command_line(command: Command):
    data = command.has("table.csv", as_csv(small_frame()))
    done = command("discretize", data, "--graph", "kind>size", "--method", "evidence", "--min-width", "gap", "--json")
    assert done.returncode == 0, done.stderr
    found = jaxbn.discretize(small_frame(), {"size": ["kind"]}, method="evidence", min_width="gap")
    assert json.loads(done.stdout)["cuts"] == {name: policy.edges.tolist() for name, policy in found.policies.items()}


@pytest.mark.parametrize("options", [["0.5"], ["-1", "--method", "evidence"], ["step", "--method", "evidence"]])
def test_a_bad_width_is_a_usage_error(command: Command, options: list[str]):
    data = command.has("table.csv", as_csv(small_frame()))
    command.fails("learn", data, "--min-width", *options, says="--min-width", code=2)
