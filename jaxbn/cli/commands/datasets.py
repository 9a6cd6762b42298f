"""``jaxbn datasets``: the built-in data sets."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from jaxbn.cli import options, output, show


def datasets(
    name: Annotated[str | None, typer.Argument(help="Print this data set as CSV.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="CSV file instead of standard output.")] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """List the built-in data sets, or print one."""
    from jaxbn.datasets._catalogue import CATALOGUE

    output.check_free((out,), force)
    if name is not None:
        from jaxbn.datasets import load

        text = load(name).frame.to_csv(index=False)
        if out is not None:
            output.write_text(out, text)
        else:
            sys.stdout.write(text)
    elif as_json:
        output.put_json({
            key: {"columns": each.columns.split(), "continuous": each.continuous, "target": each.target,
                  "structures": list(each.structures), "source": each.source}
            for key, each in CATALOGUE.items()
        })  # fmt: skip
    else:
        rows = [
            (key, str(len(each.columns.split())), str(len(each.continuous)), each.target, ", ".join(each.structures))
            for key, each in CATALOGUE.items()
        ]
        show.table(("name", "columns", "continuous", "target", "structures"), rows, numbers=(1, 2))
