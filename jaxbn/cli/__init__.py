"""The command ``jaxbn``. Nothing slow is imported before a command needs it: ``--help`` answers at once."""

from jaxbn.cli.main import main

__all__ = ["main"]
