"""The posterior of every missing entry by itself, given what its row has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.model.holes.elimination import LOG_SUMS, Array, beliefs_of, eliminate
from jaxbn.model.holes.network import Network
from jaxbn.model.holes.work import Work, take_apart
from jaxbn.runtime.memory import MAX_MEMORY


class Marginal(NamedTuple):
    """The posterior of one variable in some rows that lack it."""

    variable: int
    rows: NDArray[np.intp]  # [n]
    where: NDArray[np.intp]  # [n], which of the distinct posteriors each row has
    chances: Array  # [U, K]


def marginals(
    network: Network, codes: NDArray[np.integer[Any]], *, max_memory: float = MAX_MEMORY
) -> Iterator[Marginal]:
    """P(entry | what its row has) of all missing entries, exactly; every missing entry is in one of the answers.

    Args:
        network: parents and tables.
        codes: [rows, variables], -1 where missing.
        max_memory: bytes that one array may take.

    Example:
        >>> from jaxbn.model.holes.network import network
        >>> net = network([(), (0,)], [[0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]]])
        >>> next(marginals(net, np.array([[-1, 1]]))).chances.round(3).tolist()
        [[0.111, 0.889]]
    """
    works = take_apart(network.structure, codes, drop_barren=False, max_memory=max_memory)
    return marginals_of(network, works, max_memory=max_memory)


def marginals_of(network: Network, works: Iterable[Work], *, max_memory: float = MAX_MEMORY) -> Iterator[Marginal]:
    """The same of a table that has been taken apart, without leaving out barren variables."""
    for work in works:
        for task in work.tasks:
            steps = task.plan.steps
            chances = [np.empty((task.n_distinct, network.structure.sizes[step.variable])) for step in steps]
            for part in task.chunks(max_memory):
                found = eliminate(task.plan, task.factors(network, part), LOG_SUMS)
                for mine, belief in zip(chances, beliefs_of(task.plan, found), strict=True):
                    mine[part] = belief.reshape(len(belief), -1, belief.shape[-1]).sum(axis=1)
            for step, mine in zip(steps, chances, strict=True):
                yield Marginal(step.variable, work.start + task.rows, task.where, mine)


def by_column(found: Iterable[Marginal], absent: NDArray[np.bool_], sizes: Mapping[int, int]) -> dict[int, Array]:
    """The posteriors of some columns where they are missing, in the order of rows, [holes, K] each.

    Args:
        found: the marginals of a table.
        absent: [rows, variables], which of its entries are missing.
        sizes: K of the columns that are asked about.
    """
    place = np.cumsum(absent, axis=0) - 1  # of a row among those that lack the column
    chances = {variable: np.zeros((int(absent[:, variable].sum()), size)) for variable, size in sizes.items()}
    for variable, rows, where, distinct in found:
        if variable in chances:
            chances[variable][place[rows, variable]] = distinct[where]
    return chances
