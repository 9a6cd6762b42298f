"""The density of the original values inside their bins, and the probability of levels inside their groups."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.binning import Binning
from jaxbn.cuts.shapes.shape import Shape
from jaxbn.groups.grouping import Grouping
from jaxbn.groups.levels import log_inside
from jaxbn.scores.coded_table import CodedTable, Coding


def density(data: CodedTable, binnings: Mapping[str, Coding]) -> float:
    """Log density of the original values given their bins, ln p(D | Λ, D*): uniform over each bin's width.

    The outer bins end at the smallest and largest value; a constant variable has no density and adds nothing. Of a
    grouped variable it is the probability of the levels given their groups, the chances integrated out.
    """
    return math.fsum(column_density(data, name, binning) for name, binning in binnings.items())


def column_density(data: CodedTable, name: str, binning: Coding) -> float:
    """The part of one variable in it."""
    if isinstance(binning, Grouping):
        levels = data.table.levels[name]
        return log_inside(binning, levels, np.bincount(data.known_codes(name), minlength=len(levels)))
    values = data.ordered[name].values
    if values[-1] == values[0]:
        return 0.0
    widths = np.diff([values[0], *binning.cuts, values[-1]])
    return -_sum_of_logs(data, name, binning, widths)


def shaped_density(data: CodedTable, name: str, binning: Binning) -> tuple[float, Shape | None]:
    """The log evidence of a column given its bins, ln Z - Σ n_b ln M(b), by the shape for which it is highest."""
    # ln Z, and not Σ ln m(x): the base was found from the same rows, and has to pay for that
    # (docs/maths.md, "The shape of a column")
    best: tuple[float, Shape | None] = (-math.inf, None)
    for shape in data.shapes_of(name):
        if shape.is_flat:
            value = column_density(data, name, binning)
        else:
            measures = np.diff([0.0, *shape.below(binning.cuts), 1.0])
            value = len(data.ordered[name].values) * shape.log_evidence - _sum_of_logs(data, name, binning, measures)
        if value > best[0]:
            best = value, shape
    return best if math.isfinite(best[0]) else (column_density(data, name, binning), None)


def shaped(data: CodedTable, codings: Mapping[str, Coding]) -> dict[str, Coding]:
    """Each binning with the shape that suits it best."""
    return {
        name: coding
        if isinstance(coding, Grouping) or data.flat
        else replace(coding, shape=shaped_density(data, name, coding)[1])
        for name, coding in codings.items()
    }


def _sum_of_logs(data: CodedTable, name: str, binning: Binning, measures: NDArray[np.float64]) -> float:
    values = data.ordered[name].values
    return log_measure(np.diff(np.searchsorted(values, binning.cuts), prepend=0, append=len(values)), measures)


def log_measure(counts: NDArray[np.integer], measures: NDArray[np.float64]) -> float:
    """Σ n_b ln measure_b over the bins that hold values."""
    occupied = (counts > 0) & (measures > 0)
    return float((counts[occupied] * np.log(measures[occupied])).sum())
