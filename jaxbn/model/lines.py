"""How a number's place inside its bin follows the places of its parents, and the states of its children.

    p(x | parents) = P(bin | parents' bins) · m(x) / M(bin) · N(z; b₀ + Σ bᵢ zᵢ + Σ cⱼ sⱼ, σ²) / N(z; 0, 1)

z and zᵢ are normal scores of the child's and the parents' places inside their bins (`cuts.shapes.lean`), sⱼ that of the
state of a child, by what its table lets one expect. The last factor integrates to 1 over the bin whatever the
coefficients are, so bins keep their probabilities: places come after all bins. Evidence chooses between no line, one
for the family, and one for each cell of its table, shrunk to that of the family. Scores may also be of places in the
whole columns, with a line for each configuration of the parents' bins that is cut off at the ends of the child's:
numbers that nearly determine each other follow such lines across bins (docs/maths.md, "Lines inside bins").
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr, ndtri

from jaxbn.cuts.shapes.inside import InsideBins
from jaxbn.cuts.shapes.lean import Lean, Part
from jaxbn.inputs.checks import ArgumentError
from jaxbn.inputs.columns import MISSING

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet

Floats = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]
Lines = Literal["auto", False]
Ends = tuple[Floats, Floats, tuple[Floats, Floats]]
"""Ends of bins as shares of the whole column, and their scores."""

SHRINKAGE = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Rows that the line of a family may count for in each of its cells."""

BENT = 1.5
"""Distances to both sides of the median that differ by more than this factor are not those of a straight line."""

SLIVER = 2.0**-12
"""A bin with a smaller share of its column has no lines of whole columns: scores there have too few digits."""

ROUNDS = 30
"""Of EM for the share of values off the line."""


def check_lines(lines: Any) -> None:
    """Refuse what ``fit`` cannot do about lines."""
    if lines not in ("auto", False):
        raise ArgumentError("lines", f"must be 'auto' or False, got {lines!r}", value=lines)


@dataclass(frozen=True, eq=False, repr=False)
class Line:
    """Coefficients and scales of scores: of cells of the table that have rows, and last those of the family.

    Attributes:
        parents: the continuous parents.
        children: continuous children, and those of two states, whose states tell of the place.
        cells: cells with a line of their own, ascending positions in the flat table [cells].
        coefficients: intercept and one slope a parent and a child [cells + 1, 1 + parents + children].
        scales: [cells + 1].
        off: share of values that do as they would without the line.
        column: whether scores are of places in the whole columns; cells are then configurations of the parents.
        slopes: of the family's line in original units, one a parent, where columns are nearly normal; else none.
    """

    parents: tuple[str, ...]
    cells: NDArray[np.int64]
    coefficients: Floats
    scales: Floats
    off: float
    column: bool = False
    slopes: tuple[float, ...] = ()
    children: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        cells, size = np.asarray(self.cells, np.int64), len(self.cells) + 1
        predictors = 1 + len(self.parents) + len(self.children)
        shapes = np.shape(self.coefficients) == (size, predictors) and np.shape(self.scales) == (size,)
        if not shapes or (np.diff(cells) <= 0).any() or not (np.asarray(self.scales) > 0).all() or not 0 < self.off < 1:
            raise ValueError("a line needs ascending cells, coefficients and positive scales of each, 0 < off < 1")
        object.__setattr__(self, "cells", cells)

    def lean(self, cells: Integers, scores: Floats, part: Ends | None = None, spread: Floats | None = None) -> Lean:
        """How values lean in some cells, -1 where they are not known, given scores [..., parents + children].

        Without the score of a parent they do not.

        Args:
            cells: of the family's table.
            scores: NaN where that of a parent is missing, 0 where that of a child is.
            part: the ends of the bins, if scores are of whole columns.
            spread: variance of the scores of children that are missing [..., children]; none is if it is not given.
        """
        place = np.searchsorted(self.cells, cells)
        # MISSING - 1 is no cell, nor what stands for one that is not known
        own = np.append(self.cells, MISSING - 1)[place] == cells
        place = np.where(own, place, len(self.cells))
        found, scales = self.coefficients[place], self.scales[place]
        mean = found[..., 0] + (found[..., 1:] * scores).sum(axis=-1)
        if spread is not None:
            scales = np.sqrt(scales**2 + (found[..., 1 + len(self.parents) :] ** 2 * spread).sum(axis=-1))
        alone = np.isnan(mean)
        return Lean(np.where(alone, 0.0, mean), np.where(alone, 1.0, scales), self.off, *(part or ()))

    def without(self, children: Collection[str]) -> Line:
        """The line where the states of some children tell nothing: what they would is spread."""
        gone = [1 + len(self.parents) + i for i, child in enumerate(self.children) if child in children]
        scales = np.sqrt(self.scales**2 + (self.coefficients[:, gone] ** 2).sum(axis=1))
        kept = tuple(child for child in self.children if child not in children)
        return replace(self, coefficients=np.delete(self.coefficients, gone, axis=1), scales=scales, children=kept)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Line):
            return NotImplemented
        arrays = ("cells", "coefficients", "scales")
        same = all(np.array_equal(getattr(self, name), getattr(other, name)) for name in arrays)
        return same and all(
            getattr(self, name) == getattr(other, name) for name in ("parents", "children", "off", "column")
        )

    def __hash__(self) -> int:
        return hash((self.parents, self.coefficients.tobytes()))

    def __repr__(self) -> str:
        names = (*self.parents, *self.children)
        slopes = ", ".join(f"{n} {b:+.2f}" for n, b in zip(names, self.coefficients[-1, 1:], strict=True))
        cells = f"{len(self.cells)} cells with their own" if len(self.cells) else "one for the family"
        units = ", ".join(f"{b:+.3g} for 1 more of {n}" for n, b in zip(self.parents, self.slopes, strict=False))
        told = f"{units}; " if units else ""
        return (
            f"Line: {told}slopes of normal scores {slopes}; scale {self.scales[-1]:.2f}; {cells}; {self.off:.1%} off it"
        )


