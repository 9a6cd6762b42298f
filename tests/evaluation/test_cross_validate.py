"""Cross-validation: the definition, the paper's figures, and what it refuses."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.cuts.binning import marginal_binning
from jaxbn.cuts.methods import as_method
from jaxbn.evaluation import cross_validate
from jaxbn.evaluation.folds import NUMBERS_OF_BINS, settle_together
from jaxbn.inputs.table import as_table
from jaxbn.learning import many_runs
from jaxbn.learning.options import in_objects
from tests.reference import network as reference

GRAPH = {"height": ["kind"], "tall": ["height"], "girth": ["height", "kind"]}


def trees(n: int = 90, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    kind = rng.choice(["ash", "elm", "oak"], n)
    height = rng.normal(np.select([kind == "ash", kind == "elm"], [5.0, 8.0], 12.0), 2.0).round(1)
    return pd.DataFrame(
        {"kind": kind, "height": height, "tall": height > 8.5, "girth": height / 5 + rng.normal(size=n)}
    )


def columns_of(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    return {name: frame[name].to_numpy() for name in frame}


@pytest.mark.parametrize(
    ("method", "rate"), [("bayesian", "network"), ("bayesian", "blanket"), ("bayesian", 2.5), ("mdl", None)]
)
def test_equals_the_definition(method: str, rate: Any) -> None:
    frame = trees()
    folds = np.random.default_rng(1).integers(0, 4, len(frame))
    result = jaxbn.cross_validate(frame, GRAPH, **in_objects({"folds": folds, "method": method, "rate": rate}))
    rate = "network" if rate is None else rate  # which the reference does not look at either
    expected = reference.cross_validate(
        columns_of(frame), ["height", "girth"], {k: tuple(v) for k, v in GRAPH.items()}, folds, method=method, rate=rate
    )
    np.testing.assert_allclose(result.per_fold, expected, rtol=0, atol=1e-9)
    assert result.mean == pytest.approx(np.mean(expected), abs=1e-9)
    assert result.standard_error == pytest.approx(np.std(expected, ddof=1) / 2, abs=1e-9)


def test_a_start_by_frequency_equals_the_definition() -> None:
    frame, folds = trees(), np.arange(90) % 3
    result = jaxbn.cross_validate(frame, GRAPH, folds=folds, method=jaxbn.Bayesian(initial="frequency", initial_bins=6))
    expected = reference.cross_validate(
        columns_of(frame), ["height", "girth"], GRAPH, folds, initial="frequency", initial_bins=6
    )
    np.testing.assert_allclose(result.per_fold, expected, rtol=0, atol=1e-9)


def test_equals_the_definition_when_levels_and_range_are_not_in_every_fold() -> None:
    frame = trees(40).assign(rare=["once", *["often"] * 39])
    frame.loc[0, "height"] = 99.0  # the largest value and a level that only one fold has
    graph = GRAPH | {"rare": ["tall"]}
    folds = np.arange(40) % 3
    result = jaxbn.cross_validate(frame, graph, folds=folds, method=jaxbn.Bayesian(initial_bins=4, max_passes=2))
    expected = reference.cross_validate(
        columns_of(frame), ["height", "girth"], graph, folds, initial_bins=4, max_passes=2
    )
    np.testing.assert_allclose(result.per_fold, expected, rtol=0, atol=1e-9)
    assert np.isfinite(result.log_likelihood).all()


def test_result_is_consistent() -> None:
    frame = trees(91)
    result = jaxbn.cross_validate(frame, GRAPH, folds=4, seed=3, method="bayesian")
    sizes = np.bincount(result.folds)
    assert sizes.sum() == result.n_rows == 91
    assert sizes.max() - sizes.min() == 1
    means = [result.log_likelihood[result.folds == fold].mean() for fold in range(4)]
    np.testing.assert_array_equal(result.per_fold, means)
    assert set(result.bins) == {"height", "girth"}
    assert result.bins["height"].shape == (4,)
    again = jaxbn.cross_validate(frame, nx.DiGraph([("kind", "height"), ("height", "tall"), ("height", "girth"),
        ("kind", "girth")]), folds=result.folds + 7, method="bayesian")  # fmt: skip
    np.testing.assert_array_equal(again.log_likelihood, result.log_likelihood)
    other = jaxbn.cross_validate(frame, GRAPH, folds=4, seed=4, method="bayesian")
    assert (other.folds != result.folds).any()
    assert repr(result).startswith("CrossValidation: mean log-likelihood -")


def test_a_fold_is_a_fit_to_the_other_rows() -> None:
    frame = trees()
    result = jaxbn.cross_validate(frame, GRAPH, folds=3, alpha=0.5, method="bayesian")
    train, test = frame[result.folds != 1], frame[result.folds == 1]
    found = jaxbn.discretize(train, GRAPH, method="bayesian")
    bounds = {name: (frame[name].min(), frame[name].max()) for name in ("height", "girth")}
    net = jaxbn.fit(train, GRAPH, found.binnings, alpha=0.5, bounds=bounds)
    np.testing.assert_allclose(result.log_likelihood[result.folds == 1], net.log_likelihood(test), atol=1e-12)


@pytest.mark.parametrize("method", ["bayesian", "mdl"])
def test_folds_together_and_one_by_one_are_the_same(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = trees(120)
    table = as_table(frame)
    tables = [table.take(np.arange(120) % 5 != fold) for fold in range(5)]
    options = as_method(method)
    parents = {"kind": (), "height": ("kind",), "tall": ("height",), "girth": ("height", "kind")}
    for each, rows in zip(settle_together(tables, parents, options), tables, strict=True):
        alone = jaxbn.discretize(rows, GRAPH, method=method)
        assert (each.passes, each.converged) == (alone.passes, alone.converged)
        for name, binning in alone.binnings.items():
            np.testing.assert_array_equal(each.binnings[name].cuts, binning.cuts)
    together = jaxbn.cross_validate(frame, GRAPH, folds=5, method=method)
    monkeypatch.setattr(cross_validate, "ROWS_SIDE_BY_SIDE", 250)  # two folds at a time
    np.testing.assert_array_equal(
        jaxbn.cross_validate(frame, GRAPH, folds=5, method=method).log_likelihood, together.log_likelihood
    )


PAPER = {  # log-likelihood of the Bayesian method; Iris without the class term
    "iris": (-2.25, ("class",)),
    "wine": (-19.94, ()),
    "auto_mpg": (-26.04, ()),
}


@pytest.mark.parametrize("name", PAPER)
def test_figures_of_the_paper(name: str) -> None:
    data, (published, given) = jaxbn.datasets.load(name), PAPER[name]
    options = {"continuous": data.continuous, "given": given}
    bayesian = jaxbn.cross_validate(
        data.frame, data.structures["paper"], **in_objects({"method": "bayesian", **options})
    )
    mdl = jaxbn.cross_validate(
        data.frame, data.structures["paper"], **in_objects({"method": "mdl", "folds": bayesian.folds, **options})
    )
    assert abs(bayesian.mean - published) < 0.5
    assert bayesian.mean > mdl.mean
    assert np.isfinite(bayesian.log_likelihood).all()


def test_given_leaves_out_the_term_of_a_root() -> None:
    frame = trees()
    whole = jaxbn.cross_validate(frame, GRAPH, folds=3, method="bayesian")
    given = jaxbn.cross_validate(frame, GRAPH, folds=3, given="kind", method="bayesian")
    for fold in range(3):
        train, held_out = frame.kind[whole.folds != fold], whole.folds == fold
        chance = frame.kind[held_out].map((train.value_counts() + 1) / (len(train) + 3))
        np.testing.assert_allclose((whole.log_likelihood - given.log_likelihood)[held_out], np.log(chance), atol=1e-12)


def test_given_is_exact_for_variables_with_parents() -> None:
    frame = trees(60)
    whole = jaxbn.cross_validate(frame, GRAPH, folds=2, method="bayesian")
    given = jaxbn.cross_validate(frame, GRAPH, folds=2, given=("tall", "kind"), method="bayesian")
    train, held_out = frame[whole.folds == 1], whole.folds == 0
    bounds = {name: (frame[name].min(), frame[name].max()) for name in ("height", "girth")}
    net = jaxbn.fit(train, GRAPH, jaxbn.discretize(train, GRAPH, method="bayesian").binnings, bounds=bounds)
    joint = np.log([net.query(["kind", "tall"])[kind, tall] for kind, tall in
        zip(frame.kind[held_out], frame.tall[held_out], strict=True)])  # fmt: skip
    np.testing.assert_allclose((whole.log_likelihood - given.log_likelihood)[held_out], joint, atol=1e-12)


def test_structure_learned_in_each_fold() -> None:
    frame = trees(80)
    folds = np.arange(80) % 2
    arcs = iter([("kind", "girth")])
    result = jaxbn.cross_validate(
        frame,
        folds=folds,
        restarts=3,
        seed=5,
        method="bayesian",
        search="k2",
        constraints=jaxbn.Constraints(required=arcs),
    )
    for fold in range(2):
        train, test = frame[folds != fold], frame[folds == fold]
        net = jaxbn.learn(
            train,
            restarts=3,
            seed=5,
            progress=False,
            method="bayesian",
            search="k2",
            constraints=jaxbn.Constraints(required=[("kind", "girth")]),
        )
        bounds = {name: (frame[name].min(), frame[name].max()) for name in ("height", "girth")}
        refitted = jaxbn.fit(train, net.parents, net.binnings, bounds=bounds)
        np.testing.assert_allclose(result.log_likelihood[folds == fold], refitted.log_likelihood(test), atol=1e-12)


def test_ctrl_c_in_a_fold_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = many_runs.run_each, []

    def interrupted(*arguments: Any) -> Any:
        calls.append(1)
        for result in real(*arguments):
            yield result
            raise KeyboardInterrupt

    monkeypatch.setattr(many_runs, "run_each", interrupted)
    with pytest.raises(KeyboardInterrupt):
        jaxbn.cross_validate(trees(30), folds=3, restarts=2, method="bayesian", search="k2")
    assert len(calls) == 1


@pytest.mark.parametrize("method", ["equal_width", "equal_frequency"])
def test_marginal_methods(method: str) -> None:
    frame = trees()
    result = jaxbn.cross_validate(frame, GRAPH, folds=3, method=method, bins=5)
    assert result.method == method
    assert (result.bins["girth"] == 5).all()
    assert np.isfinite(result.log_likelihood).all()


@pytest.mark.parametrize("method", ["equal_width", "equal_frequency"])
def test_plain_bins_get_the_number_that_is_best_for_the_training_rows(method: str) -> None:
    frame = trees(200)
    best = jaxbn.cross_validate(frame, GRAPH, folds=3, method=method)
    every = [jaxbn.cross_validate(frame, GRAPH, folds=3, method=method, bins=k) for k in (2, 3, 5, 8, 12, 20, 30)]
    assert best.mean > np.median([each.mean for each in every])
    for fold in range(3):
        train = frame[best.folds != fold]
        evidence = [_evidence_of_plain_bins(train, method, k) for k in NUMBERS_OF_BINS]
        assert best.bins["girth"][fold] == NUMBERS_OF_BINS[int(np.argmax(evidence))]


def _evidence_of_plain_bins(train: pd.DataFrame, method: str, n_bins: int) -> float:
    """The K2 score of the codes and the density inside the bins, by the reference."""
    names = ["height", "girth"]
    columns = columns_of(train)
    binnings = {name: marginal_binning(train[name].to_numpy(), method, n_bins) for name in names}
    codes = reference.discrete_codes(columns, names) | {name: binnings[name](train[name]) for name in names}
    edges = {name: binning.cuts for name, binning in binnings.items()}
    bounds = reference.whole_bounds(columns, names)
    return reference.k2_score(codes, GRAPH) + reference.density_term(columns, edges, bounds)


def test_equal_frequency_bins_hold_equally_many() -> None:
    values = np.random.default_rng(0).normal(size=103)
    binning = marginal_binning(values, "equal_frequency", 10)
    counts = np.bincount(binning(values), minlength=10)
    assert counts.max() - counts.min() <= 1
    few = np.repeat([1.0, 2.0, 3.0], [50, 1, 50])
    assert marginal_binning(few, "equal_frequency", 4).cuts.tolist() == [1.5, 2.5]
    assert marginal_binning(np.array([1.0, 2.0]), "equal_frequency", 9).cuts.tolist() == [1.5]
    assert marginal_binning(np.ones(5), "equal_frequency", 3).n_bins == 1


def test_bayesian_blocks_through_astropy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "astropy", SimpleNamespace())
    stats = SimpleNamespace(bayesian_blocks=lambda values: np.array([values.min(), 7.0, values.max()]))
    monkeypatch.setitem(sys.modules, "astropy.stats", stats)
    frame = trees()[["kind", "height", "tall"]]
    result = jaxbn.cross_validate(frame, {"tall": ["height"]}, folds=2, method="bayesian_blocks")
    assert (result.bins["height"] == 2).all()


def test_bayesian_blocks_of_astropy_itself() -> None:
    pytest.importorskip("astropy.stats")
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.uniform(0, 1, 500), rng.uniform(1, 10, 100)])
    edges = marginal_binning(values, "bayesian_blocks", 0).cuts
    assert abs(edges - 1).min() < 0.1
    assert marginal_binning(np.ones(5), "bayesian_blocks", 0).n_bins == 1


def test_bayesian_blocks_without_astropy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "astropy", None)
    monkeypatch.setitem(sys.modules, "astropy.stats", None)
    for call in (jaxbn.cross_validate, jaxbn.compare):
        options = {"method": "bayesian_blocks"} if call is jaxbn.cross_validate else {"methods": ["bayesian_blocks"]}
        with pytest.raises(ValueError, match=r"astropy, which is not installed; install it with `pip install astropy`"):
            call(trees(), GRAPH, **options)


def test_compare_is_on_the_same_folds() -> None:
    frame = trees()
    table = jaxbn.compare(frame, GRAPH, folds=3, seed=2, bins=4, alpha=2.0)
    assert list(table.index) == ["evidence", "bayesian", "mdl", "equal_width", "equal_frequency"]
    assert list(table.columns) == ["mean", "standard_error", "bins", "seconds"]
    for method in ("evidence", "bayesian", "mdl", "equal_width"):
        bins = 4 if method == "equal_width" else None
        alone = jaxbn.cross_validate(frame, GRAPH, folds=3, seed=2, method=method, alpha=2.0, bins=bins, shape="auto")
        assert table.loc[method, "mean"] == alone.mean
        assert table.loc[method, "standard_error"] == alone.standard_error
    assert table.loc["equal_width", "bins"] == 4


def test_missing_rows() -> None:
    frame = trees()
    frame.loc[[3, 50], "height"] = np.nan
    with pytest.raises(ValueError, match=r"missing values in 2 of 90 rows, in columns 'height' \(2\)"):
        jaxbn.cross_validate(frame, GRAPH, method="bayesian", missing="error")
    folds = np.arange(90) % 3
    result = jaxbn.cross_validate(frame, GRAPH, folds=folds, missing="drop", method="bayesian")
    assert result.n_rows == 88
    complete = frame.dropna()
    expected = jaxbn.cross_validate(complete, GRAPH, folds=folds[complete.index], method="bayesian")
    np.testing.assert_array_equal(result.log_likelihood, expected.log_likelihood)
    again = jaxbn.cross_validate(frame, GRAPH, folds=result.folds, missing="drop", method="bayesian")
    np.testing.assert_array_equal(again.log_likelihood, expected.log_likelihood)


def test_smallest_and_odd_data() -> None:
    two = {"x": [1.0, 2.0], "y": ["a", "b"]}
    result = jaxbn.cross_validate(
        two, {"x": ["y"]}, folds=2, method="bayesian", columns=jaxbn.Columns(continuous=["x"])
    )
    np.testing.assert_allclose(np.exp(result.log_likelihood), 1 / 3)  # one bin of width 1, P(unseen level) = 1/3
    constant = {"x": [1.5] * 6, "z": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]}
    for method in ("bayesian", "mdl", "equal_width", "equal_frequency"):
        every = jaxbn.cross_validate(constant, [("x", "z")], folds=6, method=method)
        assert np.isfinite(every.log_likelihood).all()
    discrete = {"a": list("xyxyxxyy"), "b": list("uvuvuuvu")}
    assert jaxbn.cross_validate(discrete, {"b": ["a"]}, folds=2, method="bayesian").bins == {}
    assert np.isnan(jaxbn.compare(discrete, {"b": ["a"]}, ["bayesian"], folds=2).loc["bayesian", "bins"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 1}, "folds must be at least 2, got 1"),
        ({"folds": 2.5}, "folds must be a whole number, got 2.5"),
        ({"folds": 91}, "folds is 91 but there are 90 rows; choose at most 90"),
        ({"folds": np.zeros(3, int)}, r"folds must have one entry for each of the 90 rows, got shape \(3,\)"),
        ({"folds": np.full(90, 4)}, "folds puts every row into fold 4; number two folds or more"),
        ({"folds": np.arange(90) - 1}, "folds must not be negative, got -1 in row 0; number the folds"),
        ({"folds": ["a"] * 90}, "folds must be integers, got 'a'|folds must be integers, got np.str_"),
        ({"method": "kmeans"}, "method must be one of 'evidence', 'bayesian', 'mdl', 'equal_width'.* got 'kmeans'"),
        (
            {"bins": 3},
            "bins is for .*, got 3 with method 'evidence'; leave it out, or choose the start with `initial_bins`",
        ),
        ({"bins": 0, "method": "equal_width"}, "bins must be at least 1, got 0"),
        ({"initial_bins": 0}, "initial_bins must be at least 1, got 0"),
        ({"max_passes": 0}, "max_passes must be at least 1, got 0"),
        ({"rate": -1.0, "method": "bayesian"}, "rate must be finite and above zero, got -1.0"),
        ({"alpha": 0.0}, "alpha must be a positive number, got 0.0"),
        ({"given": "hight"}, "given names 'hight', which is not a column of the data; did you mean 'height'"),
        ({"given": ("kind", "height", "tall", "girth")}, "given names every column"),
        ({"max_parents": 2}, "max_parents is for learning the structure; leave it out, or leave out `graph`"),
        ({"graph": None, "max_parent": 2}, "cross_validate has no option 'max_parent'; did you mean 'max_parents'"),
        ({"max_bin": 2}, "cross_validate has no option 'max_bin'; did you mean 'max_bins'"),
        ({"graph": None, "method": "equal_width"}, "method 'equal_width' learns no structure; pass `graph`"),
        ({"method": "mdl", "rate": 2.0}, "rate is for method='bayesian', got 2.0 with method 'mdl'; leave it out"),
        ({"rate": 2.0}, "rate is for method='bayesian', got 2.0 with method 'evidence'; leave it out"),
        ({"graph": None, "method": "evidence", "select": "k2"}, "select is for method='bayesian' or method='mdl'"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        jaxbn.cross_validate(trees(), **in_objects({"graph": GRAPH} | options))


def test_methods_are_compared_with_the_options_that_each_uses() -> None:
    table = jaxbn.compare(trees(), GRAPH, ["bayesian", "mdl", "equal_width"], folds=3, shape="flat", rate=1.0)
    assert (
        table.loc["bayesian", "mean"]
        == jaxbn.cross_validate(trees(), GRAPH, folds=3, method=jaxbn.Bayesian(rate=1.0)).mean
    )
    assert table.loc["mdl", "mean"] == jaxbn.cross_validate(trees(), GRAPH, folds=3, method="mdl").mean
    with pytest.raises(ValueError, match=r"rate is for method='bayesian', got 1\.0 with method 'mdl'"):
        jaxbn.compare(trees(), GRAPH, ["mdl", "equal_width"], rate=1.0)


def test_bad_methods_to_compare() -> None:
    with pytest.raises(ValueError, match="methods must be a sequence of methods, got 'mdl'"):
        jaxbn.compare(trees(), GRAPH, "mdl")
    with pytest.raises(ValueError, match=r"method must be one of .* got 'kmeans'"):
        jaxbn.compare(trees(), GRAPH, ["bayesian", "kmeans"])


def test_appendix_a_is_found_given_the_class() -> None:
    """The truth is a density of 1; the paper has -0.023 for its method, and -0.69 where the cut is missed."""
    data = jaxbn.datasets.appendix_a(200)
    table = jaxbn.compare(data, {"B": ["A"]}, ["bayesian", "mdl", "equal_frequency"], given="A", bins=1)
    assert table.loc[["bayesian", "mdl"], "mean"].between(-0.1, 0.0).all()
    assert table.loc["equal_frequency", "mean"] == pytest.approx(-np.log(2), abs=0.02)


def test_cross_validation_by_the_evidence():
    iris = jaxbn.datasets.load("iris")
    graph = iris.structures["paper"]
    scores = jaxbn.cross_validate(iris.frame, graph, folds=3, method="evidence")
    assert np.isfinite(scores.log_likelihood).all()
    training = iris.frame[scores.folds != 0]
    by_hand = jaxbn.discretize(training, graph, method="evidence", columns=jaxbn.Columns(continuous=iris.continuous))
    assert {n: int(k[0]) for n, k in scores.bins.items()} == {n: p.n_bins for n, p in by_hand.binnings.items()}
    limited = jaxbn.cross_validate(iris.frame, graph, folds=3, method=jaxbn.Evidence(min_width=0.5))
    assert sum(k.sum() for k in limited.bins.values()) < sum(k.sum() for k in scores.bins.values())


def test_columns_that_say_nothing_are_left_out_as_learn_does(caplog: pytest.LogCaptureFixture) -> None:
    frame = jaxbn.datasets.load("iris").frame
    with_names = frame.assign(name=[f"flower {i}" for i in range(len(frame))])
    net = jaxbn.learn(with_names, max_parents=1, restarts=1, progress=False)
    assert "columns=jaxbn.Columns(keep=['name'])" in caplog.text
    expected = jaxbn.cross_validate(frame, net.graph, folds=3).per_fold
    np.testing.assert_array_equal(jaxbn.cross_validate(with_names, net.graph, folds=3).per_fold, expected)
    np.testing.assert_array_equal(jaxbn.cross_validate(with_names, net, folds=3).per_fold, expected)  # its graph
    assert list(jaxbn.compare(with_names, net.graph, folds=3, methods=["bayesian"]).index) == ["bayesian"]
