"""A supervised discretizer for scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, column_or_1d, validate_data

from jaxbn.cuts.methods import Bayesian, Evidence, Method, as_method
from jaxbn.inputs.checks import one_of

ENCODINGS = ("onehot", "onehot-dense", "ordinal")


@dataclass(kw_only=True, eq=False, repr=False)
class BayesianDiscretizer(TransformerMixin, BaseEstimator):
    """Cut each feature into intervals given the class, where ``KBinsDiscretizer`` would cut without looking at it.

    Missing entries (NaN) are left out of their feature's cuts, and have no bin: they stay NaN with ``"ordinal"``, and
    are zeros in all of a feature's columns otherwise.

    Args:
        encode: ``"onehot"`` (sparse), ``"onehot-dense"`` or ``"ordinal"``, as in ``KBinsDiscretizer``.
        method: ``"evidence"``, ``"bayesian"`` or ``"mdl"``, or one with its options: ``jaxbn.Bayesian(rate=...)`` has
            the number of classes as its rate if no other is given; a larger one favours more cuts.
        max_bins: with ``"evidence"``, most bins of a column; by default 8, and None for no limit.
        dtype: dtype of the output, float32 or float64; None keeps that of the input.

    Attributes:
        bin_edges_: edges of each feature, outer ones included, object array [n_features] of float64 [n_bins + 1].
        n_bins_: number of intervals of each feature, [n_features].
        binnings_: the Binning of each feature.
        classes_: the classes seen in ``fit``.

    Example:
        >>> from jaxbn.sklearn import BayesianDiscretizer
        >>> X = [[0.1, 5.0], [0.2, 3.0], [0.9, 4.0], [1.1, 2.0]] * 10
        >>> y = [0, 0, 1, 1] * 10
        >>> discretizer = BayesianDiscretizer(encode="ordinal", method="bayesian").fit(X, y)
        >>> discretizer.bin_edges_[0].round(2).tolist()
        [0.1, 0.55, 1.1]
    """

    encode: str = "onehot"
    method: str | Method = "evidence"
    max_bins: int | Literal["auto"] | None = "auto"
    dtype: Any = None

    def fit(self, X: Any, y: ArrayLike) -> BayesianDiscretizer:
        """Find the cuts of each feature. X: numbers [rows, features]; y: classes [rows]."""
        import jaxbn

        one_of("encode", self.encode, ENCODINGS)
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
        check_classification_targets(y)
        self.classes_, codes = np.unique(column_or_1d(y), return_inverse=True)
        method = as_method(self.method, self.max_bins)
        options: dict[str, Any] = {"method": method.name, "missing": "infer"}
        if isinstance(method, Bayesian):
            options["rate"] = float(len(self.classes_) if isinstance(method.rate, str) else method.rate)
        elif isinstance(method, Evidence):
            options |= {"max_bins": method.max_bins, "min_width": method.min_width, "shape": method.shape}
        columns = np.asarray(X, np.float64).T
        empty = np.flatnonzero(np.isnan(columns).all(axis=1))
        if len(empty):
            raise ValueError(f"feature(s) {empty.tolist()} have no value in any row; leave them out")
        self.binnings_ = [jaxbn.discretize_variable(column, parents=(codes,), **options) for column in columns]
        self.n_bins_ = np.array([binning.n_bins for binning in self.binnings_])
        self.bin_edges_ = np.empty(len(columns), object)
        for i, (column, binning) in enumerate(zip(columns, self.binnings_, strict=True)):
            self.bin_edges_[i] = np.array([np.nanmin(column), *binning.cuts, np.nanmax(column)])
        if self.encode != "ordinal":
            self._encoder = OneHotEncoder(
                categories=[np.arange(n) for n in self.n_bins_],
                handle_unknown="ignore",  # the bin of a missing entry, -1, is a row of zeros
                sparse_output=self.encode == "onehot",
                dtype=self._dtype(X),
            ).fit(np.zeros((1, len(columns))))
        return self

    def transform(self, X: Any) -> Any:
        """Bins of new values, as ``encode`` says: [rows, features] or [rows, bins of all features]."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False, ensure_all_finite="allow-nan")
        codes = np.column_stack([binning(column) for binning, column in zip(self.binnings_, X.T, strict=True)])
        codes = codes.astype(self._dtype(X))
        codes[np.isnan(X)] = np.nan if self.encode == "ordinal" else -1
        return codes if self.encode == "ordinal" else self._encoder.transform(codes)

    def inverse_transform(self, X: Any) -> NDArray[np.float64]:
        """The middle of each bin, NaN where there is none, [rows, features]."""
        check_is_fitted(self)
        found = np.asarray(X if self.encode == "ordinal" else self._encoder.inverse_transform(X)).astype(np.float64)
        codes = np.where(np.isnan(found), -1, found).astype(np.int64)
        middles = [np.append((edges[1:] + edges[:-1]) / 2, np.nan) for edges in self.bin_edges_]
        return np.stack([middle[codes[:, i]] for i, middle in enumerate(middles)], axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the output's columns: those of the input, with ``_<bin>`` appended for one-hot encodings."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return names if self.encode == "ordinal" else self._encoder.get_feature_names_out(names)

    def _dtype(self, X: NDArray[Any]) -> Any:
        if self.dtype not in (None, np.float32, np.float64):
            raise ValueError(f"dtype must be None, numpy.float32 or numpy.float64, got {self.dtype!r}")
        return X.dtype if self.dtype is None else self.dtype

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