class Sums(NamedTuple):
    """Sums over the rows of some cells: number of rows, products of predictors and scores, squares of scores."""

    n: Floats  # [cells]
    xx: Floats  # [cells, predictors, predictors]
    xy: Floats  # [cells, predictors]
    yy: Floats  # [cells]

    @classmethod
    def of(cls, x: Floats, y: Floats, squares: Floats, cell: Integers, size: int) -> Sums:
        """Of rows [n, predictors] in cells numbered from 0; ``squares`` are the expected ones of y."""

        def total(weights: Floats) -> Floats:
            return np.asarray(np.bincount(cell, weights, size), np.float64)

        columns = x.T
        xx = np.array([[total(a * b) for b in columns] for a in columns])
        xy = np.array([total(a * y) for a in columns])
        return cls(total(np.ones(len(y))), np.moveaxis(xx, -1, 0), xy.T, total(squares))

    def first(self, size: int) -> Sums:
        """Those of the first predictors alone."""
        return self._replace(xx=self.xx[:, :size, :size], xy=self.xy[:, :size])


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


class _Regression(NamedTuple):
    line: Line
    log_evidence: float
    charge: float  # what its coefficients would cost if they had been chosen by the likelihood alone


def _regression(sums: Sums, known: NDArray[np.int64], **about: Any) -> _Regression:
    """The line of the family, or lines of cells that shrink to it, by the evidence of the scores."""
    size, n = sums.xy.shape[1], sums.n.sum()
    together = Sums(*(each.sum(axis=0, keepdims=True) for each in sums))
    family = posterior(together, Prior(np.zeros(size), 1.0, 2.0, 1.0))
    charge = (size + 1) / 2 * float(np.log(n))  # the line that cells shrink to is fitted to the same rows
    plain = Line(cells=known[:0], coefficients=family.coefficients, scales=family.scales, off=0.5, **about)
    best = _Regression(plain, float(family.log_evidence[0]), charge)
    for rows in SHRINKAGE:
        # the mean of σ² under this prior, rate / (shape - 1), is that of the family
        prior = Prior(family.coefficients[0], rows, 1 + rows / 2, float(family.scales[0] ** 2) * rows / 2)
        own = posterior(sums, prior)
        log_evidence = float(own.log_evidence.sum()) - charge
        if log_evidence > best.log_evidence:
            coefficients = np.concatenate([own.coefficients, family.coefficients])
            scales = np.append(own.scales, family.scales)
            line = Line(cells=known, coefficients=coefficients, scales=scales, off=0.5, **about)
            cost = (size + 1) / 2 * float(np.log1p(sums.n / rows).sum())
            best = _Regression(line, log_evidence, charge + cost)
    return best


