"""How continuous columns are cut: the three methods, each with its options."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Literal

import numpy as np

from jaxbn.cuts.evidence import WEIGHT
from jaxbn.cuts.sorted_values import Ordered
from jaxbn.inputs import checks
from jaxbn.inputs.checks import ArgumentError, Mention

Rate = float | Literal["network", "blanket"]
MaxBins = int | Mapping[str, int | None] | Literal["auto"] | None
MinWidth = float | Mapping[str, float] | Literal["gap"] | None
Select = Literal["density", "k2"]
Initial = Literal["width", "frequency"]
Shaping = Literal["auto", "flat"]

MAX_BINS = 8  # bins of a continuous column by default, at most: what a reader can take in

ARC_GAIN = 0.01
"""Nats a row that an arc has to tell by default, where columns are cut: see `benchmarks/NOTES.md`, "False links"."""

GRID = 512  # positions at which cuts are searched while arcs move

EXACT_ROWS = 50_000
"""Up to this many rows the cuts of a learned network are proved the best by default: beyond, that takes minutes."""

NO_RATE = 0.0  # the rate of methods, and of groupings, that do not use one


@dataclass(frozen=True, kw_only=True)
class Method:
    """What all methods have in common; the options are described in ``Bayesian``."""

    max_passes: int | None = 10
    initial_bins: int | None = None
    initial: Initial | None = None
    grid: int | None = GRID
    exact: bool | None = None

    name: ClassVar[str]
    weight: ClassVar[float] = 1.0  # Dirichlet weight of a cell, in the scores of families and the costs of intervals

    def __post_init__(self) -> None:
        for option, least in (("max_passes", 1), ("initial_bins", 1), ("grid", 2)):
            if getattr(self, option) is not None:
                checks.at_least(option, getattr(self, option), least)
        if self.initial is not None:
            checks.one_of("initial", self.initial, ("width", "frequency"))
        checks.one_of("select", getattr(self, "select", "density"), ("density", "k2"))

    @property
    def start_kind(self) -> str:
        """What the bins of the start are equal in."""
        return self.initial or "width"

    @property
    def prior_rate(self) -> Rate:
        """L of the prior, where there is one."""
        return getattr(self, "rate", NO_RATE)

    @property
    def by_density(self) -> bool:
        """Whether networks are compared by the density of the data in original units."""
        return getattr(self, "select", "density") == "density"

    @property
    def flat(self) -> bool:
        """Whether values are spread evenly inside bins, as the paper has them."""
        return getattr(self, "shape", "flat") == "flat"

    def most_bins(self, name: str) -> int | None:
        """Bins that a column may have, None for any number.

        Example:
            >>> Evidence().most_bins("age"), Evidence(max_bins={"age": 3}).most_bins("age"), MDL().most_bins("age")
            (8, 3, None)
        """
        most = getattr(self, "max_bins", None)
        most = most.get(name, MAX_BINS) if isinstance(most, Mapping) else most
        return MAX_BINS if most == "auto" else most

    def narrowest(self, name: str, ordered: Ordered) -> float:
        """The smallest width of a bin of a column, 0 for no limit.

        Example:
            >>> import numpy as np
            >>> from jaxbn.cuts.sorted_values import sort_values
            >>> Evidence(min_width="gap").narrowest("age", sort_values(np.array([1.0, 3.0, 4.0])))
            1.0
        """
        width = getattr(self, "min_width", None)
        if width == "gap":
            gaps = np.diff(ordered.values)[ordered.can_cut[:-1]]  # none for a constant
            return float(gaps.min()) if len(gaps) else 0.0
        return float((width.get(name) if isinstance(width, Mapping) else width) or 0.0)

    def proves_cuts(self, n_rows: int) -> bool:
        """Whether the last cuts are the exact optimum given the rest, not the best that refining the grid finds.

        Example:
            >>> Evidence().proves_cuts(10_000), Evidence().proves_cuts(1_000_000)
            (True, False)
        """
        return self.grid is None or (n_rows <= EXACT_ROWS if self.exact is None else self.exact)

    def described(self) -> dict[str, Any]:
        """The method as JSON can hold it.

        Example:
            >>> Evidence(min_width=2).described()["min_width"]
            2
        """
        found = {"method": self.name, **asdict(self), **({} if self.weight == 1 else {"weight": self.weight})}
        return {key: value.item() if hasattr(value, "item") else value for key, value in found.items()}


@dataclass(frozen=True, kw_only=True)
class Evidence(Method):
    """The evidence of the data in original units, which every step of a search raises.

    Args:
        max_bins: most bins of a column: a number, ``{column: number}`` (None there, or alone, for no limit); by default
            8, which people can read. The optimum is exact under the limit.
        min_width: the smallest width of a bin: a number, ``{column: number}``, or ``"gap"`` for the smallest gap
            between the values of each column; no limit if not given.
        shape: how values are distributed inside bins. ``"auto"``: as the whole column is, by the mean of all its
            histograms and the digits it was recorded to, or evenly where that has the higher evidence; so cuts are
            there only for what depends on other columns. ``"flat"``: evenly.
        arc_gain: nats a row that an arc has to tell in a table with numbers, 0 for none; by default 0.01. Bins do not
            tell all of a number, so links that make up for it seem to pay where rows are many; this keeps them out.
        max_passes: see ``jaxbn.Bayesian``, as for all options below.
        initial_bins: bins that passes begin with.
        initial: what these are equal in.
        grid: positions at which cuts are searched while arcs move.
        exact: whether the last cuts are proved the best.

    Example:
        >>> iris = jaxbn.datasets.load("iris")
        >>> found = jaxbn.discretize(iris.frame, iris.structures["paper"], method=Evidence(min_width=0.5))
        >>> found.converged
        True
    """

    max_bins: MaxBins = "auto"
    min_width: MinWidth = None
    shape: Shaping = "auto"
    arc_gain: float = ARC_GAIN

    name = "evidence"
    weight = WEIGHT

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of("shape", self.shape, ("auto", "flat"))
        if not (checks.is_number(self.arc_gain) and 0 <= self.arc_gain < math.inf):
            raise ArgumentError(
                "arc_gain", f"must be finite and at least zero, got {self.arc_gain!r}; for example 0.01"
            )
        if isinstance(self.max_bins, str) and self.max_bins != "auto":
            raise ArgumentError("max_bins", f"must be a number, None or {{column: number}}, got {self.max_bins!r}")
        for argument, most in _by_column("max_bins", self.max_bins):
            if most is not None and most != "auto":
                checks.at_least(argument, most, 1)
        if isinstance(self.min_width, str) and self.min_width != "gap":
            raise ArgumentError("min_width", f"must be a number, 'gap' or {{column: number}}, got {self.min_width!r}")
        for argument, width in _by_column("min_width", self.min_width):
            if width is not None and width != 0 and self.min_width != "gap":  # 0 is no limit
                checks.positive(argument, width)


@dataclass(frozen=True, kw_only=True)
class Bayesian(Method):
    """The objective of the paper (Chen, Wheeler and Kochenderfer 2017).

    Args:
        rate: L of the prior, the expected number of cuts: ``"network"``, the largest cardinality of all variables;
            ``"blanket"``, that of the Markov blanket; or a number.
        select: runs of a search are compared by ``"density"``, that of the data in original units, or by ``"k2"``, the
            paper's score.
        max_passes: most passes over the variables of a discretization; None for no limit, which only ``Evidence`` is
            sure not to need.
        initial_bins: bins that passes begin with; by default the largest cardinality of the discrete variables, and in
            ``learn`` several numbers, another one in each run.
        initial: whether these are of equal ``"width"`` (as in the paper; the default) or ``"frequency"``, which suits
            skewed columns and those with outliers. A search in turns begins with both.
        grid: positions of a column at which cuts are searched while arcs move; then all rows are searched around
            them. None for all positions at once. The search ``"k2"`` has no grid.
        exact: whether the cuts of a learned network are then proved, each given the rest, to be the best of all. By
            default up to 50,000 rows: beyond, that takes minutes, and finds next to nothing.

    Example:
        >>> Bayesian(rate=-1)
        Traceback (most recent call last):
            ...
        jaxbn.inputs.checks.ArgumentError: rate must be finite and above zero, got -1.0; for example 4.0
    """

    rate: Rate = "network"
    select: Select = "density"

    name = "bayesian"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.rate, str):
            checks.positive("rate", self.rate)
        elif self.rate not in ("network", "blanket"):
            raise ArgumentError(
                "rate", f"must be 'network', 'blanket' or a number above zero, got {self.rate!r}", value=self.rate
            )


@dataclass(frozen=True, kw_only=True)
class MDL(Method):
    """The minimum description length (Friedman and Goldszmidt 1996).

    Args:
        select: what runs of a search are compared by, see ``jaxbn.Bayesian``, as for all options below.
        max_passes: most passes over the variables of a discretization.
        initial_bins: bins that passes begin with.
        initial: what these are equal in.
        grid: positions at which cuts are searched while arcs move.
        exact: whether the last cuts are proved the best.

    Example:
        >>> MDL(select="k2").by_density
        False
    """

    select: Select = "density"

    name = "mdl"


METHODS: dict[str, type[Method]] = {each.name: each for each in (Evidence, Bayesian, MDL)}


def as_method(
    method: str | Method | None, max_bins: MaxBins = "auto", continuous: Sequence[str] | None = None
) -> Method:
    """A method by its name or with its options, and with what was said about bins beside it.

    Example:
        >>> as_method("evidence", 5).most_bins("age")
        5
    """
    if not isinstance(method, Method):
        method = METHODS[checks.one_of("method", method or "evidence", tuple(METHODS))]()
    if max_bins != "auto":
        if isinstance(method, Evidence) and method.max_bins not in ("auto", max_bins):
            raise ArgumentError("max_bins", f"is {max_bins!r}, but {method.max_bins!r} in the method; leave one out")
        method = with_options(method, {"max_bins": max_bins})
    for argument in ("max_bins", "min_width"):
        for name in value if isinstance(value := getattr(method, argument, None), Mapping) and continuous else ():
            checks.known_name(argument, name, continuous or (), "a continuous column")
    return method


def with_options(method: Method, options: Mapping[str, Any]) -> Method:
    """The method with other options.

    Example:
        >>> with_options(MDL(), {"rate": 3.0})
        Traceback (most recent call last):
            ...
        jaxbn.inputs.checks.ArgumentError: rate is for method='bayesian', got 3.0 with method 'mdl'; leave it out
    """
    check_options(method.name, options)
    return replace(method, **options)


def check_options(method: str, options: Mapping[str, Any]) -> None:
    """Refuse options of other methods."""
    for argument, value in options.items():
        users = users_of(argument)
        if method not in users:
            listed = [part for user in users for part in (" or ", Mention("method", user))][1:]
            raise ArgumentError(
                argument, "is for ", *listed, f", got {value!r} with method {method!r}; leave it out", value=value
            )


def each_method(names: Sequence[str], options: Mapping[str, Any]) -> list[str | Method]:
    """Several methods, each with those of the options that it has; one that none of them has is refused.

    Example:
        >>> each_method(["mdl", "equal_width"], {"select": "k2"})[0].by_density
        False
    """
    known = [METHODS[name]() for name in names if name in METHODS]
    for option, value in options.items():
        if not any(each.name in users_of(option) for each in known):
            with_options((known or [MDL()])[0], {option: value})
    made = {name: {key: value for key, value in options.items() if name in users_of(key)} for name in names}
    return [with_options(METHODS[name](), made[name]) if name in METHODS else name for name in names]


def users_of(option: str) -> list[str]:
    """The methods that have an option."""
    return [name for name, each in METHODS.items() if option in {field.name for field in fields(each)}]


def _by_column(argument: str, value: Any) -> list[tuple[str, Any]]:
    """What is said for each column, with the words for it."""
    if isinstance(value, Mapping):
        return [(f"{argument}[{name!r}]", each) for name, each in value.items()]
    return [(argument, value)]
