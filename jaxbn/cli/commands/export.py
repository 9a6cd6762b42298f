"""``jaxbn export``, ``jaxbn report``, ``jaxbn datasets`` and ``jaxbn paper``."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jaxbn.cli import options, show
from jaxbn.cli import output as writing
from jaxbn.cli.errors import CommandError, UsageError
from jaxbn.cli.held_out import held_out, published
from jaxbn.cli.read_table import Format, read, read_model

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet

FORMATS = ("bif", "json", "dot", "svg", "png", "pdf")


def export(
    model: options.Model,
    out: Annotated[Path, typer.Option("--out", "-o", help=f"File; its ending says the format: {', '.join(FORMATS)}.")],
    force: options.Force = False,
) -> None:
    """Write a network for other programs (bif, json, dot) or as a picture (svg, png, pdf)."""
    kind = out.suffix.lower().lstrip(".")
    if kind not in FORMATS:
        raise UsageError(f"--out {str(out)!r} must end in one of {', '.join('.' + each for each in FORMATS)}")
    writing.check_free((out,), force)
    net = read_model(model)
    writers: dict[str, Any] = {
        "bif": net.to_bif,
        "json": net.save,
        "dot": lambda draft: draft.write_text(_dot(net), encoding="utf-8"),
        "svg": lambda draft: draft.write_text(_svg(net), encoding="utf-8"),
    }
    writing.write(out, writers.get(kind, lambda draft: _picture(net, draft)))


def report(
    model: options.Model,
    data: Annotated[
        str | None, typer.Argument(help="The rows, for the histograms: a file, a built-in data set, or - for stdin.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="HTML file; by default MODEL.report.html.")] = None,
    compare: Annotated[bool, typer.Option("--compare", help="Cross-validate the structure with every method.")] = False,
    folds: options.Folds = 10,
    seed: options.Seed = 0,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = ".",
    force: options.Force = False,
    no_cache: options.NoCache = False,
) -> None:
    """Write an HTML report on a network: one file that opens offline."""
    stem = Path(model).name.removesuffix(".json").removesuffix(".bif").removesuffix(".jaxbn")
    out = out or Path(f"{stem}.report.html")
    writing.check_free((out,), force)
    if compare and (data is None or folds < 2):
        raise UsageError("--compare needs the rows as a second argument, and --folds of at least 2")
    net = read_model(model)
    table, scores, notes = None, None, ""
    if data is not None:
        source = read(data, Format(delimiter, encoding, decimal))
        from jaxbn.inputs.table import as_table

        _check_columns(net, source.frame)
        table = as_table(source.frame[list(net.names)], continuous=list(net.policies), missing="drop")
        if compare:
            options.start_compiler(no_cache)
            scores, notes = held_out(net, table, folds, seed, True, {"method": "bayesian"}), published(source)
    from jaxbn.drawing.report import report as make_report

    made = {"model": Path(model).name, "data": data, **({"folds": folds, "seed": seed} if compare else {})}
    writing.write_text(out, make_report(net, table, title=stem, scores=scores, notes=notes, options=made))


def datasets(
    name: Annotated[str | None, typer.Argument(help="Print this data set as CSV.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="CSV file instead of standard output.")] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """List the built-in data sets, or print one."""
    from jaxbn.datasets._catalogue import CATALOGUE

    writing.check_free((out,), force)
    if name is not None:
        from jaxbn.datasets import load

        text = load(name).frame.to_csv(index=False)
        if out is not None:
            writing.write_text(out, text)
        else:
            sys.stdout.write(text)
    elif as_json:
        writing.put_json({
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


def paper(
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory for tables and figures.")] = Path("paper"),
    quick: Annotated[bool, typer.Option("--quick", help="A subset, in under two minutes.")] = False,
    force: options.Force = False,
    no_cache: options.NoCache = False,
) -> None:
    """Reproduce the tables and figures of the paper beside the published ones."""
    if find_spec("jaxbn.paper") is None:
        raise CommandError("this installation has no module jaxbn.paper; install jaxbn again")
    options.start_compiler(no_cache)
    from importlib import import_module

    import_module("jaxbn.paper").run(out, quick, force)


def _check_columns(net: BayesNet, frame: Any) -> None:
    from jaxbn.inputs.columns import suggest

    for name in net.names:
        if name not in frame.columns:
            raise CommandError(f"the table has no column {name!r} of the network; {suggest(name, frame.columns)}")


def _svg(net: BayesNet) -> str:
    """The drawing of the report, in black on nothing."""
    from jaxbn.drawing.svg import network_svg

    return network_svg(net).replace("<svg ", '<svg color="black" ', 1) + "\n"


def _dot(net: BayesNet) -> str:
    import json  # Graphviz quotes as JSON does

    nodes = [f"  {json.dumps(name)};" for name in net.names]
    arcs = [f"  {json.dumps(p)} -> {json.dumps(child)};" for child, found in net.parents.items() for p in found]
    return "\n".join(["digraph jaxbn {", *nodes, *arcs, "}"]) + "\n"


def _picture(net: BayesNet, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    figure: Any = net.plot().figure
    figure.savefig(path, dpi=160)
