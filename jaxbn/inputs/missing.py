"""What is done about missing entries: kept, to be inferred later, refused, dropped with their rows, or a state."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Literal

from jaxbn.inputs.checks import DROP, ArgumentError, Mention, few, wrong
from jaxbn.inputs.later import pd

LOG = logging.getLogger("jaxbn")
DROP_COLUMNS = Mention("drop columns", words="drop these columns")

Missing = Literal["infer", "error", "drop", "state"]  # what users can ask for, see ``jaxbn.as_table``
MISSING_CHOICES: tuple[Missing, ...] = ("infer", "error", "drop", "state")

MISSING_LEVEL = "(missing)"  # where being missing is a state, it is this level: networks that have it code holes so


def share_words(share: float) -> str:
    """A share in percent, with a digit after the point where it is small.

    Example:
        >>> share_words(0.004), share_words(0.25)
        ('0.4 %', '25 %')
    """
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def listed(counts: Mapping[str, int]) -> str:
    """Columns with their numbers, as messages have them."""
    return few([f"{name!r} ({count})" for name, count in counts.items()], 12)


def settle(frame: pd.DataFrame, missing: Missing) -> tuple[pd.DataFrame, str]:
    """The frame with its missing entries dealt with, and one line that says what was found and done, if anything.

    Rows without any value say nothing: they are left out, except where being missing is a state.
    """
    absent = frame.isna()
    counts = {str(name): int(count) for name, count in absent.sum().items() if count}
    if not counts:
        return frame, ""
    n_rows, n_holed = len(frame), int(absent.any(axis=1).sum())
    check_holes(counts, n_holed, n_rows, missing)
    if missing == "drop":
        complete = frame[frame.notna().all(axis=1)].reset_index(drop=True)
        return complete, f"{n_holed} of {n_rows} rows were dropped for missing entries, in columns {listed(counts)}"
    total = sum(counts.values())
    line = (
        f"missing: {total} of {frame.size} entries ({share_words(total / frame.size)}), in {n_holed} of {n_rows} rows "
        f"and {len(counts)} of {frame.shape[1]} columns: {listed(counts)}; they are "
        f"{'inferred' if missing == 'infer' else 'a state of their own'}"
    )
    empty = absent.all(axis=1)
    left_out = int(empty.sum()) if missing == "infer" else 0
    if left_out:
        frame = frame[~empty].reset_index(drop=True)
        line += f", and {left_out} row{'s' * (left_out != 1)} without any value left out"
    return frame, line


def check_holes(counts: Mapping[str, int], n_holed: int, n_rows: int, missing: Missing) -> None:
    """Refuse columns without any value, missing entries where these are refused, and to drop every row."""
    for name, count in counts.items():
        if count == n_rows:
            raise wrong(name, f"has no value in any of the {n_rows} rows; ", DROP)
    infer = "; infer them with ", Mention("missing", "infer")
    if missing == "error":
        found = f"missing values in {n_holed} of {n_rows} rows, in columns {listed(counts)}"
        rest = ", fill them in, ", DROP_COLUMNS, ", or drop the rows with ", Mention("missing", "drop")
        raise ArgumentError("data", found, *infer, *rest, subject="")
    if missing == "drop" and n_holed == n_rows:
        found = f"every row has a missing value, in columns {listed(counts)}"
        raise ArgumentError("data", found, *infer, ", or ", DROP_COLUMNS, ", those with most of them", subject="")
