"""Missing entries filled in by a network, against scikit-learn's IterativeImputer and KNNImputer.

    python -m benchmarks.imputation [--data iris,wine] [--settings random:0.1,dependent:0.2] [--seeds 1]
    python -m benchmarks.imputation speed [--rows 1000000]

Entries are removed completely at random ("random"), or only where the next column lies above its median, or is not its
most frequent level ("dependent"). A network is learned from what is left and fills it in, by `net.impute`; the imputers
of scikit-learn have the numbers, with levels as codes and as columns of 0 and 1, of which the better counts, all of
mean 0 and deviation 1. The error of a
continuous column is the root mean square of what was filled in, over the column's standard deviation, averaged over
columns; the accuracy is the share of levels that are right. JAXBN_DATA names the directory of the data set that is not
in the package. `speed`: rows with 10 % of their entries missing, 7 columns. Figures are in NOTES.md.
"""

from __future__ import annotations

import argparse
import logging
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import jaxbn
from benchmarks.missing import DATA, prepared
from jaxbn.inputs.table import as_table

SETTINGS = "random:0.05,random:0.1,random:0.2,random:0.4,dependent:0.2"
WAYS = ("mean", "regression", "iterative", "knn")


class Problem(NamedTuple):
    """A table, and the same without some entries."""

    full: pd.DataFrame
    holed: pd.DataFrame
    continuous: list[str]

    def errors(self, filled: pd.DataFrame) -> tuple[float, float]:
        """Normalised error of numbers, and accuracy of levels; NaN where there are none."""
        gone = self.holed.isna()
        numbers, hits = [], []
        for name in self.full.columns:
            rows = gone[name].to_numpy()
            if name not in self.continuous:
                hits += (filled[name][rows].astype(str) == self.full[name][rows].astype(str)).tolist()
            elif rows.any():
                apart = (filled[name][rows].astype(float) - self.full[name][rows]).to_numpy()
                numbers.append(np.sqrt(np.mean(apart**2)) / self.full[name].std())
        return float(np.mean(numbers)), float(np.mean(hits)) if hits else float("nan")


def problem(name: str, kind: str, share: float, seed: int) -> Problem:
    """A data set with entries removed; no column and no row is emptied."""
    full, continuous = prepared(name, recorded=True)
    rng = np.random.default_rng(seed)
    chances = np.full(full.shape, share)
    if kind == "dependent":
        for i in range(full.shape[1]):
            other = full.iloc[:, (i + 1) % full.shape[1]]
            above = (other > other.median()) if other.dtype.kind == "f" else (other != other.mode()[0])
            chances[:, i] = np.where(above, min(share / max(float(above.mean()), 1e-9), 0.9), 0.0)
    gone = rng.random(full.shape) < chances
    empty = gone.all(axis=1)
    gone[empty, rng.integers(0, full.shape[1], int(empty.sum()))] = False
    return Problem(full, full.mask(gone), continuous)


def by_network(task: Problem) -> dict[str, list[pd.DataFrame]]:
    """The table filled in by the network that was learned from it."""
    table = as_table(task.holed, continuous=task.continuous, missing="infer")
    net = jaxbn.learn(table, progress=False)
    return {"mean": [net.impute(task.holed)], "regression": [net.impute(task.holed, "regression")]}


