"""What a structure must keep to, as bit masks over the columns: bit i stands for column i."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from jaxbn.counts.codes import Column
from jaxbn.structure.constraints import Constraints


@dataclass(frozen=True)
class ArcRules:
    """Constraints on the parents of every column.

    Example:
        >>> rules = ArcRules.of([2, 3, 1], max_parents=2, forbidden=[(0, 1)])
        >>> [list(bits(mask)) for mask in rules.allowed]  # column 2 has one state: no arc can touch it
        [[1], [], []]
    """

    n_states: tuple[int, ...]
    sizes: tuple[int, ...]  # states that a table has, observed or not
    max_parents: int
    required: tuple[int, ...]  # masks of the parents a column must have
    allowed: tuple[int, ...]  # masks of those it may have besides
    max_cells: int | None  # of a family's table; required parents alone may exceed it

    @classmethod
    def of(
        cls,
        n_states: Sequence[int],
        *,
        max_parents: int,
        required: Mapping[int, Iterable[int]] | None = None,
        forbidden: Iterable[tuple[int, int]] = (),
        max_cells: int | None = None,
        sizes: Sequence[int] | None = None,
    ) -> ArcRules:
        """Rules from parents required of a column and forbidden arcs (parent, child).

        A column of one state has no arcs but required ones: it says nothing. Cells are counted by `sizes`, if given.
        """
        needed = {child: mask_of(parents) for child, parents in (required or {}).items()}
        live = mask_of(i for i, states in enumerate(n_states) if states > 1)
        allowed = [live & ~(1 << i) if states > 1 else 0 for i, states in enumerate(n_states)]
        for parent, child in forbidden:
            allowed[child] &= ~(1 << parent)
        musts = tuple(needed.get(i, 0) for i in range(len(n_states)))
        rules = cls(
            tuple(map(int, n_states)), tuple(map(int, sizes or n_states)), int(max_parents), musts,
            tuple(may & ~must for may, must in zip(allowed, musts, strict=True)), max_cells,
        )  # fmt: skip
        rules.some_order()
        return rules

    @classmethod
    def named(cls, columns: Mapping[str, Column], constraints: Constraints) -> ArcRules:
        """Rules from constraints by name; columns are numbered in the order of the mapping."""
        number = {name: i for i, name in enumerate(columns)}
        return cls.of(
            [column.n_states for column in columns.values()],
            max_parents=constraints.max_parents,
            required={number[c]: [number[p] for p in parents] for c, parents in constraints.required.items()},
            forbidden=[(number[parent], number[child]) for parent, child in constraints.forbidden],
            max_cells=constraints.max_cells,
            sizes=[column.size for column in columns.values()],
        )

    def further(self, child: int, parents: int) -> int:
        """Columns, as a mask, that may join these parents; none once there are enough of them."""
        if parents.bit_count() >= self.max_parents:
            return 0
        others = self.allowed[child] & ~parents
        if self.max_cells is None or others == 0:
            return others
        return others & self._narrow(self.max_cells // self._cells(child, parents))

    def permits(self, child: int, parents: int) -> bool:
        """Whether a column may have these parents."""
        must = self.required[child]
        if parents == must:
            return True
        if must & ~parents or parents & ~(must | self.allowed[child]) or parents.bit_count() > self.max_parents:
            return False
        return self.max_cells is None or self._cells(child, parents) <= self.max_cells

    def some_order(self) -> list[int]:
        """The first order of the columns in which required parents come first."""
        order: list[int] = []
        placed = 0
        while len(order) < len(self.n_states):
            ready = (i for i, must in enumerate(self.required) if not placed >> i & 1 and not must & ~placed)
            following = next(ready, None)
            if following is None:
                raise ValueError("the required arcs form a cycle; remove one of them")
            order.append(following)
            placed |= 1 << following
        return order

    def _cells(self, child: int, parents: int) -> int:
        """Cells of a family's table."""
        return self.sizes[child] * math.prod(self.sizes[i] for i in bits(parents))

    def _narrow(self, most: int) -> int:
        """Columns of at most `most` states."""
        return mask_of(i for i, states in enumerate(self.sizes) if states <= most)


def mask_of(columns: Iterable[int]) -> int:
    """The mask of some columns."""
    mask = 0
    for column in columns:
        mask |= 1 << column
    return mask


def bits(mask: int) -> Iterator[int]:
    """The columns of a mask, ascending.

    Example:
        >>> list(bits(0b1010))
        [1, 3]
    """
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
