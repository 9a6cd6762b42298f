"""One self-contained HTML page about a network: what goes into it, what its script computes with, how it is written."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from itertools import accumulate
from string import Template
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn import __version__
from jaxbn.cuts.shapes.scores import OfNumbers
from jaxbn.cuts.words import short_numbers
from jaxbn.drawing.missing import rows_of
from jaxbn.drawing.report import sections
from jaxbn.drawing.svg import Directions, histogram
from jaxbn.inputs.later import pd
from jaxbn.inputs.table import Table, as_frame
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.effects import mutual_information
from jaxbn.model.inference.questions import DRAWN, Chances, chances_of, draw_codes, n_summed
from jaxbn.model.words import count_states, is_cut, state_texts
from jaxbn.posterior.results import Posterior
from jaxbn.runtime.files import write_text

MOST_ARCS = 100  # of larger networks only the arcs that are worth most are described: more would take too long
PIECES = 40  # of a density in a picture
MOST_CELLS = 400_000  # entries of all tables together that the page carries, about 4 MB
MOST_SUMMED = 12_000_000  # numbers that the page sums over at once, as in ``script/inference.js``
MOST_LINE_CELLS = 5_000  # cells with a line of their own that the page carries of a variable

SCRIPTS = ("inference", "known", "lines", "numbers", "drawing", "cards", "tables", "explorer")
"""Files of the page's script, in the order in which they build on each other."""


