"""What many networks agree on: arcs, one graph of them, and numbers of bins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import networkx as nx
import pandas as pd

from jaxbn.cuts.binning import Binning
from jaxbn.inputs import checks
from jaxbn.inputs.graph import Parents


def arc_shares(structures: Sequence[Parents]) -> dict[tuple[str, str], float]:
    """The share of networks that have an arc, by (parent, child), the largest first.

    Example:
        >>> arc_shares([{"a": (), "b": ("a",)}, {"a": (), "b": ()}])
        {('a', 'b'): 0.5}
    """
    counts = Counter((p, child) for found in structures for child, ps in found.items() for p in ps)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item))
    return {arc: count / len(structures) for arc, count in ordered}


def arc_frame(names: Sequence[str], shares: Mapping[tuple[str, str], float]) -> pd.DataFrame:
    """A row for each ordered pair: the share with an arc in either direction, and of those the share this way."""
    rows = []
    for parent in names:
        for child in names:
            if parent != child:
                this, other = shares.get((parent, child), 0.0), shares.get((child, parent), 0.0)
                rows.append((parent, child, this + other, this / (this + other) if this + other else 0.0))
    return pd.DataFrame(rows, columns=["from", "to", "strength", "direction"])


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
    return ", ".join(words[:4]) + ", ..." * (len(words) > 4)


def consensus_graph(names: Iterable[str], frame: pd.DataFrame, threshold: float) -> nx.DiGraph:
    """The arcs whose strength is above the threshold and whose direction is above a half.

    Where such arcs form a cycle the weakest of it is left out: they are added from the strongest to the weakest (of
    equal strength the one with the clearer direction first, then in column order), and one that would close a cycle
    is not.
    """
    if not isinstance(threshold, int | float) or isinstance(threshold, bool) or not 0 <= threshold <= 1:
        raise checks.ArgumentError("threshold", f"must be a number from 0 to 1, got {threshold!r}", value=threshold)
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    clear = frame[(frame["strength"] > threshold) & (frame["direction"] > 0.5)]
    for row in clear.sort_values(["strength", "direction"], ascending=False, kind="stable").to_dict("records"):
        if not nx.has_path(graph, row["to"], row["from"]):
            graph.add_edge(row["from"], row["to"], strength=row["strength"], direction=row["direction"])
    return graph
