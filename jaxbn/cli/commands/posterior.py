"""``jaxbn posterior``: how probable is each arc, each cut; and the average of many networks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jaxbn.cli import options, output, show
from jaxbn.cli.compiler import start_compiler
from jaxbn.cli.library import Asked, takes

if TYPE_CHECKING:
    from jaxbn.posterior.results import Posterior


@takes("sample_posterior")
def posterior(
    asked: Asked,
    graph: options.Graph = None,
    threshold: Annotated[float, typer.Option(help="The consensus has arcs of a probability above this.")] = 0.5,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Model file of the average, for query and sample.", rich_help_panel=options.OUTPUT
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="HTML report on the consensus network, with probabilities.", rich_help_panel=options.OUTPUT),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
    no_cache: options.NoCache = False,
) -> None:
    """Draw networks from their posterior: how probable is each arc, each cut?"""
    structure = None
    if graph is not None:
        asked, structure = asked.with_structure(graph)
    output.check_free((out, report), force)
    table = asked.table(keep_all=structure is not None)
    start_compiler(no_cache)
    from jaxbn.learning.options import in_objects
    from jaxbn.posterior.sample_posterior import sample_posterior

    found = sample_posterior(table, structure, **in_objects(asked.chosen))
    _give(found, threshold, as_json)
    if out is not None:
        output.write(out, found.average.save)
    if report is not None:
        from jaxbn.drawing.posterior_plots import consensus_network
        from jaxbn.drawing.report import report as make_report

        net = consensus_network(found, threshold)
        options_used = {**asked.chosen, "threshold": threshold}
        output.write_text(
            report, make_report(net, table, title=asked.source.name, options=options_used, posterior=found)
        )


def _give(found: Posterior, threshold: float, as_json: bool) -> None:
    consensus = found.consensus(threshold)
    if as_json:
        checked = found.diagnostics.rename_axis("quantity").reset_index()
        output.put_json(
            {
                "draws": len(found.draws),
                "finished": found.finished,
                "on_grid": list(found.on_grid),
                "arcs": found.arcs[found.arcs["strength"] > 0].to_dict("records"),
                "bins": found.bins.to_dict("records"),
                "cuts": found.cuts.to_dict("records"),
                "groups": found.groups.to_dict("records"),
                "diagnostics": checked.to_dict("records"),
                "consensus": [list(arc) for arc in consensus.edges],
            }
        )
    else:
        from jaxbn.drawing.posterior_page import agreement

        show.say(repr(found))
        show.consensus(consensus, "probability", threshold)
        show.say(agreement(found))
