"""Options of commands made from the library: its functions say which there are, and its docstrings what they do.

The functions are read, not imported, so that ``--help`` answers at once.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from jaxbn.cli import graph as graphs
from jaxbn.cli import options
from jaxbn.cli.errors import UsageError, flag_of
from jaxbn.cli.read_table import NamedTable, by_column, checked_table, form, names_in, read

PACKAGE = Path(__file__).parents[1]
HOMES = {
    "learn": "learning/learn.py",
    "discretize": "learning/discretize.py",
    "bootstrap": "evaluation/bootstrap.py",
    "cross_validate": "evaluation/cross_validate.py",
    "sample_posterior": "posterior/sample_posterior.py",
    "Columns": "learning/columns.py",
    "Constraints": "structure/constraints.py",
    "Evidence": "cuts/methods.py",
    "Bayesian": "cuts/methods.py",
    "K2": "learning/options.py",
}
PARTS = {
    "columns": ("Columns",),
    "constraints": ("Constraints",),
    "method": ("Bayesian", "Evidence"),
    "search": ("K2",),
}
"""Classes whose options stand beside a keyword that takes their objects."""

HANDED_ON = ("search", "constraints", "max_parents", "max_cells", "restarts", "time_limit")
"""Options of ``learn`` that functions with ``**kwargs`` pass on."""

WORDS = {
    "cuts": "Cuts that are known, such as age=18,65; the column keeps them.",
    "labels": "Words for the bins of a column with --cuts, such as age=child,adult,old.",
    "dates": "How dates are written, such as %d/%m/%Y, or column=form.",
    "date_parts": "Parts of dates as columns of their own: year, month, weekday, hour.",
    "required": "An arc that the network must have, parent>child.",
    "forbidden": "An arc that the network must not have, parent>child.",
    "tiers": "Columns of one step in time, a,b; no arc runs from a later --tier into an earlier.",
    "merge_levels": "Discrete columns whose levels are merged, a,b,c; by default those with many levels.",
    "missing": "Missing entries: infer, error, drop (their rows) or state (being missing is a state).",
    "method": "How variables are cut: evidence, bayesian (the paper) or mdl.",
    "max_bins": "With evidence, most bins of a column: a number, or none.",
    "min_width": "With evidence, the smallest width of a bin: a number, or gap for the smallest gap between values.",
    "search": "How arcs are found: auto, exact, orders, or k2, the paper's.",
    "exact": "Prove the cuts the best at any size; by default up to 50,000 rows.",
}
"""Help on options that are written otherwise here than in Python."""

NOT_HERE = ("graph", "progress", "lines", "start", "folds", "given", "alpha", "bins", "links", "columns", "constraints")
NAMES = ("order", "roots", "leaves", "merge_levels", "continuous", "discrete", "keep")
"""Options that are lists of columns."""


class Argument(NamedTuple):
    """An argument of a function or class."""

    name: str
    annotation: str
    default: str
    words: str  # of the docstring


@functools.cache
def arguments(name: str) -> dict[str, Argument]:
    """The arguments of a function or class of the library, as its source has them."""
    tree = ast.parse((PACKAGE / HOMES[name]).read_text(encoding="utf-8"))
    found = next(node for node in tree.body if getattr(node, "name", None) == name)
    assert isinstance(found, ast.FunctionDef | ast.ClassDef)
    words = _described(ast.get_docstring(found) or "")
    if isinstance(found, ast.FunctionDef):
        pairs = zip(found.args.kwonlyargs, found.args.kw_defaults, strict=True)
        fields = [(each.arg, each.annotation, default) for each, default in pairs]
        if found.args.kwarg is not None:
            fields += [(option, None, None) for option in HANDED_ON]
    else:
        bases = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Method"]
        bodies = [*found.body, *(each for base in bases for each in base.body)]
        fields = [(n.target.id, n.annotation, n.value) for n in bodies if isinstance(n, ast.AnnAssign)]  # type: ignore
    texts = [(n, "" if a is None else ast.unparse(a), "" if d is None else ast.unparse(d)) for n, a, d in fields]
    return {n: Argument(n, a, d, words.get(n, "")) for n, a, d in texts if a and "ClassVar" not in a} | {
        n: arguments("learn")[n] for n, a, _ in texts if not a and name != "learn"
    }


def _described(docstring: str) -> dict[str, str]:
    """What the section on arguments says of each, its first sentence."""
    section = docstring.partition("Args:\n")[2].split("\n\n")[0]
    found = re.findall(r"^    (\w+): (.*?)(?=^    \w+: |\Z)", section, re.M | re.S)
    return {name: _sentence(text) for name, text in found}


def _sentence(text: str) -> str:
    """The first sentence, without marks.

    Example:
        >>> _sentence("with ``max_bins=8``, at most 8. More.")
        'With max_bins=8, at most 8.'
    """
    words = " ".join(text.split()).replace("``", "").replace("jaxbn.", "")
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


def _parameter(argument: Argument) -> Parameter:
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
    default: Any = [] if kind == list[str] else False if kind is bool else None
    more: Any = {"show_default": shown} if kind not in (bool, list[str]) else {}
    panel = options.TABLE if name in arguments("Columns") or name == "missing" else options.LEARNING
    option = typer.Option(flag_of(name), help=WORDS.get(name, argument.words), rich_help_panel=panel, **more)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


@dataclass(frozen=True)
class Asked:
    """What a command was asked to do: the table, and the options that were given."""

    source: NamedTable
    missing: str
    keep: list[str]
    chosen: dict[str, Any]  # arguments of the library side by side

    def table(self, *, keep_all: bool = False) -> Any:
        """The checked table; columns that say nothing are left out, but for those that options name."""
        return checked_table(self.source, self.missing, None if keep_all else self._named())

    def with_structure(self, graph: str | None) -> tuple[Asked, Any]:
        """The same with the columns of a structure alone, and the structure."""
        source, found = graphs.structure(self.source, graph)
        return replace(self, source=source), found

    def _named(self) -> list[str]:
        arcs = [
            name for said in ("required", "forbidden", "links") for arc in self.chosen.get(said, ()) for name in arc
        ]
        lists = [self.chosen.get(option, ()) for option in ("order", "merge_levels", "roots", "leaves")]
        names = [name for each in (*lists, *self.chosen.get("tiers", ())) for name in each]
        return [*self.keep, *names, *self.source.cuts, *arcs, *filter(None, [self.chosen.get("target")])]


def takes(function: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Have a command read a table and take the options of a function of the library.

    The command's first argument is an ``Asked``; its others are options of its own, which come first.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = dict(signature(command, eval_str=True).parameters)
        own.pop(next(iter(own)))
        made = {n: _parameter(a) for n, a in library_options(function).items() if n not in own}
        knows = "constraints" in arguments(function)
        reading = {n: p for n, p in signature(_reading, eval_str=True).parameters.items() if n != "links" or knows}
        merging = {"no_group": Parameter("no_group", Parameter.KEYWORD_ONLY, default=False, annotation=options.NoGroup)}
        every = {"data": Parameter("data", Parameter.KEYWORD_ONLY, annotation=options.Data), **own, **reading, **made}
        parameters = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in (every | merging).values()]

        @functools.wraps(command)
        def call(**given: Any) -> None:
            asked = _asked({n: v for n, v in given.items() if n not in own}, made)
            command(asked, **{n: given[n] for n in own})

        return _with_options(call, parameters)

    return decorate


def reads_rows(command: Callable[..., None]) -> Callable[..., None]:
    """Have a command take the options of how a text table is written, in the place of its argument ``written``."""
    own = signature(command, eval_str=True).parameters
    reading = {n: p for n, p in signature(_reading, eval_str=True).parameters.items() if n not in ("drop", "links")}
    every = [each for n, p in own.items() for each in (reading.values() if n == "written" else (p,))]

    @functools.wraps(command)
    def call(**given: Any) -> None:
        written = form(*(given.pop(n) for n in reading))
        command(**given, written=written)

    return _with_options(call, [each.replace(kind=Parameter.KEYWORD_ONLY) for each in every])


def _with_options(call: Callable[..., None], parameters: list[Parameter]) -> Callable[..., None]:
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    return call


def _reading(
    drop: options.Drop = [],  # noqa: B006 (typer copies it)
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = None,
    na_values: options.NaValues = [],  # noqa: B006
    links: options.Known = None,
) -> None:
    """Options of reading a table that the library does not have."""


def _asked(given: dict[str, Any], made: dict[str, Parameter]) -> Asked:
    """The table that was named, and the options that were given, as the library takes them."""
    written = form(given["delimiter"], given["encoding"], given["decimal"], given["na_values"])
    kinds = {n: given[n] for n in ("continuous", "discrete", "drop", "dates", "date_parts", "cuts")}
    source = read(given["data"], written, **kinds)
    columns = source.frame.columns
    chosen = {n: _value(n, given[n], columns) for n in made if n not in (*kinds, "keep", "missing")}
    if source.cuts:
        chosen["cuts"] = source.cuts
    if "required" in made:
        chosen |= graphs.knowledge(given["required"], given["forbidden"], given.get("links"))
    kept = {n: v for n, v in chosen.items() if v is not None and v is not False and v != [] and v != {}}
    if given.get("max_bins") is not None:
        kept["max_bins"] = _bins(given["max_bins"])
    if given["no_group"]:
        kept["merge_levels"] = ()
    return Asked(source, given["missing"] or "infer", names_in(given["keep"], "--keep", columns), kept)


def _value(name: str, value: Any, columns: Any) -> Any:
    """An option as the library takes it."""
    flag = flag_of(name)
    if name in NAMES:
        return names_in(value, flag, columns)
    if name == "tiers":
        return [names_in([tier], flag, columns) for tier in value]
    if name == "labels":
        return by_column(value, flag, columns)
    if value is not None and name in ("rate", "min_width"):
        return options.as_number(value)
    return value


def _bins(text: str) -> int | None:
    """A number of bins, or None for any."""
    if text.lower() == "none":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"--max-bins must be a whole number from 1 on, or none, got {text!r}")
    return int(text)
