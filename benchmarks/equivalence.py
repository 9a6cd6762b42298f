"""What rows can tell of a graph: its links, and the directions that all equivalent graphs share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

Parents = Mapping[str, Sequence[str]]
Arc = tuple[str, str]
Link = frozenset[str]


class Class(NamedTuple):
    """The completed partially directed graph of an equivalence class."""

    directed: frozenset[Arc]
    undirected: frozenset[Link]

    @property
    def links(self) -> frozenset[Link]:
        """All links, whatever their direction."""
        return self.undirected | {frozenset(arc) for arc in self.directed}


class Distance(NamedTuple):
    """How far a graph is from the true one, both as classes."""

    found: int  # links of the true graph that are there
    missing: int
    false: int
    turned: int  # found links that are directed in another way, or in one of the two only
    distance: int  # missing, false and turned ones


def class_of(parents: Parents) -> Class:
    """The class of an acyclic graph: arcs into a common child of two that are not linked, and what follows (Meek 1995).

    Example:
        >>> sorted(class_of({"a": (), "b": (), "c": ("a", "b"), "d": ("c",)}).directed)
        [('a', 'c'), ('b', 'c'), ('c', 'd')]
        >>> len(class_of({"a": (), "b": ("a",), "c": ("b",)}).undirected)
        2
    """
    linked: dict[str, set[str]] = {name: set() for name in parents}
    for child, of_child in parents.items():
        for parent in of_child:
            linked[child].add(parent)
            linked[parent].add(child)
    directed = {
        (parent, child)
        for child, of_child in parents.items()
        for pair in combinations(of_child, 2)
        if pair[1] not in linked[pair[0]]
        for parent in pair
    }
    left = {(p, c) for c, of_child in parents.items() for p in of_child} - directed
    while follows := {arc for arc in left if _follows(*arc, directed, linked)}:
        directed |= follows
        left -= follows
    return Class(frozenset(directed), frozenset(frozenset(arc) for arc in left))


def _follows(tail: str, head: str, directed: set[Arc], linked: Mapping[str, set[str]]) -> bool:
    """Whether a link of the graph must point from tail to head because of those that are directed.

    The rules ask for a direction that would otherwise close a cycle or make a new common child; links of the graph
    itself are offered in their own direction only, which is the one that a rule can give.
    """
    into_tail = [other for other in linked[tail] if (other, tail) in directed]
    if any(other not in linked[head] for other in into_tail):
        return True
    if any((tail, other) in directed and (other, head) in directed for other in linked[tail]):
        return True
    between = [o for o in linked[tail] & linked[head] if (o, head) in directed and (o, tail) not in directed]
    return any(second not in linked[first] for first, second in combinations(between, 2))


def distance(found: Parents, truth: Parents) -> Distance:
    """Structural distance of the classes of two graphs over the same names."""
    ours, true = class_of(found), class_of(truth)
    common = ours.links & true.links
    turned = sum(_direction(ours, link) != _direction(true, link) for link in common)
    missing, false = len(true.links - common), len(ours.links - common)
    return Distance(len(common), missing, false, turned, missing + false + turned)


def _direction(graph: Class, link: Link) -> Arc | None:
    first, second = sorted(link)
    if (first, second) in graph.directed:
        return first, second
    return (second, first) if (second, first) in graph.directed else None
