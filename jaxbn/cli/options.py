"""Options and arguments that commands share; they are named as the arguments of the Python functions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

TABLE, LEARNING, OUTPUT = "Reading the table", "Learning", "Output"


def _option(help_text: str, *names: str, panel: str | None = None, **more: Any) -> Any:
    return typer.Option(*names, help=help_text, rich_help_panel=panel, **more)


Data = Annotated[
    str,
    typer.Argument(help="A CSV, TSV or Parquet file (also .gz, .bz2, .xz, .zip), a built-in data set, or - for stdin."),
]
Model = Annotated[
    str,
    typer.Argument(
        help="A model file that `jaxbn learn` wrote, or one that ends in .bif, .xml (XMLBIF), .xdsl, .net or .uai."
    ),
]
Drop = Annotated[list[str], _option("Columns to leave out, a,b,c.", "--drop", panel=TABLE)]
Delimiter = Annotated[
    str | None,
    _option("Character between cells; by default guessed from the header line.", "--delimiter", "-d", panel=TABLE),
]
Encoding = Annotated[str, _option("Encoding of a text file.", panel=TABLE)]
Decimal = Annotated[
    str | None,
    _option("Decimal mark; by default a point, or a comma if a column has only such numbers.", panel=TABLE),
]
NaValues = Annotated[
    list[str], _option("Words that stand for a missing entry, such as ?,-.", "--na-values", panel=TABLE)
]
NoGroup = Annotated[bool, _option("Merge no levels.", "--no-group", panel=LEARNING)]
Seed = Annotated[int, _option("Seed of the random numbers.", panel=LEARNING)]
Known = Annotated[
    Path | None,
    _option(
        "CSV file with rows from,to,value; value is required, forbidden, or the probability of a link, such as 0.9.",
        "--known",
        panel=LEARNING,
    ),
]
Graph = Annotated[
    str | None,
    _option(
        "The structure: a>b,b>c; a model or JSON file; or a built-in data set's own, such as paper.", "--graph", "-g"
    ),
]
Folds = Annotated[int, _option("Folds of the cross-validation; 0 for none.")]
Force = Annotated[bool, _option("Replace files that exist.", "--force", panel=OUTPUT)]
Json = Annotated[bool, _option("Print the result as JSON.", "--json", panel=OUTPUT)]
Out = Annotated[Path | None, _option("CSV file; by default standard output.", "--out", "-o", panel=OUTPUT)]
Unknown = Annotated[str, _option("Levels that the network does not know: error or missing.")]
NoCache = Annotated[
    bool, _option("Do not keep compiled kernels on disk.", "--no-cache", envvar="JAXBN_NO_CACHE", panel=OUTPUT)
]


def as_number(text: str) -> float | str:
    """The number that a text stands for, or else the text."""
    try:
        return float(text)
    except ValueError:
        return text
