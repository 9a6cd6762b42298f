"""A network made to predict one column: arcs by how well it is predicted, cuts by their evidence, in turns."""

from __future__ import annotations

from typing import Any

from jaxbn.inputs.table import Table
from jaxbn.learning.columns import as_columns
from jaxbn.learning.discretize import Discretization, discretize
from jaxbn.scores.coded_table import CodedTable
from jaxbn.structure.for_target import NONE, TargetArcs

MOST_TURNS = 4
"""Turns of arcs and cuts; most tables settle after two."""


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
