"""How sure each cut is, from the resamples of a bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from jaxbn.cuts.binning import Binning
from jaxbn.evaluation.bootstrap_results import Bootstrap
from jaxbn.inputs.checks import suggest
from jaxbn.inputs.units import in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDEST = 0.05
"""Largest tolerance of a cut by default, as a share of the variable's range."""


@dataclass(frozen=True, eq=False, repr=False)
class CutBootstrap(Bootstrap):
    """How sure the cuts of a network with a given structure are.

    It has the attributes of ``Bootstrap``, and these.

    Attributes:
        gaps: of each variable, for each resample, the two values of it that each cut lies between [cuts, 2].
        original: the binnings of all the data.
        values: the data of each continuous variable, ascending.
        level: of the intervals.
        tolerance: as a share of the variable's range; None: see ``frame``.

    Example:
        >>> import jaxbn
        >>> iris = jaxbn.datasets.load("iris")
        >>> found = jaxbn.bootstrap(iris.frame, iris.structures["paper"], method="bayesian", resamples=20)
        >>> found.frame[found.frame["variable"] == "petal_width"][["cut", "found"]].round(2).to_numpy().tolist()
        [[0.8, 1.0], [1.75, 1.0]]
    """

    gaps: dict[str, tuple[NDArray[np.float64], ...]]
    original: dict[str, Binning]
    values: dict[str, NDArray[np.float64]]
    level: float
    tolerance: float | None

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row for each cut of all the data.

        ``found`` is the share of resamples with a cut within ``tolerance`` of it. The tolerance is half the distance to
        the next cut or end of the range, but at most 5 % of the range, if no other was asked for.

        ``lower`` and ``upper`` are a percentile interval, over the resamples that have a cut. Take the cut nearest to
        this one: the data do not say where between its two neighbouring values it lies, so the interval runs from the
        lower percentile of the left neighbours to the upper percentile of the right ones.
        """
        rows = []
        for name, binning in self.original.items():
            cuts, gaps = nearest_cuts(binning.cuts, self.binnings[name], self.gaps[name])
            reach = self._reach(name)
            for i, cut in enumerate(binning.cuts):
                lower, upper = _interval(gaps[:, i], self.level)
                found = float((np.abs(cuts[:, i] - cut) <= reach[i]).mean())
                rows.append((name, float(cut), found, lower, upper, float(reach[i])))
        return pd.DataFrame(rows, columns=["variable", "cut", "found", "lower", "upper", "tolerance"])

    def plot(self, name: str | None = None, ax: Axes | None = None) -> Axes | NDArray[Any]:
        """Draw the resampled cuts of a variable below its density, with the cuts of all the data and their intervals.

        Args:
            name: a continuous variable; all of them by default.
            ax: axes to draw on, for one variable; new ones by default.

        Returns:
            The axes, an array of them for all variables.

        Example:
            >>> import jaxbn
            >>> iris = jaxbn.datasets.load("iris")
            >>> found = jaxbn.bootstrap(iris.frame, iris.structures["paper"], method="bayesian", resamples=20)
            >>> found.plot("petal_width")  # doctest: +SKIP
        """
        from jaxbn.drawing.plots import plot_resampled_cuts, stacked_axes

        if name is not None:
            if name not in self.original:
                raise ValueError(
                    f"{name!r} is not a continuous variable of the bootstrap; {suggest(name, self.original)}"
                )
            return plot_resampled_cuts(self, name, ax)
        if ax is not None:
            raise ValueError("ax is for one variable; name it, or leave ax out to draw all of them")
        axes = stacked_axes(len(self.original))
        for each, variable in zip(axes, self.original, strict=True):
            plot_resampled_cuts(self, variable, each)
        return axes

    def _reach(self, name: str) -> NDArray[np.float64]:
        """How far from each cut a resampled one may lie to count as the same."""
        edges, values = self.original[name].cuts, self.values[name]
        span = float(values[-1] - values[0])
        if self.tolerance is not None:
            return np.full(len(edges), self.tolerance * span)
        gaps = np.diff([values[0], *edges, values[-1]])
        return np.minimum(np.minimum(gaps[:-1], gaps[1:]) / 2, WIDEST * span)

    def __repr__(self) -> str:
        lines = [f"Bootstrap: {self.resamples} resamples, cuts given the structure, {self.level:.0%} intervals"]
        for name in self.original:
            unit = self.original[name].unit
            lines.append(f"  {name}: {self.original[name].n_bins} bins; resampled {self._bins_in_words(name)}")
            for row in self.frame[self.frame["variable"] == name].to_dict("records"):
                cut, lower, upper = (in_words(row[key], unit) for key in ("cut", "lower", "upper"))
                lines.append(f"    {cut}  [{lower}, {upper}]  found in {row['found']:.0%}")
        return "\n".join(lines)


def nearest_cuts(
    edges: NDArray[np.float64], binnings: Sequence[Binning], gaps: Sequence[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The cut of each binning that lies nearest to each edge, and its gap; NaN where a binning has none.

    Args:
        edges: [k].
        binnings: [B].
        gaps: of each binning, [its cuts, 2].

    Returns:
        Cuts [B, k], and gaps [B, k, 2].

    Example:
        >>> cuts, gaps = nearest_cuts(np.array([1.0, 5.0]), [Binning([1.5, 2.0])], [np.array([[1.0, 2.0], [2.0, 2.0]])])
        >>> cuts.tolist(), gaps[0, 0].tolist()
        ([[1.5, 2.0]], [1.0, 2.0])
    """
    cuts = np.full((len(binnings), len(edges)), np.nan)
    ends = np.full((len(binnings), len(edges), 2), np.nan)
    for i, (binning, gap) in enumerate(zip(binnings, gaps, strict=True)):
        if len(binning.cuts):
            near = np.abs(binning.cuts[:, None] - edges).argmin(axis=0)
            cuts[i], ends[i] = binning.cuts[near], gap[near]
    return cuts, ends


def _interval(gaps: NDArray[np.float64], level: float) -> tuple[float, float]:
    gaps = gaps[~np.isnan(gaps[:, 0])]
    if not len(gaps):
        return float("nan"), float("nan")
    return float(np.quantile(gaps[:, 0], (1 - level) / 2)), float(np.quantile(gaps[:, 1], (1 + level) / 2))
