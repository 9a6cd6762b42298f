"""The exact posterior of the cuts of one variable given its Markov blanket: sums over all ways to cut it.

They say how probable each number of bins is and each cut, and all cuts are drawn together from them. The price of an
interval at which the sums are made is free: whatever it is, the result is the same. It should be near the slope of the
charge at the probable numbers of bins, so that these do not underflow (docs/maths.md, "Sums over all cuts").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jaxbn.cuts.binning import Binning
from jaxbn.cuts.discretize_variable import Request, variable_request
from jaxbn.cuts.evidence import choice_cost, evidence_problem
from jaxbn.cuts.grouped_rows import GroupedRows
from jaxbn.cuts.interval_costs import CostMatrix, cost_matrices
from jaxbn.cuts.sorted_values import Ordered
from jaxbn.inputs import checks
from jaxbn.kernels.cut_sums import LOG_NEGLIGIBLE, Walk, boundary_chances, draw_boundaries, walk_back
from jaxbn.runtime import limits
from jaxbn.runtime.devices import double, on_host
from jaxbn.runtime.shapes import FEW_POSITIONS, bucket

ROOM = 64  # room for bins at first; four times as many where that is not enough
SIZE_STEP = 128  # walks have room for a multiple of so many groups, up to four times as many; beyond, sizes double
TOO_RARE = -200.0  # log of the chance of a number of bins at the price, below which another price is taken
MOST_TRIES = 8  # prices that are tried for a chance that is not so rare
LEAP = 500.0  # how much further the log of a chance may move at once: less than from where it underflows to `TOO_RARE`
BINS_EXPECTED = 4  # the number of bins whose price is taken where no number is known to be probable


@dataclass(frozen=True, eq=False, repr=False)
class CutPosterior:
    """How probable each cut of a variable is, and each number of bins.

    Attributes:
        log_evidence: log of the sum over all binnings of exp(-cost), the evidence with the cuts summed out.
        cuts: where the variable may be cut, float64 [P - 1].
        chances: probability of a cut there, float64 [P - 1].
        bins: probability of 1, 2, … bins, float64 [P].
        exact: whether cuts may lie between any two neighbouring values; False on a grid.

    Example:
        >>> found = jaxbn.cut_posterior([0.1, 0.2, 0.3, 0.7, 0.8, 0.9] * 5, parents=[[0, 0, 0, 1, 1, 1] * 5])
        >>> found.cuts.round(2).tolist(), found.chances.round(2).tolist()
        ([0.15, 0.25, 0.5, 0.75, 0.85], [0.03, 0.03, 1.0, 0.03, 0.03])
    """

    log_evidence: float
    cuts: NDArray[np.float64]
    chances: NDArray[np.float64]
    bins: NDArray[np.float64]
    exact: bool
    _sums: CutSums = field(repr=False)
    _ordered: Ordered = field(repr=False)

    @property
    def expected_bins(self) -> float:
        """The mean number of bins."""
        return float(self.bins @ np.arange(1, len(self.bins) + 1))

    def sample(self, n: int, seed: int | np.random.Generator = 0) -> list[Binning]:
        """Policies drawn from their exact posterior, independently of each other.

        Args:
            n: how many.
            seed: of the random numbers, or their generator.

        Example:
            >>> found = jaxbn.cut_posterior([0.1, 0.2, 0.8, 0.9] * 10, parents=[[0, 0, 1, 1] * 10])
            >>> [bool(0.5 in binning.cuts.round(9)) for binning in found.sample(3)]
            [True, True, True]
        """
        ranks = self._sums.draw(np.random.default_rng(seed), checks.at_least("n", n, 1))
        values = self._ordered.values
        edges = [self._ordered.edges(each) for each in ranks]
        return [Binning(each, lower=float(values[0]), upper=float(values[-1]), method="draw") for each in edges]

    def __repr__(self) -> str:
        where = "" if self.exact else f" on a grid of {len(self.cuts)} positions"
        return f"CutPosterior: {self.expected_bins:.1f} bins expected{where}, log evidence {self.log_evidence:.2f}"


@limits.within()
def cut_posterior(
    values: ArrayLike,
    parents: Sequence[ArrayLike] = (),
    children: Sequence[tuple[ArrayLike, Sequence[ArrayLike]]] = (),
    *,
    weights: ArrayLike | None = None,
    min_width: float | None = None,
    shape: Literal["auto", "flat"] | None = None,
    grid: int | None = FEW_POSITIONS,
) -> CutPosterior:
    """The posterior of all cuts of one continuous variable, given its Markov blanket, under ``method="evidence"``.

    What ``jaxbn.discretize_variable`` takes the best of is summed here: exactly, over every set of cuts.

    Args:
        values: the variable, floats [n].
        parents: codes of each parent, non-negative integers [n].
        children: for each child its codes [n] and the codes of its other parents, ``(codes, (spouse, ...))``.
        weights: how often each row counts, non-negative integers [n]; all one if not given.
        min_width: the smallest width of a bin; no limit if not given.
        shape: how values are distributed inside bins, see ``jaxbn.discretize_variable``; the one of which all cuts
            together have the higher evidence.
        grid: with more distinct values than this, only this many positions are looked at, evenly spaced among the gaps,
            and the prior is over these. At most 2,048.

    Example:
        >>> import numpy as np
        >>> x = np.random.default_rng(0).random(100)
        >>> found = jaxbn.cut_posterior(x, parents=[(x > 0.4).astype(int)])
        >>> round(float(found.cuts[found.chances.argmax()]), 1)
        0.4
    """
    request = variable_request(
        values, parents, children, method="evidence", weights=weights, min_width=min_width, shape=shape
    )
    most = FEW_POSITIONS if grid is None else checks.at_least("grid", grid, 2)
    if most > FEW_POSITIONS:
        raise checks.ArgumentError("grid", f"must be at most {FEW_POSITIONS}, got {grid}", value=grid)
    every = [request._replace(shapes=(shape,)) for shape in request.shapes] or [request]
    found = sum_over_cuts([choice_of(each, most) for each in every])
    sums, ordered = max(found, key=lambda each: each.log_evidence), request.ordered
    groups = sums.choice.groups
    cuts, exact = ordered.edges(groups.positions[1:-1] - 1), groups.n == ordered.n_distinct
    return CutPosterior(sums.log_evidence, cuts, sums.cut_chances(), sums.bin_chances, exact, sums, ordered)


# --- the sums


class Choice(NamedTuple):
    """A variable to cut anywhere among some positions: what a number of bins costs, and a constant."""

    groups: GroupedRows
    charge: NDArray[np.float64]  # [P], of 1, 2, … bins; +inf for a number that is not allowed
    constant: float  # added to the cost of each partition

    def slope(self, n_bins: int) -> float:
        """What one more bin is charged."""
        allowed = int(np.isfinite(self.charge).sum())
        k = min(max(n_bins, 1), allowed - 1)
        return float(self.charge[k] - self.charge[k - 1]) if k else 0.0


def choice_of(request: Request, grid: int | None, most_bins: int | None = None) -> Choice:
    """All cuts of a variable by their evidence; with more gaps than the grid, those at that many positions.

    On a grid the prior is over its positions: each stands for its neighbours that are left out.
    """
    problem = evidence_problem(
        request.ordered, request.factors, request.weights, request.min_width, shape=next(iter(request.shapes), None)
    )
    groups = GroupedRows(problem.rows, problem.rows.positions(grid))
    n, m = groups.n, request.ordered.n_distinct
    charge = problem.charge[:n]
    if n < m:
        k = np.arange(1, n + 1)
        charge = charge - choice_cost(m, k) + choice_cost(n, k)
    if most_bins is not None and most_bins < n:
        charge = np.where(np.arange(1, n + 1) <= most_bins, charge, np.inf)
    return Choice(groups, charge, problem.constant)


@dataclass(frozen=True)
class CutSums:
    """The sums over all partitions of one variable."""

    choice: Choice
    price: float
    walk: Walk  # on the device
    log_bins: NDArray[np.float64]  # [P], log of the summed weight of all partitions into 1, 2, … bins

    @property
    def log_evidence(self) -> float:
        """Log of the sum over all partitions, in original units."""
        return float(np.logaddexp.reduce(self.log_bins)) - self.choice.constant

    @property
    def bin_chances(self) -> NDArray[np.float64]:
        """Probability of 1, 2, … bins [P]."""
        return np.exp(self.log_bins - np.logaddexp.reduce(self.log_bins))

    def cut_chances(self) -> NDArray[np.float64]:
        """Probability of a cut at each inner position [P - 1]."""
        room, groups = len(self.walk.layers), self.choice.groups
        logs, _ = _weights(self.choice, self.price, room)
        # Numbers of bins that the walk hardly takes may weigh so much at the price that beside them all others vanish:
        # weights are relative to the most probable number, and those that are negligible in the end have none.
        n, top = min(room - 1, len(self.log_bins)), self.log_bins.max()
        kept = self.log_bins[:n] >= top + LOG_NEGLIGIBLE
        weights = np.zeros(room)
        weights[1 : n + 1][kept] = np.exp(logs[1 : n + 1][kept] + float(self.walk.log_total) - top)
        with double(), on_host():
            return np.asarray(boundary_chances(self.walk, weights, np.int32(groups.n)))[1 : groups.n]

    def draw(self, rng: np.random.Generator, n: int = 1) -> list[NDArray[np.integer]]:
        """Cuts drawn from their exact posterior: ranks that a cut falls after, ascending, for each of n draws."""
        known = len(self.walk.layers) - 1
        chances = self.bin_chances[:known]
        n_bins = rng.choice(len(chances), n, p=chances / chances.sum()) + 1
        uniform, groups = rng.random((n, known)), self.choice.groups
        with double(), on_host():
            ends = np.asarray(draw_boundaries(self.walk, n_bins.astype(np.int32), uniform, np.int32(groups.n)))
        return [groups.positions[np.flatnonzero(each)[1:-1]] - 1 for each in ends]


def sum_over_cuts(choices: Sequence[Choice], bins_before: Sequence[int] | None = None) -> list[CutSums]:
    """The sums of several variables; probable numbers of bins, where known, save time and change nothing else."""
    expected = bins_before or [BINS_EXPECTED] * len(choices)
    matrices = cost_matrices([choice.groups for choice in choices])
    return [_summed(*each) for each in zip(choices, expected, matrices, strict=True)]


def _summed(choice: Choice, expected: int, matrix: CostMatrix) -> CutSums:
    """Sums of one variable: at better prices, or with more room, until every number of bins that matters is known."""
    price, n_groups = choice.slope(expected), choice.groups.n
    # a walk's work is the square of the groups that it has room for, and every size is a program to compile
    steps = -(-n_groups // SIZE_STEP) * SIZE_STEP
    size = min(steps if steps <= 4 * SIZE_STEP else bucket(n_groups, SIZE_STEP), matrix.shape.groups)
    room, tried = min(ROOM, size) + 1, 0
    while True:
        limits.check()
        logs, ahead = _weights(choice, price, room)
        with double(), on_host():
            walk = walk_back(matrix.costs, np.float64(price), logs, ahead, np.int32(n_groups), size=size)
        with np.errstate(divide="ignore"):
            log_ends, log_more = np.log(np.asarray(walk.layers)[:, n_groups]), np.log(float(walk.more))
        totals = logs + log_ends
        best = int(totals.argmax())
        # at this price the walk hardly ever takes the most probable number of steps: there its chances may underflow
        rare = log_ends[best] < TOO_RARE and (tried < MOST_TRIES or np.isneginf(log_ends[best]))
        last = min(int(walk.n_layers) + 1, room - 1)
        # no more than this is left to all further numbers of bins (docs/maths.md, "Sums over all cuts")
        left = log_more + (ahead[last] if last < room - 1 else ahead[-1])
        open_end = left >= np.logaddexp.reduce(totals) + LOG_NEGLIGIBLE and room <= size
        if not rare and not open_end:
            log_bins = np.full(len(choice.charge), -np.inf)
            n = min(len(log_bins), room - 1)
            log_bins[:n] = totals[1 : n + 1] + float(walk.log_total)
            return CutSums(choice, price, walk, log_bins)
        tried += 1
        if rare:
            price = _better_price(price, log_ends, best, walk.steps, n_groups)
        else:
            room = min(bucket(room, 2 * ROOM, 4), size) + 1


def _better_price(price: float, log_ends: NDArray[np.float64], best: int, steps: Any, n_groups: int) -> float:
    """The price at which the best number of bins is about the most probable, or a step on the way to it.

    At that price this number and one less are equally probable. Where the chances of all numbers that are allowed have
    underflowed, the walk takes too many steps. A price higher by d raises the log of a chance by at most d times the
    steps expected, so the next one does not leap over those at which the chances can be told apart.
    """
    fewer = log_ends[best - 1] if best else -np.inf
    if np.isfinite(fewer):
        return float(price + log_ends[best] - fewer)
    back, expected = np.asarray(steps), np.zeros(n_groups + 1)
    for v in range(n_groups):
        expected[v + 1] = 1 + back[v, : v + 1] @ expected[: v + 1]
    return float(price + LEAP / expected[-1])


def _weights(choice: Choice, price: float, room: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log of what 0, 1, … intervals weigh beyond their price [K + 1], and the most that these or more weigh."""
    n = len(choice.charge)
    logs = np.full(max(room, n + 1), -np.inf)
    logs[1 : n + 1] = price * np.arange(1, n + 1) - choice.charge
    ahead = np.maximum.accumulate(logs[::-1])[::-1]
    return logs[:room], ahead[:room]
