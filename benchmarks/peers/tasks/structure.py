"""Task 3: structure of columns that are discrete already, drawn from random sparse networks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.peers.jobs import Job, Row, Setting
from benchmarks.peers.scoring import Codes, arcs_as_parents, k2_score

NAME = "structure"
COLUMNS, ROWS = (10, 50), (1_000, 10_000, 100_000)
MAX_PARENTS = 3
RESTARTS = 5
TIMEOUT = 90.0

Network = tuple[dict[str, Codes], dict[str, tuple[str, ...]]]


def draw(n_columns: int, n_rows: int, seed: int = 0) -> Network:
    """Rows and the true parents, the columns named and shuffled so that no name tells the order.

    Every variable has 2 to 4 levels and up to 3 parents among the 10 before it; its tables are uneven enough (Dirichlet
    of weight 1/2) for most arcs to show at 1,000 rows.
    """
    rng = np.random.default_rng([seed, n_columns])
    names = [f"v{i:02d}" for i in rng.permutation(n_columns)]
    cards = {name: int(rng.integers(2, 5)) for name in names}
    parents = {}
    for i, name in enumerate(names):
        near = names[max(0, i - 10) : i]
        count = min(len(near), int(rng.choice(4, p=[0.15, 0.4, 0.3, 0.15])))
        parents[name] = tuple(str(p) for p in rng.choice(near, count, replace=False)) if count else ()
    tables = {name: rng.dirichlet(np.full(cards[name], 0.5), [cards[p] for p in parents[name]]) for name in names}
    columns: dict[str, Codes] = {}
    for name in names:
        chances = tables[name][tuple(columns[p] for p in parents[name])]
        drawn = rng.random(n_rows)[:, None] > np.broadcast_to(chances, (n_rows, cards[name])).cumsum(1)[:, :-1]
        columns[name] = drawn.sum(1).astype(np.int64)
    return {name: columns[name] for name in sorted(columns)}, {name: parents[name] for name in names}


def jobs(setting: Setting) -> Iterator[Job]:
    """For each size: searches that are told the true order, and searches that are not."""
    for n_columns in COLUMNS[:1] if setting.quick else COLUMNS:
        for n_rows in ROWS[:2] if setting.quick else ROWS:
            columns, parents = draw(n_columns, n_rows)
            path = setting.folder / f"discrete_{n_columns}_{n_rows}.csv"
            pd.DataFrame(columns).to_csv(path, index=False)
            score = _scorer(columns, parents)
            request = {"task": "structure", "data": str(path), "max_parents": MAX_PARENTS}
            for peer, label, options in _searches(list(parents)):
                order = "given" if options.get("order") else "unknown"
                about = {"columns": n_columns, "rows": n_rows, "order": order}
                yield Job(NAME, peer, label, about, request | options, score, TIMEOUT)


def _searches(order: list[str]) -> tuple[tuple[str, str, dict[str, Any]], ...]:
    return (
        ("jaxbn", "jaxbn K2, true order", {"order": order}),
        ("pyagrum", "pyAgrum K2, true order", {"order": order, "search": "K2"}),
        ("jaxbn", f"jaxbn K2, {RESTARTS} random orders", {"order": None, "restarts": RESTARTS}),
        ("pyagrum", "pyAgrum hill climbing", {"search": "hill climbing"}),
        ("pgmpy", "pgmpy hill climbing", {}),
        ("pybnesian", "PyBNesian hill climbing", {}),
    )


def _scorer(columns: dict[str, Codes], truth: dict[str, tuple[str, ...]]) -> Any:
    true_score = k2_score(columns, truth)
    true_arcs = {(parent, child) for child, of_child in truth.items() for parent in of_child}

    def score(answer: dict[str, Any]) -> Row:
        parents = arcs_as_parents(answer["arcs"], list(columns))
        arcs = {tuple(arc) for arc in answer["arcs"]}
        linked = arcs | {(head, tail) for tail, head in arcs}
        return {
            "score": k2_score(columns, parents),
            "true_score": true_score,
            "own_score": answer.get("score"),
            "arcs": len(arcs),
            "true_arcs": len(true_arcs),
            "found_arcs": len(arcs & true_arcs),
            "found_links": len(true_arcs & linked),
            "most_parents": max(map(len, parents.values())),
            "parents": parents,
        }

    return score


def checks(rows: list[Row]) -> list[Row]:
    """The limit on parents is kept, jaxbn's own score is the common one, and K2 is K2 whoever runs it."""
    found = []
    for row in (row for row in rows if "score" in row):
        where = f"{row['label']}, {row['columns']} columns, {row['rows']:,} rows"
        found.append((f"{where}: at most {MAX_PARENTS} parents", row["most_parents"] <= MAX_PARENTS))
        if row["own_score"] is not None:
            found.append((f"{where}: score as defined", np.isclose(row["own_score"], row["score"], rtol=1e-9)))
        if row["label"] == "pyAgrum K2, true order":
            ours = [r for r in rows if r["label"] == "jaxbn K2, true order" and "score" in r and _case(r) == _case(row)]
            found += [(f"{where}: the score of jaxbn's K2", np.isclose(r["score"], row["score"])) for r in ours]
    return [{"what": what, "holds": bool(holds)} for what, holds in found]


def _case(row: Row) -> tuple[int, int]:
    return row["columns"], row["rows"]
