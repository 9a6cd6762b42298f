"""The NumPy reference agrees with itself by independent means and with the published results."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tests.reference import cuts, network

GOLDEN = Path(__file__).parents[1] / "golden"
DATA = Path(__file__).parents[2] / "jaxbn" / "datasets" / "data"
FIXED = ("auto_mpg_fixed", "wine_fixed", "housing_fixed", "iris_naive")


def golden(name: str) -> dict:
    """A golden file."""
    return json.loads((GOLDEN / f"{name}.json").read_text())


def load_columns(case: dict) -> tuple[dict[str, np.ndarray], list[str]]:
    """Columns of a golden case's data set under the paper's letters, and the continuous ones."""
    with (DATA / f"{case['dataset']}.csv").open() as file:
        rows = list(csv.reader(file))[1:]
    columns = {}
    for letter, position in case["columns"].items():
        texts = [row[position] for row in rows]
        columns[letter] = np.array(texts) if letter in case["discrete"] else np.array(texts, dtype=float)
    return columns, [letter for letter in columns if letter not in case["discrete"]]


def random_problem(seed: int) -> dict:
    """A tiny variable with up to two parents and two children, repeated values and weights 0 to 3."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 14))

    def some(most: int) -> list[np.ndarray]:
        return [rng.integers(0, 3, n) for _ in range(rng.integers(0, most + 1))]

    weights = rng.integers(0, 4, n)
    weights[rng.integers(n)] = 1
    return {
        "values": rng.integers(0, 7, n) ** 2 / 4.0,
        "parents": some(2),
        "children": [(codes, some(2)) for codes in some(2)],
        "weights": weights,
    }


@pytest.mark.parametrize("seed", range(20))
def test_printed_objective_is_rate_plus_cut_weights_plus_interval_costs(seed):
    problem = random_problem(seed)
    distinct = cuts.prepare(**problem).distinct
    rng = np.random.default_rng(seed)
    edges = cuts.midpoints(distinct)[rng.random(len(distinct) - 1) < 0.5]
    printed = cuts.objective(edges=edges, rate=2.5, **problem)
    assert cuts.policy_cost(edges=edges, rate=2.5, **problem) == pytest.approx(printed, abs=1e-9)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("rate", [0.7, 6.0])
