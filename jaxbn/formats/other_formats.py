"""Formats of other programs besides BIF: XMLBIF, XDSL of GeNIe and SMILE, NET of Hugin, UAI of the competitions.

In all of them a table is written in one line: the states of the child vary fastest, then those of the last parent.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from xml.etree import ElementTree as Tree

import numpy as np
from numpy.typing import NDArray

from jaxbn.formats.record import Record, checked, exact
from jaxbn.inputs.graph import MAX_TABLE_CELLS

_NET_TOKEN = re.compile(r'\s+|%[^\n]*|(?P<kept>"(?:[^"\\]|\\.)*"|[{}()=;|]|[^\s{}()=;|"%]+)|(?P<other>.)')


def to_xmlbif(record: Record) -> str:
    """The text of an XMLBIF file."""
    root = Tree.Element("BIF", VERSION="0.3")
    network = Tree.SubElement(root, "NETWORK")
    _child(network, "NAME", "jaxbn")
    for name, states in record.states.items():
        variable = Tree.SubElement(network, "VARIABLE", TYPE="nature")
        _child(variable, "NAME", name)
        for state in states:
            _child(variable, "OUTCOME", state)
    for name, parents in record.parents.items():
        definition = Tree.SubElement(network, "DEFINITION")
        _child(definition, "FOR", name)
        for parent in parents:
            _child(definition, "GIVEN", parent)
        _child(definition, "TABLE", exact(record.tables[name], " "))
    return _text(root, record)


def parse_xmlbif(text: str, source: str) -> Record:
    """The network of an XMLBIF text."""
    root = _root(text, source)
    states, parents, numbers = {}, {}, {}
    for variable in root.iter("VARIABLE"):
        if variable.get("TYPE", "nature") != "nature":
            raise ValueError(f"{source}: expected variables of nature alone, found {variable.get('TYPE')!r}")
        states[_inner(variable, "NAME", source)] = [_trimmed(each) for each in variable.findall("OUTCOME")]
    for definition in root.iter("DEFINITION"):
        name = _inner(definition, "FOR", source)
        parents[name] = [_trimmed(each) for each in definition.findall("GIVEN")]
        numbers[name] = _inner(definition, "TABLE", source).split()
    return checked(states, parents, numbers, source)


def to_xdsl(record: Record) -> str:
    """The text of an XDSL file; the part for drawing has names only, which pyAgrum asks for."""
    root = Tree.Element("smile", version="1.0", id="jaxbn", numsamples="1000", discsamples="10000")
    nodes = Tree.SubElement(root, "nodes")
    genie = Tree.SubElement(Tree.SubElement(root, "extensions"), "genie", version="1.0", app="jaxbn", name="jaxbn")
    for name in _parents_first(record):
        node = Tree.SubElement(nodes, "cpt", id=name)
        for state in record.states[name]:
            Tree.SubElement(node, "state", id=state)
        if record.parents[name]:
            _child(node, "parents", " ".join(record.parents[name]))
        _child(node, "probabilities", exact(record.tables[name], " "))
        _child(Tree.SubElement(genie, "node", id=name), "name", name)
    return _text(root, record)


def parse_xdsl(text: str, source: str) -> Record:
    """The network of an XDSL text; deterministic nodes have tables of zeros and ones."""
    found = _root(text, source).find("nodes")
    states, parents, numbers = {}, {}, {}
    for node in () if found is None else found:
        name = node.get("id", "")
        if node.tag not in ("cpt", "deterministic"):
            raise ValueError(f"{source}: expected nodes of chance alone, found {node.tag!r} for {name!r}")
        states[name] = [each.get("id", "") for each in node.findall("state")]
        parents[name] = (node.findtext("parents") or "").split()
        if node.tag == "cpt":
            numbers[name] = _inner(node, "probabilities", source).split()
        else:
            chosen = _inner(node, "resultingstates", source).split()
            numbers[name] = [str(float(state == each)) for each in chosen for state in states[name]]
    return checked(states, parents, numbers, source)


def _parents_first(record: Record) -> list[str]:
    """GeNIe reads a file from top to bottom."""
    done: dict[str, None] = {}
    while len(done) < len(record.states):
        done |= {name: None for name, found in record.parents.items() if name not in done and done.keys() >= set(found)}
    return list(done)


def _root(text: str, source: str) -> Tree.Element:
    try:
        return Tree.fromstring(text)
    except (Tree.ParseError, ValueError) as error:
        raise ValueError(f"{source}: expected XML, found an error: {error}") from None


def _text(root: Tree.Element, record: Record) -> str:
    Tree.indent(root)
    body = Tree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n<!-- {record.comment} -->\n'


def _child(parent: Tree.Element, tag: str, text: str) -> None:
    Tree.SubElement(parent, tag).text = text


def _inner(parent: Tree.Element, tag: str, source: str) -> str:
    found = parent.findtext(tag)
    if found is None or not found.strip():
        raise ValueError(f"{source}: expected <{tag}> inside <{parent.tag}>, found none")
    return found.strip()


def _trimmed(element: Tree.Element) -> str:
    return (element.text or "").strip()


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
            before, _, after = " ".join(each for each in head if each not in "()").partition("|")
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
        fields[name] = list(itertools.takewhile(lambda token: token != ";", tokens))[1:]
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
            raise ValueError(f"expected 'BAYES' as its first word, found {kind!r}")
        sizes = [int(next(words)) for _ in range(int(next(words)))]
        if max(sizes, default=1) > MAX_TABLE_CELLS:
            raise ValueError(f"a variable has {max(sizes):,} states, more than {MAX_TABLE_CELLS:,}")
        scopes = [[int(next(words)) for _ in range(int(next(words)))] for _ in range(int(next(words)))]
        numbers = [list(itertools.islice(words, int(next(words)))) for _ in scopes]
    except StopIteration:
        raise ValueError(f"{source}: expected more numbers, or smaller ones, of variables and tables") from None
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
    states = {str(i): [str(k) for k in range(size)] for i, size in enumerate(sizes)}
    families = [[str(i) for i in scope] for scope in scopes]
    parents = {family[-1]: family[:-1] for family in families if family}
    tables = {family[-1]: each for family, each in zip(families, numbers, strict=True) if family}
    return checked(states, parents, tables, source)


def _decimals(table: NDArray[np.float64]) -> str:
    """All digits and no exponents, which some readers of these formats do not know."""
    return " ".join(np.format_float_positional(p, trim="0") for p in table.ravel())