def fit_line(
    parents: tuple[str, ...], scores: Floats, part: Part, cells: NDArray[np.int64], children: tuple[str, ...] = (),
    ends: Ends | None = None,
) -> tuple[Line, float] | None:  # fmt: skip
    """The line of a family that has the highest evidence and what it is worth, None if nothing is gained.

    It is worth what it raises the log likelihood by, less the charge for its coefficients.

    Args:
        parents: the continuous parents.
        scores: of their values, and of the states of children [rows, parents + children], 0 where one is missing.
        part: of the child's bins that each of its values stands for.
        cells: of the family's table [rows].
        children: which the line may use.
        ends: of the bins as shares of the whole column, if scores are those of columns.
    """
    if len(scores) == 0:
        return None
    # Means of scores and of their squares over the cells of recorded values. With these the evidence is a lower bound,
    # by Jensen's inequality: coarse values can hide a line, but not feign one.
    squares = part.squares()
    known, cell = np.unique(cells, return_inverse=True)
    x = np.column_stack([np.ones(len(scores)), scores])
    sums = Sums.of(x, part.means(), squares, cell, len(known))
    tried = [
        _regression(
            sums.first(1 + len(parents) + len(used)), known, parents=parents, children=used, column=ends is not None
        )
        for used in (((), children) if parents and children else (children,))
    ]
    found = max(tried, key=lambda each: each.log_evidence)
    # the evidence without a line, where scores are standard normal; lines of columns are judged by their worth below
    if ends is None and found.log_evidence <= -(len(scores) * np.log(2 * np.pi) + squares.sum()) / 2:
        return None
    lean = found.line.lean(cells, scores[:, : len(parents) + len(found.line.children)], ends)
    off = _share_off(lean, part)
    worth = float(lean._replace(off=off).log_ratio(part).sum()) - found.charge
    return None if ends is not None and worth <= 0 else (replace(found.line, off=off), worth)


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
    found = {}
    for i, name in enumerate(net.names):
        parents = tuple(p for p in net.parents[name] if p in net.binnings)
        children = tuple(c for c in net.names if name in net.parents[c] and _is_ordered(net, c))
        if not (parents or children) or net.binnings.get(name) is None or net.binnings[name].shape is None:
            continue
        family = [net.names.index(p) for p in net.parents[name]]
        rows = (codes[:, [*family, i]] != MISSING).all(axis=1)
        known, inside = codes[rows], {p: values[p][rows] for p in (*parents, name)}
        states, _ = _state_scores(net, name, children, known, known[:, i])
        tried = []
        for column in (False, True) if all(_no_sliver(net.inside(each)) for each in (name, *parents)) else (False,):
            cells = _cells(net, name, known)
            cells = cells if column else cells * net.cardinalities[name] + known[:, i]
            scores = np.column_stack([*(_score(net, p, known, inside, column) for p in parents), *states.T])
            part, _ = part_of(net, name, known, inside, column)
            tried.append(
                fit_line(parents, scores, part, cells, children, _ends(net, name, known[:, i]) if column else None)
            )
        # evidences of different scores cannot be compared, but what both raise the likelihood by, less a charge, can
        better = [each for each in tried if each is not None]
        if better:
            line = max(better, key=lambda each: each[1])[0]
            found[name] = replace(line, slopes=_slopes(net, name, line))
    return found