def test_algorithm_1_finds_the_enumerated_minimum(seed, rate):
    problem = random_problem(seed)
    cost, edges = cuts.algorithm_1(rate=rate, **problem)
    assert cost == pytest.approx(cuts.enumerate_best(rate=rate, **problem)[0], abs=1e-9)
    assert cost == pytest.approx(cuts.objective(edges=edges, rate=rate, **problem), abs=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_mdl_program_finds_the_enumerated_minimum(seed):
    problem = random_problem(seed)
    cost, edges = cuts.mdl_program(**problem)
    assert cost == pytest.approx(cuts.enumerate_best(method="mdl", **problem)[0], abs=1e-9)
    assert cost == pytest.approx(cuts.mdl_objective(edges=edges, **problem), abs=1e-9)


def test_mdl_program_finds_real_cuts():
    """Enough rows for MDL to pay for cuts, so that the layers beyond the first are exercised."""
    values = np.arange(10.0)
    parent = np.array([0, 0, 0, 1, 1, 1, 1, 0, 0, 0])
    problem = {"values": values, "parents": [parent], "weights": np.full(10, 6)}
    cost, edges = cuts.mdl_program(**problem)
    assert edges.tolist() == [2.5, 6.5]
    assert cost == pytest.approx(cuts.enumerate_best(method="mdl", **problem)[0])


@pytest.mark.parametrize("seed", range(10))
def test_cost_matrices_match_the_definition(seed):
    problem = cuts.prepare(**random_problem(seed))
    h, e = cuts.cost_matrix(problem, "bayesian"), cuts.cost_matrix(problem, "mdl")
    for u in range(len(problem.distinct)):
        for v in range(u, len(problem.distinct)):
            rows = (problem.level >= u) & (problem.level <= v)
            assert h[u, v] == pytest.approx(cuts.interval_cost(problem, rows), abs=1e-9)
            assert e[u, v] == pytest.approx(cuts.interval_entropy(problem, rows), abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_weights_are_repeated_rows(seed):
    problem = random_problem(seed)
    weights = problem.pop("weights")
    rows = np.repeat(np.arange(len(weights)), weights)
    repeated = {
        "values": problem["values"][rows],
        "parents": [codes[rows] for codes in problem["parents"]],
        "children": [(codes[rows], [s[rows] for s in spouses]) for codes, spouses in problem["children"]],
    }
    for program, options in ((cuts.algorithm_1, {"rate": 3.0}), (cuts.mdl_program, {})):
        weighted = program(weights=weights, **problem, **options)
        plain = program(**repeated, **options)
        assert weighted[0] == pytest.approx(plain[0], abs=1e-9)
        assert weighted[1].tolist() == plain[1].tolist()


def test_a_constant_variable_has_one_bin_and_no_prior_cost():
    codes = np.array([0, 1, 1])
    problem = cuts.prepare(np.ones(3), [codes])
    cost, edges = cuts.algorithm_1(np.ones(3), [codes], rate=5.0)
    assert edges.size == 0
    assert cost == pytest.approx(cuts.interval_cost(problem, np.ones(3, dtype=bool)))
    assert cuts.mdl_program(np.ones(3), [codes])[1].size == 0


def test_no_positive_weight_is_an_error():
    with pytest.raises(ValueError, match="positive weight"):
        cuts.algorithm_1([1.0, 2.0], rate=1.0, weights=[0, 0])


def test_ten_rows_of_the_paper():
    case = golden("ten_rows")
    table = {name: np.array(column) for name, column in case["columns"].items()}
    published = case["published"]
    distinct, counts = np.unique(table["X"], return_counts=True)
    assert distinct.tolist() == published["distinct"]
    assert counts.cumsum().tolist() == published["last_index"]
    bins = cuts.bins_of(table["X"], published["example_edges"])
    assert np.bincount(bins).tolist() == published["example_gamma"]
    for expected in case["reference_output"]:
        parents = [table[p] for p in expected["parents"]]
        children = [(table[c], [table[s] for s in spouses]) for c, spouses in expected["children"]]
        if expected["method"] == "mdl":
            found = cuts.mdl_program(table["X"], parents, children)
        else:
            found = cuts.algorithm_1(table["X"], parents, children, rate=expected["rate"])
        best = cuts.enumerate_best(table["X"], parents, children, rate=expected["rate"], method=expected["method"])
        assert found[0] == pytest.approx(expected["cost"], abs=1e-9)
        assert best[0] == pytest.approx(expected["cost"], abs=1e-9)
        np.testing.assert_allclose(found[1], expected["edges"], rtol=0, atol=1e-12)
        np.testing.assert_allclose(best[1], expected["edges"], rtol=0, atol=1e-12)


def assert_edges(found: dict[str, np.ndarray], expected: dict[str, list[float]]) -> None:
    """The edges of every expected variable, to rounding of the midpoint."""
    for name, edges in expected.items():
        np.testing.assert_allclose(found[name], edges, rtol=1e-12, atol=0, err_msg=name)


@pytest.mark.parametrize("name", FIXED)
def test_fixed_structures_of_the_paper(name):
    case = golden(name)
    columns, continuous = load_columns(case)
    options = {key: case["options"][key] for key in ("rate", "initial_bins", "max_passes")}
    for method, expected in case["expected"].items():
        found = network.discretize(columns, continuous, case["structure"], method=method, **options)
        assert_edges(found["edges"], expected.get("edges", {}))
        n_bins = {variable: len(found["edges"][variable]) + 1 for variable in expected.get("n_bins", {})}
        assert n_bins == expected.get("n_bins", {})
        reference = case["reference_output"][method]
        assert (found["passes"], found["converged"]) == (reference["passes"], reference["converged"])
        assert found["passes"] == expected.get("passes", found["passes"])
        assert_edges(found["edges"], reference["edges"])


def test_learned_structure_of_the_authors():
    case = golden("auto_mpg_learned")
    columns, continuous = load_columns(case)
    found = network.learn(columns, continuous, **case["options"])
    assert {name: list(parents) for name, parents in found["parents"].items()} == case["expected"]["parents"]
    assert_edges(found["edges"], case["expected"]["edges"])
    assert found["score"] == pytest.approx(case["reference_output"]["score"])


@pytest.mark.parametrize(("name", "published"), [("auto_mpg_fixed", -26.04), ("wine_fixed", -19.94)])
def test_cross_validation_is_within_the_noise_of_the_paper(name, published):
    case = golden(name)
    columns, continuous = load_columns(case)
    n = len(columns["A"])
    fold_of_row = np.random.default_rng(0).permutation(n) % 10
    per_fold = network.cross_validate(columns, continuous, case["structure"], fold_of_row)
    assert np.mean(per_fold) == pytest.approx(published, abs=0.5)


def test_visiting_order_is_the_smallest_topological_order_backwards():
    parents = {"C": ["B"], "E": ["C"], "A": ["E"], "G": ["A", "E", "C"], "D": ["C"], "F": ["D"]}
    assert "".join(network.visiting_order("ABCDEFGH", parents)) == "HGFAEDCB"
    assert "".join(network.visiting_order("BCEAGDFH", parents)) == "HFDGAECB"
    with pytest.raises(ValueError, match="cycle"):
        network.visiting_order("AB", {"A": ["B"], "B": ["A"]})


def test_an_isolated_variable_keeps_its_equal_width_bins():
    columns = {"x": np.array([0.0, 1.0, 2.0, 9.0]), "y": np.array([0, 1, 2, 0])}
    found = network.discretize(columns, ["x"], {})
    assert found["edges"]["x"].tolist() == [3.0, 6.0]
    assert found["codes"]["x"].tolist() == [0, 0, 0, 2]
    assert found["converged"]


def test_k2_score_of_a_hand_worked_table():
    """Child (0, 0, 1) under parent (0, 0, 1): g = ln(1!/(2+1)! * 2!) + ln(1!/2! * 1!) = ln(1/3) + ln(1/2)."""
    codes = {"p": np.array([0, 0, 1]), "c": np.array([0, 0, 1])}
    root = np.log(1 / 12)  # 1!/4! * 2! * 1!
    assert network.k2_score(codes, {"c": ["p"]}) == pytest.approx(root + np.log(1 / 6))


def test_likelihood_of_a_hand_worked_row():
    """One held-out row: P = (2 + 1) / (4 + 2) in the lower bin of width 3."""
    rows = network.log_likelihood(
        train_codes={"x": np.array([0, 0, 1, 1])},
        test_columns={"x": np.array([1.0])},
        discrete_test_codes={},
        parents={},
        edges={"x": np.array([3.0])},
        bounds={"x": (0.0, 5.0)},
        n_levels={},
    )
    assert rows == pytest.approx(np.log(3 / 6 / 3))


def test_unobserved_parent_configurations_count_in_k():
    """Two binary parents, two of four configurations seen: h = ln(5! / 3!) = ln 20 for the whole, L = 3 on top."""
    codes = np.array([0, 1])
    assert cuts.policy_cost([1.0, 2.0], [], [codes, codes], rate=3.0) == pytest.approx(3 + np.log(20))
    assert cuts.objective([1.0, 2.0], [], [codes, codes], rate=3.0) == pytest.approx(3 + np.log(20))


def test_child_factor_of_a_hand_worked_interval():
    """Child (0, 0, 1, 1) in contexts (0, 0, 0, 1): h = ln(4! / 2!) + ln(2! / 1!) = ln 24, with K = 2."""
    child, spouse = np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1])
    problem = cuts.prepare(np.arange(4.0), [], [(child, [spouse])])
    everything = np.ones(4, dtype=bool)
    assert cuts.interval_cost(problem, everything) == pytest.approx(np.log(24))
    assert cuts.interval_entropy(problem, everything) == pytest.approx(-2 * np.log(2 / 3) - np.log(1 / 3))


