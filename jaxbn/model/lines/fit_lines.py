"""Lines fitted to the rows of a table, by evidence: regressions of scores on scores, in closed form.

Compared are no line, one for the family, and one for each cell of its table, shrunk to that of the family; the rulers
of scores; and lines by the parents alone with those that follow further numbers (docs/maths.md, "Lines inside bins").
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr

from jaxbn.cuts.shapes.inside import InsideBins
from jaxbn.cuts.shapes.lean import Lean
from jaxbn.cuts.shapes.ruler import Ends, Kind, OfNumbers, Part
from jaxbn.inputs.columns import MISSING
from jaxbn.inputs.missing import LOG
from jaxbn.model.lines.line import Floats, Integers, Line
from jaxbn.model.lines.rows import Parts, cells_of, part_of, score_of, scores_of_states
from jaxbn.runtime import limits

if TYPE_CHECKING:
    import networkx as nx

    from jaxbn.model.bayesnet import BayesNet

SHRINKAGE = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Rows that the line of a family may count for in each of its cells."""

ROUNDS = 30
"""Of EM for the share of values off the line."""

BENT = 1.5
"""Distances to both sides of the median that differ by more than this factor are not those of a straight line."""

WEAK = (1.0, 0.1, 0.01, 0.001)
"""Rows that the prior of a family's line may count for: numbers that determine each other have lines of small scale."""

FURTHER, NEAREST, SOME = 8, 24, 20_000
"""Numbers beside the parents that a line may follow, candidates that are looked at, rows by which these are chosen."""

KINDS: tuple[Kind, ...] = ("bin", "column", "number", "logarithm")
"""Rulers that are compared."""

OF_NUMBERS: tuple[Kind, ...] = ("number", "logarithm")

COMPARED = 50_000
"""Rows by which rulers are compared; all are used by the one that is chosen."""

GRACE = 1.0
"""Seconds that lines may take when the time is over: most tables need less, and are the better for them."""

KNOWN = 0.95
"""Share of the rows in which a further number has to be known."""


class Sums(NamedTuple):
    """Sums over the rows of some cells: number of rows, products of predictors and scores, squares of scores."""

    n: Floats  # [cells]
    xx: Floats  # [cells, predictors, predictors]
    xy: Floats  # [cells, predictors]
    yy: Floats  # [cells]

    @classmethod
    def of(cls, x: Sequence[Floats], y: Floats, squares: Floats, cell: Integers, size: int) -> Sums:
        """Of predictors [rows] each, in cells numbered from 0; ``squares`` are the expected ones of y."""

        def total(weights: Floats) -> Floats:
            return np.asarray(np.bincount(cell, weights, size), np.float64)

        xx = np.array([[total(a * b) for b in x] for a in x])
        xy = np.array([total(a * y) for a in x])
        return cls(total(np.ones(len(y))), np.moveaxis(xx, -1, 0), xy.T, total(squares))

    def some(self, predictors: Sequence[int]) -> Sums:
        """Those of some predictors alone."""
        return self._replace(xx=self.xx[:, predictors][:, :, predictors], xy=self.xy[:, predictors])


class Prior(NamedTuple):
    """σ² is inverse gamma of `shape` and `rate`, the coefficients normal around `mean` with variance σ² / rows."""

    mean: Floats  # [predictors]
    rows: float
    shape: float
    rate: float


class Posterior(NamedTuple):
    """Expected coefficients [cells, predictors] and σ [cells]; the log evidence of the scores of each cell [cells]."""

    coefficients: Floats
    scales: Floats
    log_evidence: Floats


def posterior(sums: Sums, prior: Prior) -> Posterior:
    """The regression of each cell in closed form."""
    size = len(prior.mean)
    precision = sums.xx + prior.rows * np.eye(size)
    target = (sums.xy + prior.rows * prior.mean)[..., None]
    found = np.asarray(np.linalg.solve(precision, target)[..., 0], np.float64)
    # the names of docs/maths.md, "Lines inside bins": shape is a_n, rate r_n, precision Λ and found b̂
    residual = sums.yy - 2 * (found * sums.xy).sum(axis=-1) + np.einsum("ci,cij,cj->c", found, sums.xx, found)
    shape = prior.shape + sums.n / 2
    rate = prior.rate + (np.maximum(residual, 0.0) + prior.rows * ((found - prior.mean) ** 2).sum(axis=-1)) / 2
    log_evidence = (
        (size * np.log(prior.rows) - np.linalg.slogdet(precision)[1] - sums.n * np.log(2 * np.pi)) / 2
        + prior.shape * np.log(prior.rate) - shape * np.log(rate) + gammaln(shape) - gammaln(prior.shape)
    )  # fmt: skip
    return Posterior(found, np.sqrt(rate / (shape - 1)), log_evidence)


