"""``jaxbn sample``: rows drawn from a network."""

from __future__ import annotations

from typing import Annotated

import typer

from jaxbn.cli import options, output
from jaxbn.cli.read_model import read_any_model


def sample(
    model: options.Model,
    n: Annotated[int, typer.Option("--n", "-n", help="Rows to draw.")] = 10,
    seed: options.Seed = 0,
    out: options.Out = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Draw rows from a network, or from an average of networks, in original units, as CSV."""
    output.check_free((out,), force)
    rows = read_any_model(model).sample(n, seed)
    output.put_text(output.json_text(rows.to_dict("records")) if as_json else rows.to_csv(index=False), out)
