"""Task 4: held-out log-likelihood in original units on the paper's ten data sets, the same ten folds for everyone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.peers.jobs import NOBODY, Job, Row, Setting
from benchmarks.peers.scoring import Codes, Floats, Parents, in_bins, k2_score, k2_search, row_densities
from jaxbn import datasets

NAME = "density"
FOLDS, SEED = 10, 0
MAX_PARENTS = 3
CLASS_BINS = 5
ORDERS = 3
TIMEOUT, LEARN_TIMEOUT, THOROUGH_TIMEOUT = 120.0, 75.0, 900.0
SUPERVISED = (("orange", "Orange EntropyMDL"), ("khiops", "Khiops MODL"))
"""Khiops starts a program for every fold, four minutes in all, for cuts much like Orange's: in thorough runs only."""
GIVEN, LEARNED = "paper's structure", "learned structure"


@dataclass(frozen=True)
class Case:
    """One data set as everyone gets it.

    Attributes:
        name: of the data set.
        frame: the columns of the paper's network.
        continuous: those of them that are.
        parents: the paper's structure.
        folds: number of the fold of each row.
        codes: the class that supervised peers are given: the target, cut into bins of equal frequency if continuous.
    """

    name: str
    frame: pd.DataFrame
    continuous: list[str]
    parents: Parents
    folds: Codes
    codes: Codes


def load(name: str) -> Case:
    """The data set, in which no entry is missing."""
    data = datasets.load(name)
    parents = data.structures["paper"]
    frame = data.frame[list(parents)]
    folds = np.empty(len(frame), np.int64)
    folds[np.random.default_rng(SEED).permutation(len(frame))] = np.arange(len(frame)) % FOLDS
    target = data.frame[data.target]
    if data.target in data.continuous:
        target = pd.qcut(target, CLASS_BINS, labels=False, duplicates="drop")
    codes = np.unique(target, return_inverse=True)[1]
    return Case(name, frame, [c for c in data.continuous if c in parents], parents, folds, codes)


def jobs(setting: Setting) -> Iterator[Job]:
    """jaxbn, marginal cuts, supervised cuts and linear-Gaussian networks for each data set."""
    for name in ("iris",) if setting.quick else datasets.names():
        try:
            case = load(name)
        except OSError as error:
            yield _missing(name, str(error))
            continue
        path, labelled = (setting.folder / f"{name}{end}.csv" for end in ("_folds", "_class"))
        case.frame.assign(fold=case.folds).to_csv(path, index=False)
        only = case.frame[case.continuous]
        only.assign(**{"fold": case.folds, "class code": case.codes}).to_csv(labelled, index=False)
        yield from _of_jaxbn(case, path, setting)
        yield from _of_peers(case, path, labelled, SUPERVISED if setting.thorough else SUPERVISED[:1])


def _missing(name: str, error: str) -> Job:
    """A data set that cannot be had is a row."""

    def refuse(_: dict[str, Any]) -> Row:
        return {"failure": f"data set not available: {error[:200]}"}

    return Job(NAME, NOBODY, "everyone", {"data": name, "structure": GIVEN, "rows": 0}, {}, refuse)


def _of_jaxbn(case: Case, path: Path, setting: Setting) -> Iterator[Job]:
    request = {"task": "density", "data": str(path), "continuous": case.continuous, "warm": 1}
    options = {"restarts": ORDERS, "max_parents": MAX_PARENTS}
    for method in (*setting.methods, "equal_width", "equal_frequency"):
        label = f"jaxbn {method}" if method in setting.methods else method.replace("_", " ")
        score = partial(_of_rows, case, method)
        fixed = request | {"method": method, "parents": case.parents}
        yield Job(NAME, "jaxbn", label, _about(case, GIVEN), fixed, score, TIMEOUT)
    limit = THOROUGH_TIMEOUT if setting.thorough else LEARN_TIMEOUT
    for method in setting.methods:
        learned = request | {"method": method, "parents": None, "warm": 0, **options}
        score = partial(_of_rows, case, method)
        yield Job(NAME, "jaxbn", f"jaxbn {method}", _about(case, LEARNED), learned, score, limit)


def _of_peers(case: Case, path: Path, labelled: Path, supervised: tuple[tuple[str, str], ...]) -> Iterator[Job]:
    for peer, label in supervised:
        request = {"task": "fold_cuts", "data": str(labelled)}
        yield Job(NAME, peer, f"{label} cuts", _about(case, "both"), request, partial(_of_cuts, case), TIMEOUT)
    request = {"task": "density", "data": str(path), "continuous": case.continuous}
    score = partial(_linear_gaussian, case)
    yield Job(NAME, "pybnesian", "PyBNesian linear-Gaussian", _about(case, LEARNED), request, score, TIMEOUT)


