"""What a network says of rows with missing entries: their likelihood, posteriors, and how to fill them.

Shapes: B rows, V variables, K states of a variable; of one task n rows, U distinct ones. Everywhere rows are codes
[B, V], -1 where an entry is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.columns import MISSING
from jaxbn.model.inference.elimination import LOG_MAXIMA, LOG_SUMS, Arithmetic, Array, Choice
from jaxbn.model.inference.network import Network, Structure, draw_states
from jaxbn.model.inference.tasks import Codes, Evidence, Task, take_apart


def log_likelihood(network: Network, codes: Codes) -> Array:
    """Log P(what each row has), the missing entries summed out exactly, [B]."""
    result = np.zeros(len(codes))
    for child in range(len(network.tables)):
        rows, places = observed_places(network.structure, codes, child)
        result[rows] += network.log_tables[child].take(places)
    for task in take_apart(network.structure, codes, drop_barren=True):
        sums = np.concatenate([done.totals[-1] for _, done in task.eliminated(network, LOG_SUMS)])
        result[task.rows] += sums[task.where]
    return result


def observed_places(
    structure: Structure, codes: Codes, child: int
) -> tuple[NDArray[np.intp] | slice, NDArray[np.int64]]:
    """The rows in which a whole family is observed, and the place of each in its flat table."""
    family, strides = structure.families[child], structure.strides[child]
    places = np.zeros(len(codes), np.int64)
    gone = np.zeros(len(codes), bool)
    for v, stride in zip(family, strides, strict=True):
        column = codes[:, v]
        places += column * np.int64(stride)
        gone |= column == MISSING
    if not gone.any():
        return slice(None), places
    rows = np.flatnonzero(~gone)
    return rows, places[rows]


def log_posterior(network: Network, codes: Codes, target: int, *, evidence: Evidence | None = None) -> Array:
    """Log P(target, what each row has of the others), up to a constant for each row, [B, K].

    The codes of the target are not looked at; `evidence` is what else is known of the states of missing entries.
    """
    result = np.zeros((len(codes), network.structure.sizes[target]))
    for task in take_apart(network.structure, codes, drop_barren=True, target=target, evidence=evidence):
        logs = np.concatenate([done.products[-1] for _, done in task.eliminated(network, LOG_SUMS)])
        result[task.rows] = logs[task.where]
    return result


def marginals(
    network: Network, codes: Codes, *, tasks: Iterable[Task] | None = None
) -> Iterator[tuple[int, NDArray[np.intp], NDArray[np.intp], Array]]:
    """P(entry | what its row has) of all missing entries, exactly; every missing entry is in one of the answers.

    Of a variable, rows that lack it [n], which of the distinct posteriors each of them has [n], and these, [U, K].
    `tasks` are those of the table, without leaving out barren variables, if it has been taken apart before.
    """
    for task in take_apart(network.structure, codes, drop_barren=False) if tasks is None else tasks:
        steps = task.plan.steps
        chances = [np.empty((task.n_distinct, network.structure.sizes[step.variable])) for step in steps]
        for part, _, beliefs in task.beliefs(network):
            for mine, belief in zip(chances, beliefs, strict=True):
                mine[part] = belief.reshape(len(belief), -1, belief.shape[-1]).sum(axis=1)
        for step, mine in zip(steps, chances, strict=True):
            yield step.variable, task.rows, task.where, mine


def posteriors(
    network: Network, codes: Codes, variables: Iterable[int], *, tasks: Iterable[Task] | None = None,
) -> dict[int, Array]:  # fmt: skip
    """The posteriors of some variables where they are missing, in the order of rows, [holes, K] each."""
    absent = codes == MISSING
    place = np.cumsum(absent, axis=0) - 1  # of a row among those that lack the column
    found = {v: np.zeros((int(absent[:, v].sum()), network.structure.sizes[v])) for v in variables}
    for variable, rows, where, distinct in marginals(network, codes, tasks=tasks):
        if variable in found:
            found[variable][place[rows, variable]] = distinct[where]
    return found


def draw_completions(network: Network, codes: Codes, seed: int | np.random.Generator = 0) -> Codes:
    """Rows with their missing entries drawn from the exact joint posterior given what each row has.

    A row's draw depends on the seed and on the place of its missing entries among all of them, not on how rows are
    worked off together.
    """
    result = codes.copy()
    absent = codes == MISSING
    chances = np.zeros(codes.shape)
    chances[absent] = np.random.default_rng(seed).random(int(absent.sum()))

    def draw(logs: Array, variable: int, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        peak = logs.max(axis=1, keepdims=True)
        return draw_states(np.exp(logs - np.where(peak > -np.inf, peak, 0.0)), chances[rows, variable])

    for task in take_apart(network.structure, codes, drop_barren=True):
        _fill(network, task, result, LOG_SUMS, draw)
    for variable in network.structure.order:  # what is left has no observed descendant: drawn forwards, parents first
        rows = np.flatnonzero(result[:, variable] == MISSING)
        family = [result[rows, parent] for parent in network.structure.parents[variable]]
        table = network.tables[variable][tuple(family)]  # [n, K], or [K] without parents
        result[rows, variable] = draw_states(np.atleast_2d(table), chances[rows, variable])
    return result


def most_probable_completions(network: Network, codes: Codes) -> Codes:
    """Rows with their missing entries set to the states that are most probable together, given what each row has."""
    result = codes.copy()
    # barren variables stay: tables sum to 1, but their maxima are not 1
    for task in take_apart(network.structure, codes, drop_barren=False):
        _fill(network, task, result, LOG_MAXIMA, lambda logs, _variable, _rows: logs.argmax(axis=1))
    return result


def _fill(network: Network, task: Task, result: Codes, arithmetic: Arithmetic, choose: Choice) -> None:
    """Choose the hidden variables of a task's rows."""
    for part, found in task.eliminated(network, arithmetic):
        mine = task.members(part)
        found.choose_backwards(result, task.rows[mine], task.where[mine] - part.start, choose)
