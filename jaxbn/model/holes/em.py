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

from jaxbn.model.holes.elimination import Array
from jaxbn.model.holes.expected_counts import Counter
from jaxbn.model.holes.network import Network, Structure
from jaxbn.model.holes.work import Evidence
from jaxbn.runtime import limits
from jaxbn.runtime.memory import MAX_MEMORY
from jaxbn.scores.tables import posterior_means

LOG = logging.getLogger("jaxbn")
TOLERANCE = 1e-7
"""EM ends when a round raises the objective by less than this for each row, in nats."""

MAX_ROUNDS = 1000

Weight = float | Array
"""Dirichlet weight of every cell of a table, or of each."""


class EMFit(NamedTuple):
    """Tables fitted by EM.

    Attributes:
        network: the structure with its tables.
        counts: expected counts of every family under these tables.
        log_likelihood: of what was observed, under these tables.
        trace: the objective at the start and after each round, the last one that of these tables; it never falls.
        converged: False where the rounds ran out or Ctrl-C ended them.
    """

    network: Network
    counts: list[Array]
    log_likelihood: float
    trace: tuple[float, ...]
    converged: bool


def fit_by_em(
    structure: Structure,
    codes: NDArray[np.integer[Any]],
    alpha: float | Sequence[Weight] = 1.0,
    *,
    start: Network | None = None,
    evidence: Evidence | None = None,
    tolerance: float = TOLERANCE,
    max_rounds: int = MAX_ROUNDS,
    max_memory: float = MAX_MEMORY,
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
        max_memory: bytes that one array may take.

    Example:
        >>> rows = np.array([[0, 0], [1, 1], [1, -1], [-1, 0]])
        >>> found = fit_by_em(Structure(((), (0,)), (2, 2)), rows)
        >>> found.network.tables[0].round(3).tolist(), found.converged
        ([0.427, 0.573], True)
    """
    n = len(structure.sizes)
    alphas: Sequence[Weight] = [float(alpha)] * n if isinstance(alpha, int | float) else alpha
    limits.check()
    counter = Counter(structure, codes, evidence=evidence, max_memory=max_memory)
    now = start or means(structure, counter.observed_counts(), alphas)
    found: EMFit | None = None
    trace: tuple[float, ...] = ()
    with limits.ending_early() as ending:
        for _ in range(max_rounds + 1):
            counts, log_likelihood = counter.expected(now)
            trace = (*trace, log_likelihood + _log_prior(now, alphas))
            done = len(trace) > 1 and trace[-1] - trace[-2] <= tolerance * max(1, len(codes))
            found = EMFit(now, counts, log_likelihood, trace, done)
            if done:
                break
            now = means(structure, counts, alphas)
    if found is None:
        raise KeyboardInterrupt if ending.interrupted else limits.TimeIsUpError
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
