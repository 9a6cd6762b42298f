"""A network made to predict one column: arcs by how well it is predicted, cuts by their evidence, in turns.

Arcs are chosen by leave-one-out prediction of the target. A feature is left out, or is a child of the target, or of the
target and one other feature. With the row itself taken out of its counts, the probability of its target has a closed
form in the counts of all rows, so the score, the sum of its logarithms, needs no folds (docs/maths.md, "Arcs for a
target").
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.counts.codes import Column
from jaxbn.inputs.table import Table
from jaxbn.learning.columns import as_columns
from jaxbn.learning.discretize import Discretization, discretize
from jaxbn.scores.coded_table import CodedTable

MOST_TURNS = 4  # turns of arcs and cuts; most tables settle after two
MOST_ROWS = 2_000  # rows whose target is predicted; counts are those of all rows
MOST_PARTNERS = 12  # other features that may become a feature's second parent: those that add most to its own score
MOST_CELLS = 100_000  # cells of a feature's table given the target and one other feature
NONE = -1  # stands for no second parent of a feature


def network_for_target(
    table: Table, target: str, *, alpha: float = 1.0, **options: Any
) -> tuple[dict[str, list[str]], Discretization]:
    """Structure and cuts for predicting a discrete column: parents of the columns that have some, and the cuts.

    Cuts are those of naive Bayes at first; then arcs and cuts take turns as long as the target is predicted better.
    Columns that do not help have neither parents nor children. `alpha` is the Dirichlet weight of each cell; further
    options are those of ``discretize``.
    """
    features = [name for name in table.names if name != target]
    graph = {name: [target] for name in features}
    coded = CodedTable(table, as_columns(options.get("columns")).merged(table), flat=True)
    best, best_score = None, float("-inf")
    for _ in range(MOST_TURNS):
        cut = discretize(table, graph, **options)
        columns = coded.recoded(cut.codings).columns
        arcs = TargetArcs(columns[target], [columns[name] for name in features], alpha).search()
        if best is not None and arcs.score <= best_score:
            break
        graph = {
            features[i]: [target] if other == NONE else [target, features[other]]
            for i, other in sorted(arcs.chosen.items())
        }
        best, best_score = (graph, cut), arcs.score
    assert best is not None
    return best


class _Change(NamedTuple):
    loss: float  # minus the gain when it was last looked at
    feature: int
    other: int  # its second parent, or NONE


class TargetArcs:
    """A greedy search: the change that raises the score most, until none is worth its charge.

    A feature is charged ln 2, and a second parent, chosen among the pairs of p features, 2 ln 2p: among many
    changes some help by chance.
    """

    def __init__(self, target: Column, features: Sequence[Column], alpha: float = 1.0) -> None:
        self.target, self.features, self.alpha = target, features, alpha
        self.chosen: dict[int, int] = {}  # feature: its other parent, or NONE
        n, classes = len(target.codes), target.n_states
        self.rows = np.unique(np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.intp))  # whose target is predicted
        # [rows, classes], 1 at the class of the row, which its counts contain
        self.own = (target.codes[self.rows, None] == np.arange(classes)).astype(np.float64)
        weights = np.bincount(target.codes, minlength=classes) + alpha
        # [rows, classes], ln P(target, chosen features) without the row
        self.logs = np.log(weights - self.own) - np.log(n - 1 + alpha * classes)

    @property
    def score(self) -> float:
        """Σ ln P(target of a row | its features, all other rows), of the rows looked at."""
        return self._told(self.logs)

    def search(self) -> TargetArcs:
        """Choose arcs until no change is worth its charge; returns itself."""
        able = [i for i, feature in enumerate(self.features) if feature.n_states > 1]
        # lazy greedy: gains mostly shrink as arcs are added, so a change is scored again only while its last gain leads
        waiting = [_Change(-math.inf, i, other) for i in able for other in (NONE, *self._partners(i, able))]
        while best := self._best(waiting):
            self.logs = self._with(best.feature, best.other)
            self.chosen[best.feature] = best.other
            # a chosen feature may get a second parent, and keeps it
            waiting = [c for c in waiting if c.feature not in self.chosen or self.chosen[c.feature] == NONE != c.other]
        return self

    def _best(self, waiting: list[_Change]) -> _Change | None:
        """The change that raises the score most beyond its charge; the gains seen replace the old ones."""
        heapq.heapify(waiting)
        now, seen = self.score, [_Change(0.0, -1, -1)]  # none: a change has to be better than nothing
        while waiting and waiting[0] < seen[0]:
            _, i, other = heapq.heappop(waiting)
            if not self._closes_a_cycle(i, other):
                charge = 0.0 if i in self.chosen else math.log(2)
                charge += 0.0 if other == NONE else 2 * math.log(2 * len(self.features))
                heapq.heappush(seen, _Change(-(self._told(self._with(i, other)) - now - charge), i, other))
        waiting.extend(change for change in seen if change.feature >= 0)
        return seen[0] if seen[0].feature >= 0 else None

    def _with(self, i: int, other: int) -> NDArray[np.float64]:
        before = self._given(i, self.chosen[i]) if i in self.chosen else 0.0
        return self.logs + self._given(i, other) - before

    def _given(self, i: int, other: int) -> NDArray[np.float64]:
        """Ln P(feature | target, other feature) of every row looked at and every class, without the row."""
        feature, classes = self.features[i], self.target.n_states
        configuration, groups = self.target.codes.astype(np.int64), classes
        where: NDArray[np.integer] = np.zeros(1, np.intp)
        if other != NONE:  # the target runs fastest
            codes = self.features[other].codes
            configuration += codes * np.int64(classes)
            groups, where = classes * self.features[other].n_states, codes[self.rows]
        cells = np.bincount(configuration * feature.n_states + feature.codes, minlength=groups * feature.n_states)
        table = cells.reshape(-1, classes, feature.n_states)
        above = table[where, :, feature.codes[self.rows]] + self.alpha - self.own
        below = table.sum(axis=2)[where] + self.alpha * feature.n_states - self.own
        return np.log(above) - np.log(below)

    def _told(self, logs: NDArray[np.float64]) -> float:
        return float(np.sum(self._of_class(logs) - np.logaddexp.reduce(logs, axis=1)))

    def _of_class(self, logs: NDArray[np.float64]) -> NDArray[np.float64]:
        return logs[np.arange(len(self.rows)), self.target.codes[self.rows]]

    def _partners(self, i: int, able: Sequence[int]) -> list[int]:
        """The features that best predict this one together with the target, again by leave-one-out."""
        room = MOST_CELLS // (self.features[i].n_states * self.target.n_states)
        fit = [other for other in able if other != i and self.features[other].n_states <= room]
        worth = {other: float(self._of_class(self._given(i, other)).sum()) for other in fit}
        return sorted(fit, key=lambda other: -worth[other])[:MOST_PARTNERS]

    def _closes_a_cycle(self, i: int, other: int) -> bool:
        """Whether `other` descends from i by the arcs chosen: every feature has at most one other parent."""
        while other not in (NONE, i):
            other = self.chosen.get(other, NONE)
        return other == i
