"""The strongest links of a network, and how the two variables depend on each other, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.drawing.chances import Chances
from jaxbn.model.effects import mutual_information
from jaxbn.model.words import is_cut, state_texts

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet

MOST_ARCS = 100
"""Arcs that are looked at; in larger networks it would take too long."""


class Link(NamedTuple):
    """An arc, its mutual information in nats, and what it says."""

    parent: str
    child: str
    nats: float
    words: str


def strongest(net: BayesNet, chances_of: Chances) -> list[Link]:
    """The links of a network, those first whose variables tell most about each other.

    Example:
        >>> import jaxbn
        >>> from jaxbn.drawing.chances import chances_of
        >>> data = {"kind": ["a", "a", "b", "b"] * 9, "size": [1.0, 2.0, 7.0, 9.0] * 9}
        >>> net = jaxbn.fit(data, {"size": ["kind"]}, {"size": [4.5]})
        >>> [link.words for link in strongest(net, chances_of(net))]
        ['with kind a, size is below 4.5 in 95% (50% overall)']
    """
    found = []
    for parent, child in net.arcs[:MOST_ARCS]:
        chances = chances_of([parent, child])
        found.append(Link(parent, child, mutual_information(chances), _words(net, parent, child, chances)))
    return sorted(found, key=lambda link: -link.nats)


def most_linked(found: Sequence[Link]) -> str | None:
    """The variable whose links tell most together."""
    total: Counter[str] = Counter()
    for link in found:
        total[link.parent] += link.nats  # type: ignore[assignment]
        total[link.child] += link.nats  # type: ignore[assignment]
    return total.most_common(1)[0][0] if total else None


def _words(net: BayesNet, parent: str, child: str, chances: NDArray[np.float64]) -> str:
    if all(name in net.binnings and is_cut(net, name) for name in (parent, child)):
        rank = _rank_correlation(chances)
        if abs(rank) >= 0.3:
            return f"higher {parent}, {'higher' if rank > 0 else 'lower'} {child} (rank correlation {rank:.2f})"
    overall = chances.sum(axis=0)
    gain = chances * np.log(np.maximum(chances, 1e-300) / np.outer(chances.sum(axis=1), overall).clip(1e-300))
    i, k = np.unravel_index(int(gain.argmax()), gain.shape)
    given = chances[i, k] / chances[i].sum()
    states = [state_texts(net, name)[code] for name, code in ((parent, i), (child, k))]
    return f"with {parent} {states[0]}, {child} is {states[1]} in {given:.0%} ({overall[k]:.0%} overall)"


def _rank_correlation(chances: NDArray[np.float64]) -> float:
    """Spearman's correlation of two variables whose states are in order, ties in the middle of their ranks."""
    ranks = [np.cumsum(margin) - margin / 2 for margin in (chances.sum(axis=1), chances.sum(axis=0))]
    across, up = (rank - 0.5 for rank in ranks)
    spread = np.sqrt((chances.sum(axis=1) @ across**2) * (chances.sum(axis=0) @ up**2))
    return float(across @ chances @ up / spread) if spread > 0 else 0.0
