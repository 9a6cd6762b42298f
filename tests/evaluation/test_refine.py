"""Refining: cuts inside their gaps, Dirichlet weights and the rate, judged on inner folds."""

from __future__ import annotations

import math
from dataclasses import replace

import jax
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar

import jaxbn
from jaxbn.evaluation.folds import fold_numbers
from jaxbn.inputs.graph import as_parents
from jaxbn.inputs.table import as_table
from jaxbn.kernels.gradient import best_rate
from tests.helpers.compilations import compilations

SETS = ("iris", "seeds", "gauss", "table6")


def fitted(name: str, **options: float) -> tuple[jaxbn.BayesNet, pd.DataFrame]:
    if name in ("gauss", "table6"):
        data, graph = getattr(jaxbn.datasets, name)(200, seed=1), {"X": ["P1", "P2"]}
    else:
        loaded = jaxbn.datasets.load(name)
        data, graph = loaded.frame, loaded.structures["paper"]
    return jaxbn.fit(data, graph, jaxbn.discretize(data, graph, method="bayesian").binnings, **options), data


def codes_of(net: jaxbn.BayesNet, data: pd.DataFrame) -> dict[str, np.ndarray]:
    codes = {name: binning(data[name]) for name, binning in net.binnings.items()}
    return codes | {name: pd.Categorical(data[name], list(net.levels[name])).codes for name in net.levels}


def folds_of(data: pd.DataFrame, count: int, seed: int) -> np.ndarray:
    return fold_numbers(count, seed, as_table(data), data)


