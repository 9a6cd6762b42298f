"""``jaxbn evaluate``: how well a network describes rows that it has not seen."""

from __future__ import annotations

from typing import Annotated

import typer

from jaxbn.cli import graph as graphs
from jaxbn.cli import options, output, show
from jaxbn.cli.compiler import start_compiler
from jaxbn.cli.errors import UsageError
from jaxbn.cli.held_out import ALL, published
from jaxbn.cli.read_model import read_model
from jaxbn.cli.read_table import Source, checked_table, form, names_in, read


def evaluate(
    data: options.Data,
    graph: options.Graph = None,
    model: Annotated[
        str | None, typer.Option(help="Score the rows by this fitted model instead of a cross-validation.")
    ] = None,
    method: Annotated[
        list[str],
        typer.Option("--method", help=f"One or several of {', '.join(ALL)}; bayesian_blocks with astropy."),
    ] = [],  # noqa: B006
    folds: options.Folds = 10,
    seed: options.Seed = 0,
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
    rate: options.Rate = None,
    min_width: options.MinWidth = None,
    max_bins: options.MaxBins = None,
    shape: options.Shape = None,
    cuts: options.Cuts = [],  # noqa: B006
    max_parents: options.MaxParents = None,
    max_passes: options.MaxPasses = 10,
    search: options.Search = None,
    restarts: options.Restarts = None,
    time_limit: options.TimeLimit = None,
    order: options.Order = [],  # noqa: B006
    warm_start: options.WarmStart = False,
    select: options.Select = None,
    required: options.Required = [],  # noqa: B006
    forbidden: options.Forbidden = [],  # noqa: B006
    links: options.Known = None,
    tiers: options.Tiers = [],  # noqa: B006
    roots: options.Roots = [],  # noqa: B006
    leaves: options.Leaves = [],  # noqa: B006
    initial_bins: options.InitialBins = None,
    initial: options.Initial = None,
    group: options.Group = [],  # noqa: B006
    no_group: options.NoGroup = False,
    as_json: options.Json = False,
    no_cache: options.NoCache = False,
) -> None:
    """Cross-validated log-likelihood of a structure, for several ways to cut.

    Without --graph a built-in data set is scored with the paper's structure, and for other tables the structure is
    learned in every fold.
    """
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
    if model is not None:
        _score(source, model, as_json)
        return
    source, found = graphs.structure(source, graph)
    if folds < 2:
        raise UsageError(f"--folds must be at least 2, got {folds}")
    table = checked_table(source, missing)
    start_compiler(no_cache, table.n_rows)
    from jaxbn.evaluation.compare import compare

    methods = tuple(dict.fromkeys(method)) or (ALL if found is not None else ALL[:1])
    chosen = options.given(
        rate=rate,
        min_width=min_width,
        max_bins=max_bins,
        shape=shape,
        cuts=source.cuts,
        initial_bins=initial_bins,
        initial=initial,
        group=() if no_group else names_in(group, "--group", source.frame.columns),
        max_passes=max_passes,
        max_parents=max_parents,
        search=search,
        restarts=restarts,
        time_limit=time_limit,
        order=names_in(order, "--order", source.frame.columns),
        warm_start=warm_start,
        select=select,
        **graphs.knowledge(required, forbidden, links),
        tiers=[names_in([tier], "--tier", source.frame.columns) for tier in tiers],
        roots=names_in(roots, "--root", source.frame.columns),
        leaves=names_in(leaves, "--leaf", source.frame.columns),
    )
    from jaxbn.cuts.methods import each_method, users_of
    from jaxbn.learning.options import in_objects

    of_methods = {key: chosen.pop(key) for key in list(chosen) if users_of(key)}
    asked = each_method(methods, of_methods)
    scores = compare(table, found, asked, folds=folds, seed=seed, **in_objects(chosen))
    if as_json:
        output.put_json({"data": source.name, "folds": folds, "seed": seed, "methods": scores.to_dict("index")})
    else:
        show.scores(scores)
        if graph is None and published(source):
            show.say(published(source))


def _score(source: Source, model: str, as_json: bool) -> None:
    logs = read_model(model).log_likelihood(source.frame)
    error = float(logs.std(ddof=1) / len(logs) ** 0.5) if len(logs) > 1 else float("nan")
    if as_json:
        output.put_json({"rows": len(logs), "mean": logs.mean(), "standard_error": error})
    else:
        show.say(f"{len(logs)} rows, mean log-likelihood {logs.mean():.4f}, standard error {error:.4f}")
