"""Estimators for scikit-learn that learn one network of all columns: the network itself, odd rows, missing entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, DensityMixin, OneToOneFeatureMixin, OutlierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from jaxbn.cuts.methods import Method
from jaxbn.inputs.checks import CheckError, one_of
from jaxbn.inputs.later import nx, pd
from jaxbn.inputs.table import Missing, Table, as_frame, as_table
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.imputing.impute import STRATEGIES, Strategy, impute, read_rows
from jaxbn.model.imputing.regression import Experts, fit_regressions
from jaxbn.model.rows.scores import misplacement
from jaxbn.runtime.deprecated import old_keywords

SCORES = ("density", "entries")
TIES = 1e-6  # weight of the density beside entries, of whose states many rows have the same
DRAWS = 2000  # of the network, whose improbable rows say where odd ones begin
EXPECTED = 0.01  # share of these that count as odd

REMEDIES = {"continuous": "X.astype({name: float})"}
"""What users of estimators do instead of passing an argument that only jaxbn's functions have."""


def frame_of(estimator: Any, X: Any, y: Any = None, *, reset: bool) -> tuple[pd.DataFrame, Any]:
    """The features as a DataFrame of their own, and y in one dimension.

    They are checked against those of ``fit``, or noted there (`reset`). NaN is a missing entry.
    """
    if isinstance(X, pd.DataFrame):
        validate_data(estimator, X, skip_check_array=True, reset=reset)
        if y is not None:
            y = column_or_1d(y, warn=True)
            if len(y) != len(X):
                raise ValueError(f"X has {len(X)} rows and y {len(y)}; every row needs its class")
        return as_frame(X), y
    given = () if y is None else (y,)
    found = validate_data(estimator, X, *given, reset=reset, ensure_all_finite="allow-nan")
    array, y = (found, None) if y is None else found
    return as_frame(array, names=[f"x{i}" for i in range(array.shape[1])]), y


def table_of(frame: pd.DataFrame, missing: Missing) -> Table:
    """The checked table; remedies are those that a scikit-learn estimator has."""
    try:
        return as_table(frame, missing=missing)
    except CheckError as error:
        said = error.spelled(lambda mention: REMEDIES.get(mention.argument, str(mention)))
        raise (TypeError if isinstance(error, TypeError) else ValueError)(said) from None


class NetworkEstimator(BaseEstimator):
    """An estimator with a network of all columns; missing entries (NaN) are allowed."""

    max_parents: int
    random_state: int
    network_: BayesNet

    def _learn(self, X: Any, **options: Any) -> pd.DataFrame:
        """Learn the network from the rows, which are returned as a DataFrame."""
        import jaxbn

        frame, _ = frame_of(self, X, reset=True)
        options |= {"max_parents": self.max_parents, "seed": self.random_state}
        self.network_ = jaxbn.learn(table_of(frame, "infer"), progress=False, **options)
        return frame

    def _new(self, X: Any) -> pd.DataFrame:
        """Rows to ask the network about."""
        check_is_fitted(self)
        return frame_of(self, X, reset=False)[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class BayesNetLearner(DensityMixin, NetworkEstimator):
    """Learn structure, cuts and tables of all columns.

    Columns of a DataFrame are continuous or discrete as everywhere in jaxbn. Missing entries (NaN) are integrated out.

    Args:
        max_parents: most parents of a variable.
        restarts: runs of ``jaxbn.learn``; None takes its default.
        random_state: seed, a whole number.

    Attributes:
        network_: the fitted BayesNet.
        graph_: its structure as a ``networkx.DiGraph`` of the features.
        adjacency_: the same as a matrix [features, features], 1 where an arc runs from the row's feature to the
            column's. Features that nothing can be learned from, as constants, have no arcs.

    Example:
        >>> from jaxbn.sklearn import BayesNetLearner
        >>> X = [[i / 99, i / 99 + 0.01 * (i % 3)] for i in range(100)]
        >>> learner = BayesNetLearner().fit(X)
        >>> int(learner.adjacency_.sum()), sorted(learner.graph_.nodes)
        (1, ['x0', 'x1'])
    """

    max_parents: int = 3
    restarts: int | None = None
    random_state: int = 0

    def fit(self, X: Any, y: Any = None) -> BayesNetLearner:
        """Learn the network. X: DataFrame or numbers [rows, features]; y is not looked at."""
        names = list(self._learn(X, restarts=self.restarts).columns)
        self.graph_: nx.DiGraph = self.network_.graph
        self.adjacency_ = np.zeros((len(names), len(names)), np.int64)
        for parent, child in self.network_.arcs:
            self.adjacency_[names.index(parent), names.index(child)] = 1
        return self

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Log density of each row in the units of the columns, [rows]."""
        frame = self._new(X)
        return self.network_.log_likelihood(frame, unknown="missing")

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log density of the rows, for cross-validation."""
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples: int = 1) -> pd.DataFrame:
        """Rows drawn from the network."""
        check_is_fitted(self)
        return self.network_.sample(n_samples, self.random_state)


