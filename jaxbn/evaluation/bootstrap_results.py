"""What a bootstrap found: how sure the cuts of a structure are, or the arcs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from jaxbn.cuts.binning import Binning
from jaxbn.groups.grouping import Grouping
from jaxbn.inputs.checks import suggest
from jaxbn.inputs.graph import Parents
from jaxbn.inputs.table import Table
from jaxbn.inputs.units import in_words
from jaxbn.model.average import AverageNet
from jaxbn.model.fit import fit
from jaxbn.model.fitted import Alpha
from jaxbn.posterior.results import SHOWN, Agreement, bin_shares, bins_in_words
from jaxbn.runtime.deprecated import old_attribute

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDEST = 0.05  # largest tolerance of a cut by default, as a share of the variable's range


@dataclass(frozen=True, eq=False, repr=False)
class Bootstrap:
    """What was found in each resample.

    Attributes:
        binnings: of each continuous variable, one for each resample.
        resamples: how many there are.
        seed: of the resamples.

    Example:
        >>> found = Bootstrap({"x": (Binning([1.0]), Binning([1.5, 2.0]))}, resamples=2, seed=0)
        >>> found.bins.to_dict("records")
        [{'variable': 'x', 'bins': 2, 'share': 0.5}, {'variable': 'x', 'bins': 3, 'share': 0.5}]
    """

    binnings: dict[str, tuple[Binning, ...]]
    resamples: int
    seed: int

    policies = old_attribute("binnings")

    @cached_property
    def bins(self) -> pd.DataFrame:
        """How often each number of bins was found: columns ``variable``, ``bins`` and ``share``."""
        return bin_shares(self.binnings, "share")

    @cached_property
    def cuts(self) -> pd.DataFrame:
        """Every cut of every resample: columns ``resample``, ``variable`` and ``cut``."""
        rows = [
            (i, name, float(edge))
            for name, found in self.binnings.items()
            for i, binning in enumerate(found)
            for edge in binning.cuts
        ]
        return pd.DataFrame(rows, columns=["resample", "variable", "cut"])


@dataclass(frozen=True, eq=False, repr=False)
class ArcBootstrap(Agreement, Bootstrap):
    """How sure the arcs are, with the structure learned again in each resample.

    It has the attributes of ``Bootstrap``, and these.

    Attributes:
        parents: the structure of each resample, ``{child: (parent, ...)}``.
        table: all the data, for the average.
        groupings: groups of levels of each resample.

    Example:
        >>> iris = jaxbn.datasets.load("iris")
        >>> found = jaxbn.bootstrap(iris.frame, resamples=10, max_parents=1, progress=False)
        >>> sorted(found.consensus(0.8).nodes) == sorted(iris.frame.columns)
        True
    """

    parents: tuple[dict[str, tuple[str, ...]], ...]
    table: Table | None = None
    groupings: tuple[dict[str, Grouping], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """All variables, in column order."""
        return tuple(self.parents[0])

    @property
    def _structures(self) -> Sequence[Parents]:  # type: ignore[override]
        return self.parents

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row for each ordered pair of variables, as R bnlearn's ``boot.strength(cpdag = FALSE)`` has it.

        ``strength`` is the share of resamples with an arc between the two, in either direction; ``direction`` the share
        of those in which it points this way, 0 where there is none.
        """
        return self._pairs

    @cached_property
    def average(self) -> AverageNet:
        """The average of the networks of all resamples, their tables fitted to all rows; it answers as a network does.

        Example:
            >>> iris = jaxbn.datasets.load("iris").frame
            >>> jaxbn.bootstrap(iris, resamples=3, max_parents=1, progress=False).average
            AverageNet: 3 networks of 5 variables (4 continuous), fitted to 150 rows
        """
        if self.table is None:
            raise ValueError("there are no rows to fit the networks to; make the bootstrap by jaxbn.bootstrap")
        by_evidence = all(binning.method == "evidence" for found in self.binnings.values() for binning in found)
        alpha: Alpha = "auto" if by_evidence else 1.0  # as ``learn`` fits them
        networks = []
        for i, (parents, groups) in enumerate(zip(self.parents, self.groupings, strict=True)):
            cuts = {name: found[i] for name, found in self.binnings.items()}
            networks.append(fit(self.table, parents, {**cuts, **groups}, alpha=alpha, inside_bins=True))
        return AverageNet(tuple(networks))

    def __repr__(self) -> str:
        lines = [f"Bootstrap: {self.resamples} resamples, structure and cuts learned in each"]
        arcs = self.frame[self.frame["direction"] > 0.5].sort_values("strength", ascending=False, kind="stable")
        for row in arcs.head(SHOWN).to_dict("records"):
            text = f"strength {row['strength']:.2f}, direction {row['direction']:.2f}"
            lines.append(f"  {row['from']} -> {row['to']}  {text}")
        if len(arcs) > SHOWN:
            lines.append(f"  and {len(arcs) - SHOWN} more, see .frame")
        lines += [f"  {name}: bins {bins_in_words(self.bins, name)}" for name in self.binnings]
        return "\n".join(lines)


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
            lines.append(f"  {name}: {self.original[name].n_bins} bins; resampled {bins_in_words(self.bins, name)}")
            for row in self.frame[self.frame["variable"] == name].to_dict("records"):
                cut, lower, upper = (in_words(row[key], unit) for key in ("cut", "lower", "upper"))
                lines.append(f"    {cut}  [{lower}, {upper}]  found in {row['found']:.0%}")
        return "\n".join(lines)


def nearest_cuts(
    edges: NDArray[np.float64], binnings: Sequence[Binning], gaps: Sequence[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The cut of each binning nearest to each edge [B, k], and its gap [B, k, 2]; NaN where a binning has none."""
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
