"""Whether the order search reaches the proved optimum: random tables of 14 to 18 columns, both searches.

From the project's root: ``python benchmarks/orders_and_exact.py --seeds 5``. Every seed is 20 tables of 300 or 3,000
rows whose columns are sums of up to three others modulo their states, with noise: some parents help only together.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
if __package__ in (None, ""):
    sys.path.insert(0, str(HERE.parent))

from jaxbn.scores.set_scores import SetScores  # noqa: E402
from jaxbn.structure.exact import exact_structure  # noqa: E402
from jaxbn.structure.orders import order_structure  # noqa: E402
from tests.helpers.coded_columns import numbered_rules, random_columns  # noqa: E402

TABLES, MAX_PARENTS = 20, 3


def one_seed(seed: int) -> str:
    """What was reached on the tables of one seed, in a line."""
    rng = np.random.default_rng(seed)
    missed: list[float] = []
    seconds = np.zeros(2)
    for number in range(TABLES):
        columns = random_columns(rng, 14 + number % 5, (300, 3_000)[number % 2])
        rules = numbered_rules([column.n_states for column in columns], max_parents=MAX_PARENTS)
        times = [time.process_time()]
        exact = exact_structure(SetScores(columns), rules)
        times.append(time.process_time())
        found = order_structure(SetScores(columns), rules, bound_steps=0)
        times.append(time.process_time())
        seconds += np.diff(times)
        if found.score < exact.score - 1e-9:
            missed.append(exact.score - found.score)
    short = f", short by {', '.join(f'{nats:.2f}' for nats in missed)} nats" if missed else ""
    return (
        f"seed {seed}: the optimum in {TABLES - len(missed)} of {TABLES}{short}; "
        f"processor seconds: exact {seconds[0]:.2f}, orders {seconds[1]:.2f}"
    )


def main() -> None:
    """Read the command line and go through the seeds."""
    parser = argparse.ArgumentParser(description="The order search beside the proved optimum.")
    parser.add_argument("--seeds", type=int, default=5)
    for seed in range(1, parser.parse_args().seeds + 1):
        print(one_seed(seed), flush=True)


if __name__ == "__main__":
    main()
