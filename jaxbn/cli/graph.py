"""A structure given on the command line, and the columns that it is about."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxbn.cli.errors import CommandError, UsageError, tell
from jaxbn.cli.read_table import NamedTable


def structure(source: NamedTable, text: str | None) -> tuple[NamedTable, Any]:
    """The source, without the columns that a built-in structure leaves out, and the structure; None if there is none.

    Args:
        source: the table; a built-in one has structures of its own.
        text: arcs ``a>b,b>c``, a file, or the name of a built-in structure; None: the paper's, where there is one.
    """
    if text is None and "paper" in source.structures:
        text = "paper"
    if text is None:
        return source, None
    if text in source.structures:
        return _as_in_paper(source, source.structures[text]), source.structures[text]
    if Path(text).is_file():
        return source, _from_file(Path(text))
    if ">" in text:
        return source, arcs([text], "--graph")
    known = f", or one of {', '.join(source.structures)}" if source.structures else ""
    raise UsageError(f"--graph {text!r} is neither a file nor arcs such as 'a>b,b>c'{known}")


def arcs(texts: Sequence[str], option: str) -> list[tuple[str, str]]:
    """Arcs (parent, child) from texts such as ``a>b,b>c``.

    Example:
        >>> arcs(["a>b, b->c"], "--graph")
        [('a', 'b'), ('b', 'c')]
    """
    found = []
    for part in (part.strip() for text in texts for part in text.split(",")):
        if not part:
            continue
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
    for number, row in enumerate(_rows(path) if path else [], 1):
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


def _rows(path: Path) -> list[list[str]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return [row for row in csv.reader(file) if any(word.strip() for word in row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CommandError(f"{str(path)!r} cannot be read as a CSV file ({error})") from None


def _from_file(path: Path) -> Any:
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


def _as_in_paper(source: NamedTable, graph: dict[str, tuple[str, ...]]) -> NamedTable:
    absent = [name for name in source.frame.columns if name not in graph]
    if not absent:
        return source
    tell(f"left out as in the paper: {', '.join(absent)}")
    return source.of([name for name in source.frame.columns if name in graph])
