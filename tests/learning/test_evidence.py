"""Networks by the evidence in original units: one number that never falls, and that of the definition."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.inputs.graph import as_parents
from jaxbn.learning.options import in_objects
from tests.helpers.programs import close
from tests.helpers.random_tables import Drawn, random_table
from tests.reference import evidence as reference
from tests.reference import groups as reference_groups
from tests.reference.network import initial_bin_count

DATASETS = ("iris", "seeds", "wine", "auto_mpg", "glass")
QUICK = (*DATASETS, "heart", "liver_disorders")
SLOW = ("housing", "banknote", "ilpd")


def assert_rises(trace: tuple[float, ...]) -> None:
    assert np.isfinite(trace).all()
    assert (np.diff(trace) >= -1e-9 * np.abs(trace[:-1])).all()


def reference_total(frame: pd.DataFrame, parents: dict[str, Any], binnings: dict[str, jaxbn.Binning]) -> float:
    columns = {name: frame[name].to_numpy() for name in frame}
    return reference.total_evidence(columns, list(binnings), parents, {n: p.cuts for n, p in binnings.items()})


def loaded(name: str) -> Any:
    try:
        return jaxbn.datasets.load(name)
    except OSError as error:
        pytest.skip(str(error))


def assert_discretizes(name: str) -> None:
    data = loaded(name)
    graph = data.structures["paper"]
    found = jaxbn.discretize(
        data.frame,
        graph,
        max_bins=None,
        columns=jaxbn.Columns(continuous=data.continuous),
        method=jaxbn.Evidence(shape="flat", max_passes=None),
    )
    assert found.converged
    assert len(found.trace) > 1
    assert_rises(found.trace)
    assert found.trace[-1] == close(reference_total(data.frame, as_parents(graph, list(data.frame)), found.binnings))


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
        data.frame,
        max_parents=2,
        max_bins=None,
        progress=False,
        columns=jaxbn.Columns(continuous=data.continuous),
        method=jaxbn.Evidence(shape="flat"),
        search=jaxbn.K2(order=order),
    )
    assert_rises(net.trace)
    assert any(net.parents.values())
    assert net.trace[-1] == close(reference_total(data.frame, net.parents, net.binnings))


def found_by_both(drawn: Drawn, **options: Any) -> tuple[jaxbn.Discretization, dict[str, Any]]:
    found = jaxbn.discretize(
        drawn.frame,
        drawn.parents,
        **in_objects(
            {
                "continuous": drawn.continuous,
                "method": "evidence",
                "shape": "flat",
                "max_bins": None,
                "max_passes": None,
                **options,
            }
        ),
    )
    expected = reference.evidence_passes(drawn.columns, drawn.continuous, drawn.parents, max_passes=50, **options)
    return found, expected


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("limited", [False, True], ids=["free", "limited"])
def test_passes_equal_those_of_the_reference(seed, limited):
    drawn = random_table(seed, n_rows=40 + 10 * (seed % 4), n_columns=4)
    widths = {n: w for n in drawn.continuous if (w := 0.05 * float(np.ptp(drawn.frame[n]))) > 0}
    options = {"min_width": widths} if limited else {}
    n_bins = initial_bin_count(drawn.columns, drawn.continuous)
    found, expected = found_by_both(drawn, initial_bins=n_bins, **options)
    assert found.converged
    assert_rises(found.trace)
    assert found.trace[0] == close(expected["trace"][0])
    assert found.trace[-1] == close(expected["trace"][-1])
    assert found.trace[-1] == close(reference_total(drawn.frame, drawn.parents, found.binnings))
    for name in widths if limited else ():
        assert reference.is_allowed(found.binnings[name].cuts, np.unique(drawn.frame[name]), widths[name])
    best_of_starts, _ = found_by_both(drawn, **options)  # this one is among them
    assert best_of_starts.trace[-1] >= found.trace[-1] - 1e-9 * abs(found.trace[-1])


def test_the_smallest_gap_as_the_smallest_width():
    drawn = random_table(3, n_rows=80, n_columns=4)
    gaps = {n: float(np.diff(np.unique(drawn.frame[n])).min(initial=np.inf)) for n in drawn.continuous}
    named = {n: gap for n, gap in gaps.items() if np.isfinite(gap)}
    options = {"continuous": drawn.continuous, "method": "evidence", "shape": "flat", "max_bins": None}
    by_word = jaxbn.discretize(drawn.frame, drawn.parents, **in_objects({**options, "min_width": "gap"}))
    by_number = jaxbn.discretize(drawn.frame, drawn.parents, **in_objects({**options, "min_width": named}))
    assert by_word.trace == by_number.trace
    for name, gap in named.items():
        assert reference.is_allowed(by_word.binnings[name].cuts, np.unique(drawn.frame[name]), gap)


def edges_of(net: jaxbn.BayesNet) -> dict[str, list[float]]:
    return {name: binning.cuts.tolist() for name, binning in net.binnings.items()}


def test_restarts_are_chosen_by_the_evidence_and_kept_in_a_checkpoint(tmp_path: Path, monkeypatch):
    drawn = random_table(2, n_rows=70, n_columns=5)
    options = {
        "continuous": drawn.continuous,
        "method": "evidence",
        "shape": "flat",
        "max_bins": None,
        "search": "k2",
        "max_parents": 2,
        "progress": False,
    }
    file = tmp_path / "run.json"
    net = jaxbn.learn(drawn.frame, **in_objects({"restarts": 5, "checkpoint": file, **options}))
    finished = json.loads(file.read_text())["finished"].values()
    assert len(finished) == 5
    assert len({run["trace"][-1] for run in finished}) > 1
    assert net.trace[-1] == max(run["trace"][-1] for run in finished)
    assert net.trace[-1] == close(reference_total(drawn.frame, net.parents, net.binnings))

    again = jaxbn.learn(drawn.frame, **in_objects({"restarts": 5, "checkpoint": file, **options}))
    assert again.trace == net.trace
    assert again.parents == net.parents
    for side_by_side in (1, 2):
        monkeypatch.setattr("jaxbn.learning.learn.SIDE_BY_SIDE", side_by_side)
        other = jaxbn.learn(drawn.frame, **in_objects({"restarts": 5, **options}))
        assert (other.parents, edges_of(other), other.trace) == (net.parents, edges_of(net), net.trace)
    for run in finished:
        alone = jaxbn.learn(drawn.frame, **in_objects({"order": run["order"], **options}))
        assert alone.trace == tuple(run["trace"])
        assert_rises(alone.trace)


def bimodal(n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, n)
    return {"kind": kind, "x": rng.normal(size=n) + 4 * kind}


def test_a_variable_without_neighbours_is_cut():
    table = bimodal(250)
    alone = jaxbn.discretize_variable(table["x"], method="evidence", shape="flat", max_bins=None)
    assert alone.n_bins > 1
    found = jaxbn.discretize(
        table,
        {},
        max_bins=None,
        columns=jaxbn.Columns(continuous=["x"]),
        method=jaxbn.Evidence(shape="flat", initial_bins=1),
    )
    net = jaxbn.learn(
        table,
        max_parents=0,
        max_bins=None,
        progress=False,
        columns=jaxbn.Columns(continuous=["x"]),
        method=jaxbn.Evidence(shape="flat"),
        search=jaxbn.K2(order=["kind", "x"]),
    )
    for binning in found.binnings["x"], net.binnings["x"]:
        assert binning.cuts.tolist() == alone.cuts.tolist()
    assert found.trace[-1] > found.trace[0]


def test_an_arc_is_found():
    net = jaxbn.learn(
        bimodal(250),
        max_bins=None,
        progress=False,
        columns=jaxbn.Columns(continuous=["x"]),
        method=jaxbn.Evidence(shape="flat"),
        search=jaxbn.K2(order=["kind", "x"]),
    )
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
    continuous = list(found.binnings)
    grouping = found.groupings["town"]
    towns = frame["town"].to_numpy()
    groups = np.asarray(grouping(towns.tolist()))
    columns = {n: frame[n].to_numpy() for n in frame} | {"town": groups}
    edges = {n: p.cuts for n, p in found.binnings.items()}
    inside = reference_groups.level_evidence(towns, groups, np.ones(len(towns), int))
    price = reference_groups.partition_cost(len(np.unique(towns)), len(np.unique(groups)))
    return reference.total_evidence(columns, continuous, parents, edges) + inside - price


@pytest.mark.parametrize("graph", [{"x": ["town"]}, {"town": ["x"]}, {"noise": ["x", "town"]}], ids=str)
def test_groups_of_levels_are_part_of_the_evidence(graph):
    frame = many_levels()
    found = jaxbn.discretize(frame, graph, max_bins=None, method=jaxbn.Evidence(shape="flat", max_passes=None))
    assert found.converged
    assert_rises(found.trace)
    parents = {name: tuple(graph.get(name, ())) for name in frame}
    assert found.trace[-1] == close(total_with_groups(frame, parents, found))


def test_learning_with_groups_of_levels():
    frame = many_levels()
    net = jaxbn.learn(
        frame,
        max_bins=None,
        progress=False,
        method=jaxbn.Evidence(shape="flat"),
        search=jaxbn.K2(order=["town", "x", "noise"]),
    )
    assert_rises(net.trace)
    assert net.parents["x"] == ("town",)
    assert net.groupings["town"].n_groups == 3
    assert net.trace[-1] == close(total_with_groups(frame, net.parents, net))


# --- what is refused


def refused(says: str, error: type[Exception] = ValueError, **options: Any) -> None:
    table = bimodal(30)
    with pytest.raises(error, match=says):
        jaxbn.discretize(table, {"x": ["kind"]}, **in_objects({"continuous": ["x"], **options}))
    with pytest.raises(error, match=says):
        jaxbn.learn(table, **in_objects({"continuous": ["x"], "progress": False, **options}))
    with pytest.raises(error, match=says):
        jaxbn.cross_validate(table, {"x": ["kind"]}, **in_objects({"folds": 2, "continuous": ["x"], **options}))


@pytest.mark.parametrize("method", ["bayesian", "mdl"])
@pytest.mark.parametrize("width", [0.5, "gap"])
def test_other_methods_know_no_smallest_width(method, width):
    refused(r"min_width is for method='evidence'", method=method, min_width=width)
    with pytest.raises(ValueError, match=r"min_width is for method='evidence'"):
        jaxbn.discretize_variable([1.0, 2.0], rate=1.0 if method == "bayesian" else None, method=method, min_width=0.5)


@pytest.mark.parametrize("width", [-1.0, float("nan"), float("inf")])
def test_a_smallest_width_is_a_number_above_zero(width):
    refused("min_width", method="evidence", shape="flat", max_bins=None, min_width=width)
    refused(r"min_width\['x'\]", method="evidence", shape="flat", max_bins=None, min_width={"x": width})
    with pytest.raises(ValueError, match="min_width"):
        jaxbn.discretize_variable([1.0, 2.0], method="evidence", shape="flat", max_bins=None, min_width=width)


def test_words_other_than_gap_are_refused():
    refused(
        r"min_width must be a number, 'gap' or \{column: number\}, got 'step'",
        method="evidence",
        shape="flat",
        max_bins=None,
        min_width="step",
    )


def test_a_column_that_is_not_there_is_refused():
    refused("min_width.*'z'", method="evidence", shape="flat", max_bins=None, min_width={"z": 0.5})


def test_a_word_in_the_mapping_is_refused_by_name():
    refused(r"min_width\['x'\]", TypeError, method="evidence", shape="flat", max_bins=None, min_width={"x": "gap"})


def test_zero_and_nothing_are_no_limit():
    table = bimodal(60)
    options = {"continuous": ["x"], "method": "evidence", "shape": "flat", "max_bins": None}
    traces = [
        jaxbn.discretize(table, {}, **in_objects({**options, "min_width": w})).trace
        for w in (None, 0.0, {}, {"x": 0.0})
    ]
    assert len(set(traces)) == 1


def constrained(drawn: Drawn, seed: int) -> dict[str, Any]:
    """Required arcs along the order of a table, and forbidden ones anywhere else."""
    rng = np.random.default_rng(seed)
    pairs = [(p, c) for i, c in enumerate(drawn.order) for p in drawn.order[:i]]
    required = [arc for arc in pairs if rng.random() < 0.2]
    others = [(p, c) for p in drawn.order for c in drawn.order if p != c and (p, c) not in required]
    forbidden = [arc for arc in others if rng.random() < 0.2]
    return {"required": required, "forbidden": forbidden, "max_parents": 6, "seed": seed}


def assert_is_the_documented_evidence(drawn: Drawn, **options: Any) -> None:
    flat = {"shape": "flat", "max_bins": None}
    net = jaxbn.learn(drawn.frame, **in_objects({"continuous": drawn.continuous, "progress": False, **flat, **options}))
    edges = {name: binning.cuts for name, binning in net.binnings.items()}
    total, n = reference.total_evidence(drawn.columns, drawn.continuous, net.parents, edges), len(drawn.frame)
    assert net.search.criterion == close(total - reference.arcs_charge(net.parents, n))
    assert net.search.cuts_proved
    for name in drawn.continuous:
        assert reference.gain_by_other_cuts(name, drawn.columns, drawn.continuous, net.parents, edges) < 1e-7


@pytest.mark.parametrize("seed", [11, 16, 19, 20, 23, 27, 30, 35])
def test_the_evidence_is_the_documented_one_whatever_arcs_are_required(seed):
    drawn = random_table(seed)
    assert_is_the_documented_evidence(drawn, restarts=3, **constrained(drawn, seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_the_evidence_is_the_documented_one_in_many_tables(seed):
    drawn = random_table(seed)
    assert_is_the_documented_evidence(drawn, restarts=3, **constrained(drawn, seed))
