"""``jaxbn score``: how odd every row of a table is, and why."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from jaxbn.cli import options, output
from jaxbn.cli.library import reads_rows
from jaxbn.cli.read_model import read_model
from jaxbn.cli.read_table import read


@reads_rows
def score(
    model: options.Model,
    data: options.Data,
    out: options.Out = None,
    shares: Annotated[bool, typer.Option("--shares", help="Add the log density of each variable.")] = False,
    simulations: Annotated[int, typer.Option(help="Rows drawn by the network for the p-values.")] = 1000,
    seed: options.Seed = 0,
    unknown: options.Unknown = "error",
    written: Any = None,
    force: options.Force = False,
) -> None:
    """Score every row: its log density, its p-value among rows that the network draws, and what is odd about it."""
    import pandas as pd

    output.check_free((out,), force)
    net = read_model(model)
    source = read(data, written)
    found = net.score_samples(source.frame, simulations=simulations, seed=seed, unknown=unknown)  # type: ignore[arg-type]
    scores = pd.concat([found.log_density, found.p_values, found.reasons()], axis=1)
    output.put_csv(pd.concat([scores, found.shares], axis=1) if shares else scores, out)
