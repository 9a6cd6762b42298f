"""Learning structure and cuts together: the authors' case, the NumPy reference, and what must not matter."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.kernels.dense_partitions import best_with_cuts
from jaxbn.kernels.interval_costs import interval_costs, priced_intervals
from jaxbn.kernels.pruned.program import advance
from jaxbn.learning.options import in_objects
from jaxbn.runtime.progress import Progress
from tests.helpers.paper import as_in_the_paper
from tests.helpers.random_tables import Drawn, assert_edges, golden, lettered, random_table
from tests.reference import network as reference

# --- the authors' case and the NumPy reference


def test_learned_structure_of_the_authors() -> None:
    case = golden("auto_mpg_learned")
    frame, continuous = lettered(case)
    net = jaxbn.learn(frame, **in_objects({"continuous": continuous, **as_in_the_paper(case["options"])}))
    assert {name: list(parents) for name, parents in net.parents.items()} == case["expected"]["parents"]
    assert_edges(net.binnings, case["expected"]["edges"])
    assert net.score == pytest.approx(case["reference_output"]["score"], rel=1e-12)
    assert set(net.graph.edges) == {(p, c) for c, found in case["expected"]["parents"].items() for p in found}


def same_as_reference(drawn: Drawn, order: list[str], **options: Any) -> jaxbn.BayesNet:
    net = jaxbn.learn(
        drawn.frame, **in_objects({"continuous": drawn.continuous, "order": order, **as_in_the_paper(options)})
    )
    expected = reference.learn(drawn.columns, drawn.continuous, order, **options)
    assert net.parents == expected["parents"]
    assert_edges(net.binnings, expected["edges"])
    assert net.score == pytest.approx(expected["score"], rel=1e-11)
    return net


def random_order(drawn: Drawn, seed: int) -> list[str]:
    return np.random.default_rng(seed).permutation(list(drawn.frame)).tolist()


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("warm_start", [False, True], ids=["cold", "warm"])
def test_random_networks_equal_the_reference(seed: int, warm_start: bool) -> None:
    drawn = random_table(seed)
    same_as_reference(drawn, random_order(drawn, seed), warm_start=warm_start)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "options",
    [
        {"method": "mdl"},
        {"rate": "blanket"},
        {"rate": 3.0, "max_parents": 1},
        {"max_passes": 1, "max_parents": 2},
        {"initial": "frequency"},
    ],
    ids=str,
)
def test_options_mean_what_they_mean_in_the_reference(seed: int, options: dict[str, Any]) -> None:
    drawn = random_table(seed + 60)
    same_as_reference(drawn, random_order(drawn, seed), **options)


def test_a_start_by_frequency_sees_what_an_outlier_hides() -> None:
    """Of a column with one huge value, bins of equal width hold all other values in one, so no arc looks worth it."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    frame = pd.DataFrame({"x": x, "y": x + 0.3 * rng.normal(size=500)})
    frame.loc[0, "y"] = 1e6
    options = {"method": "bayesian", "order": ["x", "y"], "initial_bins": 5, "progress": False}
    wide, even = (jaxbn.learn(frame, **in_objects({"initial": kind, **options})) for kind in ("width", "frequency"))
    assert wide.parents["y"] == ()
    assert even.parents["y"] == ("x",)
    assert min(binning.n_bins for binning in even.binnings.values()) > 3


def discrete_table(seed: int, n_columns: int = 8) -> Drawn:
    """Codes only: what the continuous columns were is cut into three."""
    drawn = random_table(seed, n_rows=200, n_columns=n_columns)
    frame = drawn.frame.assign(**{c: np.digitize(drawn.frame[c], [-2.0, 2.0]) for c in drawn.continuous})
    return drawn._replace(frame=frame, continuous=[])


@pytest.mark.parametrize("seed", range(5))
def test_plain_structure_learning_needs_no_continuous_column(seed: int) -> None:
    drawn = discrete_table(seed)
    net = same_as_reference(drawn, random_order(drawn, seed))
    assert net.binnings == {}
    words = drawn.frame.map(lambda code: f"level {code}")
    assert (
        jaxbn.learn(words, method="bayesian", search=jaxbn.K2(order=random_order(drawn, seed))).parents == net.parents
    )


