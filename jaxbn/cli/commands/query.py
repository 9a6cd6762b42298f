"""``jaxbn query``, ``jaxbn sample`` and ``jaxbn evaluate``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jaxbn.cli import graph as graphs
from jaxbn.cli import options, show
from jaxbn.cli import output as writing
from jaxbn.cli.commands.learn import described
from jaxbn.cli.errors import UsageError
from jaxbn.cli.held_out import ALL, published
from jaxbn.cli.observations import evidence
from jaxbn.cli.read_table import Format, Source, names_in, read, read_model

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet


def query(
    model: options.Model,
    targets: Annotated[list[str], typer.Argument(help="Variables; several for their joint distribution.")],
    given: Annotated[
        list[str], typer.Option("--given", help="What is known: weight=3000, horsepower=70:100 or origin=1,2.")
    ] = [],  # noqa: B006 (typer copies it)
    allow_outside: Annotated[
        bool, typer.Option("--allow-outside", help="Take values beyond the fitted range for the outer bin.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Ask a network: the exact posterior of variables, given others in original units."""
    net = read_model(model)
    wanted = names_in(targets, "TARGETS", net.names, "variable of the network")
    known = evidence(net, given, allow_outside)
    answer = net.query(wanted, known)
    labels = _labels(answer, [_states(net, name) for name in wanted])
    if as_json:
        states = [{"state": label, "probability": p} for label, p in zip(labels, answer.tolist(), strict=True)]
        writing.put_json({"targets": wanted, "given": known, "posterior": states})
    else:
        show.posterior(answer, labels)


def _states(net: BayesNet, name: str) -> list[str]:
    """The states of a posterior as people read them; of a grouped variable these are its levels."""
    from jaxbn.model.words import state_texts

    if name in net.groupings:
        return [str(level) for level in net.levels[name]]
    return state_texts(net, name)


def sample(
    model: options.Model,
    n: Annotated[int, typer.Option("--n", "-n", help="Rows to draw.")] = 10,
    seed: options.Seed = 0,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="CSV file; by default standard output.")] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Draw rows from a network, in original units, as CSV."""
    writing.check_free((out,), force)
    rows = read_model(model).sample(n, seed)
    text = writing.json_text(rows.to_dict("records")) if as_json else rows.to_csv(index=False)
    if out is not None:
        writing.write_text(out, text)
    else:
        sys.stdout.write(text)
        sys.stdout.flush()


def evaluate(
    data: options.Data,
    graph: options.Graph = None,
    model: Annotated[
        str | None, typer.Option(help="Score the rows by this fitted model instead of a cross-validation.")
    ] = None,
    method: Annotated[
        list[str],
        typer.Option("--method", help=f"One or several of {', '.join(ALL)}, evidence; bayesian_blocks with astropy."),
    ] = [],  # noqa: B006
    folds: options.Folds = 10,
    seed: options.Seed = 0,
    continuous: options.Continuous = [],  # noqa: B006
    drop: options.Drop = [],  # noqa: B006
    missing: options.Missing = "error",
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = ".",
    rate: options.Rate = "network",
    max_parents: options.MaxParents = 3,
    max_passes: options.MaxPasses = 10,
    restarts: options.Restarts = 1,
    initial_bins: options.InitialBins = None,
    as_json: options.Json = False,
    no_cache: options.NoCache = False,
) -> None:
    """Cross-validated log-likelihood of a structure, for several ways to cut.

    Without --graph a built-in data set is scored with the paper's structure, and for other tables the structure is
    learned anew in every fold.
    """
    source = read(data, Format(delimiter, encoding, decimal), continuous=continuous, drop=drop)
    if model is not None:
        _score(source, model, as_json)
        return
    source, found = graphs.structure(source, graph)
    if folds < 2:
        raise UsageError(f"--folds must be at least 2, got {folds}")
    table = described(source, missing)
    options.start_compiler(no_cache)
    from jaxbn.evaluation.compare import compare

    methods = tuple(dict.fromkeys(method)) or (ALL if found is not None else ALL[:1])
    more: dict[str, Any] = {"rate": options.as_rate(rate), "max_passes": max_passes, "initial_bins": initial_bins}
    if found is None:
        more["learn"] = {"max_parents": max_parents, "restarts": restarts, "seed": seed}
    scores = compare(table, found, methods, folds=folds, seed=seed, **more)
    if as_json:
        writing.put_json({"data": source.name, "folds": folds, "seed": seed, "methods": scores.to_dict("index")})
    else:
        show.scores(scores)
        if graph is None and published(source):
            show.say(published(source))


def _score(source: Source, model: str, as_json: bool) -> None:
    logs = read_model(model).log_likelihood(source.frame)
    error = float(logs.std(ddof=1) / len(logs) ** 0.5) if len(logs) > 1 else float("nan")
    if as_json:
        writing.put_json({"rows": len(logs), "mean": logs.mean(), "standard_error": error})
    else:
        show.say(f"{len(logs)} rows, mean log-likelihood {logs.mean():.4f}, standard error {error:.4f}")


def _labels(answer: Any, states: list[list[str]]) -> list[str]:
    from itertools import product

    return [", ".join(combination) for combination in product(*states)]
