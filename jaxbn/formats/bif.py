"""Networks in the BIF text format that most programs for Bayesian networks read.

BIF knows words only: names and states are reduced to letters, digits and underscores. What that loses (original names,
levels, cuts) is kept in a comment line that starts with ``// jaxbn``: other programs skip it, ``read_bif`` reads it.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jaxbn.formats.bif_grammar import Declarations, parse
from jaxbn.formats.json_file import from_dict, to_dict
from jaxbn.formats.labels import variable_labels
from jaxbn.model.bayesnet import BayesNet
from jaxbn.runtime.files import PathLike, write_text

MARK = "// jaxbn "


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
        ValueError: the file is not in the format, or damaged; the message has the line and what was expected there.

    Example:
        >>> import tempfile
        >>> from jaxbn.model.fit import fit
        >>> net = fit({"the x": [0.0, 1.0, 4.0]}, {}, {"the x": [2.0]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_bif(net, f"{folder}/net.bif")
        ...     read_bif(f"{folder}/net.bif").policies["the x"].edges.tolist()
        [2.0]
    """
    source = repr(os.fspath(path))
    text = _decoded(Path(path).read_bytes(), source)
    found = parse(text, source)
    tables = {name: found.families[name].table for name in found.states}
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith(MARK):
            return _restore(line[len(MARK) :], found, f"{source}, line {number}")
    return BayesNet({name: found.families[name].parents for name in found.states}, {}, dict(found.states), tables, {})


def _decoded(content: bytes, source: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        raise ValueError(f"{source}, line {line}: expected text in UTF-8, found the byte 0x{byte:02x}") from None


def _metadata(net: BayesNet) -> str:
    document = to_dict(net)
    for variable in document["variables"]:
        del variable["table"]
    # other programs search for the ends of comments without regard to quotes, so no slash may appear
    return json.dumps(document, allow_nan=False).replace("/", "\\u002f")


def _restore(metadata: str, found: Declarations, source: str) -> BayesNet:
    """The network with its original names, levels and cuts."""
    try:
        document = json.loads(metadata)
        label = variable_labels(variable["name"] for variable in document["variables"])
        variables = [{**v, "table": found.families[label[v["name"]]].table} for v in document["variables"]]
        net = from_dict({**document, "variables": variables}, "the network of this line")
        if {label[n]: tuple(label[p] for p in parents) for n, parents in net.parents.items()} != {
            name: family.parents for name, family in found.families.items()
        }:
            raise ValueError("other parents")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"{source}: expected a description of the network that fits the rest of the file, found {error!r}; delete "
            "the line to read the network without original names and cuts"
        ) from None
    return net


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
