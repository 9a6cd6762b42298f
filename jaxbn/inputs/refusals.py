"""Columns whose type cannot be used: what they hold, and how they become numbers or levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxbn.inputs.checks import ArgumentError, ArgumentTypeError, Mention

if TYPE_CHECKING:
    import pandas as pd

DROP = Mention("drop", words="drop it")


def wrong(name: str, *message: str | Mention) -> ArgumentError:
    """An error about the values of a column."""
    return ArgumentError("data", *message, subject=f"column {name!r}")


def wrong_type(name: str, *message: str | Mention) -> ArgumentTypeError:
    """An error about the type of a column."""
    return ArgumentTypeError("data", *message, subject=f"column {name!r}")


def refuse_type(name: str, column: pd.Series) -> None:
    """Refuse complex numbers, and entries that are not one value each.

    Example:
        >>> import pandas as pd
        >>> refuse_type("z", pd.Series([1j]))
        Traceback (most recent call last):
            ...
        jaxbn.inputs.checks.ArgumentTypeError: column 'z' is complex; pass its real and imaginary part as two columns
    """
    from pandas.api import types

    if types.is_complex_dtype(column.dtype):
        raise wrong_type(name, "is complex; pass its real and imaginary part as two columns")
    if types.is_object_dtype(column.dtype):
        _refuse_containers(name, column)


def _refuse_containers(name: str, column: pd.Series) -> None:
    """Refuse lists, dicts, arrays and the like: each entry has to be one value."""
    import numpy as np
    from pandas.api import types

    if types.infer_dtype(column, skipna=True) not in ("mixed", "mixed-integer"):
        return  # all entries are of one plain type
    for row, value in enumerate(column):
        if isinstance(value, list | tuple | dict | set | frozenset | np.ndarray):
            kind = "an array" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
            split = f"pandas.DataFrame(data[{name!r}].tolist())"
            raise wrong_type(
                name,
                f"holds {kind} in row {row} ({_short(value)}), where each entry has to be one value; ",
                Mention("convert", words=f"make a column of each part, for example with {split}"),
                ", or ",
                DROP,
            )


def _short(value: object, most: int = 40) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= most else f"{text[:most]}…"
