"""How values are distributed inside the bins of a column: as its shape has them, or evenly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.shapes.recording import Recording
from jaxbn.cuts.shapes.scores import PARTS, Kind, Lean, OfBins, OfNumbers, Ruler
from jaxbn.cuts.shapes.shape import Shape

Floats = NDArray[np.float64]

SLIVER = 2.0**-12
"""Bins with a smaller share of their column have no scores of whole columns: these would have too few digits."""


def about_even(edges: Floats, most: int) -> Floats:
    """Numbers at about equal distances from the first of some edges to the last, none close to one of these."""
    found = np.linspace(edges[0], edges[-1], most + 1)
    near = np.abs(found[:, None] - edges).min(axis=1) < 0.6 * (found[1] - found[0])
    return found[~near]


@dataclass(frozen=True, eq=False)
class InsideBins:
    """The bins between some edges, the outer ones included, and what lies inside them.

    A bin without measure is an atom: one of a constant column, or of a cut at the largest value.

    Example:
        >>> bins = InsideBins(np.array([0.0, 2.0, 4.0]), Shape([0.0, 1.0, 4.0], [0.75, 0.25]))
        >>> bins.measures.round(3).tolist(), bins.at(np.array([0]), np.array([0.45])).round(3).tolist()
        ([0.833, 0.167], [0.5])
    """

    edges: Floats  # [bins + 1]
    shape: Shape | None = None

    @cached_property
    def _uneven(self) -> Shape | None:
        """The shape, where values are not spread evenly."""
        return None if self.shape is None or self.shape.is_flat else self.shape

    @property
    def recording(self) -> Recording:
        """The grid on which the values were recorded."""
        return Recording() if self.shape is None else self.shape.recording

    def below(self, x: Floats) -> Floats:
        """The measure of everything up to some numbers; that of an outer bin reaches to infinity."""
        inside = np.clip(x, self.edges[0], self.edges[-1])
        if self._uneven is None:
            return inside
        found = self._uneven.below(inside)
        return np.where(x <= self.edges[0], 0.0, np.where(x >= self.edges[-1], 1.0, found))

    def number(self, below: Floats) -> Floats:
        """The numbers up to which the measure is so large: the inverse of `below`."""
        return below if self._uneven is None else self._uneven.quantile(below)

    @cached_property
    def _ends(self) -> Floats:
        return self.below(self.edges)

    @cached_property
    def measures(self) -> Floats:
        """The measure of each bin [bins]: its width, or its share of the shape."""
        return np.diff(self._ends)

    def log_density(self, values: Floats, codes: NDArray[np.integer]) -> Floats:
        """Log density of values given their bins; 0 in an atom, and for a missing value, of code -1."""
        measures = np.append(self.measures, 0.0)[codes]
        known = measures > 0
        found = -np.log(np.where(known, measures, 1.0))
        if self._uneven is not None:
            found[known] += np.log(self._uneven.density(values[known]))
        return found

    def shares(self, low: float, high: float) -> Floats:
        """Share of each bin that lies in [low, high]; an interval beyond the outer edges falls into the outer bin.

        Example:
            >>> InsideBins(np.array([0.0, 2.0, 4.0])).shares(1.0, 4.0).tolist()
            [0.5, 1.0]
            >>> InsideBins(np.array([0.0, 2.0, 4.0])).shares(8.0, 9.0).tolist()
            [0.0, 1.0]
        """
        share = np.zeros(len(self.edges) - 1)
        if high <= self.edges[0] or low >= self.edges[-1]:
            share[0 if high <= self.edges[0] else -1] = 1.0
            return share
        begin, end = self.below(np.array([low, high]))
        covered = np.minimum(self._ends[1:], end) - np.maximum(self._ends[:-1], begin)
        share = covered / self._sizes
        inside = (self.edges[:-1] >= low) & (self.edges[1:] <= high)
        atoms = (self.measures == 0) & inside  # they lie in the interval or do not
        return np.asarray(np.where(atoms, 1.0, np.clip(share, 0.0, 1.0)), np.float64)

    def part(self, low: float, high: float) -> tuple[Floats, Floats]:
        """The part of each bin that lies in [low, high], by the shares below its ends; all of a bin that has none."""
        measures = np.where(self.measures > 0, self.measures, np.inf)
        below = self.below(np.array([low, high]))[:, None]
        begin, end = np.clip((below - self._ends[:-1]) / measures, 0.0, 1.0)
        return np.where(begin < end, begin, 0.0), np.where(begin < end, end, 1.0)

    @cached_property
    def means(self) -> Floats:
        """The mean inside each bin [bins]."""
        return (self.edges[:-1] + self.edges[1:]) / 2 if self._uneven is None else self._uneven.means(self.edges)

    def at(self, codes: NDArray[np.integer], share: Floats) -> Floats:
        """The numbers below which a share of their bins lies."""
        left, right = self.edges[codes], self.edges[codes + 1]
        if self._uneven is None:
            return left + share * (right - left)
        return np.clip(self.number(self._ends[codes] + share * self.measures[codes]), left, right)

    def places(self, values: Floats, codes: NDArray[np.integer]) -> tuple[Floats, Floats]:
        """The part of its bin that each value stands for: the share of the bin below it, and the share that it is.

        It is the cell of a recorded value, as far as it lies in the bin, and a small part around any other.

        Example:
            >>> bins = InsideBins(np.array([0.0, 4.5]), Shape([0.0, 4.5], [1.0], Recording(1.0)))
            >>> [each.round(3).tolist() for each in bins.places(np.array([0.0, 2.0]), np.array([0, 0]))]
            [[0.0, 0.333], [0.111, 0.222]]
        """
        left, right, before, size = (a.take(codes) for a in (self.edges, self.edges[1:], self._ends, self._sizes))

        def place(x: Floats) -> Floats:
            return np.clip((self.below(np.clip(x, left, right)) - before) / size, 0.0, 1.0)

        step = self.recording.step
        cell = np.floor(values / (step or 1.0) + 0.5)
        low = place((cell - 0.5) * step if step else values)
        part, share = np.minimum(np.floor(low * PARTS), PARTS - 1) / PARTS, np.full(low.shape, 1 / PARTS)
        if step:
            whole = place((cell + 0.5) * step) - low
            part, share = np.where(whole < share, part, low), np.maximum(whole, share)
        atom = self.measures.take(codes) == 0
        return np.where(atom, 0.0, part), np.where(atom, 1.0, share)

    @cached_property
    def _sizes(self) -> Floats:
        """The measures, 1 in place of 0."""
        return np.where(self.measures > 0, self.measures, 1.0)

    @cached_property
    def column_ends(self) -> Floats:
        """The share of the column below each edge [bins + 1]."""
        return (self._ends - self._ends[0]) / (self._ends[-1] - self._ends[0])

    def at_column(self, shares: Floats) -> Floats:
        """The numbers below which some shares of the whole column lie."""
        first, last = self._ends[0], self._ends[-1]
        return self.number(first + shares * (last - first))

    def of_column(self, shares: Floats, codes: NDArray[np.integer]) -> Floats:
        """Shares of bins as shares of the whole column."""
        begin, size = self.column_ends.take(codes), np.diff(self.column_ends).take(codes)
        return np.minimum(begin + shares * size, 1.0)  # rounding may reach beyond the end

    @cached_property
    def rulers(self) -> dict[Kind, Ruler]:
        """The rulers of scores that values may have, by what they are called."""
        found: dict[Kind, Ruler] = {"bin": OfBins(self)}
        if self.measures.sum() > 0 and (self.measures >= SLIVER * self.measures.sum()).all():
            found["column"] = Ruler(self)
            numbers = OfNumbers(self, log=False)
            if numbers.centre_and_spread[1] > 0:
                positive = self.edges[0] > 0
                found |= {"number": numbers, "logarithm": OfNumbers(self, log=True) if positive else numbers}
        return found

    def means_by(self, lean: Lean) -> Floats:
        """The mean inside each bin where values lean, [rows, bins]."""
        shares = lean.shares()  # [rows, bins, nodes]
        codes = np.broadcast_to(np.arange(len(self.measures))[:, None], shares.shape)
        return lean.off * self.means + (1 - lean.off) * self.at(codes, shares).mean(axis=-1)

    def draw(
        self, codes: NDArray[np.integer], rng: np.random.Generator, low: float = -np.inf, high: float = np.inf,
        lean: Lean | None = None,
    ) -> Floats:  # fmt: skip
        """A number inside each of some bins, as it would have been recorded, and within an interval if it is given."""
        share = rng.random(len(codes))
        if np.isfinite([low, high]).any():
            begin, end = self.below(np.array([low, high]))
            first, last = (np.clip((each - self._ends[:-1]) / self._sizes, 0.0, 1.0)[codes] for each in (begin, end))
            if lean is not None:
                first, last = lean.below(first), lean.below(last)
            share = first + share * np.maximum(last - first, 0.0)
            share = share if lean is None else lean.at(share)
        elif lean is not None:
            share = lean.draw(share, rng)
        values = self.at(codes, share)
        inner = codes < len(self.edges) - 2  # rounding may reach the right edge, which belongs to the next bin
        right = np.where(inner, np.nextafter(self.edges[codes + 1], -np.inf), self.edges[codes + 1])
        values = np.clip(np.minimum(values, right), low, high)
        found = self.recorded(values, codes)
        return np.where((found >= low) & (found <= high), found, values)

    def recorded(self, values: Floats, codes: NDArray[np.integer]) -> Floats:
        """Numbers as they would have been recorded, in the same bins; as they are where no such number is."""
        step = self.recording.step
        if not step:
            return values
        left, right = self.edges[codes], self.edges[codes + 1]
        last = codes == len(self.edges) - 2
        found = self.recording.rounded(values)
        found = np.where(found < left, self.recording.rounded(found + step), found)
        beyond = np.where(last, found > right, found >= right)
        found = np.where(beyond, self.recording.rounded(found - step), found)
        fits = (found >= left) & np.where(last, found <= right, found < right)
        return np.where(fits, found, values)

    def pieces(self, lean: Lean | None = None, most: int | None = None) -> tuple[Floats, NDArray[np.intp], Floats]:
        """Where the density changes inside the bins too: edges [pieces + 1], the bin of each, its share of the bin.

        Where values lean in the bins, the density changes everywhere, and pieces of about equal probability show it.
        For pictures, in which favourite digits would be spikes, there are about as many pieces of equal width as said.
        """
        edges, bins = self.edges, np.arange(len(self.measures))
        if lean is not None:
            shares = np.sort([*lean.shares().T, *np.linspace(0, 1, 9)[1:-1, None].repeat(len(bins), 1)], axis=0)
            edges = np.union1d(edges, self.at(np.broadcast_to(bins, shares.shape), shares))
        if self._uneven is not None:
            knots = self._uneven.knots if most is None else about_even(edges, most)
            edges = np.union1d(edges, knots[(knots > edges[0]) & (knots < edges[-1])])
        ends = self.below(edges)
        of = np.clip(np.searchsorted(self.edges, edges[:-1], side="right") - 1, 0, len(self.edges) - 2)
        measures, sizes = self.measures[of], self._sizes[of]
        share = np.where(measures > 0, np.diff(ends) / sizes, 1.0)
        if lean is not None:
            end = np.clip((ends[1:] - self._ends[of]) / sizes, 0.0, 1.0)
            own = lean.take(of)
            share = np.where(measures > 0, own.below(end) - own.below(np.maximum(end - share, 0.0)), share)
        return edges, of, share