def report(
    net: BayesNet,
    data: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str = "Bayesian network",
    scores: pd.DataFrame | None = None,
    notes: str = "",
    options: Mapping[str, Any] | None = None,
    strengths: Mapping[tuple[str, str], float] | None = None,
    posterior: Posterior | None = None,
    directions: Directions = "class",
) -> str:
    """A page about a network that opens offline in any browser, and answers questions there.

    Readers click what is known of some variables and see how all the others change, with the answers of ``net.query``:
    the page carries the tables and computes by itself. It also shows structure, cuts, tables and scores.

    Args:
        net: the network.
        data: the rows it was learned from, or others with the same columns: the histograms, and what was inferred about
            the columns. A ``Table`` also has the reasons.
        path: file to write, replaced in one step; none is written without it.
        title: heading of the page.
        scores: held-out log-likelihood by method, as ``jaxbn.compare`` returns it.
        notes: a sentence on the scores, such as a published figure.
        options: what the network was made with, such as the seed.
        strengths: share of resamples that have an arc, by (parent, child).
        posterior: what ``jaxbn.sample_posterior`` drew from the same rows: how probable each arc and cut is. The
            probabilities of arcs take the place of ``strengths``.
        directions: which arcs are arrows, see ``BayesNet.plot``; the page has a switch.

    Returns:
        The page as text.

    Example:
        >>> data = {"kind": ["a", "a", "b", "b"], "size": [1.0, 2.0, 7.0, 9.0]}
        >>> net = jaxbn.fit(data, {"size": ["kind"]}, {"size": [4.5]})
        >>> page = jaxbn.report(net, data, title="Sizes")
        >>> "<h1>Sizes</h1>" in page, "src=" in page
        (True, False)
    """
    table = None if data is None else _table(net, data)
    chances = chances_of(net)
    found = strongest(net, chances)
    parts = [
        sections.links(net, found),
        sections.network(net, left_out(net), strengths, posterior, directions),
        sections.variables(net, table, chances),
        sections.posterior(posterior),
        sections.groups(net),
        sections.scores(scores, notes),
        sections.tables(net),
        sections.missing(net, table),
        sections.columns(net, table),
        sections.making(net, options or {}),
    ]
    folder = files("jaxbn.drawing.report")
    script = "".join((folder / "script" / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    page = Template((folder / "page.html").read_text(encoding="utf-8")).substitute(
        title=escape(title),
        version=escape(__version__),
        style=(folder / "style.css").read_text(encoding="utf-8").strip(),
        summary=escape(sections.summary(net)),
        sections="\n".join(part for part in parts if part),
        data=payload(net, table, first=most_linked(found)),
        script=script,
        fingerprint=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    if path is not None:
        write_text(path, page)
    return page


def _table(net: BayesNet, data: Any) -> Table:
    table = data if isinstance(data, Table) else rows_of(net, as_frame(data))
    if absent := [name for name in net.names if name not in table.names]:
        raise ValueError(
            f"the data lacks column(s) {', '.join(map(repr, absent))} of the network; pass all its columns"
        )
    return table


class Link(NamedTuple):
    """An arc, its mutual information in nats, and what it says."""

    parent: str
    child: str
    nats: float
    words: str


def strongest(net: BayesNet, chances_of: Chances) -> list[Link]:
    """The arcs of a network, `MOST_ARCS` at most, in descending order of mutual information."""
    found, arcs = [], list(net.arcs)
    if len(arcs) > MOST_ARCS:
        arcs = sorted(arcs, key=lambda arc: -net.arc_gains.get(arc, 0.0))[:MOST_ARCS]
    for parent, child in arcs:
        chances = chances_of([parent, child])
        found.append(Link(parent, child, mutual_information(chances), _words(net, parent, child, chances)))
    return sorted(found, key=lambda link: -link.nats)


def most_linked(found: Sequence[Link]) -> str | None:
    """The variable whose links have the largest sum of mutual information."""
    total: Counter[str] = Counter()
    for link in found:
        total[link.parent] += link.nats  # type: ignore[assignment]
        total[link.child] += link.nats  # type: ignore[assignment]
    return total.most_common(1)[0][0] if total else None


def _words(net: BayesNet, parent: str, child: str, chances: NDArray[np.float64]) -> str:
    if all(name in net.binnings and is_cut(net, name) for name in (parent, child)):
        rank = _rank_correlation(chances)
        if abs(rank) >= 0.3:
            return f"higher {parent}, {'higher' if rank > 0 else 'lower'} {child} (rank correlation {rank:.2f})"
    overall = chances.sum(axis=0)
    gain = chances * np.log(np.maximum(chances, 1e-300) / np.outer(chances.sum(axis=1), overall).clip(1e-300))
    i, k = np.unravel_index(int(gain.argmax()), gain.shape)
    given = chances[i, k] / chances[i].sum()
    states = [state_texts(net, name)[code] for name, code in ((parent, i), (child, k))]
    return f"with {parent} {states[0]}, {child} is {states[1]} in {given:.0%} ({overall[k]:.0%} overall)"


def _rank_correlation(chances: NDArray[np.float64]) -> float:
    """Spearman's correlation of two variables whose states are in order, ties in the middle of their ranks."""
    rows, columns = chances.sum(axis=1), chances.sum(axis=0)
    across, up = (np.cumsum(margin) - margin / 2 - 0.5 for margin in (rows, columns))
    spread = np.sqrt((rows @ across**2) * (columns @ up**2))
    return float(across @ chances @ up / spread) if spread > 0 else 0.0


# --- what the page computes with: structure, states and tables of the network, as data inside the page


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
    rows = {}
    if len(kept) < len(net.names) or n_summed(net) > MOST_SUMMED:  # codes, row by row; fewer of many columns
        n = min(DRAWN, max(2000, 100 * DRAWN // len(net.names)))
        drawn = draw_codes(net, n, np.random.default_rng(0)).astype("<u2")
        rows = {"rows": base64.b64encode(drawn.tobytes()).decode()}
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


def left_out(net: BayesNet, most_cells: int | None = None) -> list[str]:
    """Variables whose tables are too large for the page, the smallest being kept.

    Example:
        >>> net = jaxbn.fit({"x": ["a", "b"], "y": ["c", "d"]}, {"y": ["x"]}, {})
        >>> left_out(net, most_cells=5)
        ['y']
    """
    most_cells = MOST_CELLS if most_cells is None else most_cells
    ascending = sorted(net.names, key=lambda name: net.tables[name].size)
    totals = dict(zip(ascending, accumulate(net.tables[name].size for name in ascending), strict=True))
    return [name for name in net.names if totals[name] > most_cells]


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
