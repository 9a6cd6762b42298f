"""Tables fitted to rows with missing entries by EM, with exact expected counts.

The tables are those of ``fit``: posterior means under a Dirichlet prior, of expected counts in place of counts. A
posterior mean under Dirichlet(alpha) is the mode under Dirichlet(alpha + 1), so each round raises

    the log-likelihood of what was observed  +  sum over all cells of all tables of alpha ln P(cell),

or leaves it as it is: this objective never falls (docs/maths.md, "Missing entries").
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.model.inference.answers import observed_places
from jaxbn.model.inference.elimination import LOG_SUMS, Array, beliefs_of
from jaxbn.model.inference.network import Network, Structure
from jaxbn.model.inference.tasks import Codes, Evidence, Task, take_apart
from jaxbn.runtime import limits
from jaxbn.scores.tables import posterior_means

LOG = logging.getLogger("jaxbn")
TOLERANCE = 1e-7
"""EM ends when a round raises the objective by less than this for each row, in nats."""

MAX_ROUNDS = 1000

MOST_CELLS = 2**25
"""Numbers that an E-step may sum over, all rows together: about a second."""

ALL_CELLS = 2**31
"""Numbers that all rounds may sum over; then the tables are those so far. Few columns never come near it."""

Weight = float | Array
"""Dirichlet weight of every cell of a table, or of each."""


class Expected(NamedTuple):
    """Expected counts of all families, and the log-likelihood of what was observed."""

    counts: list[Array]  # [parents' states ..., own states] of each variable
    log_likelihood: float


class Counter:
    """The E-step: a table with missing entries, prepared for expected counts under one network after the other.

    `codes` are [rows, variables], -1 where missing; `evidence`, what else is known of the states of missing entries,
    may change from one network to the next.

    Example:
        >>> from jaxbn.model.inference.network import network
        >>> net = network([(), (0,)], [[0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]]])
        >>> counter = Counter(net.structure, np.array([[0, 1], [-1, 1]]))
        >>> counter.expected(net).counts[0].round(4).tolist()
        [1.1111, 0.8889]
    """

    def __init__(self, structure: Structure, codes: Codes, *, evidence: Evidence | None = None) -> None:
        self.structure, self.evidence = structure, evidence or {}
        # with barren variables: they say nothing of the others, but their own families have expected counts too
        tasks = list(take_apart(structure, codes, drop_barren=False, evidence=evidence))
        self.tasks, self.left_out = _affordable(tasks)
        self.n_cells = sum(task.n_cells for task in self.tasks)
        self._shapes = [[structure.sizes[v] for v in family] for family in structure.families]
        self.observed = [
            np.bincount(observed_places(structure, codes, child)[1], minlength=int(np.prod(shape)))
            for child, shape in enumerate(self._shapes)
        ]

    def expected(self, network: Network) -> Expected:
        """The expected counts under a network, every row's missing entries by their exact posterior.

        Raises:
            ValueError: some row has probability 0 under the network, so that it has no posterior.
        """
        counts = [found.astype(np.float64) for found in self.observed]
        total = 0.0
        for found, logs in zip(self.observed, network.log_tables, strict=True):
            total += float(found[found > 0] @ logs.ravel()[found > 0])  # 0 times -inf is 0
        for task in self.tasks:
            total += self._add(network, task, counts)
        if not total > -np.inf:
            raise ValueError("a row has probability 0 under the network, so its missing entries have no posterior")
        return Expected(self._shaped(counts), float(total))

    def observed_counts(self) -> list[NDArray[Any]]:
        """Counts of every family over the rows that have all of it."""
        return self._shaped(self.observed)

    def _shaped(self, counts: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        return [found.reshape(shape) for found, shape in zip(counts, self._shapes, strict=True)]

    def _add(self, network: Network, task: Task, counts: list[Array]) -> float:
        total = 0.0
        for part, found in task.eliminated(network, LOG_SUMS):
            # a component is connected: its last step is its only root, and what it leaves is the log of the whole sum
            total += float(task.counts[part] @ np.broadcast_to(found.totals[-1], part.stop - part.start))
            beliefs = beliefs_of(task.plan, found)
            for k, step in enumerate(task.plan.steps):
                weighted = beliefs[k] * task.counts[part].reshape(-1, *[1] * len(step.scope))
                for i, child in enumerate(step.families):
                    places = task.places(k, i, part)
                    # summed over all that the family's cell does not depend on: other variables of the scope, or rows
                    beside = tuple(axis for axis in range(places.ndim) if places.shape[axis] == 1)
                    np.add.at(counts[child], places, weighted.sum(axis=beside, keepdims=True))
        return total


def _affordable(tasks: list[Task]) -> tuple[list[Task], int]:
    """The tasks whose sums are small enough to be done together, and how many rows the others have.

    A row that lacks dozens of columns that depend on each other may take more than all other rows together. The
    families of such entries are counted in the other rows alone; the objective is that of what is left, so it still
    never falls.
    """
    order = np.argsort([task.plan.cells for task in tasks], kind="stable")
    total = np.cumsum([float(tasks[i].n_cells) for i in order])
    dear = set(order[total > MOST_CELLS].tolist())
    kept = [task for i, task in enumerate(tasks) if i not in dear]  # in the same order: sums keep their last digits
    return kept, sum(len(tasks[i].rows) for i in dear)


def expected_counts(network: Network, codes: Codes) -> Expected:
    """Expected counts of all families and the log-likelihood of what was observed, see ``Counter``."""
    return Counter(network.structure, codes).expected(network)


class EMFit(NamedTuple):
    """Tables fitted by EM."""

    network: Network
    counts: list[Array]  # expected counts of every family under these tables
    log_likelihood: float  # of what was observed, under these tables
    trace: tuple[float, ...]  # the objective at the start and after each round, the last that of these tables
    converged: bool  # False where the rounds ran out or Ctrl-C ended them
    left_out: int = 0  # rows with entries that would have taken too long to sum over


def fit_by_em(
    structure: Structure,
    codes: Codes,
    alpha: float | Sequence[Weight] = 1.0,
    *,
    start: Network | None = None,
    evidence: Evidence | None = None,
    tolerance: float = TOLERANCE,
    max_rounds: int = MAX_ROUNDS,
    counter: Counter | None = None,
) -> EMFit:
    """Fit the tables of a structure to rows with missing entries.

    On Ctrl-C, or when the time is up, the tables of the best round so far are returned, if there is one.

    Args:
        structure: parents and numbers of states.
        codes: [rows, variables], -1 where missing.
        alpha: Dirichlet weight of each cell, or one for each variable's table, or for each of its cells.
        start: tables to start from; by default those of the rows that have all of a family.
        evidence: what else is known of the states of missing entries; it is a part of what was observed.
        tolerance: ends when a round gains less than this for each row, in nats.
        max_rounds: ends after this many rounds.
        counter: of the same structure, codes and evidence, if there is one already.

    Example:
        >>> rows = np.array([[0, 0], [1, 1], [1, -1], [-1, 0]])
        >>> found = fit_by_em(Structure(((), (0,)), (2, 2)), rows)
        >>> found.network.tables[0].round(3).tolist(), found.converged
        ([0.427, 0.573], True)
    """
    n = len(structure.sizes)
    alphas: Sequence[Weight] = [float(alpha)] * n if isinstance(alpha, int | float) else alpha
    limits.check()
    counter = counter or Counter(structure, codes, evidence=evidence)
    now = start or means(structure, counter.observed_counts(), alphas)
    found: EMFit | None = None
    trace: tuple[float, ...] = ()
    with limits.ending_early() as ending:
        for _ in range(min(max_rounds, ALL_CELLS // max(counter.n_cells, 1)) + 1):
            # the E-step of these tables also tells their objective, so that a round takes one E-step
            counts, log_likelihood = counter.expected(now)
            trace = (*trace, log_likelihood + _log_prior(now, alphas))
            done = len(trace) > 1 and trace[-1] - trace[-2] <= tolerance * max(1, len(codes))
            found = EMFit(now, counts, log_likelihood, trace, done, counter.left_out)
            if done:
                break
            now = means(structure, counts, alphas)
    if found is None:
        ending.reraise()
    if ending.early:
        LOG.warning("ended early: the tables are those after %d rounds of EM", len(found.trace) - 1)
    return found


def means(structure: Structure, counts: Sequence[NDArray[Any]], alphas: Sequence[Weight]) -> Network:
    """The tables that are the posterior means of counts."""
    tables = [posterior_means(found, alpha) for found, alpha in zip(counts, alphas, strict=True)]
    return Network(structure, tuple(tables))


def _log_prior(network: Network, alphas: Sequence[Weight]) -> float:
    logs = zip(alphas, network.log_tables, strict=True)
    return float(sum((alpha * found).sum() for alpha, found in logs if np.any(alpha)))
