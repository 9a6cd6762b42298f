"""A network of all columns in the shape of scikit-learn: its graph as attributes, log densities as scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from jaxbn.estimators.frames import frame_of, table_of

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from jaxbn.model.bayesnet import BayesNet


class BayesNetLearner(DensityMixin, BaseEstimator):
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

    def __init__(self, *, max_parents: int = 3, restarts: int | None = None, random_state: int = 0) -> None:
        self.max_parents = max_parents
        self.restarts = restarts
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> BayesNetLearner:
        """Learn the network. X: DataFrame or numbers [rows, features]; y is not looked at."""
        import jaxbn

        frame, _ = frame_of(self, X, reset=True)
        options: dict[str, Any] = {"max_parents": self.max_parents, "restarts": self.restarts}
        table = table_of(frame, "infer")
        self.network_: BayesNet = jaxbn.learn(table, progress=False, seed=self.random_state, **options)
        self.graph_: nx.DiGraph = self.network_.graph
        names = list(frame.columns)
        self.adjacency_ = np.zeros((len(names), len(names)), np.int64)
        for parent, child in self.network_.arcs:
            self.adjacency_[names.index(parent), names.index(child)] = 1
        return self

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Log density of each row in the units of the columns, [rows]."""
        check_is_fitted(self)
        frame, _ = frame_of(self, X, reset=False)
        return self.network_.log_likelihood(frame, unknown="missing")

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log density of the rows, for cross-validation."""
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples: int = 1) -> pd.DataFrame:
        """Rows drawn from the network."""
        check_is_fitted(self)
        return self.network_.sample(n_samples, self.random_state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
