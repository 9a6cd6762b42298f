"""Options of a discretization, checked once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from jaxbn.cuts.discretize_variable import METHODS, smallest_width
from jaxbn.cuts.evidence import smallest_gap
from jaxbn.inputs import checks
from jaxbn.inputs.columns import suggest
from jaxbn.scores.coded_table import CodedTable

Rate = float | Literal["network", "blanket"]
MinWidth = float | Mapping[str, float] | Literal["gap"] | None


class Options(NamedTuple):
    """Checked options of a discretization."""

    method: str
    rate: Rate
    max_passes: int | None
    min_width: MinWidth = None

    @property
    def limit(self) -> float:
        """The most passes, infinite for no limit."""
        return math.inf if self.max_passes is None else self.max_passes

    def narrowest(self, data: CodedTable, name: str) -> float:
        """The smallest width of a bin of one variable, 0 for no limit."""
        if self.min_width == "gap":
            return smallest_gap(data.ordered[name])
        if isinstance(self.min_width, Mapping):
            return float(self.min_width.get(name, 0.0))
        return float(self.min_width or 0.0)


def check_options(
    *,
    method: str,
    rate: Rate,
    max_passes: int | None,
    min_width: MinWidth = None,
    continuous: Sequence[str] | None = None,
) -> Options:
    """Refuse what is not an option, by name; `continuous` are the columns that may have a smallest width."""
    checks.one_of("method", method, METHODS)
    if isinstance(rate, str):
        if rate not in ("network", "blanket"):
            raise ValueError(f"rate must be 'network', 'blanket' or a number above zero, got {rate!r}")
    else:
        rate = checks.positive("rate", rate)
    _check_widths(min_width, method, continuous)
    limit = None if max_passes is None else checks.at_least("max_passes", max_passes, 1)
    return Options(method, rate, limit, min_width)


def _check_widths(min_width: MinWidth, method: str, continuous: Sequence[str] | None) -> None:
    if isinstance(min_width, str):
        if min_width != "gap":
            raise ValueError(f"min_width must be a number, 'gap' or {{column: number}}, got {min_width!r}")
        if method != "evidence":
            raise ValueError(f"min_width belongs to method='evidence', got 'gap' with method={method!r}; leave it out")
    elif isinstance(min_width, Mapping):
        for name, width in min_width.items():
            if continuous is not None and name not in continuous:
                remedy = suggest(name, continuous)
                raise ValueError(f"min_width names {name!r}, which is no continuous column; {remedy}")
            smallest_width(f"min_width[{name!r}]", width, method)
    else:
        smallest_width("min_width", min_width, method)
