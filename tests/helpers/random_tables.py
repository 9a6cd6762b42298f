"""Random small tables with a random structure behind them, and the paper's tables under its letters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import jaxbn

GOLDEN = Path(__file__).parents[1] / "golden"


class Drawn(NamedTuple):
    """A table, which of its columns are continuous, and the structure it was drawn from."""

    frame: pd.DataFrame
    continuous: list[str]
    parents: dict[str, tuple[str, ...]]
    order: list[str]  # a topological order

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """As the NumPy reference takes it."""
        return {name: self.frame[name].to_numpy() for name in self.frame}


def random_table(seed: int, *, n_rows: int | None = None, n_columns: int | None = None) -> Drawn:
    """3 to 7 columns in a hidden order, 0 to 2 parents each; some with repeated values, now and then a constant."""
    rng = np.random.default_rng(seed)
    n = n_rows or int(rng.integers(30, 140))
    names = [f"v{i}" for i in range(n_columns or int(rng.integers(3, 8)))]
    order = [names[i] for i in rng.permutation(len(names))]
    columns: dict[str, np.ndarray] = {}
    continuous, parents = [], {}
    for i, name in enumerate(order):
        parents[name] = tuple(rng.permutation(order[:i])[: rng.integers(0, 3)].tolist())
        pull = sum((_standard(columns[p]) for p in parents[name]), np.zeros(n))
        value = pull * rng.choice([1.0, -2.0]) + rng.normal(size=n)
        kind = rng.choice(["continuous", "rounded", "discrete", "constant"], p=[0.35, 0.25, 0.33, 0.07])
        if kind == "discrete":
            k = int(rng.integers(2, 5))
            columns[name] = np.digitize(value, np.quantile(value, np.arange(1, k) / k))
        else:
            continuous.append(name)
            columns[name] = np.full(n, 2.5) if kind == "constant" else value * 3
            if kind == "rounded":
                columns[name] = np.round(columns[name], 1) + 0.37 * np.floor(columns[name])
    frame = pd.DataFrame({name: columns[name] for name in names})
    return Drawn(frame, [c for c in names if c in continuous], {c: parents[c] for c in names}, order)


def _standard(column: np.ndarray) -> np.ndarray:
    return (column - column.mean()) / (column.std() or 1.0)


def golden(name: str) -> dict[str, Any]:
    """A golden file."""
    return json.loads((GOLDEN / f"{name}.json").read_text())


def lettered(case: dict[str, Any]) -> tuple[pd.DataFrame, list[str]]:
    """A golden case's data set under the paper's letters, and its continuous columns."""
    data = jaxbn.datasets.load(case["dataset"])
    frame = data.frame.set_axis(list(case["columns"]), axis=1)
    assert list(case["columns"].values()) == list(range(frame.shape[1]))
    letter = {name: letter for letter, name in data.letters.items()}
    continuous = [letter[name] for name in data.continuous]
    assert continuous == [name for name in frame if name not in case["discrete"]]
    return frame, continuous


def assert_edges(binnings: dict[str, jaxbn.Binning], expected: dict[str, Any]) -> None:
    """The edges of every expected variable, to rounding of the midpoint."""
    for name, edges in expected.items():
        np.testing.assert_allclose(binnings[name].cuts, edges, rtol=1e-12, atol=0, err_msg=name)
