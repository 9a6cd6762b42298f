"""The scikit-learn estimators: scikit-learn's own checks, and use in its pipelines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import jaxbn

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from jaxbn.sklearn import BayesianDiscretizer, BayesNetClassifier

pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.skipif(not hasattr(jaxbn, "discretize"), reason="needs jaxbn.discretize"),
]


@parametrize_with_checks([BayesianDiscretizer(), BayesianDiscretizer(encode="ordinal"), BayesNetClassifier()])
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_cuts_are_those_of_discretize_variable() -> None:
    X, y = load_iris(return_X_y=True)
    discretizer = BayesianDiscretizer(encode="ordinal").fit(X, y)
    for i, edges in enumerate(discretizer.bin_edges_):
        policy = jaxbn.discretize_variable(X[:, i], parents=(y,), rate=3.0)
        np.testing.assert_array_equal(edges, [X[:, i].min(), *policy.edges, X[:, i].max()])
        np.testing.assert_array_equal(discretizer.transform(X)[:, i], policy(X[:, i]))
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
    pipeline = make_pipeline(BayesianDiscretizer(), LogisticRegression())
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.9
    search = GridSearchCV(BayesNetClassifier(), {"alpha": [0.5, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    assert (
        cross_val_score(BayesNetClassifier(), X, y, cv=3).mean()
        > cross_val_score(GaussianNB(), X, y, cv=3).mean() - 0.05
    )


def test_mixed_columns_unseen_levels_and_missing_entries() -> None:
    rng = np.random.default_rng(0)
    y = np.where(rng.random(200) < 0.5, "yes", "no")
    X = pd.DataFrame({"x": rng.normal(size=200) + 2 * (y == "yes"), "class": np.where(y == "yes", "u", "v")})
    model = clone(BayesNetClassifier()).fit(X, y)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.class_name_ == "class_"
    assert model.score(X, y) == 1.0
    new = pd.DataFrame({"x": [np.nan, 2.0], "class": ["u", "w"]})
    probabilities = model.predict_proba(new)
    assert probabilities.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert model.predict(new).tolist() == ["yes", "yes"]


@pytest.mark.skipif(not hasattr(jaxbn, "learn"), reason="needs jaxbn.learn")
def test_learned_structure() -> None:
    X, y = load_iris(return_X_y=True)
    model = BayesNetClassifier(structure="learn").fit(X, y)
    assert model.score(X, y) > 0.9
    assert all(model.network_.parents[name] for name in ("x2", "x3"))
