"""Task 1: the cuts of one continuous column given a class of four states, 1,000 to 1,000,000 rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from benchmarks.peers.jobs import Job, Row, Setting
from benchmarks.peers.scoring import Codes, Floats, column_scores, paper_objective, same_cuts
from jaxbn import datasets

NAME = "cuts"
DATA = ("table6", "gauss", "indep")
ROWS = (1_000, 10_000, 100_000, 1_000_000)
HELD_OUT_ROWS, HELD_OUT_SEED = 20_000, 1
RATE = 4.0
MOST_EDGES = 100  # that are kept in the results
MOST_ROWS = {
    "bnlearn discretize": 1_000,
    "astropy Bayesian Blocks": 10_000,
    "ruptures KernelCPD": 100_000,
    "jaxbn evidence": 100_000,
}
"""Beyond these a program takes minutes to hours; the others are asked at every size."""

PEERS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("bnlearn", "bnlearn discretize", {}),
    ("khiops", "Khiops MODL", {}),
    ("orange", "Orange EntropyMDL", {}),
    ("optbinning", "optbinning multiclass", {}),
    ("sklearn", "scikit-learn quantile, 10 bins", {"strategy": "quantile", "bins": 10}),
    ("sklearn", "scikit-learn uniform, 10 bins", {"strategy": "uniform", "bins": 10}),
    ("astropy", "astropy Bayesian Blocks", {}),
    ("ruptures", "ruptures KernelCPD", {}),
)
TIMEOUT = {"jaxbn bayesian": 300.0, "jaxbn evidence": 120.0}
"""Of the first and the warm call together; 60 s for everyone else."""


def rows_of(name: str, n: int, seed: int = 0) -> tuple[Floats, Codes]:
    """The column and the class, the pair (P1, P2) as a number from 0 to 3."""
    frame = getattr(datasets, name)(n, seed)
    return frame.X.to_numpy(), 2 * (frame.P1.to_numpy() - 1) + frame.P2.to_numpy() - 1


@cache
def held_out(name: str) -> tuple[Floats, Codes]:
    """Rows that no one has seen."""
    return rows_of(name, HELD_OUT_ROWS, HELD_OUT_SEED)


def jobs(setting: Setting) -> Iterator[Job]:
    """For each data set and size, jaxbn and every peer within its limit."""
    for n in ROWS[:2] if setting.quick else ROWS:
        for name in DATA[1:2] if setting.quick else DATA:
            training = rows_of(name, n)
            path = setting.folder / f"{name}_{n}.npz"
            np.savez(path, values=training[0], codes=training[1])

            def score(answer: dict[str, Any], name: str = name, training: tuple[Floats, Codes] = training) -> Row:
                edges = answer["edges"]
                row: Row = {"bins": len(edges) + 1, **column_scores(training, held_out(name), edges)}
                row["objective"] = paper_objective(*training, edges, RATE)
                row |= {"edges": edges} if len(edges) <= MOST_EDGES else {}
                return row | ({"cost": answer["cost"]} if "cost" in answer else {})

            about = {"data": name, "rows": n}
            ours = tuple(("jaxbn", f"jaxbn {m}", {"method": m, "rate": RATE, "warm": 1}) for m in setting.methods)
            for peer, label, options in (*ours, *PEERS):
                if n <= MOST_ROWS.get(label, n):
                    request = {"task": "cuts", "data": str(path), **options}
                    yield Job(NAME, peer, label, about, request, score, TIMEOUT.get(label, 60.0))


def truth(name: str) -> dict[str, float]:
    """The scores of the distribution itself on the held-out rows: no cuts can do better but by chance."""
    values, codes = held_out(name)
    if name == "table6":
        low, high = np.array([2.0, 1.0, 4.0, 4.5]), np.array([6.0, 3.0, 5.0, 7.5])
        density = ((values[:, None] >= low) & (values[:, None] <= high)) / (high - low)
    else:
        means = np.array([3.0, 4.0, 5.0, 6.0]) if name == "gauss" else np.zeros(4)
        density = np.exp(-((values[:, None] - means) ** 2) / 2) / np.sqrt(2 * np.pi)
    chosen = density[np.arange(len(values)), codes]
    return {
        "class_score": float(np.log(chosen / density.sum(1)).mean()),
        "column_score": float(np.log(chosen).mean()),
    }


def checks(rows: list[Row]) -> list[Row]:
    """The optimum is one: nobody's cuts cost less, the cost is what the definition says, bnlearn finds the same."""
    found = []
    for ours in (row for row in rows if row["label"] == "jaxbn bayesian" and "objective" in row):
        case = [row for row in rows if "objective" in row and all(row[k] == ours[k] for k in ("data", "rows"))]
        where = f"{ours['data']}, {ours['rows']:,} rows"
        slack = 1e-9 * abs(ours["objective"])
        found.append((f"{where}: no cuts cost less", ours["objective"] <= min(r["objective"] for r in case) + slack))
        found.append((f"{where}: cost as defined", abs(ours["cost"] - ours["objective"]) <= slack))
        for theirs in (row for row in case if row["peer"] == "bnlearn"):
            found.append((f"{where}: bnlearn finds the same cuts", same_cuts(ours["edges"], theirs["edges"], 1e-12)))
            ahead = theirs["seconds"] / ours["seconds"]
            found.append((f"{where}: at least 500 times as fast as bnlearn ({ahead:,.0f})", ahead >= 500))
    return [{"what": what, "holds": bool(holds)} for what, holds in found]
