"""Learning from tables with missing entries: completed by draws, the same for the same seed, with every option."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

import jaxbn
from jaxbn.drawing.missing import dependences
from jaxbn.inputs.table import as_table
from jaxbn.learning.holes.completion import completed, expected, matched
from jaxbn.learning.holes.first import best_tree, first_completion
from jaxbn.learning.holes.rounds import observed_evidence
from jaxbn.learning.options import in_objects
from jaxbn.model.imputing.donors import matched_donors
from jaxbn.scores.coded_table import CodedTable
from jaxbn.scores.evidence import ARC_CHARGE, EvidenceCache
from jaxbn.scores.tables import family_counts, k2_score
from tests.reference import holed_cuts


def chain(n: int = 240, share: float = 0.15, seed: int = 0) -> pd.DataFrame:
    """A word, a number that follows it, a number that follows that one, and one that follows nothing."""
    rng = np.random.default_rng(seed)
    word = rng.integers(0, 3, n)
    x = rng.normal(size=n) + 3 * word
    y = 0.5 * x + 0.3 * rng.normal(size=n)
    frame = pd.DataFrame({"word": np.array(list("abc"))[word], "x": x, "y": y, "noise": rng.integers(0, 2, n)})
    return frame.mask(rng.random(frame.shape) < share)


def coded(share: float = 0.15, n: int = 240) -> CodedTable:
    return CodedTable(as_table(chain(n, share), missing="infer"))


# --- completions


def test_a_completion_keeps_what_is_known_and_fills_the_rest() -> None:
    data = coded()
    table = data.table
    filled = first_completion(data, np.random.default_rng(0))
    assert filled.holes == {}
    for name in table.names:
        column, before = (t.values.get(name, t.codes.get(name)) for t in (filled, table))
        known = ~table.absent(name)
        np.testing.assert_array_equal(column[known], before[known])
        assert set(column[~known].tolist()) <= set(before[known].tolist())


def test_drawn_values_lie_in_the_drawn_bins_and_follow_the_network() -> None:
    """Where the word of a row is known, and words and bins go together, the number comes from the bin of the word."""
    word = np.repeat([0, 1], 100)
    x = np.where(np.arange(200) % 4 == 0, np.nan, 10.0 * word + np.arange(200) / 200)
    data = CodedTable(as_table({"word": word, "x": x}, missing="infer"))
    filled = completed(data, {"word": (), "x": ("word",)}, {"x": jaxbn.Binning([5.0])}, np.random.default_rng(1))
    right = (filled.values["x"] > 5) == (word == 1)
    assert right.mean() > 0.97  # each table cell has a prior weight of one


def test_matching_keeps_the_dependence_within_bins() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    y = x + 0.05 * rng.normal(size=2000)
    known = np.where(rng.random(2000) < 0.3, -1, 0).astype(np.int32)
    donors = matched_donors(np.where(known < 0, np.nan, y), x[:, None], known, np.zeros(2000, np.int32), rng)
    assert (known[donors] == 0).all()
    assert np.corrcoef(y[donors], x[known < 0])[0, 1] > 0.99


@pytest.mark.parametrize("n", [300, 250_000])
def test_matching_over_all_bins_keeps_what_the_network_has_no_arc_for(n: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    y = x + 0.5 * rng.normal(size=n)
    gone = rng.random(n) < 0.4
    data = CodedTable(as_table({"x": x, "y": np.where(gone, np.nan, y)}, missing="infer"))
    cuts = {name: jaxbn.Binning(np.array([0.0])) for name in ("x", "y")}
    found = {
        complete: complete(data, {"x": (), "y": ()}, cuts, np.random.default_rng(1)).values["y"]
        for complete in (matched, completed, expected)
    }
    true = np.corrcoef(x[gone], y[gone])[0, 1]
    assert np.corrcoef(x[gone], found[matched][gone])[0, 1] == pytest.approx(true, abs=0.05)
    assert np.corrcoef(x[gone], found[completed][gone])[0, 1] < true - 0.1
    assert np.corrcoef(x[gone], found[expected][gone])[0, 1] > true + 0.05
    for column in found.values():
        np.testing.assert_array_equal(column[~gone], y[~gone])
        assert np.isin(column[gone], y[~gone]).all()


def test_what_is_expected_of_levels_is_told_by_numbers_inside_bins_and_by_the_network() -> None:
    """A word that a line tells and no bin does, and one that only the bins tell: both are found."""
    rng = np.random.default_rng(0)
    x, z = rng.uniform(0, 10, (2, 400))
    line, island = (x > 7).astype(int), ((z > 4) & (z < 6)).astype(int)
    gone = rng.random((2, 400)) < 0.3
    words = {"line": np.where(gone[0], np.nan, line), "island": np.where(gone[1], np.nan, island)}
    data = CodedTable(as_table(pd.DataFrame({"x": x, "z": z, **words}), discrete=list(words), missing="infer"))
    cuts = {"x": jaxbn.Binning(np.array([5.0])), "z": jaxbn.Binning(np.array([4.0, 6.0]))}
    graph = {"x": (), "z": (), "line": ("x",), "island": ("z",)}
    codes = expected(data, graph, cuts, rng).codes
    assert (codes["island"] == island)[gone[1]].mean() > 0.95
    by_bins = ((x > 5) == line)[gone[0]].mean()
    assert (codes["line"] == line)[gone[0]].mean() > by_bins + 0.02


def test_outliers_do_not_decide_what_is_expected() -> None:
    """One row far out tilts every line through the values; their ranks know nothing of it."""
    rng = np.random.default_rng(0)
    x = np.exp(2 * rng.normal(size=400))
    y = x * np.exp(0.1 * rng.normal(size=400))
    x[0], y[0] = 1e9, 1e-9
    gone = np.arange(400) % 4 == 1
    data = CodedTable(as_table(pd.DataFrame({"x": x, "y": np.where(gone, np.nan, y)}), missing="infer"))
    cuts = {"x": jaxbn.Binning(np.array([1.0])), "y": jaxbn.Binning(np.array([1.0]))}
    for complete in (expected, completed, matched):
        found = complete(data, {"x": (), "y": ("x",)}, cuts, rng).values["y"]
        np.testing.assert_array_equal(found[~gone], y[~gone])
        assert np.corrcoef(np.log(found[gone]), np.log(y[gone]))[0, 1] > 0.9


def test_the_tree_has_the_dependences_that_are_there() -> None:
    start = coded(0.3).start(5, "frequency")
    arcs = {frozenset((child, p)) for child, found in best_tree(start.columns).items() for p in found}
    assert arcs == {frozenset(("word", "x")), frozenset(("x", "y"))}


# --- cuts with holes raise the evidence of what each factor has


def test_the_cache_is_the_evidence_by_definition() -> None:
    """F with holes, and the cost of a variable's cuts, differ by the same number whatever the cuts."""
    data = CodedTable(as_table(chain(60, 0.2), missing="infer"))
    parents = {"word": (), "x": ("word",), "y": ("x", "noise"), "noise": ()}
    table = data.table
    differences = []
    for cuts in ([1.5], [0.0, 3.0], [-0.5, 1.5, 4.0]):
        binnings = {"x": jaxbn.Binning(np.array(cuts)), "y": jaxbn.Binning(np.array([1.0]))}
        start = data.recoded(binnings)
        value = EvidenceCache(data).evidence(parents, start.columns, binnings)
        cost = holed_cuts.cost(
            table.values["x"],
            [start.columns["word"].codes],
            [(start.columns["y"].codes, [start.columns["noise"].codes])],
            np.array(cuts),
            "evidence",
        )
        differences.append(value + cost)
    assert np.ptp(differences) < 1e-9


