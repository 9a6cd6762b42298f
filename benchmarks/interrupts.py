"""Interrupt commands and functions with SIGINT at random moments, and see that each ends as the documentation says.

Run from the project's root: ``python -m benchmarks.interrupts [interrupts] [seed] [seconds] [slow] [twice]``. An
interrupt comes 0.1 s to `seconds` after the start. A command must end by itself within `slow` seconds (of the clock or,
beside other work, of the processor), without a crash or a traceback, with a message, and with exit code 3 and a result,
with 130 and none, or with 0 if it was done before. A Python function must return what there is with a warning, or raise
KeyboardInterrupt. With `twice` 1, the long ones are interrupted again 0.05 to 1 s later, which ends them at once.
"""

from __future__ import annotations

import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).parents[1]
ROWS, COLUMNS = 2_000, 12
SLOW = 3  # seconds after the interrupt, of the clock and of the processor, that are too many

COMMANDS = (
    "learn table.csv --restarts 20 --folds 2 --force",
    "learn holes.csv --restarts 4 --folds 2 --force",
    "discretize table.csv --graph graph.json",
    "bootstrap table.csv --resamples 50",
    "posterior table.csv --draws 200",
    "evaluate table.csv --folds 5 --restarts 2",
    "query model.json x1 --given x0=0.5",
    "sample model.json -n 100000",
    "impute model.json holes.csv --how regression",
    "report model.json table.csv --out page.html --force --compare",
    "export model.json --out model.bif --force",
)
CALLS = (
    "jaxbn.learn(table, restarts=20, progress=False)",
    "jaxbn.learn(holes, restarts=4, progress=False)",
    "jaxbn.bootstrap(table, resamples=50, progress=False)",
    "jaxbn.sample_posterior(table, draws=200, progress=False)",
    "jaxbn.cross_validate(table, folds=5, restarts=2, progress=False)",
    "jaxbn.discretize(table, {'x1': ['x0'], 'x2': ['x1']})",
)
COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started it deaf to Ctrl-C
from jaxbn.cli import main
print("started", file=sys.stderr, flush=True)
sys.argv = ["jaxbn", *sys.argv[1:]]
main()
"""
CALL = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import pandas as pd, jaxbn, warnings
table, holes = pd.read_csv("table.csv"), pd.read_csv("holes.csv")
jaxbn.learn, jaxbn.bootstrap, jaxbn.sample_posterior, jaxbn.cross_validate, jaxbn.discretize
print("started", file=sys.stderr, flush=True)
try:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = eval(sys.argv[1])
except KeyboardInterrupt:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print("KeyboardInterrupt", flush=True)
    sys.exit(130)
signal.signal(signal.SIGINT, signal.SIG_IGN)  # what comes after the call is not ours
told = [str(w.message) for w in caught if issubclass(w.category, jaxbn.InterruptedWarning)]
print(*told, flush=True)
sys.exit(3 if told else 0)
"""


class Ended(NamedTuple):
    """How an interrupted process ended."""

    code: int
    seconds: float  # after the interrupt
    processor: float  # seconds that it used after the interrupt
    said: str

    def fault(self, slow: float) -> str:
        """What is wrong with it, if anything."""
        if self.code not in (0, 3, 130):
            return f"exit code {self.code}"
        if "Traceback" in self.said or "Exception ignored" in self.said or "Fatal" in self.said:
            return "a traceback"
        if self.code in (3, 130) and "nterrupt" not in self.said:
            return "no message"
        return "LATE" if min(self.seconds, self.processor) > slow else ""


def write_files(folder: Path, seed: int) -> None:
    """A chain of continuous columns, the same with holes, a graph, and a small model."""
    rng = np.random.default_rng(seed)
    values = np.cumsum(rng.normal(size=(ROWS, COLUMNS)), axis=1).round(3)
    header = ",".join(f"x{i}" for i in range(COLUMNS))
    np.savetxt(folder / "table.csv", values, fmt="%.3f", delimiter=",", header=header, comments="")
    holed = np.where(rng.random(values.shape) < 0.1, np.nan, values)
    lines = [",".join("" if np.isnan(x) else f"{x:.3f}" for x in row) for row in holed]
    (folder / "holes.csv").write_text("\n".join([header, *lines]) + "\n")
    (folder / "graph.json").write_text('{"x1": ["x0"], "x2": ["x1"], "x3": ["x2"]}')
    command = [sys.executable, "-m", "jaxbn", "learn", "table.csv", "--restarts", "1", "--folds", "0", "--no-files"]
    environment = {"PYTHONPATH": str(ROOT)}
    subprocess.run([*command, "-o", "model.json"], cwd=folder, check=True, capture_output=True, env=environment)


def interrupted(program: str, arguments: list[str], folder: Path, after: float, again: float = 0.0) -> Ended:
    """Run a program, interrupt it some seconds after its start, if wanted once more, and wait for its end."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments], cwd=folder, text=True, env={"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    process.stderr.readline()  # from here on it is ours
    time.sleep(after)
    begin, used, ended = time.perf_counter(), used_by(process.pid), of_children()
    process.send_signal(signal.SIGINT)
    if again:
        time.sleep(again)
        process.send_signal(signal.SIGINT)
    output, said = process.communicate(timeout=300)
    return Ended(process.returncode, time.perf_counter() - begin, of_children() - ended - used, output[-500:] + said)


def used_by(process: int) -> float:
    """Processor seconds of a running process; 0 where the system does not tell."""
    try:
        numbers = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")


def of_children() -> float:
    """Processor seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(interrupts: int = 200, seed: int = 0, seconds: int = 12, slow: int = SLOW, twice: int = 0) -> None:
    rng = random.Random(seed)
    tried = [*((COMMAND, each) for each in COMMANDS), *((CALL, each) for each in CALLS)]
    if twice:
        tried = [(kind, each) for kind, each in tried if re.search("learn|boots|poster|impute|report", each)]
    seen: Counter[str] = Counter()
    faults = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, seed)
        for i in range(interrupts):
            kind, what = rng.choice(tried)
            after = 0.1 + seconds * rng.random() ** 2  # more of them early
            again = rng.uniform(0.05, 1.0) if twice else 0.0
            ended = interrupted(kind, what.split() if kind is COMMAND else [what], folder, after, again)
            line = f"{what.split('(')[0] if kind is CALL else 'jaxbn ' + what.split()[0]}: {ended.code}"
            took = f"{ended.seconds:.1f} s later, {ended.processor:.1f} of the processor"
            print(f"{i + 1} {line} after {after:.1f} s, {took} {ended.fault(slow)}", flush=True)
            seen[line] += 1
            if ended.fault(slow):
                faults.append(f"{what} after {after:.2f} s, {took}: {ended.fault(slow)}\n{ended.said}")
    for line, times in sorted(seen.items()):
        print(f"{times:3d}  {line}")
    if faults:
        sys.exit("\n\n".join(faults))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