def by_scikit_learn(task: Problem) -> dict[str, list[pd.DataFrame]]:
    """The table filled in by scikit-learn's imputers, for both ways to write levels as numbers."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer, KNNImputer

    found: dict[str, list[pd.DataFrame]] = {"iterative": [], "knn": []}
    for encode, decode in ((_codes, _of_codes), (_signs, _of_signs)):
        parts = {
            name: task.holed[[name]] if name in task.continuous else encode(task.holed[name]) for name in task.holed
        }
        numbers = pd.concat(list(parts.values()), axis=1)
        center, scale = numbers.mean(), numbers.std().replace(0.0, 1.0)
        scaled = ((numbers - center) / scale).to_numpy()
        for way, imputer in (("iterative", IterativeImputer(max_iter=30, random_state=0)), ("knn", KNNImputer())):
            filled = pd.DataFrame(imputer.fit_transform(scaled), columns=numbers.columns) * scale + center
            result = task.holed.copy()
            for name, part in parts.items():
                gone = task.holed[name].isna().to_numpy()
                own = filled.loc[gone, part.columns].to_numpy()
                if name in task.continuous:
                    result.loc[gone, name] = own[:, 0]
                else:
                    levels = task.full[name].cat.categories
                    result.loc[gone, name] = levels[decode(own, len(levels))]
            found[way].append(result)
    return found


def _codes(column: pd.Series) -> pd.DataFrame:
    """Levels as their positions."""
    return column.cat.codes.astype(float).where(column.notna()).to_frame()


def _of_codes(numbers: np.ndarray, n_levels: int) -> np.ndarray:
    return np.clip(numbers[:, 0].round(), 0, n_levels - 1).astype(int)


def _signs(column: pd.Series) -> pd.DataFrame:
    """A column of 0 and 1 for each level but the first: all of them add up to 1, which is all that lines would say."""
    levels = column.cat.categories[1:]
    signs = {f"{column.name} {level}": (column == level).astype(float).where(column.notna()) for level in levels}
    return pd.DataFrame(signs)


def _of_signs(numbers: np.ndarray, n_levels: int) -> np.ndarray:
    return np.column_stack([1 - numbers.sum(axis=1), numbers]).argmax(axis=1)


def best(task: Problem, tables: Sequence[pd.DataFrame]) -> tuple[float, float]:
    """The least error and the best accuracy among some filled tables."""
    errors, accuracies = zip(*map(task.errors, tables), strict=True)
    return min(errors), max(accuracies)


def quality(names: Sequence[str], settings: Sequence[str], seeds: int) -> None:
    """A line for each data set and setting, and how often the network is at least as good as both."""
    print("data setting | error: " + " ".join(WAYS) + " | accuracy: " + " ".join(WAYS) + " | seconds", flush=True)
    wins: dict[str, list[bool]] = {}
    for setting in settings:
        kind, share = setting.split(":")
        for name in names:
            began, found = time.perf_counter(), []
            for seed in range(seeds):
                task = problem(name, kind, float(share), seed)
                filled = by_network(task) | by_scikit_learn(task)
                found.append([best(task, filled[way]) for way in WAYS])
            error, accuracy = np.mean(found, axis=0).T  # [ways] each
            ours, theirs = slice(0, 2), slice(2, 4)
            wins.setdefault(f"{setting} error", []).append(bool(error[ours].min() <= error[theirs].min()))
            wins.setdefault(f"{setting} error, regression", []).append(bool(error[1] <= error[theirs].min()))
            if not np.isnan(accuracy[0]):
                wins.setdefault(f"{setting} accuracy", []).append(bool(accuracy[0] >= accuracy[theirs].max()))
                wins.setdefault(f"{setting} accuracy, regression", []).append(
                    bool(accuracy[1] >= accuracy[theirs].max())
                )
            words = [" ".join(f"{x:.3f}" for x in figures) for figures in (error, accuracy)]
            print(f"{name} {setting} | {words[0]} | {words[1]} | {time.perf_counter() - began:.0f}", flush=True)
    for what, won in wins.items():
        print(f"{what}: at least as good as both on {sum(won)} of {len(won)}")


def speed(n_rows: int) -> None:
    """Seconds for rows of 7 columns with 10 % of their entries missing."""
    from jaxbn.model.inference.answers import draw_completions, log_likelihood, most_probable_completions
    from jaxbn.model.inference.em import Counter
    from jaxbn.model.inference.network import network

    rng = np.random.default_rng(0)
    parents = [(), (0,), (0, 1), (1,), (2, 3), (0, 4), (3, 5)]
    sizes = [3, 8, 6, 10, 8, 5, 8]
    tables = [rng.dirichlet(np.ones(sizes[v]), size=[sizes[p] for p in found]) for v, found in enumerate(parents)]
    net = network(parents, tables)
    codes = draw_completions(net, np.full((n_rows, 7), -1, np.int32), 1)
    codes[rng.random(codes.shape) < 0.1] = -1

    def timed(what: str, compute: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        answer = compute()
        print(f"{what}: {time.perf_counter() - began:.2f} s", flush=True)
        return answer

    timed("log_likelihood", lambda: log_likelihood(net, codes))
    timed("draw_completions", lambda: draw_completions(net, codes, 0))
    timed("most_probable_completions", lambda: most_probable_completions(net, codes))
    counter = timed("EM: prepared once", lambda: Counter(net.structure, codes))
    timed("EM: a round", lambda: counter.expected(net))
    distinct = sum(task.n_distinct for task in counter.tasks)
    print(f"{len(counter.tasks)} components, {distinct} distinct rows of their blankets")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["quality", "speed"], default="quality")
    parser.add_argument("--data", default=",".join(DATA))
    parser.add_argument("--settings", default=SETTINGS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rows", type=int, default=1_000_000)
    chosen = parser.parse_args()
    logging.getLogger("jaxbn").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    if chosen.what == "speed":
        speed(chosen.rows)
    else:
        quality(chosen.data.split(","), chosen.settings.split(","), chosen.seeds)


if __name__ == "__main__":
    main()
