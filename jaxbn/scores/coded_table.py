"""A table as the learners see it: every variable a column of codes, by a binning or a grouping where it has one."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.counts.codes import Column, compact_known, narrow
from jaxbn.cuts.binning import NOT_CUT, Binning, equal_frequency_binning, equal_width_binning, equal_width_codes
from jaxbn.cuts.shapes.base_density import column_shapes
from jaxbn.cuts.shapes.shape import Shape
from jaxbn.cuts.sorted_values import Ordered, sort_values
from jaxbn.groups.grouping import Grouping, frequency_grouping
from jaxbn.inputs.columns import MISSING
from jaxbn.inputs.graph import MAX_TABLE_CELLS, Parents, check_table_sizes
from jaxbn.inputs.table import Table
from jaxbn.runtime import limits
from jaxbn.runtime.threads import in_threads

Columns = Mapping[str, Column]
Coding = Binning | Grouping
"""How a variable is coded: cut into bins, or its levels merged."""

STARTING_GROUPS = 10  # groups of levels that a search begins with
COLUMNS_KEPT = 2**29  # bytes of codes that are remembered
NEARLY = 1.5  # up to so many times the positions of a grid, a column has none: a grid is searched twice, or more often


class Start(NamedTuple):
    """Where a discretization begins: a column for every variable, a binning for every continuous or grouped one."""

    columns: dict[str, Column]
    binnings: dict[str, Coding]


@dataclass
class CodedTable:
    """A table prepared for many discretizations: values sorted once, every column made once.

    A column's key is a hash of what made it, so that it does not depend on which column came first.
    """

    table: Table
    grouped: tuple[str, ...] = ()  # discrete variables whose levels are merged
    max_cells: int = MAX_TABLE_CELLS  # of the table of a family: bins and groups are few enough for that
    flat: bool = False  # whether values are spread evenly inside bins, whatever their column looks like
    shapes: dict[str, tuple[Shape, ...]] = field(default_factory=dict)  # found when first asked for
    given: Mapping[str, Binning] = field(default_factory=dict)  # continuous variables that are never cut again
    origin: CodedTable | None = None  # the rows whose shapes the columns have, if not these
    ordered: dict[str, Ordered] = field(init=False)
    _keys: dict[tuple[str, bytes], Column] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        values = self.table.values
        self.ordered = dict(zip(values, in_threads(sort_values, values.values(), rows=self.table.n_rows), strict=True))

    def like(self, table: Table) -> CodedTable:
        """Other rows of the same columns: completed, drawn again or sampled. Columns keep their shapes."""
        origin = self.origin or self
        return CodedTable(table, self.grouped, self.max_cells, self.flat, given=self.given, origin=origin)

    def shapes_of(self, name: str) -> tuple[Shape, ...]:
        """The shapes that a continuous variable may have inside its bins; none for an even one."""
        if self.flat:
            return ()
        if self.origin is not None:
            return self.origin.shapes_of(name)
        if name not in self.shapes:
            unknown = [each for each in self.ordered if each not in self.shapes]
            found = in_threads(self.found_shapes, unknown, rows=self.table.n_rows)
            self.shapes.update(zip(unknown, found, strict=True))
        return self.shapes[name]

    def found_shapes(self, name: str) -> tuple[Shape, ...]:
        """The same, found anew and not remembered."""
        limits.check()
        return column_shapes(self.ordered[name])

    @property
    def names(self) -> tuple[str, ...]:
        """All variables, in column order."""
        return self.table.names

    def column(
        self, name: str, identity: bytes, declared: int, codes: Callable[[], tuple[NDArray[np.integer], int]]
    ) -> Column:
        """The column with the codes made here, without gaps; `identity` says how, and `declared` how many may be."""
        known = self._keys.get((name, identity))
        if known is None:
            dense, n_states = codes()
            wide = dense.astype(np.int32, copy=False)  # so that products of codes fit
            key = int.from_bytes(hashlib.blake2b(repr((name, identity)).encode(), digest_size=16).digest())
            known = self._keys[name, identity] = Column(key, wide, n_states, declared)
            if len(self._keys) * wide.nbytes > COLUMNS_KEPT:
                self._keys.pop(next(iter(self._keys)), None)  # the oldest: made once more if it comes back
        return known

    def coded(self, name: str, binning: Coding) -> Column:
        """A continuous variable coded by a binning, or a discrete one by a grouping."""
        if isinstance(binning, Grouping):
            of_level = np.append(binning(self.table.levels[name], name=name), MISSING)
            codes = self.table.codes[name]
            return self.column(
                name, repr(binning.groups).encode(), binning.n_groups, lambda: compact_known(of_level[codes])
            )

        def bins() -> tuple[NDArray[np.integer], int]:
            # the rows are sorted already: only the cuts are searched for, and bins come in the order of the values
            values = self.ordered[name].values
            sizes = np.diff(np.searchsorted(values, binning.cuts), prepend=0, append=len(values))
            sizes = sizes[sizes > 0]  # bins without a value have no code
            return self._by_rows(name, np.repeat(np.arange(len(sizes), dtype=narrow(len(sizes))), sizes)), len(sizes)

        return self.column(name, binning.cuts.tobytes(), binning.n_bins, bins)

    def _by_rows(self, name: str, codes: NDArray[np.integer]) -> NDArray[np.integer]:
        """The codes of a continuous variable's values, in ascending order, by the rows; -1 where it has no value."""
        by_rows = np.full(self.table.n_rows, MISSING, codes.dtype)
        by_rows[self.ordered[name].order] = codes
        return by_rows

    def known_codes(self, name: str) -> NDArray[np.int32]:
        """The codes of a discrete variable in the rows that have it."""
        codes = self.table.codes[name]
        return codes if name not in self.table.holes else codes[codes != MISSING]

    def start(self, n_bins: int, kind: str = "width") -> Start:
        """Discrete variables as they are, continuous ones in bins of equal width or frequency.

        For a variable to be grouped, the most frequent levels stand alone and all others together.
        """

        def coded(name: str) -> tuple[Column, Coding]:
            return self.plain(name, STARTING_GROUPS) if name in self.grouped else self.plain(name, n_bins, kind)

        coarse = [*self.grouped, *self.table.values]
        plain = dict(zip(coarse, in_threads(coded, coarse, rows=self.table.n_rows), strict=True))
        columns = {name: plain[name][0] if name in plain else self._levels(name) for name in self.names}
        return Start(columns, {name: coding for name, (_, coding) in plain.items()})

    def grid(self, name: str, most: int | None) -> int | None:
        """The grid of a variable: `most` positions, or None if it has no more than `NEARLY` times these."""
        if most is None or name not in self.ordered or self.ordered[name].n_distinct <= NEARLY * most:
            return None
        return most

    def on_grid(self, most: int | None) -> bool:
        """Whether some variable has more positions than a grid of `most`."""
        return any(self.grid(name, most) for name in self.ordered)

    def recoded(self, binnings: Mapping[str, Coding]) -> Start:
        """Every variable as some codings have it, the others as they are."""
        columns = {
            name: self.coded(name, binnings[name]) if name in binnings else self._levels(name) for name in self.names
        }
        return Start(columns, dict(binnings))

    def _levels(self, name: str) -> Column:
        return self.column(name, b"levels", len(self.table.levels[name]), lambda: compact_known(self.table.codes[name]))

    def fitting(self, start: Start, parents: Parents) -> Start:
        """The same start with fewer bins or groups where a table would have too many cells."""
        columns, binnings = dict(start.columns), dict(start.binnings)
        for child, found in parents.items():
            family = (child, *found)
            while math.prod(columns[name].size for name in family) > self.max_cells:
                free = [name for name in family if name in binnings and name not in self.given]
                name = max(free, key=lambda name: columns[name].size)
                columns[name], binnings[name] = self.plain(name, columns[name].size // 2)
        return Start(columns, binnings)

    def check_cells(self, parents: Parents) -> None:
        """Refuse families whose tables are too large whatever the bins and groups."""
        fixed = {name: len(self.table.levels[name]) for name in self.table.codes if name not in self.grouped}
        fixed |= {name: binning.n_bins for name, binning in self.given.items()}
        check_table_sizes(parents, {name: fixed.get(name, 1) for name in self.names}, self.max_cells)

    def plain(self, name: str, size: int, kind: str = "frequency") -> tuple[Column, Coding]:
        """A variable in so many groups, the most frequent levels alone and all others together, or in so many bins.

        Bins are of equal `"width"` or `"frequency"`, or those that the variable was given.
        """
        coding: Coding
        if name in self.grouped:
            coding = frequency_grouping(self.table.levels[name], self.known_codes(name), size)
        elif name in self.given:
            coding = self.given[name]
        elif kind == "frequency":
            coding = replace(equal_frequency_binning(self.ordered[name], size), method=NOT_CUT)
        else:
            values = self.ordered[name].values
            coding = replace(equal_width_binning(values, size), method=NOT_CUT)
            codes, identity = equal_width_codes(values, size), b"equal width %d" % size
            own = self.column(name, identity, coding.n_bins, lambda: compact_known(self._by_rows(name, codes)))
            return own, coding
        return self.coded(name, coding), coding


def same_coding(a: Coding, b: Coding) -> bool:
    """Whether two codings of a variable give the same codes."""
    if isinstance(a, Grouping) or isinstance(b, Grouping):
        return isinstance(a, Grouping) and isinstance(b, Grouping) and a.groups == b.groups
    return np.array_equal(a.cuts, b.cuts)


def initial_bins(table: Table, grouped: Sequence[str] = ()) -> int:
    """The largest cardinality among the discrete variables; with none of them round(ln(variables) + 1).

    A variable that is to be grouped counts with at most the number of groups at the start.
    """
    sizes = {name: len(np.unique(codes[codes != MISSING])) for name, codes in table.codes.items()}
    if sizes:
        return max(min(n, STARTING_GROUPS) if name in grouped else n for name, n in sizes.items())
    return round(math.log(len(table.names)) + 1)
