"""One virtual environment for each peer, since their pins conflict: made once, used again, failure reported.

A peer is a tuple of pip steps. torch comes first where it is needed: the pinned release is small on machines without a
GPU, and pip is then content with it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

TORCH = ("torch==2.13.0",)
STEPS: dict[str, tuple[tuple[str, ...], ...]] = {
    "bnlearn": (TORCH, ("bnlearn==1.1.0",)),
    "khiops": (("khiops==11.0.1.1", "khiops-core==11.0.1"),),
    "orange": (("Orange3==3.40.0",),),
    "optbinning": (("optbinning==1.0.0",),),
    "sklearn": (("scikit-learn==1.8.0", "pandas==2.3.3"),),
    "astropy": (("astropy==8.0.2", "pandas==2.3.3"),),
    "ruptures": (("ruptures==1.1.10", "pandas==2.3.3"),),
    "pyagrum": (("pyagrum==3.3.1", "pandas==2.3.3"),),
    "pgmpy": (TORCH, ("pgmpy==1.1.2",)),
    "pybnesian": (("pybnesian==0.5.1", "pandas==2.3.3"),),
    "causallearn": (("causal-learn==0.1.4.8", "pandas==2.3.3"),),
    "pomegranate": (TORCH, ("pomegranate==1.1.2", "pandas==2.3.3")),
}
"""Peer -> pip install commands, in order."""

DISTRIBUTION = {"orange": "Orange3", "sklearn": "scikit-learn", "causallearn": "causal-learn"}
"""Where the distribution has another name than the peer has here."""

INSTALL_SECONDS = 900
MARK = "installed.json"


@dataclass(frozen=True)
class Environment:
    """What is known of a peer's environment.

    Attributes:
        peer: its name here.
        python: its interpreter; None where it could not be made.
        versions: distribution -> version of everything that was pinned.
        megabytes: size of its site-packages without pip and setuptools.
        seconds: how long making it took.
        error: last line of the error; empty where it was made.
    """

    peer: str
    python: str | None
    versions: dict[str, str]
    megabytes: float
    seconds: float
    error: str

    @property
    def version(self) -> str:
        """Of the peer itself."""
        return self.versions.get(DISTRIBUTION.get(self.peer, self.peer), "?")


def default_directory() -> Path:
    """Where the environments are kept if nothing else is said."""
    from platformdirs import user_cache_path

    return user_cache_path("jaxbn") / "peers"


def make(peer: str, directory: Path) -> Environment:
    """The peer's environment: the one that is there if it has the same pins, else a new one."""
    home = directory / peer
    known = _read(home / MARK)
    if known is not None and known["steps"] == _steps(peer) and Path(known["environment"]["python"]).exists():
        return Environment(**known["environment"])
    shutil.rmtree(home, ignore_errors=True)
    start = time.perf_counter()
    error = _install(peer, home)
    seconds = time.perf_counter() - start
    if error:
        return Environment(peer, None, {}, 0.0, seconds, error)
    python = str(_python(home))
    made = Environment(peer, python, _versions(peer, python), _megabytes(python), seconds, "")
    (home / MARK).write_text(json.dumps({"steps": _steps(peer), "environment": made.__dict__}, indent=1))
    return made


def _steps(peer: str) -> list[list[str]]:
    return [list(step) for step in STEPS[peer]]


def _read(path: Path) -> dict | None:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def _python(home: Path) -> Path:
    return home / ("Scripts" if os.name == "nt" else "bin") / "python"


def _install(peer: str, home: Path) -> str:
    """Make the environment; the last line of the error, or nothing."""
    commands = [[sys.executable, "-m", "venv", str(home)]]
    pip = [str(_python(home)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    commands += [[*pip, *step] for step in STEPS[peer]]
    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS)
        except subprocess.TimeoutExpired:
            return f"no end after {INSTALL_SECONDS} s: {' '.join(command[1:])}"
        if done.returncode:
            return last_line(done.stderr) or f"exit code {done.returncode}"
    return ""


def last_line(text: str) -> str:
    """The last line that says something, warnings apart, cut to a readable length."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("WARNING")]
    return lines[-1][:300] if lines else ""


def _versions(peer: str, python: str) -> dict[str, str]:
    names = [package.split("==")[0] for step in STEPS[peer] for package in step]
    code = (
        "import json, sys; from importlib.metadata import version; "
        "print(json.dumps({name: version(name) for name in sys.argv[1:]}))"
    )
    done = subprocess.run([python, "-c", code, *names], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def _megabytes(python: str) -> float:
    code = "import sysconfig; print(sysconfig.get_path('platlib'))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return folder_megabytes(Path(done.stdout.strip()))


def folder_megabytes(folder: Path, leave_out: tuple[str, ...] = ("pip", "setuptools", "pkg_resources")) -> float:
    """Sizes of all files under a folder, without what every environment begins with."""
    total = 0
    for entry in folder.iterdir():
        if entry.name.split("-")[0] not in leave_out:
            files = [entry] if entry.is_file() else entry.rglob("*")
            total += sum(path.stat().st_size for path in files if path.is_file() and not path.is_symlink())
    return total / 1e6
