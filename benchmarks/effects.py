"""Whether true effects lie in the ranges that are reported: linear networks, small tables.

From the project's root: ``python benchmarks/effects.py``. Four normal columns depend on each other by lines. The effect
is what the outcome gains as the cause is set to values in the bin of its upper quartile instead of its lower one. It is
reported twice: by ``net.effect``, whose range is over all directions that the rows leave open, and by
``Posterior.effect``, whose range is over draws of cuts, arcs and tables. The range of a difference is from the lowest
to the highest that two ranges allow.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
import pandas as pd

import jaxbn

N = 4


def linear_network(n_rows: int, seed: int) -> tuple[pd.DataFrame, str, str, float]:
    """Rows, a cause, an outcome that it acts on, and by how much a unit of it raises that."""
    rng = np.random.default_rng([32, seed])
    weights = np.tril(rng.uniform(0.5, 1.2, (N, N)) * rng.choice([-1, 1], (N, N)), -1) * (rng.random((N, N)) < 0.7)
    total = np.linalg.inv(np.eye(N) - weights)  # [on, of]
    names = [f"x{i}" for i in rng.permutation(N)]
    values = rng.normal(size=(n_rows, N)) @ total.T
    pairs = [(c, o) for c in range(N) for o in range(c + 1, N) if total[o, c]] or [(0, 1)]
    cause, outcome = pairs[rng.integers(len(pairs))]
    frame = pd.DataFrame(values, columns=names)
    return frame[sorted(names)], names[cause], names[outcome], float(total[outcome, cause])


def range_of(effect: pd.DataFrame, low: float, high: float) -> tuple[float, float]:
    """What the outcome gains at least and at most from one value of the cause to another."""
    before, after = effect.loc[low], effect.loc[high]
    return float(after["low"] - before["high"]), float(after["high"] - before["low"])


def gained(nets: Sequence[jaxbn.BayesNet], cause: str, low: float, high: float) -> float:
    """From the mean of the cause in the bin around one value to that around another, in the mean of the networks."""
    means = [net.inside(cause).means for net in nets]
    bins = [np.searchsorted(net.binnings[cause].cuts, [low, high], side="right") for net in nets]
    return float(np.mean([own[j] - own[i] for own, (i, j) in zip(means, bins, strict=True)]))


def main() -> None:
    """Read the command line and go through the tables."""
    parser = argparse.ArgumentParser(description="How often the true effect lies in the reported range.")
    parser.add_argument("--tables", type=int, nargs=2, default=[0, 100], help="first, and the one after the last")
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--draws", type=int, default=20)
    options = parser.parse_args()
    inside, widths = np.zeros(2), np.zeros(2)
    for i, seed in enumerate(range(*options.tables)):
        data, cause, outcome, slope = linear_network(options.rows, seed)
        low, high = data[cause].quantile([0.25, 0.75])
        net = jaxbn.learn(data, restarts=1, progress=False)
        draws = jaxbn.sample_posterior(data, draws=options.draws, chains=2, burn_in=5, progress=False)
        for j, (found, nets) in enumerate(((net, [net]), (draws, draws.networks))):
            least, most = range_of(found.effect(cause, outcome), low, high)
            inside[j] += least <= slope * gained(nets, cause, low, high) <= most
            widths[j] += most - least
        told = [f"{name} {n:.0f} ({w / (i + 1):.2f} wide)" for name, n, w in zip(NAMES, inside, widths, strict=True)]
        print(f"{i + 1} tables, true effect inside: {', '.join(told)}", flush=True)


NAMES = ("one network", "draws")

if __name__ == "__main__":
    main()
