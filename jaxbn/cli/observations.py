"""Observations as written on the command line: ``weight=3000``, ``horsepower=70:100``, ``origin=1,2``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jaxbn.cli.errors import UsageError

if TYPE_CHECKING:
    from jaxbn.inputs.units import Unit
    from jaxbn.model.bayesnet import BayesNet


EXAMPLES = {
    "number": ("number", ("1", "5")),
    "date": ("date", ("2020-01-31", "2020-06-30")),
    "datetime": ("date", ("2020-01-31", "2020-06-30")),
    "duration": ("duration", ("0:30:00", "1:30:00")),
}


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
        found[name] = _numbers(net, name, value) if name in net.binnings else _levels(net, name, value)
        if name in net.binnings and not allow_outside:
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
    from jaxbn.cuts.words import short_numbers

    unit = net.binnings[name].unit
    marks = [i for i, letter in enumerate(text) if letter == ":"]
    if unit.kind != "number":  # a time of day has colons too
        halves = {i: (text[:i], text[i + 1 :]) for i in marks}
        marks = [i for i in marks if all(not end.strip() or math.isfinite(_read(end, unit)) for end in halves[i])]
    if marks:
        ends = (text[: marks[0]], text[marks[0] + 1 :])
        low, high = (_number(name, part, unit) if part.strip() else None for part in ends)
        if low is not None and high is not None and low > high:
            right = ":".join(short_numbers([high, low], unit=unit))
            raise UsageError(f"--given {name}={text}: the ends are swapped; write {name}={right}")
        return (low, high)
    values = [_number(name, part, unit) for part in text.split(",")]
    return values[0] if len(values) == 1 else values


def _read(text: str, unit: Unit) -> float:
    """The number that a text stands for, NaN if it stands for none."""
    from jaxbn.inputs.units import to_number

    try:
        return float(text) if unit.kind == "number" else to_number("", text.strip(), unit)
    except ValueError:
        return math.nan


def _number(name: str, text: str, unit: Unit) -> float:
    number = _read(text, unit)
    if not math.isfinite(number):
        kind, example = EXAMPLES[unit.kind]
        raise UsageError(
            f"--given {name}={text}: {text!r} is not a {kind}, but {name!r} is continuous; write {name}={example[0]}, "
            f"{name}={example[0]}:{example[1]} or {name}={example[0]},{example[1]}"
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
    from jaxbn.cuts.words import short_numbers

    low, high = net.bounds[name]
    numbers = [number for number in (value if isinstance(value, tuple | list) else [value]) if number is not None]
    outside = [number for number in numbers if not low <= number <= high]
    covers = (
        isinstance(value, tuple) and (value[0] is None or value[0] <= high) and (value[1] is None or value[1] >= low)
    )
    if outside and not covers:
        unit = net.binnings[name].unit
        shown = [short_numbers([number], among=(low, high), unit=unit)[0] for number in (outside[0], low, high)]
        raise UsageError(
            f"--given {name}={shown[0]} is outside the range the network knows of {name!r}, {shown[1]} to {shown[2]}; "
            "pass --allow-outside to take it for the nearest bin"
        )
