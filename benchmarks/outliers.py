"""Planted odd rows: one value swapped in 1 % of the rows, found by a network and by two detectors of scikit-learn.

Run from the project's root: ``python -m benchmarks.outliers [repetitions]``. In each repetition other rows of the whole
table are made odd: an entry is exchanged for one of the same column in another row. Detectors are fitted to the table
with its odd rows and score all rows; printed is the mean area under the curve. Peers get levels one-hot and numbers
standardized.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import jaxbn
from jaxbn.sklearn import BayesNetOutlierDetector

TABLES = ("banknote", "housing", "auto_mpg", "liver_disorders", "heart")  # the five longest that come with the package
SHARE = 0.01
SEED = 200  # of the first repetition; those before it were looked at while the scores were written


def planted(frame: pd.DataFrame, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """The table with odd rows, and which they are."""
    frame, odd = frame.copy(), np.zeros(len(frame), bool)
    odd[rng.choice(len(frame), max(2, round(SHARE * len(frame))), replace=False)] = True
    for row in np.flatnonzero(odd):
        column = int(rng.integers(frame.shape[1]))
        others = np.flatnonzero(frame.iloc[:, column] != frame.iloc[row, column])
        frame.iloc[row, column] = frame.iloc[int(rng.choice(others)), column]
    return frame, odd


def peers(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """How odd two detectors of scikit-learn find each row."""
    numbers = make_column_selector(dtype_include=np.floating)
    levels = make_column_selector(dtype_exclude=np.floating)
    encode = make_column_transformer(
        (StandardScaler(), numbers), (OneHotEncoder(sparse_output=False, handle_unknown="ignore"), levels)
    )
    X = encode.fit_transform(frame)
    forest = IsolationForest(n_estimators=300, random_state=0).fit(X)
    return {"forest": -forest.score_samples(X), "factor": -LocalOutlierFactor().fit(X).negative_outlier_factor_}


def main() -> None:
    """Print a line for each table."""
    warnings.simplefilter("ignore")
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print("| table | density | entries | IsolationForest | LocalOutlierFactor |\n|---|---|---|---|---|")
    for name in TABLES:
        whole = jaxbn.datasets.load(name).frame
        found: dict[str, list[float]] = {"density": [], "entries": [], "forest": [], "factor": []}
        for repetition in range(SEED, SEED + repetitions):
            frame, odd = planted(whole, np.random.default_rng(repetition))
            detector = BayesNetOutlierDetector().fit(frame)
            scores = {by: -detector.set_params(by=by).score_samples(frame) for by in ("density", "entries")}
            scores |= peers(frame)
            for method, each in scores.items():
                found[method].append(float(roc_auc_score(odd, each)))
        print(f"| {name} | " + " | ".join(f"{np.mean(each):.3f}" for each in found.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
