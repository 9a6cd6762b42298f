"""``jaxbn learn``: structure and cuts together, from a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jaxbn.cli import options, output, show
from jaxbn.cli.compiler import start_compiler
from jaxbn.cli.errors import UsageError
from jaxbn.cli.held_out import held_out, published
from jaxbn.cli.library import Asked, takes
from jaxbn.cli.read_table import STANDARD_INPUT_NAME, NamedTable

if TYPE_CHECKING:
    import pandas as pd

    from jaxbn.inputs.table import Table
    from jaxbn.model.bayesnet import BayesNet


@takes("learn")
def learn(
    asked: Asked,
    folds: options.Folds = 10,
    compare: Annotated[bool, typer.Option("--compare", help="Score all other methods too.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Model file; by default NAME.jaxbn.json here.", rich_help_panel=options.OUTPUT
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="HTML report; by default NAME.report.html here.", rich_help_panel=options.OUTPUT),
    ] = None,
    no_files: Annotated[
        bool, typer.Option("--no-files", help="Write only the files that are named.", rich_help_panel=options.OUTPUT)
    ] = False,
    force: options.Force = False,
    as_json: options.Json = False,
    no_cache: options.NoCache = False,
) -> None:
    """Learn a network: structure and cuts together, from a table.

    The algorithm of the paper is --method bayesian --search k2.

    Prints the network and its held-out log-likelihood, and writes a model file and an HTML report
    (unless the table comes from stdin or the result is wanted as JSON: then only what is named).
    """
    source, chosen = asked.source, asked.chosen
    out, report = _files(source, out, report, no_files or as_json)
    output.check_free((out, report), force)
    if folds < 0 or folds == 1:
        raise UsageError(f"--folds must be at least 2, or 0 for no cross-validation, got {folds}")
    table = asked.table()
    start_compiler(no_cache)
    from jaxbn.learning.learn import learn as learn_network
    from jaxbn.learning.options import in_objects

    net = learn_network(table, **in_objects(chosen))
    if out is not None:  # before anything else that takes time
        output.write(out, net.save)
    shown = {"data": source.name, "missing": asked.missing, **chosen, "folds": folds}
    scored = held_out(net, table, folds, chosen.get("seed", 0), compare, chosen) if folds else None
    if report is not None:
        _report(net, table, source, report, scored, shown)
    if as_json:
        output.put_json(_document(net, table, source, scored, shown, {"model": out, "report": report}))
    else:
        _print(net, source, scored, folds)


def _files(
    source: NamedTable, out: Path | None, report: Path | None, no_files: bool
) -> tuple[Path | None, Path | None]:
    if no_files or source.name == STANDARD_INPUT_NAME:
        return out, report
    return out or Path(f"{source.name}.jaxbn.json"), report or Path(f"{source.name}.report.html")


def _report(
    net: BayesNet, table: Table, source: NamedTable, file: Path, scored: pd.DataFrame | None, shown: dict[str, Any]
) -> None:
    from jaxbn.drawing.report import report as make_report

    page = make_report(net, table, title=source.name, scores=scored, notes=published(source), options=shown)
    output.write_text(file, page)


def _print(net: BayesNet, source: NamedTable, scored: pd.DataFrame | None, folds: int) -> None:
    from jaxbn.drawing.missing import dependences

    show.network(net)
    show.say(f"\n{net.search}")
    for each in dependences(net):
        show.say(each.words)
    if scored is not None:
        show.say(f"\nheld out, {folds} folds, structure fixed (higher is better):")
        show.scores(scored)
        if published(source):
            show.say(published(source))


def _document(
    net: BayesNet,
    table: Table,
    source: NamedTable,
    scored: pd.DataFrame | None,
    shown: dict[str, Any],
    files: dict[str, Any],
) -> dict[str, Any]:
    from jaxbn import __version__
    from jaxbn.drawing.missing import dependences, missing_in
    from jaxbn.formats.json_file import to_dict

    return {
        "jaxbn": __version__,
        "data": source.name,
        "n_rows": net.n_rows,
        "score": net.score,
        "missing": {name: int(where.sum()) for name, where in missing_in(table).items()},
        "missing_depends_on": [each._asdict() for each in dependences(net)],
        "search": net.search and net.search.as_dict(),
        "arcs": [[parent, child] for child, found in net.parents.items() for parent in found],
        "cuts": {name: binning.cuts for name, binning in net.binnings.items()},
        "groups": {name: grouping.groups for name, grouping in net.groupings.items()},
        "held_out": None if scored is None else scored.to_dict("index"),
        "options": shown,
        "files": files,
        "network": to_dict(net),
    }
