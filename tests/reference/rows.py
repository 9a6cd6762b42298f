"""Counts of rows by definition: one row after the other."""

from __future__ import annotations

import bisect
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any


def count_rows(
    rows: Sequence[Mapping[str, Any]], codings: Sequence[tuple[str, Sequence[Any], str]]
) -> dict[tuple[int, ...], int]:
    """How often each combination of states occurs; missing entries have the state after the last.

    Args:
        rows: of a table.
        codings: (column, cuts, "cuts") or (column, levels, "levels") for each axis.
    """
    return dict(Counter(tuple(_state(row[name], values, kind) for name, values, kind in codings) for row in rows))


def _state(value: Any, values: Sequence[Any], kind: str) -> int:
    if value is None or value != value:
        return len(values) + (kind == "cuts")
    return bisect.bisect_right(list(values), value) if kind == "cuts" else list(values).index(value)


def best_structure(families: Mapping[str, Mapping[tuple[str, ...], float]]) -> float:
    """The highest score of a choice of one family for each variable that has no cycle, by trying all of them."""
    names = list(families)
    best = float("-inf")
    for choice in itertools.product(*(families[name] for name in names)):
        parents = dict(zip(names, choice, strict=True))
        if _acyclic(parents):
            best = max(best, sum(families[name][parents[name]] for name in names))
    return best


def _acyclic(parents: Mapping[str, Sequence[str]]) -> bool:
    left = dict(parents)
    while left:
        free = [name for name, found in left.items() if not set(found) & set(left)]
        if not free:
            return False
        left = {name: found for name, found in left.items() if name not in free}
    return True
