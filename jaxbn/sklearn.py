"""Estimators for scikit-learn, which the ``sklearn`` extra brings.

A discretizer, a classifier, an imputer, a detector of odd rows, and the network of all columns itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from jaxbn.cuts.methods import Method, as_method
from jaxbn.estimators.discretizer import BayesianDiscretizer
from jaxbn.estimators.networks import (
    BayesNetImputer,
    BayesNetLearner,
    BayesNetOutlierDetector,
    NetworkEstimator,
    frame_of,
    table_of,
)
from jaxbn.inputs.checks import one_of
from jaxbn.inputs.later import pd
from jaxbn.inputs.table import Missing, Table
from jaxbn.learning.columns import Columns
from jaxbn.model.average import AverageNet
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.fit import fit
from jaxbn.structure.constraints import Constraints

__all__ = [
    "BayesNetClassifier",
    "BayesNetImputer",
    "BayesNetLearner",
    "BayesNetOutlierDetector",
    "BayesianDiscretizer",
]

STRUCTURES = ("naive", "tan", "target", "learn")
CHAINS = 2  # whose draws make an average


@dataclass(kw_only=True, eq=False, repr=False)
class BayesNetClassifier(ClassifierMixin, NetworkEstimator):
    """Classify with a Bayesian network whose cuts and tables, and if wanted structure, are learned from the data.

    Columns of a DataFrame are continuous or discrete as everywhere in jaxbn: floats are continuous, strings, booleans,
    categories and integers of up to 20 distinct values discrete. Levels not seen in ``fit`` count as missing, and so do
    missing entries (NaN) of what is given to ``predict``.

    Args:
        structure: ``"target"``: features are chosen, and given a second parent, by how well the other rows predict each
            row's class; those that do not help are left out. ``"naive"``: the class is the one parent of every
            feature. ``"tan"``: every feature may have one other feature as a second parent. ``"learn"``: as
            ``jaxbn.learn`` finds it, which describes all columns alike and may spend few arcs on the class.
        max_parents: most parents of a variable with ``structure="learn"``.
        method: ``"evidence"``, ``"bayesian"`` or ``"mdl"``, or one with its options, ``jaxbn.Bayesian(rate=2)``.
        alpha: Dirichlet weight of each cell of the tables.
        average: with ``"evidence"``, average over this many networks drawn from their posterior, for example 20 (see
            ``jaxbn.sample_posterior``): cuts are drawn, and with ``"tan"`` and ``"learn"`` arcs too. None: one network.
        random_state: seed of these draws, a whole number.
        missing: ``"infer"``, ``"error"``, ``"drop"`` or ``"state"``: what ``fit`` does, see ``jaxbn.as_table``.

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

    structure: str = "target"
    max_parents: int = 2
    method: str | Method = "evidence"
    alpha: float = 1.0
    average: int | None = None
    random_state: int = 0
    missing: Missing = "infer"

    def fit(self, X: Any, y: ArrayLike) -> BayesNetClassifier:
        """Learn the network. X: DataFrame or numbers [rows, features]; y: classes [rows]."""
        return self._fit(X, y, None)

    def _fit(self, X: Any, y: ArrayLike, classes: ArrayLike | None) -> BayesNetClassifier:
        one_of("structure", self.structure, STRUCTURES)
        method = as_method(self.method)
        if self.average is not None and method.name != "evidence":
            raise ValueError(f"average is for method='evidence', got method={method.name!r}; leave one of them out")
        frame, y = frame_of(self, X, y, reset=True)
        check_classification_targets(y)
        self.classes_ = np.unique(y if classes is None else classes)
        self._check_classes(y)
        codes = np.searchsorted(self.classes_, y)
        self.class_name_ = "class"
        while self.class_name_ in frame.columns:
            self.class_name_ += "_"
        frame[self.class_name_] = pd.Categorical.from_codes(codes, categories=pd.Index(_labels(self.classes_)))
        table = table_of(frame, self.missing)
        self.network_ = self._network(table)
        self.average_: AverageNet | None = None if self.average is None else self._average(table, self.average)
        return self

    def partial_fit(self, X: Any, y: ArrayLike, classes: ArrayLike | None = None) -> BayesNetClassifier:
        """Learn the network from the first rows, and add further rows to its tables; structure and cuts then stay.

        Args:
            X: DataFrame or numbers [rows, features].
            y: classes [rows].
            classes: all classes that may come up; the first call needs them.
        """
        if not hasattr(self, "network_"):
            if classes is None:
                raise ValueError("the first call of partial_fit needs classes, all that may come up in y")
            return self._fit(X, y, classes)
        frame, y = frame_of(self, X, y, reset=False)
        self._check_classes(y if classes is None else classes)
        self._check_classes(y)
        frame[self.class_name_] = [_labels(self.classes_)[code] for code in np.searchsorted(self.classes_, y)]
        self.network_ = self.network_.update(frame, tell=False)
        if self.average_ is not None:
            self.average_ = AverageNet(tuple(n.update(frame, tell=False) for n in self.average_.networks))
        return self

    def _check_classes(self, found: ArrayLike) -> None:
        if strange := set(np.unique(found).tolist()) - set(self.classes_.tolist()):
            raise ValueError(f"the class {strange.pop()!r} is not among the classes {self.classes_.tolist()}")

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """P(class | features), [rows, n_classes], columns in the order of ``classes_``."""
        frame = self._new(X)
        found = (self.average_ or self.network_).predict_proba(frame, self.class_name_, unknown="missing")
        # classes that came up after the first rows are the last levels, and those that never did are none
        return found.reindex(columns=_labels(self.classes_), fill_value=0.0).to_numpy()

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row, [rows]."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _network(self, table: Table) -> BayesNet:
        merged = [name for name in Columns().merged(table) if name != self.class_name_]
        graph, codings = self._found(table, {"method": self.method, "columns": Columns(merge_levels=merged)})
        return fit(table, graph, codings, alpha=self.alpha, inside_bins=True)

    def _found(self, table: Table, options: dict[str, Any]) -> tuple[Any, Any]:
        """Structure and codings of the table."""
        import jaxbn
        from jaxbn.learning.for_target import network_for_target
        from jaxbn.learning.holes.first import completed_once

        naive = {name: [self.class_name_] for name in table.names if name != self.class_name_}
        if self.structure == "naive":
            return naive, jaxbn.discretize(table, naive, **options).codings
        if self.structure == "target":
            graph, cut = network_for_target(completed_once(table), self.class_name_, alpha=self.alpha, **options)
            return graph, cut.codings
        net = jaxbn.learn(table, progress=False, **self._limits(table), **options)
        return net.parents, net.codings

    def _limits(self, table: Table) -> dict[str, Any]:
        """Constraints on a structure that is searched for."""
        if self.structure == "learn":
            return {"max_parents": self.max_parents}
        features = [name for name in table.names if name != self.class_name_]
        return {"max_parents": 2, "constraints": Constraints([(self.class_name_, name) for name in features])}

    def _average(self, table: Table, draws: int) -> AverageNet:
        """The average of networks drawn from their posterior by chains that begin at the network found."""
        import jaxbn
        from jaxbn.learning.holes.first import completed_once

        fixed = self.network_.parents if self.structure in ("naive", "target") else None
        columns = Columns(merge_levels=list(self.network_.groupings))
        options: dict[str, Any] = {"start": self.network_, "columns": columns, "progress": False}
        options |= {"method": self.method, "draws": draws, "chains": min(draws, CHAINS), "seed": self.random_state}
        options |= {} if fixed is not None else self._limits(table)
        found = jaxbn.sample_posterior(completed_once(table, net=self.network_), fixed, **options)
        fitted = (fit(table, draw.parents, draw.codings, alpha=self.alpha, inside_bins=True) for draw in found.draws)
        return AverageNet(tuple(fitted))


def _labels(classes: NDArray[Any]) -> list[Any]:
    """The classes as levels of a variable: as they are, or in words where they are neither numbers nor words."""
    labels = classes.tolist()
    return labels if all(isinstance(label, bool | int | float | str) for label in labels) else list(map(str, labels))
