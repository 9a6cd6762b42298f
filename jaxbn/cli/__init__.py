"""The command ``jaxbn``. Nothing slow is imported before a command needs it: ``--help`` answers at once."""

from __future__ import annotations

import sys
import time

from jaxbn.runtime import limits

STARTED = [float("inf")]
"""When the command began, by the clock of time limits: what it takes to import and to read counts."""


def main() -> None:
    """Run the command line: results go to standard output, all else to standard error.

    The exit code is 0 for success, 1 for an error, 2 for wrong usage, 3 after Ctrl-C with a result, 130 after Ctrl-C
    without one.
    """
    STARTED[0] = time.monotonic()
    try:
        with limits.listening(last=True):  # before the imports that Ctrl-C must not tear apart
            from jaxbn.cli.app import run_command

            run_command()
    except KeyboardInterrupt:  # in a moment between imports, before or after the command itself
        from jaxbn.cli.errors import INTERRUPTED, tell

        tell("jaxbn: interrupted; there is no result")
        sys.exit(INTERRUPTED)
