"""``jaxbn bootstrap``: how sure is each cut, each arc?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jaxbn.cli import graph as graphs
from jaxbn.cli import options, output, show
from jaxbn.cli.compiler import start_compiler
from jaxbn.cli.errors import UsageError
from jaxbn.cli.read_table import Source, checked_table, form, named, names_in, read

if TYPE_CHECKING:
    from jaxbn.evaluation.bootstrap_arcs import ArcBootstrap
    from jaxbn.evaluation.bootstrap_cuts import CutBootstrap
    from jaxbn.inputs.table import Table


def bootstrap(
    data: options.Data,
    graph: options.Graph = None,
    resamples: Annotated[int, typer.Option(help="Times that the rows are drawn.")] = 200,
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
    method: options.Method = "evidence",
    min_width: options.MinWidth = None,
    max_bins: options.MaxBins = None,
    shape: options.Shape = None,
    rate: options.Rate = None,
    initial_bins: options.InitialBins = None,
    initial: options.Initial = None,
    group: options.Group = [],  # noqa: B006
    no_group: options.NoGroup = False,
    max_passes: options.MaxPasses = 10,
    level: Annotated[
        float | None, typer.Option(help="With a graph: level of the intervals of the cuts.", show_default="0.9")
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="With a graph: how far a cut may be off, as a share of the range.")
    ] = None,
    max_parents: options.MaxParents = None,
    search: options.Search = None,
    restarts: options.Restarts = None,
    order: options.Order = [],  # noqa: B006
    warm_start: options.WarmStart = False,
    select: options.Select = None,
    required: options.Required = [],  # noqa: B006
    forbidden: options.Forbidden = [],  # noqa: B006
    links: options.Known = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds after which the finished resamples are given.", rich_help_panel=options.LEARNING),
    ] = None,
    tiers: options.Tiers = [],  # noqa: B006
    roots: options.Roots = [],  # noqa: B006
    leaves: options.Leaves = [],  # noqa: B006
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Keep finished resamples in this file, and go on from it.", rich_help_panel=options.LEARNING),
    ] = None,
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
        if out is not None or report is not None:
            raise UsageError("--out and --report are for the consensus network; leave --graph out to learn one")
    output.check_free((out, report), force)
    cutting = options.given(
        method=method,
        rate=rate,
        min_width=min_width,
        max_bins=max_bins,
        shape=shape,
        initial_bins=initial_bins,
        initial=initial,
        group=() if no_group else names_in(group, "--group", source.frame.columns),
        max_passes=max_passes,
    )
    chosen = options.given(
        resamples=resamples,
        seed=seed,
        level=level,
        tolerance=tolerance,
        max_parents=max_parents,
        search=search,
        restarts=restarts,
        order=names_in(order, "--order", source.frame.columns),
        warm_start=warm_start,
        select=select,
        time_limit=time_limit,
        **graphs.knowledge(required, forbidden, links),
        tiers=[names_in([tier], "--tier", source.frame.columns) for tier in tiers],
        roots=names_in(roots, "--root", source.frame.columns),
        leaves=names_in(leaves, "--leaf", source.frame.columns),
    )
    table = checked_table(source, missing, None if structure else named(source, keep, chosen))
    start_compiler(no_cache, table.n_rows)
    from jaxbn.evaluation.bootstrap import bootstrap as run
    from jaxbn.learning.options import in_objects

    found: Any = run(table, structure, checkpoint=checkpoint, **in_objects({**cutting, **chosen}))
    if graph is not None:
        _give_cuts(found, as_json)
    else:
        _give_arcs(found, threshold, as_json)
        _write(found, table, source, out, report, cutting, {**chosen, "threshold": threshold})


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
        words = ", ".join(f"{parent} -> {child}" for parent, child in consensus.edges) or "no arc"
        show.say(f"consensus, strength above {threshold:g}: {words}")


def _write(
    found: ArcBootstrap,
    table: Table,
    source: Source,
    out: Path | None,
    report: Path | None,
    cutting: dict[str, Any],
    chosen: dict[str, Any],
) -> None:
    """The consensus network, cut and fitted on all the data."""
    if out is None and report is None:
        return
    from jaxbn.learning.discretize import discretize
    from jaxbn.learning.options import in_objects
    from jaxbn.model.fit import fit

    graph = found.consensus(chosen["threshold"])
    net = fit(table, graph, discretize(table, graph, **in_objects(cutting)).codings, inside_bins=True)
    if out is not None:
        output.write(out, net.save)
    if report is not None:
        from jaxbn.drawing.report import report as make_report

        page = make_report(net, table, title=source.name, options={**cutting, **chosen}, strengths=found.strengths)
        output.write_text(report, page)
