"""Options of commands, from signatures and docstrings: those of the library's functions and those of the commands.

The functions of the library are read, not imported, so that ``--help`` answers at once.
"""

from __future__ import annotations

import ast
import functools
import os
import re
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter, Signature, cleandoc, signature
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

import jaxbn
from jaxbn.cli import STARTED, output, reading
from jaxbn.cli.errors import CommandError, UsageError, flag_of, tell

PARTS = {
    "columns": ("Columns",),
    "constraints": ("Constraints",),
    "method": ("Bayesian", "Evidence"),
    "search": ("K2",),
}
"""Classes whose fields are options, beside the keyword that takes their objects."""

HANDED_ON = ("search", "constraints", "max_parents", "max_cells", "restarts", "time_limit")
"""Options of ``learn`` that functions with ``**kwargs`` pass on."""

WORDS = {
    "cuts": "Cuts that are known, such as age=18,65; the column keeps them.",
    "labels": "Labels of the bins of a column with --cuts, such as age=child,adult,old.",
    "keep": "Columns to keep that would be left out: identifiers, constants, copies and the like.",
    "dates": "How dates are written, such as %d/%m/%Y, or column=form.",
    "date_parts": "Parts of dates as columns of their own: year, month, weekday, hour.",
    "required": "Arc that the network must have, parent>child.",
    "forbidden": "Arc that the network must not have, parent>child.",
    "tiers": "Columns of one tier, such as a step in time, a,b; no arc runs from a later --tier to an earlier one.",
    "merge_levels": "Discrete columns whose levels are merged, a,b,c; by default those with many levels.",
    "missing": "What to do about missing entries: infer, error, drop (their rows) or state (missing is a state).",
    "method": "How variables are cut: evidence, bayesian (the paper) or mdl.",
    "max_passes": "Most passes over the variables.",
    "max_bins": "With evidence, most bins of a column: a number, or none for no limit.",
    "min_width": "With evidence, the smallest width of a bin: a number, or gap for the smallest gap between values.",
    "search": "How arcs are found: auto, exact, orders, or k2, the paper's.",
    "exact": "Prove the cuts optimal for any number of rows; by default up to 50,000.",
}
"""Help on options that are written otherwise here than in Python."""

SHARED = {
    "data": "A CSV, TSV or Parquet file (also .gz, .bz2, .xz, .zip), a built-in data set, or - for stdin.",
    "model": "A model file that `jaxbn learn` wrote, or one that ends in .bif, .xml (XMLBIF), .xdsl, .net or .uai.",
    "graph": "The structure: a>b,b>c; a model or JSON file; or a built-in data set's own, such as paper.",
    "folds": "Folds of the cross-validation; 0 for none.",
    "seed": "Seed of the random numbers.",
    "unknown": "What to do about levels that the network does not know: error or missing.",
    "out": "CSV file; by default standard output.",
    "force": "Replace files that exist.",
    "as_json": "Print the result as JSON.",
    "no_cache": "Do not keep compiled kernels on disk.",
    "drop": "Columns to leave out, a,b,c.",
    "delimiter": "Character between cells; by default guessed from the header line.",
    "encoding": "Encoding of a text file.",
    "decimal": "Decimal mark; by default a point, or a comma if a column has only such numbers.",
    "na_values": "Words for a missing entry, such as ?,-.",
    "links": "CSV file with rows from,to,value; value is required, forbidden, or the probability of a link, such as "
    "0.9.",
    "no_group": "Do not merge levels.",
}
"""Help on options that commands share and the library does not have, unless a command says otherwise."""

POSITIONAL = ("data", "model", "other", "target", "targets", "name")
SHORT = {"out": "-o", "delimiter": "-d", "graph": "-g", "n": "-n", "strategy": "--how", "returns": "--give"}
"""Second names of options."""

READING, LEARNING, OUTPUT = "Reading the table", "Learning", "Output"
PANELS = {
    **dict.fromkeys(("drop", "delimiter", "encoding", "decimal", "na_values"), READING),
    **dict.fromkeys(("links", "no_group", "seed"), LEARNING),
    **dict.fromkeys(("out", "report", "no_files", "force", "as_json", "no_cache"), OUTPUT),
}
COMMON: dict[str, tuple[Any, Any]] = {
    **dict.fromkeys(("force", "no_cache", "no_group"), (bool, False)),
    **dict.fromkeys(("drop", "na_values"), (list[str], ())),
    **dict.fromkeys(("delimiter", "decimal"), (str | None, None)),
    "encoding": (str, "utf-8"),
    "links": (Path | None, None),
}
"""Options that commands get though neither they nor the library have them: their types and defaults."""

