"""How sure each arc is, from the resamples of a bootstrap."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import networkx as nx
import pandas as pd

from jaxbn.evaluation.bootstrap_results import Bootstrap
from jaxbn.inputs import checks

if TYPE_CHECKING:
    pass

SHOWN = 12
"""Most arcs that are printed."""


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
