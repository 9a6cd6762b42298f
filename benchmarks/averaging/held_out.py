"""Held-out log-likelihood: one network against the average of draws, and both against the truth."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

import jaxbn
from jaxbn.datasets.synthetic import gauss as gauss_rows
from jaxbn.evaluation.folds import fold_numbers
from jaxbn.inputs.table import Table, as_table

SETS = ("iris", "liver_disorders", "banknote", "seeds", "auto_mpg", "glass", "wine", "heart", "housing", "ilpd")
FOLDS, GAUSS_DRAWS = 10, 400
FEWER = (20, 60)
"""Numbers of draws beside those asked for."""


def held_out(sets: Sequence[str], use: Iterable[int], draws: int, thin: int) -> None:
    """A line for each fold, and one for each data set: the same folds as the table of peers has."""
    lines = []
    counts = [n for n in FEWER if n < draws] + [draws]
    for name in sets or SETS:
        data = jaxbn.datasets.load(name)
        table = as_table(data.frame, continuous=data.continuous, missing="drop")
        numbers = fold_numbers(FOLDS, 0, table, table)
        found = []
        for fold in use:
            began = time.perf_counter()
            found.append(one_fold(table, numbers == fold, draws, thin, counts))
            one, *averages = found[-1]
            gains = ", ".join(f"{average - one:+.3f}" for average in averages)
            seconds = time.perf_counter() - began
            print(f"{name}, fold {fold}: {one:.3f}, {averages[-1]:.3f}; gains {gains}; {seconds:.0f} s", flush=True)
        one, *averages = np.mean(found, axis=0)
        cells = [name, table.n_rows, f"{len(found)} of {FOLDS}", f"{one:.3f}", *(f"{each:.3f}" for each in averages)]
        lines.append(f"| {' | '.join(map(str, cells))} | {averages[-1] - one:+.3f} |")
    heads = ["data", "rows", "folds", "one network", *(f"average of {n}" for n in counts), "gain"]
    print(f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *lines, sep="\n")


def one_fold(table: Table, out: np.ndarray, draws: int, thin: int, counts: Sequence[int]) -> list[float]:
    """Mean log-likelihood of the held-out rows by the best network, and by averages of so many of the draws."""
    rows, test = table.take(~out), as_rows(table.take(out))
    bounds = {name: (float(values.min()), float(values.max())) for name, values in table.values.items()}
    net = jaxbn.learn(rows, progress=False)
    found = jaxbn.sample_posterior(rows, draws=draws, thin=thin, progress=False)
    single = jaxbn.fit(rows, net.parents, net.codings, bounds=bounds)
    fitted = (jaxbn.fit(rows, draw.parents, draw.codings, bounds=bounds) for draw in found.draws)
    logs = np.array([each.log_likelihood(test) for each in fitted])
    some = [np.linspace(0, draws - 1, n).astype(int) for n in counts]  # of all chains
    averages = [float((np.logaddexp.reduce(logs[each]) - np.log(len(each))).mean()) for each in some]
    return [float(single.log_likelihood(test).mean()), *averages]


def as_rows(table: Table) -> pd.DataFrame:
    """A table in original units."""
    levels = {n: np.array(table.levels[n], object)[codes] for n, codes in table.codes.items()}
    return pd.DataFrame({name: table.values.get(name, levels.get(name)) for name in table.names})


def gauss(tables: int, n_rows: int = 700) -> None:
    """ln p(X | P1, P2) of new rows within the range of the old, below that of the truth."""
    graph = {"X": ["P1", "P2"]}
    found = []
    for trial in range(tables):
        rows, test = (gauss_rows(n, 2 * trial + i) for i, n in enumerate((n_rows, 2000)))
        truth = -0.5 * np.log(2 * np.pi) - 0.5 * (test["X"] - 2 * test["P1"] - test["P2"]) ** 2
        binnings = jaxbn.discretize(rows, graph).binnings
        cuts = jaxbn.cut_posterior(rows["X"], parents=[rows["P1"], rows["P2"]])  # independent draws, no chain
        many = [jaxbn.fit(rows, graph, {"X": drawn}) for drawn in cuts.sample(GAUSS_DRAWS, trial)]
        inside = test[test["X"].between(rows["X"].min(), rows["X"].max())]
        one = conditional([jaxbn.fit(rows, graph, binnings)], inside)
        best = float(truth[inside.index].mean())
        found.append((best - one, best - conditional(many, inside)))
        print(f"table {trial}: one network {found[-1][0]:.3f}, average {found[-1][1]:.3f} below the truth", flush=True)
    one, average = np.mean(found, axis=0)
    error = np.std([each[1] for each in found], ddof=1) / np.sqrt(tables)
    print(f"gauss, {n_rows} rows, {tables} tables, nats below the truth: ", end="")
    print(f"one network {one:.3f}, average {average:.3f} ± {error:.3f}")


def conditional(networks: Sequence[jaxbn.BayesNet], rows: pd.DataFrame) -> float:
    """Mean of ln p(X | the others) by the average of some networks."""
    average = jaxbn.AverageNet(tuple(networks))
    return float((average.log_likelihood(rows) - average.log_likelihood(rows.assign(X=np.nan))).mean())
