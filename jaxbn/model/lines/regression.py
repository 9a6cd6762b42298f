"""Regressions of scores on scores, in closed form: the line of a family with the highest evidence.

Compared are one line for the family and one for each cell of its table, shrunk to that of the family; lines by the
parents alone and those that follow further numbers (docs/maths.md, "Lines inside bins").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from jaxbn.cuts.shapes.scores import Ends, Floats, Kind, Lean, Part
from jaxbn.model.lines.line import Integers, Line

SHRINKAGE = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # rows that the line of a family may count for in each of its cells
ROUNDS = 30  # of EM for the share of values off the line

WEAK = (1.0, 0.1, 0.01, 0.001)
"""Rows that the prior of a family's line may count for: numbers that determine each other have lines of small scale."""

FURTHER = 8  # numbers beside the parents that a line may follow


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
        return Family(self.ruler, Part(begin, end, share, mean, self.part.even), self.cells[rows], ends)


def fit_line(
    family: Family, scores: Sequence[Floats], parents: tuple[str, ...], further: tuple[str, ...] = (),
    children: tuple[str, ...] = (), *, off: bool = True,
) -> tuple[float, Line] | None:  # fmt: skip
    """What the line of a family with the highest evidence raises it by, and the line; None if nothing is gained.

    Scores are those of all numbers that it follows, and of the states of children that it may use, 0 where missing.
    The share of values off the line is only found with `off`: it does not decide between lines.
    """
    cells, part = family.cells, family.part
    if len(cells) == 0:
        return None
    # Means of scores and of their squares over the cells of recorded values. With these the evidence is a lower bound,
    # by Jensen's inequality: coarse values can hide a line, but not feign one.
    known, cell = np.unique(cells, return_inverse=True)
    sums = Sums.of([np.ones(len(cells)), *scores], part.mean, part.squares(), cell, len(known))
    size = len(parents) + len(further)
    about: Any = {"parents": parents, "further": further, "ruler": family.ruler}
    tried = [
        _regression(sums.some(range(1 + size + len(used))), known, children=used, **about)
        for used in (((), children) if size and children else (children,))
    ]
    log_evidence, line = max(tried, key=lambda each: each[0])
    lean = line.lean(cells, scores[: size + len(line.children)], family.ends)
    gain = family.gain(log_evidence, lean)
    if gain <= 0:
        return None
    return gain, replace(line, off=_share_off(lean, part)) if off else line


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