def family_line(sums: Sums) -> Posterior:
    """The line of each family by the prior with the highest evidence, and that evidence among the priors."""
    size = sums.xy.shape[1]
    tried = [posterior(sums, Prior(np.zeros(size), rows, 1 + rows, rows)) for rows in WEAK]
    best = np.argmax([each.log_evidence for each in tried], axis=0), np.arange(len(sums.n))
    found = Posterior(*(np.array(each)[best] for each in zip(*tried, strict=True)))
    return found._replace(log_evidence=found.log_evidence - np.log(len(WEAK)))


def _regression(sums: Sums, known: NDArray[np.int64], **about: Any) -> tuple[float, Line]:
    """The line of the family, or lines of cells that shrink to it, after the evidence of the scores."""
    size = sums.xy.shape[1]
    family = family_line(Sums(*(each.sum(axis=0, keepdims=True) for each in sums)))
    best = float(family.log_evidence[0])
    line = Line(cells=known[:0], coefficients=family.coefficients, scales=family.scales, off=0.5, **about)
    # the line that cells shrink to is fitted to the same rows
    charge = (size + 1) / 2 * np.log(sums.n.sum())
    for rows in SHRINKAGE if len(known) > 1 else ():
        # the mean of σ² under this prior, rate / (shape - 1), is that of the family
        prior = Prior(family.coefficients[0], rows, 1 + rows / 2, float(family.scales[0] ** 2) * rows / 2)
        own = posterior(sums, prior)
        log_evidence = float(own.log_evidence.sum() - charge)
        if log_evidence > best:
            coefficients = np.concatenate([own.coefficients, family.coefficients])
            scales = np.append(own.scales, family.scales)
            best, line = log_evidence, replace(line, cells=known, coefficients=coefficients, scales=scales)
    return best, line


class Family(NamedTuple):
    """The rows of a family by one ruler: what a line is fitted to."""

    ruler: Kind
    part: Part  # of the child's bins that each of its values stands for [rows]
    cells: NDArray[np.int64]  # of the family's table [rows]
    ends: Ends | None = None  # those of the bins in the whole column, if scores are those of columns

    def gain(self, log_evidence: float, lean: Lean) -> float:
        """What a line raises the evidence by: of scores of whole columns, bins are known already."""
        bins = lean.log_bins().sum()
        # beside a value that is 1e20 times as large, bins have no width: such a line tells nothing about their inside
        return float(log_evidence - self.part.log_plain().sum() - bins) if np.isfinite(bins) else -np.inf

    def take(self, rows: Any) -> Family:
        """Some of the rows."""
        ends = self.ends and (self.ends[0][rows], self.ends[1][rows], (self.ends[2][0][rows], self.ends[2][1][rows]))
        begin, end, share, mean = (each[rows] for each in self.part[:4])
        part = Part(begin, end, share, mean, self.part.even)
        return Family(self.ruler, part, self.cells[rows], ends)


def fit_line(
    family: Family, scores: Sequence[Floats], parents: tuple[str, ...], further: tuple[str, ...] = (),
    children: tuple[str, ...] = (),
) -> tuple[float, Line] | None:  # fmt: skip
    """What the line of a family with the highest evidence raises it by, and the line; None if nothing is gained.

    Args:
        family: its rows.
        scores: of the parents' and the further numbers, and of the states of children, 0 where one is missing.
        parents: the continuous parents.
        further: other variables whose numbers it follows.
        children: which the line may use.
    """
    cells, part = family.cells, family.part
    if len(cells) == 0:
        return None
    # Means of scores and of their squares over the cells of recorded values. With these the evidence is a lower bound,
    # by Jensen's inequality: coarse values can hide a line, but not feign one.
    known, cell = np.unique(cells, return_inverse=True)
    sums = Sums.of([np.ones(len(cells)), *scores], part.mean, part.squares(), cell, len(known))
    size = len(parents) + len(further)
    tried = [
        _regression(
            sums.some(range(1 + size + len(used))), known, parents=parents, further=further, children=used,
            ruler=family.ruler,
        )
        for used in (((), children) if size and children else (children,))
    ]  # fmt: skip
    log_evidence, line = max(tried, key=lambda each: each[0])
    lean = line.lean(cells, scores[: size + len(line.children)], family.ends)
    gain = family.gain(log_evidence, lean)
    return (gain, replace(line, off=_share_off(lean, part))) if gain > 0 else None


