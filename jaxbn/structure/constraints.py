"""Constraints on a structure: arcs that it must have or must not have, the number of parents, the size of tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from jaxbn.inputs import checks
from jaxbn.inputs.checks import ArgumentError, Mention
from jaxbn.inputs.graph import MAX_TABLE_CELLS, as_arc, as_parents, check_max_cells
from jaxbn.inputs.states import signed_name
from jaxbn.inputs.table import Table
from jaxbn.scores.coded_table import Columns


class Constraints(NamedTuple):
    """Constraints on a structure."""

    max_parents: int
    required: Mapping[str, tuple[str, ...]]  # parents that a variable must have
    forbidden: frozenset[tuple[str, str]]  # arcs (parent, child) that must not be
    max_cells: int  # of a family's table


def candidate_parents(
    name: str, predecessors: Sequence[str], chosen: Sequence[str], columns: Columns, constraints: Constraints
) -> list[str]:
    """Predecessors that may still become a parent, except those with which the table would be too large."""
    cells = math.prod(columns[member].size for member in (name, *chosen))
    return [
        other
        for other in predecessors
        if other not in chosen
        and (other, name) not in constraints.forbidden
        and cells * columns[other].size <= constraints.max_cells
    ]


def as_constraints(
    table: Table,
    max_parents: int = 3,
    required: Iterable[tuple[str, str]] = (),
    forbidden: Iterable[tuple[str, str]] = (),
    max_cells: int = MAX_TABLE_CELLS,
    tiers: Iterable[Iterable[str]] = (),
    roots: Iterable[str] = (),
    leaves: Iterable[str] = (),
) -> Constraints:
    """The constraints on a structure, checked; see ``jaxbn.learn``."""
    checks.at_least("max_parents", max_parents, 0)
    must = _arcs("required", required, table.names)
    needed = {name: found for name, found in as_parents(must, table.names, "required").items() if found}
    ruled_out = {
        "forbidden": frozenset(_arcs("forbidden", forbidden, table.names)) | _of_signs(table),
        "tiers": _backwards(tiers, table.names),
        "roots": frozenset((other, root) for root in _names("roots", roots, table.names) for other in table.names),
        "leaves": frozenset((leaf, other) for leaf in _names("leaves", leaves, table.names) for other in table.names),
    }
    for child, found in needed.items():
        if len(found) > max_parents:
            raise ArgumentError(
                "required",
                f"gives {child!r} {len(found)} parents; raise ",
                Mention("max_parents"),
                f", which is {max_parents}",
            )
        for parent, (argument, arcs) in product(found, ruled_out.items()):
            if (parent, child) in arcs:
                raise ArgumentError(
                    "required",
                    f"has the arc {parent!r} -> {child!r}, but ",
                    Mention(argument),
                    " rules it out; change one of them",
                )
    banned = frozenset((parent, child) for arcs in ruled_out.values() for parent, child in arcs if parent != child)
    return Constraints(int(max_parents), needed, banned, check_max_cells(max_cells))


def listed(names: Iterable[str]) -> list[str]:
    """Names as a list, a single one too.

    Example:
        >>> listed("age"), listed(("age", "sex"))
        (['age'], ['age', 'sex'])
    """
    return [names] if isinstance(names, str) else [str(name) for name in names]


def _names(argument: str, names: Iterable[str], known: Sequence[str]) -> list[str]:
    return [checks.known_name(argument, name, known) for name in listed(names)]


def _backwards(tiers: Iterable[Iterable[str]], known: Sequence[str]) -> frozenset[tuple[str, str]]:
    """Arcs from a later tier into an earlier one; columns in no tier may have any."""
    tier_of: dict[str, int] = {}
    for number, tier in enumerate(tiers):
        for name in _names("tiers", tier, known):
            if tier_of.setdefault(name, number) != number:
                raise ArgumentError(
                    "tiers", f"has {name!r} in the tiers {tier_of[name] + 1} and {number + 1}; keep it in one of them"
                )
    return frozenset((late, early) for late in tier_of for early in tier_of if tier_of[late] > tier_of[early])


def _of_signs(table: Table) -> frozenset[tuple[str, str]]:
    """Arcs between a column and the one that says where it is missing: no value is ever seen where one is missing."""
    pairs = [(name, of) for name in table.names if (of := signed_name(name)) is not None and of in table.values]
    return frozenset(arc for name, of in pairs for arc in ((name, of), (of, name)))


def _arcs(argument: str, arcs: Iterable[Any], names: Sequence[str]) -> list[tuple[str, str]]:
    """(parent, child) pairs of known names."""
    found = [as_arc(arc, argument) for arc in arcs]
    for name in {name: None for arc in found for name in arc}:
        checks.known_name(argument, name, names)
    return found
