"""What a bootstrap found: how sure each cut and each arc is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from jaxbn.cuts.policy import Policy
from jaxbn.inputs import checks
from jaxbn.inputs.checks import suggest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDEST = 0.05
"""Largest tolerance of a cut by default, as a share of the variable's range."""

SHOWN = 12
"""Most arcs that are printed."""


@dataclass(frozen=True, eq=False, repr=False)
class Bootstrap:
    """What was found in each resample.

    Attributes:
        policies: of each continuous variable, one for each resample.
        resamples: how many there are.
        seed: of the resamples.

    Example:
        >>> found = Bootstrap({"x": (Policy([1.0]), Policy([1.5, 2.0]))}, resamples=2, seed=0)
        >>> found.bins.to_dict("records")
        [{'variable': 'x', 'bins': 2, 'share': 0.5}, {'variable': 'x', 'bins': 3, 'share': 0.5}]
    """

    policies: dict[str, tuple[Policy, ...]]
    resamples: int
    seed: int

    @cached_property
    def bins(self) -> pd.DataFrame:
        """How often each number of bins was found: columns ``variable``, ``bins`` and ``share``."""
        rows = []
        for name, found in self.policies.items():
            counts = Counter(policy.n_bins for policy in found)
            rows += [(name, n_bins, count / len(found)) for n_bins, count in sorted(counts.items())]
        return pd.DataFrame(rows, columns=["variable", "bins", "share"])

    @cached_property
    def cuts(self) -> pd.DataFrame:
        """Every cut of every resample: columns ``resample``, ``variable`` and ``cut``."""
        rows = [
            (i, name, float(edge))
            for name, found in self.policies.items()
            for i, policy in enumerate(found)
            for edge in policy.edges
        ]
        return pd.DataFrame(rows, columns=["resample", "variable", "cut"])

    def _bins_in_words(self, name: str) -> str:
        shares = self.bins[self.bins["variable"] == name].sort_values("share", ascending=False, kind="stable")
        words = [f"{bins} ({share:.0%})" for bins, share in zip(shares["bins"], shares["share"], strict=True)]
        return ", ".join(words[:4]) + (", ..." if len(words) > 4 else "")


@dataclass(frozen=True, eq=False, repr=False)
class CutBootstrap(Bootstrap):
    """How sure the cuts of a network with a given structure are.

    Attributes:
        policies: of each continuous variable, one for each resample.
        resamples: how many there are.
        seed: of the resamples.
        gaps: of each variable, for each resample, the two values of it that each cut lies between [cuts, 2].
        original: the policies of all the data.
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
    original: dict[str, Policy]
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
        for name, policy in self.original.items():
            cuts, gaps = nearest_cuts(policy.edges, self.policies[name], self.gaps[name])
            reach = self._reach(name)
            for i, cut in enumerate(policy.edges):
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
        edges, values = self.original[name].edges, self.values[name]
        span = float(values[-1] - values[0])
        if self.tolerance is not None:
            return np.full(len(edges), self.tolerance * span)
        gaps = np.diff([values[0], *edges, values[-1]])
        return np.minimum(np.minimum(gaps[:-1], gaps[1:]) / 2, WIDEST * span)

    def __repr__(self) -> str:
        lines = [f"Bootstrap: {self.resamples} resamples, cuts given the structure, {self.level:.0%} intervals"]
        for name in self.original:
            lines.append(f"  {name}: {self.original[name].n_bins} bins; resampled {self._bins_in_words(name)}")
            lines += [
                f"    {row['cut']:g}  [{row['lower']:g}, {row['upper']:g}]  found in {row['found']:.0%}"
                for row in self.frame[self.frame["variable"] == name].to_dict("records")
            ]
        return "\n".join(lines)


def nearest_cuts(
    edges: NDArray[np.float64], policies: Sequence[Policy], gaps: Sequence[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The cut of each policy that lies nearest to each edge, and its gap; NaN where a policy has none.

    Args:
        edges: [k].
        policies: [B].
        gaps: of each policy, [its cuts, 2].

    Returns:
        Cuts [B, k], and gaps [B, k, 2].

    Example:
        >>> cuts, gaps = nearest_cuts(np.array([1.0, 5.0]), [Policy([1.5, 2.0])], [np.array([[1.0, 2.0], [2.0, 2.0]])])
        >>> cuts.tolist(), gaps[0, 0].tolist()
        ([[1.5, 2.0]], [1.0, 2.0])
    """
    cuts = np.full((len(policies), len(edges)), np.nan)
    ends = np.full((len(policies), len(edges), 2), np.nan)
    for i, (policy, gap) in enumerate(zip(policies, gaps, strict=True)):
        if len(policy.edges):
            near = np.abs(policy.edges[:, None] - edges).argmin(axis=0)
            cuts[i], ends[i] = policy.edges[near], gap[near]
    return cuts, ends


