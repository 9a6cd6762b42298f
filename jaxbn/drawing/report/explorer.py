"""What the page computes with: structure, states and tables of the network, as data inside the page."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from jaxbn.cuts.shapes.ruler import OfNumbers
from jaxbn.cuts.words import short_numbers
from jaxbn.drawing.svg import histogram
from jaxbn.inputs.table import Table
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.inference.questions import DRAWN, draw_codes, n_summed
from jaxbn.model.words import count_states, is_cut, state_texts

PIECES = 40  # of a density in a picture
MOST_CELLS = 400_000  # entries of all tables together that the page carries, about 4 MB
MOST_SUMMED = 12_000_000  # numbers that the page sums over at once, as in ``script/inference.js``
MOST_LINE_CELLS = 5_000  # cells with a line of their own that the page carries of a variable


def payload(net: BayesNet, table: Table | None, most_cells: int | None = None, first: str | None = None) -> str:
    """The network as JSON that may stand inside a script element.

    Tables are float64, little-endian, in base 64: the page computes with the very numbers of the network. The largest
    are null where all together would be too many; the page then has rows drawn from the network, too.
    The variable `first` is chosen when the page opens.
    """
    kept = set(net.names).difference(left_out(net, most_cells))
    place = {name: i for i, name in enumerate(net.names)}
    variables = [
        {
            "name": name,
            "parents": [place[parent] for parent in net.parents[name]],
            "card": net.cardinalities[name],
            "states": state_texts(net, name),
            "words": count_states(net, name),
            **_scale(net, name, table),
            **_line(net, name, place),
            "cells": net.tables[name].size,
            "table": base64.b64encode(net.tables[name].astype("<f8").tobytes()).decode() if name in kept else None,
        }
        for name in net.names
    ]
    rows = {"rows": _drawn(net)} if len(kept) < len(net.names) or n_summed(net) > MOST_SUMMED else {}
    document = {"variables": variables, "first": place.get(first or "", 0), **rows}
    return json.dumps(document, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _line(net: BayesNet, name: str, place: Mapping[str, int]) -> dict[str, Any]:
    """How a number follows those of its parents inside bins, see ``script/lines.js``."""
    line = net.lines[name].of_parents if name in net.lines else None
    if line is None or len(line.cells) > MOST_LINE_CELLS:
        return {}
    line = line.without(line.children)  # the page follows numbers alone

    def short(numbers: Iterable[float]) -> list[float]:
        return [float(f"{number:.12g}") for number in numbers]

    rulers = [net.inside(n).rulers[line.ruler] for n in (name, *line.parents)]
    found: dict[str, Any] = {
        "parents": [place[parent] for parent in line.parents],
        "cells": line.cells.tolist(),
        "off": line.off,
        "coefficients": [short(row) for row in line.coefficients],
        "scales": short(line.scales),
        "column": line.column,
        "moments": [[short(each) for each in ruler.moments()] for ruler in rulers[1:]],
    }
    if isinstance(rulers[0], OfNumbers):
        numbers = [ruler for ruler in rulers if isinstance(ruler, OfNumbers)]
        found["rulers"] = [[ruler.log, *ruler.centre_and_spread] for ruler in numbers]
    return {"line": found}


def _drawn(net: BayesNet) -> str:
    """Codes of rows drawn from the network, row by row, uint16, little-endian, in base 64; fewer of many columns."""
    n = min(DRAWN, max(2000, 100 * DRAWN // len(net.names)))
    return base64.b64encode(draw_codes(net, n, np.random.default_rng(0)).astype("<u2").tobytes()).decode()


def left_out(net: BayesNet, most_cells: int | None = None) -> list[str]:
    """Variables whose tables are too large for the page, the smallest being kept.

    Example:
        >>> from jaxbn.model.fit import fit
        >>> net = fit({"x": ["a", "b"], "y": ["c", "d"]}, {"y": ["x"]}, {})
        >>> left_out(net, most_cells=5)
        ['y']
    """
    most_cells = MOST_CELLS if most_cells is None else most_cells
    total, dropped = 0, set()
    for name in sorted(net.names, key=lambda name: net.tables[name].size):
        total += net.tables[name].size
        if total > most_cells:
            dropped.add(name)
    return [name for name in net.names if name in dropped]


def _scale(net: BayesNet, name: str, table: Table | None) -> dict[str, Any]:
    """The edges of a continuous variable and the histogram of its values."""
    if name not in net.binnings:
        return {"groups": [list(map(str, g)) for g in net.groupings[name].groups]} if name in net.groupings else {}
    edges = net.bin_edges(name)
    unit = net.binnings[name].unit
    plain = unit.kind == "number" and len(np.unique(edges)) < len(edges)
    cuts = [f"{e:g}" for e in edges] if plain else short_numbers(edges.tolist(), unit=unit)
    bars, _ = histogram(None if table is None else table.values[name], float(edges[0]), float(edges[-1]))
    found: dict[str, Any] = {"edges": edges.tolist(), "marks": cuts, "cut": is_cut(net, name)}
    found |= {} if unit.kind == "number" else {"unit": unit.kind}
    if any(name in line.parents for line in net.lines.values()):
        found["step"] = net.inside(name).recording.step
    ends, of, share = net.inside(name).pieces(most=PIECES)
    if len(ends) > len(edges):  # how values are distributed inside the bins
        shape = net.binnings[name].shape
        assert shape is not None
        found["measure"] = shape.measure()
        found["inside"] = {"ends": ends.tolist(), "bin": of.tolist(), "share": [float(f"{s:.6g}") for s in share]}
    if len(bars):
        found["bars"] = [float(f"{bar:.4g}") for bar in bars]
    return found
