"""Arcs where there are none: tables of three independent columns, learned with the defaults.

From the project's root: ``python benchmarks/noise.py --tables 60 --rows 100 2000``. The kinds of columns take turns:
normal, lognormal, Cauchy, uniform, zero-inflated, discrete.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jaxbn

Draw = Callable[[np.random.Generator, int], np.ndarray]
KINDS: tuple[Draw, ...] = (
    lambda rng, n: rng.normal(size=n),
    lambda rng, n: rng.lognormal(size=n),
    lambda rng, n: rng.standard_cauchy(n),
    lambda rng, n: rng.random(n),
    lambda rng, n: np.maximum(rng.normal(size=n), 0.0),
    lambda rng, n: rng.choice(["a", "b", "c"], n),
)


def independent_columns(number: int, n_rows: int) -> pd.DataFrame:
    """Three columns of which none says anything about another."""
    rng = np.random.default_rng([7, number, n_rows])
    return pd.DataFrame({f"x{i}": KINDS[(number + i) % len(KINDS)](rng, n_rows) for i in range(3)})


def main() -> None:
    """Read the command line and learn all tables."""
    parser = argparse.ArgumentParser(description="Arcs found in tables of independent columns.")
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 2_000])
    options = parser.parse_args()
    for n_rows in options.rows:
        found = idle = 0
        for number in range(options.tables):
            net = jaxbn.learn(independent_columns(number, n_rows), progress=False)
            found += bool(net.arcs)
            idle += any(net.cardinalities[name] < 2 for arc in net.arcs for name in arc)
        print(f"{n_rows:,} rows: {found} of {options.tables} tables have an arc; to a variable of one state: {idle}")


if __name__ == "__main__":
    main()
