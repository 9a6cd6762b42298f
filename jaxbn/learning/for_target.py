"""A network made to predict one column: arcs by how well it is predicted, cuts by their evidence, in turns.

Arcs are chosen by leave-one-out prediction of the target. A feature is left out, or is a child of the target, or of the
target and one other feature. With the row itself taken out of its counts, the probability of its target has a closed
form in the counts of all rows, so the score, the sum of its logarithms, needs no folds (docs/maths.md, "Arcs for a
target").
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.counts.codes import Column
from jaxbn.inputs.table import Table
from jaxbn.learning.columns import as_columns
from jaxbn.learning.discretize import Discretization, discretize
from jaxbn.scores.coded_table import CodedTable

MOST_TURNS = 4
"""Turns of arcs and cuts; most tables settle after two."""

MOST_ROWS = 2_000
"""Rows whose target is predicted; counts are those of all rows."""

MOST_PARTNERS = 12
"""Other features that may become a feature's second parent: those that add most to its own score."""

MOST_CELLS = 100_000
"""Cells of a feature's table given the target and one other feature."""

NONE = -1
"""Stands for no second parent of a feature."""


def network_for_target(
    table: Table, target: str, *, alpha: float = 1.0, **options: Any
) -> tuple[dict[str, list[str]], Discretization]:
    """Structure and cuts for predicting a discrete column from the others.

    Cuts are those of naive Bayes at first; then arcs and cuts take turns as long as the target is predicted better.

    Args:
        table: the checked table.
        target: a discrete column.
        alpha: Dirichlet weight of each cell of the tables.
        options: of ``discretize``.

    Returns:
        Parents of the columns that have some, and the cuts. Columns that do not help have neither parents nor children.

    Example:
        >>> from jaxbn.inputs.table import as_table
        >>> rows = {"kind": list("aabb") * 10, "size": [1.0, 1.5, 3.0, 3.5] * 10, "noise": [0.5, 0.1] * 20}
        >>> network_for_target(as_table(rows), "kind")[0]
        {'size': ['kind']}
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


@dataclass
class TargetArcs:
    """A greedy search: the change that raises the score most, until none is worth its charge.

    A feature is charged ln 2, and a second parent, chosen among the pairs of p features, 2 ln 2p: among many
    changes some help by chance.

    Example:
        >>> target = Column(b"t", np.array([0, 1] * 20), 2)
        >>> same, noise = Column(b"s", target.codes, 2), Column(b"n", np.arange(40) // 3 % 2, 2)
        >>> TargetArcs(target, [noise, same]).search().chosen == {1: NONE}
        True
    """

    target: Column
    features: Sequence[Column]
    alpha: float = 1.0
    rows: NDArray[np.intp] = field(init=False)  # whose target is predicted
    logs: NDArray[np.float64] = field(init=False)  # [rows, classes], ln P(target, chosen features) without the row
    chosen: dict[int, int] = field(init=False, default_factory=dict)  # feature: its other parent, or NONE

    def __post_init__(self) -> None:
        n = len(self.target.codes)
        self.rows = np.unique(np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.intp))
        weights = np.bincount(self.target.codes, minlength=self.target.n_states) + self.alpha
        self.logs = np.log(weights - self._own()) - np.log(n - 1 + self.alpha * self.target.n_states)

    @property
    def score(self) -> float:
        """Σ ln P(target of a row | its features, all other rows), of the rows looked at."""
        return self._told(self.logs)

    def search(self) -> TargetArcs:
        """Choose arcs until no change is worth its charge; returns itself."""
        partners = [self._partners(i) for i in range(len(self.features))]
        # lazy greedy: gains mostly shrink as arcs are added, so a change is scored again only while its last gain leads
        waiting = [_Change(-math.inf, i, other) for i, other in self._changes(partners)]
        while best := self._best(waiting):
            self.logs = self._with(best.feature, best.other)
            self.chosen[best.feature] = best.other
            waiting = [change for change in waiting if self._open(change)]
        return self

    def _best(self, waiting: list[_Change]) -> _Change | None:
        """The change that raises the score most beyond its charge; the gains seen replace the old ones."""
        heapq.heapify(waiting)
        now, seen = self.score, [_Change(0.0, -1, -1)]  # none: a change has to be better than nothing
        while waiting and waiting[0] < seen[0]:
            _, i, other = heapq.heappop(waiting)
            if not self._closes_a_cycle(i, other):
                gain = self._told(self._with(i, other)) - now - self._charge(i, other)
                heapq.heappush(seen, _Change(-gain, i, other))
        waiting.extend(change for change in seen if change.feature >= 0)
        return seen[0] if seen[0].feature >= 0 else None

    def _charge(self, i: int, other: int) -> float:
        charge = 0.0 if i in self.chosen else math.log(2)
        return charge if other == NONE else charge + 2 * math.log(2 * len(self.features))

    def _changes(self, partners: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
        for i, feature in enumerate(self.features):
            if feature.n_states > 1:
                yield i, NONE
                yield from ((i, other) for other in partners[i])

    def _open(self, change: _Change) -> bool:
        """Whether a change is still possible: a chosen feature may get a second parent, and keeps it."""
        return self.chosen.get(change.feature, NONE) == NONE and not (
            change.feature in self.chosen and change.other == NONE
        )

    def _with(self, i: int, other: int) -> NDArray[np.float64]:
        before = self._given(i, self.chosen[i]) if i in self.chosen else 0.0
        return self.logs + self._given(i, other) - before

    def _given(self, i: int, other: int) -> NDArray[np.float64]:
        """Ln P(feature | target, other feature) of every row looked at and every class, without the row."""
        feature, classes = self.features[i], self.target.n_states
        configuration = self.target.codes if other == NONE else self._pair(other)
        groups = classes * (1 if other == NONE else self.features[other].n_states)
        cells = np.bincount(configuration * feature.n_states + feature.codes, minlength=groups * feature.n_states)
        table = cells.reshape(-1, classes, feature.n_states)
        where = 0 if other == NONE else self.features[other].codes[self.rows]
        own = self._own()
        above = table[where, :, feature.codes[self.rows]] + self.alpha - own
        below = table.sum(axis=2)[where] + self.alpha * feature.n_states - own
        return np.log(above) - np.log(below)

    def _pair(self, other: int) -> NDArray[np.int64]:
        """Configurations of another feature and the target, the target running fastest."""
        return self.features[other].codes.astype(np.int64) * self.target.n_states + self.target.codes

    def _own(self) -> NDArray[np.float64]:
        """1 at the class of each row looked at, which its counts contain [rows, classes]."""
        return (self.target.codes[self.rows, None] == np.arange(self.target.n_states)).astype(np.float64)

    def _told(self, logs: NDArray[np.float64]) -> float:
        own = np.take_along_axis(logs, self.target.codes[self.rows, None].astype(np.intp), axis=1)[:, 0]
        return float(np.sum(own - np.logaddexp.reduce(logs, axis=1)))

    def _partners(self, i: int) -> list[int]:
        """The features that best predict this one together with the target, again by leave-one-out."""
        feature = self.features[i]
        if feature.n_states < 2:
            return []
        able = [
            other
            for other, column in enumerate(self.features)
            if other != i
            and column.n_states > 1
            and column.n_states * feature.n_states * self.target.n_states <= MOST_CELLS
        ]
        own = self.target.codes[self.rows, None].astype(np.intp)
        worth = {other: float(np.take_along_axis(self._given(i, other), own, axis=1).sum()) for other in able}
        return sorted(able, key=lambda other: -worth[other])[:MOST_PARTNERS]

    def _closes_a_cycle(self, i: int, other: int) -> bool:
        """Whether `other` descends from i by the arcs chosen: every feature has at most one other parent."""
        while other not in (NONE, i):
            other = self.chosen.get(other, NONE)
        return other == i
