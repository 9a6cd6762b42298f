"""The paper's experiments, each a table with the published figure beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import jaxbn
from jaxbn import datasets
from jaxbn.cuts.binning import marginal_binning
from jaxbn.cuts.methods import as_method
from jaxbn.evaluation.folds import fold_numbers, settle_together
from jaxbn.inputs.table import Table
from jaxbn.learning.discretize import split_codings
from jaxbn.paper import published

METHODS = ("bayesian", "mdl")
SAME_EDGE = 0.51  # two edges this close are the same where the paper prints whole numbers


def columns_of(data: datasets.Dataset, structure: str) -> pd.DataFrame:
    """The columns that a structure is about (the Heart network leaves out the class)."""
    return data.frame[list(data.structures[structure])]


def fixed_cuts(study: published.Fixed) -> pd.DataFrame:
    """Cuts of a given structure, or the numbers of bins: ours, the published ones, and whether they are the same."""
    data = datasets.load(study.dataset)
    rows = []
    for method, expected in zip(METHODS, (study.bayesian, study.mdl), strict=True):
        if expected is None:
            continue
        found = jaxbn.discretize(columns_of(data, study.structure), data.structures[study.structure], method=method)
        for letter, theirs in expected.items():
            binning = found.binnings[data.letters[letter]]
            shown: dict[str, object] = {"jaxbn": binning.n_bins, "published": theirs, "same": binning.n_bins == theirs}
            if not isinstance(theirs, int):
                same = _same(binning.cuts, np.array(theirs))
                shown = {"jaxbn": _listed(binning.cuts), "published": _listed(theirs), "same": same}
            rows.append({"variable": letter, "name": data.letters[letter], "method": method, **shown})
    return pd.DataFrame(rows)


def log_likelihoods(cases: Iterable[tuple[str, str]], seed: int = 0) -> pd.DataFrame:
    """Ten-fold mean log-likelihoods, both methods, on the same folds; Iris without its class term, as published."""
    rows = []
    for name, structure in cases:
        data = datasets.load(name)
        frame, given = columns_of(data, structure), ("class",) if name == "iris" else ()
        for method, value in zip(METHODS, published.LOG_LIKELIHOOD[name, structure], strict=True):
            found = jaxbn.cross_validate(frame, data.structures[structure], method=method, seed=seed, given=given)
            ours = {"jaxbn": found.mean, "standard error": found.standard_error}
            theirs = {"published": value, "difference": found.mean - value}
            rows.append({"data": name, "structure": structure, "method": method, **ours, **theirs})
    return pd.DataFrame(rows)


def iris_accuracy(seed: int = 0) -> pd.DataFrame:
    """Ten-fold accuracy of the naive Bayes classifier of Iris, appendix B.2."""
    data = datasets.load("iris")
    structure = data.structures["paper"]
    fold = fold_numbers(10, seed, jaxbn.as_table(data.frame), data.frame)
    rows = []
    for method in METHODS:
        right = 0
        for number in range(10):
            train, test = data.frame[fold != number], data.frame[fold == number]
            net = jaxbn.fit(train, structure, jaxbn.discretize(train, structure, method=method).binnings)
            right += int((net.predict(test.drop(columns="class"), "class") == test["class"]).sum())
        rows.append({"method": method, "jaxbn": right / len(data.frame), "published": published.IRIS_ACCURACY})
    return pd.DataFrame(rows)


def synthetic(trials: int = 100, sizes: Sequence[int] = published.SYNTHETIC_SIZES) -> pd.DataFrame:
    """Edges found and test log-likelihood of X given its parents against the number of training rows.

    Each trial draws 800 rows; the first ones train, the others test.
    """
    parents = {"P1": (), "P2": (), "X": ("P1", "P2")}
    tables = [jaxbn.as_table(datasets.table6(800, seed=seed)) for seed in range(trials)]
    rows = []
    for method in METHODS:
        for size in sizes:
            training = [table.take(np.arange(size)) for table in tables]
            found = settle_together(training, parents, as_method(method))
            scores, edges = [], []
            for table, train, settled in zip(tables, training, found, strict=True):
                binning = split_codings(settled.binnings, ["X"])[0]["X"]
                scores.append(_given_parents(train, table.take(np.arange(size, 800)), binning, table.values["X"]))
                edges.append(len(binning.cuts))
            i = published.SYNTHETIC_SIZES.index(size)
            rows.append(
                {
                    "method": method,
                    "training rows": size,
                    "log-likelihood": np.mean(scores),
                    "published log-likelihood": published.SYNTHETIC_LOG_LIKELIHOOD[method][i],
                    "edges": np.mean(edges),
                    "published edges": published.SYNTHETIC_EDGES[method][i],
                }
            )
    return pd.DataFrame(rows)


def _given_parents(train: Table, test: Table, binning: jaxbn.Binning, whole: NDArray[np.float64]) -> float:
    """Mean ln p(x | parents) of the test rows; the density ends at the range of the whole data set."""
    net = jaxbn.fit(train, {"X": ["P1", "P2"]}, {"X": binning}, bounds={"X": (float(whole.min()), float(whole.max()))})
    code = binning(test.values["X"])
    probability = net.tables["X"][test.codes["P1"], test.codes["P2"], code]
    return float(np.log(probability / np.diff(net.bin_edges("X"))[code]).mean())


def appendix_a(draws: int = 20) -> pd.DataFrame:
    """A marginal method against the structure-aware ones: 500 rows of A -> B, mean over several draws of them."""
    frames = [datasets.appendix_a(500, seed=seed) for seed in range(draws)]
    graph = {"B": ["A"]}
    rows: list[dict[str, object]] = []
    for method in (*METHODS, "bayesian_blocks"):
        aware = method in METHODS
        try:
            scores = [jaxbn.cross_validate(frame, graph, method=method, given="A").mean for frame in frames]
            cuts = [
                jaxbn.discretize(frame, graph, method=method).binnings["B"].cuts
                if aware
                else marginal_binning(frame["B"].to_numpy(), "bayesian_blocks", 0).cuts
                for frame in frames
            ]
        except ValueError as error:  # astropy is not installed
            rows.append({"method": method, "cuts": str(error)})
            continue
        rows.append(
            {
                "method": method,
                "cuts": np.mean([len(edges) for edges in cuts]),
                "farthest from 1": max((abs(edge - 1) for edges in cuts for edge in edges), default=np.nan),
                "jaxbn": np.mean(scores),
                "published": published.APPENDIX_A["structure-aware" if aware else "bayesian_blocks"],
            }
        )
    return pd.DataFrame(rows)


def learned(name: str, restarts: int = 50) -> tuple[jaxbn.BayesNet, pd.DataFrame]:
    """The network learned as in the paper (restarts compared by K2 score), with the published bins at its nodes."""
    data = datasets.load(name)
    net = jaxbn.learn(
        data.frame,
        method=jaxbn.Bayesian(select="k2", max_passes=5),
        search="k2",
        restarts=restarts,
        max_parents=2 if name == "auto_mpg" else 3,
        progress=False,
    )
    theirs = data.structures["paper_learned"]
    letters = {column: letter for letter, column in data.letters.items()}
    rows = [
        {
            "variable": letters[column],
            "name": column,
            "parents": "".join(sorted(letters[p] for p in net.parents[column])) or "-",
            "published parents": "".join(sorted(letters[p] for p in theirs[column])) or "-",
            "bins": net.cardinalities[column],
            "published bins": published.LEARNED_BINS[name][letters[column]],
        }
        for column in data.frame.columns
    ]
    return net, pd.DataFrame(rows)


def _listed(edges: Iterable[float]) -> str:
    return " ".join(f"{edge:g}" for edge in edges) or "-"


def _same(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> bool:
    within = np.where(theirs > 1000, SAME_EDGE, 1e-9)
    return ours.shape == theirs.shape and bool((np.abs(ours - theirs) <= within).all())
