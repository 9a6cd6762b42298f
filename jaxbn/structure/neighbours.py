"""Structures that differ from a given one by an arc: removed, reversed, or with another parent in its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxbn.inputs.graph import children_of
from jaxbn.structure.constraints import Rules

Parents = Mapping[str, tuple[str, ...]]
Change = dict[str, tuple[str, ...]]
"""New parents of one or two variables; the others keep theirs."""


def neighbours(parents: Parents, rules: Rules) -> Iterator[Change]:
    """All changes of one arc that leave a structure acyclic and within its constraints, sizes of tables apart.

    No change adds an arc: with cuts tuned to it, a spurious arc is too easily found in noise.

    Example:
        >>> free = Rules(("a", "b"), 3, {}, frozenset())
        >>> list(neighbours({"a": (), "b": ("a",)}, free))
        [{'b': ()}, {'a': ('b',), 'b': ()}]
    """
    below = _descendants(parents)
    for child, found in parents.items():
        for parent in found:
            if parent in rules.required.get(child, ()):
                continue
            rest = tuple(p for p in found if p != parent)
            yield {child: rest}
            if _may_turn(parent, child, parents, below, rules):
                yield {parent: (*parents[parent], child), child: rest}
            for other in _further(child, parents, below, rules):
                yield {child: (*rest, other)}


def _further(child: str, parents: Parents, below: Mapping[str, set[str]], rules: Rules) -> list[str]:
    """Variables that may become a parent without closing a cycle."""
    return [
        other
        for other in parents
        if other != child
        and other not in parents[child]
        and other not in below[child]
        and (other, child) not in rules.forbidden
    ]


def _may_turn(parent: str, child: str, parents: Parents, below: Mapping[str, set[str]], rules: Rules) -> bool:
    """Whether an arc may point the other way: there is no other path from its parent to its child."""
    others = (p for p in parents[child] if p != parent)
    return (
        len(parents[parent]) < rules.max_parents
        and (child, parent) not in rules.forbidden
        and not any(other in below[parent] for other in others)
    )


def _descendants(parents: Parents) -> dict[str, set[str]]:
    """Everything that a variable has an arc to, directly or by way of others."""
    children = children_of(parents)
    found: dict[str, set[str]] = {}
    for name in parents:
        found[name], ahead = set(), [name]
        while ahead:
            new = [child for child in children[ahead.pop()] if child not in found[name]]
            found[name].update(new)
            ahead += new
    return found
