"""Lines inside bins: held-out log density with and without them, for the same arcs and cuts.

    python -m benchmarks.lines [--restarts N] [data sets …]
    python -m benchmarks.lines gems [--rows 50000]

Columns and folds are those of `benchmarks/peers`, so that the linear-Gaussian networks there can be set beside.

`gems` is a table of eight numbers that nearly determine each other: at most 8 bins, with lines and without, beside as
many bins as the evidence wants.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np
import pandas as pd

import jaxbn
from benchmarks.peers.tasks.density import FOLDS, load
from jaxbn.inputs.table import as_table


def networks(case, restarts):
    """Of each fold, the network learned on the other rows, and the rows that were held out."""
    table = as_table(case.frame)
    bounds = {name: (float(v.min()), float(v.max())) for name, v in table.values.items()}
    for fold in range(FOLDS):
        train = table.take(case.folds != fold)
        net = jaxbn.learn(train, restarts=restarts, lines=False, progress=False)
        yield jaxbn.fit(train, net.parents, net.codings, bounds=bounds), case.frame[case.folds == fold]


def data_sets(names, restarts):
    """With and without lines, and how many variables have one: inside bins, and of whole columns."""
    for name in names:
        found, lines = [], []
        for net, test in networks(load(name), restarts):
            found.append([each.log_likelihood(test).mean() for each in (replace(net, lines={}), net)])
            lines.append([sum(line.column is kind for line in net.lines.values()) for kind in (False, True)])
        plain, score = np.mean(found, axis=0)
        inside, column = np.mean(lines, axis=0)
        print(
            f"{name:16} {plain:9.3f} {score:9.3f} {score - plain:+7.3f}   lines {inside:.1f} and {column:.1f}",
            flush=True,
        )


def gems(n, seed=0):
    """Sizes, weight, price and shape of gems: powers of a latent size with small noise, rounded as people do."""
    rng = np.random.default_rng(seed)
    size = rng.lognormal(1.7, 0.18, n)
    length, breadth = size * np.exp(rng.normal(0, 0.01, n)), size * np.exp(rng.normal(0, 0.01, n))
    height = 0.617 * size * np.exp(rng.normal(0, 0.012, n))
    weight = 0.0061 * length * breadth * height * np.exp(rng.normal(0, 0.01, n))
    columns = {
        "length": length.round(2),
        "breadth": breadth.round(2),
        "height": height.round(2),
        "weight": weight.round(3),
        "depth": (200 * height / (length + breadth)).round(1),
        "table": (57 + 2 * rng.normal(size=n)).round(1),
        "surface": (2.9 * size**2 * np.exp(rng.normal(0, 0.02, n))).round(1),
        "price": np.exp(8.4 + 1.7 * np.log(weight) + rng.normal(0, 0.15, n)).round(),
    }
    return pd.DataFrame(columns)


def nearly_determined(n, restarts):
    """At most 8 bins with lines and without, and any number of bins without."""
    train, test = gems(n), gems(5000, seed=1)
    for most in (8, None):
        began = time.perf_counter()
        net = jaxbn.learn(train, max_bins=most, restarts=restarts, progress=False)
        seconds = time.perf_counter() - began
        cells = sum(table.size for table in net.tables.values())
        for label, each in (("without lines", replace(net, lines={})), ("with lines", net)):
            score = each.log_likelihood(test).mean()
            print(f"max_bins={most} {label:13} {score:9.3f}   {cells:,} cells, {seconds:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=jaxbn.datasets.names())
    parser.add_argument("--restarts", type=int, default=None)
    parser.add_argument("--rows", type=int, default=50_000)
    arguments = parser.parse_args()
    if arguments.names == ["gems"]:
        nearly_determined(arguments.rows, arguments.restarts)
    else:
        data_sets(arguments.names, arguments.restarts)


if __name__ == "__main__":
    main()
