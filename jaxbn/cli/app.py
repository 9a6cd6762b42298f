"""The command line as a whole: every command, and how it ends."""

from __future__ import annotations

from inspect import signature
from typing import Annotated

import typer

from jaxbn import __version__
from jaxbn.cli.commands.bootstrap import bootstrap
from jaxbn.cli.commands.compare import compare
from jaxbn.cli.commands.datasets import datasets
from jaxbn.cli.commands.discretize import discretize
from jaxbn.cli.commands.evaluate import evaluate
from jaxbn.cli.commands.export import export
from jaxbn.cli.commands.impute import impute
from jaxbn.cli.commands.learn import learn
from jaxbn.cli.commands.paper import paper
from jaxbn.cli.commands.posterior import posterior
from jaxbn.cli.commands.predict import predict
from jaxbn.cli.commands.query import query
from jaxbn.cli.commands.report import report
from jaxbn.cli.commands.sample import sample
from jaxbn.cli.commands.score import score
from jaxbn.cli.errors import run

app = typer.Typer(
    name="jaxbn",
    help="Discrete Bayesian networks from continuous and mixed data.",
    epilog="Try: jaxbn learn auto_mpg. Exit codes: 0, 1 for an error, 2 for a wrong use, 3 if Ctrl-C ended the work "
    "and what there was is given, 130 if Ctrl-C ended it without a result.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = (
    learn, discretize, bootstrap, posterior, query, predict, score, evaluate, sample, impute, export, compare,
    report, datasets, paper,
)  # fmt: skip
for command in COMMANDS:
    app.command()(command)

POSITIONAL = {"data", "model", "other", "target", "targets", "name"}
OPTIONS = {argument for command in COMMANDS for argument in signature(command).parameters} - POSITIONAL
OPTIONS |= {"merge_levels"}
"""Arguments of the library that are options of the command line."""


def _show_version(shown: bool) -> None:
    if shown:
        typer.echo(f"jaxbn {__version__}")
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
