"""Arguments checked where they come in: an error names the argument, the value and the remedy."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

MAX_TOTAL_WEIGHT = 2**27  # largest sum of weights: a table of counts up to it takes a gigabyte


class Mention(NamedTuple):
    """An argument that a message mentions, so that each interface can spell it in its own way."""

    argument: str
    value: str | None = None
    words: str | None = None  # what Python users read, where they have to do something else

    def __str__(self) -> str:
        if self.words is not None:
            return self.words
        return f"`{self.argument}`" if self.value is None else f"{self.argument}={self.value!r}"


class CheckError(Exception):
    """An argument that cannot be used.

    Attributes:
        argument: its name.
        value: what was passed, where that is one value.

    Example:
        >>> print(ArgumentError("rate", "must be above zero, got -1", value=-1))
        rate must be above zero, got -1
        >>> error = ArgumentError("data", "has holes; pass ", Mention("missing", "drop"), subject="column 'x'")
        >>> print(error)
        column 'x' has holes; pass missing='drop'
        >>> error.spelled(lambda mention: f"--{mention.argument} {mention.value}")
        "column 'x' has holes; pass --missing drop"
    """

    def __init__(
        self, argument: str, *message: str | Mention, value: object = None, subject: str | None = None
    ) -> None:
        super().__init__(argument, *message)
        self.argument, self.value = argument, value
        self._subject = subject  # what the sentence begins with, by default the argument
        self._message = message

    def spelled(self, spell: Callable[[Mention], str]) -> str:
        """The message, with arguments spelled in another way."""
        subject = spell(Mention(self.argument)).strip("`") if self._subject is None else self._subject
        rest = "".join(part if isinstance(part, str) else spell(part) for part in self._message)
        return f"{subject} {rest}" if subject else rest

    def __str__(self) -> str:
        return self.spelled(str)


class ArgumentError(CheckError, ValueError):
    """An argument with a value that cannot be used."""


class ArgumentTypeError(CheckError, TypeError):
    """An argument of a type that cannot be used."""


DROP = Mention("drop", words="drop it")


def wrong(name: str, *message: str | Mention) -> ArgumentError:
    """An error about the values of a column."""
    return ArgumentError("data", *message, subject=f"column {name!r}")


def wrong_type(name: str, *message: str | Mention) -> ArgumentTypeError:
    """An error about the type of a column."""
    return ArgumentTypeError("data", *message, subject=f"column {name!r}")


def wrong_data(*message: str | Mention) -> ArgumentError:
    """An error about the data as a whole."""
    return ArgumentError("data", *message, subject="the data")


def listed(names: Iterable[str] | None, argument: str = "names") -> list[str]:
    """Names as a list, a single one too; none for None."""
    if isinstance(names, str):
        return [names]
    if names is not None and not isinstance(names, Iterable):
        raise ArgumentTypeError(argument, f"must be a list of names, got {names!r}", value=names)
    return [str(name) for name in ([] if names is None else names)]


def mapping(argument: str, value: Any, form: str) -> Mapping[Any, Any]:
    """A mapping; the empty one for None."""
    if value is not None and not isinstance(value, Mapping):
        raise ArgumentTypeError(argument, f"must be {form}, got {value!r}", value=value)
    return {} if value is None else value


def few(texts: Sequence[str], most: int, mark: str = "...", between: str = ", ") -> str:
    """The first of some texts in a line, and a mark where there are more."""
    return between.join([*texts[:most], *[mark] * (len(texts) > most)])


def suggest(name: object, known: Iterable[object]) -> str:
    """A hint that names the nearest known names, or all of them when none is near and they are few."""
    names = {str(k): k for k in known}  # shown as they are: 4 is not '4'
    if near := difflib.get_close_matches(str(name), names, n=3):
        return f"did you mean {' or '.join(repr(names[n]) for n in near)}?"
    return f"known: {few([*map(repr, names.values())], 12)}" if names else "there is none"


def known_name(argument: str, name: object, known: Iterable[object], kind: str = "a column of the data") -> str:
    """A name that is known."""
    names = [str(each) for each in known]
    if str(name) not in names:
        raise ArgumentError(argument, f"names {name!r}, which is not {kind}; {suggest(name, names)}", value=name)
    return str(name)


def numbers(argument: str, values: ArrayLike, *, holes: bool = False) -> NDArray[np.float64]:
    """A non-empty 1-D array of finite floats; with `holes`, of finite floats and NaN."""
    array = _as_array(argument, values, "numbers", "convert them first")
    if array.ndim != 1:
        raise ArgumentError(argument, f"must be one-dimensional, got shape {array.shape}; pass one column")
    if len(array) == 0:
        raise ArgumentError(argument, "is empty; pass at least one row")
    array = array.astype(np.float64)
    absent = np.isnan(array) if holes else np.zeros(len(array), bool)
    if absent.all():
        raise ArgumentError(argument, "has no entry that is not missing; pass at least one")
    bad = np.flatnonzero(~np.isfinite(array) & ~absent)
    if len(bad):
        raise ArgumentError(
            argument,
            f"must be finite, got {array[bad[0]]} in row {bad[0]} ({len(bad)} such rows); drop or fill these rows",
        )
    return array


def _as_array(argument: str, values: ArrayLike, what: str, remedy: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        found = repr(array.flat[0]) if array.size else "nothing"
        raise ArgumentTypeError(argument, f"must be {what}, got {found} of type {array.dtype}; {remedy}")
    return array


def holed_integers(argument: str, values: ArrayLike, n_rows: int) -> NDArray[np.int64]:
    """Integers, one for each row, where -1 and NaN are missing entries, returned as -1."""
    array = np.asarray(values)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), -1, array)
    if array.dtype.kind not in "fi" or array.shape != (n_rows,):
        return integers(argument, array, n_rows)
    return integers(argument, array + 1, n_rows, "code them as 0, 1, …, and missing entries as -1") - 1


def integers(argument: str, values: ArrayLike, n_rows: int, remedy: str = "code them as 0, 1, …") -> NDArray[np.int64]:
    """Non-negative integers, one for each row."""
    array = _as_array(argument, values, "integers", remedy)
    if array.shape != (n_rows,):
        raise ArgumentError(argument, f"must have one entry for each of the {n_rows} rows, got shape {array.shape}")
    rules = {"be whole numbers": np.isfinite(array) & (array == np.floor(array))} if array.dtype.kind == "f" else {}
    rules |= {"not be negative": array >= 0, "be below 2^53": array < 2.0**53}  # beyond, a float stands for several
    for rule, kept in rules.items():
        if not kept.all():
            row = int(kept.argmin())
            raise ArgumentError(argument, f"must {rule}, got {array[row]} in row {row}; {remedy}")
    return array.astype(np.int64)


def row_weights(weights: ArrayLike | None, n_rows: int) -> NDArray[np.int64] | None:
    """Non-negative integer weights with a positive sum, or None for all one."""
    if weights is None:
        return None
    array = integers("weights", weights, n_rows, "give each row the whole number of times it counts")
    total = int(array.sum(dtype=np.float64))
    if total == 0:
        raise ArgumentError("weights", "are all zero; at least one row must count")
    if total > MAX_TOTAL_WEIGHT:
        raise ArgumentError("weights", f"sum to {total}, more than {MAX_TOTAL_WEIGHT}; divide them by a common factor")
    return array


def is_number(value: Any) -> bool:
    """Whether a value, a text for example, stands for a number."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def positive(argument: str, value: Any) -> float:
    """A finite number above zero."""
    _check_type(argument, value, int | float | np.integer | np.floating, "a number")
    try:
        number = float(value)
    except OverflowError:  # an int beyond all floats
        number = math.inf
    if not (math.isfinite(number) and number > 0):
        raise ArgumentError(argument, f"must be finite and above zero, got {number}; for example 4.0", value=value)
    return number


def at_least(argument: str, value: Any, least: int) -> int:
    """A whole number not below `least`."""
    _check_type(argument, value, int | np.integer, "a whole number")
    if value < least:
        raise ArgumentError(argument, f"must be at least {least}, got {value}", value=value)
    return int(value)


def _check_type(argument: str, value: Any, kinds: Any, what: str) -> None:
    if isinstance(value, bool | np.bool_) or not isinstance(value, kinds):
        raise ArgumentTypeError(argument, f"must be {what}, got {value!r} of type {type(value).__name__}", value=value)


def one_of(argument: str, value: Any, choices: Sequence[str]) -> str:
    """One of a few words."""
    if value not in choices:
        raise ArgumentError(argument, f"must be one of {', '.join(map(repr, choices))}, got {value!r}", value=value)
    return str(value)
