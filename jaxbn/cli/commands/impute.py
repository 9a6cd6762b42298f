"""``jaxbn impute``: a table with its missing entries filled in by a network."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from jaxbn.cli import options, output
from jaxbn.cli.errors import tell
from jaxbn.cli.library import reads_rows
from jaxbn.cli.read_model import read_model
from jaxbn.cli.read_table import read


@reads_rows
def impute(
    model: options.Model,
    data: options.Data,
    out: options.Out = None,
    strategy: Annotated[
        str,
        typer.Option(
            "--strategy",
            "--how",
            help="mean: each entry alone; regression: the same, improved by regression on the other columns; "
            "most_probable: all entries of a row jointly; draw: a random draw from the posterior.",
        ),
    ] = "mean",
    seed: options.Seed = 0,
    unknown: options.Unknown = "error",
    written: Any = None,
    force: options.Force = False,
) -> None:
    """Fill in the missing entries of a table, given what each row has."""
    output.check_free((out,), force)
    net = read_model(model)
    source = read(data, written)
    filled = net.impute(source.frame, strategy, seed=seed, unknown=unknown)  # type: ignore[arg-type]
    before, after = int(source.frame.isna().sum().sum()), int(filled.isna().sum().sum())
    left = f"; {after} are left, in columns that the network does not have" if after else ""
    tell(f"{before - after} missing entries filled in{left}")
    output.put_csv(filled, out)
