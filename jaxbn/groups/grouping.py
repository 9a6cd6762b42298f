"""A grouping: the levels of one discrete variable, merged by evidence.

A grouping is to a discrete column with many levels what a binning is to a continuous one, and it is judged by the same
number: the evidence of the data at the level of the original categories (docs/maths.md, "Groups of levels"). Coarse
codes are easy to predict, and what they leave out is paid for by the probability of the levels given their groups.

For a given number of groups everything is a sum over groups, so the gain of a merge is exact and cheap (see ``levels``,
``merging``). The search merges greedily down to one group, keeps the best partition on the way, then moves single
levels. It is deterministic, not exhaustive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jaxbn.cuts.binning import same_number
from jaxbn.inputs import checks
from jaxbn.inputs.columns import MISSING, Level, as_levels, encode
from jaxbn.inputs.later import pd

SHOWN = 3  # number of levels that the label of a group names


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups of the levels of one discrete variable.

    Attributes:
        groups: the levels of each group; the code of a group is its position.
        cost: minus the evidence that chose the groups (lower is better), NaN if none did.
        method: what chose the groups, e.g. ``"evidence"``.

    Example:
        >>> grouping = Grouping([["ant", "bee"], ["cat"]])
        >>> grouping.n_groups, grouping.levels
        (2, ('ant', 'bee', 'cat'))
        >>> grouping(["cat", "ant"]).tolist()
        [1, 0]
        >>> grouping(["cow"])
        Traceback (most recent call last):
            ...
        jaxbn.inputs.checks.ArgumentError: column 'values' holds 1 unknown level(s): 'cow'; known: 'ant', ...
    """

    groups: tuple[tuple[Level, ...], ...]
    cost: float = float("nan")
    method: str = "given"

    def __post_init__(self) -> None:
        groups = tuple(map(tuple, self.groups))
        if not groups or not all(groups):
            raise ValueError(f"groups must hold at least one level each, got {self.groups!r}")
        object.__setattr__(self, "groups", groups)
        flat = [level for group in groups for level in group]
        if repeated := [level for level, n in Counter(flat).items() if n > 1]:
            raise ValueError(f"groups hold the level {repeated[0]!r} more than once; put every level into one group")

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """All levels, sorted."""
        return tuple(sorted(level for group in self.groups for level in group))

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.groups)

    @property
    def n_bins(self) -> int:
        """Number of groups, under the name a ``Binning`` has for it."""
        return len(self.groups)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """A readable name of each group: its first levels, and how many more there are.

        Example:
            >>> Grouping([["ant", "bee", "cow", "dog", "emu"], ["cat"]]).labels
            ('ant, bee, cow and 2 more', 'cat')
        """
        shown = (group if len(group) <= SHOWN + 1 else group[:SHOWN] for group in self.groups)
        more = (len(group) - SHOWN for group in self.groups)
        texts = (", ".join(map(str, levels)) for levels in shown)
        return tuple(f"{text} and {n} more" if n > 1 else text for text, n in zip(texts, more, strict=True))

    def __call__(self, values: Any, *, name: str = "values") -> NDArray[np.int32]:
        """Code of the group of each value, int32, 0-based, -1 where the entry is missing.

        Raises:
            ValueError: a value is not one of the levels; the message names it, and the column by its ``name``.
        """
        flat = [level for group in self.groups for level in group]
        group_of = np.repeat(np.arange(self.n_groups, dtype=np.int32), [len(group) for group in self.groups])
        return np.append(group_of, np.int32(MISSING))[encode(values, flat, name=name)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grouping):
            return NotImplemented
        return self.groups == other.groups and self.method == other.method and same_number(self.cost, other.cost)

    def __hash__(self) -> int:
        return hash((self.groups, self.method))

    def __repr__(self) -> str:
        n = len(self.levels)
        shown = checks.few(self.labels, 12, between=" | ")
        return f"Grouping: {n} level{'s' * (n != 1)} in {self.n_groups} group{'s' * (self.n_groups != 1)}: {shown}"


