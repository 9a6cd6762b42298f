"""Options and arguments that commands share; they are named as the arguments of the Python functions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from jaxbn.cli.errors import UsageError

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

Continuous = Annotated[
    list[str],
    _option("Columns that are continuous, a,b,c; those not named are inferred.", "--continuous", panel=TABLE),
]
Discrete = Annotated[
    list[str], _option("Columns that are discrete, a,b,c; those not named are inferred.", "--discrete", panel=TABLE)
]
Dates = Annotated[
    list[str], _option("How dates are written, such as %d/%m/%Y, or column=form.", "--dates", panel=TABLE)
]
DateParts = Annotated[
    list[str],
    _option("Parts of dates as columns of their own: year, month, weekday, hour.", "--date-parts", panel=TABLE),
]
Keep = Annotated[
    list[str], _option("Columns to keep though nothing can be learned from them, a,b,c.", "--keep", panel=TABLE)
]
Drop = Annotated[list[str], _option("Columns to leave out, a,b,c.", "--drop", panel=TABLE)]
Missing = Annotated[
    str,
    _option("Missing entries: infer, error, drop (their rows) or state (being missing is a state).", panel=TABLE),
]
Delimiter = Annotated[
    str | None,
    _option("What is between cells; by default seen from the line of names.", "--delimiter", "-d", panel=TABLE),
]
Encoding = Annotated[str, _option("Encoding of a text file.", panel=TABLE)]
Decimal = Annotated[
    str | None, _option("Decimal mark of a text file; by default a point, or a comma if all say so.", panel=TABLE)
]
NaValues = Annotated[
    list[str], _option("Words that stand for a missing entry, such as ?,-.", "--na-values", panel=TABLE)
]
Group = Annotated[
    list[str],
    _option(
        "Discrete columns whose levels are merged, a,b,c; by default those with many levels.", "--group", panel=LEARNING
    ),
]

NoGroup = Annotated[bool, _option("Merge no levels.", "--no-group", panel=LEARNING)]
Method = Annotated[str, _option("How variables are cut: evidence, bayesian (the paper) or mdl.", panel=LEARNING)]
MinWidth = Annotated[
    str | None,
    _option(
        "With evidence, the smallest width of a bin: a number, or gap for the smallest gap between values.",
        panel=LEARNING,
    ),
]
MaxBins = Annotated[
    str | None,
    _option("With evidence, most bins of a column: a number, or none.", panel=LEARNING, show_default="8"),
]
Shape = Annotated[
    str | None,
    _option(
        "With evidence, how values are distributed inside bins: auto, as the whole column is, or flat.",
        panel=LEARNING,
        show_default="auto",
    ),
]
Cuts = Annotated[
    list[str], _option("Cuts that are known, such as age=18,65; the column keeps them.", "--cuts", panel=LEARNING)
]
Labels = Annotated[
    list[str],
    _option("Words for the bins of a column with --cuts, such as age=child,adult,old.", "--labels", panel=LEARNING),
]
Rate = Annotated[
    str | None,
    _option("With bayesian, L of the prior: network, blanket or a number.", panel=LEARNING, show_default="network"),
]
MaxParents = Annotated[int | None, _option("Most parents of a variable.", panel=LEARNING, show_default="3")]
MaxPasses = Annotated[int, _option("Most passes of a discretization.", panel=LEARNING)]
Search = Annotated[
    str | None,
    _option("How arcs are found: auto, exact, orders, or k2, the paper's.", panel=LEARNING, show_default="auto"),
]
TimeLimit = Annotated[float | None, _option("Seconds after which the best network so far is taken.", panel=LEARNING)]
Exact = Annotated[
    bool, _option("Prove the cuts the best at any size; by default up to 50,000 rows.", "--exact", panel=LEARNING)
]
Restarts = Annotated[
    int | None,
    _option("Starts, or random orders with k2; the best network is kept.", panel=LEARNING, show_default="by size"),
]
Seed = Annotated[int, _option("Seed of the random numbers.", panel=LEARNING)]
Order = Annotated[
    list[str], _option("One run of k2 with this order of the variables, a,b,c.", "--order", panel=LEARNING)
]
WarmStart = Annotated[
    bool,
    _option("With bayesian and mdl, go on from the current cuts after an arc: faster.", "--warm-start", panel=LEARNING),
]
Select = Annotated[
    str | None,
    _option(
        "With bayesian and mdl, compare restarts by density or by k2, the paper's score.",
        panel=LEARNING,
        show_default="density",
    ),
]
Required = Annotated[
    list[str], _option("An arc that the network must have, parent>child.", "--required", panel=LEARNING)
]
Forbidden = Annotated[
    list[str], _option("An arc that the network must not have, parent>child.", "--forbidden", panel=LEARNING)
]
Known = Annotated[
    Path | None,
    _option(
        "CSV file of what is known: from,to,required or forbidden, or how probable a link is (0.9).",
        "--known",
        panel=LEARNING,
    ),
]
Tiers = Annotated[
    list[str],
    _option(
        "Columns of one step in time, a,b; no arc runs from a later --tier into an earlier.", "--tier", panel=LEARNING
    ),
]
Roots = Annotated[list[str], _option("Columns without parents, a,b.", "--root", panel=LEARNING)]
Leaves = Annotated[list[str], _option("Columns without children, a,b.", "--leaf", panel=LEARNING)]
InitialBins = Annotated[int | None, _option("Number of bins to start from.", panel=LEARNING)]
Initial = Annotated[
    str | None,
    _option(
        "With k2, or with a graph: start from bins of equal width or frequency.", panel=LEARNING, show_default="width"
    ),
]
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
Out = Annotated[Path | None, _option("CSV file; by default standard output.", "--out", "-o", panel=OUTPUT)]
Unknown = Annotated[str, _option("Levels that the network does not know: error or missing.")]
NoCache = Annotated[
    bool, _option("Do not keep compiled kernels on disk.", "--no-cache", envvar="JAXBN_NO_CACHE", panel=OUTPUT)
]


def given(**values: Any) -> dict[str, Any]:
    """The options that were given; the library refuses those that have no use.

    Example:
        >>> given(rate="2.5", select=None, max_parents=0, warm_start=False, required=[])
        {'rate': 2.5, 'max_parents': 0}
    """
    numbers: dict[str, Any] = {
        key: as_number(values[key]) for key in ("rate", "min_width") if values.get(key) is not None
    }
    if values.get("max_bins") is not None:
        numbers["max_bins"] = _as_bins(values["max_bins"])
    # 0 is given, though it equals False
    return {
        key: value
        for key, value in (values | numbers).items()
        if (value is not False and value not in (None, [], {})) or key in numbers
    }


def _as_bins(text: str) -> int | None:
    """A number of bins, or None for any."""
    if text.lower() == "none":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"--max-bins must be a whole number from 1 on, or none, got {text!r}")
    return int(text)


def as_number(text: str) -> float | str:
    """The number that a text stands for, or else the text."""
    try:
        return float(text)
    except ValueError:
        return text
