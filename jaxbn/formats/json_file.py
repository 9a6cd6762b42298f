"""Networks on disk: versioned JSON, floats bit for bit, files replaced in one step.

Version 2 compresses large tables, most of whose rows are alike, and keeps how a network was found; version 3 has lines
inside bins, version 4 lines of whole columns, version 5 lines by the states of children, version 6 lines of numbers and
logarithms that follow numbers beside the parents. Each is written only where it is needed; older versions are read.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import os
import zlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.binning import Binning
from jaxbn.cuts.shapes.recording import Recording
from jaxbn.cuts.shapes.scores import Kind
from jaxbn.cuts.shapes.shape import Shape
from jaxbn.formats.fields import Field
from jaxbn.groups.grouping import Grouping
from jaxbn.inputs.checks import one_of
from jaxbn.inputs.columns import Level
from jaxbn.inputs.graph import MAX_TABLE_CELLS
from jaxbn.inputs.units import UNITS, Unit
from jaxbn.model.average import AverageNet
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.lines.line import Line
from jaxbn.model.search_report import SearchReport
from jaxbn.runtime.files import PathLike, write_text

FORMAT = "jaxbn.BayesNet"
AVERAGE = "jaxbn.AverageNet"
VERSION = 6
MOST_ROWS = 2**53  # that floats can count
LISTED = 1000  # cells of a table that is written as plain numbers


def save(net: BayesNet | AverageNet, path: PathLike) -> None:
    """Write a network, or an average of networks, as JSON; see ``BayesNet.save``."""
    write_text(path, json.dumps(to_dict(net), indent=1, allow_nan=False) + "\n")


def load(path: PathLike) -> Any:
    """Read a network, or an average of networks, that ``save`` wrote.

    Raises:
        ValueError: the file is truncated or damaged (the message names the field), not a jaxbn network, or of a newer
            version.

    Example:
        >>> load("missing.json")
        Traceback (most recent call last):
            ...
        FileNotFoundError: [Errno 2] No such file or directory: 'missing.json'
    """
    text = Path(path).read_bytes()
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:  # the first covers invalid UTF-8 as well
        raise ValueError(
            f"{os.fspath(path)!r} is truncated or not a JSON file ({error}); save the network again, or "
            "use jaxbn.read for another format"
        ) from None
    source = repr(os.fspath(path))
    if isinstance(document, Mapping) and document.get("format") == AVERAGE:
        return _average(document, source)
    return from_dict(document, source=source)


def _average(document: Mapping[str, Any], source: str) -> AverageNet:
    members = document.get("networks")
    if not isinstance(members, list) or not members:
        raise ValueError(f"{source} is damaged: 'networks' must be a list of networks; save the average again")
    found = [from_dict(member, source=f"network {i} of {source}") for i, member in enumerate(members)]
    try:
        never = Field(document, "").maybe("never", _arcs)  # files of earlier versions have none
        return AverageNet(tuple(found), None if never is None else frozenset(never))
    except ValueError as error:
        raise ValueError(f"{source} is damaged: {error}; save the average again") from None


def _version(net: BayesNet) -> int:
    """The oldest version that can hold a network, so that earlier programs read what they understand."""
    of_lines = [
        6 if line.further or line.ruler in ("number", "logarithm") else 5 if line.children else 4 if line.column else 3
        for line in net.lines.values()
    ]
    return max(of_lines, default=2)


def to_dict(net: BayesNet | AverageNet) -> dict[str, Any]:
    """The network as plain lists, numbers and strings that JSON can hold; numbers JSON lacks become strings."""
    if isinstance(net, AverageNet):
        members = [to_dict(member) for member in net.networks]
        head = {"format": AVERAGE, "version": max(each["version"] for each in members)}
        return {**head, **({} if net.never is None else {"never": sorted(net.never)}), "networks": members}
    search = {} if net.search is None else net.search.as_dict()
    return {
        "format": FORMAT,
        "version": _version(net),
        "score": _number(net.score),
        "n_rows": net.n_rows,
        "alpha": net.alpha,
        **({"alphas": dict(net.alphas)} if net.alphas else {}),
        "variables": [
            {
                "name": name,
                "parents": list(net.parents[name]),
                **_states(net, name),
                "table": _table(net.tables[name]),
                **({"line": _line(net.lines[name])} if name in net.lines else {}),
                **_counts(net, name),
            }
            for name in net.names
        ],
        **({"search": {k: _number(v) if isinstance(v, float) else v for k, v in search.items()}} if search else {}),
    }


def from_dict(document: Any, source: str = "the document") -> BayesNet:
    """The network that ``to_dict`` described; ``source`` names it in messages."""
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise ValueError(
            f"{source} is not a jaxbn network: its 'format' is not {FORMAT!r}; pass a file written by save"
        )
    version = document.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ValueError(
            f"{source} has version {version!r}, newer than {VERSION}, the newest this jaxbn reads; upgrade jaxbn"
        )
    try:
        if isinstance(version, bool) or version not in range(1, VERSION + 1):
            raise ValueError(f"'version' must be from 1 to {VERSION}, got {version!r}")
        return _network(Field(document, ""))
    except ValueError as error:
        raise ValueError(f"{source} is damaged: {error}; save the network again") from None


def _network(document: Field) -> BayesNet:
    variables = _by_name(document.get("variables"))

    def each(key: str, read: Callable[[Field], Any]) -> dict[str, Any]:
        return {name: read(variable.get(key)) for name, variable in variables.items() if variable.has(key)}

    parents = {name: _parents(name, v.get("parents"), variables) for name, v in variables.items()}
    binnings = each("policy", _binning)
    net = BayesNet(
        parents=parents,
        binnings=binnings,
        levels=each("levels", _levels),
        tables={name: _read_table(v.get("table")) for name, v in variables.items()},
        bounds={name: _bounds(v.get("bounds")) for name, v in variables.items() if v.has("policy")},
        score=document.get("score").number(),
        n_rows=document.get("n_rows").whole(),
        alpha="auto" if document.get("alpha").value == "auto" else document.get("alpha").positive(),
        groupings=each("grouping", _grouping),
        shares={name: v.get("shares").numbers() for name, v in variables.items() if v.has("grouping")},
        alphas={name: weight.positive() for name, weight in document.maybe("alphas", Field.entries, {}).items()},
        search=document.maybe("search", _read_search),
        lines={n: _read_line(v.get("line"), n, parents, binnings) for n, v in variables.items() if v.has("line")},
        counts=each("counts", _read_table),
        level_counts=each("level_counts", Field.numbers),
    )
    for name in net.alphas:
        if name not in variables:
            raise ValueError(f"{f'alphas.{name}'!r} is not a variable")
    _check_counts(net)
    return net


def _check_counts(net: BayesNet) -> None:
    """Refuse counts that are not those of the tables."""
    shapes = {name: table.shape for name, table in net.tables.items()}
    levels = {name: (len(net.levels[name]),) for name in net.groupings}
    for counts, wanted in ((net.counts, shapes), (net.level_counts, levels)):
        for name, found in counts.items():
            if found.shape != wanted.get(name) or not ((found >= 0) & (found <= MOST_ROWS)).all():
                raise ValueError(f"the counts of {name!r} must be numbers from 0 on of shape {wanted.get(name)}")
    if net.counts and (net.counts.keys() != shapes.keys() or net.level_counts.keys() != levels.keys()):
        raise ValueError("'counts' must be there for all variables or for none")


def _by_name(variables: Field) -> dict[str, Field]:
    found: dict[str, Field] = {}
    for variable in variables.items():
        name = variable.get("name").text()
        if name in found:
            raise ValueError(f"{variable.place + '.name'!r} must differ from the others, got {name!r} twice")
        found[name] = variable
    if not found:
        raise ValueError("'variables' must have at least one item")
    return found


def _parents(name: str, field: Field, variables: Mapping[str, Field]) -> tuple[str, ...]:
    found: list[str] = []
    for item in field.items():
        if item.text() not in variables or item.text() in (name, *found):
            raise ValueError(f"{item.place!r} must name another variable, and each once, got {item.value!r}")
        found.append(item.text())
    return tuple(found)


def _levels(field: Field) -> tuple[Level, ...]:
    found = tuple(item.level() for item in field.items())
    if not found or len(set(found)) < len(found):
        raise ValueError(f"{field.place!r} must have at least one level, and each once")
    return found


def _bounds(field: Field) -> tuple[float, float]:
    found = field.numbers()
    field.check(found.shape == (2,), "two numbers")
    return float(found[0]), float(found[1])


def _binning(field: Field) -> Binning:
    limits = {key: field.get(key).number() for key in ("lower", "upper")}
    if any(map(math.isnan, limits.values())):
        raise ValueError(f"'lower' and 'upper' of {field.place!r} must be numbers, got nan")
    edges, cost, method = field.get("edges").numbers(), field.get("cost").number(), field.get("method").text()
    with field.named():
        shape = field.maybe("shape", _shape)
        unit = Unit(one_of("unit", field.maybe("unit", Field.text, "number"), UNITS), field.maybe("form", Field.text))
        labels = tuple(item.text() for item in field.maybe("labels", Field.items, ()))
        return Binning(edges, cost=cost, method=method, shape=shape, **limits, unit=unit, labels=labels)


def _grouping(field: Field) -> Grouping:
    groups = tuple(_levels(group) for group in field.get("groups").items())
    with field.named():
        grouping = Grouping(groups, field.get("cost").number(), field.get("method").text())
        sorted(grouping.levels)
    return grouping


def _shape(field: Field) -> Shape:
    knots, masses = field.get("knots").numbers(), field.get("masses").numbers()
    endings = field.maybe("endings", Field.numbers, np.zeros(0))
    return Shape(knots, masses, Recording(field.maybe("step", Field.number, 0.0), tuple(endings.tolist())))


def _table(table: NDArray[Any]) -> Any:
    """Nested lists; or, of many cells, their bytes, little-endian, compressed and in base 64."""
    if table.size <= LISTED:
        return table.tolist()
    packed = zlib.compress(np.ascontiguousarray(table, "<f8").tobytes(), 9)
    return {"shape": list(table.shape), "zlib": base64.b64encode(packed).decode()}


def _read_table(field: Field) -> NDArray[np.float64]:
    if not isinstance(field.value, Mapping):
        return field.numbers()
    shape, packed = [size.whole() for size in field.get("shape").items()], field.get("zlib")
    cells = math.prod(shape)
    if cells > MAX_TABLE_CELLS:
        raise ValueError(f"{field.place!r} must have at most {MAX_TABLE_CELLS:,} cells, got {cells:,}")
    try:
        content = zlib.decompressobj().decompress(base64.b64decode(packed.text(), validate=True), 8 * cells + 1)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"{packed.place!r} must be compressed numbers in base 64 ({error})") from None
    if len(content) != 8 * cells:
        raise ValueError(f"{packed.place!r} must hold {cells:,} numbers, got {len(content) / 8:,.0f}")
    return Field(np.frombuffer(content, "<f8").reshape(shape), field.place).numbers()


def _line(line: Line) -> dict[str, Any]:
    arrays = {"cells": line.cells.astype(np.float64), "coefficients": line.coefficients, "scales": line.scales}
    tables = {key: _table(array) for key, array in arrays.items()}
    more: dict[str, Any] = {"column": True} if line.ruler == "column" else {}
    more |= {"ruler": line.ruler} if line.ruler in ("number", "logarithm") else {}
    more |= {key: list(getattr(line, key)) for key in ("slopes", "children", "further") if getattr(line, key)}
    more |= {"by_parents": _line(line.by_parents)} if line.by_parents else {}
    return {"parents": list(line.parents), **tables, "off": line.off, **more}


def _read_line(field: Field, name: str, parents: Mapping[str, tuple[str, ...]], continuous: Collection[str]) -> Line:
    by = tuple(item.text() for item in field.get("parents").items())
    children, further = (
        tuple(item.text() for item in field.maybe(key, Field.items, ())) for key in ("children", "further")
    )
    if not (by or children or further) or not set(by) <= set(parents[name]) or name not in continuous:
        raise ValueError(f"{field.place + '.parents'!r} must be parents of a continuous variable, got {list(by)}")
    if not set(further) <= set(continuous) - {name, *parents[name]}:
        raise ValueError(f"{field.place + '.further'!r} must be other continuous variables, got {list(further)}")
    if not all(name in parents.get(child, ()) for child in children):
        raise ValueError(f"{field.place + '.children'!r} must be children of {name!r}, got {list(children)}")
    cells, coefficients, scales = (_read_table(field.get(key)) for key in ("cells", "coefficients", "scales"))
    with field.named():
        slopes = tuple(item.number() for item in field.maybe("slopes", Field.items, ()))
        plain = "column" if field.maybe("column", Field.truth, False) else "bin"
        off, ruler = field.get("off").positive(), field.maybe("ruler", Field.text, plain)
        if ruler not in get_args(Kind):
            raise ValueError(f"the ruler {ruler!r} is not known; this version has {', '.join(get_args(Kind))}")
        other = _read_line(field.get("by_parents"), name, parents, continuous) if field.has("by_parents") else None
        return Line(by, cells.astype(np.int64), coefficients, scales, off, ruler, slopes, children, further, other)


def _arcs(field: Field) -> tuple[tuple[str, ...], ...]:
    for arc in field.items():
        arc.check(len(arc.items()) == 2, "the two names of an arc")
    return tuple(tuple(name.text() for name in arc.items()) for arc in field.items())


def _read_search(field: Field) -> SearchReport:
    read: dict[str, Callable[[Field], Any]] = {"str": Field.text, "int": Field.whole, "float": Field.number}
    read |= {"bool": Field.truth, "tuple[tuple[str, str], ...]": _arcs}
    found: dict[str, Any] = {}
    for own in dataclasses.fields(SearchReport):
        if own.default is None and not field.has(own.name):  # fields that older files lack
            continue
        kind, _, optional = str(own.type).partition(" | ")
        inner = field.get(own.name)
        found[own.name] = None if optional and inner.value is None else read[kind](inner)
    return SearchReport(**found)


def _counts(net: BayesNet, name: str) -> dict[str, Any]:
    """What ``update`` needs to go on; whole numbers are written as such."""
    if not net.counts:
        return {}
    levels = {"level_counts": net.level_counts[name].astype(np.int64).tolist()} if name in net.level_counts else {}
    counts = net.counts[name]
    whole = counts.astype(np.int64)
    return {"counts": _table(whole if np.array_equal(whole, counts) else counts), **levels}


def _states(net: BayesNet, name: str) -> dict[str, Any]:
    if name in net.groupings:
        grouping, levels = net.groupings[name], list(net.levels[name])
        groups = [list(group) for group in grouping.groups]
        fields = {"groups": groups, "cost": _number(grouping.cost), "method": grouping.method}
        return {"levels": levels, "grouping": fields, "shares": net.shares[name].tolist()}
    if name in net.levels:
        return {"levels": list(net.levels[name])}
    binning = net.binnings[name]
    fields = {key: _number(getattr(binning, key)) for key in ("cost", "lower", "upper")}
    return {
        "policy": {
            "edges": binning.cuts.tolist(),
            **fields,
            "method": binning.method,
            **({"unit": binning.unit.kind} if binning.unit.kind != "number" else {}),
            **({"form": binning.unit.form} if binning.unit.form is not None else {}),
            **({"labels": list(binning.labels)} if binning.labels else {}),
            **({} if binning.shape is None else {"shape": binning.shape.fields()}),
        },
        "bounds": list(net.bounds[name]),
    }


def _number(value: float) -> float | str:
    """A number for JSON, which has no NaN and no infinities: these become texts that ``float`` reads."""
    return float(value) if math.isfinite(value) else str(float(value))
