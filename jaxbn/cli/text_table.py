"""A text table read, with what looks wrong in it pointed out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

from jaxbn.cli.errors import UsageError, tell, warn
from jaxbn.cli.text_checks import check_encoding, check_text

if TYPE_CHECKING:
    import pandas as pd

INDEX_NAMES = ("", "Unnamed: 0")
"""Names of the first column in a file with the index of pandas, written once or read and written again."""

FEW_WORDS = 2
"""Words in a column of numbers are pointed out if there are at most this many different ones."""


@dataclass(frozen=True)
class Format:
    """How a text table is written."""

    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."
    na_values: tuple[str, ...] = ()  # words for a missing entry, besides those that pandas knows


def words(given: Sequence[str]) -> tuple[str, ...]:
    """Words of an option, repeated or separated by commas.

    Example:
        >>> words(["?,-", "none"])
        ('?', '-', 'none')
    """
    return tuple(word.strip() for text in given for word in text.split(",") if word.strip())


def read_text(raw: bytes, name: str, form: Format, delimiter: str) -> pd.DataFrame:
    """The table in a text.

    Args:
        raw: the text as bytes.
        name: for messages.
        form: how it is written.
        delimiter: what is between cells where the form does not say.
    """
    mark = delimiter if form.delimiter is None else form.delimiter.replace("\\t", "\t")
    if len(mark) != 1:
        raise UsageError(f"--delimiter must be a single character, got {form.delimiter!r}; \\t is a tab")
    encoding = check_encoding(raw, name, form.encoding)
    header = check_text(raw, name, mark, encoding)
    import pandas as pd

    options: dict[str, Any] = {
        "sep": mark,
        "decimal": form.decimal,
        "na_values": list(form.na_values),
        "encoding": encoding,
    }
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):  # later versions read every digit without being told
        options["float_precision"] = "round_trip"
    frame = pd.read_csv(BytesIO(raw), skipinitialspace=True, index_col=False, **options).set_axis(header, axis=1)
    if len(header) > 1 and header[0] in INDEX_NAMES:
        tell("left out: the first column, which has no name (an index that pandas wrote)")
        frame = frame.iloc[:, 1:]
    _point_out_numbers(list(frame.columns), name)
    frame = _without_question_marks(frame)
    _point_out_words(frame)
    return frame


def _without_question_marks(frame: pd.DataFrame) -> pd.DataFrame:
    """A question mark alone in a cell is a missing entry, as in many published tables."""
    from jaxbn.inputs.table_files import MARKS

    marks = {
        label: int(where.sum())
        for label in frame.columns
        if frame[label].dtype.kind not in "fiub" and (where := frame[label].isin(MARKS)).any()
    }
    if not marks:
        return frame
    from jaxbn.inputs.missing import listed

    tell(f"read as missing: ? in columns {listed(marks)}")
    return frame.assign(**{label: _numbers(frame[label].mask(frame[label].isin(MARKS))) for label in marks})


def _numbers(column: pd.Series) -> pd.Series:
    """The column as numbers where it holds nothing else."""
    import pandas as pd

    numbers = pd.to_numeric(column, errors="coerce")
    return numbers if numbers.notna().sum() == column.notna().sum() > 0 else column


def _point_out_numbers(header: list[str], name: str) -> None:
    """Numbers where names should be; a few whole ones may be years, but a fraction is hardly a name."""
    numbers = [label for label in header if _is_number(label)]
    if len(numbers) == len(header) or any("." in label for label in numbers):
        shown = ", ".join(header[:4]) + (", …" if len(header) > 4 else "")
        warn(f"the first line of {name} looks like data ({shown}), but is read as names; add a line of names before it")


def _point_out_words(frame: pd.DataFrame) -> None:
    """A few words in a column of numbers make all of it discrete; most often they stand for missing entries."""
    import pandas as pd

    for label in frame.columns:
        column = frame[label]
        if pd.api.types.is_numeric_dtype(column.dtype):
            continue
        is_word = pd.to_numeric(column, errors="coerce").isna() & column.notna()
        words = [str(word) for word in column[is_word].unique()]
        if len(words) <= FEW_WORDS and 0 < is_word.sum() < column.notna().sum() / 2:
            shown = " and ".join(map(repr, words))
            warn(
                f"column {label!r} holds numbers but for {shown} ({is_word.sum()} of {len(column)} rows), so it is "
                f"discrete; pass --na-values {','.join(words)!r} if that means a missing entry"
            )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
