"""What estimators share: X as a DataFrame, checked by scikit-learn's rules, and the network learned from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from jaxbn.inputs.checks import CheckError
from jaxbn.inputs.table import Missing, Table, as_frame, as_table

if TYPE_CHECKING:
    import pandas as pd

    from jaxbn.model.bayesnet import BayesNet

REMEDIES = {"continuous": "X.astype({name: float})"}
"""What users of estimators do instead of passing an argument that only jaxbn's functions have."""


def frame_of(estimator: Any, X: Any, y: Any = None, *, reset: bool) -> tuple[pd.DataFrame, Any]:
    """The features as a DataFrame of their own, and y in one dimension.

    They are checked against those of ``fit``, or noted there (`reset`). NaN is a missing entry.
    """
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        validate_data(estimator, X, skip_check_array=True, reset=reset)
        if y is not None:
            y = column_or_1d(y, warn=True)
            if len(y) != len(X):
                raise ValueError(f"X has {len(X)} rows and y {len(y)}; every row needs its class")
        return as_frame(X), y
    if y is None:
        array = validate_data(estimator, X, reset=reset, ensure_all_finite="allow-nan")
    else:
        array, y = validate_data(estimator, X, y, reset=reset, ensure_all_finite="allow-nan")
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
