"""The commands put together."""

from __future__ import annotations

from typing import Annotated

import typer

from jaxbn import __version__
from jaxbn.cli import errors as failures
from jaxbn.cli.commands import bootstrap as resampling
from jaxbn.cli.commands import export as giving
from jaxbn.cli.commands import learn as learning
from jaxbn.cli.commands import query as asking

app = typer.Typer(
    name="jaxbn",
    help="Discrete Bayesian networks from continuous and mixed data.",
    epilog="Try: jaxbn learn auto_mpg",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    learning.learn,
    learning.discretize,
    resampling.bootstrap,
    asking.query,
    asking.evaluate,
    asking.sample,
    giving.export,
    giving.report,
    giving.datasets,
    giving.paper,
):
    app.command()(command)


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


def main() -> None:
    """Run the command line: results on standard output, all else on standard error; exit code 0, 1 failed, 2 usage."""
    failures.run(lambda: app(prog_name="jaxbn"))
