"""``jaxbn paper``: the tables and figures of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jaxbn.cli import options
from jaxbn.cli.compiler import start_compiler


def paper(
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory for tables and figures.")] = Path("paper"),
    quick: Annotated[bool, typer.Option("--quick", help="A subset, in under two minutes.")] = False,
    force: options.Force = False,
    no_cache: options.NoCache = False,
) -> None:
    """Reproduce the tables and figures of the paper beside the published ones."""
    start_compiler(no_cache)
    from jaxbn.paper import run

    run(out, quick, force)
