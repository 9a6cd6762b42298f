"""Options and arguments the commands share; they are named as the arguments of the Python functions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

TABLE, LEARNING, OUTPUT = "Reading the table", "Learning", "Output"


def _option(help_text: str, *names: str, panel: str | None = None, **more: Any) -> Any:
    return typer.Option(*names, help=help_text, rich_help_panel=panel, **more)


Data = Annotated[
    str, typer.Argument(help="A CSV, TSV or Parquet file, a built-in data set (see `jaxbn datasets`), or - for stdin.")
]
Model = Annotated[str, typer.Argument(help="A model file that `jaxbn learn` wrote, or a BIF file.")]

Continuous = Annotated[
    list[str], _option("The continuous columns, a,b,c; inferred if not given.", "--continuous", panel=TABLE)
]
Drop = Annotated[list[str], _option("Columns to leave out, a,b,c.", "--drop", panel=TABLE)]
Missing = Annotated[str, _option("Rows with missing entries: error or drop.", panel=TABLE)]
Delimiter = Annotated[
    str | None, _option("Between cells; by default a comma, and a tab in .tsv files.", "--delimiter", "-d", panel=TABLE)
]
Encoding = Annotated[str, _option("Of a text file.", panel=TABLE)]
Decimal = Annotated[str, _option("Decimal mark of a text file.", panel=TABLE)]

Method = Annotated[str, _option("How variables are cut: bayesian, mdl or evidence.", panel=LEARNING)]
MinWidth = Annotated[
    str | None,
    _option("With evidence, the smallest width of a bin: a number, or gap for that between values.", panel=LEARNING),
]
Rate = Annotated[str, _option("L of the prior: network, blanket or a number.", panel=LEARNING)]
MaxParents = Annotated[int, _option("Most parents of a variable.", panel=LEARNING)]
MaxPasses = Annotated[int, _option("Most passes of a discretization.", panel=LEARNING)]
Restarts = Annotated[int, _option("Random orders to try; the best network is kept.", panel=LEARNING)]
Seed = Annotated[int, _option("Of the random numbers.", panel=LEARNING)]
Order = Annotated[list[str], _option("One run with this order of the variables, a,b,c.", "--order", panel=LEARNING)]
WarmStart = Annotated[
    bool, _option("After an arc go on from the current cuts: faster.", "--warm-start", panel=LEARNING)
]
Select = Annotated[str, _option("Compare restarts by density or by k2, the paper's score.", panel=LEARNING)]
Required = Annotated[list[str], _option("An arc the network must have, parent>child.", "--required", panel=LEARNING)]
Forbidden = Annotated[list[str], _option("An arc it must not have, parent>child.", "--forbidden", panel=LEARNING)]
InitialBins = Annotated[int | None, _option("Bins of the equal-width start.", panel=LEARNING)]
Checkpoint = Annotated[Path | None, _option("Keep finished restarts in this file, and go on from it.", panel=LEARNING)]
Graph = Annotated[
    str | None,
    _option(
        "The structure: a>b,b>c; a model or JSON file; or a built-in data set's own, such as paper.", "--graph", "-g"
    ),
]
Folds = Annotated[int, _option("Folds of the cross-validation; 0 for none.")]

Force = Annotated[bool, _option("Replace files that exist.", "--force", panel=OUTPUT)]
Json = Annotated[bool, _option("Print the result as JSON.", "--json", panel=OUTPUT)]
NoCache = Annotated[
    bool, _option("Do not keep compiled kernels on disk.", "--no-cache", envvar="JAXBN_NO_CACHE", panel=OUTPUT)
]


def as_rate(text: str) -> float | str:
    """A number where it is one, else the word."""
    try:
        return float(text)
    except ValueError:
        return text


def as_min_width(text: str | None) -> dict[str, float | str]:
    """The argument ``min_width`` where it was given."""
    return {} if text is None else {"min_width": as_rate(text)}


def start_compiler(no_cache: bool, n_rows: int = 0) -> None:
    """Let compiled kernels be kept between runs, unless told not to; many rows are cut by one thread."""
    from jaxbn.runtime.devices import one_thread_for_many_rows

    one_thread_for_many_rows(n_rows)
    if not no_cache:
        from jaxbn.runtime.compilation_cache import enable_compilation_cache

        enable_compilation_cache()