@pytest.mark.parametrize("method", ["evidence", "bayesian", "mdl"])
def test_discretize_with_holes(method: str) -> None:
    found = jaxbn.discretize(chain(), {"x": ["word"], "y": ["x"]}, method=method)
    assert found.converged
    assert found.binnings["x"].n_bins > 1
    if method == "evidence":
        assert list(found.trace) == sorted(found.trace)
    codes = found.transform(chain())["x"]
    assert (codes == -1).sum() == chain()["x"].isna().sum()


# --- learn


def same(a: Any, b: Any) -> bool:
    return bool(a == b)


def test_without_holes_all_choices_are_the_same_to_the_last_digit() -> None:
    frame = chain(share=0.0)
    nets = [jaxbn.learn(frame, progress=False, missing=m) for m in ("infer", "error", "drop", "state")]
    assert all(net == nets[0] and net.trace == nets[0].trace for net in nets)
    assert nets[0].em_trace == ()


def test_same_seed_same_network_and_the_arcs_are_found() -> None:
    frame = chain()
    net = jaxbn.learn(frame, progress=False)
    assert net == jaxbn.learn(frame, progress=False)
    arcs = {frozenset((child, p)) for child, found in net.parents.items() for p in found}
    assert arcs == {frozenset(("word", "x")), frozenset(("x", "y"))}
    assert list(net.em_trace) == sorted(net.em_trace)
    assert np.isfinite(net.log_likelihood(frame)).all()
    assert net.n_rows == len(frame)


