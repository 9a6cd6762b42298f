"""``jaxbn posterior``: how probable is each arc, each cut; and the average of many networks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jaxbn.cli import graph as graphs
from jaxbn.cli import options, output, show
from jaxbn.cli.compiler import start_compiler
from jaxbn.cli.read_table import checked_table, form, named, names_in, read

if TYPE_CHECKING:
    from jaxbn.posterior.results import Posterior


def posterior(
    data: options.Data,
    graph: options.Graph = None,
    draws: Annotated[int, typer.Option(help="Networks to draw.")] = 100,
    chains: Annotated[int, typer.Option(help="Chains that they are drawn by.")] = 4,
    burn_in: Annotated[int, typer.Option(help="Sweeps of each chain before its first draw.")] = 10,
    thin: Annotated[int, typer.Option(help="Sweeps from one draw to the next.")] = 1,
    seed: options.Seed = 0,
    continuous: options.Continuous = [],  # noqa: B006 (typer copies it)
    discrete: options.Discrete = [],  # noqa: B006
    drop: options.Drop = [],  # noqa: B006
    keep: options.Keep = [],  # noqa: B006
    dates: options.Dates = [],  # noqa: B006
    date_parts: options.DateParts = [],  # noqa: B006
    missing: options.Missing = "infer",
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = None,
    na_values: options.NaValues = [],  # noqa: B006
    max_parents: options.MaxParents = None,
    required: options.Required = [],  # noqa: B006
    forbidden: options.Forbidden = [],  # noqa: B006
    links: options.Known = None,
    tiers: options.Tiers = [],  # noqa: B006
    roots: options.Roots = [],  # noqa: B006
    leaves: options.Leaves = [],  # noqa: B006
    min_width: options.MinWidth = None,
    max_bins: options.MaxBins = None,
    shape: options.Shape = None,
    group: options.Group = [],  # noqa: B006
    no_group: options.NoGroup = False,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds after which the draws so far are taken.", rich_help_panel=options.LEARNING),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Keep the draws in this file, and go on from it.", rich_help_panel=options.LEARNING),
    ] = None,
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
    source = read(
        data,
        form(delimiter, encoding, decimal, na_values),
        continuous=continuous,
        discrete=discrete,
        drop=drop,
        dates=dates,
        date_parts=date_parts,
    )
    structure = None
    if graph is not None:
        source, structure = graphs.structure(source, graph)
    output.check_free((out, report), force)
    chosen = options.given(
        draws=draws,
        chains=chains,
        burn_in=burn_in,
        thin=thin,
        seed=seed,
        max_parents=max_parents,
        **graphs.knowledge(required, forbidden, links),
        tiers=[names_in([tier], "--tier", source.frame.columns) for tier in tiers],
        roots=names_in(roots, "--root", source.frame.columns),
        leaves=names_in(leaves, "--leaf", source.frame.columns),
        min_width=min_width,
        max_bins=max_bins,
        shape=shape,
        group=() if no_group else names_in(group, "--group", source.frame.columns),
        time_limit=time_limit,
    )
    table = checked_table(source, missing, None if structure else named(source, keep, chosen))
    start_compiler(no_cache, table.n_rows)
    from jaxbn.learning.options import in_objects
    from jaxbn.posterior.sample_posterior import sample_posterior

    found = sample_posterior(table, structure, checkpoint=checkpoint, **in_objects(chosen))
    _give(found, threshold, as_json)
    if out is not None:
        output.write(out, found.average.save)
    if report is not None:
        from jaxbn.drawing.posterior_plots import consensus_network
        from jaxbn.drawing.report import report as make_report

        net = consensus_network(found, threshold)
        options_used = {**chosen, "threshold": threshold}
        output.write_text(report, make_report(net, table, title=source.name, options=options_used, posterior=found))


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
        words = ", ".join(f"{parent} -> {child}" for parent, child in consensus.edges) or "no arc"
        show.say(f"consensus, probability above {threshold:g}: {words}")
        show.say(agreement(found))
