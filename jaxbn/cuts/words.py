"""Cuts and numbers as text, with the fewest digits that distinguish them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from jaxbn.cuts.binning import Binning
from jaxbn.cuts.shapes.recording import finest_of
from jaxbn.inputs.units import NUMBER, Unit, texts

CLOSE = 1e-3  # a number is written so that rounding moves it by less than this share of the nearest bin
EXACT = 1e-9  # the same for numbers that are computed with, such as the intervals of an answer
MOST_DIGITS = 17  # they tell any two floats apart


def short_numbers(
    numbers: Sequence[float], *, among: Sequence[float] = (), close: float = CLOSE, unit: Unit = NUMBER
) -> list[str]:
    """Ascending numbers as text, each with the fewest digits that tell it from its neighbours.

    They must differ from those `among` too, such as the ends of a range. Rounding may move a number by the share
    `close` of the distance to the nearest other one. Dates and durations are written as such.

    Example:
        >>> short_numbers([15.249999999999998, 20.75, 30.0])
        ['15.25', '20.75', '30']
        >>> short_numbers([1234567.1, 1234567.2])
        ['1234567.1', '1234567.2']
    """
    known = np.unique([x for x in (*numbers, *among) if math.isfinite(x)])
    within = [close * _room(float(x), known) for x in numbers]
    return list(map(_shortest, numbers, within)) if unit.kind == "number" else texts(numbers, unit, within)


def rounded(numbers: Sequence[float], *, among: Sequence[float] = ()) -> list[float]:
    """The numbers without the last digits of their arithmetic, far closer than any bin is wide."""
    return [float(text) for text in short_numbers(numbers, among=among, close=EXACT)]


def few_cuts(texts: Sequence[str], separator: str = ", ", most: int = 12) -> str:
    """Cuts in a line; of many, the first and the last ones and how many lie between."""
    if len(texts) <= most:
        return separator.join(texts)
    begin, end = most - 4, 2
    return separator.join([*texts[:begin], f"… {len(texts) - begin - end} more …", *texts[-end:]])


def cut_words(binning: Binning, separator: str = ", ") -> str:
    """The cuts of a binning in a line, or that there are none."""
    if not binning.is_cut:
        return "not cut"
    step = 0.0 if binning.shape is None else binning.shape.recording.step
    return few_cuts(cut_texts(binning.cuts.tolist(), (binning.lower, binning.upper), binning.unit, step), separator)


def cut_texts(edges: Sequence[float], among: Sequence[float], unit: Unit = NUMBER, step: float = 0.0) -> list[str]:
    """Cuts as people read them: of values on a grid of some step, the first value of the next bin.

    Example:
        >>> cut_texts([12.95, 14.45], (8, 25), step=0.1)
        ['13', '14.5']
    """
    firsts = _firsts(edges, among, unit, step)
    return short_numbers(edges, among=among, unit=unit) if firsts is None else _on_grid(firsts, step, unit)


def _firsts(edges: Sequence[float], among: Sequence[float], unit: Unit, step: float) -> list[float] | None:
    """The first value of a grid in each bin but the first; None without a grid, or if a bin would have no value."""
    largest = max((abs(x) for x in (*edges, *among) if math.isfinite(x)), default=0.0)
    if not step or step < finest_of(largest) or unit.kind not in ("number", "date"):
        return None
    places = [math.ceil(edge / step - 1e-6) for edge in edges]
    return [place * step for place in places] if all(a < b for a, b in pairwise(places)) else None


def _on_grid(values: Sequence[float], step: float, unit: Unit) -> list[str]:
    """Values of a grid, with the digits that its step has, or days."""
    if unit.kind == "date":
        return texts(values, unit)
    places = max(0, 1 - math.floor(math.log10(step)))
    return [np.format_float_positional(round(value, places) + 0.0, trim="-") for value in values]


def bin_words(edges: Sequence[float], low: float, high: float, unit: Unit = NUMBER, step: float = 0.0) -> list[str]:
    """Each bin in words; the smallest and the largest value may be infinite, if they are not known.

    `step` is of the grid that the values lie on, 0 if there is none. On a grid both ends of a bin belong to it, and a
    bin with one value is that value.

    Example:
        >>> bin_words([2.0, 3.5], 0.0, 9.0)
        ['below 2', '2 to 3.5', '3.5 or more']
        >>> bin_words([0.5, 2.5, 3.5], 0.0, 9.0, step=1.0)
        ['0', '1 to 2', '3', '4 or more']
    """
    if firsts := _firsts(edges, (low, high), unit, step):
        return _grid_words(firsts, low, high, step, unit)
    words = short_numbers(edges, among=(low, high), unit=unit)
    if not words:
        return ["all"]
    below, more = _beyond(unit)
    return [f"{below} {words[0]}", *(f"{a} to {b}" for a, b in pairwise(words)), f"{words[-1]} {more}"]


def _beyond(unit: Unit) -> tuple[str, str]:
    """The words for the outer bins, before and after a number."""
    return ("before", "and later") if unit.kind.startswith("date") else ("below", "or more")


def _grid_words(firsts: Sequence[float], low: float, high: float, step: float, unit: Unit) -> list[str]:
    """Bins by the first and last value that each may hold."""
    near = 1e-6 * step
    lasts = [first - step for first in firsts]
    below, more = _beyond(unit)
    begins, ends = _on_grid(firsts, step, unit), _on_grid(lasts, step, unit)
    first = ends[0] if abs(low - lasts[0]) < near else f"{below} {begins[0]}"
    last = begins[-1] if abs(high - firsts[-1]) < near else f"{begins[-1]} {more}"
    return [first, *(a if a == b else f"{a} to {b}" for a, b in zip(begins, ends[1:], strict=False)), last]


def _room(x: float, known: np.ndarray) -> float:
    """Distance to the nearest other number; of a number that stands alone, its size."""
    others = known[known != x]
    # halves, as the difference of large numbers may overflow
    return float(np.min(np.abs(others / 2 - x / 2))) if len(others) else abs(x)


def _shortest(x: float, within: float) -> str:
    tried = (_written(float(x), digits) for digits in range(1, MOST_DIGITS))
    return next((text for text in tried if abs(float(text) - x) <= within), _written(float(x), MOST_DIGITS))


def _written(x: float, digits: int) -> str:
    if x != 0 and not 1e-5 <= abs(x) < 1e15:
        mantissa, exponent = f"{x:.{digits - 1}e}".split("e")
        plain = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{plain}e{int(exponent)}"
    return np.format_float_positional(x, precision=digits, fractional=False, trim="-")