WRITTEN = ("delimiter", "encoding", "decimal", "na_values")
NOT_HERE = ("graph", "progress", "lines", "start", "folds", "given", "alpha", "bins", "links", "columns", "constraints")
MOST_COLUMNS = 40  # columns of a table that are described line by line
NAMES = ("order", "roots", "leaves", "merge_levels")  # lists of columns


class Argument(NamedTuple):
    """An argument of a function or class."""

    name: str
    annotation: str
    default: str
    words: str  # of the docstring


@functools.cache
def arguments(name: str) -> dict[str, Argument]:
    """The arguments of a function or class of the library, as its source has them."""
    home = Path(__file__).parents[2].joinpath(*jaxbn._HOMES[name].split(".")).with_suffix(".py")
    tree = ast.parse(home.read_text(encoding="utf-8"))
    found = next(node for node in tree.body if getattr(node, "name", None) == name)
    assert isinstance(found, ast.FunctionDef | ast.ClassDef)
    words = {n: _sentence(text) for n, text in _described(ast.get_docstring(found) or "").items()}
    fields: list[tuple[str, Any, Any]]
    if isinstance(found, ast.FunctionDef):
        pairs = zip(found.args.kwonlyargs, found.args.kw_defaults, strict=True)
        fields = [(each.arg, each.annotation, default) for each, default in pairs]
    else:
        bases = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Method"]
        bodies = [*found.body, *(each for base in bases for each in base.body)]
        fields = [(n.target.id, n.annotation, n.value) for n in bodies if isinstance(n, ast.AnnAssign)]  # type: ignore
    texts = [(n, ast.unparse(a), ast.unparse(d) if d else "") for n, a, d in fields]
    own = {n: Argument(n, a, d, words.get(n, "")) for n, a, d in texts if "ClassVar" not in a}
    takes_others = isinstance(found, ast.FunctionDef) and found.args.kwarg is not None
    return own | {n: arguments("learn")[n] for n in HANDED_ON if takes_others}


def _described(docstring: str) -> dict[str, str]:
    """What the section on arguments, or on options, says of each."""
    section = re.split(r"^(?:Args|Options):\n", docstring, flags=re.M)[-1].split("\n\n")[0]
    found = re.findall(r"^    (\w+): (.*?)(?=^    \w+: |\Z)", section, re.M | re.S)
    return {name: " ".join(text.split()) for name, text in found}


def _sentence(text: str) -> str:
    """The first sentence, without marks.

    Example:
        >>> _sentence("with ``max_bins=8``, at most 8. More.")
        'With max_bins=8, at most 8.'
    """
    words = re.sub(r"(?<![\w.])jaxbn\.", "", text.replace("``", ""))
    first = re.split(r"(?:(?<=\w\w[.)\]])|(?<=\s\d\.))\s(?=[A-Z])", words)[0]
    first = re.sub(r",? see [\w.]+\.?$", ".", first)
    return first[:1].upper() + first[1:]


def library_options(function: str) -> dict[str, Argument]:
    """The options of a function, with those of the objects that it takes."""
    found: dict[str, Argument] = {}
    for name, argument in arguments(function).items():
        found |= {name: argument}
        for part in PARTS.get(name, ()):
            found |= {n: a for n, a in arguments(part).items() if n not in found}
    return {name: argument for name, argument in found.items() if name not in NOT_HERE}


def _of_library(argument: Argument) -> Parameter:
    """The option of an argument; None, or nothing in a list, says that it was not given."""
    text, name = argument.annotation, argument.name
    kind: Any = str | None
    if text.startswith(("Iterable", "Sequence", "Arcs", "Cuts", "Labels", "Dates", "Group")):
        kind = list[str]
    elif text.startswith("bool"):
        kind = bool
    elif text in ("int", "int | None", "float", "float | None"):
        kind = (int if text.startswith("int") else float) | None
    elif text.startswith("PathLike"):
        kind = Path | None
    shown = argument.default.strip("'") if re.fullmatch(r"'\w+'|\d+", argument.default) else False
    panel = READING if name in arguments("Columns") or name == "missing" else LEARNING
    words = WORDS.get(name) or SHARED.get(name) or argument.words
    more: Any = {"show_default": shown} if kind not in (bool, list[str]) else {}
    return _parameter(name, kind, False if kind is bool else None, words, panel, **more)


def _parameter(
    name: str, kind: Any, default: Any, words: str | None = None, panel: str | None = None, **more: Any
) -> Parameter:
    """An option, or an argument, of a command."""
    words = words or SHARED[name]
    kind = list[str] if kind == Sequence[str] else kind
    flags = (flag_of(name), *([SHORT[name]] if name in SHORT else ()))
    is_option = name not in POSITIONAL or (name in ("model", "target") and default is None)
    more |= {"envvar": "JAXBN_NO_CACHE"} if name == "no_cache" else {}
    more |= {"rich_help_panel": PANELS.get(name, panel)}
    made = typer.Option(*flags, help=words, **more) if is_option else typer.Argument(help=words)
    default = [] if kind == list[str] and default in (None, ()) else default
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, made])


