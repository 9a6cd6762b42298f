"""How sure each arc is, from the resamples of a bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import networkx as nx
import pandas as pd

from jaxbn.evaluation.bootstrap_results import Bootstrap
from jaxbn.groups.grouping import Grouping
from jaxbn.inputs.table import Table
from jaxbn.model.average import AverageNet
from jaxbn.model.fit import fit
from jaxbn.model.fitted import Alpha
from jaxbn.posterior.consensus import arc_frame, arc_shares, consensus_graph

SHOWN = 12
"""Most arcs that are printed."""


@dataclass(frozen=True, eq=False, repr=False)
class ArcBootstrap(Bootstrap):
    """How sure the arcs are, with the structure learned again in each resample.

    It has the attributes of ``Bootstrap``, and these.

    Attributes:
        parents: the structure of each resample, ``{child: (parent, ...)}``.
        table: all the data, for the average.
        groupings: groups of levels of each resample.

    Example:
        >>> import jaxbn
        >>> iris = jaxbn.datasets.load("iris")
        >>> found = jaxbn.bootstrap(iris.frame, resamples=10, max_parents=1, progress=False)
        >>> sorted(found.consensus(0.8).nodes) == sorted(iris.frame.columns)
        True
    """

    parents: tuple[dict[str, tuple[str, ...]], ...]
    table: Table | None = None
    groupings: tuple[dict[str, Grouping], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All variables, in column order."""
        return tuple(self.parents[0])

    @cached_property
    def strengths(self) -> dict[tuple[str, str], float]:
        """The share of resamples that have an arc, by (parent, child): for ``net.plot`` and ``jaxbn.report``."""
        return arc_shares(self.parents)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row for each ordered pair of variables, as R bnlearn's ``boot.strength(cpdag = FALSE)`` has it.

        ``strength`` is the share of resamples with an arc between the two, in either direction; ``direction`` the share
        of those in which it points this way, 0 where there is none.
        """
        return arc_frame(self.names, self.strengths)

    @cached_property
    def average(self) -> AverageNet:
        """The average of the networks of all resamples, their tables fitted to all rows; it answers as a network does.

        Example:
            >>> import jaxbn
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
        return consensus_graph(self.names, self.frame, threshold)

    def __repr__(self) -> str:
        lines = [f"Bootstrap: {self.resamples} resamples, structure and cuts learned in each"]
        arcs = self.frame[self.frame["direction"] > 0.5].sort_values("strength", ascending=False, kind="stable")
        for row in arcs.head(SHOWN).to_dict("records"):
            text = f"strength {row['strength']:.2f}, direction {row['direction']:.2f}"
            lines.append(f"  {row['from']} -> {row['to']}  {text}")
        if len(arcs) > SHOWN:
            lines.append(f"  and {len(arcs) - SHOWN} more, see .frame")
        lines += [f"  {name}: bins {self._bins_in_words(name)}" for name in self.binnings]
        return "\n".join(lines)
