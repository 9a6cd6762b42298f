"""The command ``jaxbn``, in a process of its own or in this one, and a small table for it."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from jaxbn.cli import main

ROOT = Path(__file__).resolve().parents[2]
ROWS = 60
SURROUNDINGS = {"COLUMNS": "200", "NO_COLOR": "1"}


class Command:
    """Runs ``jaxbn`` in a directory of its own, in this process: starting another takes seconds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
            **SURROUNDINGS,
        }

    def __call__(self, *arguments: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[str]:
        streams = [io.TextIOWrapper(io.BytesIO(content), encoding="utf-8") for content in (stdin, b"", b"")]
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("default")  # warnings are errors in tests, but not in the command
            for name, value in (SURROUNDINGS | environment).items():
                patch.setenv(name, value)
            for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
                patch.setattr(sys, name, stream)
            patch.setattr(sys, "argv", ["jaxbn", *arguments])
            patch.setattr(logging.getLogger("jaxbn"), "handlers", [])
            patch.chdir(self.folder)
            code = self._ends()
        text = (stream.buffer.getvalue().decode("utf-8", "replace") for stream in streams[1:] if not stream.flush())
        return subprocess.CompletedProcess(["jaxbn", *arguments], code, *text)

    @staticmethod
    def _ends() -> int:
        try:
            main()
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else int(end.code is not None)
        return 0

    def fails(self, *arguments: str, says: str, code: int = 1, **environment: str) -> None:
        """One line on standard error, nothing on standard output, no traceback, no new file."""
        before = sorted(self.folder.iterdir())
        done = self(*arguments, **environment)
        assert done.returncode == code, done.stderr
        assert done.stdout == ""
        errors = [line for line in done.stderr.splitlines() if line.startswith("jaxbn: error: ")]
        assert len(errors) == 1, done.stderr
        assert says in errors[0]
        assert "Traceback" not in done.stderr
        assert sorted(self.folder.iterdir()) == before

    def has(self, name: str, content: str | bytes) -> str:
        (self.folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return name


class RealCommand(Command):
    """Runs ``jaxbn`` as users do: in a process of its own."""

    def __call__(self, *arguments: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "jaxbn", *arguments],
            cwd=self.folder,
            env=self.environment | environment,
            input=stdin,
            capture_output=True,
            timeout=300,
        )
        text = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
        return subprocess.CompletedProcess(done.args, done.returncode, *text)


def frame() -> dict[str, list]:
    """A kind, a size that goes with it, and an age that does not."""
    rng = np.random.default_rng(3)
    kind = rng.integers(0, 2, ROWS)
    size = (3.0 * kind + rng.normal(size=ROWS)).round(3)
    return {"kind": [("small", "large")[k] for k in kind], "size": size.tolist(), "age": (rng.random(ROWS)).tolist()}


def as_csv(columns: dict[str, list], delimiter: str = ",") -> str:
    """The table as text."""
    rows = zip(*columns.values(), strict=True)
    return "\n".join(delimiter.join(map(str, row)) for row in [list(columns), *rows]) + "\n"
