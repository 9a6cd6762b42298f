"""Fields of a document, each checked as it is read; errors name the place of what is missing or wrong."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.columns import Level


class Field(NamedTuple):
    """A value of a document, and its place there."""

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

    def maybe(self, key: str, read: Callable[[Field], Any], default: Any = None) -> Any:
        """What is read from a field inside, if it is there."""
        return read(self.get(key)) if self.has(key) else default

    @contextmanager
    def named(self) -> Iterator[None]:
        """Errors inside name the place of this field."""
        try:
            yield
        except (ValueError, TypeError) as error:
            raise ValueError(f"{self.place!r}: {error}") from None

    def entries(self) -> dict[str, Field]:
        """All fields inside."""
        return {key: Field(value, self._inside(key)) for key, value in self._mapping().items()}

    def items(self) -> list[Field]:
        """The items of a list."""
        found = self.check(isinstance(self.value, list), "a list")
        return [Field(value, f"{self.place}[{i}]") for i, value in enumerate(found)]

    def text(self) -> str:
        """A text."""
        return str(self.check(isinstance(self.value, str), "a text"))

    def level(self) -> Level:
        """A level: a text, a finite number, or true or false."""
        value = self.check(isinstance(self.value, bool | int | float | str), "a text, a number, or true or false")
        self.check(not isinstance(value, float) or math.isfinite(value), "a finite number")
        large = isinstance(value, int) and abs(value) > sys.float_info.max  # some versions of pandas fail at these
        self.check(not large, "a number of at most 308 digits")
        return value

    def whole(self) -> int:
        """A whole number, not negative."""
        is_whole = isinstance(self.value, int) and not isinstance(self.value, bool) and self.value >= 0
        return int(self.check(is_whole, "a whole number"))

    def truth(self) -> bool:
        """True or false."""
        return bool(self.check(isinstance(self.value, bool), "true or false"))

    def number(self) -> float:
        """A number; those that JSON lacks are written as texts."""
        is_number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        self.check(is_number or self.value in ("nan", "inf", "-inf"), "a number")
        try:
            return float(self.value)
        except OverflowError:  # an int beyond all floats
            self._wrong("a number that a float can hold")

    def positive(self) -> float:
        """A finite number above zero."""
        number = self.number()
        self.check(math.isfinite(number) and number > 0, "a finite number above zero")
        return number

    def numbers(self) -> NDArray[np.float64]:
        """An array of finite numbers."""
        try:
            array = np.array(self.value)
        except ValueError:
            self._wrong("lists of equal length")
        self.check(isinstance(self.value, list | np.ndarray) and array.dtype.kind in "fi", "a list of numbers")
        self.check(bool(np.isfinite(array).all()), "finite numbers")
        return array.astype(np.float64)

    def _mapping(self) -> Mapping[str, Any]:
        return self.check(isinstance(self.value, Mapping), "an object with fields")

    def _inside(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key

    def check(self, right: bool, wanted: str) -> Any:
        """The value, if it is right."""
        return self.value if right else self._wrong(wanted)

    def _wrong(self, wanted: str) -> NoReturn:
        shown = repr(self.value)
        raise ValueError(f"{self.place!r} must be {wanted}, got {shown if len(shown) <= 60 else shown[:60] + ' …'}")