def start_compiler(no_cache: bool) -> None:
    """Prepare JAX before anything is computed; compiled kernels are kept between runs unless that is not wanted."""
    if not no_cache:
        jaxbn.enable_compilation_cache()
    import jax

    try:
        jax.devices()
    except (RuntimeError, AssertionError):  # asked for a platform that is not there
        asked = os.environ.get("JAX_PLATFORMS", "")
        raise CommandError(
            f"JAX cannot use the devices that JAX_PLATFORMS={asked!r} asks for; unset it, or install JAX for them"
        ) from None


@dataclass(frozen=True)
class Asked:
    """What a command was asked to do: the table, and the options that were given."""

    source: reading.NamedTable
    columns: dict[str, Any]  # what is said of them, as ``as_table`` takes it
    keep: list[str]
    chosen: dict[str, Any]  # arguments of the library side by side
    no_cache: bool

    def table(self, *, keep_all: bool = False) -> Any:
        """The checked table, and JAX ready; what was inferred about columns goes to standard error.

        Uninformative columns are left out unless options name them.
        """
        frame, builtin = self.source.frame, self.source.builtin
        kinds = {n: [name for name in self.columns[n] if name in frame] for n in ("continuous", "discrete")}
        table = jaxbn.as_table(frame, **self.columns | kinds, keep=None if keep_all or builtin else self._named())
        text = table.describe(shutil.get_terminal_size((output.WIDE, 24)).columns)
        tell(text if not builtin and len(table.names) <= MOST_COLUMNS else text.splitlines()[0])
        start_compiler(self.no_cache)
        return table

    def with_structure(self, graph: str | None) -> tuple[Asked, Any]:
        """The same with the columns of a structure alone, and the structure."""
        source, found = reading.structure(self.source, graph)
        return replace(self, source=source), found

    def arguments(self, function: str | None = None) -> dict[str, Any]:
        """The options that were given, as the library takes them; if a function is named, its own alone."""
        from jaxbn.learning.options import in_objects

        known = self.chosen if function is None else library_options(function)
        given = {name: value for name, value in self.chosen.items() if name in known}
        if given.get("time_limit", 0) > 0:  # of the whole command, but for at least half of it there is work to do
            spent = max(time.monotonic() - STARTED[0], 0.0)
            given["time_limit"] = max(given["time_limit"] - spent, given["time_limit"] / 2)
        return in_objects(given)

    def _named(self) -> list[str]:
        said = self.chosen
        lists = [said.get(option, ()) for option in ("order", "merge_levels", "roots", "leaves", "cuts")]
        lists += [each for option in ("required", "forbidden", "links", "tiers") for each in said.get(option, ())]
        return [*self.keep, *chain.from_iterable(lists), *filter(None, [said.get("target")])]


@dataclass(frozen=True)
class Consensus:
    """Options of commands that find many networks and show what these agree on."""

    graph: str | None = None
    threshold: float = 0.5
    out: Path | None = None
    report: Path | None = None
    as_json: bool = False

    def read(self, asked: Asked) -> tuple[Asked, Any, Any]:
        """What was asked, the structure if there is one, and the table."""
        asked, structure = (asked, None) if self.graph is None else asked.with_structure(self.graph)
        return asked, structure, asked.table(keep_all=structure is not None)

    def write_report(self, asked: Asked, table: Any, net: Any, **found: Any) -> None:
        """Write the page about the consensus network."""
        assert self.report is not None
        used = {**asked.chosen, "threshold": self.threshold}
        output.write(self.report, jaxbn.report(net, table, title=asked.source.name, options=used, **found))


