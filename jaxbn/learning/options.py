"""Options of learning: which method uses which, and the one list that other functions hand on to ``learn``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any, Literal, NamedTuple

from jaxbn.cuts.discretize_variable import MAX_BINS, METHODS
from jaxbn.cuts.evidence import smallest_gap
from jaxbn.inputs import checks
from jaxbn.inputs.checks import ArgumentError, Mention, suggest
from jaxbn.scores.coded_table import CodedTable

Rate = float | Literal["network", "blanket"]
MaxBins = int | Mapping[str, int | None] | Literal["auto"] | None
MinWidth = float | Mapping[str, float] | Literal["gap"] | None
Select = Literal["density", "k2"]
Initial = Literal["width", "frequency"]
Shaping = Literal["auto", "flat"]

STRUCTURE_OPTIONS = (
    "search", "order", "max_parents", "restarts", "time_limit", "grid", "exact", "warm_start", "select",
    "required", "forbidden", "tiers", "roots", "leaves", "max_cells",
)  # fmt: skip
"""Options of ``learn`` for the structure; ``cross_validate`` and ``bootstrap`` take them too if there is no graph."""

USED_BY: dict[str, tuple[str, ...]] = {
    "rate": ("bayesian",),
    "min_width": ("evidence",),
    "max_bins": ("evidence",),
    "shape": ("evidence",),
    "warm_start": ("bayesian", "mdl"),
    "select": ("bayesian", "mdl"),
    "group": METHODS,
    "initial": METHODS,
}
"""The methods that use an option, where not all do; None says that an option was not given."""


GRID = 512
"""Positions at which cuts are searched while arcs move."""

EXACT_ROWS = 50_000
"""Up to this many rows the cuts of a learned network are proved the best by default: beyond, that takes minutes."""


class Options(NamedTuple):
    """Checked options of learning that do not depend on the structure."""

    method: str
    rate: Rate
    max_passes: int | None
    min_width: MinWidth = None
    warm_start: bool = False
    select: str = "density"
    grid: int | None = GRID  # positions at which cuts are searched while arcs move; None: all
    initial: str | None = None  # what the bins of the start are equal in, if that was said
    max_bins: int | Mapping[str, int | None] | None = None  # most bins of a column
    shape: str = "auto"  # inside bins: "auto", or "flat"
    exact: bool | None = None  # whether the last cuts are proved the best; None: if there are not too many rows

    @property
    def start_kind(self) -> str:
        """What the bins of the start are equal in: ``"width"``, as in the paper, or ``"frequency"``."""
        return "width" if self.initial is None else self.initial

    @property
    def flat(self) -> bool:
        """Whether values are spread evenly inside bins, as the paper has them."""
        return self.method != "evidence" or self.shape == "flat"

    def most_bins(self, name: str) -> int | None:
        """Bins that a column may have, None for any number."""
        return self.max_bins.get(name, MAX_BINS) if isinstance(self.max_bins, Mapping) else self.max_bins

    @property
    def limit(self) -> float:
        """The most passes, infinite for no limit."""
        return math.inf if self.max_passes is None else self.max_passes

    def proves_cuts(self, n_rows: int) -> bool:
        """Whether the last cuts are the exact optimum given the rest, not the best that refining the grid finds."""
        return self.grid is None or (n_rows <= EXACT_ROWS if self.exact is None else self.exact)

    def narrowest(self, data: CodedTable, name: str) -> float:
        """The smallest width of a bin of one variable, 0 for no limit."""
        if self.min_width == "gap":
            return smallest_gap(data.ordered[name])
        if isinstance(self.min_width, Mapping):
            return float(self.min_width.get(name, 0.0))
        return float(self.min_width or 0.0)

    def described(self) -> dict[str, Any]:
        """The options as JSON can hold them."""
        widths = dict(self.min_width) if isinstance(self.min_width, Mapping) else self.min_width
        bins = dict(self.max_bins) if isinstance(self.max_bins, Mapping) else self.max_bins
        return {**self._asdict(), "min_width": widths, "max_bins": bins, "initial": self.start_kind}


def check_options(
    *,
    method: str,
    rate: Rate | None = None,
    max_passes: int | None = 10,
    min_width: MinWidth = None,
    warm_start: bool | None = None,
    select: str | None = None,
    grid: int | None = GRID,
    initial: str | None = None,
    exact: bool | None = None,
    max_bins: MaxBins = "auto",
    shape: str | None = None,
    continuous: Sequence[str] | None = None,
) -> Options:
    """Options with their defaults filled in; one that the method does not use must not be given.

    Args:
        method: how variables are cut.
        rate: L of the prior.
        max_passes: most passes of a discretization, None for no limit.
        min_width: the smallest width of a bin.
        warm_start: whether to go on from the current cuts after an arc.
        select: how restarts are compared.
        grid: positions at which cuts are searched while arcs move, None for all.
        initial: what the bins of the start are equal in.
        exact: whether the last cuts are proved the best, None if there are not too many rows.
        max_bins: most bins of a column.
        shape: how values are distributed inside bins.
        continuous: the columns that may have a smallest width.

    Example:
        >>> check_options(method="mdl", rate=3.0)
        Traceback (most recent call last):
            ...
        jaxbn.inputs.checks.ArgumentError: rate is for method='bayesian', got 3.0 with method 'mdl'; leave it out
    """
    checks.one_of("method", method, METHODS)
    given = {"rate": rate, "min_width": min_width, "warm_start": warm_start, "select": select, "shape": shape}
    for argument, value in {**given, "max_bins": None if max_bins == "auto" else max_bins}.items():
        refuse_unused(argument, value, method)
    _check_widths(min_width, continuous)
    return Options(
        method,
        "network" if rate is None else _checked_rate(rate),
        None if max_passes is None else checks.at_least("max_passes", max_passes, 1),
        min_width,
        bool(warm_start),
        "density" if select is None else checks.one_of("select", select, ("density", "k2")),
        None if grid is None else checks.at_least("grid", grid, 2),
        None if initial is None else checks.one_of("initial", initial, ("width", "frequency")),
        None if method != "evidence" else _checked_bins(max_bins, continuous),
        "auto" if shape is None else checks.one_of("shape", shape, ("auto", "flat")),
        None if exact is None else bool(exact),
    )


def refuse_unused(argument: str, value: object, method: str) -> None:
    """Refuse an option that was given but that the method does not use."""
    users = USED_BY.get(argument, (method,))
    if value is None or method in users:
        return
    listed: list[str | Mention] = [Mention("method", users[0])]
    for user in users[1:]:
        listed += [" or ", Mention("method", user)]
    raise ArgumentError(
        argument, "is for ", *listed, f", got {value!r} with method {method!r}; leave it out", value=value
    )


def check_structure_options(
    function: Callable[..., Any], options: Mapping[str, Any], graph_given: bool
) -> dict[str, Any]:
    """The options of ``learn`` that another function was given as further keywords; arcs as lists, to be read often.

    Args:
        function: which one, for messages.
        options: what it was given.
        graph_given: whether the structure is known, so that none of them has a use.
    """
    for name, value in options.items():
        if name not in STRUCTURE_OPTIONS:
            own = [key for key, each in signature(function).parameters.items() if each.kind != each.VAR_KEYWORD]
            raise TypeError(f"{function.__name__} has no option {name!r}; {suggest(name, [*STRUCTURE_OPTIONS, *own])}")
        if graph_given:
            raise ArgumentError(
                name, "is for learning the structure; leave it out, or leave out ", Mention("graph"), value=value
            )
    again = ("required", "forbidden", "tiers", "roots", "leaves")
    return {
        name: list(value) if name in again and not isinstance(value, str) else value for name, value in options.items()
    }


def _checked_rate(rate: Rate) -> Rate:
    if not isinstance(rate, str):
        return checks.positive("rate", rate)
    if rate not in ("network", "blanket"):
        raise ArgumentError("rate", f"must be 'network', 'blanket' or a number above zero, got {rate!r}", value=rate)
    return rate


def _checked_bins(max_bins: MaxBins, continuous: Sequence[str] | None) -> int | Mapping[str, int | None] | None:
    if isinstance(max_bins, str):
        if max_bins != "auto":
            raise ArgumentError("max_bins", f"must be a number, None or {{column: number}}, got {max_bins!r}")
        return MAX_BINS
    if isinstance(max_bins, Mapping):
        for name, most in max_bins.items():
            if continuous is not None:
                checks.known_name("max_bins", name, continuous, "a continuous column")
            if most is not None:
                checks.at_least(f"max_bins[{name!r}]", most, 1)
        return dict(max_bins)
    return None if max_bins is None else checks.at_least("max_bins", max_bins, 1)


def _check_widths(min_width: MinWidth, continuous: Sequence[str] | None) -> None:
    if isinstance(min_width, Mapping):
        for name, width in min_width.items():
            if continuous is not None:
                checks.known_name("min_width", name, continuous, "a continuous column")
            _check_width(f"min_width[{name!r}]", width)
    elif not isinstance(min_width, str):
        _check_width("min_width", min_width)
    elif min_width != "gap":
        raise ArgumentError(
            "min_width", f"must be a number, 'gap' or {{column: number}}, got {min_width!r}", value=min_width
        )


def _check_width(argument: str, width: float | None) -> None:
    if width is not None and width != 0:  # 0 is no limit
        checks.positive(argument, width)
