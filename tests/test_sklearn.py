"""The scikit-learn estimators: scikit-learn's own checks, and use in its pipelines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.learning.options import in_objects

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from jaxbn.sklearn import (
    BayesianDiscretizer,
    BayesNetClassifier,
    BayesNetImputer,
    BayesNetLearner,
    BayesNetOutlierDetector,
)

ESTIMATORS = [
    BayesianDiscretizer(),
    BayesianDiscretizer(encode="ordinal"),
    BayesNetClassifier(),
    BayesNetClassifier(structure="learn"),
    BayesNetClassifier(structure="naive"),
    BayesNetImputer(),
    BayesNetImputer(strategy="mean", restarts=1),
    BayesNetLearner(restarts=1),
    BayesNetOutlierDetector(restarts=1),
    BayesNetOutlierDetector(by="entries", restarts=1),
]


@pytest.mark.filterwarnings("default")  # scikit-learn's checks warn on purpose
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_cuts_are_those_of_discretize_variable() -> None:
    X, y = load_iris(return_X_y=True)
    discretizer = BayesianDiscretizer(encode="ordinal", method="bayesian").fit(X, y)
    for i, edges in enumerate(discretizer.bin_edges_):
        binning = jaxbn.discretize_variable(X[:, i], parents=(y,), rate=3.0, method="bayesian")
        np.testing.assert_array_equal(edges, [X[:, i].min(), *binning.cuts, X[:, i].max()])
        np.testing.assert_array_equal(discretizer.transform(X)[:, i], binning(X[:, i]))
    assert discretizer.n_bins_.tolist() == [len(edges) - 1 for edges in discretizer.bin_edges_]


def test_drop_in_for_kbins() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    ours, theirs = BayesianDiscretizer().fit(X, y), KBinsDiscretizer(quantile_method="averaged_inverted_cdf").fit(X)
    assert type(ours.transform(X)) is type(theirs.transform(X))
    assert ours.get_feature_names_out()[0] == theirs.get_feature_names_out()[0] == "sepal length (cm)_0.0"
    dense = BayesianDiscretizer(encode="onehot-dense").set_output(transform="pandas").fit(X, y).transform(X)
    assert list(dense) == ours.get_feature_names_out().tolist()
    np.testing.assert_array_equal(dense, ours.transform(X).toarray())
    ordinal = BayesianDiscretizer(encode="ordinal").set_output(transform="pandas").fit(X, y).transform(X)
    assert list(ordinal) == list(X)
    np.testing.assert_array_equal(ours.inverse_transform(ours.transform(X)), BayesianDiscretizer(
        encode="ordinal").fit(X, y).inverse_transform(ordinal))  # fmt: skip
    assert BayesianDiscretizer(dtype=np.float32).fit(X, y).transform(X).dtype == np.float32


def test_bad_parameters_are_refused() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="encode must be one of"):
        BayesianDiscretizer(encode="binary").fit(X, y)
    with pytest.raises(ValueError, match="dtype must be"):
        BayesianDiscretizer(dtype=np.int32).fit(X, y)
    with pytest.raises(ValueError, match="structure must be"):
        BayesNetClassifier(structure="tree").fit(X, y)


def test_pipelines_and_grid_search() -> None:
    X, y = load_wine(return_X_y=True)
    pipeline = make_pipeline(BayesianDiscretizer(), LogisticRegression(max_iter=1000))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.9
    search = GridSearchCV(BayesNetClassifier(structure="naive"), {"alpha": [0.5, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    methods = [jaxbn.Bayesian(rate=1.0), jaxbn.Bayesian()]
    choices = {"bayesiandiscretizer__method": methods, "bayesiandiscretizer__encode": ["onehot", "ordinal"]}
    tuned = GridSearchCV(pipeline, choices, cv=2).fit(X, y)
    assert tuned.best_score_ > 0.9
    in_pipeline = make_pipeline(StandardScaler(), BayesNetClassifier(max_parents=1))
    choices = {"bayesnetclassifier__structure": ["naive", "learn"]}
    assert GridSearchCV(in_pipeline, choices, cv=2).fit(X, y).best_score_ > 0.9
    assert (
        cross_val_score(BayesNetClassifier(structure="naive"), X, y, cv=3).mean()
        > cross_val_score(GaussianNB(), X, y, cv=3).mean() - 0.05
    )


def test_mixed_columns_unseen_levels_and_missing_entries() -> None:
    rng = np.random.default_rng(0)
    y = np.where(rng.random(200) < 0.5, "yes", "no")
    X = pd.DataFrame({"x": rng.normal(size=200) + 2 * (y == "yes"), "class": np.where(y == "yes", "u", "v")})
    model = clone(BayesNetClassifier(structure="naive")).fit(X, y)  # the target's own would need no x
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.class_name_ == "class_"
    assert model.score(X, y) == 1.0
    new = pd.DataFrame({"x": [np.nan, 2.0], "class": ["u", "w"]})
    probabilities = model.predict_proba(new)
    assert probabilities.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert model.predict(new).tolist() == ["yes", "yes"]


def test_the_classifier_offers_only_remedies_that_it_has() -> None:
    y = np.array(["no", "yes"] * 20)
    X = pd.DataFrame({"x": np.arange(40) / 7})
    with pytest.raises(ValueError, match=r"'who' has a different value.*drop it") as no:
        BayesNetClassifier().fit(X.assign(who=[f"k{i}" for i in range(40)]), y)
    assert "`continuous`" not in str(no.value)


def test_learned_structure_is_that_of_learn() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = BayesNetClassifier(structure="learn", method="bayesian", max_parents=1, alpha=0.5).fit(X, y)
    frame = X.assign(**{"class": y.astype("category")})
    net = jaxbn.learn(frame, max_parents=1, progress=False, method="bayesian")
    assert model.network_.parents == net.parents
    assert model.network_.alpha == 0.5
    for name, binning in net.binnings.items():
        np.testing.assert_array_equal(model.network_.binnings[name].cuts, binning.cuts)
    expected = jaxbn.fit(frame, net.parents, net.binnings, alpha=0.5).predict_proba(X, "class").to_numpy()
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-12)
    assert model.score(X, y) > 0.9


def test_learned_structure_sees_what_naive_bayes_cannot() -> None:
    """A feature that depends on the class and on another feature, which alone says nothing of the class."""
    rng = np.random.default_rng(0)
    kind, y = rng.choice(["u", "v"], 600), rng.integers(0, 2, 600)
    X = pd.DataFrame({"kind": kind, "x": y + np.where(kind == "u", 1.0, 0.0) + rng.uniform(0, 0.9, 600)})
    assert BayesNetClassifier(structure="naive").fit(X[:400], y[:400]).score(X[400:], y[400:]) < 0.9
    for structure in ("tan", "target", "learn"):
        model = BayesNetClassifier(structure=structure).fit(X[:400], y[:400])
        assert set(model.network_.markov_blanket("class")) == {"x", "kind"}, structure
        assert model.score(X[400:], y[400:]) > 0.95, structure


@pytest.mark.parametrize("structure", ["naive", "tan", "target", "learn"])
@pytest.mark.parametrize("classes", [["no", "yes"], [3, 7], [False, True], [1.0, 2.0]])
def test_the_network_has_the_classes_as_they_were_given(structure: str, classes: list[Any]) -> None:
    X = [[0.1, 5.0], [0.2, 3.0], [0.9, 4.0], [1.1, 2.0]] * 10
    y = np.array([classes[0], classes[0], classes[1], classes[1]] * 10)
    model = BayesNetClassifier(structure=structure).fit(X, y)
    assert model.network_.levels["class"] == tuple(classes)
    answer = model.network_.query("class", {"x0": 0.0})
    assert answer.index.tolist() == model.classes_.tolist() == classes
    assert answer.idxmax() == classes[0]


def test_nan_in_an_array_is_a_missing_entry_as_in_a_frame(caplog: pytest.LogCaptureFixture) -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.3)
    of_frames = BayesNetClassifier().fit(X, y).predict_proba(holes)
    of_arrays = BayesNetClassifier().fit(X.to_numpy(), y).predict_proba(holes.to_numpy())
    np.testing.assert_array_equal(of_arrays, of_frames)
    whole = holes.notna().all(axis=1)
    expected = BayesNetClassifier().fit(X[whole], y[whole]).predict_proba(X)
    says = f"{(~whole).sum()} of 150 rows were dropped for missing entries"
    for features in (holes, holes.to_numpy()):
        caplog.clear()
        model = BayesNetClassifier(missing="drop").fit(features, y)
        assert says in caplog.text
        np.testing.assert_array_equal(model.predict_proba(X.to_numpy() if features is not holes else X), expected)
    caplog.clear()
    inferred = BayesNetClassifier().fit(holes, y)
    assert "they are inferred" in caplog.text
    assert inferred.network_.n_rows == 150
    assert inferred.score(X, y) >= (expected.argmax(axis=1) == y).mean()
    assert log_loss(y, inferred.predict_proba(X)) < log_loss(y, expected)


@pytest.mark.parametrize("options", [{"structure": "target"}, {"structure": "naive", "average": 2}])
def test_missing_entries_with_every_structure(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)).round(1)
    y = (X[:, 0] > 0).astype(int)
    X[rng.random(X.shape) < 0.2] = np.nan
    assert BayesNetClassifier(**in_objects(options)).fit(X, y).score(X, y) > 0.7


@pytest.mark.parametrize("structure", ["naive", "learn"])
def test_an_average_of_networks_classifies(structure: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)).round(1)
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    made = BayesNetClassifier(structure=structure, average=4, random_state=1).fit(X, y)
    assert len(made.average_.networks) == 4
    expected = made.average_.predict_proba({"x0": X[:5, 0], "x1": X[:5, 1]}, "class").to_numpy()
    np.testing.assert_allclose(made.predict_proba(X[:5]), expected)
    again = BayesNetClassifier(structure=structure, average=4, random_state=1).fit(X, y)
    assert again.average_ == made.average_
    if structure == "naive":
        assert all(net.parents["x0"] == ("class",) for net in made.average_.networks)
    with pytest.raises(ValueError, match="average is for method='evidence'"):
        BayesNetClassifier(average=4, method="mdl").fit(X, y)


def test_the_discretizer_leaves_missing_entries_out() -> None:
    X, y = load_iris(return_X_y=True)
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    ordinal = BayesianDiscretizer(encode="ordinal").fit(holes, y)
    for i, binning in enumerate(ordinal.binnings_):
        has = ~np.isnan(holes[:, i])
        expected = jaxbn.discretize_variable(holes[has, i], parents=(y[has],))
        np.testing.assert_array_equal(binning.cuts, expected.cuts)
    codes = ordinal.transform(holes)
    np.testing.assert_array_equal(np.isnan(codes), np.isnan(holes))
    dense = BayesianDiscretizer(encode="onehot-dense").fit(holes, y)
    np.testing.assert_array_equal(dense.transform(holes).sum(axis=1), (~np.isnan(holes)).sum(axis=1))
    middles = ordinal.inverse_transform(codes)
    np.testing.assert_array_equal(dense.inverse_transform(dense.transform(holes)), middles)
    np.testing.assert_array_equal(np.isnan(middles), np.isnan(holes))
    holes[:, 1] = np.nan
    with pytest.raises(ValueError, match=r"feature\(s\) \[1\] have no value"):
        BayesianDiscretizer().fit(holes, y)


@pytest.mark.parametrize("how", ["mean", "regression", "most_probable", "draw"])
def test_the_imputer_is_that_of_the_network(how: Any) -> None:
    X, _ = load_iris(return_X_y=True, as_frame=True)
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
    imputer = BayesNetImputer(strategy=how, restarts=1).fit(holes)
    found = imputer.transform(holes)
    expected = imputer.network_.impute(holes, how)
    pd.testing.assert_frame_equal(found, expected)
    of_array = BayesNetImputer(strategy=how, restarts=1).fit_transform(holes.to_numpy())
    np.testing.assert_allclose(of_array, found.to_numpy())
    assert imputer.get_feature_names_out().tolist() == list(X)
    again = clone(imputer).fit(holes)
    assert again.network_ == imputer.network_


def test_the_imputer_with_words_new_levels_and_empty_rows() -> None:
    rng = np.random.default_rng(0)
    word = rng.choice(["u", "v"], 200)
    X = pd.DataFrame({"word": word, "x": rng.normal(size=200) + 9 * (word == "u")}, index=range(5, 205))
    X = X.mask(rng.random(X.shape) < 0.2)
    imputer = BayesNetImputer(restarts=1).fit(X)
    new = pd.DataFrame({"word": [None, "w", "v", None], "x": [9.0, np.nan, np.nan, np.nan]}, index=[7, 7, 1, 2])
    found = imputer.transform(new)
    assert found.index.tolist() == [7, 7, 1, 2]
    assert found["word"].tolist()[:3] == ["u", "w", "v"]
    assert found["x"].iloc[2] < 4
    assert found.notna().all(axis=None)
    with pytest.raises(ValueError, match="strategy must be one of"):
        BayesNetImputer(strategy="median").fit(X)


def test_the_imputer_in_a_pipeline() -> None:
    X, y = load_iris(return_X_y=True)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    pipeline = make_pipeline(BayesNetImputer(restarts=1), LogisticRegression(max_iter=1000))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.85


def test_planted_rows_are_odd() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    X = pd.DataFrame({"x": x, "y": x + 0.1 * rng.normal(size=300), "kind": np.where(x > 0, "up", "down")})
    X.loc[0] = 1.5, 1.5, "down"
    X.loc[1] = 1.5, -1.5, "up"
    for by in ("density", "entries"):
        detector = BayesNetOutlierDetector(by=by, restarts=1).fit(X)
        assert (detector.predict(X) == 1).mean() > 0.9
        some = BayesNetOutlierDetector(by=by, contamination=0.1, restarts=1).fit(X)
        assert some.predict(X)[:2].tolist() == [-1, -1]
        assert (some.predict(X) == -1).sum() == 30
    holed = X.mask(rng.random(X.shape) < 0.1)
    assert np.isfinite(detector.score_samples(holed)).all()
    for wrong in ({"contamination": 0.9}, {"by": "chance"}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
            BayesNetOutlierDetector(**wrong).fit(X)


def test_partial_fit_adds_rows_to_the_tables() -> None:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 400)
    X, y = kind[:, None] + 0.4 * rng.normal(size=(400, 2)), np.array(["c", "a", "b"])[kind]
    first, rest = y != "b", y == "b"
    model = BayesNetClassifier(structure="naive", average=2).partial_fit(X[first], y[first], ["a", "b", "c"])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_proba(X)[:, 1].max() < 0.1
    codings = model.network_.codings
    model.partial_fit(X[rest], y[rest])
    assert model.network_.n_rows == 400
    assert model.network_.codings.keys() == codings.keys()
    assert model.score(X, y) > 0.6
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    with pytest.raises(ValueError, match="the class 'd' is not among the classes"):
        model.partial_fit(X[:1], ["d"])
    with pytest.raises(ValueError, match="needs classes"):
        BayesNetClassifier().partial_fit(X, y)


def test_partial_fit_in_parts_is_an_update_of_the_network() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 300)
    X = y[:, None] + rng.normal(size=(300, 2))
    model = BayesNetClassifier(structure="naive").fit(X[:100], y[:100])
    expected = model.network_.update({"x0": X[100:, 0], "x1": X[100:, 1], "class": y[100:]}, tell=False)
    for part in (slice(100, 150), slice(150, 300)):
        model.partial_fit(X[part], y[part])
    assert model.network_ == expected


def test_the_learner_has_the_graph_of_its_network() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    frame = pd.DataFrame({"x": x, "constant": 1.0, "y": x + 0.3 * rng.normal(size=300), "z": rng.normal(size=300)})
    learner = BayesNetLearner(restarts=1).fit(frame)
    assert learner.adjacency_.sum() == 1
    assert learner.adjacency_[0, 2] + learner.adjacency_[2, 0] == 1
    assert list(learner.graph_.edges) == list(learner.network_.arcs)
    assert learner.score(frame) == pytest.approx(learner.network_.log_likelihood(frame).mean())
    assert len(learner.sample(3)) == 3
