"""What an average over networks gains, and what its probabilities are worth.

Run from the project's root:

- ``python -m benchmarks.averaging held_out [--folds 10] [--use 2] [--draws 20] [data set ...]``: held-out
  log-likelihood of a row, one network by ``learn`` against the average of draws, structure learned in every fold;
- ``python -m benchmarks.averaging gauss [--trials 10]``: X given its parents on synthetic data, against the truth;
- ``python -m benchmarks.averaging coverage [--tables 100]``: how often the cuts of table6 lie in their 90 % region;
- ``python -m benchmarks.averaging calibration [--tables 200]``: ranks of the number of bins and of an arc, for tables
  drawn from the prior;
- ``python -m benchmarks.averaging speed``: 100 draws of Auto MPG, and 20 of 1,000 rows of 30 columns.

Each writes markdown. Indian Liver Patient (ilpd) needs the directory of its file in ``JAXBN_DATA``, or the network.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.special import comb
from scipy.stats import chi2

import jaxbn
from jaxbn.cuts.evidence import choice_cost
from jaxbn.datasets.synthetic import gauss as gauss_rows
from jaxbn.datasets.synthetic import table6
from jaxbn.evaluation.folds import fold_numbers
from jaxbn.inputs.table import Table, as_table

SETS = ("iris", "liver_disorders", "banknote", "seeds", "auto_mpg", "glass", "wine", "heart", "housing", "ilpd")


def held_out(sets: list[str], folds: int, use: int, draws: int) -> None:
    print("| data | rows | folds | one network | average | gain | seconds of a fold |")
    print("|---|---|---|---|---|---|---|")
    for name in sets or SETS:
        data = jaxbn.datasets.load(name)
        table = as_table(data.frame, continuous=data.continuous, missing="drop")
        numbers = fold_numbers(folds, 0, table, table)
        began = time.perf_counter()
        found = np.array([one_fold(table, numbers == fold, draws) for fold in range(min(use, folds))])
        seconds = (time.perf_counter() - began) / len(found)
        one, average = found.mean(axis=0)
        cells = [name, table.n_rows, f"{len(found)} of {folds}", f"{one:.3f}", f"{average:.3f}"]
        print(f"| {' | '.join(map(str, cells))} | {average - one:+.3f} | {seconds:.0f} |", flush=True)


def one_fold(table: Table, out: np.ndarray, draws: int) -> tuple[float, float]:
    """Mean log-likelihood of the held-out rows by the best network and by the average."""
    rows, test = table.take(~out), as_rows(table.take(out))
    bounds = {name: (float(values.min()), float(values.max())) for name, values in table.values.items()}
    net = jaxbn.learn(rows, progress=False)
    found = jaxbn.sample_posterior(rows, draws=draws, chains=2, start=net, progress=False)
    single = jaxbn.fit(rows, net.parents, net.codings, bounds=bounds)
    many = [jaxbn.fit(rows, d.parents, {**d.policies, **found.groupings}, bounds=bounds) for d in found.draws]
    return float(single.log_likelihood(test).mean()), float(jaxbn.AverageNet(many).log_likelihood(test).mean())


def as_rows(table: Table) -> pd.DataFrame:
    """A table in original units."""
    levels = {n: np.array(table.levels[n], object)[codes] for n, codes in table.codes.items()}
    return pd.DataFrame({name: table.values.get(name, levels.get(name)) for name in table.names})


def gauss(trials: int, n_rows: int = 700) -> None:
    """ln p(X | P1, P2) of new rows, below that of the truth."""
    graph = {"X": ["P1", "P2"]}
    found = []
    for trial in range(trials):
        rows, test = (gauss_rows(n, 2 * trial + i) for i, n in enumerate((n_rows, 2000)))
        truth = -0.5 * np.log(2 * np.pi) - 0.5 * (test["X"] - 2 * test["P1"] - test["P2"]) ** 2
        policies = jaxbn.discretize(rows, graph).policies
        draws = jaxbn.sample_posterior(rows, graph, draws=40, chains=1, progress=False, grid=1024)
        inside = test[test["X"].between(rows["X"].min(), rows["X"].max())]
        one = conditional([jaxbn.fit(rows, graph, policies)], inside)
        best = float(truth[inside.index].mean())
        found.append((best - one, best - conditional(draws.networks, inside)))
    one, average = np.mean(found, axis=0)
    print(f"gauss, {n_rows} rows, {trials} tables, nats below the truth: one network {one:.3f}, average {average:.3f}")


def conditional(networks: list[jaxbn.BayesNet] | tuple[jaxbn.BayesNet, ...], rows: pd.DataFrame) -> float:
    average = jaxbn.AverageNet(tuple(networks))
    return float((average.log_likelihood(rows) - average.log_likelihood(rows.assign(X=np.nan))).mean())


def coverage(tables: int, n_rows: int = 800) -> None:
    """For each true cut: whether the smallest set of gaps that has one with 90 % probability contains it."""
    hits: list[bool] = []
    for seed in range(tables):
        rows = table6(n_rows, seed)
        found = jaxbn.cut_posterior(rows["X"], parents=[rows["P1"], rows["P2"]])
        policies = found.sample(200, seed)
        for true in (2.0, 3.0, 4.0, 4.5, 5.0, 6.0):
            nearest = np.array([p.edges[np.abs(p.edges - true).argmin()] if len(p.edges) else np.nan for p in policies])
            low, high = np.nanquantile(nearest, [0.05, 0.95])
            step = np.diff(np.sort(rows["X"])).max()
            hits.append(bool(low - step <= true <= high + step))
    by_cut = np.array(hits).reshape(tables, -1).mean(axis=0)
    print("share of tables in which the nearest drawn cut's 90 % interval has the true one:", by_cut.round(2).tolist())


def calibration(tables: int, n_rows: int = 200, n_values: int = 8) -> None:
    """Tables from the prior: cuts of x, an arc or none, then rows; ranks of both among the draws.

    Only tables count in which every value and level occurs; as that depends on the rows alone, ranks stay uniform.
    """
    rng = np.random.default_rng(0)
    ranks: dict[str, list[int]] = {"number of bins": [], "an arc": []}
    while len(ranks["an arc"]) < tables:
        frame, bins, arc = from_prior(rng, n_rows, n_values)
        if frame["x"].nunique() < n_values or frame["y"].nunique() < 3:
            continue
        start = jaxbn.fit(frame, {}, {"x": []})
        found = jaxbn.sample_posterior(
            frame, draws=39, chains=1, burn_in=10, thin=2, continuous=["x"], start=start, progress=False
        )
        drawn = np.array([draw.policies["x"].n_bins for draw in found.draws])
        arcs = np.array([sum(map(len, draw.parents.values())) for draw in found.draws])
        ranks["number of bins"].append(rank(bins, drawn, rng))
        ranks["an arc"].append(rank(int(arc and bins > 1), arcs, rng))
    for name, found_ranks in ranks.items():
        counts = np.bincount(np.array(found_ranks) * 10 // 40, minlength=10)
        statistic = float(((counts - tables / 10) ** 2 / (tables / 10)).sum())
        print(f"{name}: ranks in tenths {counts.tolist()}, chi-squared p = {chi2.sf(statistic, 9):.3f}")


def from_prior(rng: np.random.Generator, n_rows: int, n_values: int) -> tuple[pd.DataFrame, int, bool]:
    """Rows, the number of bins of x, and whether there is an arc between x and y, which has three levels.

    Inside a bin a value has the chance of the width that is its own: half as much at the ends.
    """
    k = np.arange(1, n_values + 1)
    weights = np.exp(-choice_cost(n_values, k)) * comb(n_values - 1, k - 1)
    bins = int(rng.choice(k, p=weights / weights.sum()))
    cuts = np.sort(rng.choice(n_values - 1, bins - 1, replace=False)) + 1
    bin_of = np.searchsorted(cuts, np.arange(n_values), side="right")
    widths = np.where(np.isin(np.arange(n_values), [0, n_values - 1]), 0.5, 1.0)
    arc = rng.choice(["none", "x -> y", "y -> x"], p=[0.5, 0.25, 0.25])  # weights 1, 1/2 and 1/2
    y = rng.choice(3, n_rows, p=rng.dirichlet(np.ones(3)))
    of_y = rng.dirichlet(np.ones(bins), 3 if arc == "y -> x" else 1)
    code = np.array([rng.choice(bins, p=of_y[level if arc == "y -> x" else 0]) for level in y])
    if arc == "x -> y":
        of_x = rng.dirichlet(np.ones(3), bins)
        y = np.array([rng.choice(3, p=of_x[c]) for c in code])
    inside = [widths * (bin_of == c) for c in range(bins)]
    x = np.array([rng.choice(n_values, p=inside[c] / inside[c].sum()) for c in code])
    return pd.DataFrame({"x": x.astype(float), "y": y.astype(str)}), bins, arc != "none"


def rank(true: int, drawn: np.ndarray, rng: np.random.Generator) -> int:
    """How many draws are smaller; equal ones by chance."""
    return int((drawn < true).sum() + rng.integers((drawn == true).sum() + 1))


def speed() -> None:
    cars = jaxbn.datasets.load("auto_mpg").frame
    rng = np.random.default_rng(0)
    x = np.cumsum(rng.normal(size=(1000, 30)), axis=1) / np.sqrt(np.arange(1, 31))
    wide = pd.DataFrame(x, columns=[f"x{i}" for i in range(30)])
    for name, frame, draws in (("Auto MPG", cars, 100), ("1,000 rows of 30 columns", wide, 20)):
        for run in ("first", "second"):
            began = time.perf_counter()
            found = jaxbn.sample_posterior(frame, draws=draws, progress=False)
            seconds = time.perf_counter() - began
            checked = found.diagnostics.loc["evidence"]
            print(
                f"{name}, {draws} draws, {run} call: {seconds:.1f} s; F: effective size "
                f"{checked['effective_size']:.0f}, R-hat {checked['r_hat']:.2f}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=["held_out", "gauss", "coverage", "calibration", "speed"])
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--use", type=int, default=2, help="folds that are worked out")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--tables", type=int, default=100)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    studies: dict[str, Callable[[], None]] = {
        "held_out": lambda: held_out(given.sets, given.folds, given.use, given.draws),
        "gauss": lambda: gauss(given.trials),
        "coverage": lambda: coverage(given.tables),
        "calibration": lambda: calibration(given.tables),
        "speed": speed,
    }
    studies[given.study]()


if __name__ == "__main__":
    main()
