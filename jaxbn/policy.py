"""A discretization policy: the cuts of one continuous variable."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class Policy:
    """Intervals of one continuous variable, left-closed as in the paper.

    Value ``x`` falls into bin ``i`` when ``edges[i - 1] <= x < edges[i]``; values beyond the
    outer edges fall into the outer bins.

    Attributes:
        edges: interior cuts, ascending, float64 [n_bins - 1].
        cost: the objective of the method that chose the cuts (lower is better), NaN if none did.
        lower: smallest value of the data the policy was made from; the first bin's density starts here.
        upper: largest value of that data; the last bin's density ends here.
        method: what chose the cuts, e.g. ``"bayesian"``.

    Example:
        >>> policy = Policy([1.0, 2.5])
        >>> policy.n_bins
        3
        >>> policy([0.0, 1.0, 2.0, 9.0]).tolist()
        [0, 1, 1, 2]
    """

    edges: NDArray[np.float64]
    cost: float = float("nan")
    lower: float = float("-inf")
    upper: float = float("inf")
    method: str = field(default="given")

    def __post_init__(self) -> None:
        edges = np.array(self.edges, dtype=np.float64)
        if edges.ndim != 1 or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
            raise ValueError(
                f"edges must be a 1-D sequence of finite, strictly ascending numbers, got {self.edges!r}; "
                "pass the interior cuts only, without the outer ends"
            )
        edges.setflags(write=False)
        object.__setattr__(self, "edges", edges)

    @property
    def n_bins(self) -> int:
        """Number of intervals."""
        return len(self.edges) + 1

    def __call__(self, values: ArrayLike) -> NDArray[np.int32]:
        """Code of the bin each value falls into, int32, 0-based."""
        return np.searchsorted(self.edges, np.asarray(values, np.float64), side="right").astype(np.int32)
