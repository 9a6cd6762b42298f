"""Odd rows found by a network, for scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from jaxbn.estimators.frames import frame_of, table_of
from jaxbn.model.rows.scores import misplacement

if TYPE_CHECKING:
    import pandas as pd

    from jaxbn.cuts.methods import Method
    from jaxbn.model.bayesnet import BayesNet

SCORES = ("density", "entries")
TIES = 1e-6  # weight of the density beside entries, of whose states many rows have the same
DRAWS = 2000  # of the network, whose improbable rows say where odd ones begin
EXPECTED = 0.01  # share of these that count as odd


class BayesNetOutlierDetector(OutlierMixin, BaseEstimator):
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

    def __init__(
        self,
        *,
        contamination: float | str = "auto",
        by: str = "density",
        max_parents: int = 3,
        method: str | Method = "evidence",
        restarts: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.contamination = contamination
        self.by = by
        self.max_parents = max_parents
        self.method = method
        self.restarts = restarts
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> BayesNetOutlierDetector:
        """Learn the network. X: DataFrame or numbers [rows, features]; y is not looked at."""
        import jaxbn

        share = self.contamination
        if share != "auto" and not (isinstance(share, int | float | np.number) and 0 < share <= 0.5):
            raise ValueError(f"contamination must be 'auto' or a number above 0 and up to 0.5, got {share!r}")
        if self.by not in SCORES:
            raise ValueError(f"by must be one of {SCORES}, got {self.by!r}")
        frame, _ = frame_of(self, X, reset=True)
        options: dict[str, Any] = {"max_parents": self.max_parents, "method": self.method, "restarts": self.restarts}
        options["lines"] = False  # benchmarks/outliers.py was measured without lines
        table = table_of(frame, "infer")
        self.network_: BayesNet = jaxbn.learn(table, progress=False, seed=self.random_state, **options)
        drawn = self.network_.sample(DRAWS, self.random_state) if share == "auto" else frame
        scores = self._scores(drawn)
        self.offset_ = float(np.quantile(scores, EXPECTED if share == "auto" else float(share)))
        return self

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Log density of each row, or with ``by="entries"`` minus a log ratio, [rows]; the lower, the odder."""
        check_is_fitted(self)
        frame, _ = frame_of(self, X, reset=False)
        return self._scores(frame)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score of each row less ``offset_``, [rows]; negative for odd rows."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """-1 for odd rows and 1 for others, [rows]."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def _scores(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        density = self.network_.log_likelihood(frame, unknown="missing")
        if self.by == "density":
            return density
        return TIES * density - misplacement(self.network_, frame, "missing")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
