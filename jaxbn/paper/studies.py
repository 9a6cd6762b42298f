"""The paper's experiments, each a table with the published figure beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from jaxbn import datasets
from jaxbn.cuts.baselines import marginal_binning
from jaxbn.cuts.binning import Binning
from jaxbn.cuts.methods import Bayesian, as_method
from jaxbn.evaluation.cross_validate import cross_validate
from jaxbn.evaluation.folds import fold_numbers, settle_together
from jaxbn.inputs.table import Table, as_table
from jaxbn.learning.discretize import discretize, split_codings
from jaxbn.learning.learn import learn
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.fit import fit
from jaxbn.paper import published

if TYPE_CHECKING:
    import pandas as pd

METHODS = ("bayesian", "mdl")
SAME_EDGE = 0.51
"""Two edges this close are the same where the paper prints whole numbers."""


def columns_of(data: datasets.Dataset, structure: str) -> pd.DataFrame:
    """The columns that a structure is about (the Heart network leaves out the class)."""
    return data.frame[list(data.structures[structure])]


def fixed_cuts(study: published.Fixed) -> pd.DataFrame:
    """Cuts of a given structure: ours, the published ones, and whether they are the same."""
    import pandas as pd

    data = datasets.load(study.dataset)
    rows = []
    for method, expected in zip(METHODS, (study.bayesian, study.mdl), strict=True):
        if expected is None:
            continue
        found = discretize(columns_of(data, study.structure), data.structures[study.structure], method=method)
        for letter, edges in expected.items():
            ours = found.binnings[data.letters[letter]].cuts
            rows.append(
                {
                    "variable": letter,
                    "name": data.letters[letter],
                    "method": method,
                    "jaxbn": _listed(ours),
                    "published": _listed(edges),
                    "same": _same(ours, edges),
                }
            )
    return pd.DataFrame(rows)


def housing_bins() -> pd.DataFrame:
    """Numbers of intervals of the Housing variables, Table 5."""
    import pandas as pd

    data = datasets.load("housing")
    rows = []
    for method, expected in published.HOUSING_BINS.items():
        found = discretize(data.frame, data.structures["paper"], method=method)
        for letter, n_bins in expected.items():
            ours = found.binnings[data.letters[letter]].n_bins
            row = {"variable": letter, "name": data.letters[letter], "method": method}
            rows.append({**row, "jaxbn": ours, "published": n_bins, "same": ours == n_bins})
    return pd.DataFrame(rows)


def log_likelihoods(cases: Iterable[tuple[str, str]], seed: int = 0) -> pd.DataFrame:
    """Ten-fold mean log-likelihoods, both methods, on the same folds; Iris without its class term, as published."""
    import pandas as pd

    rows = []
    for name, structure in cases:
        data = datasets.load(name)
        frame, given = columns_of(data, structure), ("class",) if name == "iris" else ()
        for method, value in zip(METHODS, published.LOG_LIKELIHOOD[name, structure], strict=True):
            found = cross_validate(frame, data.structures[structure], method=method, seed=seed, given=given)
            rows.append(
                {
                    "data": name,
                    "structure": structure,
                    "method": method,
                    "jaxbn": found.mean,
                    "standard error": found.standard_error,
                    "published": value,
                    "difference": found.mean - value,
                }
            )
    return pd.DataFrame(rows)


def iris_accuracy(seed: int = 0) -> pd.DataFrame:
    """Ten-fold accuracy of the naive Bayes classifier of Iris, appendix B.2."""
    import pandas as pd

    data = datasets.load("iris")
    structure = data.structures["paper"]
    fold = fold_numbers(10, seed, as_table(data.frame), data.frame)
    rows = []
    for method in METHODS:
        right = 0
        for number in range(10):
            train, test = data.frame[fold != number], data.frame[fold == number]
            net = fit(train, structure, discretize(train, structure, method=method).binnings)
            right += int((net.predict(test.drop(columns="class"), "class") == test["class"]).sum())
        accuracy = right / len(data.frame)
        rows.append({"method": method, "jaxbn": accuracy, "published": published.IRIS_ACCURACY})
    return pd.DataFrame(rows)


def synthetic(trials: int = 100, sizes: Sequence[int] = published.SYNTHETIC_SIZES) -> pd.DataFrame:
    """Edges found and test log-likelihood of X given its parents against the number of training rows.

    Each trial draws 800 rows; the first ones train, the others test.
    """
    import pandas as pd

    parents = {"P1": (), "P2": (), "X": ("P1", "P2")}
    tables = [as_table(datasets.table6(800, seed=seed)) for seed in range(trials)]
    rows = []
    for method in METHODS:
        options = as_method(method)
        for size in sizes:
            training = [table.take(np.arange(size)) for table in tables]
            found = settle_together(training, parents, options)
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


def _given_parents(train: Table, test: Table, binning: Binning, whole: NDArray[np.float64]) -> float:
    """Mean ln p(x | parents) of the test rows; the density ends at the range of the whole data set."""
    net = fit(train, {"X": ["P1", "P2"]}, {"X": binning}, bounds={"X": (float(whole.min()), float(whole.max()))})
    code = binning(test.values["X"])
    probability = net.tables["X"][test.codes["P1"], test.codes["P2"], code]
    return float(np.log(probability / np.diff(net.bin_edges("X"))[code]).mean())


def appendix_a(draws: int = 20) -> pd.DataFrame:
    """A marginal method against the structure-aware ones: 500 rows of A -> B, mean over several draws of them."""
    import pandas as pd

    frames = [datasets.appendix_a(500, seed=seed) for seed in range(draws)]
    graph = {"B": ["A"]}
    rows: list[dict[str, object]] = []
    for method in (*METHODS, "bayesian_blocks"):
        aware = method in METHODS
        try:
            scores = [cross_validate(frame, graph, method=method, given="A").mean for frame in frames]
            cuts = [discretize(f, graph, method=method).binnings["B"].cuts if aware else _blocks(f) for f in frames]
        except ValueError as error:  # astropy is not installed
            rows.append({"method": method, "cuts": str(error)})
            continue
        target = "structure-aware" if aware else "bayesian_blocks"
        rows.append(
            {
                "method": method,
                "cuts": np.mean([len(edges) for edges in cuts]),
                "farthest from 1": max((abs(edge - 1) for edges in cuts for edge in edges), default=np.nan),
                "jaxbn": np.mean(scores),
                "published": published.APPENDIX_A[target],
            }
        )
    return pd.DataFrame(rows)


def _blocks(frame: pd.DataFrame) -> NDArray[np.float64]:
    return marginal_binning(frame["B"].to_numpy(), "bayesian_blocks", 0).cuts


def learned(name: str, restarts: int = 50) -> tuple[BayesNet, pd.DataFrame]:
    """The network learned as in the paper (restarts compared by K2 score), with the published bins at its nodes."""
    import pandas as pd

    data = datasets.load(name)
    net = learn(
        data.frame,
        method=Bayesian(select="k2", max_passes=5),
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


def _same(ours: Iterable[float], theirs: Iterable[float]) -> bool:
    a, b = np.asarray(list(ours)), np.asarray(list(theirs))
    return a.shape == b.shape and bool(np.all(np.abs(a - b) <= np.where(b > 1000, SAME_EDGE, 1e-9)))
