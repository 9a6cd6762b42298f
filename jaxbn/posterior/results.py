"""What many networks agree on, and what draws from the posterior say of arcs, cuts and the average network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from jaxbn.cuts.binning import Binning
from jaxbn.inputs import checks
from jaxbn.inputs.graph import Parents
from jaxbn.inputs.table import Table
from jaxbn.model.average import AverageNet
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.fit import fit
from jaxbn.posterior.draws import Draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 12  # most arcs that are printed


class Agreement:
    """What many networks agree on: base of the results whose networks differ in their arcs."""

    names: tuple[str, ...]
    _structures: Sequence[Parents]

    @cached_property
    def strengths(self) -> dict[tuple[str, str], float]:
        """The share of networks that have an arc, by (parent, child), largest first: for ``net.plot`` and reports."""
        counts = Counter((p, child) for found in self._structures for child, ps in found.items() for p in ps)
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item))
        return {arc: count / len(self._structures) for arc, count in ordered}

    @cached_property
    def _pairs(self) -> pd.DataFrame:
        """A row for each ordered pair: the share with an arc in either direction, and of those the share this way."""
        rows = []
        for parent, child in permutations(self.names, 2):
            this, other = self.strengths.get((parent, child), 0.0), self.strengths.get((child, parent), 0.0)
            rows.append((parent, child, this + other, this / (this + other) if this + other else 0.0))
        return pd.DataFrame(rows, columns=["from", "to", "strength", "direction"])

    def consensus(self, threshold: float = 0.5) -> nx.DiGraph:
        """The network of the arcs that most networks agree on.

        An arc is in it if its strength, the share of networks with an arc between the two, is above the threshold and
        its direction, the share of these that point this way, above a half. Where such arcs form a cycle the weakest of
        it is left out: they are added from the strongest to the weakest (of equal strength the one with the clearer
        direction first, then in column order), and one that would close a cycle is not.

        Args:
            threshold: from 0 to 1.

        Returns:
            A graph of all variables; each arc has its ``strength`` and ``direction``. Hand it to ``jaxbn.discretize``
            for the cuts, or to ``jaxbn.fit`` for a network.

        Example:
            >>> structures = {"a": (), "b": ("a",)}, {"a": (), "b": ("a",)}, {"a": ("b",), "b": ()}
            >>> list(jaxbn.ArcBootstrap({}, 3, 0, structures).consensus(0.5).edges(data="direction"))
            [('a', 'b', 0.666...)]
        """
        is_number = isinstance(threshold, int | float | np.number) and not isinstance(threshold, bool)
        if not (is_number and 0 <= threshold <= 1):
            raise checks.ArgumentError("threshold", f"must be a number from 0 to 1, got {threshold!r}", value=threshold)
        graph, frame = nx.DiGraph(), self._pairs
        graph.add_nodes_from(self.names)
        clear = frame[(frame["strength"] > threshold) & (frame["direction"] > 0.5)]
        for row in clear.sort_values(["strength", "direction"], ascending=False, kind="stable").to_dict("records"):
            if not nx.has_path(graph, row["to"], row["from"]):
                graph.add_edge(row["from"], row["to"], strength=row["strength"], direction=row["direction"])
        return graph


def bin_shares(binnings: Mapping[str, Sequence[Binning]], word: str) -> pd.DataFrame:
    """How often each variable has each number of bins: columns ``variable``, ``bins`` and `word`."""
    rows = []
    for name, found in binnings.items():
        counts = Counter(binning.n_bins for binning in found)
        rows += [(name, n_bins, count / len(found)) for n_bins, count in sorted(counts.items())]
    return pd.DataFrame(rows, columns=["variable", "bins", word])


def bins_in_words(shares: pd.DataFrame, name: str) -> str:
    """The most frequent numbers of bins of a variable in a line, see `bin_shares`."""
    own = shares[shares["variable"] == name].iloc[:, 1:].sort_values(shares.columns[2], ascending=False, kind="stable")
    words = [f"{bins} ({share:.0%})" for bins, share in own.itertuples(index=False)]
    return checks.few(words, 4)


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(Agreement):
    """Networks drawn from their posterior, from ``jaxbn.sample_posterior``.

    Attributes:
        table: the data.
        draws: what was drawn, chain after chain.
        seed: of the random numbers.
        finished: False where Ctrl-C or the time limit ended it before all draws were made.
        on_grid: variables whose cuts were drawn on a grid, as they have more distinct values than it has positions.
        never: arcs (parent, child) that constraints rule out; None where the graph was given.

    Example:
        >>> iris = jaxbn.datasets.load("iris").frame
        >>> found = jaxbn.sample_posterior(iris, draws=8, chains=2, burn_in=2, progress=False)
        >>> len(found.networks), found.average
        (8, AverageNet: 8 networks of 5 variables (4 continuous), fitted to 150 rows)
    """

    table: Table
    draws: tuple[Draw, ...]
    seed: int
    finished: bool = True
    on_grid: tuple[str, ...] = ()
    never: frozenset[tuple[str, str]] | None = None

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """All variables, in column order."""
        return self.table.names

    @property
    def _structures(self) -> Sequence[Parents]:  # type: ignore[override]
        return [draw.parents for draw in self.draws]

    @cached_property
    def networks(self) -> tuple[BayesNet, ...]:
        """The network of each draw, its tables fitted to the data."""
        return tuple(fit(self.table, draw.parents, draw.codings, alpha="auto") for draw in self.draws)

    @cached_property
    def average(self) -> AverageNet:
        """The average of all draws, which answers as a network does."""
        return AverageNet(self.networks, self.never)

    @cached_property
    def arcs(self) -> pd.DataFrame:
        """A row for each ordered pair of variables: ``from``, ``to``, ``probability``, ``strength`` and ``direction``.

        ``probability`` is that of the arc as it points, ``strength`` that of an arc between the two in either
        direction, ``direction`` the share of these that point this way. Arcs from or to a variable that is in one bin
        say nothing and do not count.
        """
        frame = self._pairs.copy()
        frame.insert(2, "probability", frame["strength"] * frame["direction"])
        return frame

    @cached_property
    def cuts(self) -> pd.DataFrame:
        """How probable a cut is, wherever there was one: columns ``variable``, ``cut`` and ``probability``."""
        rows = []
        for name in self.table.continuous:
            counts = Counter(float(edge) for draw in self.draws for edge in draw.binnings[name].cuts)
            rows += [(name, cut, count / len(self.draws)) for cut, count in sorted(counts.items())]
        return pd.DataFrame(rows, columns=["variable", "cut", "probability"])

    @cached_property
    def bins(self) -> pd.DataFrame:
        """How probable each number of bins is: columns ``variable``, ``bins`` and ``probability``."""
        drawn = {name: [draw.binnings[name] for draw in self.draws] for name in self.table.continuous}
        return bin_shares(drawn, "probability")

    @cached_property
    def groups(self) -> pd.DataFrame:
        """How probable it is that two levels of a variable are in one group.

        Columns ``variable``, ``level``, ``other`` and ``probability``, a row for each pair of levels.
        """
        rows = []
        for name in self.draws[0].groupings:
            levels = self.table.levels[name]
            codes = [draw.groupings[name](levels) for draw in self.draws]
            together: Any = sum(np.equal.outer(own, own) / len(codes) for own in codes)
            pairs = combinations(range(len(levels)), 2)
            rows += [(name, levels[i], levels[j], float(together[i, j])) for i, j in pairs]
        return pd.DataFrame(rows, columns=["variable", "level", "other", "probability"])

    @cached_property
    def trace(self) -> pd.DataFrame:
        """F of each draw: columns ``chain``, ``sweep`` and ``evidence``."""
        rows = [(draw.chain, draw.sweep, draw.evidence) for draw in self.draws]
        return pd.DataFrame(rows, columns=["chain", "sweep", "evidence"])

    @cached_property
    def diagnostics(self) -> pd.DataFrame:
        """Whether the chains agree: a row for F, the number of arcs, and each arc and number of bins that varies.

        Columns ``mean``, ``effective_size`` (how many independent draws theirs are worth) and ``r_hat`` (near 1 where
        chains agree; above 1.05, draw more). NaN with fewer than four draws in a chain.
        """
        draws = self.draws
        found: dict[str, list[float]] = {"evidence": [draw.evidence for draw in draws]}
        found["arcs"] = [sum(map(len, draw.parents.values())) for draw in draws]
        found |= {f"{p} -> {child}": [p in draw.parents[child] for draw in draws] for p, child in self.strengths}
        found |= {f"bins of {name}": [draw.binnings[name].n_bins for draw in draws] for name in self.table.continuous}
        found |= {f"groups of {name}": [draw.groupings[name].n_groups for draw in draws] for name in draws[0].groupings}
        varied = {name: each for name, values in found.items() if np.ptp(each := self._by_chain(values)) > 0}
        rows = {name: (float(each.mean()), effective_size(each), r_hat(each)) for name, each in varied.items()}
        return pd.DataFrame.from_dict(rows, orient="index", columns=["mean", "effective_size", "r_hat"])

    def _by_chain(self, values: list[float]) -> NDArray[np.float64]:
        """Values of the draws [chains, draws], as many of each chain as the shortest has."""
        sizes = [*Counter(draw.chain for draw in self.draws).values()]  # they are there chain after chain
        return np.array([each[: min(sizes)] for each in np.split(np.array(values, np.float64), np.cumsum(sizes)[:-1])])

    def effect(self, cause: str, outcome: str, **options: Any) -> pd.DataFrame:
        """The mean of a variable where another one is set, and its range over the draws; see ``AverageNet.effect``.

        Example:
            >>> found.effect("class", "petal_length", coverage=0.8)  # doctest: +SKIP
        """
        return self.average.effect(cause, outcome, **options)

    def plot_arcs(self, ax: Axes | None = None, *, threshold: float = 0.5) -> Axes:
        """Draw the consensus network with the probability of each arc, see ``consensus``, on new axes by default.

        Example:
            >>> found.plot_arcs()  # doctest: +SKIP
        """
        from jaxbn.drawing.posterior import plot_arcs

        return plot_arcs(self, ax, threshold)

    def plot_cuts(self, name: str, ax: Axes | None = None) -> Axes:
        """Draw how probable cuts of a continuous variable are, over its histogram and the average density.

        Example:
            >>> found.plot_cuts("weight")  # doctest: +SKIP
        """
        from jaxbn.drawing.posterior import plot_cuts

        return plot_cuts(self, name, ax)

    def plot_trace(self, ax: Axes | None = None) -> Axes:
        """Draw F along each chain: lines that mix are a good sign, lines apart or trends a bad one.

        Example:
            >>> found.plot_trace()  # doctest: +SKIP
        """
        from jaxbn.drawing.posterior import plot_trace

        return plot_trace(self, ax)

    def __repr__(self) -> str:
        lines = [self._headline()]
        for (parent, child), share in list(self.strengths.items())[:SHOWN]:
            lines.append(f"  {parent} -> {child}  {share:.2f}")
        if len(self.strengths) > SHOWN:
            lines.append(f"  and {len(self.strengths) - SHOWN} more, see .arcs")
        for name in self.table.continuous:
            grid = " on a grid" if name in self.on_grid else ""
            lines.append(f"  {name}: bins{grid} {bins_in_words(self.bins, name)}")
        grouped = self.draws[0].groupings
        lines += [f"  {name}: {group_counts(self, name)} of {len(self.table.levels[name])} levels" for name in grouped]
        return "\n".join(lines)

    def _headline(self) -> str:
        chains = len({draw.chain for draw in self.draws})
        text = f"Posterior: {len(self.draws)} draws from {chains} chain{'s' * (chains != 1)}"
        text += "" if self.finished else ", ended early"
        row = self.diagnostics.loc["evidence"] if "evidence" in self.diagnostics.index else None
        if row is not None and np.isfinite(row["r_hat"]):
            text += f"; F {row['mean']:.1f}, effective size {row['effective_size']:.0f}, R-hat {row['r_hat']:.2f}"
        return text

    def _repr_html_(self) -> str:
        from jaxbn.drawing.posterior import posterior_html

        return posterior_html(self)


def group_counts(found: Posterior, name: str) -> str:
    """How many groups a variable has, in words."""
    sizes = [draw.groupings[name].n_groups for draw in found.draws]
    few, many = min(sizes), max(sizes)
    return f"{few} to {many} groups" if few < many else f"{few} group{'s' * (few != 1)}"


# --- whether chains agree, as in Gelman and others, Bayesian Data Analysis (third edition, 11.4 and 11.5): chains
# are split in halves, R-hat compares the variance between the halves with that within, and the effective sample size
# sums autocorrelations over all halves up to the first negative pair (Geyer's rule).


def _in_halves(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], float, float]:
    """Each chain in two halves [2 · chains, draws // 2]; the middle draw of an odd number is left out.

    And the mean variance within the halves, and the estimate of the variance of all.
    """
    n = values.shape[1] // 2
    halves = np.concatenate([values[:, :n], values[:, values.shape[1] - n :]])
    within = float(halves.var(axis=1, ddof=1).mean())
    between = n * float(halves.mean(axis=1).var(ddof=1))
    return halves, within, (n - 1) / n * within + between / n


def r_hat(values: NDArray[np.float64]) -> float:
    """Split R-hat of some chains [chains, draws]: near 1 where they agree; NaN if nothing varies, or draws are few."""
    if values.shape[1] < 4:
        return float("nan")
    _, within, total = _in_halves(values)
    if within == 0:
        return float("nan") if total == 0 else float("inf")
    return float(np.sqrt(total / within))


def effective_size(values: NDArray[np.float64]) -> float:
    """How many independent draws the draws of some chains [chains, draws] are worth; NaN where nothing varies."""
    if values.shape[1] < 4:
        return float("nan")
    halves, within, total = _in_halves(values)
    m, n = halves.shape
    if total == 0:
        return float("nan")
    centred = halves - halves.mean(axis=1, keepdims=True)
    # padded to twice the length, so that products of the two ends do not mix in
    size = 2 ** int(np.ceil(np.log2(2 * n)))
    power = np.abs(np.fft.rfft(centred, size, axis=1)) ** 2
    covariance = np.fft.irfft(power, size, axis=1)[:, :n].mean(axis=0) / n
    correlation = 1 - (within - covariance * n / (n - 1)) / total
    correlation[0] = 1.0
    pairs = correlation[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    # in a reversible chain these sums are positive and fall (Geyer): from the first negative one on it is noise
    negative = np.flatnonzero(pairs < 0)
    pairs = np.minimum.accumulate(pairs[: negative[0]] if len(negative) else pairs)
    return float(min(m * n / max(2 * pairs.sum() - 1, 1e-12), m * n))
