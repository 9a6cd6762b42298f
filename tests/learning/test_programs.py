"""Learning a table compiles few programs, whatever its shape, and ends with exact cuts whatever the grid."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.learning.options import in_objects
from tests.helpers.compilations import compilations

OURS = ("advance", "interval_costs", "priced_intervals", "further_layers", "solve_dense", "sums")
"""Programs of the package; what JAX compiles for single operations does not count."""


def chain(n_rows: int, n_columns: int, *, discrete: int = 0, seed: int = 0) -> pd.DataFrame:
    """Columns that each bend the one before; some are classes."""
    rng = np.random.default_rng(seed)
    values = [rng.normal(size=n_rows)]
    for i in range(1, n_columns):
        bent = (np.abs(values[-1]), np.sin(2 * values[-1]), values[-1])[i % 3]
        values.append(bent + 0.5 * rng.normal(size=n_rows))
    frame = {f"x{i}": column for i, column in enumerate(values)}
    for i in range(discrete):
        frame[f"x{i * 2 % n_columns}"] = np.digitize(values[i * 2 % n_columns], [-0.5, 0.0, 0.5])
    return pd.DataFrame(frame)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("frame", "method"),
    [
        (chain(300, 9, discrete=3), "evidence"),
        (chain(3000, 4, discrete=1), "evidence"),
        (chain(3000, 4, discrete=1), "bayesian"),
        (chain(700, 14), "evidence"),
    ],
    ids=["few rows", "many rows", "many rows, the paper's cuts", "many columns"],
)
def test_a_table_compiles_at_most_8_programs(frame: pd.DataFrame, method: str) -> None:
    with compilations() as names:
        jaxbn.learn(frame, method=method, progress=False, restarts=2)
    ours = [name for name in names if any(each in name for each in OURS)]
    assert 1 <= len(ours) <= 8, names


@pytest.mark.parametrize("method", ["evidence", "bayesian"])
def test_final_cuts_are_the_optimum_given_the_rest(method: str) -> None:
    frame = chain(1500, 4, discrete=1)
    net = jaxbn.learn(
        frame, **in_objects({"method": method, "grid": 64, "restarts": 2, "max_passes": None, "progress": False})
    )
    for name, binning in net.binnings.items():
        rest = {other: found for other, found in net.binnings.items() if other != name}
        children = [child for child, parents in net.parents.items() if name in parents]
        codes = {n: rest[n](frame[n]) if n in rest else frame[n].to_numpy() for n in frame if n != name}
        own = jaxbn.discretize_variable(
            frame[name],
            [codes[p] for p in net.parents[name]],
            [(codes[c], [codes[p] for p in net.parents[c] if p != name]) for c in children],
            method=method,
            rate=None if method == "evidence" else float(max(_states(net, frame))),
        )
        np.testing.assert_array_equal(binning.cuts, own.cuts, err_msg=name)


def _states(net: jaxbn.BayesNet, frame: pd.DataFrame) -> list[int]:
    """States of every variable."""
    return [net.binnings[name].n_bins if name in net.binnings else frame[name].nunique() for name in frame]
