"""The bootstrap against its definition: every resample written out and learned from by the functions for one table."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import matplotlib as mpl
import networkx as nx
import numpy as np
import pytest

import jaxbn
from jaxbn.cuts.discretize_variable import Request
from jaxbn.cuts.sorted_values import sort_values
from jaxbn.evaluation.bootstrap import drawn_rows, resampled_binnings, stream
from jaxbn.evaluation.bootstrap_results import ArcBootstrap, CutBootstrap, nearest_cuts
from jaxbn.learning.many_runs import ManyRuns
from jaxbn.learning.options import in_objects
from jaxbn.learning.plan import Plan
from tests.helpers.command import Command
from tests.helpers.random_tables import random_table
from tests.helpers.random_variables import random_variable, reference_cost, subset
from tests.reference import network as reference

mpl.use("Agg")


def resample(problem: dict[str, Any], count: int, rate: float, method: str = "bayesian"):
    """Pairs of the rows of a resample and its binning."""
    n, whole = len(problem["values"]), Request(sort_values(problem["values"]), (), rate)
    order = whole.ordered.order
    parents = [codes[order] for codes in problem["parents"]]
    children = [(codes[order], [spouse[order] for spouse in spouses]) for codes, spouses in problem["children"]]
    rows = [drawn_rows(stream(1, i), n) for i in range(count)]
    weights = np.array([np.bincount(each, minlength=n) for each in rows])[:, order]
    return list(zip(rows, resampled_binnings(whole, parents, children, weights, method), strict=True))


def assert_same(found: jaxbn.Binning, expected: jaxbn.Binning) -> None:
    np.testing.assert_allclose(found.cost, expected.cost, rtol=1e-9, atol=1e-9)
    assert (found.lower, found.upper, found.method) == (expected.lower, expected.upper, expected.method)
    np.testing.assert_array_equal(found.cuts, expected.cuts)


def test_200_resamples_are_those_of_the_rows_written_out():
    problem = random_variable(5, 150, n_parents=2, spouses=(1, 0), n_values=60)
    for rows, binning in resample(problem, 200, 3.0):
        assert_same(binning, jaxbn.discretize_variable(**subset(problem, rows), rate=3.0, method="bayesian"))


@pytest.mark.parametrize(
    ("n", "n_parents", "spouses", "n_values"),
    [(1, 1, (), None), (2, 0, (1,), None), (7, 2, (0,), None), (60, 0, (), None), (90, 1, (), 3), (90, 3, (2, 1), None),
     (300, 2, (), None), (512, 0, (0, 1), None), (40, 1, (1,), 1)],
)  # fmt: skip
def test_resamples_of_all_kinds_of_variables(n, n_parents, spouses, n_values):
    """Rare levels come and go, so cardinalities differ between resamples; so do the range and the midpoints."""
    problem = random_variable(n, n, n_parents=n_parents, spouses=spouses, n_values=n_values)
    for rate in (0.7, 20.0):
        for rows, binning in resample(problem, 12, rate):
            assert_same(binning, jaxbn.discretize_variable(**subset(problem, rows), rate=rate, method="bayesian"))


def test_resamples_by_another_method():
    problem = random_variable(6, 60, n_parents=1, spouses=(1,))
    for rows, binning in resample(problem, 5, 3.0, "mdl"):
        assert_same(binning, jaxbn.discretize_variable(**subset(problem, rows), method="mdl"))


def test_resamples_against_the_numpy_reference():
    problem = random_variable(8, 50, n_parents=2, spouses=(1,))
    for rows, binning in resample(problem, 20, 3.0):
        expected = reference_cost(subset(problem, rows), "bayesian", 3.0)
        np.testing.assert_allclose(binning.cost, expected, rtol=1e-9)


def test_values_whose_range_is_too_large_for_a_float():
    problem = {"values": np.array([-1.7e308, -1e300, 0.0, 2.0, 1.7e308, 1.0]), "parents": [[0, 0, 1, 1, 0, 1]]}
    problem = {**problem, "parents": [np.array(codes) for codes in problem["parents"]], "children": []}
    for rows, binning in resample(problem, 30, 3.0):
        assert_same(binning, jaxbn.discretize_variable(**subset(problem, rows), rate=3.0, method="bayesian"))


@pytest.fixture(scope="module")
def cuts() -> CutBootstrap:
    iris = jaxbn.datasets.load("iris")
    return jaxbn.bootstrap(iris.frame, iris.structures["paper"], resamples=40, seed=2, method="bayesian")


def test_a_graph_gives_the_cuts_given_the_neighbours_bins(cuts):
    iris = jaxbn.datasets.load("iris")
    graph = iris.structures["paper"]
    full = jaxbn.discretize(iris.frame, graph, method="bayesian")
    codes = full.transform(iris.frame)
    codes["class"] = codes["class"].astype("category").cat.codes
    rate = float(max(codes[name].nunique() for name in codes))
    name = "petal_length"
    parents = [codes[p].to_numpy() for p in graph[name]]
    children = [
        (codes[c].to_numpy(), [codes[p].to_numpy() for p in found if p != name])
        for c, found in graph.items()
        if name in found
    ]
    problem = {"values": iris.frame[name].to_numpy(), "parents": parents, "children": children}
    for i in range(40):
        chosen = subset(problem, drawn_rows(stream(2, i), 150))
        assert_same(cuts.binnings[name][i], jaxbn.discretize_variable(**chosen, rate=rate, method="bayesian"))
    for variable, binning in full.binnings.items():
        np.testing.assert_array_equal(cuts.original[variable].cuts, binning.cuts)


def test_the_frames_are_counts_over_resamples(cuts):
    assert cuts.resamples == 40
    assert set(cuts.binnings) == set(jaxbn.datasets.load("iris").continuous)
    for name, found in cuts.binnings.items():
        shares = cuts.bins[cuts.bins["variable"] == name]
        assert shares["share"].sum() == pytest.approx(1)
        for bins, share in zip(shares["bins"], shares["share"], strict=True):
            assert share == np.mean([binning.n_bins == bins for binning in found])
    assert len(cuts.cuts) == sum(len(p.cuts) for found in cuts.binnings.values() for p in found)
    for row in cuts.frame.to_dict("records"):
        near = [
            min(binning.cuts, key=lambda edge: abs(edge - row["cut"])) for binning in cuts.binnings[row["variable"]]
        ]
        assert row["found"] == np.mean(np.abs(np.array(near) - row["cut"]) <= row["tolerance"])
        column = jaxbn.datasets.load("iris").frame[row["variable"]].to_numpy()
        drawn = [column[drawn_rows(stream(2, i), 150)] for i in range(40)]
        left = [values[values < cut].max() for values, cut in zip(drawn, near, strict=True)]
        right = [values[values >= cut].min() for values, cut in zip(drawn, near, strict=True)]
        assert (row["lower"], row["upper"]) == (np.quantile(left, 0.05), np.quantile(right, 0.95))


def test_the_tolerance_is_half_the_distance_to_the_next_cut_and_at_most_a_twentieth_of_the_range():
    binnings = {"x": (jaxbn.Binning([0.99, 3.3]), jaxbn.Binning([])), "y": (jaxbn.Binning([5.3]), jaxbn.Binning([5.6]))}
    gaps = {
        "x": (np.array([[0.9, 1.1], [3.0, 4.0]]), np.empty((0, 2))),
        "y": (np.array([[5, 5.6]]), np.array([[5, 6]])),
    }
    original = {"x": jaxbn.Binning([1.0, 1.5]), "y": jaxbn.Binning([5.0])}
    values = {"x": np.linspace(0, 100, 5), "y": np.linspace(0, 10, 5)}
    found = CutBootstrap(binnings, 2, 0, gaps, original, values, 0.9, None)
    assert found.frame["tolerance"].tolist() == [0.25, 0.25, 0.5]
    assert found.frame["found"].tolist() == [0.5, 0.0, 0.5]
    assert found.frame.loc[0, ["lower", "upper"]].tolist() == [0.9, 1.1]  # of the resamples that have a cut
    wide = CutBootstrap(binnings, 2, 0, gaps, original, values, 0.9, 0.1)
    assert wide.frame["tolerance"].tolist() == [10.0, 10.0, 1.0]
    assert np.isnan(nearest_cuts(np.array([1.0]), [jaxbn.Binning([])], [np.empty((0, 2))])[0]).all()


def test_a_variable_without_neighbours_has_the_bins_of_the_start():
    drawn = random_table(3, n_rows=40, n_columns=5)
    found = jaxbn.bootstrap(
        drawn.frame,
        {},
        resamples=3,
        columns=jaxbn.Columns(continuous=drawn.continuous),
        method=jaxbn.Bayesian(initial_bins=4),
    )
    values = drawn.frame["v0"].to_numpy()[drawn_rows(stream(0, 1), 40)]
    expected = values.min() + np.ptp(values) / 4 * np.arange(1, 4)
    np.testing.assert_allclose(found.binnings["v0"][1].cuts, expected)
    even = jaxbn.bootstrap(
        {"x": np.arange(40.0)}, {}, resamples=3, method=jaxbn.Bayesian(initial_bins=4, initial="frequency")
    )
    values = np.arange(40.0)[drawn_rows(stream(0, 1), 40)]  # with repetitions
    np.testing.assert_array_equal(even.binnings["x"][1].cuts, reference.equal_frequency_edges(values, 4))


def test_a_resample_depends_on_its_number_and_the_seed_alone():
    iris = jaxbn.datasets.load("iris")
    few, many, other = (
        jaxbn.bootstrap(iris.frame, iris.structures["paper"], resamples=n, seed=seed, method="bayesian")
        for n, seed in ((3, 0), (9, 0), (3, 1))
    )
    edges = [[p.cuts.tolist() for p in found.binnings["sepal_width"][:3]] for found in (few, many, other)]
    assert edges[0] == edges[1] != edges[2]


def test_plot_and_words(cuts):
    ax = cuts.plot("petal_width")
    assert "resampled cuts" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(cuts.plot()) == 4
    assert "petal_width" in repr(cuts)
    assert "40 resamples" in repr(cuts)
    with pytest.raises(ValueError, match=r"'petal' is not a continuous variable of the bootstrap; .*petal_width"):
        cuts.plot("petal")
    with pytest.raises(ValueError, match="ax is for one variable"):
        cuts.plot(ax=ax)


LEARNING = {"method": "bayesian", "search": "k2", "max_parents": 2, "resamples": 12, "seed": 5, "progress": False}


@pytest.fixture(scope="module")
def arcs() -> ArcBootstrap:
    drawn = random_table(0, n_rows=70, n_columns=5)
    return jaxbn.bootstrap(drawn.frame, **in_objects({"continuous": drawn.continuous, **LEARNING}))


def test_without_a_graph_each_resample_is_learned_from_its_rows(arcs):
    drawn = random_table(0, n_rows=70, n_columns=5)
    for i in range(12):
        rng = stream(5, i)
        rows = drawn_rows(rng, 70)
        order = [drawn.frame.columns[k] for k in rng.permutation(5)]
        net = jaxbn.learn(
            drawn.frame.iloc[rows],
            max_parents=2,
            method="bayesian",
            columns=jaxbn.Columns(continuous=drawn.continuous),
            search=jaxbn.K2(order=order),
        )
        assert arcs.parents[i] == net.parents
        for name, binning in net.binnings.items():
            assert_same(arcs.binnings[name][i], binning)


def test_the_average_is_that_of_the_resampled_networks_with_tables_of_all_rows(arcs):
    average = arcs.average
    assert [net.parents for net in average.networks] == list(arcs.parents)
    name = next(iter(arcs.binnings))
    assert [net.binnings[name] for net in average.networks] == list(arcs.binnings[name])
    assert average.networks[0].n_rows == arcs.table.n_rows


def test_strength_and_direction_are_counts_over_resamples(arcs):
    assert len(arcs.frame) == 5 * 4
    for row in arcs.frame.to_dict("records"):
        this = [row["from"] in found[row["to"]] for found in arcs.parents]
        other = [row["to"] in found[row["from"]] for found in arcs.parents]
        either = np.mean(np.array(this) | np.array(other))
        assert row["strength"] == pytest.approx(either)
        assert row["direction"] == pytest.approx(np.mean(this) / either if either else 0.0)
        assert arcs.strengths.get((row["from"], row["to"]), 0.0) == np.mean(this)
    assert arcs.resamples == 12
    assert "strength" in repr(arcs)
    assert arcs.bins.groupby("variable")["share"].sum().tolist() == pytest.approx([1.0] * len(arcs.binnings))


def test_the_consensus_has_strong_arcs_and_no_cycle(arcs):
    for threshold in (0.0, 0.3, 0.5, 1.0):
        graph = arcs.consensus(threshold)
        assert list(graph) == list(arcs.names)
        assert nx.is_directed_acyclic_graph(graph)
        for _, _, arc in graph.edges(data=True):
            assert arc["strength"] > threshold
            assert arc["direction"] > 0.5
    cycle = [{"a": ("c",), "b": ("a",), "c": ()}] * 4 + [{"a": (), "b": ("a",), "c": ("b",)}] * 3
    found = ArcBootstrap({}, 7, 0, tuple(cycle))
    for given in (0.1, np.float32(0.1)):
        assert set(found.consensus(given).edges) == {("a", "b"), ("c", "a")}  # b -> c is the weakest of the three
    for bad in (-0.1, 1.5, "half", True):
        with pytest.raises(ValueError, match="threshold must be a number from 0 to 1"):
            found.consensus(bad)


def test_restarts_keep_the_best_order_of_each_resample():
    drawn = random_table(0, n_rows=50, n_columns=4)
    found = jaxbn.bootstrap(
        drawn.frame,
        resamples=3,
        restarts=3,
        progress=False,
        method="bayesian",
        search="k2",
        columns=jaxbn.Columns(continuous=drawn.continuous),
    )
    rng = stream(0, 1)
    table = drawn.frame.iloc[drawn_rows(rng, 50)]
    orders = [[drawn.frame.columns[k] for k in rng.permutation(4)] for _ in range(3)]
    nets = [
        jaxbn.learn(
            table, method="bayesian", columns=jaxbn.Columns(continuous=drawn.continuous), search=jaxbn.K2(order=order)
        )
        for order in orders
    ]
    assert found.parents[1] in [net.parents for net in nets]
    order = list(drawn.frame.columns)
    fixed = jaxbn.bootstrap(
        drawn.frame,
        resamples=2,
        progress=False,
        method="bayesian",
        columns=jaxbn.Columns(continuous=drawn.continuous),
        search=jaxbn.K2(order=order),
    )
    for child, parents in fixed.parents[1].items():
        assert all(order.index(parent) < order.index(child) for parent in parents)


@pytest.mark.parametrize("side_by_side", [1, 5, 100])
def test_how_many_run_side_by_side_does_not_matter(side_by_side, arcs, monkeypatch):
    monkeypatch.setattr("jaxbn.evaluation.bootstrap.SIDE_BY_SIDE", side_by_side)
    monkeypatch.setenv("JAXBN_THREADS", "1")
    drawn = random_table(0, n_rows=70, n_columns=5)
    found = jaxbn.bootstrap(drawn.frame, **in_objects({"continuous": drawn.continuous, **LEARNING}))
    assert found.parents == arcs.parents
    assert found.cuts.equals(arcs.cuts)


def test_a_checkpoint_is_resumed_and_one_of_another_run_refused(tmp_path: Path, arcs, monkeypatch):
    drawn = random_table(0, n_rows=70, n_columns=5)
    file = tmp_path / "run.json"
    options = {"continuous": drawn.continuous, "checkpoint": file, **LEARNING}
    jaxbn.bootstrap(drawn.frame, **in_objects({**options, "resamples": 5}))
    assert sorted(json.loads(file.read_text())["finished"]) == ["0", "1", "2", "3", "4"]
    resumed = jaxbn.bootstrap(drawn.frame, **in_objects(options))
    assert resumed.parents == arcs.parents
    assert resumed.cuts.equals(arcs.cuts)
    monkeypatch.setattr("jaxbn.learning.solver.Solver.work_out", None)  # to call it is an error
    assert jaxbn.bootstrap(drawn.frame, **in_objects(options)).parents == arcs.parents
    for change, message in (
        ({"seed": 6}, "seed was 5, now it is 6"),
        ({"max_parents": 1}, "max_parents was 2, now it is 1"),
        ({"restarts": 2}, "restarts was 1, now it is 2"),
        ({"rate": 3.0}, "rate was 'network', now it is 3.0"),
    ):
        with pytest.raises(ValueError, match=message):
            jaxbn.bootstrap(drawn.frame, **in_objects({**options, **change}))
    with pytest.raises(ValueError, match="data was"):
        jaxbn.bootstrap(drawn.frame[::-1], **in_objects(options))
    with pytest.raises(ValueError, match="belongs to another run"):
        jaxbn.learn(
            drawn.frame,
            checkpoint=file,
            method="bayesian",
            search="k2",
            columns=jaxbn.Columns(continuous=drawn.continuous),
        )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"resamples": 0}, ValueError, "resamples must be at least 1, got 0"),
        ({"resamples": 2.5}, TypeError, "resamples must be a whole number"),
        ({"seed": -1}, ValueError, "seed must be at least 0, got -1"),
        ({"level": 1.0}, ValueError, "level must be below 1"),
        ({"level": "high"}, TypeError, "level must be a number"),
        ({"tolerance": 0.0}, ValueError, "tolerance must be finite and above zero"),
        ({"tolerance": 2.0}, ValueError, "tolerance must be at most 1"),
        ({"method": "magic"}, ValueError, "method must be one of"),
        ({"rate": "all", "method": "bayesian"}, ValueError, "rate must be"),
        (
            {"max_parents": 2},
            ValueError,
            "max_parents is for learning the structure; leave it out, or leave out `graph`",
        ),
        ({"checkpoint": "run.json"}, ValueError, "checkpoint is for learning the structure"),
        ({"graph": None, "parents": 2}, TypeError, "bootstrap has no option 'parents'; did you mean 'max_parents'"),
        ({"graph": None, "select": "best", "method": "bayesian"}, ValueError, "select must be one of"),
        ({"graph": None, "restarts": 0}, ValueError, "restarts must be at least 1"),
        ({"graph": None, "order": ["a"]}, ValueError, "order leaves out 'b'"),
        ({"graph": {"a": ["z"]}}, ValueError, "z"),
        ({"graph": None, "level": 0.5}, ValueError, "level is for cuts of a known structure; leave it out, or pass"),
        ({"graph": None, "tolerance": 0.5}, ValueError, "tolerance is for cuts of a known structure"),
        (
            {"min_width": 0.5, "method": "bayesian"},
            ValueError,
            "min_width is for method='evidence', got 0.5 with method 'bayesian'",
        ),
        ({"rate": 3.0}, ValueError, "rate is for method='bayesian', got 3.0 with method 'evidence'; leave it out"),
        ({"graph": None, "select": "k2"}, ValueError, "select is for method='bayesian' or method='mdl', got 'k2'"),
        ({"graph": None, "time_limit": 1e-9}, TimeoutError, "the time limit was over before there was a result"),
        (
            {"graph": None, "warm_start": True, "search": "k2", "method": "evidence"},
            ValueError,
            "warm_start is for method='bayesian' or",
        ),
    ],
)
def test_bad_input(options, error, message):
    data = {"a": [0.5, 1.5, 2.0, 4.0], "b": ["x", "y", "x", "y"]}
    with pytest.raises(error, match=message):
        jaxbn.bootstrap(data, **in_objects({"graph": {"a": ["b"]}, "resamples": 2, **options}))


def test_under_a_limit_resamples_end_one_after_the_other(monkeypatch):
    """Sixteen at a time had none to return after a short limit."""
    events: list[str] = []
    begin, keep = Plan.runs, ManyRuns.keep
    monkeypatch.setattr(Plan, "runs", lambda *args: events.append("begun") or begin(*args))
    monkeypatch.setattr(ManyRuns, "keep", lambda *args: events.append("finished") or keep(*args))
    monkeypatch.setenv("JAXBN_THREADS", "1")
    data = jaxbn.datasets.load("iris").frame
    limited = jaxbn.bootstrap(data, resamples=3, time_limit=10_000.0, progress=False)
    assert events == ["begun", "finished"] * 3
    assert limited.parents == jaxbn.bootstrap(data, resamples=3, progress=False).parents
    assert events[6:9] == ["begun"] * 3


def test_the_command(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = Command(tmp_path)

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return command("bootstrap", "iris", "--resamples", "4", "--no-cache", *more)

    done = run("--graph", "paper", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert {row["variable"] for row in found["cuts"]} == set(jaxbn.datasets.load("iris").continuous)
    assert len(found["resampled"]["petal_width"]) == 4
    done = run("--max-parents", "1", "--report", "page.html", "--out", "net.json")
    assert done.returncode == 0, done.stderr
    assert "consensus, strength above 0.5" in done.stdout
    assert "The percentage at an arrow or line is the share of resamples" in Path("page.html").read_text()
    assert jaxbn.load("net.json").names
    done = run("--graph", "paper", "--out", "other.json")
    assert done.returncode == 2
    assert "--out and --report are for the consensus network" in done.stderr


def test_missing_entries_are_refused_or_dropped():
    data = {"a": [0.5, 1.5, None, 4.0], "b": ["x", "y", "x", "y"]}
    with pytest.raises(ValueError, match="missing values in 1 of 4 rows"):
        jaxbn.bootstrap(data, {"a": ["b"]}, resamples=2, method="bayesian", missing="error")
    assert jaxbn.bootstrap(data, {"a": ["b"]}, resamples=2, missing="drop", method="bayesian").values["a"].tolist() == [
        0.5,
        1.5,
        4.0,
    ]


def test_columns_that_learn_leaves_out_are_left_out():
    """A table with a column of names was refused, and one with a few namesakes had arcs from their names."""
    iris = jaxbn.datasets.load("iris").frame.iloc[::3, -2:]
    data = iris.assign(
        name=[f"flower {i // 1.2:.0f}" for i in range(len(iris))], code=[f"k{i}" for i in range(len(iris))]
    )
    options: dict[str, Any] = {"resamples": 2, "progress": False}
    assert set(jaxbn.bootstrap(data, **options).frame["from"]) == set(iris)
    assert jaxbn.bootstrap(data, {"class": ["petal_width"]}, resamples=2).frame["variable"].unique() == ["petal_width"]
    order = jaxbn.K2(order=[*iris, "name"])
    assert "name" in set(jaxbn.bootstrap(data.drop(columns="code"), search=order, **options).frame["from"])


def test_discrete_columns_alone():
    data = {"a": ["x", "y"] * 20, "b": ["u", "v", "v", "u"] * 10, "c": ["p", "q"] * 20}
    found = jaxbn.bootstrap(data, resamples=4, progress=False, method="bayesian", search="k2")
    assert found.strengths.get(("a", "c"), 0) + found.strengths.get(("c", "a"), 0) == 1.0
    given = jaxbn.bootstrap(data, {"a": ["b"]}, resamples=4, method="bayesian")
    assert len(given.frame) == 0
    assert "4 resamples" in repr(found)
    assert "4 resamples" in repr(given)


def test_by_the_evidence_lone_variables_are_cut_too_and_widths_are_kept():
    values = np.concatenate([np.linspace(0, 1, 40), np.linspace(9, 10, 40)])
    for width in (None, 2.0):
        found = jaxbn.bootstrap({"x": values}, {}, resamples=3, method=jaxbn.Evidence(shape="flat", min_width=width))
        for i, binning in enumerate(found.binnings["x"]):
            rows = drawn_rows(stream(0, i), len(values))
            alone = jaxbn.discretize_variable(values[rows], method="evidence", shape="flat", min_width=width)
            assert binning.cuts.tolist() == alone.cuts.tolist()
            assert width is not None or binning.n_bins > 1
            assert width is None or np.diff([values[rows].min(), *binning.cuts, values[rows].max()]).min() >= width


@pytest.mark.parametrize("checkpoint", [False, True])
def test_an_interrupt_returns_the_finished_resamples(monkeypatch, tmp_path, checkpoint):
    from jaxbn.learning import many_runs

    real = many_runs.run_each

    def interrupted(*arguments):
        for count, result in enumerate(real(*arguments)):
            if count == 2:
                raise KeyboardInterrupt
            yield result

    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    data = {"x": x, "y": x + rng.normal(size=80)}
    file = tmp_path / "boot.json" if checkpoint else None
    monkeypatch.setenv("JAXBN_THREADS", "1")  # with workers it is tested in tests/runtime/test_workers.py
    monkeypatch.setattr(many_runs, "run_each", interrupted)
    with pytest.warns(jaxbn.InterruptedWarning, match="these are 2 of 5 resamples"):
        found = jaxbn.bootstrap(data, resamples=5, checkpoint=file, progress=False)
    assert found.resamples == 2 == len(found.binnings["x"])
    monkeypatch.undo()
    if checkpoint:
        assert jaxbn.bootstrap(data, resamples=5, checkpoint=file, progress=False).resamples == 5
