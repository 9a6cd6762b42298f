"""``jaxbn report``: a page about a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jaxbn.cli import options, output
from jaxbn.cli.compiler import start_compiler
from jaxbn.cli.errors import CommandError, UsageError
from jaxbn.cli.held_out import held_out, published
from jaxbn.cli.library import reads_rows
from jaxbn.cli.read_model import read_model
from jaxbn.cli.read_table import read

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet


@reads_rows
def report(
    model: options.Model,
    data: Annotated[
        str | None, typer.Argument(help="The rows, for the histograms: a file, a built-in data set, or - for stdin.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="HTML file; by default MODEL.report.html.")] = None,
    compare: Annotated[bool, typer.Option("--compare", help="Cross-validate the structure with every method.")] = False,
    folds: options.Folds = 10,
    seed: options.Seed = 0,
    written: Any = None,
    force: options.Force = False,
    no_cache: options.NoCache = False,
) -> None:
    """Write an HTML report on a network: one file that opens offline."""
    stem = Path(model).name.removesuffix(".json").removesuffix(".bif").removesuffix(".jaxbn")
    out = out or Path(f"{stem}.report.html")
    output.check_free((out,), force)
    if compare and (data is None or folds < 2):
        raise UsageError("--compare needs the rows as a second argument, and --folds of at least 2")
    net = read_model(model)
    table, scores, notes = None, None, ""
    if data is not None:
        source = read(data, written)
        from jaxbn.drawing.missing import rows_of

        _check_columns(net, source.frame)
        table = rows_of(net, source.frame)
        if compare:
            start_compiler(no_cache)
            scores, notes = held_out(net, table, folds, seed, True, {"method": "evidence"}), published(source)
    from jaxbn.drawing.report import report as make_report

    made = {"model": Path(model).name, "data": data, **({"folds": folds, "seed": seed} if compare else {})}
    output.write_text(out, make_report(net, table, title=stem, scores=scores, notes=notes, options=made))


def _check_columns(net: BayesNet, frame: Any) -> None:
    from jaxbn.inputs.checks import suggest
    from jaxbn.inputs.states import with_signs

    for name in net.names:
        if name not in with_signs(frame, [name]).columns:
            raise CommandError(f"the table has no column {name!r} of the network; {suggest(name, frame.columns)}")
