"""NET of Hugin, and the format of the UAI competitions."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from jaxbn.formats.record import Record, checked
from jaxbn.inputs.graph import MAX_TABLE_CELLS

_NET_TOKEN = re.compile(r'\s+|%[^\n]*|(?P<kept>"(?:[^"\\]|\\.)*"|[{}()=;|]|[^\s{}()=;|"%]+)|(?P<other>.)')


def to_net(record: Record) -> str:
    """The text of a NET file."""
    blocks = ['net\n{\n  name = "jaxbn";\n}', f"% {record.comment}"]
    blocks += [
        f"node {name}\n{{\n  states = ( {' '.join(f'{chr(34)}{state}{chr(34)}' for state in states)} );\n}}"
        for name, states in record.states.items()
    ]
    for name, parents in record.parents.items():
        family = f"{name} | {' '.join(parents)}" if parents else name
        blocks.append(f"potential ( {family} )\n{{\n  data = {_nested(record.tables[name])};\n}}")
    return "\n".join(blocks) + "\n"


def _nested(table: NDArray[np.float64]) -> str:
    """A table with parentheses around each axis."""
    return f"({_decimals(table)})" if table.ndim == 1 else f"({' '.join(map(_nested, table))})"


def parse_net(text: str, source: str) -> Record:
    """The network of a NET text; whatever else is said of a node is skipped."""
    states: dict[str, list[str]] = {}
    parents: dict[str, list[str]] = {}
    numbers: dict[str, list[str]] = {}
    tokens = _net_tokens(text, source)
    for word in tokens:
        head = list(itertools.takewhile(lambda token: token != "{", tokens))
        fields = _fields(tokens, source)
        if word == "node" and len(head) == 1:
            states[head[0]] = [each.strip('"') for each in fields.get("states", ()) if each not in "()"]
        elif word == "potential":
            family = [each for each in head if each not in "()"]
            before, _, after = " ".join(family).partition("|")
            name = before.strip()
            parents[name] = after.split()
            numbers[name] = [each for each in fields.get("data", ()) if each not in "()"]
        elif word not in ("net", "class"):
            raise ValueError(f"{source}: expected 'net', 'node' or 'potential', found {word!r}; is it a NET file?")
    return checked(states, parents, numbers, source)


def _net_tokens(text: str, source: str) -> Iterator[str]:
    for match in _NET_TOKEN.finditer(text):
        if match["other"]:
            line = text.count("\n", 0, match.start()) + 1
            raise ValueError(f"{source}, line {line}: expected a word or a mark, found {match['other']!r}")
        if match["kept"]:
            yield match["kept"]


def _fields(tokens: Iterator[str], source: str) -> dict[str, list[str]]:
    """The fields of a block up to its end, each of a name and what it is."""
    fields: dict[str, list[str]] = {}
    for name in tokens:
        if name == "}":
            return fields
        values = list(itertools.takewhile(lambda token: token != ";", tokens))
        fields[name] = values[1:]
    raise ValueError(f"{source}: expected '}}' at the end of a block, found the end of the file")


def to_uai(record: Record) -> str:
    """The text of a UAI file, which has no names; the comment stands behind what its readers look at."""
    place = {name: i for i, name in enumerate(record.states)}
    scopes = [[*record.parents[name], name] for name in record.states]
    lines = ["BAYES", str(len(place)), " ".join(str(len(own)) for own in record.states.values()), str(len(place))]
    lines += [" ".join(map(str, [len(scope), *(place[name] for name in scope)])) for scope in scopes]
    lines += [f"\n{record.tables[name].size}\n {_decimals(record.tables[name])}" for name in record.states]
    return "\n".join([*lines, f"\n# {record.comment}"]) + "\n"


def parse_uai(text: str, source: str) -> Record:
    """The network of a UAI text, whose variables and states are numbers."""
    words = iter(re.sub(r"#[^\n]*", " ", text).split())
    try:
        if (kind := next(words)) != "BAYES":
            raise ValueError(f"{source}: expected 'BAYES' as its first word, found {kind!r}")
        sizes = [int(next(words)) for _ in range(int(next(words)))]
        if max(sizes, default=1) > MAX_TABLE_CELLS:
            raise ValueError(f"a variable has {max(sizes):,} states, more than {MAX_TABLE_CELLS:,}")
        scopes = [[int(next(words)) for _ in range(int(next(words)))] for _ in range(int(next(words)))]
        numbers = [list(itertools.islice(words, int(next(words)))) for _ in scopes]
    except StopIteration:
        raise ValueError(f"{source}: expected more numbers, or smaller ones, of variables and tables") from None
    except ValueError as error:
        raise ValueError(str(error) if str(error).startswith(source) else f"{source}: {error}") from None
    states = {str(i): [str(k) for k in range(size)] for i, size in enumerate(sizes)}
    families = [[str(i) for i in scope] for scope in scopes]
    parents = {family[-1]: family[:-1] for family in families if family}
    tables = {family[-1]: each for family, each in zip(families, numbers, strict=True) if family}
    return checked(states, parents, tables, source)


def _decimals(table: NDArray[np.float64]) -> str:
    """All digits and no exponents, which some readers of these formats do not know."""
    return " ".join(np.format_float_positional(p, trim="0") for p in table.ravel())
