"""Changes of one arc: exactly those structures that differ by it, are acyclic and keep to the constraints."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from jaxbn.inputs.checks import ArgumentError
from jaxbn.inputs.graph import topological_order
from jaxbn.learning.turns import neighbours
from jaxbn.structure.constraints import Rules

Structure = dict[str, frozenset[str]]


def acyclic(parents: Structure) -> bool:
    try:
        topological_order({name: tuple(sorted(found)) for name, found in parents.items()})
    except ArgumentError:
        return False
    return True


def all_structures(names: tuple[str, ...], rules: Rules) -> list[Structure]:
    arcs = [(a, b) for a, b in product(names, names) if a != b]
    found = []
    for chosen in product([False, True], repeat=len(arcs)):
        parents = {n: frozenset(a for (a, b), on in zip(arcs, chosen, strict=True) if on and b == n) for n in names}
        within = all(
            len(own) <= rules.max_parents
            and own >= set(rules.required.get(child, ()))
            and not any((parent, child) in rules.forbidden for parent in own)
            for child, own in parents.items()
        )
        if within and acyclic(parents):
            found.append(parents)
    return found


def one_change(a: Structure, b: Structure) -> bool:
    """Whether an arc was taken away, turned, or a parent replaced."""
    ours, theirs = ({(p, c) for c, found in each.items() for p in found} for each in (a, b))
    less, more = ours - theirs, theirs - ours
    if len(less) != 1 or len(more) > 1:
        return False
    if not more:
        return True
    (old,), (new,) = less, more
    return new == old[::-1] or new[1] == old[1]


@pytest.mark.parametrize("max_parents", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_all_structures_one_change_away(seed: int, max_parents: int) -> None:
    rng = np.random.default_rng(seed)
    names = ("a", "b", "c", "d")
    required = {"b": ("a",)} if seed % 2 else {}
    rules = Rules(names, max_parents, required, frozenset({("c", "d")}) if seed > 1 else frozenset())
    everything = all_structures(names, rules)
    for place in rng.choice(len(everything), 10, replace=False):
        now = {name: tuple(sorted(found)) for name, found in everything[place].items()}
        found = [{**now, **change} for change in neighbours(now, rules)]
        as_sets = [tuple(frozenset(each[name]) for name in names) for each in found]
        wanted = [tuple(each[n] for n in names) for each in everything if one_change(everything[place], each)]
        assert len(set(as_sets)) == len(as_sets)
        assert set(as_sets) == set(wanted)
