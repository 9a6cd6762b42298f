"""What the grid costs: the same tables learned with it and without, and whether the last cuts are the best.

From the project's root: ``python -m benchmarks.grid [--networks 20] [--rows 1500]``. Tables are drawn from random
networks of mixed columns. Both searches begin alike and end with exact cuts, but may meet other local optima on the
way; F of both is shown, and the cuts of each variable are held against the exact optimum given the rest.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd

import jaxbn
from benchmarks.networks import draw
from jaxbn.inputs.graph import children_of


def wrong_cuts(frame: pd.DataFrame, net: jaxbn.BayesNet) -> int:
    """Variables whose cuts are not the exact optimum given the rest."""
    codes = {name: binning(frame[name]) for name, binning in net.binnings.items()}
    codes |= {name: pd.factorize(frame[name], sort=True)[0] for name in net.levels}
    children, wrong = children_of(net.parents), 0
    for name, binning in net.binnings.items():
        families = [(codes[c], [codes[s] for s in net.parents[c] if s != name]) for c in children[name]]
        best = jaxbn.discretize_variable(frame[name], [codes[p] for p in net.parents[name]], families)
        wrong += best.cost < binning.cost - 1e-7 * (1 + abs(binning.cost))
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--runs", type=int, help="runs of each search; by default as many as `learn` makes")
    given = parser.parse_args()
    differences, wrong, seconds = [], 0, [0.0, 0.0]
    for seed in range(given.networks):
        drawn = draw(given.rows, 5, 3, seed)
        found = []
        for i, grid in enumerate((512, None)):
            begin = time.perf_counter()
            net = jaxbn.learn(
                drawn.frame,
                restarts=given.runs,
                progress=False,
                columns=jaxbn.Columns(continuous=drawn.continuous),
                method=jaxbn.Evidence(grid=grid),
            )
            seconds[i] += time.perf_counter() - begin
            found.append(net.search.criterion)
            wrong += wrong_cuts(drawn.frame, net)
        differences.append((found[0] - found[1]) / abs(found[1]))
        print(
            f"network {seed}: with the grid {found[0]:.2f}, without {found[1]:.2f}, {differences[-1]:+.1e}", flush=True
        )
    shares = np.array(differences)
    print(
        f"the same to 1e-6 in {(abs(shares) <= 1e-6).sum()}, better in {(shares > 1e-6).sum()}, worse in "
        f"{(shares < -1e-6).sum()} (at most {shares.min():.1e}); mean {shares.mean():+.1e}; "
        f"cuts that are not the optimum: {wrong}; {seconds[0]:.0f} s with the grid, {seconds[1]:.0f} s without"
    )


if __name__ == "__main__":
    main()
