"""What an average over networks gains, and what its probabilities are worth.

Run from the project's root:

- ``python -m benchmarks.averaging held_out [--use 0,1] [--draws 100] [data set ...]``: held-out log-likelihood of a
  row in ten folds, or some of them; one network by ``learn`` against the average of draws, structure learned in each;
- ``… gauss [--tables 10]``: X given its parents on synthetic data, against the truth;
- ``… coverage [--tables 100]``: how often the cuts of table6 lie in their 90 % region;
- ``… calibration [--tables 200]``: ranks of the number of bins and of an arc, for tables drawn from the prior;
- ``… arcs [--tables 60]``: how often arcs are there that are said to be, for networks drawn from the prior;
- ``… classify [--use 0,1,2,3,4] [--structures naive,target] [data set ...]``: log loss and accuracy in five folds;
- ``… speed [auto_mpg | wide]``: 100 draws of Auto MPG, and 20 of 1,000 rows of 30 columns.

Each writes markdown. Indian Liver Patient (ilpd) needs the directory of its file in ``JAXBN_DATA``, or the network.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

import jaxbn
from benchmarks.averaging.calibrated import arcs, calibration, coverage
from benchmarks.averaging.classify import classify
from benchmarks.averaging.held_out import gauss, held_out
from benchmarks.predict import clock


def speed(sets: Sequence[str]) -> None:
    """Seconds, the first call in a process and the second; and of one draw beside one pass of exact cuts."""
    rng = np.random.default_rng(0)
    x = np.cumsum(rng.normal(size=(1000, 30)), axis=1) / np.sqrt(np.arange(1, 31))
    tables = {
        "auto_mpg": (jaxbn.datasets.load("auto_mpg").frame, 100),
        "wide": (pd.DataFrame(x, columns=[f"x{i}" for i in range(30)]), 20),
    }
    for name in sets or tables:
        frame, draws = tables[name]
        for run in ("first", "second"):
            seconds, found = clock(lambda f=frame, n=draws: jaxbn.sample_posterior(f, draws=n, progress=False))
            checked = found.diagnostics.loc["evidence"]
            print(
                f"{name}, {draws} draws, {run} call: {seconds:.1f} s; F: effective size "
                f"{checked['effective_size']:.0f}, R-hat {checked['r_hat']:.2f}",
                flush=True,
            )
        net = found.networks[-1]
        options = {"start": net, "draws": 8, "chains": 1, "burn_in": 0, "progress": False}
        draw = min(clock(lambda f=frame, o=options: jaxbn.sample_posterior(f, **o))[0] for _ in range(2)) / 8
        cut = min(
            clock(lambda f=frame, n=net: jaxbn.discretize(f, n.parents, method=jaxbn.Evidence(max_passes=1)))[0]
            for _ in range(2)
        )
        print(f"{name}: {draw:.2f} s a draw, {cut:.2f} s a pass of exact cuts", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=["held_out", "gauss", "coverage", "calibration", "arcs", "classify", "speed"])
    parser.add_argument("sets", nargs="*")
    parser.add_argument(
        "--use", type=lambda text: [int(fold) for fold in text.split(",")], help="folds, all if not given"
    )
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--thin", type=int, default=1)
    parser.add_argument("--tables", type=int)
    parser.add_argument("--structures", type=lambda text: text.split(","), default=["naive", "target"])
    given = parser.parse_intermixed_args()  # data sets after options too
    warnings.simplefilter("ignore")
    studies: dict[str, Callable[[], None]] = {
        "held_out": lambda: held_out(given.sets, given.use or range(10), given.draws, given.thin),
        "gauss": lambda: gauss(given.tables or 10),
        "coverage": lambda: coverage(given.tables or 100),
        "calibration": lambda: calibration(given.tables or 200),
        "arcs": lambda: arcs(given.tables or 60, given.draws),
        "classify": lambda: classify(given.sets, given.use or range(5), given.structures),
        "speed": lambda: speed(given.sets),
    }
    studies[given.study]()


if __name__ == "__main__":
    main()
