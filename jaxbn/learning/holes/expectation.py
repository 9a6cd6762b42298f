"""What is expected of all missing entries together: each told by regressions on all other columns, in sweeps.

Numbers are predicted by a line. A level's chances are those of the network, which sees bins, mixed with those of lines
through the columns, one for each level, which see what lies inside them: in the shares that make the known levels most
probable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.graph import Parents
from jaxbn.learning.holes.matching import predicted, predictors_of

Array = NDArray[np.float64]

LEAST = 0.01
"""Chance of a level that lines speak against."""

MOST_ASKED = 10**4
"""Rows with known levels that the shares are found from."""

STEPS = 30
"""Of EM for the shares."""


@dataclass
class Expectation:
    """A table while it is completed.

    Attributes:
        values: of continuous columns, complete, [n].
        chances: of the states of discrete columns, one of them 1 where it is known, [n, K].
        posterior: the network's chances of the states given the rest of the row, [n, K], of each discrete column whose
            missing entries are told.
        absent: where entries are missing, [n], of each column that lacks some.
    """

    values: dict[str, Array]
    chances: dict[str, Array]
    posterior: Mapping[str, Array]
    absent: Mapping[str, NDArray[np.bool_]]

    def sweep(self, parents: Parents) -> None:
        """Tell every missing entry once, given all others as they are now."""
        for name, gone in self.absent.items():
            predictors = [column for other in predictors_of(parents, name) for column in self._seen(other)]
            if not predictors:
                continue
            rows = np.flatnonzero(gone)
            if name in self.values:
                known = self.values[name][~gone]
                said = predicted(self.values[name], predictors, ~gone, rows)
                self.values[name][rows] = np.clip(said, known.min(), known.max())
            elif name in self.posterior:
                self.chances[name][rows] = self._levels(name, rows, predictors)

    def _levels(self, name: str, rows: NDArray[np.intp], predictors: list[Array]) -> Array:
        """Chances of the states of a discrete column in the rows that lack it, [holes, K]."""
        has = ~self.absent[name]
        known = np.flatnonzero(has)
        known = known[:: -(-len(known) // MOST_ASKED)]
        asked = np.append(rows, known)
        by_lines = np.stack([predicted(state, predictors, has, asked) for state in self.chances[name].T], axis=1)
        by_lines = np.clip(by_lines, LEAST, 1.0)
        by_lines /= by_lines.sum(axis=1, keepdims=True)
        state = self.chances[name][known].argmax(axis=1)
        share = share_of(self.posterior[name][known, state], by_lines[np.arange(len(rows), len(asked)), state])
        return share * self.posterior[name][rows] + (1 - share) * by_lines[: len(rows)]

    def _seen(self, name: str) -> list[Array]:
        """A continuous column itself, or the chances of a discrete one's states but the first."""
        return [self.values[name]] if name in self.values else list(self.chances[name].T[1:])


def share_of(first: Array, second: Array) -> float:
    """The share of the first of two experts in the mixture that makes what happened most probable.

    Args:
        first: the chances it gave to what happened, [rows].
        second: those of the other, [rows].

    Example:
        >>> round(share_of(np.array([0.9, 0.8, 0.1]), np.array([0.5, 0.5, 0.5])), 2)
        0.36
    """
    share = 0.5
    for _ in range(STEPS):
        share = float(np.mean(share * first / (share * first + (1 - share) * second)))
    return share
