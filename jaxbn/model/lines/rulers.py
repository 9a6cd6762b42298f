"""The choice of a line: by which ruler its scores are taken, and which numbers beside the parents it follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.shapes.scores import Kind
from jaxbn.model.fitted import Fitted
from jaxbn.model.lines.line import Floats, Integers, Line
from jaxbn.model.lines.regression import Family, choose_further, fit_line
from jaxbn.model.lines.rows import Parts, cells_of, part_of, score_of, scores_of_states

KINDS: tuple[Kind, ...] = ("bin", "column", "number", "logarithm")
"""Rulers that are compared."""

COMPARED, SOME = 2**15, 20_000
"""Rows by which rulers are compared, all being used by the one that is chosen, and rows by which numbers are chosen."""

KNOWN = 0.95
"""Share of the rows in which a further number has to be known."""


class Rows(NamedTuple):
    """The rows that have all of the family of a variable, and what its line may follow."""

    net: Fitted
    name: str
    parents: tuple[str, ...]  # the continuous ones
    others: tuple[str, ...]  # further numbers
    children: tuple[str, ...]  # whose states tell of the place
    codes: Integers  # [rows, variables]
    values: Mapping[str, Floats]
    parts: dict[tuple[str, Kind], Parts]  # that were asked for already
    few_parts: dict[tuple[str, Kind], Parts]  # of the rows by which rulers are compared, likewise

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Some of the rows; all of them share what is known of their parts."""
        if len(rows) == len(self.codes):
            return self
        values = {n: column[rows] for n, column in self.values.items()}
        return self._replace(codes=self.codes[rows], values=values, parts={}, few_parts={})

    def best_line(self) -> Line | None:
        """The line with the highest evidence, by ruler and by the numbers that it follows; None if there is none."""
        n = len(self.codes)
        few = self
        if n > COMPARED:
            few = self.take(np.arange(0, n, -(-n // COMPARED)))._replace(parts=self.few_parts)
        tried = few.by_rulers()
        if not tried:
            return None
        _, line = max(tried, key=lambda each: each[0])
        if few is self:
            return line
        both = [self.line(line.ruler, further) for further in {(): None, line.further: None}]
        return both[-1] and replace(both[-1][1], by_parents=both[0] and both[0][1] if line.further else None)

    def by_rulers(self) -> list[tuple[float, Line]]:
        """The lines that gain something, by each ruler: following parents, and further numbers as well."""
        found = list[tuple[float, Line]]()
        for kind in _kinds(self.net, (self.name, *self.parents)):
            by_parents = self.line(kind)
            found += [by_parents] if by_parents else []
            candidates = [n for n in self.others if kind in self.net.inside(n).rulers and self._is_known(n)]
            further = self.further(kind, candidates)
            wide = self.line(kind, further) if further else None
            if wide:
                gain, line = wide
                charge = len(further) * np.log(len(candidates))
                found.append((gain - charge, replace(line, by_parents=by_parents and by_parents[1])))
        return found

    def line(self, kind: Kind, further: tuple[str, ...] = ()) -> tuple[float, Line] | None:
        """The line by one ruler, after what it gains, from the rows that have all numbers."""
        # numbers tell more than the states of children do, and those that are not known would only be spread
        children = () if kind in ("number", "logarithm") else self.children
        if not (self.parents or further or children):
            return None
        own = self.codes[:, self.net.names.index(self.name)]
        states, _ = scores_of_states(self.net, self.name, children, self.codes, own)
        scores, family = [*self.scores(kind, (*self.parents, *further)), *states], self.family(kind)
        known = ~np.isnan(np.sum(scores, axis=0))
        if not known.all():
            scores, family = [score[known] for score in scores], family.take(known)
        return fit_line(family, scores, self.parents, further, children)

    def further(self, kind: Kind, candidates: Sequence[str]) -> tuple[str, ...]:
        """The numbers beside the parents that a line follows, none where too many rows lack one of the candidates."""
        size, scores = len(self.parents), self.scores(kind, (*self.parents, *candidates))
        known = np.flatnonzero(~np.isnan(np.sum(scores, axis=0))) if candidates else np.arange(0)
        if len(known) <= len(self.codes) / 2:
            return ()
        some = known[:: -(-len(known) // SOME)]
        chosen = choose_further(self.family(kind).take(some), [score[some] for score in scores], size)
        return tuple(candidates[k - size] for k in chosen)

    def family(self, kind: Kind) -> Family:
        """The family by one ruler."""
        own, cells = self.codes[:, self.net.names.index(self.name)], cells_of(self.net, self.name, self.codes)
        part, _ = self._part(self.name, kind)
        if kind == "bin":
            return Family(kind, part, cells * self.net.cardinalities[self.name] + own)
        return Family(kind, part, cells, self.net.inside(self.name).rulers[kind].ends(own))

    def scores(self, kind: Kind, names: Iterable[str]) -> list[Floats]:
        """Those of the numbers of some variables."""
        return [score_of(self._part(n, kind)) for n in names]

    def _part(self, name: str, kind: Kind) -> Parts:
        """What the values of a variable stand for, by one ruler."""
        if (name, kind) not in self.parts:
            self.parts[name, kind] = part_of(self.net, name, self.codes, self.values, kind)
        return self.parts[name, kind]

    def _is_known(self, name: str) -> bool:
        return bool(np.isnan(self.values[name]).mean() <= 1 - KNOWN)


def _kinds(net: Fitted, names: Sequence[str]) -> list[Kind]:
    """The rulers that all of some variables have; logarithms only where they differ from numbers."""
    rulers = [net.inside(name).rulers for name in names]
    found = [kind for kind in KINDS if all(kind in each for each in rulers)]
    alike = all(each.get("logarithm") is each.get("number") for each in rulers)
    return [kind for kind in found if kind != "logarithm" or not alike]
