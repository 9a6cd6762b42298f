"""Runs in processes of their own: on 8 virtual devices, or as one of two processes that share the work.

``python -m tests.helpers.shared_runs CASE OUT [RANK PORT]`` writes the result as JSON to OUT (OUT.RANK as one of two).
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import jaxbn
from jaxbn.learning.options import in_objects
from tests.helpers.random_tables import random_table

ROOT = Path(__file__).parents[2]
RESAMPLES = 21
EIGHT_DEVICES = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}


def cuts(**options: Any) -> dict[str, Any]:
    """A bootstrap of the cuts of a known structure, by the method that runs in batches."""
    drawn = random_table(9, n_rows=80, n_columns=5)
    options = {"method": "bayesian", "resamples": RESAMPLES, "seed": 4, **options}
    found = jaxbn.bootstrap(drawn.frame, drawn.parents, **in_objects({"continuous": drawn.continuous, **options}))
    return {name: [[p.cuts.tolist(), f"{p.cost:.9f}"] for p in found.binnings[name]] for name in found.binnings}


def arcs(**options: Any) -> dict[str, Any]:
    """A bootstrap of the structure."""
    drawn = random_table(0, n_rows=70, n_columns=5)
    found = jaxbn.bootstrap(
        drawn.frame,
        **in_objects({"continuous": drawn.continuous, "resamples": RESAMPLES, "seed": 4, "max_parents": 2, **options}),
    )
    parents = [{child: list(names) for child, names in each.items()} for each in found.parents]
    return {"parents": parents, "edges": {n: [p.cuts.tolist() for p in ps] for n, ps in found.binnings.items()}}


def restarts() -> dict[str, Any]:
    """Learning from several orders."""
    drawn = random_table(0, n_rows=70, n_columns=5)
    net = jaxbn.learn(
        drawn.frame,
        restarts=5,
        max_parents=2,
        method="bayesian",
        search="k2",
        columns=jaxbn.Columns(continuous=drawn.continuous),
    )
    return {"parents": {child: list(names) for child, names in net.parents.items()}, "score": net.score}


def networks() -> dict[str, Any]:
    """A network by each method, as text that shows every digit."""
    found = {}
    for method in ("evidence", "bayesian"):
        drawn = random_table(3, n_rows=150, n_columns=6)
        columns = jaxbn.Columns(continuous=drawn.continuous)
        net = jaxbn.learn(drawn.frame, columns=columns, method=method, max_parents=2, progress=False)
        cuts = {name: [cut.hex() for cut in binning.cuts.tolist()] for name, binning in net.binnings.items()}
        found[method] = {
            "parents": {k: list(v) for k, v in net.parents.items()},
            "cuts": cuts,
            "score": net.score.hex(),
        }
    return found


def scores() -> list[float]:
    """K2 scores of some families, with rows split over the devices where there are several and little memory."""
    from jaxbn.counts.codes import Column
    from jaxbn.scores.families import Family, score_families

    rng = np.random.default_rng(0)
    columns = [Column(i, rng.integers(0, k, 3000).astype(np.int32), k) for i, k in enumerate((2, 3, 4, 5, 9))]
    families = [Family(columns[i], tuple(columns[j] for j in range(i))) for i in range(5)]
    return score_families([(family, 1.0) for family in families])


def start(case: str, out: Path, *place: int, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """Start a case in a process of its own."""
    command = [sys.executable, "-m", "tests.helpers.shared_runs", case, str(out), *map(str, place)]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, **(env or {})}, stderr=subprocess.PIPE, text=True)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _run(case: str, out: Path) -> Any:
    if case == "both":
        return {"cuts": cuts(), "arcs": arcs(checkpoint=out.with_name("run.json")), "restarts": restarts()}
    if case == "slow arcs":  # the second process takes its time, so that it can be killed meanwhile
        from jaxbn.evaluation import bootstrap

        make = bootstrap.all_runs

        def slow(runs: Any, watch: Any) -> Any:
            if out.suffix == ".1":
                time.sleep(3)
            return make(runs, watch)

        bootstrap.all_runs = slow
        return arcs(checkpoint=out.with_name("run.json"))
    if case.startswith("networks"):
        if case == "networks counted there":  # by an accelerator, however few the rows are
            from jaxbn.counts import device

            device.FEWEST_ROWS = 0
        return networks()
    if case == "other arguments":
        return cuts(level=0.5, max_passes=2 + out.suffix.count("1"))
    import jax

    return {"devices": len(jax.local_devices()), "cuts": cuts(), "arcs": arcs(), "scores": scores()}


if __name__ == "__main__":
    case, out, *place = sys.argv[1:]
    file = Path(out)
    if place:
        import jax

        rank, port = place
        jax.distributed.initialize(f"127.0.0.1:{port}", 2, int(rank), heartbeat_timeout_seconds=20)
        file = Path(f"{out}.{rank}")
    try:
        result = _run(case, file)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)  # without waiting for the other, as a scheduler would end it
    file.write_text(json.dumps(result))
