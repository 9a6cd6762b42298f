"""Kill a run of 40 restarts ten times with SIGKILL, at random moments, and resume it each time from its checkpoint.

Run from the project's root: ``python -m benchmarks.kill_and_resume [kills] [seed]``. The checkpoint must be readable
after every kill, and the end result that of a run never killed, bit for bit.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.helpers.killed_runs import RESTARTS, kill_and_resume, run


def main(kills: int = 10, seed: int = 0) -> None:
    with tempfile.TemporaryDirectory() as folder:
        killed_at, result = kill_and_resume(Path(folder), kills, seed)
        names = [entry.name for entry in Path(folder).iterdir()]
    same = result == run()
    print(f"killed {len(killed_at)} times, with {killed_at} of {RESTARTS} restarts finished")
    print(f"files left: {names}")
    print(f"result is that of a run never killed: {same}")
    if not same:
        sys.exit(1)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