@dataclass(kw_only=True, eq=False, repr=False)
class BayesNetOutlierDetector(OutlierMixin, NetworkEstimator):
    """Find odd rows by the network that is learned from all of them.

    Columns of a DataFrame are continuous or discrete as everywhere in jaxbn. Missing entries (NaN) and levels not seen
    in ``fit`` are integrated out. ``network_.score_samples(rows).reasons()`` says what is odd about rows.

    Args:
        contamination: share of the rows of ``fit`` that are odd, above 0 and up to 0.5; ``"auto"``: rows less probable
            than 99 % of those that the network itself would draw are.
        by: ``"density"``: rows of low density are odd. ``"entries"``: rows are odd that would be more probable if one
            of their entries came from another row, as where a value was mistaken; numbers that are extreme, but go
            well with the rest of their row, are not.
        max_parents: most parents of a variable.
        method: ``"evidence"``, ``"bayesian"`` or ``"mdl"``, or one with its options, ``jaxbn.Bayesian(rate=2)``.
        restarts: runs of ``jaxbn.learn``; None takes its default.
        random_state: seed of learning and of the draws, a whole number.

    Attributes:
        network_: the fitted BayesNet.
        offset_: the score below which a row is odd.

    Example:
        >>> from jaxbn.sklearn import BayesNetOutlierDetector
        >>> X = [[i / 99, i / 99 + 0.01 * (i % 3)] for i in range(100)]
        >>> detector = BayesNetOutlierDetector(contamination=0.01).fit(X)
        >>> detector.predict([[0.5, 0.5], [0.1, 0.9]]).tolist()
        [1, -1]
    """

    contamination: float | str = "auto"
    by: str = "density"
    max_parents: int = 3
    method: str | Method = "evidence"
    restarts: int | None = None
    random_state: int = 0

    def fit(self, X: Any, y: Any = None) -> BayesNetOutlierDetector:
        """Learn the network. X: DataFrame or numbers [rows, features]; y is not looked at."""
        share = self.contamination
        if share != "auto" and not (isinstance(share, int | float | np.number) and 0 < share <= 0.5):
            raise ValueError(f"contamination must be 'auto' or a number above 0 and up to 0.5, got {share!r}")
        one_of("by", self.by, SCORES)
        # benchmarks/outliers.py was measured without lines
        frame = self._learn(X, method=self.method, restarts=self.restarts, lines=False)
        scores = self._scores(self.network_.sample(DRAWS, self.random_state) if share == "auto" else frame)
        self.offset_ = float(np.quantile(scores, EXPECTED if share == "auto" else float(share)))
        return self

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Log density of each row, or with ``by="entries"`` minus a log ratio, [rows]; the lower, the odder."""
        return self._scores(self._new(X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score of each row less ``offset_``, [rows]; negative for odd rows."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """-1 for odd rows and 1 for others, [rows]."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def _scores(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        density = self.network_.log_likelihood(frame, unknown="missing")
        return density if self.by == "density" else TIES * density - misplacement(self.network_, frame, "missing")


@dataclass(kw_only=True, eq=False, repr=False)
class BayesNetImputer(OneToOneFeatureMixin, TransformerMixin, NetworkEstimator):
    """Fill in missing entries by the network that is learned from what each row has.

    Columns of a DataFrame are continuous or discrete as everywhere in jaxbn, and so are those of an array: numbers of
    up to 20 distinct whole values are levels. A DataFrame gives a DataFrame, whose columns keep their types, an array
    an array. Levels not seen in ``fit`` stay as they are. Rows without any value are filled in too.

    Args:
        strategy: ``"regression"``: the network's posterior beside lines and the rows most alike, fitted in ``fit``.
            ``"mean"``: the posterior's mean, or its most probable level. ``"most_probable"`` and ``"draw"`` as in
            ``BayesNet.impute``.
        max_parents: most parents of a variable.
        method: ``"evidence"``, ``"bayesian"`` or ``"mdl"``, or one with its options, ``jaxbn.Bayesian(rate=2)``.
        restarts: runs of ``jaxbn.learn``; None takes its default.
        random_state: seed of the completions of ``fit`` and of the draws of ``"draw"``, a whole number.

    Attributes:
        network_: the fitted BayesNet.

    Example:
        >>> from jaxbn.sklearn import BayesNetImputer
        >>> X = [[0.1, 5.5], [0.2, 5.0], [0.9, 1.5], [1.1, 1.0]] * 10 + [[1.1, float("nan")]]
        >>> BayesNetImputer().fit_transform(X)[-1].round(1).tolist()
        [1.1, 1.0]
    """

    strategy: Strategy = "regression"
    max_parents: int = 3
    method: str | Method = "evidence"
    restarts: int | None = None
    random_state: int = 0

    def fit(self, X: Any, y: Any = None) -> BayesNetImputer:
        """Learn the network. X: DataFrame or numbers [rows, features]; y is not looked at."""
        one_of("strategy", self.strategy, STRATEGIES)
        frame = self._learn(X, method=self.method, restarts=self.restarts)
        self._experts: Experts | None = None
        if self.strategy == "regression":
            rows = read_rows(self.network_, frame.dropna(how="all", ignore_index=True), "missing")
            self._experts = fit_regressions(self.network_, *rows)
        return self

    def transform(self, X: Any) -> Any:
        """X with its missing entries filled in, [rows, features]."""
        frame = self._new(X)
        filled: pd.DataFrame = impute(self.network_, frame, self.strategy, self.random_state, "missing", self._experts)
        if isinstance(X, pd.DataFrame):
            return filled.set_axis(X.index).set_axis(X.columns, axis=1)
        return filled.to_numpy(np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


BayesNetImputer.__init__ = old_keywords({"how": "strategy"}, {})(BayesNetImputer.__init__)  # type: ignore[method-assign]