def _interval(gaps: NDArray[np.float64], level: float) -> tuple[float, float]:
    gaps = gaps[~np.isnan(gaps[:, 0])]
    if not len(gaps):
        return float("nan"), float("nan")
    return float(np.quantile(gaps[:, 0], (1 - level) / 2)), float(np.quantile(gaps[:, 1], (1 + level) / 2))


@dataclass(frozen=True, eq=False, repr=False)
class ArcBootstrap(Bootstrap):
    """How sure the arcs are, with the structure learned again in each resample.

    Attributes:
        policies: of each continuous variable, one for each resample.
        resamples: how many there are.
        seed: of the resamples.
        parents: the structure of each resample, ``{child: (parent, ...)}``.

    Example:
        >>> import jaxbn
        >>> iris = jaxbn.datasets.load("iris")
        >>> found = jaxbn.bootstrap(iris.frame, resamples=10, max_parents=1, progress=False)
        >>> sorted(found.consensus(0.8).nodes) == sorted(iris.frame.columns)
        True
    """

    parents: tuple[dict[str, tuple[str, ...]], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All variables, in column order."""
        return tuple(self.parents[0])

    @cached_property
    def strengths(self) -> dict[tuple[str, str], float]:
        """The share of resamples that have an arc, by (parent, child): for ``net.plot`` and ``jaxbn.report``."""
        counts = Counter((p, child) for found in self.parents for child, ps in found.items() for p in ps)
        return {arc: count / self.resamples for arc, count in sorted(counts.items(), key=lambda item: (-item[1], item))}

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row for each ordered pair of variables, as R bnlearn's ``boot.strength(cpdag = FALSE)`` has it.

        ``strength`` is the share of resamples with an arc between the two, in either direction; ``direction`` the share
        of those in which it points this way, 0 where there is none.
        """
        rows = []
        for parent in self.names:
            for child in self.names:
                if parent != child:
                    this, other = (self.strengths.get(arc, 0.0) for arc in ((parent, child), (child, parent)))
                    rows.append((parent, child, this + other, this / (this + other) if this + other else 0.0))
        return pd.DataFrame(rows, columns=["from", "to", "strength", "direction"])

    def consensus(self, threshold: float = 0.5) -> nx.DiGraph:
        """The network of the arcs that most resamples agree on.

        An arc is in it if its strength is above the threshold and its direction above a half. Where such arcs form a
        cycle the weakest of it is left out: they are added from the strongest to the weakest (of equal strength the one
        with the clearer direction first, then in column order), and one that would close a cycle is not.

        Args:
            threshold: from 0 to 1.

        Returns:
            A graph of all variables; each arc has its ``strength`` and ``direction``. Hand it to ``jaxbn.discretize``
            for the cuts.

        Example:
            >>> found = ArcBootstrap({}, 3, 0, ({"a": (), "b": ("a",)}, {"a": (), "b": ("a",)}, {"a": ("b",), "b": ()}))
            >>> list(found.consensus(0.5).edges(data="direction"))
            [('a', 'b', 0.666...)]
        """
        if not isinstance(threshold, int | float) or isinstance(threshold, bool) or not 0 <= threshold <= 1:
            raise checks.ArgumentError("threshold", f"must be a number from 0 to 1, got {threshold!r}", value=threshold)
        graph = nx.DiGraph()
        graph.add_nodes_from(self.names)
        clear = self.frame[(self.frame["strength"] > threshold) & (self.frame["direction"] > 0.5)]
        for row in clear.sort_values(["strength", "direction"], ascending=False, kind="stable").to_dict("records"):
            if not nx.has_path(graph, row["to"], row["from"]):
                graph.add_edge(row["from"], row["to"], strength=row["strength"], direction=row["direction"])
        return graph

    def __repr__(self) -> str:
        lines = [f"Bootstrap: {self.resamples} resamples, structure and cuts learned in each"]
        arcs = self.frame[self.frame["direction"] > 0.5].sort_values("strength", ascending=False, kind="stable")
        for row in arcs.head(SHOWN).to_dict("records"):
            text = f"strength {row['strength']:.2f}, direction {row['direction']:.2f}"
            lines.append(f"  {row['from']} -> {row['to']}  {text}")
        if len(arcs) > SHOWN:
            lines.append(f"  and {len(arcs) - SHOWN} more, see .frame")
        lines += [f"  {name}: bins {self._bins_in_words(name)}" for name in self.policies]
        return "\n".join(lines)


def check_share(argument: str, value: Any, *, ends: bool) -> float:
    """A number between 0 and 1, the ends included if asked for."""
    number = checks.positive(argument, value)
    if number > 1 or (number == 1 and not ends):
        most = "at most" if ends else "below"
        raise checks.ArgumentError(argument, f"must be {most} 1, got {number}; for example 0.9", value=number)
    return number
