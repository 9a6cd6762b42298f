"""Classifiers by structure: log loss and accuracy of five folds on six tables.

Run from the project's root: ``python -m benchmarks.classify [structures]``. Prints a table for ``NOTES.md``.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

import jaxbn
from jaxbn.sklearn import STRUCTURES, BayesNetClassifier

TABLES = {"iris": "class", "wine": "class", "heart": "class", "glass": "type", "seeds": "class", "banknote": "class"}


def scores(X: pd.DataFrame, y: np.ndarray, structure: str, folds: int = 5) -> tuple[float, float, float]:
    """Log loss, accuracy and seconds."""
    began, chances = time.perf_counter(), np.zeros((len(y), len(np.unique(y))))
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y):
        model = BayesNetClassifier(structure=structure).fit(X.iloc[train], y[train])
        chances[test] = model.predict_proba(X.iloc[test])
    classes = np.unique(y)
    accuracy = float((classes[chances.argmax(axis=1)] == y).mean())
    return float(log_loss(y, chances, labels=classes)), accuracy, time.perf_counter() - began


def main() -> None:
    """Score every structure on every table."""
    warnings.simplefilter("ignore")
    structures = sys.argv[1:] or [each for each in STRUCTURES if each != "learn"]
    print("| table | " + " | ".join(structures) + " |\n|---|" + "---|" * len(structures))
    for name, target in TABLES.items():
        frame = jaxbn.datasets.load(name).frame
        X, y = frame.drop(columns=target), frame[target].to_numpy()
        found = [scores(X, y, structure) for structure in structures]
        cells = [f"{loss:.3f} ({accuracy:.3f}), {seconds:.0f} s" for loss, accuracy, seconds in found]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
