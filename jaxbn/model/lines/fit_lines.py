"""Lines fitted to the rows of a table, by evidence (docs/maths.md, "Lines inside bins").

It decides by which ruler the scores of a line are taken, and which numbers beside the parents it follows.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from jaxbn.cuts.shapes.inside import InsideBins
from jaxbn.cuts.shapes.scores import Floats, Kind, OfNumbers, Part
from jaxbn.inputs.columns import MISSING
from jaxbn.inputs.later import nx
from jaxbn.inputs.missing import LOG
from jaxbn.model.fitted import Fitted
from jaxbn.model.lines.line import Integers, Line
from jaxbn.model.lines.regression import Family, choose_further, fit_line
from jaxbn.model.lines.rows import cells_of, part_of, scores_of_states
from jaxbn.runtime import limits
from jaxbn.runtime.threads import in_threads

BENT = 1.5
"""Distances to both sides of the median that differ by more than this factor are not those of a straight line."""

NEAREST = 24  # candidates that are looked at for the numbers that a line follows beside the parents
MOST_ROWS = 2**17  # rows that lines are fitted to, at most: with so many, further ones hardly change a coefficient
GRACE = 1.0  # seconds that lines may take when the time is over: most tables need less, and are the better for them
KINDS: tuple[Kind, ...] = ("bin", "column", "number", "logarithm")  # rulers that are compared

COMPARED, SOME = 2**15, 20_000
"""Rows by which rulers are compared, all being used by the one that is chosen, and rows by which numbers are chosen."""

KNOWN = 0.95  # share of the rows in which a further number has to be known


def fit_lines(net: Fitted, columns: Mapping[str, Integers], values: Mapping[str, Floats]) -> dict[str, Line]:
    """The lines of all variables that have a shape; rows that lack an entry of a family are left out.

    The network has none yet; columns are the codes of all variables, -1 where missing, and values NaN there.
    """
    some = slice(None, None, -(-len(columns[net.names[0]]) // MOST_ROWS) or 1)
    codes = np.stack([columns[name][some] for name in net.names], axis=1)  # [rows, variables]
    values = {name: column[some] for name, column in values.items()}
    before, links, unknown = list[str](), nx.Graph(net.graph), list[Rows]()
    parts, few_parts = dict[tuple[str, Kind], Part](), dict[tuple[str, Kind], Part]()
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


class Rows(NamedTuple):
    """The rows that have all of the family of a variable, and what its line may follow."""

    net: Fitted
    name: str
    parents: tuple[str, ...]  # the continuous ones
    others: tuple[str, ...]  # further numbers
    children: tuple[str, ...]  # whose states tell of the place
    codes: Integers  # [rows, variables]
    values: Mapping[str, Floats]
    parts: dict[tuple[str, Kind], Part]  # that were asked for already
    few_parts: dict[tuple[str, Kind], Part]  # of the rows by which rulers are compared, likewise

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Some of the rows; all of them share what is known of their parts."""
        if len(rows) == len(self.codes):
            return self
        values = {n: column[rows] for n, column in self.values.items()}
        return self._replace(codes=self.codes[rows], values=values, parts={}, few_parts={})

    def best_line(self) -> Line | None:
        """The line with the highest evidence, by ruler and by the numbers that it follows; None if there is none."""
        few, n = self, len(self.codes)
        if n > COMPARED:
            few = self.take(np.arange(0, n, -(-n // COMPARED)))._replace(parts=self.few_parts)
        _, best = max(few.by_rulers(), key=lambda each: each[0], default=(0.0, None))
        if best is None:
            return None
        family = self.family(best.ruler)
        line = self.line(family, best.further, off=True)
        by_parents = self.line(family, off=True) if best.further else None
        return line and replace(line[1], by_parents=by_parents and by_parents[1])

    def by_rulers(self) -> list[tuple[float, Line]]:
        """The lines that gain something, by each ruler: following parents, and further numbers as well."""
        found = list[tuple[float, Line]]()
        known = [n for n in self.others if np.isnan(self.values[n]).mean() <= 1 - KNOWN]
        rulers = [self.net.inside(n).rulers for n in (self.name, *self.parents)]
        # logarithms only where they differ from numbers
        alike = all(each.get("logarithm") is each.get("number") for each in rulers)
        for kind in KINDS:
            if not all(kind in each for each in rulers) or (kind == "logarithm" and alike):
                continue
            family = self.family(kind)
            candidates = [n for n in known if kind in self.net.inside(n).rulers]
            further = self.further(family, candidates)
            charge = len(further) * np.log(len(candidates)) if further else 0.0
            tried = [(self.line(family), 0.0), (self.line(family, further) if further else None, charge)]
            found += [(each[0] - less, each[1]) for each, less in tried if each]
        return found

    def line(self, family: Family, further: tuple[str, ...] = (), *, off: bool = False) -> tuple[float, Line] | None:
        """The line by one ruler, after what it gains, from the rows that have all numbers."""
        kind = family.ruler
        # numbers tell more than the states of children do, and those that are not known would only be spread
        children = () if kind in ("number", "logarithm") else self.children
        if not (self.parents or further or children):
            return None
        own = self.codes[:, self.net.names.index(self.name)]
        states, _ = scores_of_states(self.net, self.name, children, self.codes, own)
        scores = [self._part(n, kind).mean for n in (*self.parents, *further)] + states
        known = ~np.isnan(np.sum(scores, axis=0))
        if not known.all():
            scores, family = [score[known] for score in scores], family.take(known)
        return fit_line(family, scores, self.parents, further, children, off=off)

    def further(self, family: Family, candidates: Sequence[str]) -> tuple[str, ...]:
        """The numbers beside the parents that a line follows, none where too many rows lack one of the candidates."""
        size = len(self.parents)
        scores = [self._part(n, family.ruler).mean for n in (*self.parents, *candidates)]
        known = np.flatnonzero(~np.isnan(np.sum(scores, axis=0))) if candidates else np.arange(0)
        if len(known) <= len(self.codes) / 2:
            return ()
        some = known[:: -(-len(known) // SOME)]
        chosen = choose_further(family.take(some), [score[some] for score in scores], size)
        return tuple(candidates[k - size] for k in chosen)

    def family(self, kind: Kind) -> Family:
        """The family by one ruler."""
        own, cells = self.codes[:, self.net.names.index(self.name)], cells_of(self.net, self.name, self.codes)
        cells = cells * self.net.cardinalities[self.name] + own if kind == "bin" else cells
        return Family(kind, self._part(self.name, kind), cells, self.net.inside(self.name).rulers[kind].ends(own))

    def _part(self, name: str, kind: Kind) -> Part:
        """What the values of a variable stand for, by one ruler."""
        if (name, kind) not in self.parts:
            self.parts[name, kind] = part_of(self.net, name, self.codes, self.values, kind)
        return self.parts[name, kind]
