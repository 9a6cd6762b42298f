"""The exact posterior of the cuts of one variable given its Markov blanket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jaxbn.cuts.binning import Binning
from jaxbn.cuts.discretize_variable import variable_request
from jaxbn.cuts.sorted_values import Ordered
from jaxbn.inputs import checks
from jaxbn.posterior.all_cuts import CutSums, choice_of, sum_over_cuts
from jaxbn.runtime import limits
from jaxbn.runtime.shapes import FEW_POSITIONS


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
        low, high = float(values[0]), float(values[-1])
        edges = [self._ordered.edges(each) for each in ranks]
        return [Binning(each, lower=low, upper=high, method="draw") for each in edges]

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
