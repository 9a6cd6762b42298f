"""Inner folds of a fitted network's own data: what each holds out, ready for ``kernels.gradient``.

A cut lies in the gap between two neighbouring values, at some share of the way from the left one to the right one. The
share is what is learned. In a fold, the cut is put at the same share of the gap between its neighbours *among the rows
of the other folds*. That gap is at least as wide, and held-out values can lie inside it, on either side of the cut: a
fold measures what "at a third of the gap" does to rows it has not seen. With the gaps of all rows instead, no held-out
value could change its bin, and the sum over the folds would be the density of the training rows, which always gains by
narrowing the denser bin.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from jaxbn.kernels.gradient import Cells, Folds
from jaxbn.model.bayesnet import BayesNet
from jaxbn.runtime.shapes import bucket
from jaxbn.scores.tables import family_counts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Gaps(NamedTuple):
    """The cuts of one variable and the gaps of its values that they lie in, [cuts] each."""

    cuts: Floats
    left: Floats  # the values next to each cut, left < cut <= right; both the cut itself where it has to stay
    right: Floats
    margin: Floats  # smallest share of the gap on either side of the cut

    @property
    def free(self) -> Mask:
        """Whether a cut can be moved."""
        return np.asarray(self.margin < 0.5)

    @property
    def shares(self) -> Floats:
        """Where in its gap each cut lies; a half where it has to stay."""
        width = self.right - self.left
        return np.where(width > 0, (self.cuts - self.left) / np.where(width > 0, width, 1.0), 0.5)

    def on(self, ruler: Callable[[Floats], Floats]) -> Gaps:
        """The same on another ruler; the larger of the two margins counts for both sides."""
        cuts, left, right = ruler(self.cuts), ruler(self.left), ruler(self.right)
        step, width = self.margin * (self.right - self.left), right - left
        near = np.maximum(ruler(self.left + step) - left, right - ruler(self.right - step))
        margin = np.where(self.free & (width > 0), near / np.where(width > 0, width, 1.0), 0.5)
        return Gaps(cuts, left, right, np.where(margin < 0.5 - 1e-6, margin, 0.5))


def gaps_of(values: Floats, cuts: Floats) -> Gaps:
    """The gap around each cut.

    A cut keeps a distance of half the smallest step between distinct values to both its neighbours: a value that was
    recorded to that step stands for everything within half a step, and a bin that ends closer only models the rounding.
    A cut that has no value on one side, or no other value between it and the next cut, stays.
    """
    distinct = np.unique(values)
    after = np.searchsorted(distinct, cuts)  # the first value at or above the cut
    alone = (np.diff(after, prepend=-1) > 0) & (np.diff(after, append=len(distinct) + 1) > 0)
    free = alone & (after > 0) & (after < len(distinct))
    left = np.where(free, distinct[np.maximum(after - 1, 0)], cuts)
    right = np.where(free, distinct[np.minimum(after, len(distinct) - 1)], cuts)
    step = np.diff(distinct).min(initial=np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        margin = np.where(free, step / 2 / (right - left), 0.5)
    return Gaps(cuts, left, right, np.where(margin < 0.5 - 1e-6, margin, 0.5))  # a gap of one step, up to rounding


class Setting(NamedTuple):
    """A network and its data. Numbers are on the rulers of the columns' shapes, so that lengths are measures."""

    net: BayesNet
    values: Mapping[str, Floats]  # [n], of the continuous variables
    codes: Mapping[str, NDArray[np.int32]]  # [n], of every variable
    gaps: Mapping[str, Gaps]  # of the continuous variables
    bounds: Mapping[str, Floats]  # [2], likewise
    log_base: Floats  # [n], log of the base densities of a row's numbers, by which its density differs from the ruler's


def setting_of(
    net: BayesNet, values: Mapping[str, Floats], codes: Mapping[str, NDArray[np.int32]], gaps: Mapping[str, Gaps]
) -> Setting:
    """A network and its data, from numbers and gaps in original units."""
    inside = {name: net.inside(name) for name in net.binnings}
    base = sum(
        (
            bins.log_density(values[name], codes[name])
            + np.log(np.where(bins.measures > 0, bins.measures, 1.0))[codes[name]]
            for name, bins in inside.items()
        ),
        np.zeros(len(next(iter(codes.values())))),
    )
    return Setting(
        net,
        {name: bins.below(values[name]) for name, bins in inside.items()},
        codes,
        {name: gap.on(inside[name].below) for name, gap in gaps.items()},
        {name: bins.below(np.array(net.bounds[name])) for name, bins in inside.items()},
        base,
    )


class _Column(NamedTuple):
    """One variable in one fold. A discrete one has no edges, and no value of it is inside a gap."""

    low: Floats  # [edges], the outer ones included, see Folds
    high: Floats
    rows: Floats
    value: Floats  # held-out values inside a gap
    edge: Ints  # and the edge in that gap
    left: Ints  # [held-out rows] code of the bin; of a value inside a gap, of the bin left of the cut
    number: Ints  # [held-out rows] its number among the values inside a gap, -1 if it is not inside one


