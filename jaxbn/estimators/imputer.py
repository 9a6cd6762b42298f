"""Missing entries filled in by a network, for scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from jaxbn.estimators.frames import frame_of, table_of
from jaxbn.inputs.checks import one_of
from jaxbn.model.imputing.impute import STRATEGIES, Strategy, impute, read_rows
from jaxbn.model.imputing.regression import Regressions, fit_regressions
from jaxbn.runtime.deprecated import old_keywords
from jaxbn.runtime.memory import MAX_MEMORY

if TYPE_CHECKING:
    import pandas as pd

    from jaxbn.cuts.methods import Method
    from jaxbn.model.bayesnet import BayesNet


class BayesNetImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
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

    @old_keywords({"how": "strategy"}, {})
    def __init__(
        self,
        *,
        strategy: Strategy = "regression",
        max_parents: int = 3,
        method: str | Method = "evidence",
        restarts: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.strategy = strategy
        self.max_parents = max_parents
        self.method = method
        self.restarts = restarts
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> BayesNetImputer:
        """Learn the network. X: DataFrame or numbers [rows, features]; y is not looked at."""
        import jaxbn

        one_of("strategy", self.strategy, STRATEGIES)
        frame, _ = frame_of(self, X, reset=True)
        table = table_of(frame, "infer")
        options: dict[str, Any] = {"max_parents": self.max_parents, "method": self.method, "restarts": self.restarts}
        self.network_: BayesNet = jaxbn.learn(table, progress=False, seed=self.random_state, **options)
        self._lines: Regressions | None = None
        if self.strategy == "regression":
            rows = read_rows(self.network_, frame.dropna(how="all", ignore_index=True), "missing")
            self._lines = fit_regressions(self.network_, rows.codes, rows.values)
        return self

    def transform(self, X: Any) -> Any:
        """X with its missing entries filled in, [rows, features]."""
        import pandas as pd

        check_is_fitted(self)
        frame, _ = frame_of(self, X, reset=False)
        filled: pd.DataFrame = impute(
            self.network_, frame, self.strategy, self.random_state, "missing", MAX_MEMORY, self._lines
        )
        if isinstance(X, pd.DataFrame):
            return filled.set_axis(X.index).set_axis(X.columns, axis=1)
        return filled.to_numpy(np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
