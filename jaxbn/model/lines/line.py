"""The line of one variable: how its place inside its bin follows the places of its parents, and states of its children.

    p(x | parents) = P(bin | parents' bins) · m(x) / M(bin) · N(z; b₀ + Σ bᵢ zᵢ + Σ cⱼ sⱼ, σ²) / N(z; 0, 1)

z and zᵢ are normal scores of the child's and the parents' places inside their bins (`cuts.shapes.scores`), sⱼ that of
the state of a child, by what its table lets one expect. The last factor integrates to 1 over the bin whatever the
coefficients are, so bins keep their probabilities: places come after all bins. Scores may also be of places in the
whole columns, with a line for each configuration of the parents' bins that is cut off at the ends of the child's:
numbers that nearly determine each other follow such lines across bins (docs/maths.md, "Lines inside bins").
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.shapes.scores import Ends, Floats, Kind, Lean, Normal
from jaxbn.inputs.checks import ArgumentError

Integers = NDArray[np.integer[Any]]
Lines = Literal["auto", False]
SCORES = {"bin": "normal scores", "column": "normal scores", "number": "numbers", "logarithm": "logarithms"}


def check_lines(lines: Any) -> None:
    """Refuse what ``fit`` cannot do about lines."""
    if lines not in ("auto", False):
        raise ArgumentError("lines", f"must be 'auto' or False, got {lines!r}", value=lines)


@dataclass(frozen=True, eq=False, repr=False)
class Line:
    """Coefficients and scales of scores: of cells of the table that have rows, and last those of the family.

    Attributes:
        parents: the continuous parents.
        further: other continuous variables before it in the order of the graph, whose numbers it follows.
        children: continuous children, and those of two states, whose states tell of the place.
        cells: cells with a line of their own, ascending positions in the flat table [cells].
        coefficients: intercept and one slope a parent, a further one and a child
            [cells + 1, 1 + parents + further + children].
        scales: [cells + 1].
        off: share of values that do as they would without the line.
        ruler: what scores are of: places inside bins; or places in the whole columns, numbers or their logarithms,
            where cells are configurations of the parents.
        slopes: of the family's line in original units, one a number, where that is straight; powers, if it is one of
            logarithms; else none.
        by_parents: the line where a further number is missing.
    """

    parents: tuple[str, ...]
    cells: NDArray[np.int64]
    coefficients: Floats
    scales: Floats
    off: float
    ruler: Kind = "bin"
    slopes: tuple[float, ...] = ()
    children: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    by_parents: Line | None = None

    def __post_init__(self) -> None:
        cells, size = np.asarray(self.cells, np.int64), len(self.cells) + 1
        predictors = 1 + len(self.numbers) + len(self.children)
        shapes = np.shape(self.coefficients) == (size, predictors) and np.shape(self.scales) == (size,)
        if not shapes or (np.diff(cells) <= 0).any() or not (np.asarray(self.scales) > 0).all() or not 0 < self.off < 1:
            raise ValueError("a line needs ascending cells, coefficients and positive scales of each, 0 < off < 1")
        object.__setattr__(self, "cells", cells)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The variables whose numbers it follows."""
        return self.parents + self.further

    @property
    def column(self) -> bool:
        """Whether scores are of whole columns, and cut off at the ends of bins."""
        return self.ruler != "bin"

    @property
    def of_parents(self) -> Line | None:
        """The line by parents and children alone."""
        return self.by_parents if self.further else self

    @cached_property
    def _places(self) -> NDArray[np.intp]:
        """Where each cell has its coefficients; the last entry, of further cells and of -1 too, is the family's."""
        found = np.full(self.cells.max(initial=-1) + 2, len(self.cells))
        found[self.cells] = np.arange(len(self.cells))
        return found

    def lean(
        self, cells: Integers, scores: Sequence[Floats], ends: Ends | None = None, spread: Sequence[Floats] = (),
        ruler: Normal | None = None,
    ) -> Lean:  # fmt: skip
        """How values lean in some cells, -1 where they are not known, given the scores of each number and child.

        Where the score of a number is missing, NaN, they do not; that of a child is 0 then. If scores are of whole
        columns, `ends` are those of the bins. `spread` is the variance of the scores that are not known, of children or
        of all; all are known if it is empty. The `ruler` is that of the variable's scores, if they are not normal ones.
        """
        place = self._places.take(np.minimum(cells, len(self._places) - 1), mode="wrap")
        mean, *parts = (column.take(place) for column in self.coefficients.T)
        for slope, score in zip(parts, scores, strict=True):
            mean = mean + slope * score
        scales = np.broadcast_to(self.scales.take(place), mean.shape)
        if spread:
            terms = zip(parts[-len(spread) :], spread, strict=True)
            scales = np.sqrt(scales**2 + sum(slope**2 * variance for slope, variance in terms))
        found, alone = Lean(mean, scales, self.off, *(ends or ()))._replace(ruler=ruler or Normal()), np.isnan(mean)
        if not alone.any():
            return found
        mean, scales, off = np.where(alone, 0.0, mean), np.where(alone, 1.0, scales), np.where(alone, 1.0, self.off)
        return found._replace(mean=mean, scale=scales, off=off)

    def without(self, children: Collection[str]) -> Line:
        """The line where the states of some children tell nothing: what they would is spread."""
        gone = [1 + len(self.numbers) + i for i, child in enumerate(self.children) if child in children]
        scales = np.sqrt(self.scales**2 + (self.coefficients[:, gone] ** 2).sum(axis=1))
        kept = tuple(child for child in self.children if child not in children)
        other = self.by_parents and self.by_parents.without(children)
        coefficients = np.delete(self.coefficients, gone, axis=1)
        return replace(self, coefficients=coefficients, scales=scales, children=kept, by_parents=other)

    def where_set(self, names: Collection[str]) -> Line | None:
        """The line where some variables are set from outside: only as a cause does one tell of the place then."""
        line = self.of_parents if set(self.further) & set(names) else self
        return line and line.without(names)

    def _content(self) -> tuple[Any, ...]:
        arrays = (self.cells, np.asarray(self.coefficients), np.asarray(self.scales))
        names = (self.parents, self.further, self.children)
        return (*names, self.by_parents, self.off, self.ruler, *(each.tobytes() for each in arrays))

    def __eq__(self, other: object) -> bool:
        return self._content() == other._content() if isinstance(other, Line) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._content())

    def __repr__(self) -> str:
        names = (*self.numbers, *self.children)
        slopes = ", ".join(f"{n} {b:+.2f}" for n, b in zip(names, self.coefficients[-1, 1:], strict=True))
        cells = f"{len(self.cells)} cells with their own" if len(self.cells) else "one for the family"
        by = "{b:.3g} as power of {n}" if self.ruler == "logarithm" else "{b:+.3g} for 1 more of {n}"
        units = ", ".join(by.format(b=b, n=n) for n, b in zip(self.numbers, self.slopes, strict=False))
        told = f"{units}; " if units else ""
        scale = f"scale {self.scales[-1]:.2g}"
        return f"Line: {told}slopes of {SCORES[self.ruler]} {slopes}; {scale}; {cells}; {self.off:.1%} off it"
