"""Time predict_proba against pgmpy and pyAgrum on one network: 10 columns, 100,000 rows.

Run from the project's root: ``python -m benchmarks.predict [rows]``. Peers that are not installed are left out. pgmpy
is asked for probabilities, which it finds row by row, and for the best state, which it finds once for each distinct
row (its progress bar goes to stderr); pyAgrum is asked row by row, on a part of the rows. Their times include the
conversion. The last column is the largest difference of a probability, or the share of best states that differ.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from jaxbn.inputs.columns import encode
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.fit import fit

TARGET = "c2"
PART = 1_000  # rows given to the peers that go row by row


def network(n_rows: int, seed: int = 0) -> tuple[BayesNet, pd.DataFrame]:
    """Six continuous and four discrete columns, each but the first depending on one or two before it."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({f"x{i}": rng.normal(size=n_rows) for i in range(6)})
    data["x1"] += data.x0
    data["x3"] += data.x1 - data.x2
    data["c0"] = np.where(data.x0 > 0, "high", "low")
    data["c1"] = np.digitize(data.x1 + rng.normal(size=n_rows), [-1, 0, 1])
    data["c2"] = np.digitize(data.x3 + data.c1 + rng.normal(size=n_rows), [0, 2])
    data["c3"] = (data.c2 > 0) ^ (rng.random(n_rows) < 0.2)
    data["x5"] += data.c2
    graph = {
        "x1": ["x0"], "x3": ["x1", "x2"], "c0": ["x0"], "c1": ["x1"],
        "c2": ["x3", "c1"], "c3": ["c2"], "x5": ["c2", "c3"],
    }  # fmt: skip
    cuts = {f"x{i}": np.quantile(data[f"x{i}"], [0.2, 0.4, 0.6, 0.8]) for i in range(6)}
    return fit(data, graph, cuts), data


def coded(net: BayesNet, data: pd.DataFrame) -> pd.DataFrame:
    """The rows as the state labels of the exported networks."""
    columns = {}
    for name in net.names:
        codes = net.binnings[name](data[name]) if name in net.binnings else encode(data[name], net.levels[name])
        columns[name] = np.array(net.state_labels(name), object)[codes]
    return pd.DataFrame(columns)


def clock(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and the result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def with_pgmpy(net: BayesNet, rows: pd.DataFrame) -> np.ndarray:
    model = net.to_pgmpy()
    result = model.predict_probability(rows.drop(columns=TARGET))
    return result[[f"{TARGET}_{label}" for label in net.state_labels(TARGET)]].to_numpy()


def states_with_pgmpy(net: BayesNet, rows: pd.DataFrame) -> np.ndarray:
    states = net.to_pgmpy().predict(rows.drop(columns=TARGET), n_jobs=1)[TARGET]
    return pd.Categorical(states, categories=list(net.state_labels(TARGET))).codes


def with_pyagrum(net: BayesNet, rows: pd.DataFrame) -> np.ndarray:
    import pyagrum

    engine = pyagrum.LazyPropagation(net.to_pyagrum())
    engine.addTarget(TARGET)
    result = np.empty((len(rows), net.cardinalities[TARGET]))
    for i, row in enumerate(rows.drop(columns=TARGET).to_dict("records")):
        engine.setEvidence(row)
        engine.makeInference()
        result[i] = engine.posterior(TARGET).toarray()
    return result


def main(n_rows: int = 100_000) -> None:
    warnings.simplefilter("ignore")
    net, data = network(n_rows)
    first, ours = clock(lambda: net.predict_proba(data, TARGET).to_numpy())
    again, _ = clock(lambda: net.predict_proba(data, TARGET).to_numpy())
    print(f"{n_rows:,} rows x {len(net.names)} columns, target {TARGET!r}\n")
    print(f"{'program':<22} {'rows asked':>10} {'seconds':>9} {'s / 100,000':>12} {'difference':>19}")
    print(f"{'jaxbn (first call)':<22} {n_rows:>10,} {first:>9.3f} {first / n_rows * 1e5:>12.3f} {'-':>19}")
    print(f"{'jaxbn':<22} {n_rows:>10,} {again:>9.3f} {again / n_rows * 1e5:>12.3f} {'-':>19}")
    holes = data.mask(np.random.default_rng(1).random(data.shape) < 0.1)
    seconds, _ = clock(lambda: net.predict_proba(holes, TARGET).to_numpy())
    print(f"{'jaxbn, 10 % missing':<22} {n_rows:>10,} {seconds:>9.3f} {seconds / n_rows * 1e5:>12.3f} {'-':>19}")
    rows = coded(net, data)
    peers = (
        ("pgmpy", with_pgmpy, n_rows),
        ("pgmpy, best state", states_with_pgmpy, n_rows),
        ("pyAgrum, row by row", with_pyagrum, PART),
    )
    for label, call, part in peers:
        try:
            seconds, theirs = clock(lambda call=call, part=part: call(net, rows[:part]))
        except ImportError:
            continue
        same_kind = theirs.ndim == ours.ndim
        difference = np.abs(theirs - ours[:part]).max() if same_kind else np.mean(theirs != ours[:part].argmax(axis=1))
        print(f"{label:<22} {part:>10,} {seconds:>9.3f} {seconds / part * 1e5:>12.3f} {difference:>19.1e}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
