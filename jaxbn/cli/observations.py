"""Observations as written on the command line: ``weight=3000``, ``horsepower=70:100``, ``origin=1,2``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jaxbn.cli.errors import UsageError

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet


def observations(net: BayesNet, texts: Sequence[str], allow_outside: bool) -> dict[str, Any]:
    """Observations by variable, in original units.

    Args:
        net: the network that will be asked.
        texts: ``name=value``, ``name=low:high`` (either end may be empty), ``name=a,b``.
        allow_outside: whether a value beyond the fitted range is taken for the outer bin.
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, value = _split(net, text)
        if name in found:
            raise UsageError(f"--given names {name!r} twice; write several values as {name}=a,b")
        found[name] = _numbers(net, name, value) if name in net.policies else _levels(net, name, value)
        if name in net.policies and not allow_outside:
            _check_range(net, name, found[name])
    return found


def _split(net: BayesNet, text: str) -> tuple[str, str]:
    from jaxbn.inputs.checks import suggest

    if "=" not in text:
        raise UsageError(f"--given {text!r} must be name=value, name=low:high or name=a,b")
    for i, character in enumerate(text):  # a name may itself hold an equals sign
        if character == "=" and text[:i].strip() in net.parents:
            return text[:i].strip(), text[i + 1 :].strip()
    name = text.partition("=")[0].strip()
    raise UsageError(f"--given names {name!r}, which is not a variable of the network; {suggest(name, net.parents)}")


def _numbers(net: BayesNet, name: str, text: str) -> Any:
    if ":" in text:
        low, high = (_number(name, part) if part.strip() else None for part in text.split(":", 1))
        if low is not None and high is not None and low > high:
            raise UsageError(f"--given {name}={text}: the ends are swapped; write {name}={high:g}:{low:g}")
        return (low, high)
    values = [_number(name, part) for part in text.split(",")]
    return values[0] if len(values) == 1 else values


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(
            f"--given {name}={text}: {text!r} is not a number, but {name!r} is continuous; "
            f"write {name}=3.5, {name}=1:5 or {name}=1,2"
        )
    return number


def _levels(net: BayesNet, name: str, text: str) -> Any:
    known = {str(level): level for level in net.levels[name]}
    known |= {str(level).lower(): level for level in net.levels[name] if isinstance(level, bool)}
    if text in known:
        return known[text]
    found = [_level(name, part.strip(), known) for part in text.split(",")]
    return found[0] if len(found) == 1 else found


def _level(name: str, text: str, known: dict[str, Any]) -> Any:
    from jaxbn.inputs.checks import suggest

    if text in known:
        return known[text]
    for level in known.values():  # 1.0 for the level 1
        if isinstance(level, int | float) and not isinstance(level, bool) and _equal(text, level):
            return level
    raise UsageError(f"--given {name}={text}: {text!r} is not a level of {name!r}; {suggest(text, known)}")


def _equal(text: str, number: float) -> bool:
    try:
        return float(text) == number
    except ValueError:
        return False


def _check_range(net: BayesNet, name: str, value: Any) -> None:
    low, high = net.bounds[name]
    numbers = [number for number in (value if isinstance(value, tuple | list) else [value]) if number is not None]
    outside = [number for number in numbers if not low <= number <= high]
    covers = (
        isinstance(value, tuple) and (value[0] is None or value[0] <= high) and (value[1] is None or value[1] >= low)
    )
    if outside and not covers:
        raise UsageError(
            f"--given {name}={outside[0]:g} is outside the range the network knows of {name!r}, {low:g} to {high:g}; "
            "pass --allow-outside to take it for the nearest bin"
        )
