"""What every bootstrap found: the cuts of each resample."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from jaxbn.cuts.binning import Binning
from jaxbn.inputs import checks
from jaxbn.posterior.consensus import bin_shares, bins_in_words
from jaxbn.runtime.deprecated import old_attribute


@dataclass(frozen=True, eq=False, repr=False)
class Bootstrap:
    """What was found in each resample.

    Attributes:
        binnings: of each continuous variable, one for each resample.
        resamples: how many there are.
        seed: of the resamples.

    Example:
        >>> found = Bootstrap({"x": (Binning([1.0]), Binning([1.5, 2.0]))}, resamples=2, seed=0)
        >>> found.bins.to_dict("records")
        [{'variable': 'x', 'bins': 2, 'share': 0.5}, {'variable': 'x', 'bins': 3, 'share': 0.5}]
    """

    binnings: dict[str, tuple[Binning, ...]]
    resamples: int
    seed: int

    policies = old_attribute("binnings")

    @cached_property
    def bins(self) -> pd.DataFrame:
        """How often each number of bins was found: columns ``variable``, ``bins`` and ``share``."""
        return bin_shares(self.binnings, "share")

    @cached_property
    def cuts(self) -> pd.DataFrame:
        """Every cut of every resample: columns ``resample``, ``variable`` and ``cut``."""
        rows = [
            (i, name, float(edge))
            for name, found in self.binnings.items()
            for i, binning in enumerate(found)
            for edge in binning.cuts
        ]
        return pd.DataFrame(rows, columns=["resample", "variable", "cut"])

    def _bins_in_words(self, name: str) -> str:
        return bins_in_words(self.bins, name)


def check_share(argument: str, value: Any, *, ends: bool) -> float:
    """A number between 0 and 1, the ends included if asked for."""
    number = checks.positive(argument, value)
    if number > 1 or (number == 1 and not ends):
        most = "at most" if ends else "below"
        raise checks.ArgumentError(argument, f"must be {most} 1, got {number}; for example 0.9", value=number)
    return number