def _is_ordered(net: BayesNet, name: str) -> bool:
    """Whether a higher state means more of something."""
    return name in net.binnings or net.cardinalities[name] == 2


def _no_sliver(inside: InsideBins) -> bool:
    """Whether every bin is large enough for its parts to be told apart in the whole column."""
    return bool((inside.measures >= SLIVER * inside.measures.sum()).all() and inside.measures.sum() > 0)


def _slopes(net: BayesNet, name: str, line: Line) -> tuple[float, ...]:
    """The slopes in original units of a line of columns that are nearly normal around their medians; else none."""
    spreads = [_spread(net.inside(each)) for each in (name, *line.parents)]
    if not line.column or not all(spreads):
        return ()
    return tuple(
        float(b * spreads[0] / spread) for b, spread in zip(line.coefficients[-1, 1:], spreads[1:], strict=False)
    )


def _spread(inside: InsideBins) -> float:
    """The distance in a column that one score stands for; 0 if it is another below the median than above."""
    whole = inside.below(inside.edges[[0, -1]])
    below, above = np.diff(inside.number(whole[0] + ndtr([-1.0, 0.0, 1.0]) * (whole[1] - whole[0])))
    return (below + above) / 2 if max(below, above) < BENT * min(below, above) else 0.0


def _ends(net: BayesNet, name: str, own: Integers) -> Ends:
    """The ends of some bins as shares of the whole column, and the scores of these."""
    bins = np.arange(net.cardinalities[name])
    begin, end = (net.inside(name).of_column(np.full(bins.shape, share), bins) for share in (0.0, 1.0))
    return begin[own], end[own], (ndtri(begin)[own], ndtri(end)[own])


def lean(
    net: BayesNet, name: str, codes: Integers, values: Mapping[str, Floats], own: Integers | None = None,
    scores: Floats | None = None,
) -> Lean | None:  # fmt: skip
    """How the values of a variable lean inside their bins, given those of its parents; None if it has no line.

    Args:
        net: the network.
        name: the variable.
        codes: [rows, variables], -1 where missing.
        values: numbers of its continuous parents at least, NaN where missing.
        own: its bins [rows]; all of them, for a lean of shape [rows, bins], if they are not given.
        scores: of the values of its continuous parents [rows, parents], where they are known already.
    """
    if name not in net.lines:
        return None
    line, size = net.lines[name], net.cardinalities[name]
    if scores is None:
        scores = _stacked([_score(net, p, codes, values, line.column) for p in line.parents], len(codes))
    if own is None:
        own, scores, codes = np.arange(size), scores[:, None], codes[:, None]
    cells = _cells(net, name, codes)
    spread = None
    if line.children:
        states, spread = _state_scores(net, name, line.children, codes, own)
        scores = np.concatenate([np.broadcast_to(scores, (*states.shape[:-1], scores.shape[-1])), states], axis=-1)
    if line.column:
        cells, bins = np.broadcast_arrays(cells, np.maximum(own, 0))  # what is missing is nowhere in particular
        return line.lean(cells, scores, _ends(net, name, bins), spread)
    return line.lean(np.where(cells == MISSING, MISSING, cells * size + own), scores, spread=spread)


def by_lines(net: BayesNet) -> list[str]:
    """All variables, those with lines last and after their parents."""
    order = [net.names[v] for v in net.network.structure.order]
    return [name for name in net.names if name not in net.lines] + [name for name in order if name in net.lines]


def _cells(net: BayesNet, name: str, codes: Integers) -> NDArray[np.int64]:
    """The states of a variable's parents as one number [...], -1 where one is missing."""
    found = np.zeros(codes.shape[:-1], np.int64)
    places = [net.names.index(parent) for parent in net.parents[name]]
    for place in places:
        found = found * net.cardinalities[net.names[place]] + codes[..., place]
    return np.where((codes[..., places] == MISSING).any(axis=-1), MISSING, found)


def _stacked(columns: list[Floats], n: int) -> Floats:
    """Columns side by side [n, columns], of which there may be none."""
    return np.column_stack([np.empty((n, 0)), *columns])


