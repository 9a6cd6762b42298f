"""Tables fitted to rows with missing entries by EM, with exact expected counts.

The tables are those of ``fit``: posterior means under a Dirichlet prior, of expected counts in place of counts. A
posterior mean under Dirichlet(alpha) is the mode under Dirichlet(alpha + 1), so each round raises

    the log-likelihood of what was observed  +  sum over all cells of all tables of alpha ln P(cell),

or leaves it as it is: this objective never falls (docs/maths.md, "Missing entries").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.columns import MISSING
from jaxbn.inputs.missing import LOG
from jaxbn.model.inference.answers import observed_places
from jaxbn.model.inference.elimination import Array
from jaxbn.model.inference.network import Network, Structure
from jaxbn.model.inference.tasks import Codes, Evidence, Task, take_apart
from jaxbn.runtime import limits
from jaxbn.scores.tables import posterior_means

TOLERANCE = 1e-7  # EM ends when a round raises the objective by less than this for each row, in nats

MAX_ROUNDS = 1000

MOST_CELLS, FOR_EACH = 2**23, 2**6
"""Numbers that an E-step may sum over: so many in all, a fraction of a second, or for each missing entry."""

LONG_ROUNDS = 2**6
"""Most rounds if E-steps are that long, more if they are shorter; with few columns EM ends long before."""

Weight = float | Array
"""Dirichlet weight of every cell of a table, or of each."""


class Expected(NamedTuple):
    """Expected counts of all families, and the log-likelihood of what was observed."""

    counts: list[Array]  # [parents' states ..., own states] of each variable
    log_likelihood: float


class Counter:
    """The E-step: a table with missing entries, prepared for expected counts under one network after the other.

    `codes` are [rows, variables], -1 where missing; `evidence`, what else is known of the states of missing entries,
    may change from one network to the next. `left_out` rows would have taken too long to sum over.
    """

    def __init__(self, structure: Structure, codes: Codes, *, evidence: Evidence | None = None) -> None:
        self.tasks, self.left_out = _affordable(structure, codes, evidence or {})
        self.most_rounds = LONG_ROUNDS * _budget(codes) // max(sum(task.n_cells for task in self.tasks), 1)
        shapes = [[structure.sizes[v] for v in family] for family in structure.families]
        self.observed = [  # counts of every family over the rows that have all of it
            np.bincount(observed_places(structure, codes, child)[1], minlength=math.prod(shape)).reshape(shape)
            for child, shape in enumerate(shapes)
        ]

    def expected(self, network: Network) -> Expected:
        """The expected counts under a network, every row's missing entries by their exact posterior.

        Raises:
            ValueError: some row has probability 0 under the network, so that it has no posterior.
        """
        counts = [found.astype(np.float64) for found in self.observed]
        total = 0.0
        for found, logs in zip(self.observed, network.log_tables, strict=True):
            total += float(found[found > 0] @ logs[found > 0])  # 0 times -inf is 0
        flat = [found.reshape(-1) for found in counts]
        for task in self.tasks:
            total += self._add(network, task, flat)
        if not total > -np.inf:
            raise ValueError("a row has probability 0 under the network, so its missing entries have no posterior")
        return Expected(counts, float(total))

    def _add(self, network: Network, task: Task, counts: list[Array]) -> float:
        total = 0.0
        for part, logs, beliefs in task.beliefs(network):
            total += float(task.counts[part] @ np.broadcast_to(logs, part.stop - part.start))
            for k, step in enumerate(task.plan.steps):
                weighted = beliefs[k] * task.counts[part].reshape(-1, *[1] * len(step.scope))
                for i, child in enumerate(step.families):
                    places = task.places(k, i, part)
                    # summed over all that the family's cell does not depend on: other variables of the scope, or rows
                    beside = tuple(axis for axis in range(places.ndim) if places.shape[axis] == 1)
                    np.add.at(counts[child], places, weighted.sum(axis=beside, keepdims=True))
        return total


def _affordable(structure: Structure, codes: Codes, evidence: Evidence) -> tuple[list[Task], int]:
    """Tasks whose sums are small enough to be done together, and how many rows have others.

    A row that lacks dozens of columns that depend on each other may take more than all other rows together. It is
    summed without its barren variables, where that is enough: they say nothing of the others, and EM ends at the same
    tables without their expected counts. Else the row is left out of the tables of what it lacks.
    """
    every = list(take_apart(structure, codes, drop_barren=False, evidence=evidence))
    kept, costly = _cheapest(every, _budget(codes))
    if not len(costly):
        return kept, 0
    others = np.setdiff1d(np.flatnonzero((codes == MISSING).any(axis=1)), costly)
    kept = list(take_apart(structure, codes, drop_barren=False, evidence=evidence, rows=others))
    shorter = list(take_apart(structure, codes, drop_barren=True, evidence=evidence, rows=costly))
    short, too_costly = _cheapest(shorter, _budget(codes))
    return kept + short, len(too_costly)


def _budget(codes: Codes) -> int:
    return max(MOST_CELLS, FOR_EACH * int((codes == MISSING).sum()))


def _cheapest(tasks: list[Task], most: int) -> tuple[list[Task], NDArray[np.intp]]:
    """The tasks of fewest cells a row, up to `most` together, and the rows of all others."""
    order = np.argsort([float(task.plan.cells) for task in tasks], kind="stable")
    total = np.cumsum([float(tasks[i].n_cells) for i in order])
    costly = set(order[total > most].tolist())
    kept = [task for i, task in enumerate(tasks) if i not in costly]  # in the same order: sums keep their last digits
    return kept, np.unique(np.concatenate([np.zeros(0, np.intp), *(tasks[i].rows for i in costly)]))


def tell_left_out(n_rows: int) -> None:
    """Say that some rows do not count in the tables of what they lack."""
    if n_rows:
        LOG.warning(
            "%d rows lack so many columns that depend on each other that their sums are too large: the tables of these "
            "columns are fitted to the other rows",
            n_rows,
        )


class EMFit(NamedTuple):
    """Tables fitted by EM."""

    network: Network
    counts: list[Array]  # expected counts of every family under these tables
    log_likelihood: float  # of what was observed, under these tables
    trace: tuple[float, ...]  # the objective at the start and after each round, the last that of these tables
    converged: bool  # False where the rounds ran out or Ctrl-C ended them
    left_out: int = 0  # as in ``Counter``


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
    """Fit the tables of a structure to rows with missing entries: codes [rows, variables], -1 where missing.

    It begins with the tables of the rows that have all of a family, or with `start`, and ends when a round gains less
    than `tolerance` nats for each row. On Ctrl-C, or when the time is up, the tables of the best round so far are
    returned, if there is one.

    The Dirichlet weight `alpha` of each cell may be one for each variable's table, or for each of its cells. What else
    is known of missing entries, `evidence`, is a part of what was observed; a `counter` is of the same rows.
    """
    alphas: Sequence[Weight] = [float(alpha)] * len(structure.sizes) if isinstance(alpha, int | float) else alpha
    limits.check()
    counter = counter or Counter(structure, codes, evidence=evidence)
    now = start or means(structure, counter.observed, alphas)
    found: EMFit | None = None
    trace: tuple[float, ...] = ()
    with limits.ending_early() as ending:
        for _ in range(min(max_rounds, counter.most_rounds) + 1):
            # the E-step of these tables also gives their objective, so that a round takes one E-step
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
