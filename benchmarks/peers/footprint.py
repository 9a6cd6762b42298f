"""What each program costs before it does anything: seconds of its import, megabytes of its installation."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from benchmarks.peers.environments import Environment, folder_megabytes
from benchmarks.peers.jobs import ROOT, Row

MODULES = {
    "bnlearn": "bnlearn",
    "khiops": "khiops.sklearn",
    "orange": "Orange.preprocess.discretize",
    "optbinning": "optbinning",
    "sklearn": "sklearn.preprocessing",
    "astropy": "astropy.stats",
    "ruptures": "ruptures",
    "pyagrum": "pyagrum",
    "pgmpy": "pgmpy.inference",
    "pybnesian": "pybnesian",
}
OWN_IMPORTS = {"jaxbn (import alone)": "import jaxbn", "jaxbn (all of learn)": "import jaxbn; jaxbn.learn"}
REPEATS = 3


def import_seconds(python: str, code: str) -> float:
    """Best of three processes, without the start of Python itself."""
    return max(0.0, _best(python, code) - _best(python, "pass"))


def _best(python: str, code: str) -> float:
    variables = os.environ | {"PYTHONPATH": str(ROOT)} if python == sys.executable else dict(os.environ)
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        subprocess.run([python, "-c", code], env=variables, check=True, capture_output=True, timeout=120)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def of_peers(environments: dict[str, Environment]) -> list[Row]:
    """A row for each environment, and for jaxbn."""
    rows: list[Row] = []
    for label, code in OWN_IMPORTS.items():
        rows.append({"label": label, "megabytes": own_megabytes(), "import": import_seconds(sys.executable, code)})
    for peer, environment in environments.items():
        row: Row = {"label": peer, "version": environment.version, "versions": environment.versions}
        if environment.python is None:
            rows.append(row | {"failure": f"did not install: {environment.error}"})
            continue
        try:
            row["import"] = import_seconds(environment.python, f"import {MODULES[peer]}")
        except subprocess.SubprocessError as error:
            row["failure"] = f"cannot be imported: {error}"[:300]
        rows.append(row | {"megabytes": environment.megabytes, "install": environment.seconds})
    return rows


def own_megabytes() -> float:
    """jaxbn's source and the distributions it needs, found from its list of requirements in this environment."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    waiting, seen, total = [_name(text) for text in project["dependencies"]], set(), 0.0
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue
        total += sum(_size(Path(str(found.locate_file(file)))) for file in found.files or ())
        waiting += [_name(text) for text in found.requires or () if "extra ==" not in text]
    return total / 1e6 + folder_megabytes(ROOT / "jaxbn")


def _name(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0].lower()


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
