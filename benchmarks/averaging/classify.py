"""Log loss and accuracy of classifiers: one network, the average of draws, and naive Bayes on equal-frequency bins."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold

import jaxbn
from jaxbn.sklearn import BayesNetClassifier

SETS = ("iris", "wine", "heart", "glass", "banknote", "breast_cancer")
FOLDS, DRAWS = 5, 20
BINS = (5, 10)


def loaded(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Features and classes."""
    if name == "breast_cancer":
        data = load_breast_cancer(as_frame=True)
        return data.data, data.target.to_numpy()
    found = jaxbn.datasets.load(name)
    return found.frame.drop(columns=found.target), found.frame[found.target].to_numpy()


def classify(sets: Sequence[str], use: Iterable[int], structures: Sequence[str]) -> None:
    """A line for each data set and classifier: mean over folds of log loss and accuracy."""
    print(
        "| data | classifier | folds | log loss | accuracy | seconds of a fold |", "|---|---|---|---|---|---|", sep="\n"
    )
    for name in sets or SETS:
        X, y = loaded(name)
        folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y))
        found: dict[str, list[tuple[float, float, float]]] = {}
        for fold in use:
            train, test = folds[fold]
            began = time.perf_counter()
            for label, chances, classes in answers(X.iloc[train], y[train], X.iloc[test], structures):
                seconds, began = time.perf_counter() - began, time.perf_counter()
                told = classes[chances.argmax(axis=1)]
                scores = log_loss(y[test], chances, labels=classes), accuracy_score(y[test], told), seconds
                found.setdefault(label, []).append(scores)
        for label, each in found.items():
            loss, accuracy, seconds = np.mean(each, axis=0)
            print(f"| {name} | {label} | {len(each)} | {loss:.4f} | {accuracy:.3f} | {seconds:.1f} |", flush=True)


def answers(
    X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame, structures: Sequence[str]
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """The name of each classifier, its probabilities for new rows, and the classes."""
    for n_bins in BINS:
        classes, chances = naive_bayes(X, y, new, n_bins)
        yield f"naive Bayes, {n_bins} bins of equal frequency", chances, classes
    for structure in structures:
        for average in (None, DRAWS):
            model = BayesNetClassifier(structure=structure, average=average).fit(X, y)
            label = f"{structure}, one network" if average is None else f"{structure}, average of {average}"
            yield label, model.predict_proba(new), model.classes_


def naive_bayes(X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame, n_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Naive Bayes with a Dirichlet weight of 1 in every cell; continuous features in bins of equal frequency."""
    classes, codes = np.unique(y, return_inverse=True)
    logs = np.log(np.bincount(codes) + 1.0) + np.zeros((len(new), 1))
    for name in X.columns:
        if X[name].dtype == float:
            edges = np.unique(np.quantile(X[name], np.linspace(0, 1, n_bins + 1)[1:-1]))
            old, now, states = (
                np.searchsorted(edges, X[name], "right"),
                np.searchsorted(edges, new[name], "right"),
                len(edges) + 1,
            )
        else:
            levels = np.unique(np.concatenate([X[name], new[name]]))
            old, now, states = np.searchsorted(levels, X[name]), np.searchsorted(levels, new[name]), len(levels)
        table = np.ones((len(classes), states))
        np.add.at(table, (codes, old), 1.0)
        logs += np.log(table / table.sum(axis=1, keepdims=True)).T[now]
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    return classes, chances / chances.sum(axis=1, keepdims=True)
