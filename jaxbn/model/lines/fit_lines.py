"""Lines fitted to the rows of a table, by evidence (docs/maths.md, "Lines inside bins")."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from jaxbn.cuts.shapes.inside import InsideBins
from jaxbn.cuts.shapes.scores import Kind, OfNumbers
from jaxbn.inputs.columns import MISSING
from jaxbn.inputs.later import nx
from jaxbn.inputs.missing import LOG
from jaxbn.model.fitted import Fitted
from jaxbn.model.lines.line import Floats, Integers, Line
from jaxbn.model.lines.rows import Parts
from jaxbn.model.lines.rulers import COMPARED, Rows
from jaxbn.runtime import limits
from jaxbn.runtime.threads import in_threads

BENT = 1.5
"""Distances to both sides of the median that differ by more than this factor are not those of a straight line."""

NEAREST = 24
"""Candidates that are looked at for the numbers that a line follows beside the parents."""

MOST_ROWS = 2**17
"""Rows that lines are fitted to, at most: with so many, further ones hardly change a coefficient."""

GRACE = 1.0
"""Seconds that lines may take when the time is over: most tables need less, and are the better for them."""


def fit_lines(net: Fitted, columns: Mapping[str, Integers], values: Mapping[str, Floats]) -> dict[str, Line]:
    """The lines of all variables that have a shape; rows that lack an entry of a family are left out.

    The network has none yet; columns are the codes of all variables, -1 where missing, and values NaN there.
    """
    some = slice(None, None, -(-len(columns[net.names[0]]) // MOST_ROWS) or 1)
    codes = np.stack([columns[name][some] for name in net.names], axis=1)  # [rows, variables]
    values = {name: column[some] for name, column in values.items()}
    before, links, unknown = list[str](), nx.Graph(net.graph), list[Rows]()
    parts, few_parts = dict[tuple[str, Kind], Parts](), dict[tuple[str, Kind], Parts]()
    for name in (net.names[v] for v in net.network.structure.order):
        if name not in net.binnings or net.binnings[name].shape is None:
            continue
        parents = tuple(p for p in net.parents[name] if p in net.binnings)
        # of these a higher state means more of something
        ordered = (c for c in net.names if c in net.binnings or net.cardinalities[c] == 2)
        children = tuple(c for c in ordered if name in net.parents[c])
        if parents or children:
            others = _nearest(links, name, [other for other in before if other not in parents])
            numbers = {n: values[n] for n in (*parents, *others, name)}
            shared = parts if len(codes) <= COMPARED else {}  # of more rows, all columns may be too much to remember
            unknown.append(Rows(net, name, parents, others, children, codes, numbers, shared, few_parts))
        before.append(name)
    began, done = time.monotonic(), list[str]()

    def line_of(rows: Rows) -> Line | None:
        if limits.over() and time.monotonic() - began > GRACE:
            return None
        done.append(rows.name)
        family = [net.names.index(n) for n in (*net.parents[rows.name], rows.name)]
        line = rows.take(np.flatnonzero((codes[:, family] != MISSING).all(axis=1))).best_line()
        return line and replace(line, slopes=_slopes(net, rows.name, line))

    found = {rows.name: line for rows, line in zip(unknown, in_threads(line_of, unknown, rows=len(codes)), strict=True)}
    if len(done) < len(unknown):
        LOG.warning("no time for the lines of more than %d variables", len(done))
    return {name: line for name, line in found.items() if line is not None}


def _nearest(links: nx.Graph, name: str, others: Sequence[str]) -> tuple[str, ...]:
    """The variables among some that are the fewest links away."""
    if len(others) <= NEAREST:
        return tuple(others)
    distances = nx.single_source_shortest_path_length(links, name)
    near = sorted((other for other in others if other in distances), key=lambda other: distances[other])
    return tuple(near[:NEAREST])


def _slopes(net: Fitted, name: str, line: Line) -> tuple[float, ...]:
    """The slopes in original units, or the powers of a line of logarithms; none where there are no such numbers."""
    names = (name, *line.numbers)
    logs = [isinstance(r := net.inside(each).rulers[line.ruler], OfNumbers) and r.log for each in names]
    spreads = [_spread(net.inside(each), line.ruler) for each in names]
    if not all(spreads) or any(logs) != all(logs):
        return ()
    return tuple(
        float(b * spreads[0] / spread) for b, spread in zip(line.coefficients[-1, 1:], spreads[1:], strict=False)
    )


def _spread(inside: InsideBins, kind: Kind) -> float:
    """The distance in a column that one score stands for; 0 if that depends on where in the column."""
    ruler = inside.rulers[kind]
    if isinstance(ruler, OfNumbers):
        return ruler.centre_and_spread[1]
    if kind == "bin":
        return 0.0
    below, above = np.diff(inside.at_column(ndtr([-1.0, 0.0, 1.0])))
    return (below + above) / 2 if max(below, above) < BENT * min(below, above) else 0.0