@pytest.mark.parametrize(
    "options",
    [
        {"search": "orders"},
        {"search": "k2"},
        {"order": ["word", "x", "y", "noise"]},
        {"method": "bayesian"},
        {"method": "bayesian", "search": "k2"},
        {"method": "mdl", "max_parents": 1},
        {"group": ["word"]},
        {"required": [("noise", "x")], "forbidden": [("word", "x"), ("x", "word")]},
    ],
    ids=str,
)
def test_every_search_method_and_constraint(options: dict[str, Any]) -> None:
    net = jaxbn.learn(chain(), **in_objects({"progress": False, "restarts": 1, **options}))
    assert net.em_trace
    if "required" in options:
        assert "noise" in net.parents["x"]
        assert "word" not in net.parents["x"]
    else:
        assert any("x" in found for found in net.parents.values()) or net.parents["x"]


def test_a_checkpoint_is_gone_on_from(tmp_path: Path) -> None:
    file = tmp_path / "runs.json"
    first = jaxbn.learn(chain(), progress=False, restarts=2, checkpoint=file)
    assert jaxbn.learn(chain(), progress=False, restarts=2, checkpoint=file) == first
    assert jaxbn.learn(chain(), progress=False, restarts=2) == first
    with pytest.raises(ValueError, match="belongs to another run"):
        jaxbn.learn(chain(share=0.1), progress=False, restarts=2, checkpoint=file)


def test_a_time_limit_gives_the_best_so_far() -> None:
    net = jaxbn.learn(chain(), progress=False, time_limit=1e-9)
    assert not net.search.finished
    assert net.em_trace


def test_a_column_missing_in_all_rows_of_one_level() -> None:
    frame = chain(share=0.0)
    frame.loc[frame["word"] == "a", "y"] = np.nan
    net = jaxbn.learn(frame, progress=False)
    assert np.isfinite(net.log_likelihood(frame)).all()


@pytest.mark.parametrize("learner", ["learn", "discretize", "fit", "cross_validate", "bootstrap"])
def test_empty_columns_and_infinite_numbers_are_refused_and_empty_rows_left_out(
    learner: str, caplog: pytest.LogCaptureFixture
) -> None:
    graph = {"x": ["word"], "y": ["x"]}

    def call(frame: pd.DataFrame) -> Any:
        if learner == "learn":
            return jaxbn.learn(frame, progress=False, restarts=1, columns=jaxbn.Columns(keep=list(frame)))
        if learner == "fit":
            return jaxbn.fit(frame, graph, {"x": [1.5], "y": [1.0]})
        options: dict[str, Any] = {"bootstrap": {"resamples": 2}, "cross_validate": {"folds": 2}}.get(learner, {})
        if options:  # these leave such columns out too, unless they are to stay
            options["columns"] = jaxbn.Columns(keep=list(frame))
        return getattr(jaxbn, learner)(frame, graph, **options)

    frame = chain(100)
    with pytest.raises(ValueError, match="'noise' has no value in any of the 100 rows"):
        call(frame.assign(noise=np.nan))
    with pytest.raises(ValueError, match="'x' holds 1 infinite value"):
        call(frame.assign(x=[np.inf, *frame["x"][1:]]))
    frame.loc[[3, 50]] = np.nan
    caplog.clear()
    call(frame)
    assert "2 rows without any value left out" in caplog.text