def test_plain_structure_learning_finds_a_chain() -> None:
    rng = np.random.default_rng(0)
    columns = {"a": rng.integers(0, 3, 500)}
    for child, parent in (("b", "a"), ("c", "b"), ("d", "c")):
        columns[child] = np.where(rng.random(500) < 0.8, columns[parent], rng.integers(0, 3, 500))
    net = jaxbn.learn(columns, method="bayesian", search=jaxbn.K2(order="abcd"))
    assert net.parents == {"a": (), "b": ("a",), "c": ("b",), "d": ("c",)}


def test_of_equal_scores_the_earliest_in_the_order_wins() -> None:
    a = np.repeat([0, 1], 20)
    columns = {"late": a, "early": a.copy(), "child": a.copy()}
    assert jaxbn.learn(columns, method="bayesian", search=jaxbn.K2(order=["early", "late", "child"])).parents[
        "child"
    ] == ("early",)
    assert jaxbn.learn(columns, method="bayesian", search=jaxbn.K2(order=["late", "early", "child"])).parents[
        "child"
    ] == ("late",)


def test_an_arc_must_raise_the_score() -> None:
    """A parent of one level leaves the score as it is."""
    columns = {"same": ["s"] * 40, "coin": np.arange(40) % 2, "child": np.arange(40) // 20}
    net = jaxbn.learn(columns, method="bayesian", search=jaxbn.K2(order=["same", "coin", "child"]))
    assert net.parents == {"same": (), "coin": (), "child": ()}


# --- what must not matter


def as_plain(net: jaxbn.BayesNet) -> dict[str, Any]:
    """Everything of a network, to the last bit."""
    return {
        "parents": net.parents,
        "policies": {
            name: (p.cuts.tolist(), repr(p.cost), p.lower, p.upper, p.method) for name, p in net.binnings.items()
        },
        "score": net.score,
        "tables": {name: table.tolist() for name, table in net.tables.items()},
    }


@pytest.mark.parametrize(("seed", "options"), [(2, {}), (7, {"warm_start": True}), (12, {"method": "mdl"})])
def test_results_do_not_depend_on_how_many_restarts_run_together(seed: int, options: dict[str, Any]) -> None:
    drawn = random_table(seed, n_rows=80, n_columns=6)
    nets = [
        jaxbn.learn(
            drawn.frame, **in_objects({"continuous": drawn.continuous, "restarts": 7, **as_in_the_paper(options)})
        )
        for n in (1, 3, 64)
    ]
    assert as_plain(nets[0]) == as_plain(nets[1]) == as_plain(nets[2])


def test_every_restart_is_the_same_however_many_run_together(tmp_path: Path) -> None:
    data = jaxbn.datasets.load("iris")
    kept = []
    for n in (1, 3, 64):
        jaxbn.learn(data.frame, restarts=9, checkpoint=tmp_path / f"{n}.json", method="bayesian", search="k2")
        kept.append(json.loads((tmp_path / f"{n}.json").read_text()))
    assert kept[0] == kept[1] == kept[2]


def test_a_seed_gives_the_same_network_again_and_another_seed_other_orders(tmp_path: Path) -> None:
    drawn = random_table(4, n_columns=6)
    first, second = (jaxbn.learn(drawn.frame, restarts=3, seed=5, method="bayesian", search="k2") for _ in range(2))
    assert as_plain(first) == as_plain(second)
    orders = [orders_of(drawn, tmp_path / f"{seed}.json", restarts=3, seed=seed) for seed in (5, 6)]
    assert orders[0] != orders[1]


def finished(path: Path) -> list[dict[str, Any]]:
    """The restarts in a checkpoint, by number."""
    found = json.loads(path.read_text())["finished"]
    return [found[str(i)] for i in range(len(found))]


def orders_of(drawn: Drawn, path: Path, **options: Any) -> list[list[str]]:
    jaxbn.learn(
        drawn.frame,
        **in_objects(
            {"continuous": drawn.continuous, "checkpoint": path, "max_parents": 1, **as_in_the_paper(options)}
        ),
    )
    return [restart["order"] for restart in finished(path)]


def test_the_first_orders_are_the_same_however_many_there_are(tmp_path: Path) -> None:
    drawn = random_table(4, n_columns=6)
    few, many = (orders_of(drawn, tmp_path / f"{n}.json", restarts=n) for n in (2, 6))
    assert many[:2] == few
    assert all(sorted(order) == sorted(drawn.frame) for order in many)
    assert len({tuple(order) for order in many}) > 3


def test_the_order_of_arguments_is_not_the_order_of_columns() -> None:
    """A given order is one run, whatever `seed` says."""
    drawn = random_table(4, n_columns=6)
    nets = [
        jaxbn.learn(
            drawn.frame,
            seed=n,
            method="bayesian",
            columns=jaxbn.Columns(continuous=drawn.continuous),
            search=jaxbn.K2(order=drawn.order),
        )
        for n in (1, 9)
    ]
    assert as_plain(nets[0]) == as_plain(nets[1])
    position = {name: i for i, name in enumerate(drawn.order)}
    assert all(position[p] < position[c] for p, c in nets[0].graph.edges)


# --- choosing among restarts


@pytest.mark.parametrize("select", ["density", "k2"])
def test_the_kept_restart_is_best_by_definition(select: str, tmp_path: Path) -> None:
    drawn = random_table(8, n_rows=90, n_columns=6)
    options = as_in_the_paper({"continuous": drawn.continuous, "max_parents": 2})
    net = jaxbn.learn(
        drawn.frame,
        **in_objects({"restarts": 8, "seed": 3, "select": select, "checkpoint": tmp_path / "run.json", **options}),
    )
    nets, values = [], []
    bounds = reference.whole_bounds(drawn.columns, drawn.continuous)
    for restart in finished(tmp_path / "run.json"):
        alone = jaxbn.learn(drawn.frame, **in_objects({"order": restart["order"], **options}))
        edges = {name: binning.cuts for name, binning in alone.binnings.items()}
        value = alone.score + (reference.density_term(drawn.columns, edges, bounds) if select == "density" else 0.0)
        assert restart["criterion"] == pytest.approx(value, rel=1e-10)
        nets.append(alone)
        values.append(value)
    assert as_plain(net) == as_plain(nets[int(np.argmax(values))])


def test_density_and_k2_can_choose_differently() -> None:
    drawn = random_table(8, n_rows=90, n_columns=6)
    by_density, by_k2 = (
        jaxbn.learn(
            drawn.frame,
            restarts=8,
            seed=3,
            max_parents=2,
            search="k2",
            columns=jaxbn.Columns(continuous=drawn.continuous),
            method=jaxbn.Bayesian(select=select),
        )
        for select in ("density", "k2")
    )
    assert by_k2.score > by_density.score


# --- constraints


def test_required_arcs_come_first_and_forbidden_ones_never() -> None:
    drawn = random_table(4, n_columns=6)
    free = jaxbn.learn(
        drawn.frame,
        method="bayesian",
        columns=jaxbn.Columns(continuous=drawn.continuous),
        search=jaxbn.K2(order=drawn.order),
    )
    banned = next(iter(free.graph.edges))
    first, last = drawn.order[0], drawn.order[-1]
    net = jaxbn.learn(
        drawn.frame,
        method="bayesian",
        columns=jaxbn.Columns(continuous=drawn.continuous),
        constraints=jaxbn.Constraints(required=[(first, last)], forbidden=[banned] if banned != (first, last) else []),
        search=jaxbn.K2(order=drawn.order),
    )
    assert net.parents[last][0] == first
    assert banned not in net.graph.edges or banned == (first, last)


def test_every_random_order_respects_required_arcs(tmp_path: Path) -> None:
    drawn = random_table(4, n_columns=6)
    required = [("v5", "v0"), ("v3", "v5"), ("v4", "v1")]
    net = jaxbn.learn(
        drawn.frame,
        restarts=8,
        max_parents=2,
        checkpoint=tmp_path / "run.json",
        method="bayesian",
        search="k2",
        columns=jaxbn.Columns(continuous=drawn.continuous),
        constraints=jaxbn.Constraints(required=required),
    )
    assert set(required) <= set(net.graph.edges)
    for restart in finished(tmp_path / "run.json"):
        position = {name: i for i, name in enumerate(restart["order"])}
        assert all(position[p] < position[c] for p, c in required)
        assert all(p in restart["parents"][c] for p, c in required)


def test_only_required_arcs_when_all_others_are_forbidden() -> None:
    drawn = random_table(4, n_columns=4)
    names = list(drawn.frame)
    required = [("v2", "v0")]
    forbidden = [(p, c) for p in names for c in names if (p, c) not in required]
    net = jaxbn.learn(
        drawn.frame,
        restarts=3,
        method="bayesian",
        search="k2",
        columns=jaxbn.Columns(continuous=drawn.continuous),
        constraints=jaxbn.Constraints(required=required, forbidden=forbidden),
    )
    assert set(net.graph.edges) == set(required)
    fixed = jaxbn.discretize(
        drawn.frame, required, method="bayesian", columns=jaxbn.Columns(continuous=drawn.continuous)
    )
    assert_edges(net.binnings, {name: binning.cuts for name, binning in fixed.binnings.items()})


CONSTRAINTS = [
    ({"required": [("v0", "v9")]}, "required names 'v9', which is not a column of the data; known: 'v0', ", ValueError),
    ({"forbidden": [("w", "v0")]}, "forbidden names 'w', which is not a column", ValueError),
    ({"required": [("v0", "v0")]}, "from 'v0' to itself", ValueError),
    ({"required": [("v0", "v1"), ("v1", "v2"), ("v2", "v0")]}, "cycle", ValueError),
    ({"required": ("v0", "v1")}, r"required must hold \(parent, child\) pairs, got 'v0'", TypeError),
    ({"forbidden": ("v0", "v1")}, r"forbidden must hold \(parent, child\) pairs, got 'v0'", TypeError),
    ({"forbidden": [("v0", "v1", "v2")]}, "pairs", TypeError),
    ({"tiers": [["v0"], ["w"]]}, "tiers names 'w', which is not a column", ValueError),
    ({"tiers": [["v0"], ["v1", "v0"]]}, "tiers has 'v0' in the tiers 1 and 2; keep it in one of them", ValueError),
    (
        {"tiers": [["v0"], ["v1"]], "required": [("v1", "v0")]},
        "required has the arc 'v1' -> 'v0', but `tiers` rules it out",
        ValueError,
    ),
    ({"roots": "v1", "required": [("v0", "v1")]}, "but `roots` rules it out; change one", ValueError),
    ({"leaves": ["v0"], "required": [("v0", "v1")]}, "but `leaves` rules it out; change one", ValueError),
    (
        {"required": [("v0", "v1")], "forbidden": [("v0", "v1")]},
        "required has the arc 'v0' -> 'v1', but `forbidden` rules it out",
        ValueError,
    ),
    (
        {"required": [("v0", "v3"), ("v1", "v3")], "max_parents": 1},
        "required gives 'v3' 2 parents; raise `max_parents`, which is 1",
        ValueError,
    ),
    (
        {"required": [("v3", "v0")], "order": ["v0", "v1", "v2", "v3"]},
        "order has 'v0' before 'v3', but the arc 'v3' -> 'v0' is required",
        ValueError,
    ),
    ({"max_cells": 1}, "table of 'v0' would have 3 cells, more than the limit of 1; merge its levels", ValueError),
]


@pytest.mark.parametrize(("options", "message", "error"), CONSTRAINTS, ids=lambda v: str(v)[:40])
def test_bad_constraints_are_refused_by_name(options: dict[str, Any], message: str, error: type[Exception]) -> None:
    drawn = random_table(1, n_columns=4)
    with pytest.raises(error, match=message):
        jaxbn.learn(drawn.frame, **in_objects({"continuous": drawn.continuous, **as_in_the_paper(options)}))


OPTIONS = [
    ({"order": ["v0", "v1", "v2"]}, "order leaves out 'v3'; name every column once"),
    ({"order": ["v0", "v1", "v2", "v3", "v1"]}, "order names 'v1' 2 times"),
    ({"order": ["v0", "v1", "v2", "v4"]}, "order names 'v4', which is not a column of the data; known: 'v0', "),
    ({"order": []}, "order leaves out 'v0', 'v1', 'v2', 'v3'"),
    ({"restarts": 0}, "restarts must be at least 1, got 0"),
    ({"restarts": -3}, "restarts must be at least 1, got -3"),
    ({"max_parents": -1}, "max_parents must be at least 0, got -1"),
    ({"max_passes": 0}, "max_passes must be at least 1"),
    ({"max_cells": 0}, "max_cells must be at least 1"),
    ({"initial_bins": 0}, "initial_bins must be at least 1"),
    ({"select": "bic"}, "select must be one of 'density', 'k2', got 'bic'"),
    ({"method": "quantile"}, "method must be one of 'evidence', 'bayesian', 'mdl'"),
    ({"rate": "global"}, "rate must be 'network', 'blanket' or a number above zero"),
    ({"order": ["v0", "v1", "v2", "v3"], "restarts": 2}, "restarts is 2, but with `order` there is one run"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS, ids=lambda v: str(v)[:40])
def test_bad_options_are_refused_by_name(options: dict[str, Any], message: str) -> None:
    drawn = random_table(1, n_columns=4)
    with pytest.raises(ValueError, match=message):
        jaxbn.learn(drawn.frame, **in_objects({"continuous": drawn.continuous, **as_in_the_paper(options)}))


def test_no_parents_at_all() -> None:
    drawn = random_table(4, n_columns=6)
    net = jaxbn.learn(
        drawn.frame,
        max_parents=0,
        restarts=3,
        method="bayesian",
        search="k2",
        columns=jaxbn.Columns(continuous=drawn.continuous),
    )
    assert net.parents == dict.fromkeys(drawn.frame, ())
    assert {binning.method for binning in net.binnings.values()} == {"not cut"}
    assert nx.number_of_edges(net.graph) == 0


def test_families_with_too_large_a_table_are_not_proposed() -> None:
    rng = np.random.default_rng(0)
    parity = rng.integers(0, 2, (4, 400))
    columns = dict(zip("abcd", parity, strict=True)) | {"sum": parity.sum(axis=0)}
    free = jaxbn.learn(columns, max_parents=4, method="bayesian", search=jaxbn.K2(order=[*"abcd", "sum"]))
    assert len(free.parents["sum"]) == 4
    for limit, parents in ((80, 4), (79, 3), (40, 3), (20, 2), (10, 1), (9, 0)):
        net = jaxbn.learn(
            columns, max_parents=4, max_cells=limit, method="bayesian", search=jaxbn.K2(order=[*"abcd", "sum"])
        )
        assert len(net.parents["sum"]) == parents
        assert all(math.prod(net.tables[name].shape) <= limit for name in columns if net.parents[name])


def test_initial_bins_are_those_of_discretize() -> None:
    drawn = random_table(4, n_columns=5)
    net = jaxbn.learn(
        drawn.frame,
        columns=jaxbn.Columns(continuous=drawn.continuous),
        method=jaxbn.Bayesian(initial_bins=6),
        search=jaxbn.K2(order=drawn.order),
    )
    fixed = jaxbn.discretize(
        drawn.frame,
        net.graph,
        columns=jaxbn.Columns(continuous=drawn.continuous),
        method=jaxbn.Bayesian(initial_bins=6),
    )
    assert {binning.n_bins for binning in fixed.binnings.values() if binning.method == "not cut"} <= {1, 6}
    lone = jaxbn.learn(
        drawn.frame,
        max_parents=0,
        search="k2",
        columns=jaxbn.Columns(continuous=drawn.continuous),
        method=jaxbn.Bayesian(initial_bins=6),
    )
    assert {binning.n_bins for binning in lone.binnings.values()} <= {1, 6}


def test_numbers_of_numpy_are_welcome(tmp_path: Path) -> None:
    drawn = random_table(4, n_columns=4)
    net = jaxbn.learn(
        drawn.frame,
        max_parents=np.int64(2),
        restarts=np.int32(2),
        max_cells=np.int64(1000),
        checkpoint=tmp_path / "run.json",
        columns=jaxbn.Columns(continuous=drawn.continuous),
        method=jaxbn.Bayesian(rate=np.float32(3)),
        search=jaxbn.K2(warm_start=np.bool_(True)),
    )
    assert len(net.names) == 4


def test_column_labels_that_are_no_strings() -> None:
    frame = random_table(4, n_columns=4).frame.set_axis(range(4), axis=1)
    net = jaxbn.learn(
        frame,
        method="bayesian",
        constraints=jaxbn.Constraints(required=[(3, 2)], forbidden=[(1, 0)]),
        search=jaxbn.K2(order=[3, 1, 0, 2]),
    )
    assert net.names == ("0", "1", "2", "3")
    assert net.parents["2"][0] == "3"


# --- compilations


PROGRAMS = (best_with_cuts, advance, interval_costs, priced_intervals)


def compilations() -> int:
    return sum(f._cache_size() for f in PROGRAMS)


def test_a_run_compiles_few_programs_and_a_second_one_none() -> None:
    for function in PROGRAMS:
        function.clear_cache()
    data = jaxbn.datasets.load("auto_mpg")
    options = as_in_the_paper({"continuous": data.continuous, "max_parents": 2, "max_passes": 5, "restarts": 6})
    jaxbn.learn(data.frame, **in_objects(options))
    assert 0 < compilations() <= 15
    before = compilations()
    jaxbn.learn(data.frame, **in_objects(options))
    assert compilations() == before


# --- the progress bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_end_of_the_bar_is_the_end_of_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with Progress(True, 3, 4) as bar:
        task = bar._bar._rich.tasks[0]
        assert (task.completed, task.total) == (0, 12)
        bar.watch(0, 2, 1)
        bar.watch(1, 3, 4)
        assert task.completed == 5
        assert task.description == "0/3 restarts, 4 arcs"  # of the restart that has the most
        bar.finished(1, -120.5)
        bar.finished(2, -130.0)
        assert task.completed == 10
        assert task.description == "2/3 restarts, 4 arcs, best -120.50"
        bar.finished(0, -119.25)
        assert task.percentage == 100
        assert task.description == "3/3 restarts, 1 arcs, best -119.25"  # of the best
    assert "3/3 restarts" in screen.getvalue()


def test_the_bar_of_a_run_reaches_its_end_and_never_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", Terminal())
    seen: list[tuple[float, float, str]] = []

    class Watched(Progress):
        def _show(self) -> None:
            super()._show()
            task = self._bar._rich.tasks[0]
            seen.append((task.completed, task.total, task.description))

    monkeypatch.setattr("jaxbn.learning.learn.Progress", Watched)
    drawn = random_table(4, n_columns=5)
    jaxbn.learn(
        drawn.frame, restarts=4, method="bayesian", search="k2", columns=jaxbn.Columns(continuous=drawn.continuous)
    )
    completed = [done for done, _, _ in seen]
    assert completed == sorted(completed)
    assert all(total == 4 * 5 for _, total, _ in seen)
    assert completed[-1] == 4 * 5
    assert completed.count(4 * 5) <= 2  # the last variable and the last restart, no sooner
    assert seen[-1][2].startswith("4/4 restarts, ")


def test_nothing_is_shown_where_nobody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    drawn = random_table(4, n_columns=4)
    jaxbn.learn(drawn.frame, method="bayesian", search="k2", columns=jaxbn.Columns(continuous=drawn.continuous))
    with pytest.MonkeyPatch.context() as patch:
        screen = Terminal()
        patch.setattr("sys.stderr", screen)
        jaxbn.learn(
            drawn.frame,
            progress=False,
            method="bayesian",
            search="k2",
            columns=jaxbn.Columns(continuous=drawn.continuous),
        )
    assert screen.getvalue() == ""
    assert capfd.readouterr() == ("", "")


def test_the_result_is_a_fitted_network() -> None:
    drawn = random_table(4, n_columns=5)
    net = jaxbn.learn(
        drawn.frame,
        method="bayesian",
        columns=jaxbn.Columns(continuous=drawn.continuous),
        search=jaxbn.K2(order=drawn.order),
    )
    again = jaxbn.fit(drawn.frame, net.graph, net.binnings)
    assert net.n_rows == len(drawn.frame)
    assert np.isfinite(net.log_likelihood(drawn.frame)).all()
    assert {name: net.tables[name].sum() for name in net.names} == pytest.approx(
        {name: again.tables[name].sum() for name in net.names}
    )
    assert isinstance(net.sample(3, seed=0), pd.DataFrame)


# --- the limit of a table's cells


def assert_within(tables: dict[str, np.ndarray], limit: int) -> None:
    assert {name: table.size for name, table in tables.items() if table.size > limit} == {}


@pytest.mark.parametrize("limit", [5, 12, 100])
@pytest.mark.parametrize("options", [{}, {"method": "bayesian"}, {"method": "mdl", "search": "k2"}], ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_every_table_keeps_to_the_limit(seed: int, options: dict[str, Any], limit: int) -> None:
    drawn = random_table(seed)
    drawn.frame["many"] = np.random.default_rng(seed).integers(0, 60, len(drawn.frame)).astype(str)
    required = [(drawn.order[0], drawn.order[1]), (drawn.order[0], "many")]
    net = jaxbn.learn(
        drawn.frame,
        **in_objects(
            {
                "continuous": drawn.continuous,
                "group": ["many"],
                "required": required,
                "max_cells": limit,
                "max_parents": 5,
                "restarts": 2,
                "progress": False,
                **options,
            }
        ),
    )
    assert_within(net.tables, limit)
    found = jaxbn.discretize(
        drawn.frame,
        drawn.parents,
        max_cells=max(limit, 64),
        method=options.get("method", "evidence"),
        columns=jaxbn.Columns(continuous=drawn.continuous, merge_levels=["many"]),
    )
    table = jaxbn.as_table(drawn.frame, continuous=drawn.continuous)
    assert_within(jaxbn.fit(table, drawn.parents, found.codings).tables, max(limit, 64))


@pytest.mark.parametrize("limit", [12, 60])
def test_resamples_and_draws_keep_to_the_limit(limit: int) -> None:
    drawn = random_table(2)
    options: dict[str, Any] = {"continuous": drawn.continuous, "max_cells": limit, "progress": False}
    for net in jaxbn.sample_posterior(
        drawn.frame, **in_objects({"draws": 3, "chains": 1, "burn_in": 1, **options})
    ).networks:
        assert_within(net.tables, limit)
    found = jaxbn.bootstrap(drawn.frame, **in_objects({"resamples": 2, "restarts": 1, **options}))
    table = jaxbn.as_table(drawn.frame, continuous=drawn.continuous)
    for i, graph in enumerate(found.parents):
        binnings = {name: each[i] for name, each in found.binnings.items()}
        assert_within(jaxbn.fit(table, graph, binnings).tables, limit)


def test_levels_without_a_row_count_as_cells() -> None:
    rng = np.random.default_rng(0)
    kind = pd.Categorical(rng.choice(["a", "b"], 200), categories=list("abcdefgh"))
    frame = pd.DataFrame({"kind": kind, "size": np.where(kind == "a", 0.0, 5.0) + rng.normal(size=200)})
    assert_within(jaxbn.learn(frame, max_cells=20, progress=False).tables, 20)


def test_a_column_of_too_many_levels_is_refused_at_the_start() -> None:
    frame = pd.DataFrame({"kind": list("abcdefgh") * 5, "size": np.arange(40.0)})
    for function in (jaxbn.learn, jaxbn.sample_posterior, lambda *a, **k: jaxbn.discretize(*a, {}, **in_objects(k))):
        with pytest.raises(ValueError, match="the table of 'kind' would have 8 cells, more than the limit of 7"):
            function(frame, max_cells=7)
    with pytest.raises(ValueError, match="max_cells must be at most 10,000,000, got 10,000,001"):
        jaxbn.learn(frame, max_cells=10**7 + 1)


def test_an_error_in_the_search_leaves_the_best_network(monkeypatch: pytest.MonkeyPatch) -> None:
    from jaxbn.learning.turns import TurnRuns

    def failing(*args: Any) -> Any:
        raise MemoryError("no room")

    monkeypatch.setattr(TurnRuns, "finish", failing)
    drawn = random_table(3)
    with pytest.warns(RuntimeWarning, match="ended with MemoryError: no room; this is the best of 2 finished runs"):
        net = jaxbn.learn(drawn.frame, restarts=2, progress=False, columns=jaxbn.Columns(continuous=drawn.continuous))
    assert not net.search.finished


@pytest.mark.parametrize("method", ["evidence", "bayesian", "mdl"])
def test_a_limit_may_leave_a_single_bin(method: str) -> None:
    kind = np.arange(300) % 3
    frame = pd.DataFrame({"kind": kind, "x": 5.0 * kind + np.random.default_rng(0).normal(size=300)})
    found = jaxbn.discretize(frame, {"x": ["kind"]}, method=method, max_cells=3)
    assert found.binnings["x"].n_bins == 1
