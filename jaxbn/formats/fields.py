"""Fields of a document, each checked as it is read; errors name the place of what is missing or wrong."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.columns import Level


class Field(NamedTuple):
    """A value of a document, and its place there.

    Example:
        >>> document = Field({"rows": [{"n": 3}, {"n": "many"}]}, "")
        >>> [row.get("n").whole() for row in document.get("rows").items()]
        Traceback (most recent call last):
            ...
        ValueError: 'rows[1].n' must be a whole number, got 'many'
    """

    value: Any
    place: str

    def has(self, key: str) -> bool:
        """Whether there is a field inside."""
        return key in self._mapping()

    def get(self, key: str) -> Field:
        """A field inside, which has to be there."""
        inner = self._inside(key)
        if key not in self._mapping():
            raise ValueError(f"{inner!r} is missing")
        return Field(self.value[key], inner)

    def entries(self) -> dict[str, Field]:
        """All fields inside."""
        return {key: Field(value, self._inside(key)) for key, value in self._mapping().items()}

    def items(self) -> list[Field]:
        """The items of a list."""
        if not isinstance(self.value, list):
            self._wrong("a list")
        return [Field(value, f"{self.place}[{i}]") for i, value in enumerate(self.value)]

    def text(self) -> str:
        """A text."""
        if not isinstance(self.value, str):
            self._wrong("a text")
        return self.value

    def level(self) -> Level:
        """A level: a text, a finite number, or true or false."""
        if not isinstance(self.value, bool | int | float | str):
            self._wrong("a text, a number, or true or false")
        if isinstance(self.value, float) and not math.isfinite(self.value):
            self._wrong("a finite number")
        if (
            isinstance(self.value, int) and abs(self.value) > sys.float_info.max
        ):  # some versions of pandas fail at these
            self._wrong("a number of at most 308 digits")
        return self.value

    def whole(self) -> int:
        """A whole number, not negative."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < 0:
            self._wrong("a whole number")
        return self.value

    def truth(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            self._wrong("true or false")
        return self.value

    def number(self) -> float:
        """A number; those that JSON lacks are written as texts."""
        if self.value in ("nan", "inf", "-inf"):
            return float(self.value)
        if not isinstance(self.value, int | float) or isinstance(self.value, bool):
            self._wrong("a number")
        try:
            return float(self.value)
        except OverflowError:  # an int beyond all floats
            self._wrong("a number that a float can hold")

    def positive(self) -> float:
        """A finite number above zero."""
        number = self.number()
        if not (math.isfinite(number) and number > 0):
            self._wrong("a finite number above zero")
        return number

    def numbers(self) -> NDArray[np.float64]:
        """An array of finite numbers."""
        try:
            array = np.array(self.value)
        except ValueError:
            self._wrong("lists of equal length")
        if not isinstance(self.value, list | np.ndarray) or array.dtype.kind not in "fi":
            self._wrong("a list of numbers")
        if not np.isfinite(array).all():
            self._wrong("finite numbers")
        return array.astype(np.float64)

    def _mapping(self) -> Mapping[str, Any]:
        if not isinstance(self.value, Mapping):
            self._wrong("an object with fields")
        return self.value

    def _inside(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key

    def _wrong(self, wanted: str) -> NoReturn:
        shown = repr(self.value)
        raise ValueError(f"{self.place!r} must be {wanted}, got {shown if len(shown) <= 60 else shown[:60] + ' …'}")