def test_mdl_equation_worked_by_hand():
    """n = m = 4, k = 2: ln 4 / 2 * (1 + 2 * 2) + ln 2 + 3 H(1/3) - 4 ln 2 = 3 ln 3."""
    child, spouse = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    cost = cuts.mdl_objective([1.0, 2.0, 3.0, 4.0], [2.5], [], [(child, [spouse])])
    assert cost == pytest.approx(3 * np.log(3))


def test_k2_adds_no_arc_between_independent_variables():
    columns = {"a": np.tile([0, 0, 1, 1], 5), "b": np.tile([0, 1, 0, 1], 5)}
    assert network.learn(columns, [], ["a", "b"])["parents"] == {"a": (), "b": ()}


def test_of_equal_scores_the_earliest_in_the_order_wins():
    column = np.tile([0, 1], 10)
    columns = {"a": column, "b": column, "c": column}
    assert network.learn(columns, [], ["b", "a", "c"], max_parents=1)["parents"] == {"a": ("b",), "b": (), "c": ("b",)}


def test_a_second_parent_must_beat_the_first():
    columns = {"a": np.tile([0, 0, 1, 1], 5), "b": np.tile([0, 1, 0, 1], 5), "c": np.tile([0, 0, 1, 1], 5)}
    assert network.learn(columns, [], ["a", "b", "c"])["parents"]["c"] == ("a",)