def state_scores(table: Floats) -> Floats:
    """The mean normal score of each state among those that a table lets one expect, [..., states].

    Example:
        >>> state_scores(np.array([[0.5, 0.5], [0.1, 0.9]])).round(3).tolist()
        [[-0.798, 0.798], [-1.755, 0.195]]
    """
    ends = np.cumsum(table, axis=-1)
    ends = np.concatenate([np.zeros_like(ends[..., :1]), ends / ends[..., -1:]], axis=-1)
    part = Part.of(ends[..., :-1], ends[..., 1:])
    possible = part.share > 0
    return np.where(possible, part._replace(share=np.where(possible, part.share, 1.0)).means(), 0.0)


def _state_scores(
    net: BayesNet, name: str, children: tuple[str, ...], codes: Integers, own: Integers
) -> tuple[Floats, Floats | None]:
    """Scores of the states of children, given their parents and the bin of one, 0 where missing [..., children].

    And the variance that is expected of those that are missing, 1 if a parent is; None if all are known.
    """
    shape = np.broadcast_shapes(own.shape, codes.shape[:-1])
    found, spread = np.zeros((*shape, len(children))), np.zeros((*shape, len(children)))
    for i, child in enumerate(children):
        if child not in net.state_scores:
            net.state_scores[child] = state_scores(net.tables[child])
        scores = net.state_scores[child]
        states = (own if n == name else codes[..., net.names.index(n)] for n in (*net.parents[child], child))
        *context, state = np.broadcast_arrays(*states)
        lacking = np.any([each == MISSING for each in context], axis=0)
        missing = lacking | (state == MISSING)
        found[..., i] = scores[(*context, state)]
        if missing.any():
            # the score to be expected, being the mean of a standard normal number; what is not known becomes variance
            found[missing, i] = 0.0
            expected = (net.tables[child] * scores**2).sum(axis=-1)[tuple(context)]
            spread[..., i] = np.where(lacking, 1.0, np.where(missing, expected, 0.0))
    return found, spread if spread.any() else None


def _score(net: BayesNet, name: str, codes: Integers, values: Mapping[str, Floats], column: bool) -> Floats:
    """Normal scores of values inside their bins, or in their columns [rows], NaN where missing."""
    return scores_of(*part_of(net, name, codes, values, column))


def part_of(
    net: BayesNet, name: str, codes: Integers, values: Mapping[str, Floats], column: bool
) -> tuple[Part, NDArray[np.bool_]]:
    """The part of its bin, or column, that each value of a variable stands for, and where there is one [rows]."""
    own, inside = codes[:, net.names.index(name)], net.inside(name)
    known = (own != MISSING) & ~np.isnan(values[name])
    own, numbers = (own, values[name]) if known.all() else (np.where(known, own, 0), np.where(known, values[name], 0.0))
    low, high = inside.places(numbers, own)
    if column and inside.edges[-1] > inside.edges[0]:
        low, high = inside.of_column(low, own), inside.of_column(high, own)
    return Part.of(low, high), known


def scores_of(part: Part, known: NDArray[np.bool_]) -> Floats:
    """The normal scores of values [rows], NaN where there is none."""
    return part.means() if known.all() else np.where(known, part.means(), np.nan)


def log_ratios(net: BayesNet, codes: Integers, values: Mapping[str, Floats]) -> dict[str, Floats]:
    """What the lines add to the log density of each value [rows]; nothing where an entry that one needs is missing."""
    needed = {(name, line.column) for own, line in net.lines.items() for name in (own, *line.parents)}
    parts = {(name, column): part_of(net, name, codes, values, column) for name, column in needed}
    scores = {(n, line.column): scores_of(*parts[n, line.column]) for line in net.lines.values() for n in line.parents}
    found = {}
    for name, line in net.lines.items():
        by = _stacked([scores[parent, line.column] for parent in line.parents], len(codes))
        leaning = lean(net, name, codes, values, codes[:, net.names.index(name)], by)
        assert leaning is not None
        part, known = parts[name, line.column]
        found[name] = np.where(known, leaning.log_ratio(part), 0.0)
    return found
