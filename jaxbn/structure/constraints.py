"""Constraints on a structure: as users state them, and as searches query them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, reduce
from itertools import product
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.counts.codes import Column
from jaxbn.inputs import checks
from jaxbn.inputs.checks import ArgumentError, Mention
from jaxbn.inputs.graph import MAX_TABLE_CELLS, as_arc, as_parents, check_max_cells
from jaxbn.inputs.states import signed_name
from jaxbn.inputs.table import Table
from jaxbn.scores.coded_table import Columns
from jaxbn.scores.evidence import Links

Group = str | Iterable[str]
Arcs = Iterable[tuple[Group, Group]]


@dataclass(frozen=True)
class Constraints:
    """Arcs that a network must have or must not have, and what is known of its links.

    Args:
        required: arcs ``(parent, child)`` it must have. Several columns in the place of one stand for each of them:
            ``(["age", "sex"], "dose")``.
        forbidden: arcs it must not have.
        tiers: lists of columns in the order in which things happen, ``[["age", "sex"], ["dose"], ["outcome"]]``: no
            arc runs from a later list into an earlier one. Columns in none of them may be anywhere.
        roots: columns without parents.
        leaves: columns without children.
        links: how probable a link between two columns is, whichever way it points, ``{("dose", "outcome"): 0.9}``. It
            counts beside the evidence of the rows, by ln p / (1 - p), so that 0.5 says nothing; with few rows it
            matters, with many it does not.

    Example:
        >>> Constraints(required=[("age", "dose")], roots="age", links={("sex", "dose"): 0.1}).named
        ['age', 'dose', 'sex']
    """

    required: Arcs = ()
    forbidden: Arcs = ()
    tiers: Iterable[Iterable[str]] = ()
    roots: Iterable[str] = ()
    leaves: Iterable[str] = ()
    links: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def __post_init__(self) -> None:  # iterators are read once, here
        read: dict[str, Callable[[Any], Any]] = {"required": _each, "forbidden": _each}
        read["tiers"] = lambda tiers: map(checks.listed, tiers)
        for argument in ("required", "forbidden", "tiers", "roots", "leaves"):
            given = getattr(self, argument)
            if not isinstance(given, Iterable):
                raise checks.ArgumentTypeError(argument, f"must be a list, got {given!r}", value=given)
            object.__setattr__(self, argument, tuple(read.get(argument, checks.listed)(given)))
        form = "{(column, column): probability}"
        object.__setattr__(self, "links", dict(checks.mapping("links", self.links, form)))

    @property
    def named(self) -> list[str]:
        """Columns that some constraint is about."""
        arcs: list[Any] = [arc for arc in (*self.required, *self.forbidden, *self.links) if len(arc) == 2]
        return sorted({*self.roots, *self.leaves, *(name for names in (*self.tiers, *arcs) for name in names)})

    def rules(self, table: Table, max_parents: int = 3, max_cells: int = MAX_TABLE_CELLS) -> Rules:
        """The constraints on the structures of a table, checked.

        Example:
            >>> from jaxbn.inputs.table import as_table
            >>> rules = Constraints(roots=["a"]).rules(as_table({"a": ["x", "y"], "b": ["u", "v"]}))
            >>> sorted(rules.forbidden)
            [('b', 'a')]
        """
        names = table.names
        checks.at_least("max_parents", max_parents, 0)
        must = _arcs("required", self.required, names)
        needed = {name: found for name, found in as_parents(must, names, "required").items() if found}
        ruled_out = {
            "forbidden": frozenset(_arcs("forbidden", self.forbidden, names)) | _of_signs(table),
            "tiers": _backwards(self.tiers, names),
            "roots": frozenset((other, root) for root in _names("roots", self.roots, names) for other in names),
            "leaves": frozenset((leaf, other) for leaf in _names("leaves", self.leaves, names) for other in names),
        }
        _check_required(needed, ruled_out, max_parents)
        banned = frozenset((parent, child) for arcs in ruled_out.values() for parent, child in arcs if parent != child)
        links = _log_odds(self.links, names, banned)
        return Rules(names, int(max_parents), needed, banned, check_max_cells(max_cells), links=links)


def as_constraints(constraints: Constraints | Mapping[str, Any] | None) -> Constraints:
    """Constraints, also from a mapping of their arguments."""
    if constraints is None or isinstance(constraints, Constraints):
        return constraints or Constraints()
    known = tuple(each.name for each in fields(Constraints))
    if not isinstance(constraints, Mapping):
        raise checks.ArgumentTypeError("constraints", f"must be jaxbn.Constraints(...), got {constraints!r}")
    for name in constraints:
        checks.one_of("constraints", name, known)
    return Constraints(**constraints)


@dataclass(frozen=True)
class Rules:
    """Checked constraints, by name and as bit masks over the columns: bit i stands for column i."""

    names: tuple[str, ...]
    max_parents: int
    required: Mapping[str, tuple[str, ...]]  # parents that a variable must have
    forbidden: frozenset[tuple[str, str]]  # arcs (parent, child) that must not be
    max_cells: int = MAX_TABLE_CELLS  # of a family's table; required parents alone may exceed it
    n_states: tuple[int, ...] = ()  # of the columns, where they are known
    sizes: tuple[int, ...] = ()  # states that a table has, observed or not
    links: Links = field(default_factory=dict)  # log odds of links

    def of_columns(self, columns: Mapping[str, Column]) -> Rules:
        """The rules for columns with these states."""
        states = tuple(columns[name].n_states for name in self.names)
        return replace(self, n_states=states, sizes=tuple(columns[name].size for name in self.names))

    @property
    def start(self) -> dict[str, tuple[str, ...]]:
        """The structure of the required arcs alone."""
        return {name: self.required.get(name, ()) for name in self.names}

    @property
    def ruled_out(self) -> frozenset[tuple[str, str]]:
        """Arcs that no structure has: forbidden ones, and required ones turned round."""
        turned = {(child, parent) for child, parents in self.required.items() for parent in parents}
        return self.forbidden | turned

    @property
    def constraints(self) -> Constraints:
        """What says the same, by name."""
        required = [(parent, child) for child, parents in self.required.items() for parent in parents]
        links = {(min(pair), max(pair)): 1 / (1 + math.exp(-odds)) for pair, odds in self.links.items()}
        return Constraints(required, self.forbidden, links=links)

    @cached_property
    def must(self) -> tuple[int, ...]:
        """Masks of the parents that each column must have."""
        return tuple(self._mask(self.required.get(name, ())) for name in self.names)

    @cached_property
    def never(self) -> tuple[int, ...]:
        """Masks of the columns that must not be its parents."""
        return tuple(self._mask(p for p, child in self.forbidden if child == name) for name in self.names)

    @cached_property
    def allowed(self) -> tuple[int, ...]:
        """Masks of the parents that it may have besides; none for a column of one state, which says nothing."""
        live = mask_of(i for i, states in enumerate(self.n_states) if states > 1)
        pairs = enumerate(zip(self.n_states, self.must, self.never, strict=True))
        return tuple(live & ~(1 << i | must | never) if states > 1 else 0 for i, (states, must, never) in pairs)

    @cached_property
    def odds(self) -> NDArray[np.float64] | None:
        """The log odds of links between columns by number [N, N]; None if nothing is known of any."""
        if not self.links:
            return None
        pairs = [[self.links.get(frozenset((a, b)), 0.0) for b in self.names] for a in self.names]
        return np.array(pairs, np.float64)

    def further(self, child: int, parents: int) -> int:
        """Columns, as a mask, that may join these parents; none once there are enough of them."""
        if parents.bit_count() >= self.max_parents:
            return 0
        others = self.allowed[child] & ~parents
        room = self.max_cells // cells(parents | 1 << child, self.sizes)
        return mask_of(i for i in bits(others) if self.sizes[i] <= room)

    def permits(self, child: int, parents: int) -> bool:
        """Whether a column may have these parents."""
        must = self.must[child]
        if parents == must:
            return True
        if must & ~parents or parents & ~(must | self.allowed[child]) or parents.bit_count() > self.max_parents:
            return False
        return cells(parents | 1 << child, self.sizes) <= self.max_cells

    def allows(self, graph: Sequence[int], changed: Sequence[int], n_states: Sequence[int]) -> bool:
        """Whether the families of the changed columns keep to the rules, and the graph has no cycle through them."""
        for child in changed:
            parents = graph[child]
            if parents & self.never[child] or self.must[child] & ~parents or parents.bit_count() > self.max_parents:
                return False
            if cells(parents | 1 << child, n_states) > self.max_cells:
                return False
        # new arcs lead into changed columns alone, so a new cycle passes through one of them
        return not any(ancestors(graph, child) >> child & 1 for child in changed)

    def candidates(self, name: str, others: Sequence[str], chosen: Sequence[str], columns: Columns) -> list[str]:
        """Others that may still join the parents of a variable: those with which its table is not too large."""
        own = math.prod(columns[member].size for member in (name, *chosen))
        free = [other for other in others if other not in chosen and (other, name) not in self.forbidden]
        fitting = [other for other in free if own * columns[other].size <= self.max_cells]
        return fitting if len(chosen) < self.max_parents else []

    def _mask(self, names: Iterable[str]) -> int:
        return mask_of(self.names.index(name) for name in names)


def _check_required(
    needed: Mapping[str, tuple[str, ...]], ruled_out: Mapping[str, frozenset[tuple[str, str]]], max_parents: int
) -> None:
    for child, found in needed.items():
        if len(found) > max_parents:
            why = f"gives {child!r} {len(found)} parents; raise "
            raise ArgumentError("required", why, Mention("max_parents"), f", which is {max_parents}")
        for parent, (argument, arcs) in product(found, ruled_out.items()):
            if (parent, child) in arcs:
                why = f"has the arc {parent!r} -> {child!r}, but "
                raise ArgumentError("required", why, Mention(argument), " rules it out; change one of them")


def _each(arcs: Iterable[Any]) -> Iterator[Any]:
    """The arcs, with groups of columns expanded to all their pairs."""
    for arc in arcs:
        ends = list(arc) if isinstance(arc, Sequence) and not isinstance(arc, str) else []
        if len(ends) != 2 or all(isinstance(end, str) or not isinstance(end, Iterable) for end in ends):
            yield arc
            continue
        parents, children = (checks.listed(end) for end in ends)
        yield from ((parent, child) for parent in parents for child in children if parent != child)


def _log_odds(
    links: Mapping[tuple[str, str], float], names: Sequence[str], banned: frozenset[tuple[str, str]]
) -> dict[frozenset[str], float]:
    """Log odds of links by both names."""
    found: dict[frozenset[str], float] = {}
    for (first, second), p in zip(_arcs("links", links, names), links.values(), strict=True):
        pair = frozenset((first, second))
        if first == second or pair in found:
            why = "is linked with itself" if first == second else "is there twice"
            raise ArgumentError("links", f"has the pair ({first!r}, {second!r}), which {why}; leave it out")
        if not isinstance(p, int | float | np.floating) or not 0 < p < 1:
            why = f"gives ({first!r}, {second!r}) the probability {p!r}; give one between 0 and 1, or put the arc into "
            raise ArgumentError("links", why, Mention("required"), " or ", Mention("forbidden"))
        if {(first, second), (second, first)} <= banned:
            why = f"has the pair ({first!r}, {second!r}), but other constraints rule out both directions"
            raise ArgumentError("links", f"{why}; leave it out, or change these")
        found[pair] = math.log(p) - math.log1p(-p)
    return found


def _names(argument: str, names: Iterable[str], known: Sequence[str]) -> list[str]:
    return [checks.known_name(argument, name, known) for name in checks.listed(names)]


def _backwards(tiers: Iterable[Iterable[str]], known: Sequence[str]) -> frozenset[tuple[str, str]]:
    """Arcs from a later tier into an earlier one; columns in no tier may have any."""
    tier_of: dict[str, int] = {}
    for number, tier in enumerate(tiers):
        for name in _names("tiers", tier, known):
            if tier_of.setdefault(name, number) != number:
                both = f"{tier_of[name] + 1} and {number + 1}"
                raise ArgumentError("tiers", f"has {name!r} in the tiers {both}; keep it in one of them")
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


def mask_of(columns: Iterable[int]) -> int:
    """The mask of some columns."""
    return reduce(or_, [1 << column for column in columns], 0)


def bits(mask: int) -> list[int]:
    """The columns of a mask, ascending."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def cells(members: int, n_states: Sequence[int]) -> int:
    """Cells of the table of some columns, given as a mask."""
    return math.prod([n_states[column] for column in bits(members)])


def union_of(sets: Sequence[int], columns: int) -> int:
    """The union of the sets of some columns, all as masks."""
    return reduce(or_, [sets[column] for column in bits(columns)], 0)


def ancestors(graph: Sequence[int], column: int) -> int:
    """All columns from which a path leads to a column; the column itself only if it lies on a cycle."""
    found, new = 0, graph[column]
    while new:
        found |= new
        new = union_of(graph, new) & ~found
    return found