def choose_further(family: Family, scores: Sequence[Floats], n_parents: int) -> list[int]:
    """Which scores after those of the parents a line follows as well: one after the other, while evidence rises.

    The candidate with the highest evidence of the scores is added if it raises that of values given their bins, too,
    by more than the logarithm of the number of candidates.
    """
    n, part = len(family.cells), family.part
    columns = np.stack([np.ones(n), *scores], axis=1)
    sums = Sums(
        np.array([float(n)]), (columns.T @ columns)[None], (columns.T @ part.mean)[None], part.squares().sum()[None]
    )
    chosen = list(range(1 + n_parents))

    def gain_of(chosen: Sequence[int]) -> float:
        line = family_line(sums.some(chosen))
        lean = Lean(columns[:, chosen] @ line.coefficients[0], np.full(n, line.scales[0]), 0.5, *(family.ends or ()))
        return family.gain(float(line.log_evidence[0]), lean)

    best = max(gain_of(chosen), 0.0)
    while (left := [k for k in range(1, columns.shape[1]) if k not in chosen]) and len(chosen) <= n_parents + FURTHER:
        sets = np.array([[*chosen, k] for k in left])
        batch = Sums(
            np.repeat(sums.n, len(left)), sums.xx[0][sets[:, :, None], sets[:, None, :]], sums.xy[0][sets],
            np.repeat(sums.yy, len(left)),
        )  # fmt: skip
        k = left[int(family_line(batch).log_evidence.argmax())]
        found = gain_of([*chosen, k]) - np.log(len(left))
        if found <= best:
            break
        chosen.append(k)
        best = found
    return [k - 1 for k in chosen[1 + n_parents :]]


def _share_off(lean: Lean, part: Part) -> float:
    """The posterior share of values that the line does not tell, by EM under a uniform prior."""
    # how much more probable each value is by the line alone than without it
    on = np.exp(lean._replace(off=1e-300).log_ratio(part))
    off = 0.5
    for _ in range(ROUNDS):
        # the posterior mean of the share: never 0, so that no row loses more than -ln off by the line
        off = float((1 + (off / (off + (1 - off) * on)).sum()) / (2 + len(on)))
    return off


def fit_lines(net: BayesNet, codes: Integers, values: Mapping[str, Floats]) -> dict[str, Line]:
    """The lines of all variables that have a shape; rows that lack an entry of a family are left out.

    Args:
        net: the network without lines.
        codes: [rows, variables], -1 where missing.
        values: numbers of the continuous variables, NaN where missing.
    """
    import networkx as nx

    found, before, links = dict[str, Line](), list[str](), nx.Graph(net.graph)
    parts, began = dict[tuple[str, Kind], Parts](), time.monotonic()
    for name in (net.names[v] for v in net.network.structure.order):
        if limits.over() and time.monotonic() - began > GRACE:
            LOG.warning("no time for the lines of more than %d variables", len(found))
            break
        if name not in net.binnings or net.binnings[name].shape is None:
            continue
        parents = tuple(p for p in net.parents[name] if p in net.binnings)
        children = tuple(c for c in net.names if name in net.parents[c] and _is_ordered(net, c))
        if parents or children:
            others = _nearest(links, name, [other for other in before if other not in parents])
            family = [net.names.index(n) for n in (*net.parents[name], name)]
            rows = np.flatnonzero((codes[:, family] != MISSING).all(axis=1))
            numbers = {n: values[n] for n in (*parents, *others, name)}
            shared = parts if len(codes) <= COMPARED else {}  # of more rows, all columns may be too much to remember
            line = Rows(net, name, codes, numbers, shared).take(rows).best_line(parents, others, children)
            found |= {} if line is None else {name: replace(line, slopes=_slopes(net, name, line))}
        before.append(name)
    return found


def _nearest(links: nx.Graph, name: str, others: Sequence[str]) -> tuple[str, ...]:
    """The variables among some that are the fewest links away."""
    import networkx as nx

    if len(others) <= NEAREST:
        return tuple(others)
    distances = nx.single_source_shortest_path_length(links, name)
    near = sorted((other for other in others if other in distances), key=lambda other: distances[other])
    return tuple(near[:NEAREST])


