"""What a command is given: a table (a file, a built-in data set, standard input), a model file, arcs, a structure."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jaxbn
from jaxbn.cli.errors import CommandError, UsageError, tell
from jaxbn.inputs.later import pd

if TYPE_CHECKING:
    from jaxbn.inputs.table_files import Format
    from jaxbn.model.average import AverageNet
    from jaxbn.model.bayesnet import BayesNet

STANDARD_INPUT, STANDARD_INPUT_NAME = "-", "stdin"


@dataclass(frozen=True)
class NamedTable:
    """A table that was read."""

    name: str  # short, for file names and headings
    frame: pd.DataFrame
    continuous: Sequence[str] = ()  # known; columns in neither list are inferred
    discrete: Sequence[str] = ()
    structures: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)  # known ones by name
    builtin: bool = False  # a data set of the package

    def without(self, names: Sequence[str]) -> NamedTable:
        """The source without some columns."""
        return self if not names else replace(self, frame=self.frame.drop(columns=list(names)))


def read(data: str, form: Format) -> NamedTable:
    """Read a table; a file comes before a built-in data set of the same name."""
    from jaxbn.inputs.table_files import COMPRESSED, read_bytes, read_file

    path = Path(data)
    if data == STANDARD_INPUT:
        return NamedTable(STANDARD_INPUT_NAME, read_bytes(sys.stdin.buffer.read(), "standard input", form))
    if path.exists():
        name = Path(path.stem).stem if path.suffix.lower() in COMPRESSED else path.stem  # of cars.csv.gz, cars
        return NamedTable(name, read_file(path, form))
    return _builtin(data)


def _builtin(name: str) -> NamedTable:
    from jaxbn.inputs.checks import suggest

    known = jaxbn.datasets.names()
    if name not in known:
        raise CommandError(f"there is no file {name!r}, and no built-in data set of that name; {suggest(name, known)}")
    found = jaxbn.datasets.load(name)
    tell(f"built-in data set {name}: {found.source}")
    discrete = [column for column in found.frame.columns if column not in found.continuous]
    return NamedTable(name, found.frame, found.continuous, discrete, found.structures, True)


def read_model(path: str) -> BayesNet:
    """A network that ``learn`` wrote, or one of another program."""
    found = read_any_model(path)
    if not isinstance(found, jaxbn.BayesNet):
        raise CommandError(f"{path!r} is an average of networks, for query and sample; this command takes one network")
    return found


def read_any_model(path: str) -> BayesNet | AverageNet:
    """A network, or the average of networks that ``posterior`` wrote."""
    if Path(path).is_dir():
        raise CommandError(f"{path!r} is a directory; name the model file in it")
    if not Path(path).exists():
        raise CommandError(f"there is no model file {path!r}; `jaxbn learn` writes one")
    return jaxbn.read(path)


def as_number(text: str) -> float | str:
    """The number that a text stands for, or else the text."""
    from jaxbn.inputs.checks import is_number

    return float(text) if is_number(text) else text


def names_in(given: Sequence[str], option: str, known: Iterable[Any], kind: str = "column") -> list[str]:
    """Names of an option, repeated or separated by commas; each must be known."""
    from jaxbn.inputs.checks import suggest

    columns = [str(column) for column in known]
    names: list[str] = []
    for text in given:
        names += [text] if text in columns else [part.strip() for part in text.split(",") if part.strip()]
    for name in names:
        if name not in columns:
            raise UsageError(f"{option} names {name!r}, which is not a {kind}; {suggest(name, columns)}")
    return names


def named(text: str, option: str, known: Iterable[Any], form: str, kind: str = "column") -> tuple[str, str]:
    """The two sides of ``name=words``, if the name is known."""
    columns = [str(column) for column in known]
    ends = [i for i, letter in enumerate(text) if letter == "="]  # a name may itself hold an equals sign
    end = next((i for i in ends if text[:i].strip() in columns), ends[0] if ends else None)
    if end is None:
        raise UsageError(f"{option} {text!r} must be {form}")
    name = text[:end].strip()
    names_in([name], option, columns, kind)
    return name, text[end + 1 :].strip()


def by_column(given: Sequence[str], option: str, known: Iterable[Any]) -> dict[str, list[str]]:
    """Words for columns, ``column=a,b,c`` each.

    Example:
        >>> by_column(["age=child,old", "a=b=1"], "--labels", ["age", "a=b"])
        {'age': ['child', 'old'], 'a=b': ['1']}
    """
    found = dict(named(text, option, known, "column=a,b,c") for text in given)
    return {name: [word.strip() for word in words.split(",") if word.strip()] for name, words in found.items()}


def structure(source: NamedTable, text: str | None) -> tuple[NamedTable, Any]:
    """The source, without the columns that a built-in structure leaves out, and the structure; None if there is none.

    It is given as arcs ``a>b,b>c``, a file, or the name of a built-in one; by default the paper's, where there is one.
    """
    if text is None and "paper" in source.structures:
        text = "paper"
    if text is None:
        return source, None
    if text in source.structures:
        graph = source.structures[text]
        absent = [name for name in source.frame.columns if name not in graph]
        if absent:
            tell(f"left out as in the paper: {', '.join(absent)}")
        return source.without(absent), graph
    if Path(text).is_file():
        return source, _graph_file(Path(text))
    if ">" in text:
        return source, arcs([text], "--graph")
    known = f", or one of {', '.join(source.structures)}" if source.structures else ""
    raise UsageError(f"--graph {text!r} is neither a file nor arcs such as 'a>b,b>c'{known}")


def _graph_file(path: Path) -> Any:
    try:
        document = json.loads(path.read_bytes())
    except ValueError as error:
        raise CommandError(
            f"{str(path)!r} is not a JSON file ({error}); pass a model, or {{child: [parents]}}"
        ) from None
    if isinstance(document, dict) and "format" in document:
        from jaxbn.formats.json_file import from_dict

        return from_dict(document, source=repr(str(path))).parents
    return document


def arcs(texts: Sequence[str], option: str) -> list[tuple[str, str]]:
    """Arcs (parent, child) from texts such as ``a>b,b>c``."""
    found = []
    for part in (part.strip() for text in texts for part in text.split(",") if part.strip()):
        ends = [end.strip() for end in part.replace("->", ">").split(">")]
        if len(ends) != 2 or not all(ends):
            raise UsageError(f"{option}: {part!r} is not an arc; write parent>child")
        found.append((ends[0], ends[1]))
    return found


def knowledge(required: Sequence[str], forbidden: Sequence[str], path: Path | None) -> dict[str, Any]:
    """What is known of arcs and links, by options and in a file; the parts of ``jaxbn.Constraints``.

    A row of the file names two columns and says ``required``, ``forbidden`` (from the first to the second), or how
    probable a link between them is.
    """
    found: dict[str, Any] = {"required": arcs(required, "--required"), "forbidden": arcs(forbidden, "--forbidden")}
    links = {}
    for number, row in enumerate(_csv_rows(path) if path else [], 1):
        first, second, said = (*(word.strip() for word in row), "", "", "")[:3]
        if said.lower() in found:
            found[said.lower()].append((first, second))
        elif re.fullmatch(r"0?\.\d+", said):
            links[first, second] = float(said)
        elif number > 1 or not {first.lower(), second.lower()} <= {"from", "to", "parent", "child"}:
            raise UsageError(
                f"--known {str(path)!r}, row {number}: {','.join(row)!r} must be two columns and 'required', "
                "'forbidden' or a probability between 0 and 1, as 'dose,outcome,0.9'"
            )
    return {**found, "links": links or None}


def _csv_rows(path: Path) -> list[list[str]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return [row for row in csv.reader(file) if any(word.strip() for word in row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CommandError(f"{str(path)!r} cannot be read as a CSV file ({error})") from None
