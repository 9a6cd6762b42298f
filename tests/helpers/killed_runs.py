"""A long run in a process of its own, killed at a random moment and started again.

``python -m tests.helpers.killed_runs FILE`` is the run: a checkpoint in FILE after every restart, the result beside it.
"""

from __future__ import annotations

import contextlib
import json
import random
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import jaxbn
from jaxbn.learning.checkpoint import Checkpoint
from tests.helpers.random_tables import random_table

ROOT = Path(__file__).parents[2]
RESTARTS = 40


def run(checkpoint: Path | None = None) -> dict[str, Any]:
    """The run itself; `None` keeps no checkpoint."""
    drawn = random_table(11, n_rows=90, n_columns=7)
    net = jaxbn.learn(
        drawn.frame,
        restarts=RESTARTS,
        checkpoint=checkpoint,
        method="bayesian",
        search="k2",
        columns=jaxbn.Columns(continuous=drawn.continuous),
    )
    binnings = {name: [binning.cuts.tolist(), repr(binning.cost)] for name, binning in net.binnings.items()}
    return {"parents": {c: list(p) for c, p in net.parents.items()}, "policies": binnings, "score": net.score}


def start(checkpoint: Path) -> subprocess.Popen[bytes]:
    """Start the run in a process of its own."""
    return subprocess.Popen([sys.executable, "-m", "tests.helpers.killed_runs", str(checkpoint)], cwd=ROOT)


def kill_after(process: subprocess.Popen[bytes], checkpoint: Path, more: int, delay: float, number: int) -> bool:
    """Wait until `more` restarts were added to the checkpoint, wait a little, send a signal; False: it ended before."""
    goal = n_finished(checkpoint) + more
    deadline = time.monotonic() + 300
    while n_finished(checkpoint) < goal and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    time.sleep(delay)
    ended = process.poll() is not None
    if not ended:
        process.send_signal(number)
    process.wait(timeout=300)
    return not ended


def n_finished(checkpoint: Path) -> int:
    """Restarts in a checkpoint; a file that cannot be read is an error: it is never half-written."""
    with contextlib.suppress(FileNotFoundError):
        return len(json.loads(checkpoint.read_text())["finished"])
    return 0


def kill_and_resume(folder: Path, kills: int, seed: int) -> tuple[list[int], dict[str, Any]]:
    """Kill the run again and again with SIGKILL, then let it end; the restarts each kill found, and the result."""
    rng = random.Random(seed)
    checkpoint = folder / "run.json"
    found = []
    for _ in range(kills):
        process = start(checkpoint)
        if not kill_after(process, checkpoint, rng.randint(1, 3), rng.uniform(0, 0.05), signal.SIGKILL):
            break
        found.append(n_finished(checkpoint))
    return found, run(checkpoint)


def add_slowly(checkpoint: Checkpoint, i: int, learned: Any) -> None:
    """Keep a restart, and take a rest in which a signal can come: on a busy machine it comes late."""
    add(checkpoint, i, learned)
    time.sleep(0.05)


if __name__ == "__main__":
    file = Path(sys.argv[1])
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started it deaf to Ctrl-C
    add, Checkpoint.add = Checkpoint.add, add_slowly  # type: ignore[method-assign]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = run(file)
    said = [str(warning.message) for warning in caught]
    file.with_suffix(".result").write_text(json.dumps({"result": result, "warnings": said}))