class Rows(NamedTuple):
    """The rows that have all of the family of a variable."""

    net: BayesNet
    name: str
    codes: Integers  # [rows, variables]
    values: Mapping[str, Floats]
    parts: dict[tuple[str, Kind], Parts]  # that were asked for already

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Some of the rows; all of them share what is known of their parts."""
        if len(rows) == len(self.codes):
            return self
        values = {n: column[rows] for n, column in self.values.items()}
        return self._replace(codes=self.codes[rows], values=values, parts={})

    def part(self, name: str, kind: Kind) -> Parts:
        """What the values of a variable stand for, by one ruler."""
        if (name, kind) not in self.parts:
            self.parts[name, kind] = part_of(self.net, name, self.codes, self.values, kind)
        return self.parts[name, kind]

    def best_line(self, parents: tuple[str, ...], others: tuple[str, ...], children: tuple[str, ...]) -> Line | None:
        """The line with the highest evidence, by ruler and by the numbers that it follows; None if there is none."""
        n = len(self.codes)
        few = self.take(np.arange(0, n, -(-n // COMPARED) or 1))
        tried = few.by_rulers(parents, others, children)
        if not tried:
            return None
        _, line = max(tried, key=lambda each: each[0])
        if len(few.codes) == n:
            return line
        children = () if line.ruler in OF_NUMBERS else children
        both = [self.line(line.ruler, parents, further, children) for further in {(): None, line.further: None}]
        return both[-1] and replace(both[-1][1], by_parents=both[0] and both[0][1] if line.further else None)

    def by_rulers(
        self, parents: tuple[str, ...], others: tuple[str, ...], children: tuple[str, ...]
    ) -> list[tuple[float, Line]]:
        """The lines that gain something, by each ruler: following parents, and further numbers as well."""
        found = list[tuple[float, Line]]()
        for kind in _kinds(self.net, (self.name, *parents)):
            # numbers tell more than the states of children do, and those that are not known would only be spread
            states = () if kind in OF_NUMBERS else children
            by_parents = self.line(kind, parents, (), states)
            found += [by_parents] if by_parents else []
            candidates = [other for other in others if kind in self.net.inside(other).rulers]
            candidates = [other for other in candidates if np.isnan(self.values[other]).mean() <= 1 - KNOWN]
            further = self.further(kind, parents, candidates)
            wide = self.line(kind, parents, further, states) if further else None
            if wide:
                gain, line = wide
                charge = len(further) * np.log(len(candidates))
                found.append((gain - charge, replace(line, by_parents=by_parents and by_parents[1])))
        return found

    def family(self, kind: Kind) -> Family:
        """The family by one ruler."""
        own, cells = self.codes[:, self.net.names.index(self.name)], cells_of(self.net, self.name, self.codes)
        part, _ = self.part(self.name, kind)
        if kind == "bin":
            return Family(kind, part, cells * self.net.cardinalities[self.name] + own)
        return Family(kind, part, cells, self.net.inside(self.name).rulers[kind].ends(own))

    def scores(self, kind: Kind, names: Iterable[str]) -> list[Floats]:
        """Those of the numbers of some variables."""
        return [score_of(self.part(n, kind)) for n in names]

    def line(
        self, kind: Kind, parents: tuple[str, ...], further: tuple[str, ...], children: tuple[str, ...]
    ) -> tuple[float, Line] | None:
        """The line by one ruler, after what it gains, from the rows that have all numbers."""
        if not (parents or further or children):
            return None
        own = self.codes[:, self.net.names.index(self.name)]
        states, _ = scores_of_states(self.net, self.name, children, self.codes, own)
        scores, family = [*self.scores(kind, (*parents, *further)), *states], self.family(kind)
        known = ~np.isnan(np.sum(scores, axis=0))
        if not known.all():
            scores, family = [score[known] for score in scores], family.take(known)
        return fit_line(family, scores, parents, further, children)

    def further(self, kind: Kind, parents: tuple[str, ...], candidates: Sequence[str]) -> tuple[str, ...]:
        """The numbers beside the parents that a line follows, none where too many rows lack one of the candidates."""
        scores = self.scores(kind, (*parents, *candidates))
        known = np.flatnonzero(~np.isnan(np.sum(scores, axis=0))) if candidates else np.arange(0)
        if len(known) <= len(self.codes) / 2:
            return ()
        some = known[:: -(-len(known) // SOME)]
        chosen = choose_further(self.family(kind).take(some), [score[some] for score in scores], len(parents))
        return tuple(candidates[k - len(parents)] for k in chosen)


def _kinds(net: BayesNet, names: Sequence[str]) -> list[Kind]:
    """The rulers that all of some variables have; logarithms only where they differ from numbers."""
    rulers = [net.inside(name).rulers for name in names]
    found = [kind for kind in KINDS if all(kind in each for each in rulers)]
    alike = all(each.get("logarithm") is each.get("number") for each in rulers)
    return [kind for kind in found if kind != "logarithm" or not alike]


def _is_ordered(net: BayesNet, name: str) -> bool:
    """Whether a higher state means more of something."""
    return name in net.binnings or net.cardinalities[name] == 2


def _slopes(net: BayesNet, name: str, line: Line) -> tuple[float, ...]:
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