def _about(case: Case, structure: str) -> Row:
    return {"data": case.name, "structure": structure, "rows": len(case.frame)}


def _summary(case: Case, rows: Floats) -> Row:
    """Mean over folds of the mean over rows, and its standard error."""
    means = np.array([rows[case.folds == fold].mean() for fold in range(FOLDS)])
    return {"score": float(means.mean()), "error": float(means.std(ddof=1) / np.sqrt(FOLDS))}


def _of_rows(case: Case, method: str, answer: dict[str, Any]) -> Row:
    """jaxbn scores rows itself; for equal width the common scorer does it again, as a check of both."""
    row = _summary(case, np.array(answer["rows"]))
    row["bins"] = float(np.mean(list(answer["bins"].values())))
    if method == "equal_width":
        n_bins = [max(of_fold) for of_fold in zip(*answer["bins"].values(), strict=True)]  # each fold chooses its own
        again = _scored(case, [_equal_width(case, *each) for each in enumerate(n_bins)], lambda _: case.parents)
        row["again"] = _summary(case, again)["score"]
    return row


def _equal_width(case: Case, fold: int, n_bins: int) -> dict[str, list[float]]:
    training = case.frame[case.folds != fold]
    ranges = {name: (training[name].min(), training[name].max()) for name in case.continuous}
    return {name: np.linspace(low, high, n_bins + 1)[1:-1].tolist() for name, (low, high) in ranges.items()}


def _of_cuts(case: Case, answer: dict[str, Any]) -> Row:
    """A peer's cuts with the paper's structure, and with the best that K2 finds along a few random orders."""
    cuts = answer["fold_edges"]
    given = _summary(case, _scored(case, cuts, lambda _: case.parents))
    learned = _summary(case, _scored(case, cuts, _best_of_orders))
    bins = float(np.mean([len(edges) + 1 for of_fold in cuts for edges in of_fold.values()]))
    return {"bins": bins, GIVEN: given, LEARNED: learned}


def _best_of_orders(codes: dict[str, Codes]) -> Parents:
    """The cuts are the same for every order, so the K2 score says which structure is best."""
    rng = np.random.default_rng(SEED)
    orders = [[str(name) for name in rng.permutation(list(codes))] for _ in range(ORDERS)]
    return max((k2_search(codes, order, MAX_PARENTS) for order in orders), key=lambda found: k2_score(codes, found))


def _scored(case: Case, cuts: list[dict[str, list[float]]], structure: Callable[[dict[str, Codes]], Parents]) -> Floats:
    """Log density of each row by the network of the fold that has not seen it."""
    result = np.empty(len(case.frame))
    for fold in range(FOLDS):
        held_out = case.folds == fold
        codes, cards, densities = in_bins(case.frame, cuts[fold])
        training = {name: each[~held_out] for name, each in codes.items()}
        new = {name: each[held_out] for name, each in codes.items()}
        result[held_out] = densities[held_out] + row_densities(training, new, structure(training), cards)
    return result


def _linear_gaussian(case: Case, answer: dict[str, Any]) -> Row:
    """As it is; where rows have no finite density, with one part in n + 1 of a uniform distribution mixed in.

    So none is dropped. The mixture is kept in any case: it tames rows that a Gaussian finds all but impossible.
    """
    rows = np.array(answer["rows"], float)
    impossible = ~np.isfinite(rows)
    spans = [np.log(case.frame[name].max() - case.frame[name].min()) for name in case.continuous]
    levels = [np.log(case.frame[name].nunique()) for name in case.frame if name not in case.continuous]
    uniform, weight = -sum(spans) - sum(levels), 1 / (len(rows) + 1)
    mixed = np.logaddexp(np.log1p(-weight) + np.where(impossible, -np.inf, rows), np.log(weight) + uniform)
    row = _summary(case, mixed if impossible.any() else rows)
    extra = {"impossible_rows": int(impossible.sum()), "mixed_score": _summary(case, mixed)["score"]}
    return row | extra | {"network": answer["network"]}


def checks(rows: list[Row]) -> list[Row]:
    """jaxbn's cross-validation and the common scorer agree."""
    pairs = [(row["data"], row["score"], row["again"]) for row in rows if "again" in row]
    return [
        {"what": f"{name}: equal width, scored twice", "holds": bool(np.isclose(ours, again, atol=0.02))}
        for name, ours, again in pairs
    ]
