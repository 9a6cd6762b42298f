"""``jaxbn evaluate``: how well a network describes rows that it has not seen."""

from __future__ import annotations

from typing import Annotated

import typer

from jaxbn.cli import options, output, show
from jaxbn.cli.compiler import start_compiler
from jaxbn.cli.errors import UsageError
from jaxbn.cli.held_out import ALL, published
from jaxbn.cli.library import Asked, takes
from jaxbn.cli.read_model import read_model
from jaxbn.cli.read_table import NamedTable


@takes("cross_validate")
def evaluate(
    asked: Asked,
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
    as_json: options.Json = False,
    no_cache: options.NoCache = False,
) -> None:
    """Cross-validated log-likelihood of a structure, for several ways to cut.

    Without --graph a built-in data set is scored with the paper's structure, and for other tables the structure is
    learned in every fold.
    """
    if model is not None:
        _score(asked.source, model, as_json)
        return
    asked, found = asked.with_structure(graph)
    if folds < 2:
        raise UsageError(f"--folds must be at least 2, got {folds}")
    source, chosen, table = asked.source, asked.chosen, asked.table(keep_all=True)
    start_compiler(no_cache)
    from jaxbn.cuts.methods import users_of
    from jaxbn.evaluation.compare import compare
    from jaxbn.learning.options import in_objects

    methods = tuple(dict.fromkeys(method)) or (ALL if found is not None else ALL[:1])
    of_methods = {key: chosen.pop(key) for key in list(chosen) if users_of(key)}
    scores = compare(table, found, methods, folds=folds, seed=seed, **of_methods, **in_objects(chosen))
    if as_json:
        output.put_json({"data": source.name, "folds": folds, "seed": seed, "methods": scores.to_dict("index")})
    else:
        show.scores(scores)
        if graph is None and published(source):
            show.say(published(source))


def _score(source: NamedTable, model: str, as_json: bool) -> None:
    logs = read_model(model).log_likelihood(source.frame)
    error = float(logs.std(ddof=1) / len(logs) ** 0.5) if len(logs) > 1 else float("nan")
    if as_json:
        output.put_json({"rows": len(logs), "mean": logs.mean(), "standard_error": error})
    else:
        show.say(f"{len(logs)} rows, mean log-likelihood {logs.mean():.4f}, standard error {error:.4f}")
