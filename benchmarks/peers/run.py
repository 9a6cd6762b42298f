"""Run everything: environments, tasks, checks, page.

From the project's root, with a Python that has jaxbn's own dependencies: ``python -m benchmarks.peers``. Every row is
written to ``results.json`` as soon as it is there, so that a run that was stopped goes on with ``--resume``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import jaxbn
from benchmarks.peers import footprint, page
from benchmarks.peers.environments import STEPS, Environment, default_directory, make
from benchmarks.peers.jobs import HERE, NOBODY, ROOT, Job, Row, Setting, run
from benchmarks.peers.tasks import cuts, density, fixed, structure, use
from jaxbn.runtime.files import write_text

TASKS = {module.NAME: module for module in (cuts, fixed, structure, density, use)}
RESULTS = "results.json"
PROBE = (
    "import numpy, jaxbn; "
    "jaxbn.discretize_variable(numpy.arange(9.0), [numpy.arange(9) // 5], method='evidence'); "
    "jaxbn.cross_validate({'x': numpy.arange(9.0), 'c': ['a', 'b', 'b'] * 3}, {'x': ['c']}, folds=3, method='evidence')"
)


@dataclass(frozen=True)
class Run:
    """One run of the command.

    Attributes:
        options: what the command line says.
        setting: what the tasks need to know.
        environments: those that were made.
        results: everything so far, rows of earlier runs included.
        path: where the results are kept.
    """

    options: argparse.Namespace
    setting: Setting
    environments: dict[str, Environment]
    results: dict[str, Any]
    path: Path

    def task(self, name: str) -> None:
        """All rows of one task; those of an earlier run are kept only where that was asked for."""
        module, started = TASKS[name], time.perf_counter()
        keep = self.options.resume or self.options.peer
        before = self.results["tasks"].get(name) if keep else None
        known = {row["key"]: row for row in before["rows"]} if before else {}
        spent = before["seconds"] if before else 0.0
        task = {"rows": [], "checks": [], "load_before": os.getloadavg()[0]}
        self.results["tasks"][name] = task
        for job in self._jobs(module, task):
            row = self._row(job, known.pop(job.key, None))
            task["rows"] += [row] if row else []
            task["seconds"] = spent + time.perf_counter() - started
            left = {"rows": [*task["rows"], *known.values()]}  # not to be lost if the run is stopped here
            _write(self.path, self.results | {"tasks": self.results["tasks"] | {name: task | left}})
        task |= {"checks": module.checks(task["rows"]), "load_after": os.getloadavg()[0]}
        _write(self.path, self.results)

    def _jobs(self, module: Any, task: dict[str, Any]) -> Iterator[Job]:
        """The jobs of a task; if making one of them fails, the task says so and the other tasks go on."""
        try:
            yield from module.jobs(self.setting)
        except Exception as error:
            task["failure"] = f"{type(error).__name__}: {error}"
            traceback.print_exc()

    def _row(self, job: Job, known: Row | None) -> Row | None:
        """The row that is known, if it will do, or a new one."""
        asked = job.peer == NOBODY or self.options.peer is None or job.peer in self.options.peer
        if not asked or (self.options.resume and known is not None and "failure" not in known):
            return known
        row = run(job, self.environments)
        print(f"{job.key}: {row.get('failure') or page.short(row)}", flush=True)
        return row


def main() -> None:
    """Read the command line, do what it says."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that a worker under way is ended as well
    options = _options()
    output = options.output or (HERE / "quick" if options.quick else HERE)
    output.mkdir(parents=True, exist_ok=True)
    path = output / RESULTS
    results = json.loads(path.read_text()) if path.exists() else {"tasks": {}}
    if not options.page_only:
        _measure(options, results, path)
    page.write(results, output)
    failed = [check["what"] for task in results["tasks"].values() for check in task["checks"] if not check["holds"]]
    print(f"page: {output / page.PAGE}; checks that do not hold: {failed or 'none'}")


def _measure(options: argparse.Namespace, results: dict[str, Any], path: Path) -> None:
    """Environments, tasks, and what each program costs before it does anything."""
    environments = _environments(options.environments, options.peer)
    made = {
        name: asdict(replace(found, python=None)) for name, found in environments.items()
    }  # no path of this machine
    results |= {"machine": _machine(), "versions": _own_versions()}
    results["environments"] = results.get("environments", {}) | made
    with tempfile.TemporaryDirectory() as folder:
        setting = Setting(Path(folder), options.quick, options.thorough, _knows_evidence())
        this = Run(options, setting, environments, results, path)
        for name in options.only or TASKS:
            this.task(name)
    if options.peer is None and (not options.only or "use" in options.only):
        results["footprint"] = footprint.of_peers(environments)
    _write(path, results)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description="jaxbn beside its peers.")
    parser.add_argument("--environments", type=Path, default=default_directory(), help="where they are kept")
    parser.add_argument("--output", type=Path, help="where the page, the figures and the pictures go")
    parser.add_argument("--only", action="append", choices=list(TASKS), help="this task (may be given several times)")
    parser.add_argument("--peer", action="append", choices=["jaxbn", *STEPS], help="these programs only")
    parser.add_argument("--quick", action="store_true", help="a small part of every task, in about three minutes")
    parser.add_argument(
        "--thorough", action="store_true", help="longer time limits, Khiops on the ten data sets as well"
    )
    parser.add_argument("--resume", action="store_true", help="keep the rows that are there and answered")
    parser.add_argument("--page-only", action="store_true", help="write the page from the results that are there")
    return parser.parse_args()


def _environments(directory: Path, wanted: list[str] | None) -> dict[str, Environment]:
    found = {}
    for peer in STEPS:
        if wanted is None or peer in wanted:
            print(f"environment {peer} ...", end=" ", flush=True)
            found[peer] = make(peer, directory)
            made = found[peer]
            print(made.error or ", ".join(f"{name} {version}" for name, version in made.versions.items()), flush=True)
    return found


def _knows_evidence() -> bool:
    """Whether this jaxbn has the second method."""
    variables = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-c", PROBE], env=variables, capture_output=True).returncode == 0


def _machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "system": platform.system(),
        "processor": platform.machine(),
        "python": platform.python_version(),
    }


def _own_versions() -> dict[str, str]:
    return {"jaxbn": jaxbn.__version__, **{name: version(name) for name in ("jax", "numpy", "pandas")}}


def _write(path: Path, results: dict[str, Any]) -> None:
    """In one step: a stopped run leaves a whole file."""
    write_text(path, json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
