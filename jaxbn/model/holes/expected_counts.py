"""How often each cell of each family occurs, in expectation over the missing entries: the E-step of EM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.model.holes.answers import observed_places
from jaxbn.model.holes.elimination import LOG_SUMS, Array, beliefs_of, eliminate
from jaxbn.model.holes.network import Network, Structure
from jaxbn.model.holes.work import Evidence, Task, take_apart
from jaxbn.runtime.memory import MAX_MEMORY

Codes = NDArray[np.integer[Any]]


class Expected(NamedTuple):
    """Expected counts of all families, and the log-likelihood of what was observed."""

    counts: list[Array]  # [parents' states ..., own states] of each variable
    log_likelihood: float


class Counter:
    """A table with missing entries, prepared for expected counts under one network after the other.

    Args:
        structure: parents and numbers of states.
        codes: [rows, variables], -1 where missing.
        evidence: what else is known of the states of missing entries; it may change from one network to the next.
        max_memory: bytes that one array may take.

    Example:
        >>> from jaxbn.model.holes.network import network
        >>> net = network([(), (0,)], [[0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]]])
        >>> counter = Counter(net.structure, np.array([[0, 1], [-1, 1]]))
        >>> counter.expected(net).counts[0].round(4).tolist()
        [1.1111, 0.8889]
    """

    def __init__(
        self,
        structure: Structure,
        codes: Codes,
        *,
        evidence: Evidence | None = None,
        max_memory: float = MAX_MEMORY,
    ) -> None:
        self.structure = structure
        self.max_memory = max_memory
        self.evidence = evidence or {}
        self.work = list(take_apart(structure, codes, drop_barren=False, evidence=evidence, max_memory=max_memory))
        self.observed = [_observed_counts(structure, codes, child) for child in range(len(structure.sizes))]

    def expected(self, network: Network) -> Expected:
        """The expected counts under a network, every row's missing entries by their exact posterior.

        Raises:
            ValueError: some row has probability 0 under the network, so that it has no posterior.
        """
        counts = [found.astype(np.float64) for found in self.observed]
        total = sum(_weighted(found, logs) for found, logs in zip(self.observed, network.log_tables, strict=True))
        for task in (task for work in self.work for task in work.tasks):
            total += self._add(network, task, counts)
        if not total > -np.inf:
            raise ValueError("a row has probability 0 under the network, so its missing entries have no posterior")
        return Expected(self._shaped(counts), float(total))

    def observed_counts(self) -> list[NDArray[Any]]:
        """Counts of every family over the rows that have all of it."""
        return self._shaped(self.observed)

    def _shaped(self, counts: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        sizes = self.structure.sizes
        shapes = [[sizes[v] for v in family] for family in self.structure.families]
        return [found.reshape(shape) for found, shape in zip(counts, shapes, strict=True)]

    def _add(self, network: Network, task: Task, counts: list[Array]) -> float:
        total = 0.0
        for part in task.chunks(self.max_memory):
            found = eliminate(task.plan, task.factors(network, part), LOG_SUMS)
            total += float(task.counts[part] @ np.broadcast_to(found.totals[-1], part.stop - part.start))
            beliefs = beliefs_of(task.plan, found)
            for k, step in enumerate(task.plan.steps):
                weighted = beliefs[k] * task.counts[part].reshape(-1, *[1] * len(step.scope))
                for i, child in enumerate(step.families):
                    places = task.places(k, i, part)
                    beside = tuple(axis for axis in range(places.ndim) if places.shape[axis] == 1)
                    np.add.at(counts[child], places, weighted.sum(axis=beside, keepdims=True))
        return total


def expected_counts(network: Network, codes: Codes, *, max_memory: float = MAX_MEMORY) -> Expected:
    """Expected counts of all families and the log-likelihood of what was observed, see ``Counter``."""
    return Counter(network.structure, codes, max_memory=max_memory).expected(network)


def _observed_counts(structure: Structure, codes: Codes, child: int) -> NDArray[np.int64]:
    """Counts of a family over the rows that have all of it, flat."""
    _, places = observed_places(structure, codes, child)
    n_cells = structure.strides[child][0] * structure.sizes[structure.families[child][0]]
    return np.bincount(places, minlength=n_cells)


def _weighted(counts: NDArray[np.int64], logs: Array) -> float:
    """Sum of counts times logs, where 0 times -inf is 0."""
    seen = counts > 0
    return float(counts[seen] @ logs.ravel()[seen])