def neighbours(values: np.ndarray, cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    left = np.array([values[values < cut].max() for cut in cuts])
    return left, np.array([values[values >= cut].min() for cut in cuts])


def shares_in_gaps(values: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    left, right = neighbours(values, cuts)
    return (cuts - left) / (right - left)


def held_out_by_definition(
    net: jaxbn.BayesNet, data: pd.DataFrame, fold: np.ndarray, shares: dict[str, np.ndarray]
) -> float:
    """Mean log density of the rows, each by tables and gaps of the other folds' rows; every bin keeps one of them."""
    total = 0.0
    for k in np.unique(fold):
        training, rest = data[fold != k], data[fold == k]
        cuts = {}
        for name, binning in net.binnings.items():
            values = training[name].to_numpy()
            assert len(np.unique(binning(values))) == binning.n_bins
            left, right = neighbours(values, binning.cuts)
            cuts[name] = left + shares[name] * (right - left)
        alpha = {name: net.alphas.get(name, net.alpha) for name in net.names}
        levels = {name: pd.CategoricalDtype(list(net.levels[name])) for name in net.levels}
        # declared levels: one that a fold lacks still has its cells
        other = jaxbn.fit(training.astype(levels), net.parents, cuts, alpha=alpha, bounds=net.bounds)
        total += other.log_likelihood(rest).sum()
    return total / len(data)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("options", [{"alpha": "family"}, {"alpha": None}, {"cuts": False}])
def test_what_is_optimised_never_falls(name: str, options: dict) -> None:
    net, data = fitted(name)
    refined = jaxbn.refine(net, data, **options)
    assert refined.after >= refined.before
    assert (refined.parts["after"] >= refined.parts["before"]).all()


def test_even_steps_that_only_do_harm_lower_nothing() -> None:
    net, data = fitted("seeds", alpha=0.3)
    for learning_rate in (30.0, 1e-9):
        refined = jaxbn.refine(net, data, alpha="family", steps=3, learning_rate=learning_rate)
        assert (refined.parts["after"] >= refined.parts["before"]).all()


@pytest.mark.parametrize("name", SETS)
def test_cuts_stay_in_their_gaps_and_no_row_changes_its_bin(name: str) -> None:
    net, data = fitted(name)
    refined = jaxbn.refine(net, data, alpha=None)
    moved = 0
    for variable, binning in net.binnings.items():
        values, new = data[variable].to_numpy(), refined.net.binnings[variable]
        np.testing.assert_array_equal(new(values), binning(values))
        assert (np.diff(new.cuts) > 0).all()
        step = np.diff(np.unique(values)).min()
        distance = np.abs(values[:, None] - new.cuts).min(axis=0)
        assert (distance >= step / 2 * (1 - 1e-6)).all()
        frame = refined.cuts[refined.cuts["variable"] == variable]
        assert frame["before"].tolist() == binning.cuts.tolist()
        assert frame["after"].tolist() == new.cuts.tolist()
        moved += int((new.cuts != binning.cuts).sum())
    assert moved > 0
    np.testing.assert_allclose(refined.net.tables["class" if name in ("iris", "seeds") else "X"].sum(axis=-1), 1)
    assert refined.net.score == pytest.approx(net.score)
    assert refined.net.bounds == net.bounds


@pytest.mark.parametrize("name", ["gauss", "table6", "iris"])
def test_the_likelihood_of_the_folds_by_definition(name: str) -> None:
    net, data = fitted(name)
    fold = folds_of(data, 4, seed=3)
    refined = jaxbn.refine(net, data, alpha=None, inner_folds=4, seed=3)
    for column, binnings in (("before", net.binnings), ("after", refined.net.binnings)):
        shares = {n: shares_in_gaps(data[n].to_numpy(), binning.cuts) for n, binning in binnings.items()}
        expected = held_out_by_definition(net, data, fold, shares)
        assert refined.parts.loc["cuts", column] == pytest.approx(expected, rel=1e-10)


def test_cuts_move_along_the_shapes_of_their_columns() -> None:
    data, graph = jaxbn.datasets.load("iris").frame, jaxbn.datasets.load("iris").structures["paper"]
    net = jaxbn.fit(data, graph, jaxbn.discretize(data, graph).binnings, alpha=1.0, lines=False)
    assert any(net.inside(name)._uneven is not None for name in net.binnings)
    fold = folds_of(data, 4, seed=3)
    refined = jaxbn.refine(net, data, alpha=None, inner_folds=4, seed=3)
    for column, binnings in (("before", net.binnings), ("after", refined.net.binnings)):
        total = 0.0
        for k in np.unique(fold):
            moved = {}
            for name, binning in binnings.items():
                own, inside = data[name].to_numpy(), net.inside(name)
                shares = shares_in_gaps(inside.below(own), inside.below(binning.cuts))
                old, values = net.binnings[name].cuts, own[fold != k]
                left, right = neighbours(values, old)
                ends = inside.below(left), inside.below(right)
                gaps = np.subtract(*neighbours(own, old)[::-1])
                free = gaps > np.diff(np.unique(own)).min() * (1 + 1e-6)
                cuts = np.where(free, inside.number(ends[0] + shares * (ends[1] - ends[0])), old)
                moved[name] = replace(binning, cuts=cuts)
            train = data[fold != k].astype({"class": pd.CategoricalDtype(list(net.levels["class"]))})
            other = jaxbn.fit(train, net.parents, moved, alpha=1.0, bounds=net.bounds, lines=False)
            total += other.log_likelihood(data[fold == k]).sum()
        assert refined.parts.loc["cuts", column] == pytest.approx(total / len(data), rel=1e-6)
    for name, binning in net.binnings.items():
        np.testing.assert_array_equal(refined.net.binnings[name](data[name]), binning(data[name]))


class Tables:
    """Folds of a network whose cuts are given, and the log-likelihood of the held-out rows under a weight."""

    def __init__(self, net: jaxbn.BayesNet, data: pd.DataFrame, fold: np.ndarray) -> None:
        self.net, self.codes, self.fold = net, codes_of(net, data), fold

    def log_likelihood(self, name: str, alpha: float) -> float:
        family, total = (*self.net.parents[name], name), 0.0
        shape = [self.net.cardinalities[v] for v in family]
        for k in np.unique(self.fold):
            counts = np.zeros(shape)
            np.add.at(counts, tuple(self.codes[v][self.fold != k] for v in family), 1)
            table = (counts + alpha) / (counts + alpha).sum(axis=-1, keepdims=True)
            total += np.log(table[tuple(self.codes[v][self.fold == k] for v in family)]).sum()
        return total

    def best(self, names: list[str]) -> float:
        found = minimize_scalar(
            lambda x: -sum(self.log_likelihood(name, math.exp(x)) for name in names),
            bounds=(math.log(0.01), math.log(100.0)), method="bounded", options={"xatol": 1e-9},
        )  # fmt: skip
        return math.exp(found.x)


def test_the_weights_are_where_scipy_finds_them() -> None:
    net, data = fitted("iris")
    given = jaxbn.fit(data, net.parents, {name: binning.cuts for name, binning in net.binnings.items()})
    tables = Tables(given, data, folds_of(data, 5, seed=0))
    family = jaxbn.refine(given, data, cuts=False, alpha="family")
    for name, before, after in family.alpha.itertuples(index=False):
        best = tables.best([name])
        assert before == 1.0
        assert tables.log_likelihood(name, after) == pytest.approx(tables.log_likelihood(name, best), abs=1e-5)
        if 0.02 < best < 50 and name != "class":  # what is known of the classes hardly depends on their weight
            assert after == pytest.approx(best, rel=1e-2)
    one = jaxbn.refine(given, data, cuts=False, alpha="one")
    assert one.alpha["after"].nunique() == 1
    assert one.net.alpha == pytest.approx(tables.best(list(net.names)), rel=1e-3)
    assert one.net.alphas == {}
    assert one.after <= family.after


def test_weights_come_from_folds_with_cuts_of_their_own() -> None:
    net, data = fitted("iris")
    refined = jaxbn.refine(net, data, cuts=False, alpha="one")
    fold = folds_of(data, 5, seed=0)
    for column, alpha in (("before", 1.0), ("after", refined.net.alpha)):
        expected = jaxbn.cross_validate(
            data, net.parents, folds=fold, alpha=alpha, method="bayesian"
        ).log_likelihood.mean()
        assert refined.parts.loc["alpha", column] == pytest.approx(expected, rel=1e-10)


def test_the_learned_weights_are_in_the_tables_and_in_the_file(tmp_path) -> None:
    net, data = fitted("iris")
    refined = jaxbn.refine(net, data, alpha="family").net
    assert set(refined.alphas) == set(net.names)
    petals = codes_of(refined, data)
    for name in net.names:
        counts = np.zeros(refined.tables[name].shape)
        np.add.at(counts, tuple(petals[v] for v in (*net.parents[name], name)), 1)
        counts += refined.alphas[name]
        np.testing.assert_allclose(refined.tables[name], counts / counts.sum(axis=-1, keepdims=True), rtol=1e-12)
    refined.save(tmp_path / "net.json")
    again = jaxbn.load(tmp_path / "net.json")
    assert again.alphas == refined.alphas
    np.testing.assert_array_equal(again.log_likelihood(data), refined.log_likelihood(data))
    refined.to_bif(tmp_path / "net.bif")
    assert jaxbn.read_bif(tmp_path / "net.bif").alphas == refined.alphas


def test_a_second_time_starts_where_the_first_ended() -> None:
    net, data = fitted("seeds")
    first = jaxbn.refine(net, data, alpha="family")
    second = jaxbn.refine(first.net, data, alpha="family")
    assert second.alpha["before"].tolist() == first.alpha["after"].tolist()
    assert second.cuts["before"].tolist() == first.cuts["after"].tolist()
    assert second.parts.loc["cuts", "before"] == pytest.approx(first.parts.loc["cuts", "after"], abs=0.01)
    assert (second.parts["after"] >= second.parts["before"]).all()


def test_one_weight_for_tables_that_had_different_ones() -> None:
    net, data = fitted("iris", alpha={"class": 5.0, "petal_width": 0.1})
    refined = jaxbn.refine(net, data, alpha="one", cuts=False)
    assert refined.alpha["before"].tolist() == [1.0, 1.0, 1.0, 0.1, 5.0]
    assert refined.parts["after"].item() >= refined.parts["before"].item()


@pytest.mark.parametrize("start", [0.5, 40.0])
def test_the_rate_makes_the_cuts_most_probable(start: float) -> None:
    gaps = np.random.default_rng(0).dirichlet(np.full(20, 0.5))[:9]
    best = minimize_scalar(
        lambda L: 3 * L - np.log(np.expm1(L * gaps)).sum(),
        bounds=(0.01, 99.0),
        method="bounded",
        options={"xatol": 1e-9},
    )
    with jax.enable_x64(True):
        found = best_rate(np.float64(start), np.append(gaps, np.zeros(7)), np.float64(3.0))
    assert float(found) == pytest.approx(best.x, rel=1e-4)


@pytest.mark.parametrize("name", ["iris", "table6"])
def test_a_learned_rate_is_kept_only_if_it_helps(name: str) -> None:
    net, data = fitted(name)
    refined = jaxbn.refine(net, data, cuts=False, alpha=None, rate=True)
    before, after = refined.rate
    assert before == max(net.cardinalities.values())
    fold = folds_of(data, 5, seed=0)
    usual = jaxbn.cross_validate(data, net.parents, folds=fold, method="bayesian").log_likelihood.mean()
    assert refined.before == pytest.approx(usual, rel=1e-12)
    if after == before:
        assert refined.net is net
        assert refined.after == refined.before
    else:
        learned = jaxbn.cross_validate(
            data, net.parents, folds=fold, method=jaxbn.Bayesian(rate=after)
        ).log_likelihood.mean()
        assert refined.after == pytest.approx(learned, rel=1e-12) > refined.before


def test_cuts_without_a_gap_of_their_own_stay() -> None:
    data = {"x": [0.0, 1.0, 2.0, 6.0, 7.0, 11.0, 12.0, 13.0] * 3}
    net = jaxbn.fit(data, {}, {"x": [-5.0, 3.0, 4.0, 9.0, 20.0]}, bounds={"x": (-9.0, 30.0)})
    refined = jaxbn.refine(net, data, alpha=None, inner_folds=3)
    same = refined.cuts["before"] == refined.cuts["after"]
    assert same[[0, 1, 2, 4]].all()
    assert refined.cuts["gap"].tolist() == [0.0, 0.0, 0.0, 4.0, 0.0]


def test_the_same_seed_gives_the_same_network() -> None:
    net, data = fitted("seeds")
    first, second, other = (jaxbn.refine(net, data, seed=seed) for seed in (0, 0, 1))
    pd.testing.assert_frame_equal(first.cuts, second.cuts)
    pd.testing.assert_frame_equal(first.alpha, second.alpha)
    assert first.before != other.before


def test_a_table_and_further_columns_are_welcome() -> None:
    net, data = fitted("iris")
    expected = jaxbn.refine(net, data)
    for columns in (data, data[data.columns[::-1]]):
        pd.testing.assert_frame_equal(jaxbn.refine(net, as_table(columns)).cuts, expected.cuts)
    pd.testing.assert_frame_equal(jaxbn.refine(net, data.assign(note="x")).cuts, expected.cuts)


def test_grouped_levels() -> None:
    rng = np.random.default_rng(0)
    town = rng.integers(0, 12, 400)
    data = pd.DataFrame({"town": [f"t{i:02}" for i in town], "x": rng.normal(3.0 * (town % 2), 1.0)})
    found = jaxbn.discretize(data, {"x": ["town"]}, method="bayesian", columns=jaxbn.Columns(merge_levels=["town"]))
    net = jaxbn.fit(data, {"x": ["town"]}, found.codings)
    refined = jaxbn.refine(net, data)
    assert refined.after >= refined.before
    assert refined.net.groupings == net.groupings
    assert (refined.parts["after"] >= refined.parts["before"]).all()


def test_discrete_networks_have_weights_to_learn() -> None:
    data = {"a": list("xxyyxy") * 5, "b": list("uvuvvv") * 5}
    net = jaxbn.fit(data, {"b": ["a"]}, {})
    refined = jaxbn.refine(net, data, cuts=False)
    assert refined.after >= refined.before
    assert len(refined.cuts) == 0
    with pytest.raises(ValueError, match="no continuous variable, so cuts=True has no use"):
        jaxbn.refine(net, data)


def test_bad_input_is_refused_by_name() -> None:
    net, data = fitted("iris")
    with pytest.raises(ValueError, match=r"lacks column\(s\) 'petal_width'"):
        jaxbn.refine(net, data.drop(columns="petal_width"))
    with pytest.raises(ValueError, match="inner_folds must be at least 2, got 1"):
        jaxbn.refine(net, data, inner_folds=1)
    with pytest.raises(ValueError, match="inner_folds is 5 but there are 3 rows"):
        jaxbn.refine(net, data[:3])
    with pytest.raises(ValueError, match=r"alpha must be one of 'one', 'family', got 'all'"):
        jaxbn.refine(net, data, alpha="all")
    with pytest.raises(ValueError, match="nothing to learn"):
        jaxbn.refine(net, data, cuts=False, alpha=None)
    with pytest.raises(ValueError, match="steps must be at least 1"):
        jaxbn.refine(net, data, steps=0)
    with pytest.raises(ValueError, match="learning_rate must be finite and above zero"):
        jaxbn.refine(net, data, learning_rate=0.0)
    given = jaxbn.fit(data, net.parents, {name: binning.cuts for name, binning in net.binnings.items()})
    with pytest.raises(ValueError, match=r"rate=True needs cuts made with method 'bayesian'.*'given'"):
        jaxbn.refine(given, data, rate=True)
    with pytest.raises(ValueError, match="unknown level"):
        jaxbn.refine(net, data.astype({"class": object}).assign(**{"class": "rose"}))
    with pytest.raises(ValueError, match="other variables or levels"):
        jaxbn.refine(net, as_table(data[["petal_width", "class"]]))


def test_weights_by_family_are_checked_when_fitting() -> None:
    net, data = fitted("gauss")
    with pytest.raises(ValueError, match="alpha names 'Y'"):
        jaxbn.fit(data, net.parents, net.binnings, alpha={"Y": 1.0})
    with pytest.raises(ValueError, match="alpha of 'X' must be a positive number, got -1"):
        jaxbn.fit(data, net.parents, net.binnings, alpha={"X": -1.0})
    own = jaxbn.fit(data, net.parents, net.binnings, alpha={"X": 0.5})
    np.testing.assert_array_equal(own.tables["X"], jaxbn.fit(data, net.parents, net.binnings, alpha=0.5).tables["X"])
    np.testing.assert_array_equal(own.tables["P1"], net.tables["P1"])


def test_what_it_did_can_be_read() -> None:
    net, data = fitted("iris")
    refined = jaxbn.refine(net, data)
    assert repr(refined).startswith("Refined: log-likelihood of a held-out row -3.")
    assert "of 8 cuts moved" in repr(refined)
    assert "<table" in refined._repr_html_()
    assert as_parents(refined.net.graph, net.names) == net.parents


def test_networks_of_similar_size_share_one_program() -> None:
    with compilations() as names:
        for n in (150, 180, 200):
            data = jaxbn.datasets.gauss(n, seed=n)
            net = jaxbn.fit(data, {"X": ["P1", "P2"]}, {"X": np.linspace(2, 7, n // 25)})
            jaxbn.refine(net, data, alpha="family")
    assert sum("climb" in name for name in names) == 1, names
    assert not jax.config.jax_enable_x64


def test_missing_entries_are_filled_in_once(caplog: pytest.LogCaptureFixture) -> None:
    net, data = fitted("iris")
    holed = data.assign(petal_width=data.petal_width.where(data.index % 9 != 4))
    refined = jaxbn.refine(net, holed, steps=5)
    assert "missing entries are filled in once, by a draw" in caplog.text
    assert jaxbn.refine(net, jaxbn.as_table(holed, missing="infer"), steps=5).net == refined.net
