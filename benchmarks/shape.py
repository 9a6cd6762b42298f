"""Shape and dependence apart: cuts found with the shape of a column beside cuts found with flat bins.

Every fold learns structure and cuts on its training rows; both sides are then given the same density inside bins (the
shape of the training column), so that only cuts and arcs differ.

    python benchmarks/shape.py [--folds 10] [--restarts N] [--max-bins 8 12 none] [data sets …]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import jaxbn
from jaxbn.inputs.table import as_table
from jaxbn.scores.coded_table import CodedTable
from jaxbn.scores.evidence import shaped


def variants(most):
    found = {"flat": {"method": jaxbn.Evidence(shape="flat"), "max_bins": None}}
    return found | {f"shape, {m} bins": {"max_bins": m} for m in most}


def held_out(frame, folds, options, restarts):
    """Mean log-likelihood, bins a column, most bins, table cells, seconds; structure learned in every fold."""
    fold = np.random.default_rng(0).permutation(len(frame)) % folds
    bounds_of = as_table(frame)
    bounds = {name: (float(v.min()), float(v.max())) for name, v in bounds_of.values.items()}
    scores, bins, cells, seconds = [], [], [], 0.0
    for k in range(folds):
        train, test = frame[fold != k].reset_index(drop=True), frame[fold == k].reset_index(drop=True)
        began = time.perf_counter()
        net = jaxbn.learn(
            train,
            restarts=restarts,
            progress=False,
            columns=jaxbn.Columns(continuous=bounds_of.continuous, discrete=bounds_of.discrete),
            **options,
        )
        seconds += time.perf_counter() - began
        data = CodedTable(as_table(train, continuous=bounds_of.continuous, discrete=bounds_of.discrete))
        codings = shaped(data, net.codings)
        for name in set(frame.columns) - set(bounds):
            train[name] = train[name].astype(object)
        net = jaxbn.fit(train, net.graph, codings, bounds=bounds)
        scores.append(net.log_likelihood(test, unknown="missing").mean())
        bins.append([p.n_bins for p in net.binnings.values()])
        cells.append(sum(t.size for t in net.tables.values()))
    return np.mean(scores), np.mean(bins), np.max(bins), np.mean(cells), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=jaxbn.datasets.names())
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--restarts", type=int, default=None)
    parser.add_argument("--max-bins", nargs="*", default=["8"])
    arguments = parser.parse_args()
    most = [None if m == "none" else int(m) for m in arguments.max_bins]
    for name in arguments.names:
        frame = jaxbn.datasets.load(name).frame
        for label, options in variants(most).items():
            score, bins, largest, cells, seconds = held_out(frame, arguments.folds, options, arguments.restarts)
            print(
                f"{name:16} {label:16} {score:9.3f} {bins:6.1f} ({largest:3d}) {cells:9.0f} {seconds:7.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
