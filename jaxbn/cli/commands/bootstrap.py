"""``jaxbn bootstrap``: how sure is each cut, each arc?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jaxbn.cli import options, output, show
from jaxbn.cli.compiler import start_compiler
from jaxbn.cli.errors import UsageError
from jaxbn.cli.library import Asked, library_options, takes

if TYPE_CHECKING:
    from jaxbn.evaluation.bootstrap_arcs import ArcBootstrap
    from jaxbn.evaluation.bootstrap_cuts import CutBootstrap
    from jaxbn.inputs.table import Table


@takes("bootstrap")
def bootstrap(
    asked: Asked,
    graph: options.Graph = None,
    threshold: Annotated[
        float, typer.Option(help="Without a graph: the consensus has arcs of a strength above this.")
    ] = 0.5,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Model file of the consensus network.", rich_help_panel=options.OUTPUT),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="HTML report on the consensus network, with strengths.", rich_help_panel=options.OUTPUT),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
    no_cache: options.NoCache = False,
) -> None:
    """Draw the rows again many times: how sure is each cut (with --graph), each arc (without)?"""
    structure = None
    if graph is not None:
        asked, structure = asked.with_structure(graph)
        if out is not None or report is not None:
            raise UsageError("--out and --report are for the consensus network; leave --graph out to learn one")
    output.check_free((out, report), force)
    table = asked.table(keep_all=structure is not None)
    start_compiler(no_cache)
    from jaxbn.evaluation.bootstrap import bootstrap as run
    from jaxbn.learning.options import in_objects

    found: Any = run(table, structure, **in_objects(asked.chosen))
    if graph is not None:
        _give_cuts(found, as_json)
    else:
        _give_arcs(found, threshold, as_json)
        _write(found, table, asked, out, report, threshold)


def _give_cuts(found: CutBootstrap, as_json: bool) -> None:
    if as_json:
        edges = {name: [binning.cuts for binning in each] for name, each in found.binnings.items()}
        records = {"cuts": found.frame.to_dict("records"), "bins": found.bins.to_dict("records")}
        output.put_json({"resamples": found.resamples, "seed": found.seed, **records, "resampled": edges})
    else:
        show.say(repr(found))


def _give_arcs(found: ArcBootstrap, threshold: float, as_json: bool) -> None:
    consensus = found.consensus(threshold)
    if as_json:
        arcs = found.frame[found.frame["strength"] > 0].to_dict("records")
        bins = found.bins.to_dict("records")
        agreed = [list(arc) for arc in consensus.edges]
        counted = {"resamples": found.resamples, "seed": found.seed, "threshold": threshold}
        output.put_json({**counted, "arcs": arcs, "bins": bins, "consensus": agreed})
    else:
        show.say(repr(found))
        show.consensus(consensus, "strength", threshold)


def _write(
    found: ArcBootstrap, table: Table, asked: Asked, out: Path | None, report: Path | None, threshold: float
) -> None:
    """The consensus network, cut and fitted on all the data."""
    if out is None and report is None:
        return
    from jaxbn.learning.discretize import discretize
    from jaxbn.learning.options import in_objects
    from jaxbn.model.fit import fit

    graph = found.consensus(threshold)
    cutting = {name: value for name, value in asked.chosen.items() if name in library_options("discretize")}
    net = fit(table, graph, discretize(table, graph, **in_objects(cutting)).codings, inside_bins=True)
    if out is not None:
        output.write(out, net.save)
    if report is not None:
        from jaxbn.drawing.report import report as make_report

        used = {**asked.chosen, "threshold": threshold}
        page = make_report(net, table, title=asked.source.name, options=used, strengths=found.strengths)
        output.write_text(report, page)