def _fold(setting: Setting, out: Mask) -> Folds:
    columns, n_edges, n_inside = {}, 0, 0
    for name in setting.net.names:
        column = _column(setting, name, out)
        number = np.where(column.number >= 0, column.number + n_inside, -1)
        columns[name] = column._replace(edge=column.edge + n_edges, number=number)
        n_edges, n_inside = n_edges + len(column.low), n_inside + len(column.value)
    low, high, rows, value, edge = (np.concatenate(parts) for parts in list(zip(*columns.values(), strict=True))[:5])
    widest = bucket(max(map(len, setting.net.parents.values())) + 1, 4)
    found = [each for name in columns for each in _look_ups(setting, name, columns, out, widest)]
    *cells, inside, right = map(np.concatenate, zip(*found, strict=True))
    unsure = (inside >= 0).any(axis=1)
    settled, unsettled = (Cells(*(part[mine] for part in cells)) for mine in (~unsure, unsure))
    return Folds(low, high, rows, value, edge, np.ones(len(value)), settled, unsettled, inside[unsure], right[unsure])


def _column(setting: Setting, name: str, out: Mask) -> _Column:
    codes = setting.codes[name][out].astype(np.int64)
    if name not in setting.gaps:
        nothing = np.empty(0)
        return _Column(nothing, nothing, nothing, nothing, nothing.astype(np.int64), codes, np.full_like(codes, -1))
    gaps, bounds = setting.gaps[name], setting.bounds[name]
    values = setting.values[name][out]
    low, high = _gaps_left(gaps, setting.values[name][~out])
    cut = np.searchsorted(high, values, side="right")  # the first cut whose gap ends above the value
    inside = np.append(low, np.inf)[cut] < values
    return _Column(
        low=np.array([bounds[0], *low, bounds[1]]),
        high=np.array([bounds[0], *high, bounds[1]]),
        rows=np.bincount(codes[~inside], minlength=len(low) + 2).astype(np.float64),
        value=values[inside],
        edge=cut[inside] + 1,
        left=np.where(inside, cut, codes),
        number=np.where(inside, np.cumsum(inside) - 1, -1),
    )


def _gaps_left(gaps: Gaps, values: Floats) -> tuple[Floats, Floats]:
    """The values next to each cut among those of the other folds, [cuts] each.

    Where these have no value in a bin, its cuts keep the neighbour of all the rows on that side: so gaps never overlap.
    """
    ascending = np.sort(values)
    after = np.searchsorted(ascending, gaps.cuts)
    padded = np.concatenate([[-np.inf], ascending, [np.inf]])
    below, above = padded[after], padded[after + 1]
    previous, following = np.append(-np.inf, gaps.cuts)[:-1], np.append(gaps.cuts, np.inf)[1:]
    low = np.where(gaps.free & (below >= previous) & np.isfinite(below), below, gaps.left)
    high = np.where(gaps.free & (above < following), above, gaps.right)
    return low, high


def _look_ups(
    setting: Setting, name: str, columns: Mapping[str, _Column], out: Mask, widest: int
) -> Iterator[tuple[NDArray[Any], ...]]:
    """The cells of a family's table that held-out rows look up, the parts of ``Cells``.

    With them come the values of its variables inside a gap, and whether these fall right of the cut [cells, widest].
    Rows without a value inside a gap are counted by cell; each of the others has a look-up for every way its values can
    fall.
    """
    net, codes = setting.net, setting.codes
    family = (*net.parents[name], name)
    shape = tuple(net.cardinalities[v] for v in family)
    counts = family_counts(codes[name][~out], [codes[p][~out] for p in net.parents[name]], shape)
    left = np.stack([columns[v].left for v in family], axis=1)  # [held-out rows, variables]
    number = np.full((len(left), widest), -1)
    number[:, : len(family)] = np.stack([columns[v].number for v in family], axis=1)
    for pattern in np.unique(number >= 0, axis=0):
        rows = ((number >= 0) == pattern).all(axis=1)
        for sides in itertools.product(*([False, True] if open_ else [False] for open_ in pattern)):
            cell = np.ravel_multi_index(tuple((left[rows] + sides[: len(family)]).T), shape)
            times, of_row = np.ones(len(cell), np.int64), number[rows]
            if not pattern.any():
                cell, times = np.unique(cell, return_counts=True)
                of_row = of_row[: len(cell)]  # all -1
            total, n_states = counts.reshape(-1, shape[-1]).sum(axis=1), shape[-1]
            floats = (counts.ravel()[cell], total[cell // n_states], np.full(len(cell), n_states), times)
            *cells, looked_up = (array.astype(np.float64) for array in floats)
            child = np.full(len(cell), net.names.index(name))
            yield *cells, child, looked_up, of_row, np.broadcast_to(np.array(sides), of_row.shape)


def hold_out(settings: Sequence[Setting], fold: Ints) -> Folds:
    """What each fold holds out, as NumPy arrays with one leading axis; networks differ in their cuts alone.

    Sizes are rounded up so that few programs are compiled.
    """
    folds = [_fold(setting, fold == k) for k, setting in enumerate(settings)]

    def stack(*arrays: NDArray[Any], fill: int = 0) -> NDArray[Any]:
        size = bucket(max(map(len, arrays)), 64, 4)
        dtype = np.int32 if arrays[0].dtype.kind == "i" else arrays[0].dtype
        stacked = np.full((len(arrays), size, *arrays[0].shape[1:]), fill, dtype)
        for k, array in enumerate(arrays):
            stacked[k, : len(array)] = array
        return stacked

    padded: Folds = jax.tree.map(stack, *folds)
    return padded._replace(inside=stack(*(fold.inside for fold in folds), fill=-1))
