"""``jaxbn compare``: how two networks over the same columns differ."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jaxbn.cli import options, output
from jaxbn.cli.read_model import read_model

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet


def compare(
    model: options.Model,
    other: Annotated[str, typer.Argument(help="Another model file with the same columns.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Picture of both: svg, png or pdf.")] = None,
    force: options.Force = False,
) -> None:
    """Tell how two networks differ: arcs added, removed and turned round, and cuts."""
    output.check_free((out,), force)
    this, that = read_model(model), read_model(other)
    found = this.compare(that)
    lines = [str(found)]
    for name in this.names:
        before, after = _states(this, name), _states(that, name)
        if before != after:
            lines.append(f"{name}: {before} -> {after}")
    typer.echo("\n".join(lines))
    if out is not None:
        import matplotlib as mpl

        mpl.use("Agg")
        picture, figure = BytesIO(), found.plot().figure
        figure.savefig(picture, format=out.suffix.lstrip(".") or "png", dpi=160)  # type: ignore[union-attr]
        output.write_bytes(out, picture.getvalue())


def _states(net: BayesNet, name: str) -> str:
    from jaxbn.model.words import count_states, cuts_in_words

    words = count_states(net, name)
    return f"{words} ({cuts_in_words(net, name)})" if name in net.binnings and net.binnings[name].n_bins > 1 else words
