"""Networks in files, whose ending says the format, and in other programs: pgmpy and pyAgrum."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from jaxbn.formats import other_formats as other
from jaxbn.formats.bif import parse_bif, to_bif
from jaxbn.formats.json_file import load, save
from jaxbn.formats.record import Record, network_of, record_of
from jaxbn.inputs import checks
from jaxbn.model.average import AverageNet
from jaxbn.model.bayesnet import BayesNet
from jaxbn.runtime.files import PathLike, write_text

FORMATS: dict[str, tuple[Callable[[Record], str], Callable[[str, str], Record]]] = {
    ".bif": (to_bif, parse_bif),
    **dict.fromkeys((".xml", ".xmlbif", ".bifxml"), (other.to_xmlbif, other.parse_xmlbif)),
    ".xdsl": (other.to_xdsl, other.parse_xdsl),
    ".net": (other.to_net, other.parse_net),
    ".uai": (other.to_uai, other.parse_uai),
}
"""How formats of other programs are written and read, by the ending of a file; ``.json`` is jaxbn's own."""


def read(path: PathLike) -> BayesNet | AverageNet:
    """Read a network from a file, by its ending.

    ``.json``, or any other ending: what ``save`` wrote. ``.bif``, ``.xml`` (or ``.xmlbif``, ``.bifxml``: XMLBIF),
    ``.xdsl`` (GeNIe), ``.net`` (Hugin), ``.uai``: a file of another program gives a network of discrete variables whose
    levels are the words of the file; one that jaxbn wrote gives back the same names, levels, cuts and tables.

    Args:
        path: the file.

    Raises:
        ValueError: the file is not in the format, or damaged; the message says what was expected.

    Example:
        >>> net.write("net.xdsl")
        >>> read("net.xdsl") == net
        True
    """
    ending = Path(path).suffix.lower()
    return _read_as(path, ending) if ending in FORMATS else load(path)


def write(net: BayesNet, path: PathLike, ending: str | None = None) -> None:
    """Write a network in the format of an ending, by default that of the file; see ``BayesNet.write``."""
    ending = ending or Path(path).suffix.lower()
    if ending == ".json":
        save(net, path)
    elif ending in FORMATS:
        write_text(path, FORMATS[ending][0](record_of(net)))
    else:
        raise ValueError(f"{os.fspath(path)!r} must end in one of .json, {', '.join(FORMATS)}")


def read_bif(path: PathLike) -> BayesNet:
    """Read a network in the BIF format, whatever the ending of the file; see ``read``.

    Example:
        >>> net.to_bif("net.txt")
        >>> read_bif("net.txt").names
        ('kind', 'size')
    """
    return _read_as(path, ".bif")


def _read_as(path: PathLike, ending: str) -> BayesNet:
    """Read a network in the format of an ending."""
    source = repr(os.fspath(path))
    text = _decoded(Path(path).read_bytes(), source)
    return network_of(FORMATS[ending][1](text, source), text, source)


def _decoded(content: bytes, source: str) -> str:
    declared = re.match(rb"""<\?xml[^>]*encoding=["']([\w-]+)["']""", content)
    encoding = declared[1].decode() if declared else "UTF-8"
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except LookupError as error:
        raise ValueError(f"{source}: {error}") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        raise ValueError(f"{source}, line {line}: expected text in {encoding}, found the byte 0x{byte:02x}") from None


def to_pgmpy(net: BayesNet) -> Any:
    """The network as a ``pgmpy.models.DiscreteBayesianNetwork``.

    Variables keep their names; states are named by ``net.state_labels``. Needs pgmpy, from the ``export`` extra.
    """
    try:
        from pgmpy.factors.discrete import TabularCPD
        from pgmpy.models import DiscreteBayesianNetwork
    except ImportError as error:
        raise ImportError("to_pgmpy needs pgmpy; install jaxbn[export]") from error

    model = DiscreteBayesianNetwork()
    model.add_nodes_from(net.names)
    model.add_edges_from(net.arcs)
    labels = {name: list(net.state_labels(name)) for name in net.names}
    for name, found in net.parents.items():
        table = net.tables[name].reshape(-1, net.cardinalities[name]).T  # pgmpy: one column a parent configuration
        cards = [net.cardinalities[parent] for parent in found]
        states = {v: labels[v] for v in (name, *found)}
        model.add_cpds(TabularCPD(name, len(labels[name]), table, list(found) or None, cards or None, states))
    model.check_model()
    return model


def to_pyagrum(net: BayesNet, bins: str = "ranges") -> Any:
    """The network as a ``pyagrum.BayesNet``, see ``BayesNet.to_pyagrum``."""
    try:
        import pyagrum
    except ImportError as error:
        raise ImportError("to_pyagrum needs pyagrum; install jaxbn[export]") from error

    checks.one_of("bins", bins, ("ranges", "labels"))
    model = pyagrum.BayesNet("jaxbn")
    for name in net.names:
        cuts = net.bin_edges(name) if bins == "ranges" and name in net.binnings else np.zeros(1)
        if len(cuts) > 2 and (np.diff(cuts) > 0).all():
            variable = pyagrum.DiscretizedVariable(name, name, cuts.tolist())
            variable.setEmpirical(True)  # what lies outside falls into the outer bins, as here
        else:
            variable = pyagrum.LabelizedVariable(name, name, list(net.state_labels(name)))
        model.add(variable)
    for parent, child in net.arcs:
        model.addArc(parent, child)
    for name, found in net.parents.items():
        # pyAgrum's arrays run through the variables of a table from the last to the first, the child being the first
        axes = (*reversed(range(len(found))), len(found))
        model.cpt(name)[:] = np.ascontiguousarray(net.tables[name].transpose(axes))
    return model
