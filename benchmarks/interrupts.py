"""Interrupt a run with SIGINT fifty times, at random moments, half of them in Python and half at the command line.

Run from the project's root: ``python -m benchmarks.interrupts [interrupts] [seed] [seconds]``. Each process must end by
itself, without a crash; where a run was finished when the interrupt came, there must be a network.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
ROWS, COLUMNS, RESTARTS = 2_000, 12, 20

IN_PYTHON = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started it deaf to Ctrl-C
print("started", flush=True)
import pandas as pd, jaxbn
net = jaxbn.learn(pd.read_csv(sys.argv[1]), restarts={RESTARTS}, checkpoint=sys.argv[2], progress=False)
net.save(sys.argv[3])
"""
AT_THE_COMMAND_LINE = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
print("started", flush=True)
from jaxbn.cli.main import main
table, checkpoint, model = sys.argv[1:]
sys.argv = ["jaxbn", "learn", table, "--restarts", "{RESTARTS}", "--checkpoint", checkpoint, "--no-files", "-o", model,
            "--folds", "2"]
main()
"""
PROGRAMS = {"Python": IN_PYTHON, "command line": AT_THE_COMMAND_LINE}
CLEAN = {0: "ended with a network", 130: "stopped", -signal.SIGINT: "stopped"}


def write_table(file: Path, seed: int) -> None:
    """A chain of twelve continuous columns."""
    rng = np.random.default_rng(seed)
    values = np.cumsum(rng.normal(size=(ROWS, COLUMNS)), axis=1).round(3)
    header = ",".join(f"x{i}" for i in range(COLUMNS))
    np.savetxt(file, values, fmt="%.3f", delimiter=",", header=header, comments="")


def interrupted(program: str, folder: Path, after: float) -> tuple[str, bool, str]:
    """How a run ended that was interrupted, whether that is as it should be, and what it said."""
    checkpoint, model = folder / "checkpoint.json", folder / "model.json"
    for file in (checkpoint, model):
        file.unlink(missing_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(folder / "table.csv"), str(checkpoint), str(model)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()  # from here on it hears signals
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    finished = checkpoint.exists()  # one run at least
    _, said = process.communicate(timeout=600)
    ending = CLEAN.get(process.returncode, f"crashed with {process.returncode}")
    lost = finished and not model.exists()
    half = process.returncode == 0 and not model.exists()
    clean = process.returncode in CLEAN and "Fatal" not in said
    return ending + (", a finished run was lost" if lost else ""), clean and not lost and not half, said


def main(interrupts: int = 50, seed: int = 0, seconds: int = 30) -> None:
    rng = random.Random(seed)
    seen: Counter[str] = Counter()
    faults = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder / "table.csv", seed)
        for i in range(interrupts):
            place = list(PROGRAMS)[i % 2]
            after = rng.uniform(0, seconds)
            ending, good, said = interrupted(PROGRAMS[place], folder, after)
            print(f"{place} after {after:.1f} s: {ending}", flush=True)
            seen[f"{place}: {ending}"] += 1
            if not good:
                faults.append(said)
    for line, times in sorted(seen.items()):
        print(f"{times:3d}  {line}")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
