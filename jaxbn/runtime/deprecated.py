"""Names of the version before, which work in this one and say what to use instead."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

GONE = "1.1"  # the version in which old names are gone

Maker = Callable[[Any, dict[str, Any]], Any]
"""Makes a keyword's value from the one given, if any, and from options that were keywords of their own."""


def warn_old(old: str, new: str, stacklevel: int = 3) -> None:
    """Say what a name has become."""
    warnings.warn(f"{old} has become {new}; the old name goes in jaxbn {GONE}", DeprecationWarning, stacklevel)


def old_attribute(new: str) -> Any:
    """An attribute that has another name now."""

    class Old:
        def __set_name__(self, owner: type, name: str) -> None:
            self.words = f"{owner.__name__}.{name}", f".{new}"

        def __get__(self, instance: object, owner: type | None = None) -> Any:
            if instance is None:
                return self
            warn_old(*self.words)
            return getattr(instance, new)

    return Old()


def old_keywords(moved: Mapping[str, str], makers: Mapping[str, Maker]) -> Callable[[Function], Function]:
    """Have a function take keywords of the version before.

    `moved` says what each has become: another one, ``keyword=Class(option)``, or nothing where it has no effect any
    more. Those that the function still has, or whose new keyword it lacks, are passed over. `makers` are of the
    objects, by keyword.

    Example:
        >>> import warnings
        >>> @old_keywords({"group": "merge_levels"}, {})
        ... def merge(merge_levels=()):
        ...     return merge_levels
        >>> with warnings.catch_warnings(record=True) as told:
        ...     warnings.simplefilter("always")
        ...     merge(group=["kind"])
        ['kind']
        >>> print(told[0].message)
        merge(group=...) has become merge(merge_levels=...); the old name goes in jaxbn 1.1
    """

    def decorate(function: Function) -> Function:
        own = signature(function).parameters
        hands_on = any(each.kind == each.VAR_KEYWORD for each in own.values())

        def taken(new: str) -> bool:
            keyword = new.split("=")[0]
            return not new or keyword in own or (hands_on and f"{keyword}s" not in own)

        olds = {old: new for old, new in moved.items() if old not in own and taken(new)}
        name = function.__qualname__.removesuffix(".__init__").split(".")[-1]

        @functools.wraps(function)
        def wrapper(*args: Any, **given: Any) -> Any:
            for old in [key for key in given if key in olds]:
                keyword, _, rest = olds[old].partition("=")
                text = f"{keyword}=jaxbn.{rest[:-1]}=...)" if rest else f"{keyword}=..."
                warn_old(f"{name}({old}=...)", f"{name}({text})" if keyword else "of no effect")
            return function(*args, **gathered(given, olds, makers))

        return wrapper  # type: ignore[return-value]

    return decorate


def gathered(given: Mapping[str, Any], moved: Mapping[str, str], makers: Mapping[str, Maker]) -> dict[str, Any]:
    """Keywords with those that are parts of objects gathered in these; see `old_keywords`."""
    found, parts = {key: value for key, value in given.items() if key not in moved}, dict[str, dict[str, Any]]()
    for old in (key for key in given if key in moved):
        keyword, _, rest = moved[old].partition("=")
        if rest:
            parts.setdefault(keyword, {})[rest[:-1].partition("(")[2]] = given[old]
        elif keyword:
            found[keyword] = given[old]
    return {**found, **{keyword: makers[keyword](found.get(keyword), options) for keyword, options in parts.items()}}