def test_missing_as_a_state() -> None:
    """Whether y is missing depends on the word: the network says so, and rows with holes have that probability."""
    frame = chain(share=0.0)
    rng = np.random.default_rng(3)
    frame.loc[(frame["word"] == "a") & (rng.random(len(frame)) < 0.7), "y"] = np.nan
    frame.loc[rng.random(len(frame)) < 0.2, "noise"] = np.nan
    net = jaxbn.learn(frame, progress=False, missing="state")
    assert net.levels["noise"] == (0, 1, "(missing)")
    assert "y" not in (*net.parents["y (missing)"], *net.parents["noise"])
    neighbours = net.markov_blanket("y (missing)")
    assert "word" in neighbours or "x" in neighbours
    assert net.query("y (missing)", {"word": "a"})[True] > 0.5
    lone = pd.DataFrame({"word": ["b"], "x": [np.nan], "y": [np.nan], "noise": [None]})
    expected = net.query(["word", "y (missing)", "noise"])[("b", True, "(missing)")]
    assert net.log_likelihood(lone)[0] == pytest.approx(np.log(expected))


def test_the_report_shows_shares_and_what_being_missing_depends_on() -> None:
    frame = chain(share=0.0)
    frame.loc[frame["word"] == "a", "y"] = np.nan
    net = jaxbn.fit(frame, {"y (missing)": ["word"]}, {"x": [1.5], "y": [1.0]}, missing="state")
    page = jaxbn.report(net, frame)
    assert "Missing entries" in page
    assert "Missing entries" in jaxbn.report(net, as_table(frame, missing="state"))
    assert "Missing entries" in jaxbn.report(net, frame.dropna())  # what it depends on
    (found,) = dependences(net)
    assert (found.column, found.neighbour) == ("y", "word")
    assert found.least < 0.05 < 0.95 < found.most
    plain = jaxbn.learn(frame, progress=False, max_parents=1)
    assert dependences(plain) == []
    page = jaxbn.report(plain, frame)
    assert f"<td>y</td><td>{frame['y'].isna().sum()}</td>" in re.sub(r" class=.*?>", ">", page)
    assert "% missing" in page
    assert "depends on" not in page
    assert "Missing entries" not in jaxbn.report(plain, frame.dropna())


# --- functions that learn


@pytest.mark.parametrize("graph", [None, {"x": ["word"], "y": ["x"]}])
def test_cross_validation_scores_what_each_row_has(graph: Any) -> None:
    frame = chain()
    found = jaxbn.cross_validate(frame, graph, **in_objects({"folds": 2, **({} if graph else {"restarts": 1})}))
    assert found.n_rows == len(frame)
    assert np.isfinite(found.log_likelihood).all()
    assert jaxbn.cross_validate(frame, {"x": ["word"]}, folds=2, method="equal_width", bins=3).n_rows == len(frame)


def test_bootstrap_with_holes() -> None:
    frame = chain(120)
    cuts = jaxbn.bootstrap(frame, {"x": ["word"], "y": ["x"]}, resamples=3)
    assert len(cuts.binnings["x"]) == 3
    arcs = jaxbn.bootstrap(frame, resamples=2, progress=False, max_parents=1)
    again = jaxbn.bootstrap(frame, resamples=2, progress=False, max_parents=1)
    assert arcs.frame.equals(again.frame)


