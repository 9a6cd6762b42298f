"""Cuts that a user knows, and words for their bins: columns that no search cuts again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from jaxbn.cuts.binning import Binning
from jaxbn.inputs.checks import ArgumentError, Mention, known_name
from jaxbn.inputs.table import Table
from jaxbn.inputs.units import NUMBER, in_words, to_number

Cuts = Mapping[str, Iterable[Any] | Binning] | None
"""Interior cuts by column: numbers, or dates of a column of dates."""

Labels = Mapping[str, Sequence[str]] | None
"""Words for the bins of columns that have their own cuts."""


def with_cut(continuous: Iterable[str] | None, cuts: Cuts, data: object) -> list[str] | None:
    """The columns named to be continuous, with those that have cuts; of a Table the kinds are settled."""
    if not cuts or isinstance(data, Table):
        return None if continuous is None else list(continuous)
    columns = set(map(str, data.keys())) if hasattr(data, "keys") else set(map(str, cuts))  # others are refused later
    return list(dict.fromkeys([*(continuous or ()), *(name for name in map(str, cuts) if name in columns)]))


def given_binnings(cuts: Cuts, labels: Labels, table: Table) -> dict[str, Binning]:
    """The binnings of the columns whose cuts were given.

    Example:
        >>> from jaxbn.inputs.table import as_table
        >>> ages = as_table({"age": [4.0, 30.0, 71.0]}, continuous=["age"])
        >>> given_binnings({"age": [18, 65]}, {"age": ["child", "adult", "old"]}, ages)["age"].labels
        ('child', 'adult', 'old')
    """
    found = {str(name): _binning(str(name), edges, table) for name, edges in (cuts or {}).items()}
    for name, words in (labels or {}).items():
        known_name("labels", name, table.names)
        if name not in found:
            raise ArgumentError("labels", f"names {name!r}, whose bins are not known yet; give its cuts with ", _CUTS)
        found[name] = _labelled(name, found[name], words)
    return found


_CUTS = Mention("cuts")


def _binning(name: str, edges: Iterable[Any] | Binning, table: Table) -> Binning:
    known_name("cuts", name, table.names)
    if name not in table.values:
        raise ArgumentError(
            "cuts", f"names {name!r}, which is discrete; leave it out, or take it as a quantity with ",
            Mention("continuous"), value=name,
        )  # fmt: skip
    if isinstance(edges, Binning):
        return edges
    unit, values = table.units.get(name, NUMBER), table.values[name]
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    try:
        numbers = [to_number(name, edge, unit) for edge in ([edges] if isinstance(edges, str) else edges)]
        binning = Binning(np.array(numbers, np.float64), lower=low, upper=high, unit=unit)
    except (TypeError, ValueError) as error:
        raise ArgumentError("cuts", f"of {name!r}: {error}", value=edges) from None
    if numbers and not (low < numbers[0] and numbers[-1] <= high):
        ends = [in_words(number, unit) for number in (numbers[0], numbers[-1], low, high)]
        raise ArgumentError(
            "cuts",
            f"of {name!r} run from {ends[0]} to {ends[1]} but its values from {ends[2]} to {ends[3]}, so that an outer "
            "bin would hold nothing; leave out the cuts outside",
            value=edges,
        )
    return binning


def _labelled(name: str, binning: Binning, words: Sequence[str]) -> Binning:
    if isinstance(words, str):
        raise ArgumentError("labels", f"of {name!r} must be a list of words, one for each bin, got {words!r}")
    try:
        return replace(binning, labels=tuple(map(str, words)))
    except ValueError as error:
        raise ArgumentError("labels", f"of {name!r}: {error}", value=words) from None
