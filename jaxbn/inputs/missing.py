"""What is done about missing entries: kept, to be inferred later, refused, dropped with their rows, or a state."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from jaxbn.inputs.checks import ArgumentError, Mention, one_of
from jaxbn.inputs.refusals import DROP, wrong

if TYPE_CHECKING:
    import pandas as pd

LOG = logging.getLogger("jaxbn")
DROP_COLUMNS = Mention("drop columns", words="drop these columns")

Missing = Literal["infer", "error", "drop", "state"]
"""What users can ask for, see ``jaxbn.as_table``."""

MISSING_CHOICES: tuple[Missing, ...] = ("infer", "error", "drop", "state")

MISSING_LEVEL = "(missing)"
"""The level of a missing entry where that is a state of its own; a network that has it codes missing entries so."""


class Holes(NamedTuple):
    """How many entries are missing, and where."""

    by_column: dict[str, int]  # columns that lack some
    n_holed: int  # rows that lack some
    n_rows: int
    n_columns: int

    @property
    def n_entries(self) -> int:
        """Missing entries."""
        return sum(self.by_column.values())

    def words(self) -> str:
        """Entries, rows and columns, in a few words.

        Example:
            >>> Holes({"a": 1, "b": 2}, 2, 10, 3).words()
            "3 of 30 entries (10 %), in 2 of 10 rows and 2 of 3 columns: 'a' (1), 'b' (2)"
        """
        every = self.n_rows * self.n_columns
        return (
            f"{self.n_entries} of {every} entries ({share_words(self.n_entries / every)}), in {self.n_holed} of "
            f"{self.n_rows} rows and {len(self.by_column)} of {self.n_columns} columns: {listed(self.by_column)}"
        )


def share_words(share: float) -> str:
    """A share in percent, with a digit after the point where it is small.

    Example:
        >>> share_words(0.004), share_words(0.25)
        ('0.4 %', '25 %')
    """
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def listed(counts: Mapping[str, int], most: int = 12) -> str:
    """Columns with their numbers, as messages have them."""
    shown = [f"{name!r} ({count})" for name, count in list(counts.items())[:most]]
    return ", ".join(shown) + (", ..." if len(counts) > most else "")


def holes_of(frame: pd.DataFrame) -> Holes:
    """Where entries of a frame are missing."""
    absent = frame.isna()
    counts = {str(name): int(count) for name, count in absent.sum().items() if count}
    return Holes(counts, int(absent.any(axis=1).sum()), len(frame), frame.shape[1])


def settle(frame: pd.DataFrame, missing: Missing) -> tuple[pd.DataFrame, str]:
    """The frame with its missing entries dealt with, and one line that says what was found and done, if anything.

    Rows without any value say nothing: they are left out, except where being missing is a state.

    Raises:
        ValueError: a column without any value, missing entries where they are refused, no row left.
    """
    one_of("missing", missing, MISSING_CHOICES)
    holes = holes_of(frame)
    if not holes.by_column:
        return frame, ""
    for name, count in holes.by_column.items():
        if count == len(frame):
            raise wrong(name, f"has no value in any of the {len(frame)} rows; ", DROP)
    if missing == "error":
        raise refused(holes.by_column, holes.n_holed, holes.n_rows)
    if missing == "drop":
        return _complete_rows(frame, holes)
    done = "inferred" if missing == "infer" else "a state of their own"
    empty = frame.isna().all(axis=1)
    left_out = int(empty.sum()) if missing == "infer" else 0
    line = f"missing: {holes.words()}; they are {done}"
    if left_out:
        frame = frame[~empty].reset_index(drop=True)
        line += f", and {left_out} row{'s' * (left_out != 1)} without any value left out"
    return frame, line


def _complete_rows(frame: pd.DataFrame, holes: Holes) -> tuple[pd.DataFrame, str]:
    complete = frame[frame.notna().all(axis=1)].reset_index(drop=True)
    if complete.empty:
        raise refused(holes.by_column, holes.n_holed, holes.n_rows, every=True)
    line = f"{holes.n_holed} of {len(frame)} rows were dropped for missing entries, in columns "
    return complete, line + listed(holes.by_column)


def refused(by_column: Mapping[str, int], n_holed: int, n_rows: int, *, every: bool = False) -> ArgumentError:
    """The error that says where entries are missing; with `every`, that dropping rows would leave none."""
    infer = "; infer them with ", Mention("missing", "infer")
    if every:
        found = f"every row has a missing value, in columns {listed(by_column)}"
        rest: tuple[str | Mention, ...] = (", or ", DROP_COLUMNS, ", those with most of them")
    else:
        found = f"missing values in {n_holed} of {n_rows} rows, in columns {listed(by_column)}"
        rest = ", fill them in, ", DROP_COLUMNS, ", or drop the rows with ", Mention("missing", "drop")
    return ArgumentError("data", found, *infer, *rest, subject="")
