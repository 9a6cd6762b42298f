"""Random fitted networks, and their joint distribution written out cell by cell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.binning import Binning
from jaxbn.model.bayesnet import BayesNet


def random_network(seed: int, *, most: int = 7, names: list[str] | None = None) -> BayesNet:
    """Up to ``most`` variables in a hidden order, up to 3 parents, 1 to 4 states, about half of them continuous."""
    rng = np.random.default_rng(seed)
    n = len(names) if names is not None else int(rng.integers(2, most + 1))
    names = names if names is not None else [f"v{i}" for i in range(n)]
    order = rng.permutation(n).tolist()
    parents: dict[str, tuple[str, ...]] = {}
    for i, name in enumerate(names):
        before = rng.permutation(order[: order.index(i)]).astype(int)
        parents[name] = tuple(names[j] for j in before[: int(rng.integers(0, 4))])
    binnings, levels, bounds = {}, {}, {}
    for name in names:
        states = int(rng.integers(1 if rng.random() < 0.2 else 2, 5))
        if rng.random() < 0.5:
            cuts = np.sort(rng.normal(size=states + 1))
            binnings[name] = Binning(cuts[1:-1], cost=float(rng.normal()))
            bounds[name] = (float(cuts[0]), float(cuts[-1]))
        else:
            kinds = [tuple("abcd"), (1, 2, 3, 4), (0.5, 1.5, 2.5, 3.5), ("x y", "x-y", "é", '"')]
            levels[name] = kinds[int(rng.integers(4))][:states]
    cards = {v: binnings[v].n_bins if v in binnings else len(levels[v]) for v in names}
    tables = {v: rng.dirichlet(np.ones(cards[v]), size=[cards[p] for p in parents[v]]) for v in names}
    return BayesNet(parents, binnings, levels, tables, bounds)


def full_joint(net: BayesNet) -> NDArray[np.float64]:
    """P of every combination of states, one axis a variable, by multiplying the tables entry by entry."""
    shape = [net.cardinalities[name] for name in net.names]
    result = np.empty(shape)
    for cell in np.ndindex(*shape):
        state = dict(zip(net.names, cell, strict=True))
        result[cell] = np.prod([net.tables[v][tuple(state[u] for u in (*net.parents[v], v))] for v in net.names])
    return result


def representative(net: BayesNet, name: str, code: int) -> object:
    """A value in original units with the given code."""
    if name in net.levels:
        return net.levels[name][code]
    edges = net.bin_edges(name)
    return float(edges[code] + edges[code + 1]) / 2
