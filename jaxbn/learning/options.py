"""Options that several functions share: searches, and the one list that other functions hand on to ``learn``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, Literal

from jaxbn.cuts.methods import as_method, with_options
from jaxbn.inputs import checks
from jaxbn.inputs.checks import ArgumentError, ArgumentTypeError, Mention, suggest
from jaxbn.learning.columns import as_columns
from jaxbn.model.bayesnet import BayesNet
from jaxbn.runtime import deprecated
from jaxbn.structure.constraints import as_constraints
from jaxbn.structure.orders import PATIENCE, STARTS
from jaxbn.structure.search import SEARCHES

STRUCTURE_OPTIONS = ("search", "constraints", "max_parents", "max_cells", "restarts", "time_limit")
"""Options of ``learn`` for the structure; ``cross_validate`` and ``bootstrap`` take them too if there is no graph."""


@dataclass(frozen=True, kw_only=True)
class K2:
    """The paper's greedy search, with cuts after every arc.

    Args:
        order: one run with this order of the variables; parents come before their children in it. By default the
            orders are random, one in each run.
        warm_start: with ``"bayesian"`` or ``"mdl"``, after an arc go on from the current cuts instead of from the bins
            of the start: faster.

    Example:
        >>> rows = {"a": [0, 1, 0, 1], "b": [0, 1, 0, 1]}
        >>> jaxbn.learn(rows, search=K2(order=["b", "a"]), progress=False).arcs
        (('b', 'a'),)
    """

    order: Sequence[str] | None = None
    warm_start: bool = False


@dataclass(frozen=True, kw_only=True)
class Orders:
    """A search over orders of the columns, for any number of them.

    Args:
        starts: of the search for the last cuts; while cuts move there is one.
        patience: blocks of columns in a row that may be rearranged without a gain.

    Example:
        >>> Orders(patience=100).starts == Orders().starts
        True
    """

    starts: int = STARTS
    patience: int = PATIENCE

    def __post_init__(self) -> None:
        checks.at_least("starts", self.starts, 1)
        checks.at_least("patience", self.patience, 1)


Search = Literal["auto", "exact", "orders", "k2"] | K2 | Orders


def search_name(search: Search) -> str:
    """The name of a search, which may come with its options."""
    if isinstance(search, K2):
        return "k2"
    return "orders" if isinstance(search, Orders) else checks.one_of("search", search, SEARCHES)


def as_start(start: Any) -> BayesNet | None:
    """The network that a search goes on from, if there is one."""
    if start is not None and not isinstance(start, BayesNet):
        why = f"must be a network, got {start!r}; of a known graph pass jaxbn.fit(data, graph)"
        raise ArgumentTypeError("start", why, value=start)
    return start


def check_structure_options(
    function: Callable[..., Any], options: Mapping[str, Any], graph_given: bool
) -> dict[str, Any]:
    """The options of ``learn`` that another function was given as further keywords; none has a use with a graph."""
    for name, value in options.items():
        if name not in STRUCTURE_OPTIONS:
            own = [key for key, each in signature(function).parameters.items() if each.kind != each.VAR_KEYWORD]
            raise TypeError(f"{function.__name__} has no option {name!r}; {suggest(name, [*STRUCTURE_OPTIONS, *own])}")
        if graph_given:
            why = "is for learning the structure; leave it out, or leave out "
            raise ArgumentError(name, why, Mention("graph"), value=value)
    return dict(options)


# --- options by themselves: keywords of the version before, and options of the command line

OBJECTS = {
    "columns=Columns": "continuous discrete keep cuts labels merge_levels",
    "constraints=Constraints": "required forbidden tiers roots leaves links",
    "method=Bayesian": "rate select",
    "method=Evidence": "min_width shape arc_gain grid exact max_passes initial_bins initial",
    "search=K2": "order warm_start",
}
MOVED = {name: f"{made}({name})" for made, names in OBJECTS.items() for name in names.split()}
MOVED |= {"group": MOVED["merge_levels"], "side_by_side": ""}

NONE_IS_GIVEN = ("grid", "max_passes")  # options for which None is a value; for all others it means not given


def _said(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None or name in NONE_IS_GIVEN}


def _search(given: Any, options: Mapping[str, Any]) -> Any:
    options = {name: value for name, value in _said(options).items() if value is not False}
    if not options:
        return "auto" if given is None else given
    if given is not None and search_name(given) not in ("auto", "k2"):
        name = next(iter(options))
        raise ArgumentError(name, "is for ", Mention("search", "k2"), f", got search={given!r} with it; leave it out")
    if "order" not in options and given != "k2" and not isinstance(given, K2):
        raise ArgumentError("warm_start", "is for ", Mention("search", "k2"), f", got search={given!r}; leave it out")
    return replace(given if isinstance(given, K2) else K2(), **options)


MAKERS: dict[str, deprecated.Maker] = {
    "columns": lambda given, options: replace(as_columns(given), **_said(options)),
    "constraints": lambda given, options: replace(as_constraints(given), **_said(options)),
    "method": lambda given, options: with_options(as_method(given), _said(options)),
    "search": _search,
}

old_keywords = deprecated.old_keywords(MOVED, MAKERS)
"""Lets a function still accept keywords that have moved into objects."""


def in_objects(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Flat options of ``learn``, as on the command line, collected into the objects that they belong to."""
    return deprecated.gathered(flat, MOVED, MAKERS)
