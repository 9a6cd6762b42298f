"""A discrete network by positions: parents and tables, without names, bins or levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.graph import children_of, topological_order
from jaxbn.structure.constraints import mask_of, union_of


@dataclass(frozen=True)
class Structure:
    """Parents and numbers of states; variables are positions from 0.

    Sets of variables are masks: bit v of an integer says whether variable v is a member.

    Example:
        >>> chain = Structure(((), (0,)), (2, 3))
        >>> chain.families, chain.strides, chain.masks
        (((0,), (0, 1)), ((1,), (3, 1)), (1, 3))
    """

    parents: tuple[tuple[int, ...], ...]  # positions of each variable's parents
    sizes: tuple[int, ...]  # number of states of each variable

    @cached_property
    def families(self) -> tuple[tuple[int, ...], ...]:
        """The parents of each variable and then itself: the axes of its table."""
        return tuple((*found, child) for child, found in enumerate(self.parents))

    @cached_property
    def masks(self) -> tuple[int, ...]:
        """The families as masks."""
        return tuple(map(mask_of, self.families))

    @cached_property
    def strides(self) -> tuple[tuple[int, ...], ...]:
        """Strides of each family's flat table, one for each member."""
        shapes = [[self.sizes[v] for v in family] for family in self.families]
        return tuple(tuple(math.prod(shape[i + 1 :]) for i in range(len(shape))) for shape in shapes)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each variable."""
        return tuple(children_of(dict(enumerate(self.parents))).values())

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The variables, parents before children."""
        return topological_order(dict(enumerate(self.parents)))

    @cached_property
    def ancestors(self) -> tuple[int, ...]:
        """Each variable with all its ancestors, as a mask."""
        found = [0] * len(self.parents)
        for v in self.order:
            found[v] = union_of(found, mask_of(self.parents[v])) | 1 << v
        return tuple(found)


@dataclass(frozen=True, eq=False)
class Network:
    """A structure with its conditional tables."""

    structure: Structure
    tables: tuple[NDArray[np.float64], ...]  # P(variable | parents), [parents' states ..., own states]

    def __reduce__(self) -> tuple[Any, ...]:
        return Network, (self.structure, self.tables)  # without what can be worked out again

    @cached_property
    def log_tables(self) -> tuple[NDArray[np.float64], ...]:
        """Logarithms of the tables; -inf where a probability is 0."""
        with np.errstate(divide="ignore"):
            return tuple(np.log(table) for table in self.tables)

    @cached_property
    def positive(self) -> int:
        """The variables whose tables have no probability of 0, as a mask."""
        return mask_of(child for child, table in enumerate(self.tables) if table.all())

    @cached_property
    def routes(self) -> dict[Any, Any]:
        """How questions of each kind are answered, see ``questions``."""
        return {}


def network(parents: Sequence[Sequence[int]], tables: Sequence[Any]) -> Network:
    """A network of parents by position and their tables."""
    arrays = tuple(np.asarray(table, np.float64) for table in tables)
    sizes = tuple(table.shape[-1] for table in arrays)
    return Network(Structure(tuple(tuple(map(int, found)) for found in parents), sizes), arrays)


def positions(parents: Mapping[str, Sequence[str]]) -> tuple[tuple[int, ...], ...]:
    """Parents by position, in the order of the keys."""
    place = {name: i for i, name in enumerate(parents)}
    return tuple(tuple(place[parent] for parent in found) for found in parents.values())


def draw_states(weights: NDArray[np.float64], chances: NDArray[np.float64]) -> NDArray[np.int64]:
    """A state of each row in proportion to its weights, by the row's chance in [0, 1); [n, K] or [1, K]."""
    cumulative = np.cumsum(weights, axis=1)
    drawn = (chances[:, None] * cumulative[:, -1:] >= cumulative).sum(axis=1)
    return np.minimum(drawn, weights.shape[1] - 1)
