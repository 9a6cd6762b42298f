"""The command line as a whole: every command, and how it ends."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Annotated

import typer

import jaxbn
from jaxbn.cli import output
from jaxbn.cli.errors import run
from jaxbn.cli.learning import bootstrap, discretize, evaluate, learn, posterior
from jaxbn.cli.library import POSITIONAL, command, start_compiler
from jaxbn.cli.models import compare, export, impute, predict, query, report, sample, score

app = typer.Typer(
    name="jaxbn",
    help="Discrete Bayesian networks from continuous and mixed data.",
    epilog="Try: jaxbn learn auto_mpg. Exit codes: 0 for success, 1 for an error, 2 for wrong usage, 3 if Ctrl-C ended "
    "the work early with a result, 130 if it ended it without one.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@command()
def datasets(name: str | None = None, out: Path | None = None, as_json: bool = False) -> None:
    """List the built-in data sets, or print one.

    Options:
        name: Print this data set as CSV.
        out: CSV file instead of standard output.
    """
    from jaxbn.datasets._loader import CATALOGUE

    if name is not None:
        output.put(jaxbn.datasets.load(name).frame, out, as_json=False)
    elif as_json:
        shown = {
            key: {"columns": each.columns.split(), "continuous": each.continuous, "target": each.target,
                  "structures": list(each.structures), "source": each.source}
            for key, each in CATALOGUE.items()
        }  # fmt: skip
        output.put(shown)
    else:
        rows = [
            (key, str(len(each.columns.split())), str(len(each.continuous)), each.target, ", ".join(each.structures))
            for key, each in CATALOGUE.items()
        ]
        output.table(("name", "columns", "continuous", "target", "structures"), rows, numbers=(1, 2))


@command()
def paper(out: Path = Path("paper"), quick: bool = False, force: bool = False, no_cache: bool = False) -> None:
    """Reproduce the tables and figures of the paper beside the published ones.

    Options:
        out: Directory for tables and figures.
        quick: A subset, in under two minutes.
    """
    start_compiler(no_cache)
    from jaxbn.paper.page import write_all

    write_all(out, quick, force)


COMMANDS = (
    learn, discretize, bootstrap, posterior, query, predict, score, evaluate, sample, impute, export, compare,
    report, datasets, paper,
)  # fmt: skip
for each in COMMANDS:
    app.command()(each)

OPTIONS = {name for each in COMMANDS for name in signature(each).parameters}.difference(POSITIONAL) | {"merge_levels"}
"""Arguments of the library that are options of the command line."""


def _show_version(shown: bool) -> None:
    if shown:
        typer.echo(f"jaxbn {jaxbn.__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    pass


def run_command() -> None:
    """Run the command line, see ``jaxbn.cli.main``."""
    run(lambda: app(prog_name="jaxbn"), OPTIONS)