def command(function: str = "") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function: its options are its arguments, with the words of its docstring.

    An argument ``asked`` stands for a table and the options of a function of the library, which is named; ``source``
    for a table alone, and ``wanted`` for the options of `Consensus`. Files that ``out`` and ``report`` name are
    checked, unless the command has ``force``.
    """

    def decorate(run: Callable[..., None]) -> Callable[..., None]:
        text = cleandoc(run.__doc__ or "")
        words = _described(text)
        own = dict(signature(run, eval_str=True).parameters)
        if gathered := "wanted" in own:
            del own["wanted"]
            own |= signature(Consensus, eval_str=True).parameters
        common = {n: _parameter(n, kind, default) for n, (kind, default) in COMMON.items()}
        parameters: dict[str, Parameter] = {}
        made: dict[str, Parameter] = {}
        for name, each in own.items():
            if name in ("asked", "source"):
                each = each.replace(name="data", annotation=str if each.default is Parameter.empty else str | None)
            parameters[each.name] = _parameter(each.name, each.annotation, each.default, words.get(each.name))
        checked = "out" in own and "force" not in own
        parameters |= {"force": common["force"]} if checked else {}
        if "source" in own:
            parameters |= {n: common[n] for n in WRITTEN}
        if function:
            made = {n: _of_library(a) for n, a in library_options(function).items() if n not in own}
            known = ("links",) if "constraints" in arguments(function) else ()
            parameters |= {n: common[n] for n in ("no_cache", "drop", *WRITTEN, *known)} | made
            parameters["no_group"] = common["no_group"]

        @functools.wraps(run)
        def call(**given: Any) -> None:
            mine = {n: given[n] for n in own if n in given}
            mine = {"wanted": Consensus(**mine)} if gathered else mine
            if checked:
                output.check_free((given["out"], given.get("report")), given["force"])
            if function:
                mine["asked"] = _asked(given, made)
            if "source" in own:
                mine["source"] = reading.read(given["data"], _form(given)) if given["data"] else None
            run(**mine)

        call.__doc__ = text.partition("\n\nOptions:")[0]
        call.__signature__ = Signature(list(parameters.values()))  # type: ignore[attr-defined]
        call.__annotations__ = {name: each.annotation for name, each in parameters.items()}
        return call

    return decorate


def _form(given: dict[str, Any]) -> Any:
    """How a text table is written; words are repeated or separated by commas."""
    from jaxbn.inputs.table_files import Format

    words = tuple(word.strip() for text in given["na_values"] for word in text.split(",") if word.strip())
    return Format(given["delimiter"], given["encoding"], given["decimal"], words)


def _asked(given: dict[str, Any], made: dict[str, Parameter]) -> Asked:
    """The table that was named, and the options that were given, as the library takes them."""
    source, said, cuts = _said_of_columns(reading.read(given["data"], _form(given)), given)
    columns = source.frame.columns
    chosen = {n: _value(n, given[n], columns) for n in made if n not in (*said, "cuts", "keep")}
    chosen["cuts"] = cuts
    if "required" in made:
        chosen |= reading.knowledge(given["required"], given["forbidden"], given.get("links"))
    kept = {n: v for n, v in chosen.items() if v is not None and v is not False and v != [] and v != {}}
    if given.get("max_bins") is not None:
        kept["max_bins"] = _bins(given["max_bins"])
    if given["no_group"]:
        kept["merge_levels"] = ()
    return Asked(source, said, reading.names_in(given["keep"], "--keep", columns), kept, given["no_cache"])


def _said_of_columns(
    source: reading.NamedTable, given: dict[str, Any]
) -> tuple[reading.NamedTable, dict[str, Any], dict[str, Any]]:
    """The table without the columns to leave out, what options say of the others, and cuts that are known."""
    columns = source.frame.columns
    words = reading.by_column(given["cuts"], "--cuts", columns)
    cuts = {name: [reading.as_number(cut) for cut in row] for name, row in words.items()}
    numbers = [*reading.names_in(given["continuous"], "--continuous", columns), *cuts]
    levels = reading.names_in(given["discrete"], "--discrete", columns)
    dates = dict(reading.named(text, "--dates", columns, "column=form") for text in given["dates"] if "=" in text)
    dropped = reading.names_in(given["drop"], "--drop", columns)
    if len(set(dropped)) == len(columns):
        raise UsageError("--drop leaves no column; keep at least one")
    said = {
        "continuous": [*numbers, *(name for name in source.continuous if name not in (*numbers, *levels))],
        "discrete": [*levels, *(name for name in source.discrete if name not in (*numbers, *levels))],
        "dates": dates or (given["dates"][-1] if given["dates"] else None),
        "date_parts": [part.strip() for text in given["date_parts"] for part in text.split(",")],
        "missing": given["missing"] or "infer",
    }
    return replace(source.without(dropped), builtin=source.builtin and not dropped), said, cuts


def _value(name: str, value: Any, columns: Any) -> Any:
    """An option as the library takes it."""
    flag = flag_of(name)
    if name in NAMES:
        return reading.names_in(value, flag, columns)
    if name == "tiers":
        return [reading.names_in([tier], flag, columns) for tier in value]
    if name == "labels":
        return reading.by_column(value, flag, columns)
    if value is not None and name in ("rate", "min_width"):
        return reading.as_number(value)
    return value


def _bins(text: str) -> int | None:
    """A number of bins, or None for any."""
    if text.lower() == "none":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"--max-bins must be a whole number from 1 on, or none, got {text!r}")
    return int(text)
