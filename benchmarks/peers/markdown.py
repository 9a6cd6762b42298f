"""Numbers and tables as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from benchmarks.peers.jobs import Row


def table(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """Cells of any kind; a bar inside one would end it."""
    body = [f"| {' | '.join(str(cell).replace('|', '/') for cell in line)} |" for line in lines]
    return "\n".join([f"| {' | '.join(header)} |", f"|{'---|' * len(header)}", *body])


def seconds(value: float | None) -> str:
    """Two digits, milliseconds below a tenth of a second."""
    if value is None:
        return ""
    return f"{value * 1e3:.2g} ms" if value < 0.0995 else f"{value:.2g} s" if value < 9.95 else f"{value:,.0f} s"


def number(value: float | None, digits: int = 3) -> str:
    """Fixed digits; nothing for nothing."""
    return "" if value is None else f"{value:,.{digits}f}"


def ratio(value: float | None) -> str:
    """Bold where it is below 1."""
    if value is None:
        return ""
    text = f"{value:,.0f}" if value >= 9.95 else f"{value:.2g}"
    return f"**{text}**" if value < 1 else text


def factor(value: float) -> str:
    """How many times."""
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}"


def span(values: Sequence[float], form: Callable[[float], str]) -> str:
    """From the smallest to the largest."""
    if not values:
        return ""
    low, high = form(min(values)), form(max(values))
    return low if low == high else f"{low} to {high}"


def failed(row: Row, width: int) -> list[str]:
    """The failure in the first of the remaining cells."""
    return [row["failure"], *[""] * (width - 1)]
