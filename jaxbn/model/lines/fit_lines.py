"""Lines fitted to the rows of a table, by evidence: regressions of scores on scores, in closed form.

Compared are no line, one for the family, and one for each cell of its table, shrunk to that of the family; and scores
inside bins with those of whole columns (docs/maths.md, "Lines inside bins").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr

from jaxbn.cuts.shapes.inside import InsideBins
from jaxbn.cuts.shapes.lean import Ends, Lean, Part
from jaxbn.inputs.columns import MISSING
from jaxbn.model.lines.line import Floats, Integers, Line
from jaxbn.model.lines.rows import cells_of, ends_of, part_of, score_of, scores_of_states

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet

SHRINKAGE = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Rows that the line of a family may count for in each of its cells."""

ROUNDS = 30
"""Of EM for the share of values off the line."""

BENT = 1.5
"""Distances to both sides of the median that differ by more than this factor are not those of a straight line."""

SLIVER = 2.0**-12
"""A bin with a smaller share of its column has no lines of whole columns: scores there have too few digits."""


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


def _regression(sums: Sums, known: NDArray[np.int64], **about: Any) -> tuple[float, Line]:
    """The line of the family, or lines of cells that shrink to it, after the evidence of the scores."""
    size = sums.xy.shape[1]
    together = Sums(*(each.sum(axis=0, keepdims=True) for each in sums))
    family = posterior(together, Prior(np.zeros(size), 1.0, 2.0, 1.0))
    best = float(family.log_evidence[0])
    line = Line(cells=known[:0], coefficients=family.coefficients, scales=family.scales, off=0.5, **about)
    # the line that cells shrink to is fitted to the same rows
    charge = (size + 1) / 2 * np.log(sums.n.sum())
    for rows in SHRINKAGE:
        # the mean of σ² under this prior, rate / (shape - 1), is that of the family
        prior = Prior(family.coefficients[0], rows, 1 + rows / 2, float(family.scales[0] ** 2) * rows / 2)
        own = posterior(sums, prior)
        log_evidence = float(own.log_evidence.sum() - charge)
        if log_evidence > best:
            coefficients = np.concatenate([own.coefficients, family.coefficients])
            scales = np.append(own.scales, family.scales)
            best, line = log_evidence, replace(line, cells=known, coefficients=coefficients, scales=scales)
    return best, line


def fit_line(
    parents: tuple[str, ...], scores: Sequence[Floats], part: Part, cells: NDArray[np.int64],
    ends: Ends | None = None, children: tuple[str, ...] = (),
) -> tuple[float, Line] | None:  # fmt: skip
    """What the line of a family with the highest evidence raises it by, and the line; None if nothing is gained.

    Args:
        parents: the continuous parents.
        scores: of their values, and of the states of children, 0 where one is missing; [rows] each.
        part: of the child's bins that each of its values stands for.
        cells: of the family's table [rows].
        ends: those of the bins in the whole column, if scores are those of columns.
        children: which the line may use.
    """
    if len(cells) == 0:
        return None
    # Means of scores and of their squares over the cells of recorded values. With these the evidence is a lower bound,
    # by Jensen's inequality: coarse values can hide a line, but not feign one.
    squares = part.squares()
    known, cell = np.unique(cells, return_inverse=True)
    sums = Sums.of([np.ones(len(cells)), *scores], part.mean, squares, cell, len(known))
    tried = [
        _regression(
            sums.first(1 + len(parents) + len(used)), known, parents=parents, children=used, column=ends is not None
        )
        for used in (((), children) if parents and children else (children,))
    ]
    log_evidence, line = max(tried, key=lambda each: each[0])
    lean = line.lean(cells, scores[: len(parents) + len(line.children)], ends)
    # without a line scores are standard normal; of those in whole columns, bins are known already
    gain = log_evidence + (len(cells) * np.log(2 * np.pi) + squares.sum()) / 2 - lean.log_bins().sum()
    return (float(gain), replace(line, off=_share_off(lean, part))) if gain > 0 else None


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
        own, cells = known[:, i], cells_of(net, name, known)
        states, _ = scores_of_states(net, name, children, known, own)
        tried = []
        for column in (False, True) if all(_no_sliver(net.inside(each)) for each in (name, *parents)) else (False,):
            scores = [*(score_of(part_of(net, p, known, inside, column)) for p in parents), *states]
            part, _ = part_of(net, name, known, inside, column)
            place, ends = (cells, ends_of(net, name, own)) if column else (cells * net.cardinalities[name] + own, None)
            tried.append(fit_line(parents, scores, part, place, ends, children))
        better = [each for each in tried if each is not None]
        if better:
            _, line = max(better, key=lambda each: each[0])
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
