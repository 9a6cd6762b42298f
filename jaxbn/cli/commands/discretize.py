"""``jaxbn discretize``: the cuts of a network whose structure is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jaxbn.cli import options, output, show
from jaxbn.cli.compiler import start_compiler
from jaxbn.cli.errors import UsageError
from jaxbn.cli.library import Asked, takes


@takes("discretize")
def discretize(
    asked: Asked,
    graph: options.Graph = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="CSV file for the rows as codes.", rich_help_panel=options.OUTPUT)
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
    no_cache: options.NoCache = False,
) -> None:
    """Cut the continuous variables of a network whose structure is known."""
    asked, found_graph = asked.with_structure(graph)
    if found_graph is None:
        raise UsageError("--graph is needed: the structure as a>b,b>c or a file; `jaxbn learn` finds one by itself")
    output.check_free((out,), force)
    table = asked.table(keep_all=True)
    start_compiler(no_cache)
    from jaxbn.learning.discretize import discretize as discretize_network
    from jaxbn.learning.options import in_objects

    found = discretize_network(table, found_graph, **in_objects(asked.chosen))
    if out is not None:
        frame = asked.source.frame
        kept = frame.dropna(ignore_index=True) if asked.missing == "drop" else frame
        output.write_text(out, found.transform(kept).to_csv(index=False))
    if as_json:
        cuts = {name: binning.cuts for name, binning in found.binnings.items()}
        groups = {name: grouping.groups for name, grouping in found.groupings.items()}
        output.put_json({"cuts": cuts, "groups": groups, "passes": found.passes, "converged": found.converged})
    else:
        show.discretization(found)
