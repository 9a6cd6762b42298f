"""Expected values of all missing entries together: each by regression on all other columns, in sweeps.

Numbers are predicted by a line. A level's chances are, in equal parts, those of the network, which sees bins, and those
of lines through the columns, one for each level, which see what lies inside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.graph import Parents
from jaxbn.model.imputing.donors import predictors_of
from jaxbn.model.imputing.ridge import RidgeRegressions
from jaxbn.runtime import limits

Array = NDArray[np.float64]

LEAST = 1e-6
"""Smallest probability that the regressions may give a level."""


@dataclass
class Expectation:
    """A table while it is completed.

    Attributes:
        values: of continuous columns, complete, [n].
        chances: of the states of discrete columns, one of them 1 where it is known, [n, K].
        posterior: the network's chances of the states, [holes, K] of each discrete column that lacks entries.
        absent: where entries are missing, [n], of each column that lacks some.
    """

    values: dict[str, Array]
    chances: dict[str, Array]
    posterior: Mapping[str, Array]
    absent: Mapping[str, NDArray[np.bool_]]
    _lines: dict[str, RidgeRegressions] = field(init=False)

    def __post_init__(self) -> None:
        holed = np.logical_or.reduce(list(self.absent.values()))
        self._lines = {name: RidgeRegressions(~gone, holed) for name, gone in self.absent.items()}

    def sweep(self, parents: Parents) -> None:
        """Predict every missing entry once, given the current values of all others."""
        for name, gone in self.absent.items():
            limits.check()
            predictors = [column for other in predictors_of(parents, name) for column in self._seen(other)]
            if not predictors:
                continue
            rows = np.flatnonzero(gone)
            told = self._lines[name].told
            if name in self.values:
                known = self.values[name][~gone]
                said = told(self.values[name][:, None], predictors, rows)[:, 0]
                self.values[name][rows] = np.clip(said, known.min(), known.max())
            elif name in self.posterior:
                by_lines = np.clip(told(self.chances[name], predictors, rows), LEAST, 1.0)
                by_lines /= by_lines.sum(axis=1, keepdims=True)
                self.chances[name][rows] = (self.posterior[name] + by_lines) / 2

    def _seen(self, name: str) -> list[Array]:
        """A continuous column itself, or the chances of a discrete one's states but the first."""
        return [self.values[name]] if name in self.values else list(self.chances[name].T[1:])
