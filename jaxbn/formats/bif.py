"""Networks in the BIF text format that most programs for Bayesian networks read.

BIF knows words only: names and states are reduced to letters, digits and underscores. What that loses (original names,
levels, cuts) is kept in a comment line that starts with ``// jaxbn``: other programs skip it, ``read_bif`` reads it.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.formats.bif_grammar import Declarations, parse
from jaxbn.formats.json_file import from_dict, to_dict
from jaxbn.formats.labels import variable_labels
from jaxbn.model.bayesnet import BayesNet
from jaxbn.runtime.files import PathLike, write_text

LOG = logging.getLogger("jaxbn")
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
          type discrete [ 2 ] { below_2, 2_or_more };
        }
        probability ( the_x ) {
          table 0.6, 0.4;
        }
    """
    label = variable_labels(net.names)
    kept = _written(net)
    blocks = ["network jaxbn {\n}", MARK + _metadata(net, kept)]
    dropped = [name for name in net.names if name not in kept]
    if dropped:
        words = ", ".join(label[name] for name in dropped)
        blocks.append(f"// left out, as other programs refuse variables of one state: {words}")
        LOG.warning("BIF: %s left out, as other programs refuse variables of one state; read_bif restores them", words)
    for name in kept:
        states = net.state_labels(name)
        blocks.append(f"variable {label[name]} {{\n  type discrete [ {len(states)} ] {{ {', '.join(states)} }};\n}}")
    blocks += [_probability(net, name, [p for p in net.parents[name] if p in kept], label) for name in kept]
    return "\n".join(blocks) + "\n"


def _written(net: BayesNet) -> list[str]:
    """The variables that a file has: those of several states, or all where none has several."""
    return [name for name in net.names if net.cardinalities[name] > 1] or list(net.names)


def read_bif(path: PathLike) -> BayesNet:
    """Read a network in the BIF format.

    A file that jaxbn wrote gives back the same names, levels, binnings and tables. Any other gives a network of
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
        ...     read_bif(f"{folder}/net.bif").binnings["the x"].cuts.tolist()
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


def _metadata(net: BayesNet, kept: Sequence[str]) -> str:
    """Everything but the tables of the variables that are kept in the file itself."""
    document = to_dict(net)
    for variable in document["variables"]:
        if variable["name"] in kept:
            del variable["table"]
    # other programs search for the ends of comments without regard to quotes, so no slash may appear
    return json.dumps(document, allow_nan=False).replace("/", "\\u002f")


def _restore(metadata: str, found: Declarations, source: str) -> BayesNet:
    """The network with its original names, levels and cuts."""
    try:
        document = json.loads(metadata)
        label = variable_labels(variable["name"] for variable in document["variables"])
        sizes = {variable["name"]: _size(variable) for variable in document["variables"]}
        dropped = {name for name, size in sizes.items() if size == 1 and label[name] not in found.families}
        variables = []
        for variable in document["variables"]:
            name, shape = variable["name"], [sizes[v] for v in (*variable["parents"], variable["name"])]
            table = variable["table"] if name in dropped else found.families[label[name]].table.reshape(shape)
            variables.append({**variable, "table": table})
        net = from_dict({**document, "variables": variables}, "the network of this line")
        inside = {n: [label[p] for p in net.parents[n] if p not in dropped] for n in net.names if n not in dropped}
        if {label[n]: tuple(parents) for n, parents in inside.items()} != {
            name: family.parents for name, family in found.families.items()
        }:
            raise ValueError("other parents")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"{source}: expected a description of the network that fits the rest of the file, found {error!r}; delete "
            "the line to read the network without original names and cuts"
        ) from None
    return net


def _size(variable: Mapping[str, Any]) -> int:
    """Number of states of a variable as the description has it."""
    if "policy" in variable:
        return len(variable["policy"]["edges"]) + 1
    return len(variable["grouping"]["groups"] if "grouping" in variable else variable["levels"])


def _probability(net: BayesNet, name: str, found: Sequence[str], label: Mapping[str, str]) -> str:
    table = net.tables[name]
    if not found:
        return f"probability ( {label[name]} ) {{\n  table {_numbers(table.ravel())};\n}}"
    configurations = itertools.product(*(net.state_labels(parent) for parent in found))
    rows = zip(configurations, table.reshape(-1, table.shape[-1]), strict=True)
    lines = [f"  ({', '.join(states)}) {_numbers(row)};" for states, row in rows]
    head = f"probability ( {label[name]} | {', '.join(label[parent] for parent in found)} ) {{"
    return "\n".join([head, *lines, "}"])


def _numbers(row: NDArray[np.float64]) -> str:
    return ", ".join(repr(float(p)) for p in row)
