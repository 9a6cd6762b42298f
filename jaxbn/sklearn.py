"""Estimators for scikit-learn, which the ``sklearn`` extra brings: a supervised discretizer and a classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, column_or_1d, validate_data

from jaxbn.inputs.checks import CheckError, Mention
from jaxbn.inputs.table import Table, as_table
from jaxbn.model.fit import fit

if TYPE_CHECKING:
    import pandas as pd

    from jaxbn.model.average import AverageNet
    from jaxbn.model.bayesnet import BayesNet

Method = Literal["bayesian", "mdl", "evidence"]
REMEDIES = {"continuous": "X.astype({name: float})"}
"""What the classifier's users do instead of passing an argument that only jaxbn's functions have."""

STRUCTURES = ("naive", "tan", "target", "learn")
CHAINS = 2  # that an average is drawn by
ENCODINGS = ("onehot", "onehot-dense", "ordinal")


class BayesianDiscretizer(TransformerMixin, BaseEstimator):
    """Cut each feature into intervals given the class, where ``KBinsDiscretizer`` would cut without looking at it.

    Args:
        encode: ``"onehot"`` (sparse), ``"onehot-dense"`` or ``"ordinal"``, as in ``KBinsDiscretizer``.
        rate: with ``"bayesian"``, prior rate L of the cuts; ``"classes"`` takes the number of classes. A larger one
            favours more cuts.
        method: ``"evidence"``, ``"bayesian"`` or ``"mdl"``.
        dtype: dtype of the output, float32 or float64; None keeps that of the input.

    Attributes:
        bin_edges_: edges of each feature, outer ones included, object array [n_features] of float64 [n_bins + 1].
        n_bins_: number of intervals of each feature, [n_features].
        policies_: the Policy of each feature.
        classes_: the classes seen in ``fit``.

    Example:
        >>> from jaxbn.sklearn import BayesianDiscretizer
        >>> X = [[0.1, 5.0], [0.2, 3.0], [0.9, 4.0], [1.1, 2.0]] * 10
        >>> y = [0, 0, 1, 1] * 10
        >>> discretizer = BayesianDiscretizer(encode="ordinal", method="bayesian").fit(X, y)
        >>> discretizer.bin_edges_[0].round(2).tolist()
        [0.1, 0.55, 1.1]
    """

    def __init__(
        self, *, encode: str = "onehot", rate: float | str = "classes", method: Method = "evidence", dtype: Any = None
    ) -> None:
        self.encode = encode
        self.rate = rate
        self.method = method
        self.dtype = dtype

    def fit(self, X: Any, y: ArrayLike) -> BayesianDiscretizer:
        """Find the cuts of each feature. X: numbers [rows, features]; y: classes [rows]."""
        import jaxbn

        if self.encode not in ENCODINGS:
            raise ValueError(f"encode must be one of {ENCODINGS}, got {self.encode!r}")
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, codes = np.unique(column_or_1d(y), return_inverse=True)
        rate: Any = float(len(self.classes_)) if self.rate == "classes" else self.rate
        if self.method != "bayesian":
            rate = None
        columns = np.asarray(X, np.float64).T
        self.policies_ = [
            jaxbn.discretize_variable(column, parents=(codes,), rate=rate, method=self.method) for column in columns
        ]
        self.n_bins_ = np.array([policy.n_bins for policy in self.policies_])
        self.bin_edges_ = np.empty(len(columns), object)
        for i, (column, policy) in enumerate(zip(columns, self.policies_, strict=True)):
            self.bin_edges_[i] = np.array([column.min(), *policy.edges, column.max()])
        if self.encode != "ordinal":
            self._encoder = OneHotEncoder(
                categories=[np.arange(n) for n in self.n_bins_],
                sparse_output=self.encode == "onehot",
                dtype=self._dtype(X),
            ).fit(np.zeros((1, len(columns))))
        return self

    def transform(self, X: Any) -> Any:
        """Bins of new values, as ``encode`` says: [rows, features] or [rows, bins of all features]."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        codes = np.empty(X.shape, self._dtype(X))
        for i, policy in enumerate(self.policies_):
            codes[:, i] = policy(X[:, i])
        return codes if self.encode == "ordinal" else self._encoder.transform(codes)

    def inverse_transform(self, X: Any) -> NDArray[np.float64]:
        """The middle of each bin, [rows, features]."""
        check_is_fitted(self)
        codes = np.asarray(X if self.encode == "ordinal" else self._encoder.inverse_transform(X)).astype(np.int64)
        middles = [(edges[1:] + edges[:-1]) / 2 for edges in self.bin_edges_]
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
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class BayesNetClassifier(ClassifierMixin, BaseEstimator):
    """Classify with a Bayesian network whose cuts and tables, and if wanted structure, are learned from the data.

    Columns of a DataFrame are continuous or discrete as everywhere in jaxbn: floats are continuous, strings, booleans,
    categories and integers of up to 20 distinct values discrete. Levels not seen in ``fit`` count as missing, and so do
    missing entries (NaN) of what is given to ``predict``; ``fit`` leaves rows that have one out, and says so.

    Args:
        structure: ``"naive"``: the class is the one parent of every feature. ``"tan"``: every feature may have one
            other feature as a second parent. ``"target"``: features are chosen, and given a second parent, by how well
            each row's class is told by the other rows; those that do not help are left out. ``"learn"``: as
            ``jaxbn.learn`` finds it, which describes all columns alike and may spend few arcs on the class.
        max_parents: most parents of a variable with ``structure="learn"``.
        rate: with ``"bayesian"``, prior rate of the cuts, see ``jaxbn.discretize``; by default ``"network"``.
        method: ``"evidence"``, ``"bayesian"`` or ``"mdl"``.
        alpha: Dirichlet weight of each cell of the tables.
        max_passes: most passes over the continuous features.
        average: with ``"evidence"``, average over so many networks drawn from their posterior, for example 20 (see
            ``jaxbn.sample_posterior``): cuts are drawn, and with ``"tan"`` and ``"learn"`` arcs too. None: one network.
        random_state: seed of these draws, a whole number.

    Attributes:
        network_: the fitted BayesNet; the class is its variable ``class_name_``, and its levels are the classes.
        class_name_: ``"class"``, with underscores appended where a feature has that name.
        average_: the ``jaxbn.AverageNet`` that predicts, or None.
        classes_: the classes, [n_classes].

    Example:
        >>> from jaxbn.sklearn import BayesNetClassifier
        >>> X = [[0.1, 5.0], [0.2, 3.0], [0.9, 4.0], [1.1, 2.0]] * 10
        >>> y = ["no", "no", "yes", "yes"] * 10
        >>> BayesNetClassifier().fit(X, y).predict([[0.0, 4.0], [1.0, 4.0]]).tolist()
        ['no', 'yes']
    """

    def __init__(
        self,
        *,
        structure: str = "naive",
        max_parents: int = 2,
        rate: float | str | None = None,
        method: Method = "evidence",
        alpha: float = 1.0,
        max_passes: int = 10,
        average: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.structure = structure
        self.max_parents = max_parents
        self.rate = rate
        self.method = method
        self.alpha = alpha
        self.max_passes = max_passes
        self.average = average
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> BayesNetClassifier:
        """Learn the network. X: DataFrame or numbers [rows, features]; y: classes [rows]."""
        import pandas as pd

        if self.structure not in STRUCTURES:
            raise ValueError(f"structure must be one of {STRUCTURES}, got {self.structure!r}")
        if self.average is not None and self.method != "evidence":
            raise ValueError(f"average is for method='evidence', got method={self.method!r}; leave one of them out")
        frame, y = self._frame(X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.class_name_ = "class"
        while self.class_name_ in frame.columns:
            self.class_name_ += "_"
        frame[self.class_name_] = pd.Categorical.from_codes(codes, categories=pd.Index(_labels(self.classes_)))
        table = _table(frame)
        self.network_ = self._network(table)
        self.average_ = None if self.average is None else self._average(table, self.average)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """P(class | features), [rows, n_classes], columns in the order of ``classes_``."""
        check_is_fitted(self)
        frame, _ = self._frame(X)
        model = self.network_ if self.average_ is None else self.average_
        return model.predict_proba(frame, self.class_name_, unknown="missing").to_numpy()

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row, [rows]."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _network(self, table: Table) -> BayesNet:
        from jaxbn.groups.grouping import columns_to_group

        options: dict[str, Any] = {"rate": self.rate, "method": self.method, "max_passes": self.max_passes}
        options["group"] = [name for name in columns_to_group(table, None) if name != self.class_name_]
        graph, codings = self._found(table, options)
        return fit(table, graph, codings, alpha=self.alpha)

    def _found(self, table: Table, options: dict[str, Any]) -> tuple[Any, Any]:
        """Structure and codings of the table."""
        import jaxbn
        from jaxbn.learning.for_target import network_for_target

        naive = {name: [self.class_name_] for name in table.names if name != self.class_name_}
        if self.structure == "naive":
            return naive, jaxbn.discretize(table, naive, **options).codings
        if self.structure == "target":
            graph, cut = network_for_target(table, self.class_name_, alpha=self.alpha, **options)
            return graph, cut.codings
        net = jaxbn.learn(table, progress=False, **self._limits(table), **options)
        return net.parents, net.codings

    def _limits(self, table: Table) -> dict[str, Any]:
        """What a structure that is searched for must keep to."""
        if self.structure == "learn":
            return {"max_parents": self.max_parents}
        features = [name for name in table.names if name != self.class_name_]
        return {"max_parents": 2, "required": [(self.class_name_, name) for name in features]}

    def _average(self, table: Table, draws: int) -> AverageNet:
        """The average of networks drawn from their posterior, which begin at the one that was found."""
        import jaxbn

        fixed = self.network_.parents if self.structure in ("naive", "target") else None
        options: dict[str, Any] = {} if fixed is not None else self._limits(table)
        options |= {"start": self.network_, "group": list(self.network_.groupings), "seed": self.random_state}
        options |= {"draws": draws, "chains": min(draws, CHAINS), "progress": False}
        found = jaxbn.sample_posterior(table, fixed, **options)
        drawn: Any = ((draw.parents, {**draw.policies, **found.groupings}) for draw in found.draws)
        return jaxbn.AverageNet(tuple(fit(table, graph, codings, alpha=self.alpha) for graph, codings in drawn))

    def _frame(self, X: Any, y: Any = None) -> tuple[pd.DataFrame, Any]:
        """The features as a DataFrame of their own, checked against those of ``fit``, and y in one dimension."""
        import pandas as pd

        from jaxbn.inputs.table import as_frame

        reset = y is not None
        if isinstance(X, pd.DataFrame):
            validate_data(self, X, skip_check_array=True, reset=reset)
            if reset:
                y = column_or_1d(y, warn=True)
                if len(y) != len(X):
                    raise ValueError(f"X has {len(X)} rows and y {len(y)}; every row needs its class")
            return as_frame(X), y
        finite = {"ensure_all_finite": "allow-nan"}  # as in a DataFrame, NaN is a missing entry
        checked = (
            validate_data(self, X, y, reset=True, **finite) if reset else validate_data(self, X, reset=False, **finite)
        )
        array, y = checked if reset else (checked, None)
        return as_frame(array, names=[f"x{i}" for i in range(array.shape[1])]), y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _labels(classes: NDArray[Any]) -> list[Any]:
    """The classes as levels of a variable: as they are, or in words where they are neither numbers nor words."""
    labels = classes.tolist()
    return labels if all(isinstance(label, bool | int | float | str) for label in labels) else list(map(str, labels))


def _table(frame: pd.DataFrame) -> Table:
    """The checked table; remedies are those that a scikit-learn estimator has."""

    def spell(mention: Mention) -> str:
        return REMEDIES.get(mention.argument, str(mention))

    try:
        return as_table(frame, missing="drop")  # which says how many rows that are
    except CheckError as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(error.spelled(spell)) from None
