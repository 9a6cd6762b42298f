"""A discrete network by positions: parents and tables, without names, bins or levels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.graph import topological_order


@dataclass(frozen=True)
class Structure:
    """Parents and numbers of states; variables are positions from 0.

    Attributes:
        parents: positions of each variable's parents.
        sizes: number of states of each variable.

    Example:
        >>> chain = Structure(((), (0,)), (2, 3))
        >>> chain.families, chain.strides
        (((0,), (0, 1)), ((1,), (3, 1)))
    """

    parents: tuple[tuple[int, ...], ...]
    sizes: tuple[int, ...]

    @cached_property
    def families(self) -> tuple[tuple[int, ...], ...]:
        """Of each variable its parents and then itself: the axes of its table."""
        return tuple((*found, child) for child, found in enumerate(self.parents))

    @cached_property
    def strides(self) -> tuple[tuple[int, ...], ...]:
        """How far apart, in the flat table of a family, two cells are that differ by 1 in a member."""
        shapes = [[self.sizes[v] for v in family] for family in self.families]
        return tuple(tuple(math.prod(shape[i + 1 :]) for i in range(len(shape))) for shape in shapes)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each variable."""
        found: list[list[int]] = [[] for _ in self.parents]
        for child, parents in enumerate(self.parents):
            for parent in parents:
                found[parent].append(child)
        return tuple(map(tuple, found))

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The variables, parents before children."""
        named = {str(child): [str(parent) for parent in found] for child, found in enumerate(self.parents)}
        return tuple(int(name) for name in topological_order(named))


@dataclass(frozen=True, eq=False)
class Network:
    """A structure with its conditional tables.

    Attributes:
        structure: parents and numbers of states.
        tables: P(variable | parents), float64 [parents' states ..., own states].
    """

    structure: Structure
    tables: tuple[NDArray[np.float64], ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return Network, (self.structure, self.tables)  # without what can be worked out again

    @cached_property
    def log_tables(self) -> tuple[NDArray[np.float64], ...]:
        """Logarithms of the tables; -inf where a probability is 0."""
        with np.errstate(divide="ignore"):
            return tuple(np.log(table) for table in self.tables)

    @cached_property
    def positive(self) -> tuple[bool, ...]:
        """Whether all probabilities of each table are above 0."""
        return tuple(bool(table.all()) for table in self.tables)

    @cached_property
    def routes(self) -> dict[Any, Any]:
        """How questions of each kind are answered, see ``model.inference``."""
        return {}


def network(parents: Sequence[Sequence[int]], tables: Sequence[Any]) -> Network:
    """A network of parents by position and their tables.

    Example:
        >>> network([(), (0,)], [[0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]]]).structure.sizes
        (2, 2)
    """
    arrays = tuple(np.asarray(table, np.float64) for table in tables)
    sizes = tuple(table.shape[-1] for table in arrays)
    return Network(Structure(tuple(tuple(map(int, found)) for found in parents), sizes), arrays)


def positions(parents: Mapping[str, Sequence[str]]) -> tuple[tuple[int, ...], ...]:
    """Parents by position, in the order of the keys.

    Example:
        >>> positions({"a": (), "b": ("a",)})
        ((), (0,))
    """
    place = {name: i for i, name in enumerate(parents)}
    return tuple(tuple(place[parent] for parent in found) for found in parents.values())


def ancestors(parents: Any, found: Iterable[Any]) -> set[Any]:
    """The variables and all their ancestors; the tables of all others are summed out to 1.

    Example:
        >>> sorted(ancestors({"a": (), "b": ("a",), "c": ("b",)}, ["b"]))
        ['a', 'b']
    """
    result: set[Any] = set()
    stack = list(found)
    while stack:
        variable = stack.pop()
        if variable not in result:
            result.add(variable)
            stack += parents[variable]
    return result
