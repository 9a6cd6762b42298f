"""A task that ends the process it runs in, once: what a lost worker looks like."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class KillOnce:
    """Another task, in whose first part the process is killed; `flag` remembers that it was."""

    task: Any
    flag: str
    home: int  # the process that asks, which lives on

    def of(self, batches: Any) -> Any:
        if os.getpid() != self.home:
            try:
                Path(self.flag).touch(exist_ok=False)
            except FileExistsError:
                pass
            else:
                os.kill(os.getppid() if "pyspark" in _command() else os.getpid(), signal.SIGKILL)
        return self.task.of(batches)

    def merge(self, one: Any, other: Any) -> Any:
        return self.task.merge(one, other)


def _command() -> str:
    return Path("/proc/self/cmdline").read_bytes().decode(errors="replace")