# --- networks of several rounds are compared by the evidence of what was observed


def test_without_holes_the_observed_evidence_is_f() -> None:
    data = CodedTable(as_table(chain(80, 0.0)))
    parents = {"word": (), "x": ("word",), "y": ("x", "noise"), "noise": ()}
    binnings = {"x": jaxbn.Binning(np.array([1.5])), "y": jaxbn.Binning(np.array([1.0, 2.0]))}
    cache = EvidenceCache(data, arc_charge=ARC_CHARGE)
    columns = data.recoded(binnings).columns
    expected_value = cache.evidence(parents, columns, binnings)
    # F leaves out configurations of the parents that no row has, which add nothing either way
    assert observed_evidence(cache, data, parents, binnings) == pytest.approx(expected_value, abs=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_the_observed_evidence_is_near_the_sum_over_all_completions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, 40)
    frame = pd.DataFrame({"a": a, "b": np.where(rng.random(40) < 0.8, a, 1 - a), "c": rng.integers(0, 2, 40)})
    gone = np.zeros(frame.shape, bool)
    gone.ravel()[rng.choice(gone.size, 8, replace=False)] = True
    data = CodedTable(as_table(frame.mask(gone), missing="infer"))
    parents = {"a": (), "b": ("a",), "c": ("b",)}
    found = observed_evidence(EvidenceCache(data), data, parents, {})
    codes = np.where(gone, -1, frame.to_numpy())
    scores = []
    for values in itertools.product((0, 1), repeat=8):
        whole = codes.copy()
        whole[gone] = values
        columns = dict(zip("abc", whole.T, strict=True))
        families = [(columns[child], [columns[p] for p in found_for]) for child, found_for in parents.items()]
        scores.append(sum(k2_score(family_counts(c, p, [2] * (len(p) + 1)), 0.5) for c, p in families))
    assert found == pytest.approx(float(logsumexp(scores)), abs=0.3)


def test_what_is_expected_follows_a_line_where_the_network_has_no_arc() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = 2 * x + 0.1 * rng.normal(size=400)
    gone = rng.random(400) < 0.3
    frame = pd.DataFrame({"x": x, "y": np.where(gone, np.nan, y)})
    data = CodedTable(as_table(frame, missing="infer"))
    cuts = {"x": jaxbn.Binning(np.array([0.0])), "y": jaxbn.Binning(np.array([0.0]))}
    filled = expected(data, {"x": (), "y": ()}, cuts, rng)
    assert filled.holes == {}
    np.testing.assert_array_equal(filled.values["y"][~gone], y[~gone])
    assert set(filled.values["y"]) <= set(y[~gone])
    assert np.corrcoef(filled.values["y"][gone], y[gone])[0, 1] > 0.99


def test_lines_are_the_same_whichever_rows_are_said_to_change():
    from jaxbn.model.imputing.ridge import RidgeRegressions

    rng = np.random.default_rng(0)
    x = [rng.normal(5, 2, 200), rng.random(200), np.ones(200)]
    targets = np.stack([x[0] - 3 * x[1], rng.normal(size=200)], axis=1)
    has, rows = rng.random(200) < 0.8, np.arange(200)
    few, every = RidgeRegressions(has, rows < 20), RidgeRegressions(has, rows >= 0)
    for _ in range(3):
        np.testing.assert_allclose(few.predict(targets, x, rows), every.predict(targets, x, rows), rtol=1e-10)
        x = [np.where(rows < 20, column + rng.normal(size=200), column) for column in x[:2]] + x[2:]
    design = np.stack([(column - column[has].mean()) / column[has].std() for column in x[:2]], axis=1)
    own = design[has].T @ design[has] + 1e-3 * has.sum() * np.eye(2)
    weights = np.linalg.solve(own, design[has].T @ targets[has])
    np.testing.assert_allclose(every.predict(targets, x, rows), targets[has].mean(axis=0) + design @ weights, rtol=1e-8)
