"""A binning: the cuts of one continuous variable; and unsupervised ones, from its own values alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jaxbn.cuts.shapes.shape import Shape
from jaxbn.cuts.sorted_values import Ordered, sort_values
from jaxbn.inputs.checks import ArgumentError
from jaxbn.inputs.units import NUMBER, Unit
from jaxbn.runtime.deprecated import old_attribute

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NOT_CUT = "not cut"
"""Method of a binning that nothing chose: the bins in which a search begins, of a variable that it never had to cut."""

MARGINAL_METHODS = ("equal_width", "equal_frequency", "bayesian_blocks")
WITH_BINS = ("equal_width", "equal_frequency")
"""Unsupervised methods, and those of them that take the number of bins as an option."""


@dataclass(frozen=True, eq=False)
class Binning:
    """Intervals of one continuous variable, left-closed as in the paper.

    Value ``x`` falls into bin ``i`` when ``cuts[i - 1] <= x < cuts[i]``; values beyond the
    outer edges fall into the outer bins.

    Attributes:
        cuts: interior cut points, ascending, float64 [n_bins - 1].
        cost: the objective of the method that chose the cuts (lower is better), NaN if none did.
        lower: smallest value of the data the binning was made from; the first bin's density starts here.
        upper: largest value of that data; the last bin's density ends here.
        method: what chose the cuts, e.g. ``"bayesian"``; ``"not cut"`` where nothing did and the bins are those in
            which a search begins.
        shape: how values are distributed inside the bins, a base density of the whole column; None: evenly.
        unit: what the numbers stand for, such as days.
        labels: words for the bins, wherever they are shown; none for their ends.

    Example:
        >>> binning = Binning([1.0, 2.5])
        >>> binning.n_bins
        3
        >>> binning([0.0, 1.0, 2.0, 9.0]).tolist()
        [0, 1, 1, 2]
    """

    cuts: NDArray[np.float64]
    cost: float = float("nan")
    lower: float = float("-inf")
    upper: float = float("inf")
    method: str = field(default="given")
    shape: Shape | None = None
    unit: Unit = NUMBER
    labels: tuple[str, ...] = ()

    edges = old_attribute("cuts")

    def __post_init__(self) -> None:
        cuts = np.array(self.cuts, dtype=np.float64)
        if cuts.ndim != 1 or not np.isfinite(cuts).all() or (np.diff(cuts) <= 0).any():
            raise ValueError(
                f"cuts must be a 1-D sequence of finite, strictly ascending numbers, got {self.cuts!r}; "
                "pass the interior cuts only, without the outer ends"
            )
        if self.labels and (len(self.labels) != len(cuts) + 1 or len(set(self.labels)) <= len(cuts)):
            raise ValueError(f"labels must be {len(cuts) + 1} different words, one for each bin, got {self.labels!r}")
        cuts.setflags(write=False)
        object.__setattr__(self, "cuts", cuts)

    def in_unit(self, unit: Unit) -> Binning:
        """The same cuts of a column whose numbers stand for something, such as days.

        Example:
            >>> from jaxbn.cuts.words import cut_words
            >>> cut_words(Binning([18262.5]).in_unit(Unit("date")))
            '2020-01-02'
        """
        return self if unit == self.unit else replace(self, unit=unit)

    def stretched(self, low: float, high: float) -> Binning:
        """The same cuts of a column that reaches from `low` to `high`, and its shape as far.

        Example:
            >>> Binning([1.0], shape=Shape([0.0, 2.0], [1.0])).stretched(0.0, 4.0).shape.knots.tolist()
            [0.0, 4.0]
        """
        return self if self.shape is None else replace(self, shape=self.shape.stretched(low, high))

    @property
    def n_bins(self) -> int:
        """Number of intervals."""
        return len(self.cuts) + 1

    @property
    def is_cut(self) -> bool:
        """Whether there are cuts, and someone or something chose them."""
        return len(self.cuts) > 0 and self.method != NOT_CUT

    def __call__(self, values: ArrayLike) -> NDArray[np.int32]:
        """Code of the bin each value falls into, int32, 0-based."""
        return np.searchsorted(self.cuts, np.asarray(values, np.float64), side="right").astype(np.int32)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Binning):
            return NotImplemented
        same = all(getattr(self, name) == getattr(other, name) for name in ("method", "shape", "unit", "labels"))
        numbers = all(same_number(getattr(self, name), getattr(other, name)) for name in ("cost", "lower", "upper"))
        return same and numbers and np.array_equal(self.cuts, other.cuts)

    def __hash__(self) -> int:
        return hash((self.cuts.tobytes(), self.method))

    def plot(self, values: ArrayLike, ax: Axes | None = None) -> Axes:
        """Draw the cuts with matplotlib over the histogram of the values and the density of each bin.

        Args:
            values: the variable's data, 1-D.
            ax: axes to draw on; new ones by default.

        Example:
            >>> Binning([1.0, 2.5]).plot([0.0, 1.0, 2.0, 3.0])  # doctest: +SKIP
        """
        from jaxbn.drawing.plots import plot_binning

        return plot_binning(self, values, ax)

    def _repr_html_(self) -> str:
        from jaxbn.drawing.notebook import binning_html

        return binning_html(self)


def date_forms(binnings: Mapping[str, Binning]) -> dict[str, str]:
    """How text holds the dates of some columns, as ``as_table(dates=...)`` takes it."""
    return {name: binning.unit.form for name, binning in binnings.items() if binning.unit.form}


def same_number(a: float, b: float) -> bool:
    """Whether two numbers are equal, or both are not known (NaN)."""
    return a == b or (a != a and b != b)


# --- unsupervised cuts: baselines for comparison


def marginal_binning(values: NDArray[np.float64], method: str, n_bins: int) -> Binning:
    """Cut a variable without regard to the others, by one of ``MARGINAL_METHODS``.

    Repeated values may leave fewer bins than wanted, and ``"bayesian_blocks"`` finds its own number.
    """
    if method == "equal_width":
        return equal_width_binning(values, n_bins)
    if method == "equal_frequency":
        return equal_frequency_binning(sort_values(values), n_bins)
    from astropy.stats import bayesian_blocks

    lower, upper = float(values.min()), float(values.max())
    # the interior edges of astropy's Bayesian Blocks (Scargle et al. 2013), with its default prior
    edges = np.unique(np.asarray(bayesian_blocks(values), np.float64)[1:-1]) if lower < upper else np.empty(0)
    edges = edges[(edges > lower) & (edges <= upper)]
    return Binning(edges, lower=lower, upper=upper, method="bayesian blocks")


def check_installed(method: str) -> None:
    """Refuse Bayesian Blocks where astropy is not installed, before anything is computed."""
    if method == "bayesian_blocks":
        try:
            import astropy.stats  # noqa: F401
        except ImportError:
            raise ArgumentError(
                "method",
                "'bayesian_blocks' is computed by astropy, which is not installed; install it with "
                "`pip install astropy`, or choose another method",
            ) from None


def equal_frequency_binning(ordered: Ordered, n_bins: int) -> Binning:
    """Cuts after the values at the ranks n/k, 2n/k, …, halfway to the next larger value as for the other methods."""
    values = ordered.values
    n = len(values)
    ranks = -(-np.arange(1, n_bins) * n // n_bins) - 1  # ceil(i n / k) - 1
    last_of_value = np.flatnonzero(ordered.can_cut)
    found = np.searchsorted(last_of_value, np.maximum(ranks, 0))
    rows = last_of_value[np.unique(found[found < len(last_of_value)])]
    return Binning(ordered.edges(rows), lower=float(values[0]), upper=float(values[-1]), method="equal frequency")


def equal_width_codes(values: NDArray[np.float64], k: int) -> NDArray[np.int32]:
    """Code min(floor((x - min) / ((max - min) / k)), k - 1), in exactly this arithmetic: rounded edges differ."""
    low, high = values.min(), values.max()
    with np.errstate(over="ignore"):
        width = (high - low) / k
    if not np.isfinite(width):
        return equal_width_codes(values / 4, k)
    if width == 0:
        return np.zeros(len(values), np.int32)
    return np.minimum(np.floor((values - low) / width), k - 1).astype(np.int32)


def equal_width_binning(values: NDArray[np.float64], k: int) -> Binning:
    """Edges min + (max - min) / k · i; fewer where floats run out between them."""
    low, high = float(values.min()), float(values.max())
    scale = 1 if math.isfinite(high - low) else 4
    edges = scale * (low / scale + (high / scale - low / scale) / k * np.arange(1.0, k))
    edges = np.unique(edges[(edges > low) & (edges <= high)])
    return Binning(edges, lower=low, upper=high, method="equal width")
