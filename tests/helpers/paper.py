"""The options that make ``learn`` the paper's algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def as_in_the_paper(options: Mapping[str, Any]) -> dict[str, Any]:
    """K2 from random orders with the paper's objective for cuts, unless the options say otherwise."""
    return {"method": "bayesian", "search": "k2", **options}
