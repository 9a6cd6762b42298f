"""Networks in the BIF text format that most programs for Bayesian networks read.

BIF knows words only: names and states are reduced to letters, digits and underscores. What that loses (original names,
levels, cuts) is kept in a comment line that starts with ``// jaxbn``: other programs skip it, ``read_bif`` reads it.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jaxbn.formats.json_file import from_dict, to_dict
from jaxbn.formats.labels import variable_labels
from jaxbn.model.bayesnet import BayesNet
from jaxbn.runtime.files import PathLike, write_text

MARK = "// jaxbn "
_VARIABLE = re.compile(r"variable\s+(\S+)\s*\{[^{}]*?\[\s*(\d+)\s*\]\s*\{([^{}]*)\}[^{}]*\}")
_PROBABILITY = re.compile(r"probability\s*\(\s*([^|)]+?)\s*(?:\|([^)]*))?\)\s*\{([^{}]*)\}")
_ROW = re.compile(r"\(([^)]*)\)\s*([^;]*);")


def write_bif(net: BayesNet, path: PathLike) -> None:
    """Write a network in the BIF format, see ``to_bif``; the file is replaced in one step."""
    write_text(path, to_bif(net))


def to_bif(net: BayesNet) -> str:
    """The text of a network in the BIF format.

    Example:
        >>> from jaxbn.model.fit import fit
        >>> print(to_bif(fit({"the x": [0.0, 1.0, 4.0]}, {}, {"the x": [2.0]})))
        network jaxbn {
        }
        // jaxbn {...}
        variable the_x {
          type discrete [ 2 ] { below_2, from_2 };
        }
        probability ( the_x ) {
          table 0.6, 0.4;
        }
    """
    label = variable_labels(net.names)
    blocks = ["network jaxbn {\n}", MARK + _metadata(net)]
    for name in net.names:
        states = net.state_labels(name)
        blocks.append(f"variable {label[name]} {{\n  type discrete [ {len(states)} ] {{ {', '.join(states)} }};\n}}")
    blocks += [_probability(net, name, label) for name in net.names]
    return "\n".join(blocks) + "\n"


def read_bif(path: PathLike) -> BayesNet:
    """Read a network in the BIF format.

    A file that jaxbn wrote gives back the same names, levels, policies and tables. Any other gives a network of
    discrete variables whose levels are the words of the file.

    Args:
        path: the file.

    Raises:
        ValueError: the file has no variables, or a table that is missing or does not fit.

    Example:
        >>> import tempfile
        >>> from jaxbn.model.fit import fit
        >>> net = fit({"the x": [0.0, 1.0, 4.0]}, {}, {"the x": [2.0]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_bif(net, f"{folder}/net.bif")
        ...     read_bif(f"{folder}/net.bif").policies["the x"].edges.tolist()
        [2.0]
    """
    text = Path(path).read_text(encoding="utf-8")
    metadata = next((line[len(MARK) :] for line in text.splitlines() if line.startswith(MARK)), None)
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    states = {_word(m[1]): tuple(_words(m[3])) for m in _VARIABLE.finditer(text)}
    if not states:
        raise ValueError(f"{os.fspath(path)!r} holds no variables; is it a BIF file?")
    families = {}
    for match in _PROBABILITY.finditer(text):
        child, found = _word(match[1]), tuple(_words(match[2] or ""))
        families[child] = found, _table(child, found, match[3], states)
    lacking = [name for name in states if name not in families]
    if lacking:
        raise ValueError(
            f"{os.fspath(path)!r} has no probabilities for {', '.join(map(repr, lacking))}; it may be truncated"
        )
    tables = {name: families[name][1] for name in states}
    if metadata is not None:
        return _restore(metadata, tables, repr(os.fspath(path)))
    return BayesNet({name: families[name][0] for name in states}, {}, dict(states), tables, {})


def _metadata(net: BayesNet) -> str:
    document = to_dict(net)
    for variable in document["variables"]:
        del variable["table"]
    # other programs search for the ends of comments without regard to quotes, so no slash may appear
    return json.dumps(document, allow_nan=False).replace("/", "\\u002f")


def _restore(metadata: str, tables: Mapping[str, NDArray[np.float64]], source: str) -> BayesNet:
    try:
        document = json.loads(metadata)
        label = variable_labels(variable["name"] for variable in document["variables"])
        variables = [{**v, "table": tables[label[v["name"]]]} for v in document["variables"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{source}: its line {MARK!r} does not fit the rest ({type(error).__name__} {error}); "
            "delete that line to read the network without original names and cuts"
        ) from None
    return from_dict({**document, "variables": variables}, source)


def _probability(net: BayesNet, name: str, label: Mapping[str, str]) -> str:
    found, table = net.parents[name], net.tables[name]
    if not found:
        return f"probability ( {label[name]} ) {{\n  table {_numbers(table)};\n}}"
    configurations = itertools.product(*(net.state_labels(parent) for parent in found))
    rows = zip(configurations, table.reshape(-1, table.shape[-1]), strict=True)
    lines = [f"  ({', '.join(states)}) {_numbers(row)};" for states, row in rows]
    head = f"probability ( {label[name]} | {', '.join(label[parent] for parent in found)} ) {{"
    return "\n".join([head, *lines, "}"])


def _numbers(row: NDArray[np.float64]) -> str:
    return ", ".join(repr(float(p)) for p in row)


def _table(child: str, found: Sequence[str], body: str, states: Mapping[str, Sequence[str]]) -> NDArray[np.float64]:
    shape = tuple(len(states[name]) for name in (*found, child))
    plain = re.search(r"\btable\b([^;]*);", body)
    try:
        if plain:  # without states in front: the child's states vary slowest, the last parent's fastest
            return np.moveaxis(np.array(_floats(plain[1])).reshape(shape[-1:] + shape[:-1]), 0, -1)
        table = np.full(shape, np.nan)
        default = re.search(r"\bdefault\b([^;]*);", body)
        if default:
            table[...] = _floats(default[1])
        for match in _ROW.finditer(body):
            given = _words(match[1])
            table[tuple(states[p].index(s) for p, s in zip(found, given, strict=True))] = _floats(match[2])
    except (KeyError, ValueError) as error:
        raise ValueError(f"the table of {child!r} does not fit its variables: {error}") from None
    return table


def _words(text: str) -> list[str]:
    return [_word(word) for word in re.split(r"[,\s]+", text) if word]


def _word(text: str) -> str:
    return text.strip().strip('"')


def _floats(text: str) -> list[float]:
    return [float(number) for number in re.split(r"[,\s]+", text.strip()) if number]
