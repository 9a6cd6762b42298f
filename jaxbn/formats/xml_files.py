"""XMLBIF, which most programs read, and XDSL of GeNIe and SMILE.

In both a table is written in one line: the states of the child vary fastest, then those of the last parent.
"""

from __future__ import annotations

from xml.etree import ElementTree as Tree

import numpy as np
from numpy.typing import NDArray

from jaxbn.formats.record import Record, checked


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
        _child(definition, "TABLE", _line(record.tables[name]))
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
        _child(node, "probabilities", _line(record.tables[name]))
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


def _line(table: NDArray[np.float64]) -> str:
    return " ".join(repr(float(p)) for p in table.ravel())


def _child(parent: Tree.Element, tag: str, text: str) -> None:
    Tree.SubElement(parent, tag).text = text


def _inner(parent: Tree.Element, tag: str, source: str) -> str:
    found = parent.findtext(tag)
    if found is None or not found.strip():
        raise ValueError(f"{source}: expected <{tag}> inside <{parent.tag}>, found none")
    return found.strip()


def _trimmed(element: Tree.Element) -> str:
    return (element.text or "").strip()
