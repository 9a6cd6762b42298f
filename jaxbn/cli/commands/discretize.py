"""``jaxbn discretize``: the cuts of a network whose structure is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jaxbn.cli import graph as graphs
from jaxbn.cli import options, output, show
from jaxbn.cli.compiler import start_compiler
from jaxbn.cli.errors import UsageError
from jaxbn.cli.read_table import by_column, checked_table, form, names_in, read


def discretize(
    data: options.Data,
    graph: options.Graph = None,
    continuous: options.Continuous = [],  # noqa: B006
    discrete: options.Discrete = [],  # noqa: B006
    drop: options.Drop = [],  # noqa: B006
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
    cuts: options.Cuts = [],  # noqa: B006
    labels: options.Labels = [],  # noqa: B006
    rate: options.Rate = None,
    initial_bins: options.InitialBins = None,
    initial: options.Initial = None,
    group: options.Group = [],  # noqa: B006
    no_group: options.NoGroup = False,
    max_passes: options.MaxPasses = 10,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="CSV file for the rows as codes.", rich_help_panel=options.OUTPUT)
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
    no_cache: options.NoCache = False,
) -> None:
    """Cut the continuous variables of a network whose structure is known."""
    source = read(
        data,
        form(delimiter, encoding, decimal, na_values),
        continuous=continuous,
        discrete=discrete,
        drop=drop,
        dates=dates,
        date_parts=date_parts,
        cuts=cuts,
    )
    source, found_graph = graphs.structure(source, graph)
    if found_graph is None:
        raise UsageError("--graph is needed: the structure as a>b,b>c or a file; `jaxbn learn` finds one by itself")
    output.check_free((out,), force)
    table = checked_table(source, missing)
    start_compiler(no_cache, table.n_rows)
    from jaxbn.learning.discretize import discretize as discretize_network

    chosen = options.given(
        rate=rate,
        min_width=min_width,
        max_bins=max_bins,
        shape=shape,
        cuts=source.cuts,
        labels=by_column(labels, "--labels", source.frame),
        initial_bins=initial_bins,
        initial=initial,
        group=() if no_group else names_in(group, "--group", source.frame.columns),
    )
    from jaxbn.learning.options import in_objects

    chosen |= {"method": method, "max_passes": max_passes}
    found = discretize_network(table, found_graph, **in_objects(chosen))
    if out is not None:
        kept = source.frame.dropna(ignore_index=True) if missing == "drop" else source.frame
        output.write_text(out, found.transform(kept).to_csv(index=False))
    if as_json:
        edges = {name: binning.cuts for name, binning in found.binnings.items()}
        groups = {name: grouping.groups for name, grouping in found.groupings.items()}
        output.put_json({"cuts": edges, "groups": groups, "passes": found.passes, "converged": found.converged})
    else:
        show.discretization(found)