def group_levels(
    values: Any,
    parents: Sequence[ArrayLike] = (),
    children: Sequence[tuple[ArrayLike, Sequence[ArrayLike]]] = (),
    *,
    weights: ArrayLike | None = None,
) -> Grouping:
    """Merge the levels of one discrete variable into groups, given its Markov blanket, by the evidence of the data.

    Args:
        values: the variable's level in each row: strings, booleans, numbers or a pandas categorical.
        parents: codes of each parent, non-negative integers [n].
        children: for each child its codes [n] and the codes of its other parents, ``(codes, (spouse, ...))``.
        weights: how often each row counts, non-negative integers [n]; all one if not given.

    Returns:
        The grouping; its ``cost`` is minus the evidence. Declared categories without a row join the group in which
        they cost least, the one with the fewest rows for each level.

    Raises:
        ValueError: missing values, lengths that differ, negative codes or weights; the message names the argument.
        TypeError: levels of several types.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> city = rng.integers(8, size=2000)
        >>> rain = (rng.random(2000) < np.where(city < 4, 0.2, 0.7)).astype(int)
        >>> group_levels(city, children=[(rain, ())]).groups
        ((0, 1, 2, 3), (4, 5, 6, 7))
    """
    from jaxbn.cuts.blanket import checked_child, factors_at
    from jaxbn.cuts.evidence import WEIGHT
    from jaxbn.groups.levels import best_grouping

    column = pd.Series(values)
    n = len(column)
    if n == 0:
        raise ValueError("values is empty; pass at least one row")
    levels, codes = as_levels("values", column)
    absent = np.flatnonzero(codes == MISSING)
    if len(absent):
        raise ValueError(f"values has {len(absent)} missing entries, the first in row {absent[0]}; drop them")
    parent_codes = [checks.integers(f"parents[{i}]", column, n) for i, column in enumerate(parents)]
    families = [checked_child(i, child, n) for i, child in enumerate(children)]
    counts = checks.row_weights(weights, n)
    kept = np.arange(n) if counts is None else np.flatnonzero(counts)
    factors = factors_at(parent_codes, families, kept)
    return best_grouping(levels, codes[kept], factors, None if counts is None else counts[kept], weight=WEIGHT)


def frequency_grouping(levels: Sequence[Level], codes: NDArray[np.int32], n_groups: int) -> Grouping:
    """The most frequent levels alone, all others together: the grouping that learning starts from."""
    counts = np.bincount(codes, minlength=len(levels))
    group_of = np.full(len(levels), n_groups - 1)
    frequent = np.argsort(-counts, kind="stable")[: n_groups - 1]
    group_of[frequent] = np.arange(len(frequent))
    return Grouping(as_groups(levels, group_of), method="frequency")


def check_shares(name: str, grouping: Grouping, levels: Sequence[Level], shares: NDArray[np.float64] | None) -> None:
    """Refuse a grouping whose levels are not the variable's, and shares that do not sum to 1 in each group."""
    if set(grouping.levels) != set(levels):
        odd = sorted(map(repr, set(grouping.levels) ^ set(levels)))[:5]
        raise ValueError(f"the grouping of {name!r} must hold exactly its levels; they differ in {', '.join(odd)}")
    if shares is None or np.shape(shares) != (len(levels),):
        raise ValueError(f"the grouped variable {name!r} needs one share for each of its {len(levels)} levels")
    if (shares < 0).any() or not np.allclose(np.bincount(grouping(levels), shares), 1.0):
        raise ValueError(f"the shares of {name!r} must be probabilities that sum to 1 in each group")


def as_groups(levels: Sequence[Level], group_of: NDArray[np.integer]) -> tuple[tuple[Level, ...], ...]:
    """The levels of each group, groups in the order of their first level."""
    groups: dict[int, list[Level]] = {}
    for level, group in zip(levels, group_of.tolist(), strict=True):
        groups.setdefault(group, []).append(level)
    return tuple(tuple(group) for group in groups.values())
